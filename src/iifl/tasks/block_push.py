"""Block pushing (the physical experiment of the paper): a cube is pushed round an obstacle, seen from above.

    ┌───────────────┐
    │       G       │      The cube (C) is to be pushed to the goal (G), a disc diametrically opposite the place where
    │               │      the cube was when the goal was set, without touching the obstacle or a wall.
    │     ┌───┐     │
    │     │###│     │      Observation: the overhead camera image (64 × 64 × 3). Action (Δx, Δy): the vector along
    │     └───┘     │      which to push the cube from its centre, as a share of the longest push; one action is one
    │               │      whole push. x is to the right and y upwards in the image; the origin is the centre.
    │       C       │
    └───────────────┘

The paper gives the set-up and few numbers. These are ours, each with its reason:

- The workspace is 0.4 m wide inside its walls, the obstacle 0.12 m, the cube 0.04 m, and a push moves the cube by 0.1 m
  at most along each axis. Half a round takes a supervisor 6 pushes; the counts of Table 3 point to as many.
- A push takes 0.8 s: the pusher comes down behind the cube, clear of its corners, moves along the vector on a cosine
  profile (slower than the cube's friction could stop it, so the cube does not run away), waits, and lifts. It
  is as stiff as a servo; the cube turns and slips as friction has it. Between pushes the arm leaves the view, and its
  way through the air takes no simulated time, as nothing is touched meanwhile.
- The walls and the obstacle are rims 15 mm high, and the pusher's lower edge stays above them: the arm can go wherever
  the cube can be, and a collision is always the cube's.
- Failure: the cube touches a rim in *any* of MuJoCo's steps of the push, by a contact sensor. The push is not cut
  short: a cube that is pushed on may be tipped over the wall, as it would be, and lies there until its hard reset.
- A success or an episode out of time leaves the cube where it is, and the goal is set anew from there: in the
  experiment nobody touches it then. Any other new episode is a hard reset: the cube is put down on a random side of the
  obstacle, to ±0.02 m and ±0.2 rad, as a hand would.
- The goal is twice as wide as the cube, 0.08 m, and reached when the cube's centre is in it. Where people push, the
  cube ends 5 mm from the commanded point on average, and 10 mm in one push of twenty.
- The experiment has no episodes but the goals. The limit of 40 pushes, six times what a supervisor needs, is there so
  that trials of a robot that does nothing come to an end; in the workspace it moves nothing but the goal.
- Reward: 1 for a goal reached. The paper's ROHE, 0.71 for 36.3 successes, counts successes as well.
- Each episode has its own camera (±3 mm; ±0.003 rad, and ±0.01 rad about the line of sight: together a pixel or so) and
  its own light (±10 %, red against blue ±3 %, from ±0.1 rad).
- To draw what a fleet sees takes a fifth of the time of the physics of its pushes (`iifl bench tasks`).
"""

from math import radians, tan
from typing import ClassVar

import mujoco
import numpy as np
from gymnasium import spaces

from iifl.records import BoolArray, FloatArray, IntArray
from iifl.tasks.mujoco_fleet import MujocoFleet, signed_unit
from iifl.tasks.overhead import AWAY, LIGHT, LOOKS, MODEL, scene

IMAGE, VIEW = 64, 512  # pixels: the sides of the observation, and of what people see
LONGEST_PUSH = 0.1  # m along each axis
HALF_CUBE, HALF_OBSTACLE, HALF_WORKSPACE = 0.02, 0.06, 0.2  # m
LANE = (HALF_OBSTACLE + HALF_WORKSPACE) / 2  # m from the centre to the middle of the free way
GOAL_RADIUS = 0.04  # m
SPREAD, YAW_SPREAD = 0.02, 0.2  # m and rad, of a hard reset
BEHIND = np.sqrt(2) * HALF_CUBE + 0.007  # m from the cube's centre, where the pusher comes down
DOWN, UP = 0.018, 0.06  # m: heights of the pusher's lower edge
DESCENT, TRAVEL, REST, LIFT = 30, 125, 25, 20  # physics steps of a push
CUBE, PUSHER, PUSHER_SPEED = slice(0, 7), slice(7, 11), slice(6, 10)  # of qpos, qpos and qvel
BEGUN = np.linspace(0, 1, TRAVEL + 1)[1:]  # the share of the travel's time that is over, after each step
TRAVELLED = np.concatenate([np.zeros(DESCENT), (1 - np.cos(np.pi * BEGUN)) / 2, np.ones(REST + LIFT)])
HEIGHT = np.concatenate([np.linspace(UP, DOWN, DESCENT), np.full(TRAVEL + REST, DOWN), np.linspace(DOWN, UP, LIFT)])
SIDES = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])


