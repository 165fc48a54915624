"""Scripted people who stack cube A on cube B, each kind of them grasping a different face (appendix of the paper).

Everybody goes through the same stages: above A (0.1 m) → rotate → descend → close → lift → above B (0.15 m) → lower to
B (0.06 m) → open and rise; whoever loses the cube begins again. With θ ∈ [−π/4, π/4] the yaw, from that of the gripper
at its home posture, of the nearest pair of faces, the four kinds of people grasp at θ, θ − π/2, θ − π and θ + π/2.

A displacement that is asked for is the whole way to the goal (at most 0.2 m), so that the hand comes to it as the
critically damped spring that its controller makes of it: an episode takes 120 to 400 of the 500 steps.
"""

from enum import IntEnum
from typing import Any

import numpy as np

from iifl.records import NOBODY, FloatArray, IntArray
from iifl.supervisors.cube_scene import (
    ABOVE_A,
    CLEAR,
    GRASPED,
    OPEN,
    Scene,
    feasible_turn,
    look,
    nearest_face,
    out_of_the_way,
)

GRASP_YAWS = np.array([0.0, -np.pi / 2, -np.pi, np.pi / 2])  # added to θ; with two kinds of people the first two
REACH = 0.5  # metres or radians that an action of 1 asks for
FASTEST, FASTEST_TURN = 0.2, 0.5  # metres, radians: no person asks for more at once
ABOVE_B, ON_B = 0.15, 0.06  # heights of cube A over cube B (centres)
HOME_HAND, TWISTED = np.array([0.0, 0.0, 1.25]), 0.7  # a hand tilted more than this (sine) first comes home


class Stage(IntEnum):
    """What a person is doing with a robot."""

    ABOVE_A = 0
    ROTATE = 1
    DESCEND = 2
    CLOSE = 3
    LIFT = 4
    ABOVE_B = 5
    LOWER = 6
    RELEASE = 7


