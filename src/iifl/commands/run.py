"""`iifl run`: one algorithm on one task. Every option is a field of `RunConfig`."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from iifl.checks import ConfigError
from iifl.commands.person import Reception
from iifl.commands.progress import stages
from iifl.config import RunConfig
from iifl.presets import ALGORITHMS, PRESETS, Preset, preset
from iifl.registry import TASKS, nearest, spelled
from iifl.run import Finished, execute, start_again


@dataclass(frozen=True)
class Run:
    """Run one algorithm on one task.

    The task, the algorithm and the preset choose the values that all other options start from. A run that was
    interrupted goes on when the same command is given again.
    """

    config: Annotated[RunConfig, tyro.conf.arg(name="")]
    preset: Preset = "fast"
    """What learns: fast (the default), best (what a task gains by), paper (its hyper-parameters), small (the method of
    the paper for a small CPU)."""
    out: Path | None = None
    """The folder of the run; none: runs/TASK-ALGORITHM-SEED."""
    fresh: bool = False
    """Delete the run that is in the folder and start anew."""
    browser: bool = True
    """With people as supervisors: open their pages in the browser (their addresses are shown in any case)."""
    force: bool = False
    """Go on with a run even though this machine or program is not the one it was started with."""


def command(options: Sequence[str], console: Console) -> None:
    """Run, and show the numbers that came out."""
    start = Run(_starting_point(options))
    given = tyro.cli(Run, prog="iifl run", args=options, default=start, config=(tyro.conf.AvoidSubcommands,))
    config = given.config
    out = given.out or Path("runs") / f"{config.task}-{config.algorithm}-{config.seed}"
    if given.fresh:
        start_again(out)
    with stages(console) as progress, Reception(console, progress, browser=given.browser) as reception:
        finished = execute(config, out, reception.progress, force=given.force, meet=reception.meet)
    console.print(_table(finished))
    console.print(f"The run is in {out}")


def _starting_point(options: Sequence[str]) -> RunConfig:
    """The configuration of the task, algorithm and preset that are given among the options."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--task", default="navigation")
    first.add_argument("--algorithm", default="iifl")
    first.add_argument("--preset", default="fast")
    chosen, _ = first.parse_known_args(options)
    for kind, known in (("task", TASKS.names()), ("algorithm", ALGORITHMS), ("preset", PRESETS)):
        name = getattr(chosen, kind)
        if kind == "task":
            name = chosen.task = spelled(name)
        if name not in known:
            raise ConfigError(f"unknown {kind} '{name}': {nearest(name, known)}")
    return preset(chosen.task, chosen.algorithm, chosen.preset)


def _table(finished: Finished) -> Table:
    config = finished.config
    table = Table(title=f"{config.task}, {config.algorithm.upper()}, seed {config.seed}")
    table.add_column("metric")
    table.add_column("value", justify="right")
    for row in finished.summary:
        table.add_row(row["metric"].replace("_", " "), f"{row['value']:,.6g}")
    return table
