"""Ant (|S| = 60, |A| = 8): a light four-legged robot runs along x as fast as it can.

The numbers are those of the public Isaac Gym benchmark. Where MuJoCo differs from PhysX, this world does the following.

- The physics runs at 120 Hz (2 substeps) with implicit integration of the joints' damping (`implicitfast`).
- The force and torque of a foot are what its leg exerts on it through the ankle, in the frame of the foot: three
  numbers each per foot, force first, as from a force sensor mounted in the ankle.
- "Heading frame" is the torso's own frame: its x axis is the heading. Angles are wrapped to [-π, π) instead of [0, 2π),
  so that running straight ahead is not a discontinuity.
- A joint is "at its limit" above 0.99 of its scaled position, at the upper end only, as in the original.
"""

from typing import ClassVar

import mujoco
import numpy as np

from iifl.experts.cards import success_return
from iifl.records import BoolArray, FloatArray, IntArray
from iifl.tasks.mujoco_fleet import MODELS, MujocoFleet, signed_unit, unbounded
from iifl.tasks.rotations import into_body_frame, rotation_matrices

TARGET = np.array([1000.0, 0.0])
FALLEN = 0.31  # m
FALL_REWARD = -2.0
JOINT_VELOCITY_SCALE, FORCE_SCALE = 0.2, 0.1
JOINTS = slice(7, 15)  # of qpos; of qvel one less
SCALED_POSITIONS, SCALED_VELOCITIES = slice(12, 20), slice(20, 28)  # of the observation


def wrapped(angles: FloatArray) -> FloatArray:
    """Angles in [-π, π)."""
    return (angles + np.pi) % (2 * np.pi) - np.pi


class Ant(MujocoFleet):
    """N ants. Observation: see `_sense`; action: the torques of the 8 motors as a share of the largest."""

    episode_steps = 1000
    success_return = success_return("ant")
    substeps = 2
    reset_draws = 16
    carried: ClassVar[tuple[str, ...]] = ("last_actions", "distance")

    def __init__(self, num_envs: int, seed: int = 0, threads: int = 0) -> None:
        model = mujoco.MjModel.from_xml_path(str(MODELS / "ant.xml"))
        super().__init__(model, num_envs, unbounded(60), signed_unit(8), seed=seed, threads=threads)
        self.lower, self.upper = model.jnt_range[1:].T
        self.start = np.clip(0.0, self.lower, self.upper)  # the limit nearest to zero, where zero is outside
        self.last_actions = np.zeros((num_envs, 8), np.float32)
        self.distance = np.full(num_envs, TARGET[0])  # to the target, before the step

    def _place(self, robots: IntArray, uniforms: FloatArray) -> None:
        joints = self.start + 0.2 * (2 * uniforms[:, :8] - 1)
        self.qpos[robots, JOINTS] = np.clip(joints, self.lower, self.upper)
        self.qvel[robots, 6:] = 0.1 * (2 * uniforms[:, 8:] - 1)
        self.last_actions[robots] = 0.0
        self.distance[robots] = TARGET[0]

    def _control(self, robots: IntArray, actions: FloatArray) -> None:
        self.ctrl[robots] = self.last_actions[robots] = actions

    def _sense(self) -> FloatArray:
        qpos, qvel = self.qpos, self.qvel
        axes = rotation_matrices(qpos[:, 3:7])
        to_target = TARGET - qpos[:, :2]
        yaw = np.arctan2(axes[:, 1, 0], axes[:, 0, 0])
        observation = np.empty((self.num_envs, 60), np.float32)
        observation[:, 0] = qpos[:, 2]
        observation[:, 1:4] = into_body_frame(axes, qvel[:, :3])
        observation[:, 4:7] = qvel[:, 3:6]  # MuJoCo gives the angular velocity in the body's frame
        observation[:, 7] = yaw
        observation[:, 8] = np.arctan2(axes[:, 2, 1], axes[:, 2, 2])  # roll
        observation[:, 9] = wrapped(np.arctan2(to_target[:, 1], to_target[:, 0]) - yaw)
        observation[:, 10] = axes[:, 2, 2]  # up projection
        observation[:, 11] = np.einsum("ni,ni->n", axes[:, :2, 0], to_target) / np.hypot(*to_target.T)
        observation[:, SCALED_POSITIONS] = (2 * qpos[:, JOINTS] - self.lower - self.upper) / (self.upper - self.lower)
        np.multiply(qvel[:, 6:], JOINT_VELOCITY_SCALE, out=observation[:, SCALED_VELOCITIES], casting="same_kind")
        np.multiply(self.sensors, FORCE_SCALE, out=observation[:, 28:52], casting="same_kind")
        observation[:, 52:] = self.last_actions
        return observation

    def _judge(self, actions: FloatArray) -> tuple[FloatArray, BoolArray, BoolArray]:
        observation = self.observation
        distance = np.hypot(*(TARGET - self.qpos[:, :2]).T)
        progress = (self.distance - distance) / self.timestep
        self.distance[:] = distance
        heading = observation[:, 11]
        rewards = (
            progress
            + 0.5
            + 0.5 * np.where(heading > 0.8, 1.0, heading / 0.8)
            + 0.1 * (observation[:, 10] > 0.93)
            - 0.005 * np.einsum("na,na->n", actions, actions)
            - 0.05 * np.abs(actions * observation[:, SCALED_VELOCITIES]).sum(axis=1)
            - 0.1 * (observation[:, SCALED_POSITIONS] > 0.99).sum(axis=1)
        )
        failed = self.qpos[:, 2] < FALLEN
        return np.where(failed, FALL_REWARD, rewards), failed, np.zeros(self.num_envs, bool)
