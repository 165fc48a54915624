"""Ball Balance (|S| = 24, |A| = 3): a tray on three legs catches a ball that is thrown at it, and holds it.

The numbers are those of the public Isaac Gym benchmark. Where MuJoCo differs from PhysX, this world does the following.

- The physics runs at 800 Hz (8 substeps): the knees' control is stiff (4000, 100) against legs of half a kilogram, and
  with the feet pinned it rings, or diverges under full action, at 400 Hz and below. The motors have a rotor inertia of
  0.01 kg m² for the same reason.
- The feet are pinned by `connect` constraints (critically damped, 20 ms) instead of attractors.
- Each force sensor sits between the tray and a leg and turns with the tray: x points outwards along the leg, z up
  through the tray. It measures what the leg exerts on the tray, so that at rest the z forces carry tray and ball.
- The ball meets the tray, the legs and the ground, and a tray that is tipped over meets the ground; the legs do not,
  for their feet are pinned into it. The mechanism does not collide with itself.
"""

from math import cos, degrees, pi, sin, sqrt

import mujoco
import numpy as np
from gymnasium import spaces

from iifl.experts.cards import success_return
from iifl.records import BoolArray, FloatArray, IntArray
from iifl.tasks.mujoco_fleet import MujocoFleet, signed_unit

TRAY_RADIUS, TRAY_THICKNESS, LEG_RADIUS, BALL_RADIUS = 0.5, 0.02, 0.02, 0.1
OUTER = TRAY_RADIUS - 0.1
LEG_LENGTH = OUTER - 2 * LEG_RADIUS
TRAY_HEIGHT = LEG_LENGTH * sqrt(2) + 2 * LEG_RADIUS + 0.5 * TRAY_THICKNESS
STEP = LEG_LENGTH / sqrt(2)  # what a leg spans sideways and down
SPEED = 20.0  # rad/s of a knee's target at full action
GOAL = np.array([0.0, 0.0, 0.7])
FELL_OFF = 2 * BALL_RADIUS
CLIP = 5.0
FORCE_SCALE = -1 / 20  # MuJoCo gives the force of the tray on the leg; the tray feels the opposite
THROW = (0.001, 0.5, 1.0, 2.0, 5.0)  # nearest, farthest, lowest, highest (m), fastest (m/s, sideways and down)

KNEES, KNEE_VELOCITIES = [8, 10, 12], [7, 9, 11]  # of qpos and of qvel
BALL, BALL_VELOCITY = slice(13, 16), slice(12, 15)
# of the sensors, which are x, y, z force and x, y, z torque of each leg: all x forces, then all x, y and z torques
FORCES = [6 * leg + axis for axis in (0, 3, 4, 5) for leg in range(3)]


def _leg(i: int) -> str:
    angle = 2 * pi * i / 3
    capsule = f'type="capsule" size="{LEG_RADIUS}" density="1000"'
    return f"""
      <body name="mount{i}" pos="{OUTER * cos(angle)} {OUTER * sin(angle)} {-LEG_RADIUS - TRAY_THICKNESS / 2}"
            euler="0 0 {degrees(angle)}">
        <site name="mount{i}"/>
        <body name="upper_leg{i}">
          <joint name="hip{i}" type="hinge" axis="0 1 0" range="-45 45"/>
          <geom {capsule} fromto="0 0 0 {-STEP} 0 {-STEP}"/>
          <body name="lower_leg{i}" pos="{-STEP} 0 {-STEP}">
            <joint name="knee{i}" type="hinge" axis="0 1 0" range="-70 90"/>
            <geom {capsule} fromto="0 0 0 {STEP} 0 {-STEP}"/>
          </body>
        </body>
      </body>"""