class BlockPush(MujocoFleet):
    """N workspaces. Observation: the camera image (H, W, 3); action: the push as a share of the longest."""

    episode_steps = 40
    substeps = DESCENT + TRAVEL + REST + LIFT
    reset_draws = 4 + LOOKS
    lane: ClassVar[float] = LANE
    moments = 8
    instruction = "Bring the blue cube to the green goal. It must not touch the red obstacle or a wall."
    carried: ClassVar[tuple[str, ...]] = ("looks",)

    def __init__(self, num_envs: int, seed: int = 0, threads: int = 0) -> None:
        model = mujoco.MjModel.from_xml_path(str(MODEL))
        image = spaces.Box(0, 255, (IMAGE, IMAGE, 3), np.uint8)
        super().__init__(model, num_envs, image, signed_unit(2), seed=seed, threads=threads)
        self.looks: FloatArray = np.zeros((num_envs, LOOKS))  # of the camera and the light, each in [-1, 1)
        self.touched: BoolArray = np.zeros(num_envs, bool)  # a rim, in the last push of each cube
        self._goals: FloatArray = self.batch.bind("mocap_pos")[:, 0]
        camera = model.camera("overhead")  # half the image is so many metres at the height of the cube's centre
        half = (float(camera.pos[2]) - HALF_CUBE) * tan(radians(float(camera.fovy[0])) / 2)
        self._metre = VIEW / 2 / half * np.array([1.0, -1.0])  # in pixels (column, row)
        self._shown: FloatArray = np.full((num_envs, 7 + 2 + LOOKS), np.nan)  # what the present images show
        self._way: FloatArray = np.empty((0, self.substeps, 4))  # of the pushers, in the present push
        self._film = np.zeros((num_envs, self.moments, model.nq + 2))  # qpos and goal at the moments of the last push

    # What people and their pages need -------------------------------------------------------------------------------

    @property
    def cube(self) -> FloatArray:
        """The centres of the cubes on the table (N, 2)."""
        return self.qpos[:, :2]

    @property
    def goal(self) -> FloatArray:
        """The centres of the goals on the table (N, 2)."""
        return self._goals[:, :2]

    def action_towards(self, robots: IntArray | int, points: FloatArray) -> FloatArray:
        """The action (..., 2) whose push would bring the cube of each robot to a point of the table (..., 2), or as far
        towards it as the longest push goes.
        """
        push = (np.asarray(points) - self.cube[robots]) / LONGEST_PUSH
        action: FloatArray = (push / np.maximum(np.abs(push).max(axis=-1, keepdims=True), 1.0)).astype(np.float32)
        return action

    def action_end(self, robots: IntArray | int, actions: FloatArray) -> FloatArray:
        """Where on the table pushes (..., 2) would bring the cube of each robot: inverse of the above."""
        return self.cube[robots] + LONGEST_PUSH * np.asarray(actions)

    @property
    def table_bounds(self) -> tuple[FloatArray, FloatArray]:
        """The lower left and the upper right corner of the workspace."""
        corner = np.full(2, HALF_WORKSPACE)
        return -corner, corner

    def draw(self, robots: IntArray) -> np.ndarray:
        """What these robots see: (k, 64, 64, 3)."""
        return scene(IMAGE, fine=False).draw(self.qpos[robots, CUBE], self.goal[robots], self.looks[robots])

    def camera_images(self, robots: IntArray) -> np.ndarray:
        """What people see of these robots: (k, 512, 512, 3), by the camera as it was calibrated."""
        return scene(VIEW, fine=True).draw(self.qpos[robots, CUBE], self.goal[robots], self.looks[robots] * LIGHT)

    def pixel_to_table(self, pixels: FloatArray) -> FloatArray:
        """The points of the table (..., 2) that pixels (column, row) of `camera_images` show, at the cube's height.

        The left upper corner of the image is (0, 0), and the centre of its first pixel (0.5, 0.5).
        """
        return (np.asarray(pixels) - VIEW / 2) / self._metre

    def table_to_pixel(self, points: FloatArray) -> FloatArray:
        """Where `camera_images` show points of the table (..., 2), at the cube's height; inverse of the above."""
        return np.asarray(points) * self._metre + VIEW / 2

    # What the world does -------------------------------------------------------------------------------------------

    def _reset_robots(self, robots: IntArray, uniforms: FloatArray) -> None:
        untouched = robots[(self.success | self.truncated)[robots]]
        left = self.qpos[untouched, CUBE].copy()
        super()._reset_robots(robots, uniforms)
        self.qpos[untouched, CUBE] = left
        self._goals[robots, :2] = -self.cube[robots]

    def _place(self, robots: IntArray, uniforms: FloatArray) -> None:
        """A hard reset: the cubes on random sides of the obstacle."""
        side = SIDES[(4 * uniforms[:, 0]).astype(np.int64)]
        signed = 2 * uniforms[:, 1:] - 1
        half_yaw, flat = YAW_SPREAD * signed[:, 2] / 2, np.zeros(len(robots))
        cube = [LANE * side + SPREAD * signed[:, :2], flat + HALF_CUBE, np.cos(half_yaw), flat, flat, np.sin(half_yaw)]
        self.qpos[robots, CUBE] = np.column_stack(cube)
        self.qpos[robots, PUSHER] = AWAY
        self.looks[robots] = signed[:, 3:]

    def _control(self, robots: IntArray, actions: FloatArray) -> None:
        """Put the pushers above their places behind the cubes, and plan their ways from there."""
        push = LONGEST_PUSH * actions.astype(np.float64)
        yaw = np.arctan2(push[:, 1], push[:, 0])
        along = np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
        way = BEHIND - HALF_CUBE + np.linalg.norm(push, axis=1)  # the face ends half a cube short of the point
        face = way[:, None] * TRAVELLED - BEHIND  # (k, substeps), from the cube's centre
        self._way = np.empty((len(robots), self.substeps, 4))
        self._way[:, :, :2] = self.cube[robots, None] + face[:, :, None] * along[:, None]
        self._way[:, :, 2] = HEIGHT
        self._way[:, :, 3] = yaw[:, None]
        self.qpos[robots, PUSHER] = self._way[:, 0]

    def _simulate(self, robots: IntArray | None) -> None:
        records = self.batch.rollout(self.substeps, self._way, ids=robots, record=("sensordata", "qpos"))
        moved = slice(None) if robots is None else robots
        self.touched[moved] = (records["sensordata"][:, :, 0] > 0).any(axis=1)
        self.qpos[moved, PUSHER], self.qvel[moved, PUSHER_SPEED] = AWAY, 0.0
        self._film[:, :, :-2], self._film[:, :, -2:] = self.qpos[:, None], self.goal[:, None]
        self._film[moved, :, :-2] = records["qpos"][:, np.linspace(0, self.substeps - 1, self.moments, dtype=int)]

    def show(self, robot: int, moment: int, data: mujoco.MjData) -> None:
        """Write the cube, the pusher and the goal of a robot at a moment of its last push into `data`."""
        super().show(robot, moment, data)
        data.qpos[:], data.mocap_pos[0, :2] = np.split(self._film[robot, moment], [self.model.nq])

    def _sense(self) -> np.ndarray:
        return self.observation  # images are drawn when somebody looks

    def _observe(self) -> np.ndarray:
        shown = np.concatenate([self.qpos[:, CUBE], self.goal, self.looks], axis=1)
        changed = np.flatnonzero((shown != self._shown).any(axis=1))
        if len(changed):
            self.observation[changed] = self.draw(changed)
            self._shown = shown
        return self.observation.copy()

    def _judge(self, actions: FloatArray) -> tuple[FloatArray, BoolArray, BoolArray]:
        reached = np.linalg.norm(self.cube - self.goal, axis=1) < GOAL_RADIUS
        return (reached & ~self.touched).astype(np.float64), self.touched.copy(), reached
