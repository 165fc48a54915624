"""Reacher (|S| = 8, |A| = 2): an arm of two links in the plane brings its tip to a point.

Small and fast, and multimodal: the arm starts straight, and every point can be reached with the elbow on either side.
There is no failure state. docs/add-a-task.md builds this world step by step.
"""

from typing import ClassVar

import mujoco
import numpy as np

from iifl.records import BoolArray, FloatArray, IntArray
from iifl.tasks.mujoco_fleet import MujocoFleet, signed_unit, unbounded

LINK = 0.5  # m, both links
FASTEST = 2.0  # rad/s of a joint at full action
NEAREST, FARTHEST = 0.3, 0.9  # m, of targets
REACHED = 0.03  # m

ARM = f"""
<mujoco model="reacher">
  <compiler autolimits="true"/>
  <option timestep="0.01" gravity="0 0 0" integrator="implicitfast"/>
  <default>
    <geom type="capsule" size="0.03" density="500" contype="0" conaffinity="0" rgba="0.3 0.5 0.7 1"/>
    <joint type="hinge" axis="0 0 1" armature="0.01"/>
  </default>
  <worldbody>
    <light pos="0 0 2"/>
    <camera name="follow" pos="0 0 3"/>
    <body name="upper_arm">
      <joint name="shoulder"/>
      <geom fromto="0 0 0 {LINK} 0 0"/>
      <body name="forearm" pos="{LINK} 0 0">
        <joint name="elbow"/>
        <geom fromto="0 0 0 {LINK} 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <velocity joint="shoulder" kv="5"/>
    <velocity joint="elbow" kv="5"/>
  </actuator>
</mujoco>"""


class Reacher(MujocoFleet):
    """N arms. Action: the speeds of shoulder and elbow as a share of the fastest."""

    episode_steps = 150
    substeps = 2
    reset_draws = 2
    carried: ClassVar[tuple[str, ...]] = ("targets",)

    def __init__(self, num_envs: int, seed: int = 0, threads: int = 0) -> None:
        model = mujoco.MjModel.from_xml_string(ARM)
        super().__init__(model, num_envs, unbounded(8), signed_unit(2), seed=seed, threads=threads)
        self.targets = np.zeros((num_envs, 2))

    def _place(self, robots: IntArray, uniforms: FloatArray) -> None:
        radius = NEAREST + (FARTHEST - NEAREST) * uniforms[:, 0]
        angle = np.pi * (uniforms[:, 1] - 0.5)
        self.targets[robots] = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def _control(self, robots: IntArray, actions: FloatArray) -> None:
        self.ctrl[robots] = FASTEST * actions

    def to_target(self) -> FloatArray:
        """From the tip of each arm to its target (N, 2)."""
        shoulder, forearm = self.qpos[:, 0], self.qpos.sum(axis=1)
        tip = LINK * np.stack([np.cos(shoulder) + np.cos(forearm), np.sin(shoulder) + np.sin(forearm)], axis=1)
        return self.targets - tip

    def _sense(self) -> FloatArray:
        observation = np.empty((self.num_envs, 8), np.float32)
        observation[:, 0:2] = np.cos(self.qpos)
        observation[:, 2:4] = np.sin(self.qpos)
        observation[:, 4:6] = self.qvel / FASTEST
        observation[:, 6:8] = self.to_target()
        return observation

    def _judge(self, actions: FloatArray) -> tuple[FloatArray, BoolArray, BoolArray]:
        distance = np.hypot(*self.to_target().T)
        return -distance, np.zeros(self.num_envs, bool), distance < REACHED
