"""The look that every figure shares, and the figures that more than one experiment draws.

Figures are made without `pyplot` and written without dates or random identifiers: the same numbers give the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from iifl.report.curves import Curve
from iifl.report.story import Story
from iifl.report.tables import Table

COLOURS: Mapping[str, str] = {
    "bc": "#5e5e5e",
    "ibc": "#d08000",
    "ifl": "#2a6fdb",
    "iifl-r": "#b27eb9",
    "iifl": "#b83425",
}
"""One colour per algorithm, in every figure: told apart by readers with colour blindness, and dark enough on white."""

_DASHES: Mapping[str, Any] = {
    "bc": (0, (1, 1.4)),
    "ibc": (0, (5, 1.4, 1, 1.4)),
    "ifl": (0, (5, 1.6)),
    "iifl-r": (0, (2.6, 1.2)),
    "iifl": "solid",
}
_OTHERS = ("#2f7d4f", "#555bb0", "#8a5a3c", "#3b8f95")

STYLE: Mapping[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib: the same on every machine
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlepad": 8.0,
    "axes.labelcolor": "#333333",
    "axes.edgecolor": "#9a9a9a",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e8e8e8",
    "grid.linewidth": 0.7,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "xtick.major.size": 3.0,
    "ytick.major.size": 0.0,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "iifl",
}

_PIXELS_PER_INCH = 200


@contextmanager
def style() -> Iterator[None]:
    """Draw inside this: figures made and saved in it have the shared look, and nothing global changes."""
    with mpl.rc_context(dict(STYLE)):
        yield


def save_figure(figure: Figure, path: Path) -> tuple[Path, Path]:
    """Write `path` as SVG and as PNG (the ending is replaced); the same figure gives the same bytes."""
    svg, png = (path.parent / f"{path.name.removesuffix(path.suffix)}{ending}" for ending in (".svg", ".png"))
    with style():
        figure.savefig(svg, metadata={"Date": None, "Creator": None})
        figure.savefig(png, dpi=_PIXELS_PER_INCH, metadata={"Software": None})
    return svg, png


def colour(algorithm: str, position: int = 0) -> str:
    """The colour of an algorithm; others than the paper's five take the next free one by `position`."""
    return COLOURS.get(algorithm, _OTHERS[position % len(_OTHERS)])


def curves_over_time(curves: Sequence[Curve], story: Story) -> Figure:
    """Metrics (rows of axes) in every world (columns) over time: mean and ±1 standard deviation over the seeds.

    This is the form of the paper's figure "IFL Benchmark". Only metrics of the story that have curves are drawn.
    """
    present = {curve.metric for curve in curves}
    metrics = [metric for metric in story.metrics if metric.name in present]
    tasks = list(dict.fromkeys(curve.task for curve in curves))
    if not metrics:
        raise ValueError(f"no curve of a metric of '{story.title}' to draw: the curves are of {sorted(present)}")
    with style():
        size = (0.9 + 2.7 * len(tasks), 0.8 + 2.05 * len(metrics))
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(len(metrics), len(tasks), squeeze=False, sharex="col")
        for metric, row in zip(metrics, grid, strict=True):
            for task, axes in zip(tasks, row, strict=True):
                here = [curve for curve in curves if (curve.metric, curve.task) == (metric.name, task)]
                _draw_curves(axes, sorted(here, key=lambda curve: _rank(curve.algorithm, story)), story)
            row[0].set_ylabel(metric.title)
        for task, top, bottom in zip(tasks, grid[0], grid[-1], strict=True):
            top.set_title(story.label(task))
            bottom.set_xlabel("timestep")
        _legend_of_all(figure, grid)
    return figure


def final_metrics(table: Table) -> Figure:
    """Every cell of a table as a dot with its interval, the paper's number as a hollow diamond below it."""
    with style():
        count = len(table.columns)
        figure = Figure(figsize=(1.1 + 2.5 * count, 0.95 + 0.36 * len(table.rows)), layout="constrained")
        grid = figure.subplots(1, count, squeeze=False, sharey=True)[0]
        for column, (axes, title) in enumerate(zip(grid, table.titles, strict=True)):
            for y, row in enumerate(table.rows):
                _draw_cell(axes, y, table, column, colour(row.algorithm, y))
            axes.set_title(title, fontsize=9.5)
            axes.grid(visible=False, axis="y")
            axes.xaxis.set_major_locator(MaxNLocator(4))
            axes.xaxis.set_major_formatter(_thousands)
            axes.margins(x=0.08)
            axes.set_ylim(len(table.rows) - 0.5, -0.5)
        grid[0].set_yticks(range(len(table.rows)), [row.label for row in table.rows])
        _legend_of_all(figure, grid[None])
    return figure


def _draw_curves(axes: Axes, curves: Sequence[Curve], story: Story) -> None:
    for position, curve in enumerate(curves):
        shade = colour(curve.algorithm, position)
        mean, spread = curve.values.mean(axis=0), curve.values.std(axis=0)
        dashes = _DASHES.get(curve.algorithm, "solid")
        axes.plot(curve.t, mean, color=shade, linestyle=dashes, label=story.label(curve.algorithm))
        if len(curve.seeds) > 1:
            axes.fill_between(curve.t, mean - spread, mean + spread, color=shade, alpha=0.16, linewidth=0)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(_thousands)
    axes.margins(x=0)
    if not any(curve.values.any() for curve in curves):
        axes.set_ylim(-0.05, 1)  # a line at zero, not a scale of nothing


def _draw_cell(axes: Axes, y: int, table: Table, column: int, shade: str) -> None:
    cell = table.rows[y].cells[column]
    if cell.estimate is not None:
        low, high = cell.estimate.low, cell.estimate.high
        if low is not None and high is not None:
            axes.plot([low, high], [y, y], color=shade, linewidth=2.2, solid_capstyle="butt", alpha=0.55)
        axes.plot(cell.estimate.value, y, "o", color=shade, markersize=6, label="measured")
    if cell.paper is not None:
        axes.plot(cell.paper.value, y + 0.24, "D", color="#222222", markerfacecolor="none", markersize=5, label="paper")


def _thousands(value: float, _: float) -> str:
    return f"{value:,.10g}".replace("-", "−")


def _legend_of_all(figure: Figure, grid: np.ndarray) -> None:
    """One legend below, with each name once."""
    entries: dict[str, Artist] = {}
    for axes in grid.ravel():
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=max(len(entries), 1))


def _rank(algorithm: str, story: Story) -> int:
    order = story.algorithms or tuple(COLOURS)
    return order.index(algorithm) if algorithm in order else len(order)
