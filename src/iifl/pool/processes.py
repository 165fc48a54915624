"""The engine of one machine: processes that do job after job, with so few threads each that they do not fight."""

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Self

import torch

from iifl.pool.jobs import TICK, Job, Outcome, Sign, perform, thread_variables

_PATIENCE = 5.0
"""Seconds that a process has to end by itself."""


@dataclass
class _Worker:
    process: SpawnProcess
    number: int  # of the job it is doing


class Processes:
    """Jobs in processes of this machine; by default one for each core. One that dies takes only its own job with it."""

    def __init__(self, jobs: Sequence[Job], processes: int | None = None, threads: int | None = None) -> None:
        cores = os.cpu_count() or 1
        self._processes = min(processes or max(1, cores // (threads or 1)), len(jobs))
        self._threads = threads or max(1, cores // max(self._processes, 1))
        self._waiting = list(enumerate(jobs))[::-1]
        self._workers: dict[Connection, _Worker] = {}
        self._context = multiprocessing.get_context("spawn")  # a forked torch can hang in its thread pool

    def __enter__(self) -> Self:
        for _ in range(self._processes):
            self._begin_worker()
        return self

    def events(self) -> Iterator[Sign | Outcome]:
        """What has come in since the last look, after waiting for the first a moment."""
        for connection in wait(list(self._workers), TICK):
            assert isinstance(connection, Connection)
            worker = self._workers[connection]
            try:
                event: Sign | Outcome = connection.recv()
            except (EOFError, ConnectionError):
                worker.process.join()
                yield Outcome(worker.number, error=f"its process died ({_ending(worker.process)})")
                del self._workers[connection]
                if self._waiting:
                    self._begin_worker()
                continue
            if isinstance(event, Outcome):
                self._next(connection, worker)
            yield event

    def __exit__(self, *error: object) -> None:
        for worker in self._workers.values():
            worker.process.terminate()
        for worker in self._workers.values():
            worker.process.join(_PATIENCE)
            worker.process.kill()

    def _begin_worker(self) -> None:
        ours, its = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(its, self._threads), daemon=True)
        with _inherited(thread_variables(self._threads)):
            process.start()
        its.close()  # so that its death is an end of file
        self._workers[ours] = worker = _Worker(process, -1)
        self._next(ours, worker)

    def _next(self, connection: Connection, worker: _Worker) -> None:
        """Give this process another job, or let it go."""
        if self._waiting:
            worker.number, job = self._waiting.pop()
            connection.send((worker.number, job))
        else:
            connection.send(None)
            del self._workers[connection]


def _serve(connection: Connection, threads: int) -> None:
    """The life of a process."""
    torch.set_num_threads(threads)
    while (given := connection.recv()) is not None:
        number, job = given
        connection.send(perform(number, job, connection.send))


def _ending(process: SpawnProcess) -> str:
    code = process.exitcode or 0
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


@contextmanager
def _inherited(variables: dict[str, str]) -> Iterator[None]:
    """Within this block, new processes have these variables, and leave Ctrl-C to this one, which ends all of them."""
    before, interrupted = dict(os.environ), signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        signal.signal(signal.SIGINT, interrupted)
