"""Films of a fleet, without a screen: of its people at work by themselves, or of a run whose robots they supervise.

Without a screen MuJoCo draws through EGL, or where that is missing through OSMesa (`MUJOCO_GL=osmesa` asks for it).
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image

from iifl.assembly import make_supervisors, make_task
from iifl.camera import Camera, State, legend, sheet, stack, state_of
from iifl.records import Timestep
from iifl.tasks.fleet import FleetTask
from iifl.tasks.mujoco_fleet import MujocoFleet

ENDINGS = (".webp", ".gif", ".png")
SHEET_COLUMNS = 3
Moments = Iterator[Sequence[State]]
"""What every robot is doing, timestep after timestep, while the world moves on."""


class FleetAtWork(Protocol):
    """What a film needs of the loop."""

    task: FleetTask

    def advance(self) -> tuple[Timestep, Any]:
        """One timestep of the whole fleet."""
        ...


def watch_fleet(fleet: FleetAtWork, path: Path, robots: int, steps: int, every: int) -> None:
    """Film the first robots of a fleet and the people who help them, every so many of its next timesteps."""
    robots = min(robots, fleet.task.num_envs)

    def moments() -> Moments:
        for _ in range(steps):
            timestep, _lesson = fleet.advance()
            yield [state_of(robot, timestep) for robot in range(robots)]

    _film(fleet.task, moments, path, robots, every)


def watch_people(world: str, path: Path, robots: int, steps: int, every: int) -> None:
    """Film the people of a MuJoCo world at work by themselves, each with one robot, for one episode at most."""
    task = make_task(world, robots, seed=0)

    def moments() -> Moments:
        people = make_supervisors(world, robots, robots, np.random.default_rng(0))
        observations, _ = task.reset()
        people.begin(np.arange(robots))
        actions = np.zeros(task.action_space.shape or (), np.float32)
        for _ in range(steps):
            active = np.flatnonzero(task.running)
            if not len(active):
                return
            actions[active] = people.act(active, active, observations[active], task)
            observations, *_ = task.step(actions)
            yield [_outcome(task, robot) for robot in range(robots)]

    _film(task, moments, path, robots, every)


def _outcome(task: FleetTask, robot: int) -> State:
    """What has become of a robot that nobody begins a new episode for."""
    if task.failed[robot]:
        return State.FAILED
    if task.success[robot]:
        return State.SUCCESS
    return State.OVER if task.truncated[robot] else State.HELPED


def _film(task: FleetTask, moments: Callable[[], Moments], path: Path, robots: int, every: int) -> None:
    """Take a picture every so many moments, and save the film."""
    if not isinstance(task, MujocoFleet):
        raise ValueError(f"{type(task).__name__} is not a MuJoCo world; there is nothing for a camera to see")
    if path.suffix not in ENDINGS:
        raise ValueError(f"{path.name}: a film is a .webp, a .gif, or a .png with a sheet of pictures")
    camera = Camera(task, robots)
    pictures = [
        camera.shoot(states, f"{type(task).__name__}, {(step + (k + 1) / task.moments) * task.timestep:.2f} s", k)
        for step, states in enumerate(moments())
        if step % every == 0
        for k in range(task.moments)
    ]
    camera.close()
    save_film(pictures, path, every * task.timestep / task.moments)


def save_film(pictures: Sequence[Image.Image], path: Path, seconds_per_picture: float) -> None:
    """Write an animation or, as .png, a sheet of all pictures in reading order; each with a legend of the frames."""
    if path.suffix == ".png":
        page = sheet(pictures, SHEET_COLUMNS)
        stack([page, legend(page.width)]).save(path)
        return
    frames = [stack([picture, legend(picture.width)]) for picture in pictures]
    duration = max(20, round(1000 * seconds_per_picture))
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=duration, loop=0)