class CubeStackingSupervisors:
    """M people in `kinds` groups as equal as can be, for a fleet of `robots`; fewer people are of fewer kinds."""

    def __init__(self, humans: int, robots: int, rng: np.random.Generator | None = None, *, kinds: int = 4) -> None:
        del rng  # they leave nothing to chance
        if not 1 <= kinds <= len(GRASP_YAWS):
            raise ValueError(f"there are 1 to {len(GRASP_YAWS)} kinds of people, not {kinds}")
        self.humans = humans
        self.kind_of = np.arange(humans) * kinds // max(humans, 1)
        self._human = np.full(robots, NOBODY, np.int64)
        self._clock = np.full(robots, -1, np.int64)  # of the world, when a robot was last helped
        self._stage = np.zeros(robots, np.int64)
        self._grasp_yaw = np.zeros(robots)

    def begin(self, robots: IntArray) -> None:
        """These robots start a new episode."""
        self._human[robots] = NOBODY

    def act(self, humans: IntArray, robots: IntArray, observations: FloatArray, task: Any) -> FloatArray:
        """What each human makes of the robot's scene: (k, 7)."""
        scene = look(observations, robots, task)
        self._take_over(humans, robots, scene, task.clock[robots])
        grasp_yaw = nearest_face(scene.cube_yaw, self._grasp_yaw[robots])
        turn = feasible_turn(grasp_yaw - scene.yaw, scene.arm[:, 6])
        stage = next_stage(self._stage[robots], scene, turn)
        self._stage[robots], self._grasp_yaw[robots] = stage, grasp_yaw
        return command(stage, scene, turn)

    def _take_over(self, humans: IntArray, robots: IntArray, scene: Scene, clock: IntArray) -> None:
        """Who comes to a robot looks what is there to do, and carries on with a grasp that another has begun."""
        new = (self._human[robots] != humans) | (self._clock[robots] + 1 != clock)
        self._human[robots], self._clock[robots] = humans, clock
        stage = np.select([scene.held, scene.around], [Stage.LIFT, Stage.DESCEND], Stage.ABOVE_A)
        preferred = out_of_the_way(nearest_face(scene.cube_yaw) + GRASP_YAWS[self.kind_of[humans]], scene.to_b)
        self._stage[robots[new]] = stage[new]
        self._grasp_yaw[robots[new]] = np.where(stage == Stage.DESCEND, scene.yaw, preferred)[new]

    def state_dict(self) -> dict[str, np.ndarray]:
        """What the people have in mind for every robot."""
        return {name: getattr(self, f"_{name}").copy() for name in _IN_MIND}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state that `state_dict` gave."""
        for name in _IN_MIND:
            getattr(self, f"_{name}")[:] = state[name]


def two_kinds(humans: int, robots: int, rng: np.random.Generator | None = None) -> CubeStackingSupervisors:
    """People who grasp at θ and at θ − π/2 only (Table 5)."""
    return CubeStackingSupervisors(humans, robots, rng, kinds=2)


_IN_MIND = ("human", "clock", "stage", "grasp_yaw")


def _goals(scene: Scene) -> FloatArray:
    """How far the hand is from where each stage wants it: (stages, k, 3)."""
    up = np.array([0.0, 0.0, 1.0])
    goals = np.zeros((len(Stage), len(scene.off), 3))
    twisted = scene.inclination[:, None] > TWISTED
    goals[Stage.ABOVE_A] = np.where(twisted, HOME_HAND - scene.hand, scene.off + ABOVE_A * up)
    goals[Stage.ROTATE] = scene.off + ABOVE_A * up
    goals[Stage.DESCEND] = scene.off
    goals[Stage.LIFT, :, 2] = scene.to_b[:, 2] + ABOVE_B
    goals[Stage.ABOVE_B] = scene.to_b + ABOVE_B * up
    goals[Stage.LOWER] = scene.to_b + ON_B * up
    goals[Stage.RELEASE, :, 2] = np.where(scene.finger > OPEN, scene.off[:, 2] + ABOVE_A, 0.0)
    return goals


def next_stage(stage: IntArray, scene: Scene, turn: FloatArray) -> IntArray:
    """The stage of each robot after a look at its scene (k,): the next one where this one is done."""
    goals = _goals(scene)
    distance = np.linalg.norm(goals, axis=2)  # (stages, k)
    sideways = np.hypot(goals[..., 0], goals[..., 1])
    beside = np.hypot(scene.off[:, 0], scene.off[:, 1]) > CLEAR
    upright = np.linalg.norm(scene.tilt, axis=1) < 0.1
    done = np.array(
        [
            (distance[Stage.ABOVE_A] < 0.015) & upright,
            (distance[Stage.ROTATE] < 0.01) & upright & (np.abs(turn) < 0.05),
            (distance[Stage.DESCEND] < 0.012) & (sideways[Stage.DESCEND] < 0.006),
            (scene.finger < GRASPED) & (scene.finger_speed < 0.005),
            distance[Stage.LIFT] < 0.02,
            distance[Stage.ABOVE_B] < 0.01,
            (sideways[Stage.LOWER] < 0.012) & (goals[Stage.LOWER, :, 2] > -0.006 - 0.03 * scene.inclination),
            scene.off[:, 2] < -0.08,  # risen, and the world says that it is no success: again
        ]
    )
    lost = np.array([beside & False] * 2 + [beside] * 2 + [~scene.held] * 3 + [beside])
    robots = np.arange(len(stage))
    after = (stage + done[stage, robots]) % len(Stage)
    return np.where(lost[stage, robots], Stage.ABOVE_A, after)


def command(stage: IntArray, scene: Scene, turn: FloatArray) -> FloatArray:
    """The action of each stage (k, 7), inside the action box."""
    robots = np.arange(len(stage))
    move = _goals(scene)[stage, robots]
    low = (stage == Stage.ABOVE_A) & (move[:, 2] > CLEAR)
    move[low, :2] = 0.0  # rise before going sideways, not to push a cube away
    turning = (stage == Stage.ROTATE) | (stage == Stage.DESCEND)
    rotate = scene.tilt.copy()
    rotate[:, 2] += np.where(turning, turn, scene.relief)
    actions = np.empty((len(stage), 7), np.float32)
    actions[:, :3] = _no_longer_than(FASTEST, move) / REACH
    actions[:, 3:6] = _no_longer_than(FASTEST_TURN, rotate) / REACH
    actions[:, 6] = np.where((stage >= Stage.CLOSE) & (stage <= Stage.LOWER), -1.0, 1.0)
    return np.clip(actions, -1.0, 1.0)


def _no_longer_than(limit: float, vectors: FloatArray) -> FloatArray:
    """The vectors (k, 3), shortened to `limit` where they are longer."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    shortened: FloatArray = vectors * (limit / np.maximum(lengths, limit))
    return shortened
