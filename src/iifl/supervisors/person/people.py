"""M people who click where a robot is to go, whatever the world, as long as they can see it from above."""

import itertools
import zlib
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image

from iifl.records import FloatArray, IntArray, ObservationArray, Situation
from iifl.supervisors.person.answers import Answers
from iifl.supervisors.person.desk import Answer, Desk, Refused, Ticket
from iifl.supervisors.person.reach import Reach
from iifl.supervisors.person.server import Server


class SeenFromAbove(Protocol):
    """What a world must offer to be supervised by clicks. A pixel is (x, y) from the upper left corner."""

    instruction: str
    """What people are told to do."""

    def camera_images(self, robots: IntArray) -> np.ndarray:
        """What the camera over each of these robots sees: uint8 (k, height, width, 3)."""
        ...

    def pixel_to_table(self, pixels: FloatArray) -> FloatArray:
        """The points of the table (..., 2) that these pixels (..., 2) show."""
        ...

    def table_to_pixel(self, points: FloatArray) -> FloatArray:
        """The inverse of `pixel_to_table`."""
        ...

    def action_towards(self, robots: int, points: FloatArray) -> FloatArray:
        """The action (A,) of this robot that ends at a point of the table (2,), or as near as one can."""
        ...

    def action_end(self, robots: int, actions: FloatArray) -> FloatArray:
        """Where on the table these actions (..., A) of this robot end, its inverse; with 0 that is where they begin."""
        ...

    @property
    def table_bounds(self) -> tuple[FloatArray, FloatArray]:
        """The lowest and the highest point of the table (2,)."""
        ...


class People:
    """Supervisors who are asked by a page in their browser, and nobody moves until they have answered."""

    def __init__(self, humans: int, robots: int, rng: np.random.Generator | None = None) -> None:
        del rng  # chance is their own
        self.humans = humans
        self._actions: list[FloatArray | None] = [None] * robots
        self._numbers = itertools.count(1)
        self._answers: Answers | None = None
        self._server: Server | None = None
        self._desk = Desk(humans, self._keep)

    def open(self, path: Path) -> dict[str, str]:
        """Open the pages, and say whose is at which address, the one to begin with first.

        `path` is where the answers are written down.
        """
        self._answers = Answers(path)
        for human, reset in self._answers.given():
            self._desk.count(human, reset=reset)
        self._server = Server(self._desk, self.humans)
        return self._server.addresses

    def close(self, *, finished: bool) -> None:
        """The run has finished, or was stopped: say so on the pages and close them."""
        self._desk.end(finished=finished)
        if self._server is not None and self._answers is not None:
            self._server.close()
            self._answers.close()

    def tell(self, stage: str, done: int, total: int) -> None:
        """How far the run is, for the pages."""
        self._desk.tell(stage, done, total)

    def begin(self, robots: IntArray) -> None:
        """What people have in mind is their own affair."""

    def attend(self, situation: Situation, task: Any) -> None:
        """Ask everybody who has a robot to help, all at once, and wait for them."""
        if self._answers is None:
            raise RuntimeError("nobody has opened the pages of the people: start the run by `iifl run`")
        robots = np.flatnonzero(situation.asked | situation.resets)
        tickets = self._tickets(robots, situation, task) if len(robots) else []
        known = [self._answers.recall(ticket) for ticket in tickets]
        waiting = [ticket for ticket, answer in zip(tickets, known, strict=True) if answer is None]
        given = self._desk.ask(waiting, _in_a_reset(situation, task))
        for answer in [*given, *(answer for answer in known if answer is not None)]:
            self._actions[answer.ticket.robot] = answer.action

    def act(self, humans: IntArray, robots: IntArray, observations: ObservationArray, task: Any) -> FloatArray:
        """What they have just decided on for these robots: (k, A)."""
        size = task.single_action_space.shape
        return np.array([self._actions[robot] for robot in robots], np.float32).reshape(len(robots), *size)

    def state_dict(self) -> dict[str, np.ndarray]:
        """Nothing of a person can be saved."""
        return {}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Nothing of a person can be saved."""

    def _keep(self, answer: Answer) -> None:
        assert self._answers is not None
        self._answers.keep(answer)

    def _tickets(self, robots: IntArray, situation: Situation, task: SeenFromAbove) -> list[Ticket]:
        """What to lay on the desks of the people of these robots."""
        rank = np.argsort(np.argsort(-situation.uncertainty, kind="stable")) + 1
        tickets = []
        for robot, picture in zip(robots.tolist(), task.camera_images(robots), strict=True):
            ticket = Ticket(
                number=next(self._numbers),
                timestep=situation.timestep,
                human=int(situation.human_of[robot]),
                robot=robot,
                reset=bool(situation.resets[robot]),
                wants=bool(situation.wants[robot]),
                uncertainty=float(situation.uncertainty[robot]),
                rank=int(rank[robot]),
                instruction=task.instruction,
                picture=_png(picture),
                checksum=zlib.crc32(picture.tobytes()),
                reach=Reach.of(task, robot, picture.shape[1], picture.shape[0]),
                meaning=partial(_action_at, task, robot),
            )
            tickets.append(ticket)
        return tickets


def _action_at(task: SeenFromAbove, robot: int, x: float, y: float) -> FloatArray:
    """The action of this robot that a click at this pixel means."""
    point = task.pixel_to_table(np.array([x, y]))
    low, high = task.table_bounds
    if ((point < low) | (point > high)).any():
        raise Refused("That is outside the table. Click inside its walls.")
    return np.asarray(task.action_towards(robot, point), np.float32)


def _in_a_reset(situation: Situation, task: Any) -> dict[int, int]:
    """Human → robot, of those in the middle of a hard reset."""
    robots = np.flatnonzero((situation.human_of >= 0) & task.failed & ~situation.resets)
    return {int(situation.human_of[robot]): int(robot) for robot in robots}


def _png(picture: np.ndarray) -> bytes:
    file = BytesIO()
    Image.fromarray(picture).save(file, "PNG", compress_level=1)
    return file.getvalue()
