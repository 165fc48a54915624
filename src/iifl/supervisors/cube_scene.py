"""What people see of a robot that stacks cubes, and what they know of the arm: where its joints come to their stops.

Joint 7 of the Panda turns by less than a full turn (±2.8973 rad), so a person turns the gripper whichever way keeps it
nearest its middle. Near the base, joint 4 cannot fold the arm far enough to hold the gripper straight down above a
cube: there it is tilted. Where joint 6 comes to its stop, people leave the tilt as it is and mind the place alone.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from iifl.records import BoolArray, FloatArray, IntArray

ABOVE_A = 0.1  # height of the hand over cube A (centres) before it descends
CLEAR = 0.03  # how far below `ABOVE_A` the hand may be and still move sideways
GRASPED, EMPTY, OPEN = 0.034, 0.020, 0.036  # finger positions: at most this on a cube, less without, more when let go
CROWDED = 0.12  # between the cubes, where a finger of some grasps would come down on cube B
FINGER = 7  # a finger in the state of the world, after the joints of the arm
WRIST_LIMIT = 2.8  # rad: people keep joint 7 this near to its middle
BENT = 3.7  # rad: of joint 6, whose stop is at 3.7525
SHOULDER = np.array([-0.45, 0.0, 1.458])  # where joints 1 and 2 meet, in the world
WRIST_OFFSET = (0.088, 0.2104)  # joint 6 from the hand, inwards and up
FOLDED = 0.215  # metres from shoulder to wrist; with joint 4 at its stop it is 0.202
STEEPNESS, STEEPEST = 8.0, 0.45  # radians of tilt per metre that the wrist is too near, and at most


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
    angle = np.clip(STEEPNESS * (FOLDED - to_wrist), 0.0, STEEPEST)
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
