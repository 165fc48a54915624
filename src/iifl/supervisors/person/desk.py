"""The desk between the fleet, which waits for people, and their pages, which come and go.

The fleet lays a ticket on the desk for each person whom a robot needs, and waits until all are answered. While a ticket
lies there the world stands still, so what a click means can be worked out at the moment it is made. An answer names its
ticket: one that comes too late, twice, or from a page that shows another robot is refused and changes nothing.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from iifl.records import FloatArray
from iifl.supervisors.person.reach import Reach

TELL_EVERY = 0.2
"""Seconds between two signs of progress that the pages are woken for."""
LOOK_AGAIN = 15.0
"""Seconds after which a page that waits for news is answered without any, and asks again."""
FAREWELL = 2.0
"""Seconds that the end of a run waits for the open pages to hear of it."""


class Refused(ValueError):  # noqa: N818 (it is no fault of the program)
    """What a person did cannot be done; the message says why."""


class Stale(Refused):
    """An answer to a ticket that is not on the desk any more."""


@dataclass(frozen=True)
class Ticket:
    """A robot that waits for one person, and what this person is shown of it."""

    number: int
    timestep: int
    human: int
    robot: int
    reset: bool  # it has failed and waits for a hard reset; otherwise for an action
    wants: bool  # it wants help; otherwise the person only stays with it for the minimum time
    uncertainty: float
    rank: int  # 1 for the most unsure robot of the fleet
    instruction: str  # what people are to do in this world
    picture: bytes  # PNG
    checksum: int  # of the picture
    reach: Reach
    meaning: Callable[[float, float], FloatArray]  # the action (A,) that ends at a pixel, or `Refused`


@dataclass(frozen=True)
class Answer:
    """What a person did with a ticket: an action, or with none a hard reset."""

    ticket: Ticket
    action: FloatArray | None
    pixel: tuple[float, float] | None
    seconds: float  # that the person took


People = tuple[int, ...]
"""The people that one page is for: one of them, or all, who are then one person at several desks."""


class Desk:
    """The tickets of M people; the fleet asks in one thread, the pages answer in others."""

    def __init__(self, humans: int, keep: Callable[[Answer], None]) -> None:
        """`keep` writes an answer down, before its person is told that it is taken."""
        self._keep = keep
        self._changed = threading.Condition()
        self._tickets: list[Ticket | None] = [None] * humans
        self._answers: list[Answer] = []
        self._laid = 0.0
        self._version = 0
        self._stage: tuple[str, int, int] = ("", 0, 0)
        self._told = 0.0
        self._resetting: dict[int, int] = {}
        self._given = [(0, 0)] * humans  # pushes and hard resets of each person
        self._end: bool | None = None  # whether the run was finished when it ended
        self._seen: dict[People, tuple[float, int]] = {}  # when a page last asked, and the version it got

    # The fleet ------------------------------------------------------------------------------------------------------

    def ask(self, tickets: Sequence[Ticket], resetting: dict[int, int]) -> list[Answer]:
        """Lay out the tickets, at most one for each person, and wait for all answers.

        `resetting` holds the robots of the people who are in the middle of a hard reset, and have nothing to do.
        """
        if not tickets and resetting == self._resetting:
            return []
        with self._changed:
            self._answers, self._resetting, self._laid = [], resetting, time.monotonic()
            for ticket in tickets:
                self._tickets[ticket.human] = ticket
            self._wake()
            self._changed.wait_for(lambda: not any(self._tickets))
            return self._answers

    def tell(self, stage: str, done: int, total: int) -> None:
        """How far the run is."""
        now, new_stage = time.monotonic(), stage != self._stage[0]
        self._stage = (stage, done, total)
        if new_stage or now - self._told > TELL_EVERY:
            self._told = now
            with self._changed:
                self._wake()

    def count(self, human: int, *, reset: bool) -> None:
        """One more action, or hard reset, that this person has given."""
        pushes, resets = self._given[human]
        self._given[human] = (pushes, resets + 1) if reset else (pushes + 1, resets)

    def end(self, *, finished: bool) -> None:
        """Tell the open pages that the run is over, and wait a little until they have heard of it."""
        with self._changed:
            self._end, self._tickets = finished, [None] * len(self._tickets)
            self._wake()
            recently = time.monotonic() - LOOK_AGAIN - FAREWELL
            present = [page for page, (when, _) in self._seen.items() if when > recently]
            self._changed.wait_for(lambda: all(self._seen[page][1] == self._version for page in present), FAREWELL)

    # The pages ------------------------------------------------------------------------------------------------------

    def push(self, people: People, number: int, x: float, y: float) -> None:
        """A click at (x, y) in the picture of this ticket."""
        with self._changed:
            ticket = self._ticket(people, number)
            if ticket.reset:
                raise Refused("The robot has failed: it can only be reset.")
            self._take(ticket, ticket.meaning(x, y), (x, y))

    def hard_reset(self, people: People, number: int) -> None:
        """The robot of this ticket is to be reset."""
        with self._changed:
            ticket = self._ticket(people, number)
            if not ticket.reset:
                raise Refused("The robot has not failed: show it where to push.")
            self._take(ticket, None, None)

    def picture(self, people: People, number: int) -> bytes:
        """The picture of a ticket, as PNG."""
        with self._changed:
            return self._ticket(people, number).picture

    def state(self, people: People, seen: int, patience: float = LOOK_AGAIN) -> dict[str, Any]:
        """What the page of these people shows, as soon as it is another than the version it has `seen`."""
        with self._changed:
            self._seen[people] = (time.monotonic(), seen)
            self._changed.wait_for(lambda: self._version != seen, patience)
            self._seen[people] = (time.monotonic(), self._version)
            if self._end is not None:
                self._changed.notify_all()  # somebody waits in `end` for this page
            tickets = [ticket for human in people if (ticket := self._tickets[human])]
            stage, done, total = self._stage
            return {
                "version": self._version,
                "end": None if self._end is None else ("finished" if self._end else "stopped"),
                "stage": {"name": stage, "done": done, "total": total},
                "ticket": _shown(tickets[0]) if tickets else None,
                "others": any(self._tickets),
                "resetting": next((self._resetting[human] for human in people if human in self._resetting), None),
                "pushes": sum(self._given[human][0] for human in people),
                "resets": sum(self._given[human][1] for human in people),
            }

    def _ticket(self, people: People, number: int) -> Ticket:
        """The ticket of this number, if it still is on the desk of one of these people."""
        for human in people:
            ticket = self._tickets[human]
            if ticket is not None and ticket.number == number:
                return ticket
        raise Stale("That was for an earlier picture; nothing was done.")

    def _take(self, ticket: Ticket, action: FloatArray | None, pixel: tuple[float, float] | None) -> None:
        """Keep an answer and clear its ticket away."""
        answer = Answer(ticket, action, pixel, time.monotonic() - self._laid)
        self._keep(answer)
        self._answers.append(answer)
        self._tickets[ticket.human] = None
        self.count(ticket.human, reset=action is None)
        self._wake()

    def _wake(self) -> None:
        """Let everybody who waits look again; the condition is held."""
        self._version += 1
        self._changed.notify_all()


def _shown(ticket: Ticket) -> dict[str, Any]:
    """What a page is told of a ticket."""
    names = ("number", "timestep", "robot", "reset", "wants", "uncertainty", "rank", "instruction")
    return {name: getattr(ticket, name) for name in names} | asdict(ticket.reach)
