"""2D navigation (section 5.1 and Figure 1 of the paper): a fork around an obstacle, then a corridor with wind.

    y
    +10 ####################
     +9 # ┌─────────────┐  #
        # │ ########### │  ##########################################
      0 # S # obstacle# ├─────────────────────^^^^^^^^^^^^^^^^^^────G#     S start, G goal, ^ wind at execution time
        # │ ########### │  ##########################################
     -9 # └─────────────┘  #
    -10 ####################

The paper gives the ideas and no numbers. These are ours, each with its reason:

- A cell is the 1 × 1 square around integer coordinates. The robot sees its cell (x, y), never the pose inside it:
  states are discrete and motion is continuous, as in the paper.
- The room spans y = −10 … 10 and the obstacle y = −7 … 7, so both ways round are equally long and 3 cells wide, and the
  middle of the free path is a whole cell (y = ±9).
- The path forks at the start: supervisors go straight up or straight down, so the mean of the two ways is to stand
  still. (With two cells to go before the fork, small networks blurred "right" into the fork on some seeds.)
- The corridor is 7 cells high (y = −3 … 3) and 42 long, with wind at x = 38 … 55. The wind begins 20 cells after the
  branches have met, since closer to the merge its demonstrations, "back to the middle", make a policy safe from a wind
  that it has never seen. It lasts for 18 columns, so that creeping along the wall does not end in time.
- A move that would end in a wall is *blocked*: the robot stays where it is. It is not a failure: nothing breaks, the
  robots of the paper that meet the wall stay there, and what would free them is teleoperation, not a hard reset.
  So no robot of this world ever fails.
- A move is at most 1 along each axis and no wall is thinner than that, so only the end of a move needs a check.
- The start cell is fixed; the robot is put down in it by hand, to ± 0.1, so that 100 trials are not one trial repeated.
- The goal is the last column of the corridor, within one cell of its middle: reaching it asks for a recovery from the
  wind, not for a grazing pass along the wall.
- An episode has 120 steps; a supervisor needs 78 in still air, so a detour of half the way is still in time.
"""

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from iifl.records import BoolArray, FloatArray, IntArray
from iifl.tasks.fleet import FleetTask, StateDict


class Navigation(FleetTask):
    """N robots in N copies of the maze; s = (x, y) is the cell, a = (Δx, Δy) ∈ [−1, 1]² moves the pose."""

    episode_steps: ClassVar[int] = 120
    reset_draws: ClassVar[int] = 2
    demonstration_options: ClassVar[dict[str, Any]] = {"wind": 0.0}

    half_height: ClassVar[int] = 10
    room_length: ClassVar[int] = 20
    length: ClassVar[int] = 62
    corridor_half_height: ClassVar[int] = 3
    obstacle_x: ClassVar[tuple[int, int]] = (3, 14)
    obstacle_half_height: ClassVar[int] = 7
    fork_x: ClassVar[int] = 1
    branch_y: ClassVar[int] = 9
    merge_x: ClassVar[int] = 17
    goal_x: ClassVar[int] = 61
    wind_x: ClassVar[tuple[int, int]] = (38, 55)

    def __init__(self, num_envs: int, seed: int = 0, wind: float = 0.75) -> None:
        corner = np.array([0, -self.half_height], np.float32), np.array([self.goal_x, self.half_height], np.float32)
        super().__init__(num_envs, spaces.Box(*corner), spaces.Box(-1.0, 1.0, (2,), np.float32), seed)
        self.wind = wind
        self.free = self.floor_plan()
        self.pose: FloatArray = np.zeros((num_envs, 2))

    @classmethod
    def floor_plan(cls) -> BoolArray:
        """Which cells are free, indexed by [x, y + half_height]."""
        x = np.arange(cls.length)[:, None]
        y = np.arange(-cls.half_height, cls.half_height + 1)[None, :]
        room = x < cls.room_length
        obstacle = (x >= cls.obstacle_x[0]) & (x <= cls.obstacle_x[1]) & (abs(y) <= cls.obstacle_half_height)
        corridor = abs(y) <= cls.corridor_half_height
        plan: BoolArray = (room & ~obstacle) | (corridor & ~room)
        return plan

    @property
    def cell(self) -> IntArray:
        """The cell that each robot stands in (N, 2)."""
        cell: IntArray = np.floor(self.pose + 0.5).astype(np.int64)
        return cell

    def is_free(self, pose: FloatArray) -> BoolArray:
        """Whether poses (k, 2) lie in free cells; all that is outside the maze is wall."""
        x, y = np.floor(pose + 0.5).astype(np.int64).T
        y = y + self.half_height
        inside = (x >= 0) & (x < self.free.shape[0]) & (y >= 0) & (y < self.free.shape[1])
        free: BoolArray = inside & self.free[np.where(inside, x, 0), np.where(inside, y, 0)]
        return free

    def _reset_robots(self, robots: IntArray, uniforms: FloatArray) -> None:
        self.pose[robots] = (self.fork_x, 0.0) + 0.2 * (uniforms - 0.5)

    def _advance(self, robots: IntArray, actions: FloatArray) -> None:
        pose = self.pose[robots]
        column = np.floor(pose[:, 0] + 0.5)
        windy = (column >= self.wind_x[0]) & (column <= self.wind_x[1])
        moved = pose + actions
        moved[:, 1] += self.wind * windy
        self.pose[robots] = np.where(self.is_free(moved)[:, None], moved, pose)

    def _observe(self) -> FloatArray:
        return self.cell.astype(np.float32)

    def _judge(self, actions: FloatArray) -> tuple[FloatArray, BoolArray, BoolArray]:
        x, y = self.cell.T
        reached = (x == self.goal_x) & (abs(y) <= 1)
        return reached.astype(np.float64), np.zeros(self.num_envs, bool), reached

    def world_state(self) -> StateDict:
        """The poses."""
        return {"pose": self.pose.copy()}

    def load_world_state(self, state: StateDict) -> None:
        """Take back the poses."""
        self.pose[:] = state["pose"]
