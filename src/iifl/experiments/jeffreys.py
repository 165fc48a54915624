"""The appendix's figures on the Jeffreys divergence: two Gaussian energies, one with an offset, and five of them.

Each energy is a negated isotropic Gaussian density over state and action, E(s, a) = Z − N((s, a); c, σ²I), and each
state's divergence is computed by quadrature and from samples. The paper gives no centres and no widths; these are
chosen to show what its captions say.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor

from iifl.energy import AnnealedSampling, Box, jeffreys, pooled_jeffreys, quadrature
from iifl.experiments.jeffreys_figures import DivergenceCurve, WellMap, draw
from iifl.experiments.scale import Scale
from iifl.report.page import build_report
from iifl.report.results import Row, write_summary
from iifl.report.story import Claim, FigureNote, Metric, Story, write_story

NAME = "jeffreys"
WIDTH = 0.4
ACTIONS = Box.of([-5.0], [5.0], torch.float64)
FINE_STATES = torch.linspace(-5, 5, 201, dtype=torch.float64)
SAMPLED_STATES = torch.linspace(-5, 5, 41, dtype=torch.float64)
REPEATS = 8
SAMPLES = 1000
SAMPLER = AnnealedSampling(stages=8, power=2.0)  # these energies span one nat: few stages do


@dataclass(frozen=True)
class GaussianWell:
    """E(s, a) = Z − N((s, a); c, σ²I)."""

    state: float
    action: float
    offset: float = 0.0

    def at(self, states: Tensor) -> "WellAtStates":
        """The energies of an action at states (B,)."""
        depths = torch.exp(-0.5 * ((states - self.state) / WIDTH).square()) / (2 * torch.pi * WIDTH**2)
        return WellAtStates(depths.unsqueeze(-1), self.action, self.offset)


@dataclass(frozen=True)
class WellAtStates:
    """A well with its states bound: actions (..., B, K, 1) → energies (..., B, K)."""

    depths: Tensor  # (B, 1)
    action: float
    offset: float

    def __call__(self, actions: Tensor) -> Tensor:
        """Energies (..., B, K)."""
        return self.offset - self._well(actions)

    def value_and_grad(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Energies (..., B, K) and ∂E/∂a (..., B, K, 1)."""
        well = self._well(actions)
        return self.offset - well, (well * (actions.squeeze(-1) - self.action) / WIDTH**2).unsqueeze(-1)

    def _well(self, actions: Tensor) -> Tensor:
        return self.depths * torch.exp(-0.5 * ((actions.squeeze(-1) - self.action) / WIDTH).square())


TWO = (GaussianWell(-2, 0, offset=-100), GaussianWell(2, 0))
"""One action, two states: the energies differ most at s = ±2, and agree at s = 0 and at the edges."""

FIVE = (
    GaussianWell(-2, 2, offset=-100),
    GaussianWell(-2, -2, offset=-10),
    GaussianWell(0, 0),
    GaussianWell(2, 2, offset=10),
    GaussianWell(2, -2, offset=100),
)
"""At s = ±2 two models want actions 4 apart; at s = 0 one model wants the action 0 and four have no wish."""

WELLS = {"two-gaussians": TWO, "five-gaussians": FIVE}


@dataclass(frozen=True)
class Curves:
    """The divergence over states: by quadrature, and from `REPEATS` independent sets of samples."""

    fine: Tensor  # (201,) by quadrature at FINE_STATES
    without_offsets: Tensor  # (201,) the same with every Z = 0
    exact: Tensor  # (41,) by quadrature at SAMPLED_STATES
    pooled: Tensor  # (REPEATS, 41) every sample used for every model
    own: Tensor  # (REPEATS, 41) Identity 1 as it stands, each model's own samples

    def error(self, sampled: Tensor) -> float:
        """max |sampling − quadrature| / max, for the mean over the repeats."""
        return float((sampled.mean(0) - self.exact).abs().max() / self.exact.max())


def by_quadrature(wells: Sequence[GaussianWell], states: Tensor) -> Tensor:
    """The mean pairwise divergence at each state (B,)."""
    return quadrature.jeffreys([well.at(states) for well in wells], ACTIONS)


def curves(wells: Sequence[GaussianWell], seed: int, console: Console | None = None) -> Curves:
    """Everything that a figure draws of these wells; with a console, it shows how far the sampling is."""
    generator = torch.Generator().manual_seed(seed)
    energies = [well.at(SAMPLED_STATES) for well in wells]
    start = torch.zeros(REPEATS, len(SAMPLED_STATES), SAMPLES, 1, dtype=torch.float64)
    drawn = [
        SAMPLER(energy, start, ACTIONS, generator=generator)
        for energy in track(energies, "Sampling", console=console, transient=True, disable=console is None)
    ]
    crossed = torch.stack([torch.stack([energy(samples.actions) for samples in drawn]) for energy in energies])
    log_weights = torch.stack([samples.log_weights for samples in drawn])
    return Curves(
        fine=by_quadrature(wells, FINE_STATES),
        without_offsets=by_quadrature([replace(well, offset=0.0) for well in wells], FINE_STATES),
        exact=by_quadrature(wells, SAMPLED_STATES),
        pooled=pooled_jeffreys(crossed, log_weights),
        own=jeffreys(crossed, log_weights),
    )


def reproduce(out: Path, scale: Scale, console: Console, fresh: bool = False) -> Path:
    """Both figures and their report; returns the page. It takes seconds, so it is always made whole and anew."""
    del scale, fresh
    write_figures(out, console=console)
    return build_report([out], out / "report.html")


