"""The progress bar of one run: a line for each stage, with the time it took or will take."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from iifl.run import Progress as RunProgress


@contextmanager
def stages(console: Console) -> Iterator[RunProgress]:
    """What to give to `execute`: each stage that it names gets a bar of its own."""
    columns = (
        TextColumn("{task.description:<14}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
    )
    bars: dict[str, TaskID] = {}
    with Progress(*columns, console=console) as display:

        def show(stage: str, done: int, total: int) -> None:
            if stage not in bars:
                bars[stage] = display.add_task(stage, total=total)
            display.update(bars[stage], completed=done, total=total)

        yield show
