"""Films of a fleet, without a screen: several robots side by side, with a border that says who is in charge.

A blue border: a human is with this robot. Red: the robot has failed and waits for a hard reset; orange: a human is at
it. Green: its episode ended well. Without a screen MuJoCo draws through EGL; set `MUJOCO_GL=osmesa` where there is no
driver for it.
"""

from collections.abc import Iterable, Sequence
from math import ceil
from pathlib import Path
from typing import Any, Protocol

import mujoco
import numpy as np
from PIL import Image

from iifl.experts.expert import Expert
from iifl.records import NOBODY, BoolArray, Timestep
from iifl.registry import TASKS
from iifl.tasks.fleet import FleetTask
from iifl.tasks.mujoco_fleet import MujocoFleet

BLUE, RED, ORANGE, GREEN, GREY = (0, 90, 200), (210, 30, 30), (240, 150, 0), (30, 150, 60), (120, 120, 120)
BORDER = 6  # pixels
Picture = np.ndarray  # (height, width, 3) of bytes


class Camera:
    """Takes pictures of some robots of a fleet, in a grid of `columns`."""

    def __init__(
        self, task: MujocoFleet, robots: Sequence[int], columns: int = 3, width: int = 320, height: int = 240
    ) -> None:
        self.task, self.robots, self.columns = task, list(robots), columns
        self._renderer = mujoco.Renderer(task.model, height, width)
        self._data = mujoco.MjData(task.model)

    def shoot(self, helped: BoolArray | None = None) -> Picture:
        """One picture of all robots now; `helped` (N,) marks those that a human acts for."""
        tiles = [self._tile(robot, helped is not None and bool(helped[robot])) for robot in self.robots]
        tiles += [np.full_like(tiles[0], 255)] * (-len(tiles) % self.columns)
        rows = [np.concatenate(tiles[i : i + self.columns], axis=1) for i in range(0, len(tiles), self.columns)]
        return np.concatenate(rows)

    def _tile(self, robot: int, helped: bool) -> Picture:
        self.task.batch.get_data(robot, self._data)
        mujoco.mj_forward(self.task.model, self._data)
        self._renderer.update_scene(self._data, camera="follow")
        if self.task.failed[robot]:
            colour = ORANGE if helped else RED
        elif self.task.success[robot]:
            colour = GREEN
        else:
            colour = BLUE if helped else GREY
        picture = self._renderer.render()
        framed = np.full((picture.shape[0] + 2 * BORDER, picture.shape[1] + 2 * BORDER, 3), colour, np.uint8)
        framed[BORDER:-BORDER, BORDER:-BORDER] = picture
        return framed

    def close(self) -> None:
        """Give the graphics context back."""
        self._renderer.close()


def save_film(pictures: Iterable[Picture], path: Path, seconds_per_picture: float, columns: int = 4) -> None:
    """Write an animation (.gif, .webp) or, as .png, a sheet of all pictures in reading order."""
    frames = [Image.fromarray(picture) for picture in pictures]
    if path.suffix in {".gif", ".webp"}:
        duration = max(20, round(1000 * seconds_per_picture))
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=duration, loop=0)
    elif path.suffix == ".png":
        width, height = frames[0].size
        sheet = Image.new("RGB", (width * min(columns, len(frames)), height * ceil(len(frames) / columns)), "white")
        for i, frame in enumerate(frames):
            sheet.paste(frame, (width * (i % columns), height * (i // columns)))
        sheet.save(path)
    else:
        raise ValueError(f"{path.name}: a film is a .gif, a .webp, or a .png with a sheet of pictures")


class FleetAtWork(Protocol):
    """What a film needs of the loop."""

    task: FleetTask

    def advance(self) -> tuple[Timestep, Any]:
        """One timestep of the whole fleet."""
        ...


def watch_fleet(fleet: FleetAtWork, path: Path, robots: int, steps: int, every: int) -> None:
    """Film the first robots of a fleet and the people who help them, every so many of its next timesteps."""
    task = _filmable(fleet.task)
    camera, pictures = Camera(task, range(min(robots, task.num_envs))), []
    for step in range(steps):
        helped = fleet.advance()[0].human_of != NOBODY
        if step % every == 0:
            pictures.append(camera.shoot(helped))
    camera.close()
    save_film(pictures, path, every * task.timestep)


def _filmable(task: FleetTask) -> MujocoFleet:
    if not isinstance(task, MujocoFleet):
        raise ValueError(f"{type(task).__name__} is not a MuJoCo world; there is nothing for a camera to see")
    return task


def watch_expert(world: str, path: Path, robots: int, steps: int, every: int) -> None:
    """Film the expert of a MuJoCo world at work by itself, every so many of the first timesteps."""
    task = _filmable(TASKS.load(world)(robots))
    expert, camera, pictures = Expert.of(world), Camera(task, range(robots)), []
    observations, _ = task.reset()
    for step in range(steps):
        if step % every == 0:
            pictures.append(camera.shoot())
        observations, *_ = task.step(expert.act(observations))
    camera.close()
    save_film(pictures, path, every * task.timestep)
