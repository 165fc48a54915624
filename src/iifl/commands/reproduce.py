"""`iifl reproduce`: a table or a figure of the paper, made anew, beside the paper's numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console

from iifl.experiments.scale import Scale
from iifl.registry import EXPERIMENTS
from iifl.report.results import load_results
from iifl.report.tables import tables_of, to_rich


@dataclass(frozen=True)
class Reproduce:
    """Reproduce a table or a figure of the paper, with its report. What is finished is not run again."""

    name: tyro.conf.Positional[str]
    """Which one: navigation (section 5.1, Figure 1), benchmark (section 5.2), block-pushing (section 5.3),
    jeffreys (the appendix's figures)."""
    scale: Scale = "cpu"
    """How large: smoke (a first look), cpu (what a laptop can do), paper (the size of the paper)."""
    out: Path | None = None
    """The folder of the results; none: runs/NAME."""
    fresh: bool = False
    """Delete the runs that are there and start anew."""


def command(options: Sequence[str], console: Console) -> None:
    """Reproduce, and show the tables and where the report is."""
    given = tyro.cli(Reproduce, prog="iifl reproduce", args=options)
    reproduce = EXPERIMENTS.load(given.name)
    out = given.out or Path("runs") / given.name
    page = reproduce(out, given.scale, console, given.fresh)
    for results in load_results([out]):
        for table in tables_of(results):
            console.print(to_rich(table))
    console.print(f"The report is {page}")
