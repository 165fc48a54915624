"""Cube stacking (|S| = 19, |A| = 7): a Franka Panda grasps cube A and stacks it on cube B.

The numbers are those of the public Isaac Gym benchmark. Where they leave room, or MuJoCo differs from PhysX, this world
does the following.

- World frame, table height, stand and the pose of the arm are the benchmark's, so its observations read like these.
- The grip is a real one: the two coupled fingers press with at most 70 N (the Franka hand's limit), and elliptic
  friction cones with torsional friction hold the cube. The physics runs at 240 Hz (4 substeps), which keeps it firm.
- The arm's action asks for a pose 0.5 a away from the present one (metres, and radians about world axes). The torques
  for it are computed once per step (60 Hz) and held; the softest margin, that of the damping 2√kp = 24.5 /s against
  2 · 60 /s, is fivefold. Coriolis torques are compensated; the joints' damping (1 N m s) is not.
- Only hand, finger pads, cubes, table, stand and floor collide: the links of the arm stay clear of them in this work.
- Cubes have the benchmark's density of 1000 kg/m³. Cube B takes the first of 32 uniform draws that is far enough from
  cube A; all of them are too close less than once in 10¹⁴ resets, and then the farthest one is taken. In two resets
  of a thousand, a low hand starts with a fingertip (up to 1 cm) in cube B; the contact pushes them apart.
- The quaternion of the end effector follows the joints without jumps of sign; that of a cube starts with w > 0.
- "Lifted" means that the centre of cube A is more than its edge + 0.04 above the table. The stack reward is 16.
"""

import mujoco
import numpy as np

from iifl.records import BoolArray, FloatArray, IntArray
from iifl.tasks.cube_features import features, turned
from iifl.tasks.mujoco_fleet import MODELS, MujocoFleet, signed_unit, unbounded
from iifl.tasks.operational_space import Gains, OperationalSpaceControl

HOME = np.array([0.0, 0.1963, 0.0, -2.6180, 0.0, 2.9416, 0.7854])
TORQUE_LIMITS = np.array([87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0])
ACTION_SCALE = 0.5  # metres or radians per unit of action
FINGER_OPEN, FINGER_CLOSED = 0.04, 0.0
TABLE = 1.025  # height of the table's top
EDGE_A, EDGE_B = 0.05, 0.07
RESTING = (EDGE_A + EDGE_B) / 2  # height of A's centre above B's when stacked
APART = (EDGE_A + EDGE_B) * np.sqrt(2)
SPREAD, YAW_SPREAD, JOINT_SPREAD = 0.25, 0.785, 0.25
PLACES = 32  # candidate places of cube B
LIFTED, ALIGNED, LEVEL, RELEASED = 0.04, 0.02, 0.02, 0.04
STACK_REWARD = 16.0

ARM, FINGERS, CUBE_A, CUBE_B = slice(0, 7), slice(7, 9), slice(9, 16), slice(16, 23)  # of qpos
QUATERNION_XYZW = [4, 5, 6, 3]  # of a cube's seven
FINGER_TARGET = 7  # of ctrl


