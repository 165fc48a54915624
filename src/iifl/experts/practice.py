"""Worlds as experts practise in them: the same robots, with more of what is hard."""

import numpy as np

from iifl.records import FloatArray, IntArray
from iifl.tasks.ball_balance import BallBalance

SHARE, SPEED = 0, 3  # of a throw's random numbers


class HardThrows(BallBalance):
    """Ball Balance with throws from further out and faster: most of the world's own are easy."""

    def _place(self, robots: IntArray, uniforms: FloatArray) -> None:
        harder = uniforms.copy()
        harder[:, [SHARE, SPEED]] = np.sqrt(harder[:, [SHARE, SPEED]])
        super()._place(robots, harder)


PRACTICE: dict[str, type[BallBalance]] = {"ball_balance": HardThrows}
