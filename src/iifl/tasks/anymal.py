"""Anymal (|S| = 48, |A| = 12): the quadruped ANYmal C follows a commanded velocity on flat ground.

Masses, inertias and limits are those of the public MuJoCo model, gains and reward those of the public Isaac Gym
benchmark. Where MuJoCo differs from PhysX, this world does the following.

- The physics runs at 100 Hz (2 substeps) with implicit integration of damping and of the joints' position control,
  whose torque is computed anew in every substep and limited to 80 N m.
- The legs are in the order left front, right front, left hind, right hind, each with hip abduction (HAA), hip flexion
  (HFE) and knee flexion (KFE).
- The joints keep the MuJoCo model's own damping (1 N m s/rad) beside the 2 of their control, and the feet its friction
  (0.8), whatever the ground's.
- Base, thighs and shanks have simple shapes of their own; a part fails by the net contact force on it. The legs do not
  collide with each other.
- The torque in the reward and the contact forces are those of the last substep.
- A step of 0.02 s earns 0.02 of the reward per second, so that a perfect episode of 50 s returns 75.
"""

from typing import ClassVar

import mujoco
import numpy as np

from iifl.experts.cards import success_return
from iifl.records import BoolArray, FloatArray, IntArray
from iifl.tasks.mujoco_fleet import MODELS, MujocoFleet, signed_unit, unbounded
from iifl.tasks.rotations import into_body_frame, rotation_matrices

DEFAULT_JOINTS = np.array([0.03, 0.4, -0.8, -0.03, 0.4, -0.8, 0.03, -0.4, 0.8, -0.03, -0.4, 0.8])
FASTEST_COMMAND = np.array([2.0, 1.0, 1.0])  # x and y in m/s, yaw in rad/s
ACTION_SCALE = 0.5
LINEAR_SCALE, ANGULAR_SCALE, JOINT_VELOCITY_SCALE = 2.0, 0.25, 0.05
COMMAND_SCALE = np.array([LINEAR_SCALE, LINEAR_SCALE, ANGULAR_SCALE])
TRACKING_WIDTH = 0.25  # of the squared errors
TORQUE_COST = 2.5e-5
TOUCH = 1.0  # N

LINEAR, ANGULAR = slice(0, 3), slice(3, 6)  # of the observation
TORQUES, CONTACTS = slice(0, 12), slice(12, 39)  # of the sensors


class Anymal(MujocoFleet):
    """N quadrupeds. Observation: see `_sense`; action: the joints' targets around the default pose, over 0.5 rad."""

    episode_steps = 2500
    success_return = success_return("anymal")
    substeps = 2
    reset_draws = 27
    carried: ClassVar[tuple[str, ...]] = ("last_actions", "commands")

    def __init__(self, num_envs: int, seed: int = 0, threads: int = 0) -> None:
        model = mujoco.MjModel.from_xml_path(str(MODELS / "anymal.xml"))
        super().__init__(model, num_envs, unbounded(48), signed_unit(12), seed=seed, threads=threads)
        self.last_actions = np.zeros((num_envs, 12), np.float32)
        self.commands = np.zeros((num_envs, 3))
        """Velocity along x and y of the base (m/s) and yaw rate (rad/s)."""

    def _place(self, robots: IntArray, uniforms: FloatArray) -> None:
        joints = DEFAULT_JOINTS * (0.5 + uniforms[:, :12])
        self.qpos[robots, 7:] = self.ctrl[robots] = joints
        self.qvel[robots, 6:] = 0.1 * (2 * uniforms[:, 12:24] - 1)
        self.commands[robots] = FASTEST_COMMAND * (2 * uniforms[:, 24:] - 1)
        self.last_actions[robots] = 0.0

    def _control(self, robots: IntArray, actions: FloatArray) -> None:
        self.last_actions[robots] = actions
        self.ctrl[robots] = DEFAULT_JOINTS + ACTION_SCALE * actions

    def _sense(self) -> FloatArray:
        axes = rotation_matrices(self.qpos[:, 3:7])
        observation = np.empty((self.num_envs, 48), np.float32)
        observation[:, LINEAR] = LINEAR_SCALE * into_body_frame(axes, self.qvel[:, :3])
        observation[:, ANGULAR] = ANGULAR_SCALE * self.qvel[:, 3:6]  # in the body's frame already
        observation[:, 6:9] = -axes[:, 2]  # the direction of gravity, seen from the base
        observation[:, 9:12] = self.commands * COMMAND_SCALE
        observation[:, 12:24] = self.qpos[:, 7:] - DEFAULT_JOINTS
        np.multiply(self.qvel[:, 6:], JOINT_VELOCITY_SCALE, out=observation[:, 24:36], casting="same_kind")
        observation[:, 36:] = self.last_actions
        return observation

    def velocity_errors(self) -> tuple[FloatArray, FloatArray]:
        """How far each robot is from its command: horizontal speed (m/s) and yaw rate (rad/s), (N,) each."""
        horizontal = self.observation[:, 0:2] / LINEAR_SCALE - self.commands[:, :2]
        yaw = self.observation[:, 5] / ANGULAR_SCALE - self.commands[:, 2]
        return np.hypot(*horizontal.T), np.abs(yaw)

    def _judge(self, actions: FloatArray) -> tuple[FloatArray, BoolArray, BoolArray]:
        linear, yaw = self.velocity_errors()
        torques = self.sensors[:, TORQUES]
        per_second = (
            np.exp(-(linear**2) / TRACKING_WIDTH)
            + 0.5 * np.exp(-(yaw**2) / TRACKING_WIDTH)
            - TORQUE_COST * np.einsum("nj,nj->n", torques, torques)
        )
        forces = self.sensors[:, CONTACTS].reshape(self.num_envs, -1, 3)
        failed = (np.einsum("npx,npx->np", forces, forces) > TOUCH**2).any(axis=1)
        return np.maximum(per_second, 0.0) * self.timestep, failed, np.zeros(self.num_envs, bool)
