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
