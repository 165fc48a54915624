"""What every world shares: a fleet of N robots as one `gymnasium.vector.VectorEnv`.

A world gives five methods over arrays of robots and inherits the rest: the checks of its input, the episode's
clock and return, the semantics of a robot whose episode is over, seeds, and the state to save.

The rules, the same for every world:

- `reset(options={"reset_mask": mask})` starts a new episode for the robots in the mask and leaves the others as they
  are, bit by bit. `reset(seed=...)` starts the whole fleet anew.
- A robot whose episode is over (failed, success or out of time) stays as it is until it is reset: its action is
  ignored and its reward is 0.
- `info["failed"]` marks robots in a constraint-violating state, `info["success"]` episodes that ended well.
- Every random number of robot i's k-th episode is a function of (seed, i, k) alone (see `randomness.py`).
"""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from iifl.records import BoolArray, FloatArray, IntArray, ObservationArray
from iifl.tasks.randomness import episode_uniforms

Info = dict[str, Any]
StateDict = dict[str, np.ndarray]


class ActionError(ValueError):
    """An action that the world cannot execute; the message names the robot and the value."""


class FleetTask(VectorEnv[np.ndarray, FloatArray, np.ndarray]):
    """N robots in one world. Subclasses set `observation_low/high`, `action_low/high`, `episode_steps`."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.DISABLED}  # noqa: RUF012 (gymnasium's own attribute)
    episode_steps: ClassVar[int]
    success_return: float | None = None
    """An episode that ends without failure succeeds at this return (None: the world itself knows success)."""
    demonstration_options: ClassVar[dict[str, Any]] = {}
    """How the world differs while people demonstrate."""

    def __init__(self, num_envs: int, observation: spaces.Box, action: spaces.Box, seed: int = 0) -> None:
        if num_envs < 1:
            raise ValueError(f"a fleet needs at least 1 robot, not {num_envs}")
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = observation, action
        self.observation_space = batch_space(observation, num_envs)
        self.action_space = batch_space(action, num_envs)
        self._seed = seed
        self._begin_clocks()

    def _begin_clocks(self) -> None:
        """Every robot before its first episode."""
        n = self.num_envs
        self.episode: IntArray = np.full(n, -1, np.int64)
        self.clock: IntArray = np.zeros(n, np.int64)
        self.episode_return: FloatArray = np.zeros(n, np.float64)
        self.failed: BoolArray = np.zeros(n, bool)
        self.success: BoolArray = np.zeros(n, bool)
        self.truncated: BoolArray = np.zeros(n, bool)

    # What a world gives -------------------------------------------------------------------------------------------

    @abstractmethod
    def _reset_robots(self, robots: IntArray, uniforms: FloatArray) -> None:
        """Put `robots` (k,) at the start of an episode, from their random numbers in [0, 1): (k, reset_draws).

        `failed`, `success` and `truncated` still say how the episode before it ended, for worlds that go on from there.
        """

    @abstractmethod
    def _advance(self, robots: IntArray, actions: FloatArray) -> None:
        """Move the `robots` (k,) whose episodes are running by their actions (k, A)."""

    @abstractmethod
    def _observe(self) -> np.ndarray:
        """The observations of all robots (N, ...)."""

    @abstractmethod
    def _judge(self, actions: FloatArray) -> tuple[FloatArray, BoolArray, BoolArray]:
        """Rewards (N,), failed (N,) and reached-the-goal (N,) of all robots after the step (idle ones are masked)."""

    @staticmethod
    def features(observations: ObservationArray) -> ObservationArray:
        """What a policy may see instead of observations (k, S), a function of them alone: (k, features)."""
        return observations

    @staticmethod
    def turned(
        observations: ObservationArray, actions: FloatArray, turns: FloatArray
    ) -> tuple[ObservationArray, FloatArray]:
        """Observations (k, S) and actions (k, A) under a symmetry of the world that numbers in [0, 1) (k,) choose."""
        return observations, actions

    @abstractmethod
    def world_state(self) -> StateDict:
        """The world's own state, as arrays; with `clock` and the like it is all that a resumed run needs."""

    @abstractmethod
    def load_world_state(self, state: StateDict) -> None:
        """Take back what `world_state` gave."""

    reset_draws: ClassVar[int] = 0
    """How many random numbers one reset of one robot takes."""

    # What every world shares --------------------------------------------------------------------------------------

    @property
    def running(self) -> BoolArray:
        """Robots in the middle of an episode (N,)."""
        return ~(self.failed | self.success | self.truncated)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, Info]:
        """Start a new episode for the whole fleet, or for the robots of `options["reset_mask"]`."""
        if seed is not None:
            self._seed = seed
            self._begin_clocks()
        mask = (options or {}).get("reset_mask")
        robots = np.arange(self.num_envs) if mask is None else np.flatnonzero(self._checked_mask(mask))
        if len(robots):
            self.episode[robots] += 1
            self.clock[robots] = 0
            self.episode_return[robots] = 0.0
            draws = episode_uniforms(self._seed, robots, self.episode[robots], self.reset_draws)
            self._reset_robots(robots, draws)
            self.failed[robots] = self.success[robots] = self.truncated[robots] = False
        return self._observe(), self._info()

    def step(self, actions: FloatArray) -> tuple[np.ndarray, FloatArray, BoolArray, BoolArray, Info]:
        """One synchronous timestep of the fleet; robots whose episode is over do not move."""
        running = self.running
        actions = self._checked_actions(actions, running)
        robots = np.flatnonzero(running)
        self._advance(robots, actions[robots])
        rewards, failed, reached = self._judge(actions)
        rewards = np.where(running, rewards, 0.0)
        self.clock += running
        self.episode_return += rewards
        self.failed |= failed & running
        self.success |= reached & running & ~self.failed
        in_time = self.clock < self.episode_steps
        self.truncated |= running & ~in_time & ~self.failed & ~self.success
        if self.success_return is not None:
            self.success |= running & self.truncated & (self.episode_return >= self.success_return)
        terminated = self.failed | (self.success & ~self.truncated)
        return self._observe(), rewards, terminated, self.truncated.copy(), self._info()

    def _info(self) -> Info:
        return {
            "failed": self.failed.copy(),
            "success": self.success.copy(),
            "episode_return": self.episode_return.copy(),
        }

    def _checked_mask(self, mask: np.ndarray) -> BoolArray:
        mask = np.asarray(mask)
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise ValueError(f"reset_mask must be {self.num_envs} booleans, not {mask.dtype} of shape {mask.shape}")
        return mask

    def _checked_actions(self, actions: FloatArray, running: BoolArray) -> FloatArray:
        """The actions, or an error that names the first robot with one that cannot be executed."""
        actions = np.asarray(actions, np.float32)
        box = self.single_action_space
        assert isinstance(box, spaces.Box)
        if actions.shape != (self.num_envs, *box.shape):
            raise ActionError(f"actions must have shape {(self.num_envs, *box.shape)}, not {actions.shape}")
        legal = (actions >= box.low) & (actions <= box.high)  # NaN is not
        wrong = ~legal.all(axis=1) & running
        if wrong.any():
            robot = int(np.flatnonzero(wrong)[0])
            raise ActionError(
                f"robot {robot}: action {actions[robot].tolist()} is outside [{box.low.tolist()}, {box.high.tolist()}]"
            )
        return actions

    def state_dict(self) -> StateDict:
        """All that is needed to go on from here, as arrays."""
        clocks = {name: getattr(self, name).copy() for name in _CLOCKS}
        world = {f"world.{name}": value for name, value in self.world_state().items()}
        return {"seed": np.array(self._seed), **clocks, **world}

    def load_state_dict(self, state: StateDict) -> None:
        """Go on from a state that `state_dict` gave."""
        self._seed = int(state["seed"])
        for name in _CLOCKS:
            getattr(self, name)[:] = state[name]
        self.load_world_state({k.removeprefix("world."): v for k, v in state.items() if k.startswith("world.")})


_CLOCKS = ("episode", "clock", "episode_return", "failed", "success", "truncated")
