"""What every benchmark gives: rows, each a ratio of two things measured in turns in one run."""

import json
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """One ratio."""

    name: str
    ratio: float
    spread: float
    seconds: float
    settings: dict[str, Any]


_clock: ContextVar[Callable[[], float]] = ContextVar("clock", default=time.perf_counter)


def count_cpu_seconds() -> None:
    """From here on count the CPU seconds of one thread, which depend little on what else the machine does."""
    torch.set_num_threads(1)
    _clock.set(time.thread_time)


def now() -> float:
    """The time on the clock of the benchmarks."""
    return _clock.get()()


def seconds(action: Callable[[], object]) -> float:
    """How long a call takes."""
    start = now()
    action()
    return now() - start


def show(rows: list[Row], console: Console) -> None:
    """Print the ratios as a table."""
    table = Table("benchmark", "ratio", "spread", "seconds")
    for row in rows:
        table.add_row(row.name, f"{row.ratio:.2f}", f"{row.spread:.2f}", f"{row.seconds:.1f}")
    console.print(table)


def save(rows: list[Row], path: Path) -> None:
    """Write the ratios as JSON."""
    path.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
