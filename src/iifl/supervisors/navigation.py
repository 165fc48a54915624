"""The scripted supervisors of the navigation maze: to the goal by the middle of the free path, either way round.

They see the pose and steer by feedback towards the next corner of the path; they know nothing of the wind. At the fork
each episode of each robot goes up or down with probability ½. A robot that is found off the fork's middle line is
taken on along the way it is already on.

People keep to the middle of a passage, not to one line: each episode has a lane of its own, −1, 0 or 1 cells off it, in
the branch, where the branches meet, and in the corridor. With one line for all,
- the only demonstrations off the line of the corridor were those of the merge, "back to the middle"; on some seeds IBC
  carried them over to the wind and was safe from it;
- all turned down into the merge in one cell, and on some seeds a small network missed it by a cell and ran to the wall.
"""

from typing import Any

import numpy as np

from iifl.records import FloatArray, IntArray


class NavigationSupervisors:
    """M people of one skill and no fixed side: the data of each is multimodal, and so is that of all."""

    def __init__(self, humans: int, robots: int, rng: np.random.Generator) -> None:
        self.humans = humans
        self._rng = rng
        self._side = np.ones(robots)
        self._lane = np.zeros(robots)

    def begin(self, robots: IntArray) -> None:
        """Draw the way that these robots will be taken round the obstacle, and their lane."""
        self._side[robots] = self._rng.choice([-1.0, 1.0], len(robots))
        self._lane[robots] = self._rng.integers(-1, 2, len(robots))

    def act(self, humans: IntArray, robots: IntArray, observations: FloatArray, task: Any) -> FloatArray:
        """Towards the next corner of the path, at full speed (k, 2)."""
        del humans, observations  # all are alike, and all see the pose
        pose = task.pose[robots]
        actions: FloatArray = np.clip(self._corner(pose, robots, task) - pose, -1.0, 1.0).astype(np.float32)
        return actions

    def _corner(self, pose: FloatArray, robots: IntArray, task: Any) -> FloatArray:
        """Where each robot should head for: the next corner of the path, or far along the corridor."""
        x, y = np.floor(pose + 0.5).T
        side, lane = np.where(y == 0, self._side[robots], np.sign(y)), self._lane[robots]
        branch_y, merge_x = task.branch_y + lane, task.merge_x + lane
        on_branch = abs(y) > task.obstacle_half_height
        left = x < task.obstacle_x[0]
        cases = [
            (left & (y == 0) & (x < task.fork_x), task.fork_x, 0.0 * side),  # to the fork
            (left & (abs(y) < branch_y), task.fork_x, side * branch_y),  # up or down along the face
            ((x < merge_x) & on_branch, merge_x, side * branch_y),  # along the branch
            ((x < task.room_length) & (y != lane), merge_x, lane),  # to the height of the lane
        ]
        conditions = [case[0] for case in cases]
        onward = np.minimum(pose[:, 0] + 1.0, task.goal_x)  # and not into the wall behind the goal
        heading_x = np.select(conditions, [np.broadcast_to(case[1], x.shape) for case in cases], onward)
        heading_y = np.select(conditions, [case[2] for case in cases], lane)
        return np.stack([heading_x, heading_y], axis=1)

    def state_dict(self) -> dict[str, np.ndarray]:
        """The side and the lane in mind for each robot (the random state is the run's)."""
        return {"side": self._side.copy(), "lane": self._lane.copy()}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state that `state_dict` gave."""
        self._side[:] = state["side"]
        self._lane[:] = state["lane"]
