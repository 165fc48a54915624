"""The answers of people, written down one by one, so that nobody is asked twice for what a killed run has lost.

One line of JSON for each answer, on the disk before the person is told that it is taken. The journal has the same
actions, but only once their timestep is over; and a run goes on from its last checkpoint, which may be long before.
An answer belongs to the very picture it was given for: if that looks different now, its person is asked again.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from iifl.records import FloatArray
from iifl.supervisors.person.desk import Answer, Ticket

Key = tuple[int, int, int, bool, int]


class Answers:
    """The answers of one run, in one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[Key, FloatArray | None] = {}
        whole = self._read()
        self._file = path.open("ab")
        self._file.truncate(whole)  # of a line that a kill cut short, nobody was told

    def _read(self) -> int:
        """Learn what is in the file; how many bytes of it are whole lines."""
        data = self.path.read_bytes() if self.path.exists() else b""
        whole = data.rfind(b"\n") + 1
        for number, line in enumerate(data[:whole].splitlines(), start=1):
            try:
                self._learn(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"{self.path}, line {number}: is damaged ({error!r}): restore the file from a copy, or delete the "
                    "line and be asked again"
                ) from error
        return whole

    def _learn(self, entry: dict[str, Any]) -> None:
        action = entry["action"]
        names = ("timestep", "human", "robot")
        timestep, human, robot = (int(entry[name]) for name in names)
        key = (timestep, human, robot, action is None, int(entry["picture"]))
        self._known[key] = None if action is None else np.array(action, np.float32)

    def keep(self, answer: Answer) -> None:
        """Write an answer down, for good."""
        ticket = answer.ticket
        entry = {
            "timestep": ticket.timestep,
            "human": ticket.human,
            "robot": ticket.robot,
            "action": None if answer.action is None else answer.action.tolist(),
            "pixel": answer.pixel,
            "seconds": round(answer.seconds, 3),
            "picture": ticket.checksum,
        }
        self._file.write(json.dumps(entry).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._learn(entry)

    def recall(self, ticket: Ticket) -> Answer | None:
        """What was answered to this very ticket before the run was killed, if anything was."""
        key = (ticket.timestep, ticket.human, ticket.robot, ticket.reset, ticket.checksum)
        return Answer(ticket, self._known[key], None, 0.0) if key in self._known else None

    def given(self) -> Iterator[tuple[int, bool]]:
        """Who has given each of the answers, and whether it was a hard reset."""
        for _, human, _, reset, _ in self._known:
            yield human, reset

    def close(self) -> None:
        """Close the file."""
        self._file.close()
