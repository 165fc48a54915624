"""A world seen from above that needs no physics, and iifl with it: `python table.py run --task table --supervisor me`.

A cube on a table of 2 × 2 m goes where it is pushed, by up to 0.5 m along each axis. It fails beyond 0.9 m from the
centre, and succeeds in the upper right corner. Scripted people push it there straight away.
"""

import sys

import numpy as np
from gymnasium import spaces

from iifl.cli import main
from iifl.registry import SUPERVISORS, TASKS
from iifl.tasks.fleet import FleetTask

WIDTH, HEIGHT = 240, 200  # pixels; the table has 100 to the metre, and 20 beside it
LONGEST, SAFE, GOAL = 0.5, 0.9, np.array([0.7, 0.7])


class Table(FleetTask):
    episode_steps = 30
    reset_draws = 2
    instruction = "Bring the blue cube to the green one."

    def __init__(self, robots: int, seed: int = 0) -> None:
        self.cube = np.zeros((robots, 2))
        box = spaces.Box(-np.inf, np.inf, (2,), np.float32), spaces.Box(-1, 1, (2,), np.float32)
        super().__init__(robots, *box, seed=seed)

    def _reset_robots(self, robots, uniforms):
        self.cube[robots] = uniforms - 0.5

    def _advance(self, robots, actions):
        self.cube[robots] += LONGEST * actions

    def _observe(self):
        return self.cube.astype(np.float32)

    def _judge(self, actions):
        reached = (np.abs(self.cube - GOAL) < 0.1).all(axis=1)
        return reached.astype(float), (np.abs(self.cube) > SAFE).any(axis=1), reached

    def world_state(self):
        return {"cube": self.cube.copy()}

    def load_world_state(self, state):
        self.cube[:] = state["cube"]

    table_bounds = (np.array([-1.0, -1.0]), np.array([1.0, 1.0]))

    def camera_images(self, robots):
        images = np.full((len(robots), HEIGHT, WIDTH, 3), (235, 228, 214), np.uint8)
        images[:, :, :20] = images[:, :, -20:] = (120, 124, 130)
        for image, cube in zip(images, self.cube[robots], strict=True):
            for centre, half, colour in ((GOAL, 12, (70, 170, 100)), (cube, 8, (30, 70, 210))):
                x, y = self.table_to_pixel(np.clip(centre, -1.2, 1.2)).astype(int)
                image[max(0, y - half) : y + half, max(0, x - half) : x + half] = colour
        return images

    def pixel_to_table(self, pixels):
        return (np.asarray(pixels) - [WIDTH / 2, HEIGHT / 2]) * [0.01, -0.01]

    def table_to_pixel(self, points):
        return np.asarray(points) * [100, -100] + [WIDTH / 2, HEIGHT / 2]

    def action_towards(self, robots, points):
        way = (points - self.cube[robots]) / LONGEST
        return (way / np.maximum(np.abs(way).max(axis=-1, keepdims=True), 1)).astype(np.float32)

    def action_end(self, robots, actions):
        return self.cube[robots] + LONGEST * actions


class Meadow(Table):
    """The same without an edge to fall from: nobody is ever needed."""

    def _judge(self, actions):
        rewards, failed, reached = super()._judge(actions)
        return rewards, failed & False, reached


class Scripted:
    def __init__(self, humans, robots, rng):
        self.humans = humans

    def begin(self, robots):
        pass

    def act(self, humans, robots, observations, task):
        return task.action_towards(robots, GOAL)

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


ENTRIES = {
    TASKS: {name: f"{__name__}:{name.capitalize()}" for name in ("table", "meadow")},
    SUPERVISORS: dict.fromkeys(("table", "meadow"), f"{__name__}:Scripted")
    | {f"{name}/me": "iifl.supervisors.person.people:People" for name in ("table", "meadow")},
}
"""What these worlds are registered as, for as long as they are needed."""

if __name__ == "__main__":
    for registry, entries in ENTRIES.items():
        for entry, target in entries.items():
            registry.add(entry, target)
    sys.exit(main())
