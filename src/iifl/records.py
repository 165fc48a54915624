"""The frozen records that cross the borders between tasks, policies, allocation and supervisors.

Everything is an array over the fleet: N robots, M humans, actions of size A, and observations of one `Form` S: vectors,
or images (H, W, C).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating]
IntArray = NDArray[np.integer]
ObservationArray = NDArray[np.floating | np.uint8]
BoolArray = NDArray[np.bool_]

NOBODY = -1
"""The entry of `human_of` for a robot that has no human."""


def finite_rows(array: np.ndarray) -> BoolArray:
    """Which entries along the first axis hold neither NaN nor infinity (k,)."""
    finite: BoolArray = np.isfinite(array).all(axis=tuple(range(1, array.ndim)))
    return finite


@dataclass(frozen=True)
class Form:
    """What one observation is: its shape S, and the numbers in which it is kept, in the memory and on disk."""

    shape: tuple[int, ...]
    dtype: str = "<f4"

    @property
    def is_image(self) -> bool:
        """Whether it is an image (H, W, C); otherwise it is a vector."""
        return len(self.shape) == 3

    def empty(self, count: int) -> np.ndarray:
        """Room for `count` observations (count, *S)."""
        return np.empty((count, *self.shape), self.dtype)


@dataclass(frozen=True)
class Decision:
    """What a policy proposes for every robot, and how unsure it is."""

    actions: FloatArray  # (N, A)
    uncertainty: FloatArray  # (N,)


@dataclass(frozen=True)
class Assignment:
    """Who helps whom: the matrix α of Eq. (2), kept as one integer per robot so that it cannot be invalid by row.

    `together` counts the timesteps that a robot and its present human have already spent together.
    """

    human_of: IntArray  # (N,), NOBODY for none
    together: IntArray  # (N,), 0 for none

    @staticmethod
    def nobody(robots: int) -> "Assignment":
        """The assignment before the first timestep: every robot on its own."""
        return Assignment(np.full(robots, NOBODY, np.int64), np.zeros(robots, np.int64))

    def alpha(self, humans: int) -> IntArray:
        """The 0/1 matrix α ∈ {0,1}^{N×M} of Eq. (2)."""
        matrix = np.zeros((len(self.human_of), humans), np.int64)
        helped = np.flatnonzero(self.human_of != NOBODY)
        matrix[helped, self.human_of[helped]] = 1
        return matrix


@dataclass(frozen=True)
class Situation:
    """Who is with whom in this timestep, what for, and why: what people see before anybody acts."""

    timestep: int
    human_of: IntArray  # (N,)
    asked: BoolArray  # (N,) the human is to give an action
    resets: BoolArray  # (N,) the robot has failed, and the human is to begin its hard reset
    wants: BoolArray  # (N,) wants help by the order of priority; another one's human only stays the minimum time
    uncertainty: FloatArray  # (N,)


@dataclass(frozen=True)
class Timestep:
    """All that happened to the fleet in one synchronous timestep: what the journal keeps and the metrics read."""

    human_of: IntArray  # (N,) who helped whom in this timestep
    taught: BoolArray  # (N,) the robot executed its human's action (recorded as data)
    uncertainty: FloatArray  # (N,)
    rewards: FloatArray  # (N,)
    failed: BoolArray  # (N,) in a constraint-violating state before this timestep: idle during it
    hard_reset: BoolArray  # (N,) a human finished a hard reset in this timestep
    success: BoolArray  # (N,) an episode ended in success in this timestep
    ended: BoolArray  # (N,) an episode ended in this timestep without failure
