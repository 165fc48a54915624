"""M people who all do the task as the trained expert of the world does it."""

from typing import Any, ClassVar

import numpy as np

from iifl.experts.expert import Expert
from iifl.records import FloatArray, IntArray


class TrainedExperts:
    """Supervisors without a mind of their own: the same action whoever helps, and nothing to remember."""

    world: ClassVar[str]

    def __init__(self, humans: int, robots: int, rng: np.random.Generator) -> None:
        self.humans = humans
        self._expert = Expert.of(self.world)

    def begin(self, robots: IntArray) -> None:
        """There is nothing to forget."""

    def act(self, humans: IntArray, robots: IntArray, observations: FloatArray, task: Any) -> FloatArray:
        """The expert's actions for these robots: (k, A)."""
        return self._expert.act(observations)

    def state_dict(self) -> dict[str, np.ndarray]:
        """Experts have no state."""
        return {}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Experts have no state."""


class BallBalanceExperts(TrainedExperts):
    """The people of Ball Balance."""

    world = "ball_balance"


class AntExperts(TrainedExperts):
    """The people of Ant."""

    world = "ant"


class AnymalExperts(TrainedExperts):
    """The people of Anymal."""

    world = "anymal"
