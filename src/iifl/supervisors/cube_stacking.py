"""Scripted people who stack cube A on cube B, each kind of them grasping a different face (appendix of the paper).

Everybody goes through the same stages: above A (0.1 m) → rotate → descend → close → lift → above B (0.15 m) → lower to
B (0.06 m) → open and rise; whoever loses the cube begins again. With θ ∈ [−π/4, π/4] the yaw, from that of the gripper
at its home posture, of the nearest pair of faces, the four kinds of people grasp at θ, θ − π/2, θ − π and θ + π/2.

Joint 7 of the Panda turns by less than a full turn (±2.8973 rad), so a person turns the gripper whichever way ends
furthest inside that range; where the last quarter radian of the turn is out of reach, the closing pads turn the cube.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from iifl.records import NOBODY, BoolArray, FloatArray, IntArray

GRASP_YAWS = np.array([0.0, -np.pi / 2, -np.pi, np.pi / 2])  # added to θ; with two kinds of people the first two
REACH = 0.5  # metres or radians that an action of 1 asks for
FASTEST, FASTEST_TURN = 0.2, 0.5  # metres, radians: no person asks for more at once
ABOVE_A, ABOVE_B, ON_B = 0.1, 0.15, 0.06  # heights of the hand over A, of A over B (centres)
CLEAR = 0.03  # how far below `ABOVE_A` the hand may be and still move sideways
GRASPED, EMPTY, OPEN = 0.034, 0.020, 0.036  # finger positions: at most this on a cube, less without, more when let go
FINGER = 7  # a finger in the state of the world, after the joints of the arm
CROWDED = 0.12  # between the cubes, where a finger of some grasps would come down on cube B
HOME_HAND, TWISTED = np.array([0.0, 0.0, 1.25]), 0.7  # a hand tilted more than this first comes home
WRIST_LIMIT = 2.8  # rad: people keep joint 7 this near to its middle
SHOULDER = np.array([-0.45, 0.0, 1.458])  # where joints 1 and 2 meet, in the world
WRIST_OFFSET = (0.088, 0.2104)  # joint 6 from the hand, inwards and up
BENT = 3.7  # rad: where joint 6 is this near to its stop, the tilt of the gripper is left as it is
FOLDED = 0.215  # metres from shoulder to wrist, with joint 4 almost at its stop


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


@dataclass(frozen=True)
class Scene:
    """What people see of k robots."""

    cube: FloatArray  # (k, 3) cube A
    cube_yaw: FloatArray  # (k,)
    to_b: FloatArray  # (k, 3) from A to B
    hand: FloatArray  # (k, 3)
    inclination: FloatArray  # (k,) of the gripper from the vertical (sine)
    tilt: FloatArray  # (k, 3) the turn that points the gripper where it should point
    yaw: FloatArray  # (k,) of the gripper, 0 at its home posture
    finger: FloatArray  # (k,)
    finger_speed: FloatArray  # (k,)
    arm: FloatArray  # (k, 7) its joints

    @property
    def off(self) -> FloatArray:
        """From the hand to cube A (k, 3)."""
        return self.cube - self.hand

    @property
    def relief(self) -> FloatArray:
        """The turn (k,) that takes joint 7 back from its stop."""
        return self.arm[:, 6] - np.clip(self.arm[:, 6], -WRIST_LIMIT, WRIST_LIMIT)

    @property
    def held(self) -> BoolArray:
        """The fingers are closed on cube A (k,)."""
        near: BoolArray = np.linalg.norm(self.off, axis=1) < CLEAR
        return near & (self.finger > EMPTY) & (self.finger < GRASPED)

    @property
    def around(self) -> BoolArray:
        """The open gripper is on its way down on cube A, a finger on either side (k,)."""
        square = np.abs(nearest_face(self.cube_yaw, self.yaw) - self.yaw) < 0.2
        above = np.hypot(self.off[:, 0], self.off[:, 1]) < 0.01
        return above & square & (self.off[:, 2] > CLEAR - ABOVE_A) & (self.finger > OPEN)


def look(observations: FloatArray, robots: IntArray, task: Any) -> Scene:
    """The scene of `robots` from their observations (k, 19) and the joints of the world."""
    seen = observations.astype(np.float64)
    arm = np.asarray(task.qpos[robots, :7])
    cube_x, cube_y, _ = axes(seen[:, 0:4])
    cube_side = np.where(np.abs(cube_x[:, 2:]) < 0.7, cube_x, cube_y)  # one that lies flat, even if the cube has rolled
    hand_x, _, pointing = axes(seen[:, 13:17])
    return Scene(
        cube=seen[:, 4:7],
        cube_yaw=np.arctan2(cube_side[:, 1], cube_side[:, 0]),
        to_b=seen[:, 7:10],
        hand=seen[:, 10:13],
        inclination=np.hypot(pointing[:, 0], pointing[:, 1]),
        tilt=np.cross(pointing, approach(seen[:, 10:13])) * np.clip((BENT - arm[:, 5:6]) / 0.1, 0.0, 1.0),
        yaw=np.arctan2(hand_x[:, 1], hand_x[:, 0]),
        finger=seen[:, 17:19].mean(axis=1),
        finger_speed=np.abs(task.qvel[robots, FINGER]),
        arm=arm,
    )


def axes(quaternions: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The axes of bodies in the world, (k, 3) each, from quaternions x y z w (k, 4)."""
    x, y, z, w = quaternions.T
    return (
        np.column_stack([1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)]),
        np.column_stack([2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)]),
        np.column_stack([2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)]),
    )


