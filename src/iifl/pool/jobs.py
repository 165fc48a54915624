"""What is done many times: a job, the signs of progress that it gives, and what became of it.

A job is a function at the top of a module, called with its arguments and a `Progress`. Whatever it raises is told in
words: errors of other libraries do not all survive the way from one process to another.
"""

import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

TICK = 0.1
"""Seconds between two looks at the jobs' signs of progress, and between two signs of one job."""


@dataclass(frozen=True)
class Job:
    """One call: `function(*arguments, progress)`."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    work: float = 1.0
    """How long it takes beside the others, for the estimate of the time left."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """The share of that time that each of its stages takes, in their order; for the estimate as well."""
    log: Path | None = None
    """Where what it prints and raises is kept; none: nowhere."""

    def share(self, stage: str, done: int, total: int) -> float:
        """How much of the job is done when `done` of `total` units of this stage are."""
        before = 0.0
        for name, share in self.stages.items():
            if name == stage:
                return before + share * done / max(total, 1)
            before += share
        return 0.0


@dataclass(frozen=True)
class Sign:
    """How far a job is."""

    number: int
    stage: str
    done: int
    total: int


@dataclass(frozen=True)
class Outcome:
    """What became of a job: its result, or its error in words."""

    number: int
    result: Any = None
    error: str | None = None


@dataclass
class _Sender:
    """The `Progress` of a job: sends what it is told, but not more often than anybody can read."""

    number: int
    send: Callable[[Sign], None]
    last: float = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.last >= TICK or done == total:
            self.last = now
            self.send(Sign(self.number, stage, done, total))


def perform(number: int, job: Job, send: Callable[[Sign], None]) -> Outcome:
    """Do a job where its engine has brought it."""
    with _logged(job.log):
        try:
            return Outcome(number, job.function(*job.arguments, _Sender(number, send)))
        except Exception as error:
            if job.log is not None:
                traceback.print_exc()
            return Outcome(number, error=f"{type(error).__name__}: {error}")


@contextmanager
def _logged(path: Path | None) -> Iterator[None]:
    """Append what is printed within this block to a file."""
    if path is None:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", buffering=1) as log, redirect_stdout(log), redirect_stderr(log):
        print(f"--- process {os.getpid()}, {datetime.now(UTC).isoformat(timespec='seconds')}")  # noqa: T201
        yield


def thread_variables(threads: int) -> dict[str, str]:
    """What tells the libraries of a process, before it loads them, how many threads it may have."""
    return dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
