"""`iifl report`: one HTML page from any set of result folders."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console

from iifl.report.page import build_report


@dataclass(frozen=True)
class Report:
    """Build one HTML page from any set of result folders."""

    folders: tyro.conf.Positional[tuple[Path, ...]]
    """Folders with a summary.json, or folders of such folders."""
    out: Path = Path("report.html")
    """The page."""


def command(options: Sequence[str], console: Console) -> None:
    """Build the page."""
    given = tyro.cli(Report, prog="iifl report", args=options)
    console.print(f"The report is {build_report(given.folders, given.out)}")
