"""`iifl reproduce`: a table or a figure of the paper, made anew, beside the paper's numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Literal

import tyro
from rich.console import Console
from rich.markup import escape

from iifl.experiments.scale import Scale
from iifl.pool import using
from iifl.pool.engine import EngineName
from iifl.registry import EXPERIMENTS, nearest, spelled
from iifl.report.page import build_report
from iifl.report.results import SUMMARY_FILE, load_results
from iifl.report.tables import tables_of, to_rich

ALL = "all"


@dataclass(frozen=True)
class Reproduce:
    """Reproduce a table or a figure of the paper, with its report. What is finished is not run again."""

    name: tyro.conf.Positional[str]
    """Which one: navigation (section 5.1, Figure 1), benchmark and cube-stacking (section 5.2), block-pushing
    (section 5.3), jeffreys, uncertainty and timing (the appendix); or all, with one report of everything."""
    scale: Scale = "cpu"
    """How large: smoke (a first look), cpu (what a laptop can do), paper (the size of the paper)."""
    out: Path | None = None
    """The folder of the results; none: runs/NAME. With all it has a folder for each; none: runs."""
    fresh: bool = False
    """Delete the runs that are there and start anew."""
    supervisors: Literal[4, 2] | None = None
    """Of cube-stacking: only with so many kinds of supervisors; none: with four, and with two."""
    engine: EngineName = "processes"
    """Where the runs are: processes of this machine, or the machines of a ray cluster."""
    address: str | None = None
    """For ray: the address of the cluster, or auto; none: Ray's own choice."""


def command(options: Sequence[str], console: Console) -> None:
    """Reproduce, and show the tables and where the report is."""
    given = tyro.cli(Reproduce, prog="iifl reproduce", args=options)
    name = spelled(given.name)
    if name not in (ALL, *EXPERIMENTS.names()):
        raise ValueError(f"unknown experiment '{name}': {nearest(name, [ALL, *EXPERIMENTS.names()])}")
    out = (given.out or Path("runs") / ("" if name == ALL else name)).absolute()
    folders = {each: out / each for each in EXPERIMENTS.names()} if name == ALL else {name: out}
    chosen = {} if given.supervisors is None else {"supervisors": (given.supervisors,)}
    if chosen and (name == ALL or "supervisors" not in signature(EXPERIMENTS.load(name)).parameters):
        raise ValueError(f"--supervisors is of cube-stacking alone: leave it out for {name}")
    failures: dict[str, str] = {}
    with using(given.engine, given.address):
        for each, folder in folders.items():
            try:
                EXPERIMENTS.load(each)(folder, given.scale, console, given.fresh, **chosen)
            except Exception as error:
                if name != ALL:
                    raise
                failures[each] = f"{type(error).__name__}: {error}"
                console.print(f"[red]failed:[/red] {escape(f'{each}: {failures[each]}')}", highlight=False)
    there = [folder for folder in folders.values() if (folder / SUMMARY_FILE).exists()]
    for results in load_results(there):
        for table in tables_of(results):
            console.print(to_rich(table))
    console.print(f"The report is {build_report(there, out / 'report.html')}")
    if failures:
        raise RuntimeError(f"{len(failures)} of {len(folders)} experiments failed: {', '.join(failures)}")
