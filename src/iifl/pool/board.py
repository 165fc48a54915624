"""The live table of a pool: a line for each job that is at work, and the time left of each and of all."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from iifl.pool.jobs import Job, Outcome, Sign


@dataclass
class Pace:
    """How long what is left takes, if it goes on as it went since the first look at it."""

    first: float  # done when it was first looked at; a job that goes on does not begin at 0
    since: float
    done: float

    def left(self, total: float, now: float) -> float | None:
        """Seconds; None while nothing is known."""
        gained = self.done - self.first
        return (total - self.done) * (now - self.since) / gained if gained > 0 else None


class Board:
    """Shows how far jobs are, and tells of each failure at once; where nobody sees a table move, of each end."""

    def __init__(self, jobs: Sequence[Job], console: Console, title: str) -> None:
        self._jobs, self._console = jobs, console
        self._display = Progress(
            TextColumn("{task.description}"),
            TextColumn("{task.fields[stage]}"),
            BarColumn(),
            TextColumn("{task.fields[amount]}", justify="right"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}", justify="right"),
            console=console,
            transient=True,
        )
        self._total = sum(job.work for job in jobs)
        self._everything = self._display.add_task(
            f"[bold]{escape(title)}", total=self._total, stage="", amount="", left=""
        )
        self._began = time.monotonic()
        self._lines: dict[int, TaskID] = {}
        self._paces: dict[int, Pace] = {}
        self._ended = 0

    def __enter__(self) -> Self:
        self._display.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._display.stop()

    def sign(self, sign: Sign) -> None:
        """A job has come so far."""
        job, now = self._jobs[sign.number], time.monotonic()
        share = job.share(sign.stage, sign.done, sign.total)
        if sign.number not in self._lines:
            self._lines[sign.number] = self._add(f"  {escape(job.name)}")
            self._paces[sign.number] = Pace(share, now, share)
        pace = self._paces[sign.number]
        pace.done = max(pace.done, share)
        self._display.update(
            self._lines[sign.number],
            completed=sign.done,
            total=sign.total,
            stage=sign.stage,
            amount=f"{sign.done:,}/{sign.total:,}",
            left=_left_text(pace.left(1.0, now)),
        )
        self._show_everything(now)

    def end(self, outcome: Outcome) -> None:
        """A job has ended."""
        job, now = self._jobs[outcome.number], time.monotonic()
        self._ended += 1
        self._paces.setdefault(outcome.number, Pace(1.0, now, 1.0)).done = 1.0  # only loaded: says nothing of the pace
        if outcome.number in self._lines:
            self._display.remove_task(self._lines.pop(outcome.number))
        if outcome.error:
            told = f"{job.name}: {outcome.error}" + (f"\n  its log: {job.log}" if job.log else "")
            self._display.print(f"[red]failed:[/red] {escape(told)}", highlight=False, soft_wrap=True)
        elif not self._console.is_terminal:
            self._console.print(
                f"{self._ended} of {len(self._jobs)}: {escape(job.name)}", highlight=False, soft_wrap=True
            )
        self._show_everything(now)

    def _add(self, name: str, total: float | None = None) -> TaskID:
        return self._display.add_task(name, total=total, stage="", amount="", left="")

    def _show_everything(self, now: float) -> None:
        first = sum(self._jobs[number].work * pace.first for number, pace in self._paces.items())
        done = sum(self._jobs[number].work * pace.done for number, pace in self._paces.items())
        self._display.update(
            self._everything,
            completed=done,
            amount=f"{self._ended} of {len(self._jobs)} ended",
            left=_left_text(Pace(first, self._began, done).left(self._total, now)),
        )


def _left_text(seconds: float | None) -> str:
    return "" if seconds is None else f"{timedelta(seconds=round(seconds))} left"