def approach(hand: FloatArray) -> FloatArray:
    """The direction (k, 3) in which the gripper should point: down, or tilted towards the base where the arm, folded as
    far as joint 4 goes, could not reach so near to itself with the gripper straight down.
    """
    from_base = hand - SHOULDER
    radius = np.hypot(from_base[:, 0], from_base[:, 1])
    to_wrist = np.hypot(radius - WRIST_OFFSET[0], from_base[:, 2] + WRIST_OFFSET[1])
    angle = np.clip(8.0 * (FOLDED - to_wrist), 0.0, 0.45)
    inwards = -np.sin(angle) / np.maximum(radius, 1e-6)
    return np.column_stack([inwards * from_base[:, 0], inwards * from_base[:, 1], -np.cos(angle)])


def nearest_face(yaw: FloatArray, to: FloatArray | float = 0.0) -> FloatArray:
    """Of the yaws that differ from `yaw` by quarter turns, the one nearest `to`."""
    quarter = np.pi / 2
    return yaw + quarter * np.round((to - yaw) / quarter)


def out_of_the_way(yaw: FloatArray, to_b: FloatArray) -> FloatArray:
    """The grasp yaw (k,), a quarter turn on where a finger would otherwise come down on cube B."""
    across = np.abs(to_b[:, 1] * np.cos(yaw) - to_b[:, 0] * np.sin(yaw))  # along the line of the fingers
    along = np.abs(to_b[:, 0] * np.cos(yaw) + to_b[:, 1] * np.sin(yaw))
    blocked = (np.hypot(to_b[:, 0], to_b[:, 1]) < CROWDED) & (across > along)
    return yaw + np.where(blocked, np.pi / 2, 0.0)


def feasible_turn(turn: FloatArray, wrist: FloatArray) -> FloatArray:
    """Of the turns about the vertical that differ from `turn` by full turns, the one that ends with joint 7 nearest its
    middle, cut where it would come to its stop. Joint 7 points down, and turns against the gripper's yaw.
    """
    way = turn + 2 * np.pi * np.round((wrist - turn) / (2 * np.pi))
    return wrist - np.clip(wrist - way, -WRIST_LIMIT, WRIST_LIMIT)


class CubeStackingSupervisors:
    """M people in `kinds` groups as equal as can be, for a fleet of `robots`."""

    def __init__(self, humans: int, robots: int, rng: np.random.Generator | None = None, *, kinds: int = 4) -> None:
        del rng  # they leave nothing to chance
        if not 1 <= kinds <= len(GRASP_YAWS) or humans < kinds:
            raise ValueError(f"{humans} humans in {kinds} kinds: there are 1 to 4 kinds, each of at least one human")
        self.humans = humans
        self.kind_of = np.arange(humans) * kinds // humans
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
