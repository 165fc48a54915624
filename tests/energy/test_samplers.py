import math

import energy_checks as checks
import pytest
import torch
from scipy import stats

from iifl.energy import (
    Box,
    DerivativeFree,
    ImportanceSampling,
    Langevin,
    MetropolisLangevin,
    PolynomialDecay,
    Samples,
    Uniform,
    published_sampler,
    value_and_grad,
)

LINE = Box.of([-2.0], [2.0], torch.double)
EVERY_SAMPLER = [
    Uniform(), ImportanceSampling(), DerivativeFree(), Langevin(3), MetropolisLangevin(3, 3), published_sampler(3),
]  # fmt: skip


@pytest.mark.parametrize("temperature", [0.3, 1.0])
def test_langevin_has_its_closed_form_variance(temperature: float) -> None:
    checks.check_langevin_variance(temperature)


@pytest.mark.parametrize(
    "check",
    [
        checks.check_gradient_direction,
        checks.check_metropolis_keeps_gaussian,
        checks.check_metropolis_keeps_bimodal,
        checks.check_metropolis_keeps_box,
    ],
)
def test_chains_against_closed_forms(check) -> None:
    check()


def test_published_iteration_by_hand(monkeypatch) -> None:
    checks.check_published_iteration(monkeypatch)


def test_published_schedule() -> None:
    schedule = published_sampler().schedule
    assert schedule(0, 100) == pytest.approx(0.1)
    assert schedule(99, 100) == pytest.approx(1e-5)
    # Half way the square of one half is left: 0.25·(0.1 − 0.00001) + 0.00001.
    assert PolynomialDecay(0.1, 1e-5, 2)(50, 101) == pytest.approx(0.0250075)


def test_published_sampler_is_colder_than_its_policy() -> None:
    """Noise 0.33 settles at T = 0.33² = 0.1089, not at 1: the fact that makes temperature explicit here."""
    start = torch.zeros(20_000, 1, dtype=torch.double)
    sampler = Langevin(150, PolynomialDecay(0.02, 0.02, 1), noise=published_sampler().noise)
    samples = sampler(lambda a: 0.5 * a.square().sum(-1), start, Box.unbounded(1), generator=checks.seeded())
    assert float(samples.actions.var()) == pytest.approx(0.1089 / (1 - 0.01), rel=0.04)


def test_burn_in_finds_a_step_and_chains_forget_their_uniform_starts() -> None:
    """Two modes with a low wall between them, ½N(−1, 0.7²) + ½N(1, 0.7²), from starts all over a wide box."""
    box = Box.of([-8.0], [8.0], torch.double)
    generator = checks.seeded(11)

    def energy(a):
        a = a.squeeze(-1)
        return -torch.logaddexp(-0.5 * ((a - 1) / 0.7).square(), -0.5 * ((a + 1) / 0.7).square())

    sampler = MetropolisLangevin(iterations=60, burn_in=60)
    samples = sampler(energy, box.uniform((3000,), generator), box, generator=generator)
    checks.check_same_law(samples.actions, lambda a: (stats.norm.cdf(a, -1, 0.7) + stats.norm.cdf(a, 1, 0.7)) / 2)
    assert float(samples.acceptance.mean()) == pytest.approx(0.574, abs=0.08)


def test_leading_axes_have_their_own_steps() -> None:
    """Two energies of very different width, side by side: each keeps its own law and its own acceptance."""
    scales = torch.tensor([0.01, 1.0], dtype=torch.double)
    start = torch.zeros(2, 4000, 1, dtype=torch.double)

    def energy(a):
        return 0.5 * (a.squeeze(-1) / scales[:, None]).square()

    sampler = MetropolisLangevin(iterations=30, burn_in=100)
    samples = sampler(energy, start, Box.unbounded(1, torch.double), generator=checks.seeded(12))
    for row, scale in zip(samples.actions, scales.tolist(), strict=True):
        checks.check_same_law(row, stats.norm(scale=scale).cdf)
    assert samples.acceptance.mean(-1).tolist() == pytest.approx([0.574, 0.574], abs=0.15)


def test_importance_weights_by_hand() -> None:
    """E = log 2 and 0 with q = ¼ and ¾ have weights ½/¼ : 1/¾ = 3 : 2."""
    sampler = ImportanceSampling(lambda a: torch.tensor([0.25, 0.75], dtype=torch.double).log())
    start = torch.tensor([[-1.0], [1.0]], dtype=torch.double)
    samples = sampler(lambda a: math.log(2) * (a.squeeze(-1) < 0), start, LINE, generator=checks.seeded())
    assert samples.log_weights.exp().tolist() == pytest.approx([0.6, 0.4])
    assert float(samples.mean(samples.actions.squeeze(-1))) == pytest.approx(-0.2)
    assert float(samples.effective_size()) == pytest.approx(1 / (0.36 + 0.16))


