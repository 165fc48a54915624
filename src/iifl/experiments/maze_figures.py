"""Figure 1 of the paper: (A) the ways of the robots through the maze, (B) energies over the action square."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from iifl.report.figures import colour, save_figure, style
from iifl.tasks.navigation import Navigation

WALL, WIND, START, GOAL = "#d4d8de", "#4a90d9", "#1f5fbf", "#2f7d4f"


def ways(of_algorithms: Mapping[str, Sequence[np.ndarray]], path: Path) -> None:
    """One map for each algorithm, with the ways of its trials: arrays of poses (T, 2)."""
    with style():
        columns = min(2, len(of_algorithms))
        rows = -(-len(of_algorithms) // columns)
        figure = Figure(figsize=(4.6 * columns, 2.0 * rows), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, (algorithm, trials) in zip(grid, of_algorithms.items(), strict=False):
            _draw_maze(axes)
            lines = [way for way in trials if len(way) > 1]
            axes.add_collection(LineCollection(lines, colors=colour(algorithm), linewidths=1.0, alpha=0.55))
            ends = np.array([way[-1] for way in trials])
            axes.plot(*ends.T, "o", color=colour(algorithm), markersize=3, alpha=0.8, zorder=4)
            axes.set_title(algorithm.upper(), loc="left")
        save_figure(figure, path)


def energy_maps(of_places: Mapping[str, np.ndarray], path: Path) -> None:
    """One map for each place: energies above the minimum (Δy, Δx)."""
    with style():
        figure = Figure(figsize=(2.5 * len(of_places), 2.9), layout="constrained")
        grid = figure.subplots(1, len(of_places), squeeze=False, sharey=True)[0]
        for axes, (place, energy) in zip(grid, of_places.items(), strict=True):
            # Ranks of actions do not change, and both the bottom of a well and the far field stay visible.
            shown = np.log1p(energy)
            image = axes.imshow(
                shown / shown.max(), extent=(-1, 1, -1, 1), origin="lower", cmap="magma", vmin=0, vmax=1
            )
            row, column = np.unravel_index(energy.argmin(), energy.shape)
            step = 2 / (energy.shape[0] - 1)
            axes.plot(-1 + step * column, -1 + step * row, "x", color="white", markersize=8, markeredgewidth=2)
            axes.set_title(f"In the {place}" if place != "fork" else "At the fork")
            axes.set_xlabel("Δx")
            axes.grid(visible=False)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_locator(FixedLocator([-1, 0, 1]))
        grid[0].set_ylabel("Δy")
        bar = figure.colorbar(image, ax=grid, shrink=0.8, ticks=[0, 1])
        bar.ax.set_yticklabels(["low", "high"])
        bar.set_label("energy (log scale)")
        save_figure(figure, path)


def _draw_maze(axes: Axes) -> None:
    """Walls, wind, start and goal."""
    plan = np.pad(Navigation.floor_plan(), 1)  # the maze is all in walls
    half = Navigation.half_height + 1
    extent = (-1.5, len(plan) - 1.5, -half - 0.5, half + 0.5)
    colours = ListedColormap([WALL, "white"])
    axes.imshow(plan.T, extent=extent, origin="lower", cmap=colours, vmin=0, vmax=1, interpolation="none")
    first, last = Navigation.wind_x
    top = Navigation.corridor_half_height
    x, y = np.meshgrid(np.arange(first, last + 1, 2), np.arange(-top, top, 2))
    axes.quiver(x, y, 0 * x, np.ones_like(y), color=WIND, alpha=0.6, scale=38, width=0.004, headwidth=5, zorder=2)
    axes.plot(Navigation.fork_x, 0, "X", color=START, markersize=7, zorder=5)
    axes.plot(Navigation.goal_x, 0, "X", color=GOAL, markersize=7, zorder=5)
    axes.set(xlim=extent[:2], ylim=extent[2:], xticks=[], yticks=[])
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