class CubeStacking(MujocoFleet):
    """N arms. Observation: see `_sense`; action: displacement (3), axis-angle (3), gripper open (≥ 0) or closed."""

    episode_steps = 500
    substeps = 4
    reset_draws = 7 + 2 + 2 * PLACES + 2
    features = staticmethod(features)
    turned = staticmethod(turned)

    def __init__(self, num_envs: int, seed: int = 0, threads: int = 0) -> None:
        model = mujoco.MjModel.from_xml_path(str(MODELS / "cube_stacking.xml"))
        super().__init__(model, num_envs, unbounded(19), signed_unit(7), seed=seed, threads=threads)
        gains = Gains(task=150.0, posture=10.0, torque_limits=TORQUE_LIMITS)
        self.control = OperationalSpaceControl(model, self.batch, "grip", HOME, gains)
        self.lower, self.upper = model.jnt_range[ARM].T
        self.grip_position = self.control.position  # (N, 3)
        self.grip_quaternion: FloatArray = self.batch.bind("site_xquat")[:, model.site("grip").id]  # (N, 4), w x y z
        self._tips = [self.batch.bind("site_xpos")[:, model.site(f"{side} tip").id] for side in ("left", "right")]

    def _place(self, robots: IntArray, uniforms: FloatArray) -> None:
        signed = 2 * uniforms - 1
        joints, a, b, yaw = np.split(signed, [7, 9, 9 + 2 * PLACES], axis=1)
        self.qpos[robots, ARM] = np.clip(HOME + JOINT_SPREAD * joints, self.lower, self.upper)
        self.qpos[robots, FINGERS] = FINGER_OPEN
        self.ctrl[robots, FINGER_TARGET] = FINGER_OPEN
        a = SPREAD * a
        b = first_apart(a, SPREAD * b.reshape(-1, PLACES, 2))
        for cube, place, edge, turn in ((CUBE_A, a, EDGE_A, yaw[:, 0]), (CUBE_B, b, EDGE_B, yaw[:, 1])):
            half_yaw, flat = YAW_SPREAD * turn / 2, np.zeros(len(robots))
            height = np.full(len(robots), TABLE + edge / 2)
            self.qpos[robots, cube] = np.column_stack([place, height, np.cos(half_yaw), flat, flat, np.sin(half_yaw)])

    def _control(self, robots: IntArray, actions: FloatArray) -> None:
        self.ctrl[robots, ARM] = self.control.torques(robots, ACTION_SCALE * actions[:, :6].astype(np.float64))
        self.ctrl[robots, FINGER_TARGET] = np.where(actions[:, 6] >= 0, FINGER_OPEN, FINGER_CLOSED)

    def _sense(self) -> FloatArray:
        self.batch.forward(stage=mujoco.mjtStage.mjSTAGE_VEL)  # where the hand is now, and what it takes to move it
        a, b = self.qpos[:, CUBE_A], self.qpos[:, CUBE_B]
        observation = np.empty((self.num_envs, 19), np.float32)
        observation[:, 0:4] = a[:, QUATERNION_XYZW]
        observation[:, 4:7] = a[:, :3]
        observation[:, 7:10] = b[:, :3] - a[:, :3]
        observation[:, 10:13] = self.grip_position
        observation[:, 13:17] = self.grip_quaternion[:, [1, 2, 3, 0]]
        observation[:, 17:19] = self.qpos[:, FINGERS]
        return observation

    def _judge(self, actions: FloatArray) -> tuple[FloatArray, BoolArray, BoolArray]:
        a, b = self.qpos[:, CUBE_A][:, :3], self.qpos[:, CUBE_B][:, :3]
        hand = np.linalg.norm(a - self.grip_position, axis=1)
        tips = sum(np.linalg.norm(a - tip, axis=1) for tip in self._tips)
        near = 1 - np.tanh(10 * (hand + tips) / 3)
        lifted = a[:, 2] - TABLE - EDGE_A > LIFTED
        off = a - b - [0.0, 0.0, RESTING]  # from where A rests on B
        aligned = lifted * (1 - np.tanh(10 * np.linalg.norm(off, axis=1)))
        stacked = (np.hypot(off[:, 0], off[:, 1]) < ALIGNED) & (np.abs(off[:, 2]) < LEVEL) & (hand > RELEASED)
        rewards = np.where(stacked, STACK_REWARD, 0.1 * near + 1.5 * lifted + 2 * aligned)
        return rewards, np.zeros(self.num_envs, bool), stacked


def first_apart(a: FloatArray, candidates: FloatArray) -> FloatArray:
    """The first of the places (k, C, 2) for cube B that is far enough from cube A (k, 2), else the farthest."""
    distance = np.linalg.norm(candidates - a[:, None], axis=2)
    far = distance >= APART
    chosen = np.where(far.any(axis=1), far.argmax(axis=1), distance.argmax(axis=1))
    place: FloatArray = candidates[np.arange(len(a)), chosen]
    return place
