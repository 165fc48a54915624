"""`iifl bench`: speed, always as a ratio of two things measured in turns in one run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import tyro
from rich.console import Console

from iifl.benchmarks.ablation import benchmark_ablation
from iifl.benchmarks.judgement import benchmark_judgement
from iifl.benchmarks.learning import benchmark_learning
from iifl.benchmarks.policies import benchmark_step, benchmark_train
from iifl.benchmarks.rows import Row, count_cpu_seconds, save, show
from iifl.benchmarks.runs import benchmark_runs
from iifl.benchmarks.tasks import benchmark_tasks
from iifl.registry import nearest

BENCHMARKS: dict[str, Callable[[], list[Row]]] = {
    "step": benchmark_step,
    "train": benchmark_train,
    "ablation": benchmark_ablation,
    "tasks": benchmark_tasks,
    "runs": benchmark_runs,
    "learning": benchmark_learning,
    "judgement": benchmark_judgement,
}


@dataclass(frozen=True)
class Bench:
    """Measure speed, as ratios within one run, and judgement. Do nothing else on the machine meanwhile."""

    name: tyro.conf.Positional[str]
    """Which one: step (a timestep of the policy), train (a gradient step), ablation (where the factor comes from),
    tasks (the worlds), runs (what it costs to keep a run), learning (progress per step and per second), judgement
    (whether the fast policy judges right)."""
    busy: bool = False
    """Count the CPU seconds of one thread, not those of the clock on the wall: for a machine that does more than this.
    Not for tasks and runs, which have threads and disks of their own."""
    json: Path | None = None
    """Write the rows (name, ratio, spread, seconds, settings) into this file as well."""


def command(options: Sequence[str], console: Console) -> None:
    """Measure and show."""
    given = tyro.cli(Bench, prog="iifl bench", args=options)
    if given.name not in BENCHMARKS:
        raise ValueError(f"unknown benchmark '{given.name}': {nearest(given.name, BENCHMARKS)}")
    if given.busy:
        count_cpu_seconds()
    with console.status(f"measuring {given.name}"):
        rows = BENCHMARKS[given.name]()
    if given.busy:
        rows = [replace(row, settings={**row.settings, "clock": "CPU seconds of one thread"}) for row in rows]
    show(rows, console)
    if given.json is not None:
        save(rows, given.json)
