"""The border of a policy: what learns. It knows observations and actions, and nothing of robots or people."""

from typing import Protocol

from torch import Tensor

from iifl.memory import Memory
from iifl.records import Decision, FloatArray, ObservationArray

PolicyState = dict[str, Tensor]


class Policy(Protocol):
    """One policy shared by the whole fleet.

    A policy is built from its frozen configuration, the sizes and the action box, and a seed. Normalisation, optimiser
    and random state belong to it and are in its state.
    """

    def act(self, observations: ObservationArray) -> FloatArray:
        """The robots' own actions (N, A), always inside the action box."""
        ...

    def uncertainty(self, observations: ObservationArray) -> FloatArray:
        """How unsure the policy is at each observation (N,), non-negative."""
        ...

    def decide(self, observations: ObservationArray) -> Decision:
        """Both at once, sharing the work that they have in common."""
        ...

    def fit_normalisation(self, memory: Memory) -> None:
        """Take the mean and the standard deviation of the offline demonstrations."""
        ...

    def learn(self, memory: Memory, steps: int) -> float:
        """Take `steps` gradient steps on the memory; return the mean loss."""
        ...

    def state_dict(self) -> PolicyState:
        """All that is needed to go on from here: weights, normalisation, optimiser, random state."""
        ...

    def load_state_dict(self, state: PolicyState) -> None:
        """Go on from a state that `state_dict` gave."""
        ...
