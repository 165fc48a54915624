"""Run jobs by an engine, and show how far they are."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Literal, Protocol, Self

from rich.console import Console

from iifl.pool.board import Board
from iifl.pool.jobs import Job, Outcome, Sign
from iifl.pool.processes import Processes

EngineName = Literal["processes", "ray"]


class JobsFailedError(RuntimeError):
    """Some jobs failed; the message names each with its error."""


class Engine(Protocol):
    """Does jobs while it is open, each of which has one `Outcome`."""

    def __enter__(self) -> Self:
        """Begin with the jobs."""
        ...

    def events(self) -> Iterator[Sign | Outcome]:
        """What has come in since the last look, after waiting a moment."""
        ...

    def __exit__(self, *error: object) -> None:
        """End what is still at work."""
        ...


MakeEngine = Callable[[Sequence[Job]], Engine]
_engine: ContextVar[MakeEngine] = ContextVar("engine", default=Processes)


@contextmanager
def using(name: EngineName, address: str | None = None, threads: int | None = None) -> Iterator[None]:
    """Within this block, jobs are run by this engine, each with so many threads."""
    make: MakeEngine = partial(Processes, threads=threads)
    if name == "ray":
        try:
            from iifl.pool.cluster import Cluster  # noqa: PLC0415 (only there with the extra)
        except ImportError as error:
            raise RuntimeError("many machines need Ray: pip install 'iifl[ray]'") from error
        make = partial(Cluster, address=address, threads=threads or 1)
    token = _engine.set(make)
    try:
        yield
    finally:
        _engine.reset(token)


def run_all(jobs: Sequence[Job], console: Console, title: str, engine: MakeEngine | None = None) -> list[Outcome]:
    """What became of each job, in their order; shows a line for each that is at work."""
    outcomes: dict[int, Outcome] = {}
    with (engine or _engine.get())(jobs) as at_work, Board(jobs, console, title) as board:
        while len(outcomes) < len(jobs):
            for event in at_work.events():
                if isinstance(event, Sign):
                    board.sign(event)
                else:
                    outcomes[event.number] = event
                    board.end(event)
    return [outcomes[number] for number in range(len(jobs))]


def run_jobs(jobs: Sequence[Job], console: Console, title: str, engine: MakeEngine | None = None) -> list[Any]:
    """What the jobs return, in their order; a failure does not stop the others, and is raised when all have ended."""
    outcomes = run_all(jobs, console, title, engine)
    failures = [f"  {jobs[outcome.number].name}: {outcome.error}" for outcome in outcomes if outcome.error]
    if failures:
        listed = "\n".join(failures)
        raise JobsFailedError(f"{len(failures)} of {len(jobs)} failed; the others are done and kept:\n{listed}")
    return [outcome.result for outcome in outcomes]
