"""Pictures of a fleet: several robots side by side, each in a frame whose colour and caption say who is in charge."""

from collections.abc import Sequence
from enum import Enum
from math import ceil

import mujoco
from PIL import Image, ImageDraw, ImageFont

from iifl.records import NOBODY, Timestep
from iifl.tasks.mujoco_fleet import MujocoFleet

BORDER, STRIP = 6, 22  # pixels: the sides of a frame, and a line of text
INK, PAPER = (30, 30, 30), (255, 255, 255)
FONT = ImageFont.load_default(14)
Colour = tuple[int, int, int]


class State(Enum):
    """What a robot is doing: the words and the colour of its frame."""

    ALONE = ("on its own", (120, 120, 120))
    HELPED = ("human in control", (0, 90, 200))
    FAILED = ("failed, waits", (200, 30, 30))
    RESET = ("hard reset", (225, 130, 0))
    SUCCESS = ("success", (30, 140, 60))
    OVER = ("ended without success", (90, 60, 130))

    @property
    def words(self) -> str:
        """As a caption has it."""
        return self.value[0]

    @property
    def colour(self) -> Colour:
        """Of the frame."""
        return self.value[1]


def state_of(robot: int, timestep: Timestep) -> State:
    """What this robot did in a timestep of the fleet."""
    helped = timestep.human_of[robot] != NOBODY
    if timestep.failed[robot]:
        return State.RESET if helped else State.FAILED
    if timestep.ended[robot]:
        return State.SUCCESS if timestep.success[robot] else State.OVER
    return State.HELPED if helped else State.ALONE


class Camera:
    """Takes pictures of the first `robots` of a fleet, in a grid of `columns`."""

    def __init__(self, task: MujocoFleet, robots: int, columns: int = 3, width: int = 320, height: int = 240) -> None:
        self.task, self.robots, self.columns = task, robots, columns
        self._renderer = mujoco.Renderer(task.model, height, width)
        self._data = mujoco.MjData(task.model)

    def shoot(self, states: Sequence[State], title: str, moment: int = 0) -> Image.Image:
        """One picture of all robots at a moment of the last step, each framed by its state, under a title."""
        tiles = [self._tile(robot, states[robot], moment) for robot in range(self.robots)]
        width, height = tiles[0].size
        picture = strip(title, width * min(self.columns, self.robots), STRIP + height * ceil(len(tiles) / self.columns))
        for i, tile in enumerate(tiles):
            picture.paste(tile, (width * (i % self.columns), STRIP + height * (i // self.columns)))
        return picture

    def _tile(self, robot: int, state: State, moment: int) -> Image.Image:
        self.task.show(robot, moment, self._data)
        mujoco.mj_forward(self.task.model, self._data)
        self._renderer.update_scene(self._data, camera="follow")
        seen = Image.fromarray(self._renderer.render())
        frame = Image.new("RGB", (seen.width + 2 * BORDER, seen.height + STRIP + BORDER), state.colour)
        frame.paste(seen, (BORDER, STRIP))
        ImageDraw.Draw(frame).text((BORDER, STRIP / 2), f"robot {robot}: {state.words}", PAPER, FONT, anchor="lm")
        return frame

    def close(self) -> None:
        """Give the graphics context back."""
        self._renderer.close()


def strip(text: str, width: int, height: int = STRIP) -> Image.Image:
    """White paper with a line of text at its top."""
    paper = Image.new("RGB", (width, height), PAPER)
    ImageDraw.Draw(paper).text((BORDER, STRIP / 2), text, INK, FONT, anchor="lm")
    return paper


def legend(width: int) -> Image.Image:
    """What the colours of the frames mean."""
    paper = strip("frames:", width)
    draw, x = ImageDraw.Draw(paper), 70.0
    for state in State:
        draw.rectangle((x, BORDER, x + STRIP - 2 * BORDER, STRIP - BORDER), state.colour)
        draw.text((x + STRIP - BORDER, STRIP / 2), state.words, INK, FONT, anchor="lm")
        x += STRIP + BORDER + draw.textlength(state.words, FONT)
    return paper


def stack(pictures: Sequence[Image.Image]) -> Image.Image:
    """Pictures below each other on white paper."""
    paper = Image.new("RGB", (max(p.width for p in pictures), sum(p.height for p in pictures)), PAPER)
    y = 0
    for picture in pictures:
        paper.paste(picture, (0, y))
        y += picture.height
    return paper


def sheet(pictures: Sequence[Image.Image], columns: int) -> Image.Image:
    """All pictures in reading order on white paper."""
    width, height = (size + 2 * BORDER for size in pictures[0].size)
    paper = Image.new("RGB", (width * min(columns, len(pictures)), height * ceil(len(pictures) / columns)), PAPER)
    for i, picture in enumerate(pictures):
        paper.paste(picture, (width * (i % columns) + BORDER, height * (i // columns) + BORDER))
    return paper
