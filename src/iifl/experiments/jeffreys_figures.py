"""The appendix's figures on the Jeffreys divergence: the energies' wells on the left, the divergence on the right."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure

from iifl.records import FloatArray
from iifl.report.figures import save_figure, style

LINE, DOTS, LEVEL_LINE = "#2b2b2b", "#b83425", "#9fc5e8"
COLOURS = ("#1b7837", "#762a83", "#0072b2", "#a66a00", "#b83425")
"""The paper's green and purple, then three more: told apart by readers with colour blindness."""
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class WellMap:
    """One energy over state and action, as its depth below its own offset."""

    depth: FloatArray  # (actions, states)
    state: float
    action: float
    offset: float


@dataclass(frozen=True)
class DivergenceCurve:
    """A divergence over states: by quadrature with and without the offsets, and repeated estimates from samples."""

    states: FloatArray  # (S,)
    quadrature: FloatArray  # (S,)
    without_offsets: FloatArray  # (S,)
    sampled_states: FloatArray  # (B,)
    sampled: FloatArray  # (repeats, B)


def draw(
    wells: Sequence[WellMap], actions: FloatArray, curve: DivergenceCurve, divergence: str, path: Path
) -> tuple[Path, Path]:
    """Both panels of one figure, as SVG and PNG."""
    with style():
        figure = Figure(figsize=(8.4, 3.5), layout="constrained")
        left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1, 1.2], "wspace": 0.06})
        _draw_wells(left, wells, actions, curve.states)
        _draw_curve(right, curve, divergence)
        return save_figure(figure, path)


def _draw_wells(axes: Axes, wells: Sequence[WellMap], actions: FloatArray, states: FloatArray) -> None:
    for number, (well, colour) in enumerate(zip(wells, COLOURS, strict=False), start=1):
        depth = well.depth / well.depth.max()
        fading = LinearSegmentedColormap.from_list(f"well-{number}", [to_rgba(colour, 0.0), to_rgba(colour, 0.9)])
        extent = (states[0], states[-1], actions[0], actions[-1])
        axes.imshow(depth, cmap=fading, extent=extent, origin="lower", interpolation="bilinear", aspect="equal")
        axes.contour(states, actions, depth, levels=[0.1, 0.4, 0.7], colors=colour, linewidths=0.6, alpha=0.8)
        axes.annotate(
            f"$E_{{{number}}}$, $Z$ = {_number(well.offset)}",
            (well.state, well.action),
            xytext=(0, 23),
            textcoords="offset points",
            ha="center",
            color=colour,
        )
    axes.set(title="Energies $E_i(s, a)$", xlabel="state $s$", ylabel="action $a$")
    axes.set(xlim=(states[0], states[-1]), ylim=(-4.3, 4.3), xticks=range(-4, 5, 2), yticks=range(-4, 5, 2))
    axes.grid(False)


def _draw_curve(axes: Axes, curve: DivergenceCurve, divergence: str) -> None:
    axes.plot(curve.states, curve.without_offsets, color=LEVEL_LINE, linewidth=5.0, label="quadrature, every $Z$ = 0")
    axes.plot(curve.states, curve.quadrature, color=LINE, linewidth=1.3, label="quadrature, with the offsets $Z$")
    repeats = len(curve.sampled)
    axes.errorbar(
        curve.sampled_states,
        curve.sampled.mean(0),
        yerr=2 * curve.sampled.std(0, ddof=1) / repeats**0.5,
        fmt="o",
        color=DOTS,
        markersize=3.4,
        elinewidth=1.0,
        capsize=1.8,
        zorder=3,
        label="samples, ±2 standard errors",
    )
    axes.set(title=f"Divergence {divergence} at each state", xlabel="state $s$", ylabel="divergence (nats)")
    axes.set(xlim=(curve.states[0], curve.states[-1]), xticks=range(-4, 5, 2))
    peak = float(curve.quadrature.max())
    axes.set_ylim(-0.04 * peak, 1.42 * peak)  # room for whole dots at zero, and for the legend above the peaks
    axes.legend(loc="upper center", ncols=1, fontsize=8.5, borderaxespad=0.2)


def _number(value: float) -> str:
    return f"{value:g}".replace("-", MINUS)
