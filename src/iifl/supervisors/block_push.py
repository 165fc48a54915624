"""The scripted supervisors of block pushing: round the obstacle by the middle of the way, each on their own side.

They see where the cube and the goal are. Where both ways round are equally long, human 0 pushes the cube clockwise and
human 1 counter-clockwise, and further humans in turn; where one is shorter by more than `EQUAL`, all take it. From the
first push on one is, so they need no memory, and go on from wherever another, or the policy, has left the cube.

They look anew before each push, which makes up for the cube's turning and slipping in the one before.
"""

from typing import Any

import numpy as np

from iifl.records import FloatArray, IntArray

EQUAL = 0.04  # m: ways that differ by no more are equally long
AHEAD = 0.09  # m along the middle of the way: how far people push at once
OFF_LANE = 0.02  # m off the middle of the way, at most, even where the goal is further off


class BlockPushSupervisors:
    """M people of one skill who differ in the side they prefer."""

    def __init__(self, humans: int, robots: int, rng: np.random.Generator) -> None:
        del robots, rng  # they remember nothing and leave nothing to chance
        self.humans = humans

    def begin(self, robots: IntArray) -> None:
        """Nothing is in mind for a robot that is not seen."""

    def act(self, humans: IntArray, robots: IntArray, observations: FloatArray, task: Any) -> FloatArray:
        """The push (k, 2) towards the next point of the way, or onto the goal."""
        del observations  # they see the true state
        cube, goal, lane = task.cube[robots], task.goal[robots], task.lane
        place, remaining = along_lane(cube, lane), self.remaining(humans, cube, goal, lane)
        onward = on_lane(place + np.clip(remaining, -AHEAD, AHEAD), lane)
        goal = goal * (np.clip(reach(goal), lane - OFF_LANE, lane + OFF_LANE) / reach(goal))[:, None]
        arriving = np.abs(remaining) < AHEAD
        actions: FloatArray = task.action_towards(robots, np.where(arriving[:, None], goal, onward))
        return actions

    @staticmethod
    def remaining(humans: IntArray, cube: FloatArray, goal: FloatArray, lane: float) -> FloatArray:
        """How far each human will push along the middle of the way (k,): > 0 counter-clockwise, < 0 clockwise."""
        round_trip = 8 * lane
        counter = (along_lane(goal, lane) - along_lane(cube, lane)) % round_trip
        clockwise = round_trip - counter
        own = np.where(humans % 2 == 0, -clockwise, counter)
        shorter = np.where(counter < clockwise, counter, -clockwise)
        chosen: FloatArray = np.where(np.abs(counter - clockwise) <= EQUAL, own, shorter)
        return chosen

    def state_dict(self) -> dict[str, np.ndarray]:
        """Nothing."""
        return {}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Nothing to take back."""


def reach(points: FloatArray) -> FloatArray:
    """How far points (k, 2) are from the centre, by squares like the obstacle: (k,)."""
    distance: FloatArray = np.abs(points).max(axis=1)
    return distance


def along_lane(points: FloatArray, lane: float) -> FloatArray:
    """The place (k,) of points (k, 2) on the square at `lane` from the centre: metres from (lane, 0) on."""
    x, y = points.T * (lane / np.maximum(reach(points), 1e-9))
    east, north, west = (x >= np.abs(y)), (y >= np.abs(x)), (-x >= np.abs(y))
    place: FloatArray = np.select([east, north, west], [y, 2 * lane - x, 4 * lane - y], 6 * lane + x) % (8 * lane)
    return place


def on_lane(place: FloatArray, lane: float) -> FloatArray:
    """The points (k, 2) at these places (k,) of the square; inverse of `along_lane`."""
    side, offset = np.divmod(place + lane, 2 * lane)
    quarter = np.pi / 2 * (side % 4)
    across, along = lane * np.ones_like(place), offset - lane
    cos, sin = np.round(np.cos(quarter)), np.round(np.sin(quarter))
    return np.stack([across * cos - along * sin, across * sin + along * cos], axis=1)
