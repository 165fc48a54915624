"""The scripted supervisors of the reacher: straight to the target, with the elbow on one side or the other."""

from typing import Any

import numpy as np

from iifl.records import FloatArray, IntArray

LINK, FASTEST, GAIN = 0.5, 2.0, 5.0  # m, rad/s, 1/s
STRAIGHT = 0.1  # rad: an elbow bent further than this stays on its side


class ReacherSupervisors:
    """M people of one skill; the elbow of each episode goes to either side with probability ½."""

    def __init__(self, humans: int, robots: int, rng: np.random.Generator) -> None:
        self.humans = humans
        self._rng = rng
        self._side = np.ones(robots)

    def begin(self, robots: IntArray) -> None:
        """Toss a coin for the side of each elbow."""
        self._side[robots] = self._rng.choice([-1.0, 1.0], len(robots))

    def act(self, humans: IntArray, robots: IntArray, observations: FloatArray, task: Any) -> FloatArray:
        """Towards the joints that put the tip on the target: (k, 2)."""
        x, y = task.targets[robots].T
        shoulder, elbow = task.qpos[robots].T
        side = np.where(np.abs(elbow) > STRAIGHT, np.sign(np.sin(elbow)), self._side[robots])
        bend = side * np.arccos(np.clip((x**2 + y**2) / (2 * LINK**2) - 1, -1, 1))
        turn = np.arctan2(y, x) - bend / 2  # equal links: the shoulder points half the bend aside
        error = np.stack([turn - shoulder, bend - elbow], axis=1)
        error = (error + np.pi) % (2 * np.pi) - np.pi
        actions: FloatArray = np.clip(GAIN * error / FASTEST, -1, 1).astype(np.float32)
        return actions

    def state_dict(self) -> dict[str, np.ndarray]:
        """The side in mind for each robot (the random state is the run's)."""
        return {"side": self._side.copy()}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state that `state_dict` gave."""
        self._side[:] = state["side"]
