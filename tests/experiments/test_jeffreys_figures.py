"""The claims of the captions of the appendix's figures, on the numbers that are drawn."""

from dataclasses import replace

import pytest
import torch

from iifl.energy import value_and_grad
from iifl.experiments import jeffreys
from iifl.report.results import read_summary
from iifl.report.story import read_story


def curve(wells, states=(-5.0, -2.0, -1.0, 0.0, 1.0, 2.0, 5.0)):
    return jeffreys.by_quadrature(wells, torch.tensor(states, dtype=torch.float64))


@pytest.mark.parametrize("wells", [jeffreys.TWO, jeffreys.FIVE])
def test_curves_are_symmetric_and_vanish_at_the_edges(wells) -> None:
    values = curve(wells)
    torch.testing.assert_close(values, values.flip(0), rtol=1e-9, atol=1e-12)
    assert values[0] < 1e-6 * values.max()


@pytest.mark.parametrize("wells", [jeffreys.TWO, jeffreys.FIVE])
def test_offsets_do_not_show(wells) -> None:
    moved = [replace(well, offset=-3.7 * number) for number, well in enumerate(wells)]
    torch.testing.assert_close(curve(wells), curve(moved), rtol=1e-9, atol=1e-12)


def test_two_gaussians_peak_at_their_means_and_agree_between() -> None:
    values = jeffreys.by_quadrature(jeffreys.TWO, jeffreys.FINE_STATES)
    assert float(jeffreys.FINE_STATES[values.argmax()].abs()) == pytest.approx(2.0)
    assert values[len(values) // 2] < 1e-6 * values.max()


def test_five_gaussians_disagree_most_at_two_and_less_at_zero() -> None:
    values = jeffreys.by_quadrature(jeffreys.FIVE, jeffreys.FINE_STATES)
    assert float(jeffreys.FINE_STATES[values.argmax()].abs()) == pytest.approx(2.0)
    edge, _, between, center, _, peak, _ = curve(jeffreys.FIVE).tolist()
    assert edge < between < center < 0.6 * peak
    # At s = 0 one model is shallow-welled and four are flat: 4 of the 10 pairs, each like a pair of TWO at a mean.
    assert center == pytest.approx(0.4 * float(curve(jeffreys.TWO)[5]), rel=1e-3)


def test_the_peak_in_closed_form() -> None:
    """One well against a flat energy on a box of volume V: J = ∫ p₁ N − ∫ N/V, with p₁ by a fine midpoint rule."""
    actions = (torch.arange(200_000, dtype=torch.float64) + 0.5) / 20_000 - 5
    well = torch.exp(-0.5 * (actions / jeffreys.WIDTH) ** 2) / (2 * torch.pi * jeffreys.WIDTH**2)
    expected = (torch.softmax(well, 0) * well).sum() - well.mean()
    assert float(curve(jeffreys.TWO)[5]) == pytest.approx(float(expected), rel=1e-6)


def test_well_gradient_is_autograds() -> None:
    energy = jeffreys.FIVE[0].at(torch.tensor([-2.0, -1.5], dtype=torch.float64))
    actions = torch.linspace(0, 4, 6, dtype=torch.float64).view(2, 3, 1)
    energies, gradients = energy.value_and_grad(actions)
    by_autograd = value_and_grad(energy.__call__, actions)  # a method, which offers no gradient
    torch.testing.assert_close((energies, gradients), by_autograd)


def test_written_samples_lie_on_the_curve(tmp_path, monkeypatch) -> None:
    """Fewer states than the figure; the pooled estimate's own error there is below 2 % of the peak."""
    monkeypatch.setattr(jeffreys, "SAMPLED_STATES", torch.tensor([-5.0, -2.0, 0.0, 2.0], dtype=torch.float64))
    files = jeffreys.write_figures(tmp_path, seed=3)
    assert sorted(path.suffix for path in files) == [".json", ".json", ".png", ".png", ".svg", ".svg"]
    assert all(path.stat().st_size > 0 for path in files)
    rows = read_summary(tmp_path / "summary.json")
    errors = {(row.task, row.algorithm): row.value for row in rows if row.metric == "sampling_error"}
    for task in ("two-gaussians", "five-gaussians"):
        assert errors[task, "pooled"] < 0.05
        assert errors[task, "own"] < 0.3  # 8 sets of 1000 samples: a standard error of about 8 % of so small a peak
    drawn = {path.stem for path in files}
    assert {figure.file for figure in read_story(tmp_path / "report.json").figures} <= drawn


def test_wrong_samples_would_show(monkeypatch) -> None:
    """Samples at twice the energy (temperature ½) taken for samples at temperature 1 miss the curve."""
    states = torch.tensor([-2.0, 2.0], dtype=torch.float64)
    monkeypatch.setattr(jeffreys, "SAMPLED_STATES", states)
    right = jeffreys.SAMPLER

    def cold(energy, start, box, *, generator):
        return right(energy, start, box, generator=generator, temperature=0.5)

    monkeypatch.setattr(jeffreys, "SAMPLER", cold)
    found = jeffreys.curves(jeffreys.TWO, seed=0)
    assert found.error(found.own) > 0.3
