"""The aggregated data set D of the fleet (section 3.2 of the paper) and the bootstraps its models learn from."""

import numpy as np

from iifl.augmentation import Augmentation
from iifl.records import FloatArray, Form, IntArray, ObservationArray


class Memory:
    """Human-labelled transitions (s, a_human), with one bootstrap of them per model of the ensemble.

    Each bootstrap is the whole memory resampled with replacement when it is created; from then on every new transition
    adds one random draw of the whole memory to each. Room grows by doubling, so adding is amortised O(1). With an
    augmentation each transition comes in with its altered copies, which count as transitions.
    """

    def __init__(
        self,
        observation: Form,
        action_size: int,
        bootstraps: int,
        rng: np.random.Generator,
        augmentation: Augmentation | None = None,
    ) -> None:
        self._rng, self._augmentation = rng, augmentation
        self.size = 0
        self._observations = observation.empty(0)
        self._actions = np.empty((0, action_size), np.float32)
        self._humans = np.empty(0, np.int64)
        self._bootstraps = np.empty((bootstraps, 0), np.int64)

    @property
    def observations(self) -> ObservationArray:
        """All observations (size, *S)."""
        return self._observations[: self.size]

    @property
    def actions(self) -> FloatArray:
        """The human actions beside them (size, A)."""
        return self._actions[: self.size]

    @property
    def humans(self) -> IntArray:
        """Who acted (size,)."""
        return self._humans[: self.size]

    @property
    def bootstraps(self) -> IntArray:
        """For each model, the indices of its own data set (E, size)."""
        return self._bootstraps[:, : self.size]

    def add(self, observations: ObservationArray, actions: FloatArray, humans: IntArray) -> None:
        """Append k transitions; the first call creates the bootstraps."""
        k = len(observations)
        if k == 0:
            return
        for name, rows, own in (
            ("observations", observations, self._observations),
            ("actions", actions, self._actions),
            ("humans", humans, self._humans),
        ):
            if rows.shape != (k, *own.shape[1:]):
                raise ValueError(f"{name} for the memory must have shape {(k, *own.shape[1:])}, not {rows.shape}")
        if not (np.isfinite(observations).all() and np.isfinite(actions).all()):
            raise ValueError("a transition for the memory holds NaN or infinity; nothing was added")
        if self._augmentation is not None:
            times, observations = self._augmentation.times, self._augmentation(observations, self._rng)
            actions, humans, k = np.tile(actions, (times, 1)), np.tile(humans, times), times * k
        start, end = self.size, self.size + k
        self._reserve(end)
        np.copyto(self._observations[start:end], observations, casting="same_kind")  # a float is no byte
        self._actions[start:end], self._humans[start:end] = actions, humans
        self.size = end
        # A later draw may fall on any transition present when it is made; the batch arrives at once.
        models = len(self._bootstraps)
        self._bootstraps[:, start:end] = self._rng.integers(0, end, (models, k))

    def draw(self, batch: int) -> IntArray:
        """Indices of one random batch for each model, from its own bootstrap: (E, batch)."""
        if self.size == 0:
            raise ValueError("the memory is empty: give it demonstrations before the policy learns")
        picks = self._rng.integers(0, self.size, (len(self._bootstraps), batch))
        return np.take_along_axis(self.bootstraps, picks, axis=1)

    def _reserve(self, size: int) -> None:
        room = len(self._observations)
        if size <= room:
            return
        extra = max(size, 2 * room, 1024) - room
        self._observations = _longer(self._observations, extra)
        self._actions = _longer(self._actions, extra)
        self._humans = _longer(self._humans, extra)
        self._bootstraps = _longer(self._bootstraps, extra, axis=1)

    def state_dict(self) -> dict[str, np.ndarray]:
        """The data and the bootstraps, as arrays (the random state is the run's)."""
        return {
            "observations": self.observations.copy(),
            "actions": self.actions.copy(),
            "humans": self.humans.copy(),
            "bootstraps": self.bootstraps.copy(),
        }

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state that `state_dict` gave."""
        size = len(state["observations"])
        shapes = {
            "observations": (size, *self._observations.shape[1:]),
            "actions": (size, self._actions.shape[1]),
            "humans": (size,),
            "bootstraps": (len(self._bootstraps), size),
        }
        for name, shape in shapes.items():
            if state[name].shape != shape:
                raise ValueError(f"{name} of the saved memory have shape {state[name].shape}, here it is {shape}")
        self._reserve(size)
        self.size = size
        self._observations[: self.size] = state["observations"]
        self._actions[: self.size] = state["actions"]
        self._humans[: self.size] = state["humans"]
        self._bootstraps[:, : self.size] = state["bootstraps"]


def _longer(array: np.ndarray, extra: int, axis: int = 0) -> np.ndarray:
    """The array with room for `extra` more entries along an axis."""
    shape = list(array.shape)
    shape[axis] = extra
    return np.concatenate([array, np.empty(shape, array.dtype)], axis)
