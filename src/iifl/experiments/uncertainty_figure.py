"""The figure of the uncertainty's check: along the way of one robot, and against the distance from the expert."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from iifl.records import FloatArray
from iifl.report.figures import save_figure, style

COLOURS = {"n2": "#d08000", "n5": "#b83425"}
LABELS = {"n2": "n = 2", "n5": "n = 5"}
DISTANCE = "#2a6fdb"
SMOOTHED = 10
"""States whose mean is one point of a curve."""


def draw(visits: Sequence[Mapping[str, Any]], worlds: Mapping[str, str], path: Path) -> tuple[Path, Path]:
    """A row of axes for each world: the way of its first seed, and the points of all its seeds."""
    with style():
        figure = Figure(figsize=(9.2, 0.7 + 2.5 * len(worlds)), layout="constrained")
        grid = figure.subplots(len(worlds), 2, squeeze=False, gridspec_kw={"width_ratios": [1.7, 1]})
        for (world, label), (way, cloud) in zip(worlds.items(), grid, strict=True):
            here = [visit for visit in visits if visit["task"] == world]
            _draw_way(way, here[0])
            _draw_cloud(cloud, here)
            way.set_title(label)
        grid[-1, 0].set_xlabel("state")
        grid[-1, 1].set_xlabel("distance from the expert")
        grid[0, 0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3)
        return save_figure(figure, path)


def shown(uncertainty: Sequence[float]) -> FloatArray:
    """The root of the uncertainties as a share of the largest: the values span orders of magnitude."""
    root = np.sqrt(np.asarray(uncertainty))
    share: FloatArray = root / root.max()
    return share


def _draw_way(axes: Axes, visit: Mapping[str, Any]) -> None:
    distance = np.asarray(visit["distance"])
    curves = [(distance / distance.max(), DISTANCE, "distance from the expert")]
    curves += [(shown(visit[name]), COLOURS[name], f"uncertainty, {LABELS[name]}") for name in LABELS]
    for values, colour, label in curves:
        means = values[: len(values) // SMOOTHED * SMOOTHED].reshape(-1, SMOOTHED).mean(1)
        states = SMOOTHED * (np.arange(len(means)) + 0.5)
        axes.plot(states, means, color=colour, label=label, linewidth=1.2)
    axes.set(ylabel="share of the maximum", ylim=(0, 1.03))
    axes.margins(x=0)


def _draw_cloud(axes: Axes, visits: Sequence[Mapping[str, Any]]) -> None:
    for name in LABELS:
        for visit in visits:
            axes.plot(
                visit["distance"],
                shown(visit[name]),
                ".",
                color=COLOURS[name],
                markersize=1.6,
                alpha=0.35,
                rasterized=True,
            )
    axes.set(ylim=(0, 1.03))
