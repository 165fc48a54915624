"""What explicit and implicit policies share: normalisation, bootstrapped batches, the optimiser, and one state to save.

Observations are standardised with the mean and standard deviation of the offline demonstrations; actions are scaled so
that the action box is [−1, 1]^A. Both belong to the policy and are in its state. What a policy sees as its states are
the encoder's features, so an image is encoded once, however many actions are weighed in it. A world may give features
of its own, which then take the place of the observation, and a symmetry under which demonstrations are as good.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from iifl.checks import above, at_least
from iifl.encoders import Encoder, Standardisation
from iifl.memory import Memory
from iifl.policies.base import PolicyState
from iifl.records import Decision, FloatArray, Form, IntArray, ObservationArray, finite_rows


def as_it_is(observations: ObservationArray) -> ObservationArray:
    """The features of a world that has none of its own: the observation itself."""
    return observations


@dataclass(frozen=True)
class Sizes:
    """What a policy must know of its world: the form of an observation, the action box, and what to look at."""

    observation: Form
    action_low: FloatArray  # (A,)
    action_high: FloatArray  # (A,)
    features: Callable[[ObservationArray], ObservationArray] = as_it_is
    """What is seen of observations: (k, *S) → (k, *features)."""
    turned: Callable[[ObservationArray, FloatArray, FloatArray], tuple[ObservationArray, FloatArray]] | None = None
    """A symmetry of the world: observations (k, *S) and actions (k, A), changed by k random numbers in [0, 1) to others
    that are as good a demonstration."""

    @property
    def seen(self) -> Form:
        """The form of what is seen of an observation."""
        one = self.features(np.zeros((1, *self.observation.shape), self.observation.dtype))
        return Form(one.shape[1:], one.dtype.str)

    @property
    def action(self) -> int:
        """A, the size of an action."""
        return len(self.action_low)


@dataclass(frozen=True)
class Optimisation:
    """Adam with a stepwise decay; the defaults are those of the paper (Table "Implicit model hyperparameters")."""

    batch: int = 512
    """Transitions per model in one gradient step."""
    learning_rate: float = 5e-4
    """Adam's step size at first."""
    decay: float = 0.99
    """Its factor at every `decay_every`-th gradient step."""
    decay_every: int = 100
    """Gradient steps between decays."""
    weight_decay: float = 0.0
    """How far Adam pulls weights towards zero at each step, times its step size (AdamW: apart from the gradient)."""

    def __post_init__(self) -> None:
        at_least(self, 0, "weight_decay")
        at_least(self, 1, "batch", "decay_every")
        above(self, 0, "learning_rate", "decay")