def balance_bot() -> str:
    """The MJCF of the tray, its legs and the ball, from the numbers above."""
    legs = range(3)
    return f"""
<mujoco model="ball_balance">
  <compiler angle="degree" autolimits="true"/>
  <option timestep="0.00125" integrator="implicitfast"/>
  <default>
    <geom contype="1" conaffinity="0" rgba="0.3 0.5 0.7 1"/>
    <joint armature="0.01"/>
    <site size="0.02"/>
  </default>
  <visual><global offwidth="1280" offheight="960"/></visual>
  <asset>
    <texture type="skybox" builtin="gradient" rgb1="0.85 0.9 0.95" rgb2="0.6 0.7 0.8" width="64" height="64"/>
    <texture name="checks" type="2d" builtin="checker" rgb1="0.8 0.85 0.8" rgb2="0.7 0.75 0.7"
             width="256" height="256"/>
    <material name="ground" texture="checks" texrepeat="1 1" texuniform="true"/>
  </asset>
  <worldbody>
    <light directional="true" pos="0 0 5" dir="0.2 0.2 -1" castshadow="false"/>
    <camera name="follow" pos="0 -2.4 1.5" xyaxes="1 0 0 0 0.35 0.94"/>
    <geom name="ground" type="plane" size="0 0 1" material="ground" rgba="1 1 1 1" conaffinity="2"/>
    <body name="tray" pos="0 0 {TRAY_HEIGHT}">
      <freejoint/>
      <geom name="tray" type="cylinder" size="{TRAY_RADIUS} {TRAY_THICKNESS / 2}" density="100" contype="3"/>
      {"".join(_leg(i) for i in legs)}
    </body>
    <body name="ball" pos="0 0 1">
      <freejoint/>
      <geom name="ball" type="sphere" size="{BALL_RADIUS}" density="200" contype="0" conaffinity="1"
            rgba="0.9 0.5 0.2 1"/>
    </body>
  </worldbody>
  <equality>
    {"".join(f'<connect body1="lower_leg{i}" body2="world" anchor="{STEP} 0 {-STEP}"/>' for i in legs)}
  </equality>
  <actuator>
    {"".join(f'<position joint="knee{i}" kp="4000" kv="100" inheritrange="1"/>' for i in legs)}
  </actuator>
  <sensor>
    {"".join(f'<force site="mount{i}"/><torque site="mount{i}"/>' for i in legs)}
  </sensor>
</mujoco>"""


class BallBalance(MujocoFleet):
    """N trays with a ball each. Observation: see `_sense`; action: how the targets of the three knees move."""

    episode_steps = 500
    success_return = success_return("ball_balance")
    substeps = 8
    reset_draws = 4

    def __init__(self, num_envs: int, seed: int = 0, threads: int = 0) -> None:
        model = mujoco.MjModel.from_xml_string(balance_bot())
        observation = spaces.Box(-CLIP, CLIP, (24,), np.float32)
        super().__init__(model, num_envs, observation, signed_unit(3), seed=seed, threads=threads)
        self.lower, self.upper = model.actuator_ctrlrange.T

    def _place(self, robots: IntArray, uniforms: FloatArray) -> None:
        nearest, farthest, lowest, highest, fastest = THROW
        share, direction, height, speed = uniforms.T
        distance = nearest + (farthest - nearest) * share
        angle = 2 * np.pi * direction
        outwards = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        self.qpos[robots, 13:15] = distance[:, None] * outwards
        self.qpos[robots, 15] = lowest + (highest - lowest) * height
        self.qvel[robots, 12:14] = (-fastest * speed * share)[:, None] * outwards
        self.qvel[robots, 14] = -fastest

    def _control(self, robots: IntArray, actions: FloatArray) -> None:
        targets = self.ctrl[robots] + self.timestep * SPEED * actions
        self.ctrl[robots] = np.clip(targets, self.lower, self.upper)

    def _sense(self) -> FloatArray:
        observation = np.empty((self.num_envs, 24), np.float32)
        observation[:, 0:3] = self.qpos[:, KNEES]
        observation[:, 3:6] = self.qvel[:, KNEE_VELOCITIES]
        observation[:, 6:9] = self.qpos[:, BALL]
        observation[:, 9:12] = self.qvel[:, BALL_VELOCITY]
        observation[:, 12:24] = self.sensors[:, FORCES] * FORCE_SCALE
        return np.clip(observation, -CLIP, CLIP, out=observation)

    def _judge(self, actions: FloatArray) -> tuple[FloatArray, BoolArray, BoolArray]:
        ball, velocity = self.qpos[:, BALL], self.qvel[:, BALL_VELOCITY]
        distance = np.sqrt(((ball - GOAL) ** 2).sum(axis=1))
        speed = np.sqrt((velocity**2).sum(axis=1))
        failed = ball[:, 2] < FELL_OFF
        return 1 / (1 + distance) / (1 + speed), failed, np.zeros(self.num_envs, bool)