def write_figures(out: Path, seed: int = 0, console: Console | None = None) -> list[Path]:
    """Both figures as PNG and SVG, `summary.json` and `report.json`; returns the files."""
    out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    files: list[Path] = []
    for task, wells in WELLS.items():
        found = curves(wells, seed, console)
        files += _draw(wells, found, out / f"jeffreys-{task}")
        rows += _rows(task, found, seed)
    return [*files, write_summary(out, rows), write_story(out, _story())]


def _draw(wells: Sequence[GaussianWell], found: Curves, path: Path) -> tuple[Path, Path]:
    actions = FINE_STATES
    maps = [
        WellMap(
            (well.offset - well.at(FINE_STATES)(actions.unsqueeze(-1))).T.numpy(),
            well.state,
            well.action,
            well.offset,
        )
        for well in wells
    ]
    curve = DivergenceCurve(
        FINE_STATES.numpy(),
        found.fine.numpy(),
        found.without_offsets.numpy(),
        SAMPLED_STATES.numpy(),
        found.pooled.numpy(),
    )
    divergence = "$D_J$" if len(wells) == 2 else "$D_J$, mean of all pairs,"
    return draw(maps, actions.numpy(), curve, divergence, path)


def _rows(task: str, found: Curves, seed: int) -> list[Row]:
    fine = found.fine
    of_algorithm = {
        "quadrature": {
            "peak_distance": float(FINE_STATES[fine.argmax()].abs()),
            "center_to_peak": float(fine[len(fine) // 2] / fine.max()),
            "edge_to_peak": float(fine[0] / fine.max()),
            "asymmetry": float((fine - fine.flip(0)).abs().max() / fine.max()),
            "offset_change": float((fine - found.without_offsets).abs().max() / fine.max()),
        },
        "pooled": {"sampling_error": found.error(found.pooled)},
        "own": {"sampling_error": found.error(found.own)},
    }
    return [
        Row(NAME, task, algorithm, "none", seed, "paper", metric, round(value, 12))
        for algorithm, metrics in of_algorithm.items()
        for metric, value in metrics.items()
    ]


def _story() -> Story:
    """What the reader needs to judge the rows."""
    return Story(
        title="What the Jeffreys divergence measures",
        reference="Appendix, figures “jeffreys” and “uncertainty5”",
        summary=(
            "Negated Gaussian densities over state and action stand in for learned energies. At each state the "
            "divergence of the policies that they define is computed by quadrature, which is exact here, and from "
            "samples, as a robot must."
        ),
        algorithms=("quadrature", "pooled", "own"),
        labels={
            "two-gaussians": "Two Gaussians",
            "five-gaussians": "Five Gaussians, mean of 10 pairs",
            "none": "no supervisors",
            "quadrature": "Quadrature",
            "pooled": "Pooled samples",
            "own": "Own samples",
        },
        metrics=(
            Metric("sampling_error", "Error of samples", "lower"),
            Metric("peak_distance", "Peak at |s|"),
            Metric("center_to_peak", "At s = 0"),
            Metric("edge_to_peak", "At the edge"),
            Metric("asymmetry", "Asymmetry", "lower"),
            Metric("offset_change", "Effect of Z", "lower"),
        ),
        claims=(
            Claim("Samples give the curve to 5 %.", "sampling_error", "pooled", "at most", 0.05),
            Claim("The offsets change nothing.", "offset_change", "quadrature", "at most", 1e-9),
            Claim("The curve is symmetric.", "asymmetry", "quadrature", "at most", 1e-9),
            Claim("It is near zero at the edges.", "edge_to_peak", "quadrature", "at most", 0.01),
            Claim(
                "Two Gaussians: near zero at the centre too.",
                "center_to_peak",
                "quadrature",
                "at most",
                0.01,
                task="two-gaussians",
            ),
            Claim(
                "Five Gaussians: lower at s = 0 than at s = ±2.",
                "center_to_peak",
                "quadrature",
                "at most",
                0.9,
                task="five-gaussians",
            ),
        ),
        settings={
            "Energies": f"E(s, a) = Z − N((s, a); c, σ²I), σ = {WIDTH}, on actions in [−5, 5]",
            "Two (s, a; Z)": _places(TWO),
            "Five (s, a; Z)": _places(FIVE),
            "Values": "The largest over the states, relative to the curve's maximum: |samples − quadrature|, "
            "|J(s) − J(−s)|, and the change by the offsets Z; at s = 0 and at the edge, J itself; to 12 decimals",
            "Samples": f"{REPEATS} independent sets of {SAMPLES} from each model, at {len(SAMPLED_STATES)} states",
        },
        commands=("iifl reproduce jeffreys",),
        figures=(
            FigureNote(
                "jeffreys-two-gaussians",
                "Two energies, one of them 100 lower everywhere (left), and the divergence of their policies at each "
                "state (right). It peaks at the mean of each Gaussian, and the offset does not show.",
                "A map of two wells over state and action, and a curve with peaks at the states −2 and 2.",
            ),
            FigureNote(
                "jeffreys-five-gaussians",
                "Five energies with offsets (left), and the mean divergence of the 10 pairs of their policies (right): "
                "highest where two models strongly want very different actions.",
                "A map of five wells over state and action, and a curve with high peaks at the states −2 and 2 and a "
                "lower one at 0.",
            ),
        ),
    )


def _places(wells: Sequence[GaussianWell]) -> str:
    return ", ".join(f"({well.state:g}, {well.action:g}; {well.offset:g})" for well in wells)