class Normalisation(Standardisation):
    """From the world's units to the network's and back."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes.seen)
        low, high = (torch.as_tensor(np.asarray(a), dtype=torch.float32) for a in (sizes.action_low, sizes.action_high))
        if not (torch.isfinite(low) & torch.isfinite(high) & (low < high)).all():
            raise ValueError(f"an action box must be finite and not empty, not {low.tolist()} to {high.tolist()}")
        self.register_buffer("center", (low + high) / 2)
        self.register_buffer("half_range", (high - low) / 2)

    center: Tensor
    half_range: Tensor

    def scaled(self, actions: Tensor) -> Tensor:
        """Actions of the world in [−1, 1]^A."""
        return (actions - self.center) / self.half_range

    def unscaled(self, actions: Tensor) -> Tensor:
        """Actions of the network in the units of the world."""
        return self.center + self.half_range * actions


class Learner(ABC):
    """A policy that is an ensemble of E bootstrapped models in one module, trained by one optimiser.

    The loss is a sum over the members, and Adam treats every weight alone, so each member learns as if by itself.
    """

    def __init__(
        self,
        encoder: Encoder,
        model: nn.Module,
        sizes: Sizes,
        optimisation: Optimisation,
        *,
        seed: int,
        device: str,
    ) -> None:
        self.device = torch.device(device)
        self.sizes, self.optimisation = sizes, optimisation
        self.normalisation = Normalisation(sizes).to(self.device)
        self.encoder, self.model = encoder.to(self.device), model.to(self.device)
        self.generator = torch.Generator(self.device).manual_seed(seed)
        self.optimiser = torch.optim.AdamW(
            self._parameters(),
            lr=optimisation.learning_rate,
            weight_decay=optimisation.weight_decay,
            fused=True,
        )
        self.gradient_steps = 0

    @abstractmethod
    def decide(self, observations: ObservationArray) -> Decision:
        """See `Policy.decide`."""

    @abstractmethod
    def _losses(self, states: Tensor, actions: Tensor) -> Tensor:
        """The loss of each member (E,) on its own batch: states (E, B, F) and scaled actions (E, B, A)."""

    def act(self, observations: ObservationArray) -> FloatArray:
        """See `Policy.act`."""
        return self.decide(observations).actions

    def uncertainty(self, observations: ObservationArray) -> FloatArray:
        """See `Policy.uncertainty`."""
        return self.decide(observations).uncertainty

    def fit_normalisation(self, memory: Memory) -> None:
        """See `Policy.fit_normalisation`."""
        everything = np.arange(memory.size)[None]
        self.normalisation.fit(self._batch(memory, everything)[0][0])

    def learn(self, memory: Memory, steps: int) -> float:
        """See `Policy.learn`."""
        total = torch.zeros((), device=self.device)
        for _ in range(steps):
            observations, actions = self._batch(memory, memory.draw(self.optimisation.batch))
            states = self.encoder(self.normalisation(observations))
            losses = self._losses(states, self.normalisation.scaled(actions))
            self.optimiser.zero_grad(set_to_none=True)
            losses.sum().backward()  # type: ignore[no-untyped-call]
            self._set_learning_rate()
            self.optimiser.step()
            self.gradient_steps += 1
            total += losses.detach().mean()
        mean = float(total) / max(steps, 1)
        if not np.isfinite(mean):
            raise FloatingPointError(
                f"the loss became {mean} within {self.gradient_steps} gradient steps: lower the learning rate"
            )
        return mean

    def _batch(self, memory: Memory, rows: IntArray) -> tuple[Tensor, Tensor]:
        """What is seen (E, B, *features) and the actions (E, B, A) of these rows of the memory (E, B)."""
        observations, actions = memory.observations[rows.ravel()], memory.actions[rows.ravel()]
        if self.sizes.turned is not None:
            turns = torch.rand(rows.size, generator=self.generator, device=self.device).cpu().numpy()
            observations, actions = self.sizes.turned(observations, actions, turns)
        seen, labels = (torch.as_tensor(a, device=self.device) for a in (self.sizes.features(observations), actions))
        return seen.view(*rows.shape, *seen.shape[1:]), labels.view(*rows.shape, -1)

    def _parameters(self) -> list[nn.Parameter]:
        """All that is learned."""
        return [*self.model.parameters(), *self.encoder.parameters()]

    def _set_learning_rate(self) -> None:
        decays = self.gradient_steps // self.optimisation.decay_every
        for group in self.optimiser.param_groups:
            group["lr"] = self.optimisation.learning_rate * self.optimisation.decay**decays

    def _states(self, observations: ObservationArray) -> Tensor:
        """The states of the fleet's observations (N, *S), or an error that names the robot that has a bad one.

        They are standardised vectors (N, S), or features of images (E, N, F), of each member.
        """
        finite = finite_rows(observations)
        if not finite.all():
            robot = int(np.argmin(finite))
            raise ValueError(f"robot {robot}: its observation holds NaN or infinity: {observations[robot].tolist()}")
        seen = torch.as_tensor(self.sizes.features(observations), dtype=torch.float32, device=self.device)
        states: Tensor = self.encoder(self.normalisation(seen))
        return states

    def _world_actions(self, actions: Tensor) -> FloatArray:
        """Actions (N, A) in the units of the world, inside the box to the last digit."""
        world: FloatArray = self.normalisation.unscaled(actions).cpu().numpy()
        return np.clip(world, self.sizes.action_low, self.sizes.action_high)

    def state_dict(self) -> PolicyState:
        """See `Policy.state_dict`."""
        state = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        state |= {f"encoder.{name}": value for name, value in self.encoder.state_dict().items()}
        state |= {f"normalisation.{name}": value for name, value in self.normalisation.state_dict().items()}
        for i, parameter in enumerate(self._parameters()):
            moments = self.optimiser.state.get(parameter, {})
            state |= {f"optimiser.{i}.{name}": value for name, value in moments.items()}
        state["generator"] = self.generator.get_state()
        state["gradient_steps"] = torch.tensor(self.gradient_steps)
        return {name: value.detach().cpu().clone() for name, value in state.items()}

    def load_state_dict(self, state: PolicyState) -> None:
        """See `Policy.load_state_dict`."""
        self.model.load_state_dict(_under("model.", state))
        self.encoder.load_state_dict(_under("encoder.", state))
        self.normalisation.load_state_dict(_under("normalisation.", state))
        self.optimiser.state.clear()  # a state from before the first gradient step has no moments
        for i, parameter in enumerate(self._parameters()):
            moments = _under(f"optimiser.{i}.", state)
            if moments:
                self.optimiser.state[parameter] = {k: v.clone().to(self.device) for k, v in moments.items()}
        self.generator.set_state(state["generator"])
        self.gradient_steps = int(state["gradient_steps"])


def _under(prefix: str, state: PolicyState) -> PolicyState:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
