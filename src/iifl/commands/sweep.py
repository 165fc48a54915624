"""`iifl sweep`: tasks × algorithms × seeds, with every option of `iifl run` for all of them."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import tyro
from rich.console import Console

from iifl.checks import ConfigError
from iifl.config import Algorithm, RunConfig
from iifl.pool import JobsFailedError, using
from iifl.pool.engine import EngineName
from iifl.presets import ALGORITHMS, Preset, preset
from iifl.registry import TASKS, nearest, spelled
from iifl.sweep import sweep


@dataclass(frozen=True)
class Sweep:
    """Run tasks × algorithms × seeds. Every option of `iifl run` may follow, and holds for all runs.

    What is finished is not run again; the same command goes on after a stop. IIFL-R runs after the IIFL of the same
    task and seed, whose human actions are its budget.
    """

    tasks: tuple[str, ...] = ("navigation",)
    """The worlds."""
    algorithms: tuple[Algorithm, ...] = ALGORITHMS
    """What learns and who is helped."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """One run for each."""
    preset: Preset = "fast"
    """The policy, as for `iifl run`."""
    out: Path = Path("runs/sweep")
    """The folder of the sweep; with ray it must be at the same path on all machines."""
    engine: EngineName = "processes"
    """Where the runs are: processes of this machine, or the machines of a ray cluster."""
    address: str | None = None
    """For ray: the address of the cluster, or auto; none: Ray's own choice."""
    threads: int = 1
    """Threads of each run; on this machine there are as many runs at once as the cores allow."""
    fresh: bool = False
    """Delete the runs that are there and start anew."""
    force: bool = False
    """Go on with runs even though this machine or program is not the one they were started with."""


def command(options: Sequence[str], console: Console) -> None:
    """Run them all, and say which failed."""
    given, others = tyro.cli(Sweep, prog="iifl sweep", args=options, return_unknown_args=True)
    configs = configurations(given, others)
    with using(given.engine, given.address, given.threads):
        failed = sweep(
            configs,
            given.out,
            console,
            command=shlex.join(["iifl", "sweep", *options]),
            fresh=given.fresh,
            force=given.force,
        )
    if failed:
        raise JobsFailedError(f"{len(failed)} failed: {', '.join(failed)}")


def configurations(given: Sweep, others: Sequence[str]) -> list[RunConfig]:
    """The configuration of every run: the preset of its task and algorithm, changed by the other options."""
    for name in ("task", "algorithm", "seed"):
        if any(option.split("=")[0] == f"--{name}" for option in others):
            raise ConfigError(f"--{name} is for one run: a sweep has --{name}s")
    configs = []
    for task in map(spelled, given.tasks):
        if task not in TASKS.names():
            raise ConfigError(f"unknown task '{task}': {nearest(task, TASKS.names())}")
        for algorithm in given.algorithms:
            start = preset(task, algorithm, given.preset)
            config = tyro.cli(
                RunConfig,
                prog=f"iifl sweep ({task}, {algorithm})",
                args=others,
                default=start,
                config=(tyro.conf.AvoidSubcommands,),
            )
            configs += [replace(config, seed=seed) for seed in given.seeds]
    return configs
