"""How far one action gets, in the pixels of a picture."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Reach:
    """Where an action can begin and end in a picture; pixels are (x, y) from the upper left corner."""

    size: tuple[int, int]  # width and height of the picture
    origin: tuple[float, float]  # where the action begins
    box: tuple[float, float, float, float]  # left, top, right and bottom of where it can end

    @staticmethod
    def of(task: Any, robot: int, width: int, height: int) -> "Reach":
        """The reach of one robot of a world seen from above, whose action box has a side for each axis of the table."""
        limits = task.single_action_space
        ends = task.action_end(robot, np.stack([np.zeros_like(limits.low), limits.low, limits.high]))
        origin, *corners = task.table_to_pixel(ends).tolist()
        (left, right), (top, bottom) = (sorted(axis) for axis in zip(*corners, strict=True))
        return Reach((width, height), tuple(origin), (left, top, right, bottom))

    def within(self, x: float, y: float) -> tuple[float, float]:
        """The pixel itself, or where the way to it leaves the box: too long an action keeps its direction."""
        (x0, y0), (left, top, right, bottom) = self.origin, self.box
        share = 1.0
        for to, start, low, high in ((x, x0, left, right), (y, y0, top, bottom)):
            if to != start:
                share = min(share, ((high if to > start else low) - start) / (to - start))
        return x0 + share * (x - x0), y0 + share * (y - y0)
