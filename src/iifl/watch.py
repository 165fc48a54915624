"""Films of a fleet, without a screen: several robots side by side, with a border that says who is in charge.

A blue border: a human acts for this robot. Red: the robot has failed and waits for, or is in, a hard reset. Green: its
episode ended well. MuJoCo draws through EGL (or OSMesa); set `MUJOCO_GL` where the default finds no driver.
"""

from collections.abc import Iterable, Sequence
from math import ceil
from pathlib import Path

import mujoco
import numpy as np
from PIL import Image

from iifl.experts.expert import Expert
from iifl.records import BoolArray, IntArray
from iifl.registry import TASKS
from iifl.tasks.mujoco_fleet import MujocoFleet

BLUE, RED, GREEN, GREY = (0, 90, 200), (210, 30, 30), (30, 150, 60), (120, 120, 120)
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
            colour = RED
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


def watch_expert(
    world: str, path: Path, robots: int = 6, steps: IntArray | Sequence[int] = range(0, 300, 3), seed: int = 0
) -> None:
    """Film the expert of a MuJoCo world at the given steps of its first episode."""
    task = TASKS.load(world)(robots, seed=seed)
    if not isinstance(task, MujocoFleet):
        raise ValueError(f"'{world}' is not a MuJoCo world; it has nothing for a camera to see")
    expert, camera, pictures = Expert.of(world), Camera(task, range(robots)), []
    wanted = sorted({int(step) for step in steps})
    observations, _ = task.reset()
    for step in range(wanted[-1] + 1):
        if step in wanted:
            pictures.append(camera.shoot())
        observations, *_ = task.step(expert.act(observations))
    camera.close()
    apart = wanted[1] - wanted[0] if len(wanted) > 1 else 1
    save_film(pictures, path, apart * task.timestep)