def test_importance_sampling_from_a_wrong_proposal_gives_the_right_mean() -> None:
    """Draws of N(0.5, 1) weighted for N(0, ½), that is E = ½a² at T = ½: mean 0, variance ½."""
    generator = checks.seeded(13)
    start = 0.5 + torch.randn(50_000, 1, generator=generator, dtype=torch.double)
    sampler = ImportanceSampling(lambda a: -0.5 * (a.squeeze(-1) - 0.5).square())
    box = Box.unbounded(1, torch.double)
    samples = sampler(lambda a: 0.5 * a.square().sum(-1), start, box, generator=generator, temperature=0.5)
    actions = samples.actions.squeeze(-1)
    assert float(samples.mean(actions)) == pytest.approx(0, abs=0.02)
    assert float(samples.mean(actions.square())) == pytest.approx(0.5, abs=0.02)


def test_importance_sampling_gives_no_weight_outside_the_box() -> None:
    start = torch.tensor([[0.0], [3.0]], dtype=torch.double)
    samples = ImportanceSampling()(lambda a: a.sum(-1), start, LINE, generator=checks.seeded())
    assert samples.log_weights.exp().tolist() == [1.0, 0.0]


def test_derivative_free_finds_the_lower_of_two_wells() -> None:
    def energy(a):
        a = a.squeeze(-1)
        return 20 * torch.minimum((a + 1).square() + 0.1, (a - 1).square())

    start = LINE.uniform((5, 256), checks.seeded(14))
    samples = DerivativeFree()(energy, start, LINE, generator=checks.seeded(15))
    assert samples.best().flatten().tolist() == pytest.approx([1.0] * 5, abs=0.05)
    assert torch.equal(samples.energies, energy(samples.actions))


def test_derivative_free_at_a_high_temperature_resamples_alike() -> None:
    """At T → ∞ every start is as likely as any other: without noise, K draws of K keep 1 − 1/e of them."""
    start = torch.linspace(-2, 2, 2000, dtype=torch.double).unsqueeze(-1)
    sampler = DerivativeFree(iterations=1, noise=0.0)
    samples = sampler(lambda a: a.sum(-1), start, LINE, generator=checks.seeded(16), temperature=1e9)
    assert len(samples.actions.unique()) / 2000 == pytest.approx(1 - math.exp(-1), abs=0.04)


def test_uniform_is_uniform() -> None:
    samples = Uniform()(lambda a: a.sum(-1), torch.zeros(5000, 1), LINE, generator=checks.seeded(17))
    checks.check_same_law(samples.actions, stats.uniform(-2, 4).cdf)


def test_best_is_the_lowest_energy() -> None:
    actions = torch.tensor([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]])
    samples = Samples.unweighted(actions, torch.tensor([[3.0, 1.0, 2.0], [0.0, 1.0, 2.0]]))
    assert samples.best().tolist() == [[2.0], [4.0]]
    assert samples.mean(actions.squeeze(-1)).tolist() == pytest.approx([2.0, 5.0])


@pytest.mark.parametrize("sampler", EVERY_SAMPLER, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_sampler_keeps_the_common_form(sampler, dtype) -> None:
    """Shapes, box, dtype, normalised weights, and the same answer from the same seed."""
    box = Box.of([-1.0, 0.0], [1.0, 5.0], dtype)
    start = box.uniform((2, 3, 16), checks.seeded(18))

    def energy(a):
        return (a - 0.5).square().sum(-1)

    first, second = (sampler(energy, start, box, generator=checks.seeded(19), temperature=0.5) for _ in range(2))
    assert first.actions.shape == (2, 3, 16, 2) and first.actions.dtype == dtype
    assert first.energies.shape == first.log_weights.shape == first.acceptance.shape == (2, 3, 16)
    assert bool(box.contains(first.actions).all())
    torch.testing.assert_close(first.energies, energy(first.actions))
    torch.testing.assert_close(first.log_weights.exp().sum(-1), torch.ones(2, 3, dtype=dtype))
    assert torch.equal(first.actions, second.actions)
    with pytest.raises(ValueError, match="temperature"):
        sampler(energy, start, box, generator=checks.seeded(), temperature=0.0)
    with pytest.raises(ValueError, match=r"\(\.\.\., K, 2\)"):
        sampler(energy, start[..., :1], box, generator=checks.seeded())
    with pytest.raises(ValueError, match="NaN"):
        sampler(lambda a: a.sum(-1) * torch.nan, start, box, generator=checks.seeded())


def test_steps_do_not_depend_on_the_units_of_the_actions() -> None:
    """The same chain in metres and in millimetres."""
    small = Box.of([-1.0, -1.0], [1.0, 1.0], torch.double)
    large = Box.of([-1000.0, -1000.0], [1000.0, 1000.0], torch.double)
    start = small.uniform((50,), checks.seeded(20))
    in_metres = Langevin(20)(lambda a: 3 * a.square().sum(-1), start, small, generator=checks.seeded(21))
    in_millimetres = Langevin(20)(
        lambda a: 3 * (a / 1000).square().sum(-1), 1000 * start, large, generator=checks.seeded(21)
    )
    torch.testing.assert_close(1000 * in_metres.actions, in_millimetres.actions)


def test_energies_of_a_wrong_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="reduce the last axis only"):
        value_and_grad(lambda a: a.sum(), torch.zeros(3, 1))
