"""Many runs on one machine: a process for each core, one thread in each process, and a live view of all of them.

A job is a function at the top of a module, called with its arguments and a `Progress`. A job that fails does not stop
the others: its error is kept, and raised when all have ended.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from queue import Empty
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

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

    def share(self, stage: str, done: int, total: int) -> float:
        """How much of the job is done when `done` of `total` units of this stage are."""
        before = 0.0
        for name, share in self.stages.items():
            if name == stage:
                return before + share * done / max(total, 1)
            before += share
        return 0.0


class JobsFailedError(RuntimeError):
    """Some jobs failed; the message names each with its error."""


@dataclass
class _Sender:
    """The `Progress` of a job in another process: sends what it is told, but not more often than anybody can read."""

    job: int
    inbox: Any
    last: float = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.last >= TICK or done == total:
            self.last = now
            self.inbox.put((self.job, stage, done, total))


_inbox: Any = None


def _begin_worker(inbox: Any, threads: int) -> None:
    """One-time set-up of a worker: Ctrl-C is for the parent, who ends all of them."""
    global _inbox  # noqa: PLW0603 (a worker process has one inbox)
    _inbox = inbox
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(threads)


def _work(number: int, job: Job) -> Any:
    return job.function(*job.arguments, _Sender(number, _inbox))


def run_jobs(jobs: Sequence[Job], console: Console, title: str, processes: int | None = None) -> list[Any]:
    """What the jobs return, in their order, with a progress bar for all and a line for each that is at work."""
    cores = os.cpu_count() or 1
    processes = min(processes or cores, max(len(jobs), 1))
    context = multiprocessing.get_context("spawn")  # a forked torch can hang in its thread pool
    with context.Manager() as manager:
        inbox = manager.Queue()
        pool = ProcessPoolExecutor(processes, context, _begin_worker, (inbox, max(1, cores // processes)))
        futures = [pool.submit(_work, number, job) for number, job in enumerate(jobs)]
        try:
            _watch(jobs, futures, inbox, console, title)
        except BaseException:
            for process in (pool._processes or {}).values():
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()
    failures = [(job, error) for job, future in zip(jobs, futures, strict=True) if (error := future.exception())]
    if failures:
        listed = "\n".join(f"  {job.name}: {type(error).__name__}: {error}" for job, error in failures)
        raise JobsFailedError(f"{len(failures)} of {len(jobs)} failed; the others are done and kept:\n{listed}")
    return [future.result() for future in futures]


def _watch(jobs: Sequence[Job], futures: Sequence["Future[Any]"], inbox: Any, console: Console, title: str) -> None:
    """Show how far the jobs are until all have ended."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
    )
    work = sum(job.work for job in jobs)
    shares = [0.0] * len(jobs)
    lines: dict[int, TaskID] = {}
    with Progress(*columns, console=console, transient=True, speed_estimate_period=120.0) as display:
        everything = display.add_task(f"[bold]{title}", total=work, note="")
        while not all(future.done() for future in futures):
            for number, stage, done, total in _signs(inbox):
                if futures[number].done():
                    continue
                shares[number] = max(shares[number], jobs[number].share(stage, done, total))
                if number not in lines:
                    lines[number] = display.add_task("", note="")
                display.update(
                    lines[number], description=f"  {jobs[number].name}", completed=done, total=total, note=stage
                )
            for number, future in enumerate(futures):
                if future.done():
                    shares[number] = 1.0
                    if number in lines:
                        display.remove_task(lines.pop(number))
            finished = sum(future.done() for future in futures)
            done_work = sum(share * job.work for share, job in zip(shares, jobs, strict=True))
            display.update(everything, completed=done_work, note=f"{finished} of {len(jobs)} runs")


def _signs(inbox: Any) -> Iterator[tuple[int, str, int, int]]:
    """The signs of progress that have come in since the last look, after waiting for the first a moment."""
    timeout = TICK
    while True:
        try:
            yield inbox.get(timeout=timeout)
        except Empty:
            return
        timeout = 0.0
