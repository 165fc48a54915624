"""The engine of many machines: Ray. A job whose machine dies is begun again on another, where it goes on by itself.

Ray carries a job to its worker and the outcome back with cloudpickle, in memory; nothing of it is kept. The folders
that jobs write must be at the same path on all machines.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Any, Self

import ray
import torch
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from iifl.pool.jobs import TICK, Job, Outcome, Sign, perform, thread_variables

LIVES = 5
"""How often a job is begun again after its machine or process has died."""


class Cluster:
    """Jobs on the machines of a Ray cluster, each with so many cores; without an address, Ray's own choice."""

    def __init__(self, jobs: Sequence[Job], address: str | None = None, threads: int = 1) -> None:
        self._jobs, self._address, self._threads = jobs, address, threads
        self._numbers: dict[Any, int] = {}

    def __enter__(self) -> Self:
        variables = {"env_vars": thread_variables(self._threads)}
        ray.init(address=self._address, runtime_env=variables, log_to_driver=False, logging_level=logging.ERROR)
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._mailbox: Any = ray.remote(_Mailbox).options(num_cpus=0, scheduling_strategy=here).remote()
        at_work: Any = ray.remote(_perform).options(num_cpus=self._threads, max_retries=LIVES)
        for number, job in enumerate(self._jobs):
            self._numbers[at_work.remote(number, job, self._threads, self._mailbox)] = number
        return self

    def events(self) -> Iterator[Sign | Outcome]:
        """What has come in since the last look, after waiting a moment."""
        done, _ = ray.wait(list(self._numbers), num_returns=len(self._numbers), timeout=TICK)
        yield from ray.get(self._mailbox.take.remote())
        for reference in done:
            number = self._numbers.pop(reference)
            try:
                outcome: Outcome = ray.get(reference)
                yield outcome
            except RayError as error:
                yield Outcome(number, error=f"it was begun {LIVES + 1} times in vain: {str(error).splitlines()[0]}")

    def __exit__(self, *error: object) -> None:
        for reference in self._numbers:
            ray.cancel(reference, force=True)
        ray.shutdown()


class _Mailbox:
    """Where the jobs leave their signs of progress."""

    def __init__(self) -> None:
        self.signs: list[Sign] = []

    def put(self, sign: Sign) -> None:
        """Leave one."""
        self.signs.append(sign)

    def take(self) -> list[Sign]:
        """Take all that have come in."""
        taken, self.signs = self.signs, []
        return taken


def _perform(number: int, job: Job, threads: int, mailbox: Any) -> Outcome:
    torch.set_num_threads(threads)
    return perform(number, job, mailbox.put.remote)
