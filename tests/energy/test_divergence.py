import math

import energy_checks as checks
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from iifl.energy import (
    Box,
    cross_energies,
    jeffreys,
    jeffreys_divergence,
    log_importance_weights,
    pairwise_jeffreys,
    pooled_jeffreys,
    quadrature,
    shared_jeffreys,
)

ESTIMATES = [jeffreys, pooled_jeffreys]
SEPARATIONS = [0.0, 0.5, 1.0, 2.0, 3.0, 4.0]


def draws(models: int, count: int, seed: int) -> torch.Tensor:
    """Energies of `models` models at samples of each: any numbers will do."""
    return torch.randn(models, models, 2, count, generator=checks.seeded(seed), dtype=torch.double) * 3


@pytest.mark.parametrize("size", range(1, 13))
def test_gaussians_from_exact_samples(size: int) -> None:
    for separation in SEPARATIONS:
        checks.check_jeffreys_of_exact_samples(size, separation, spread=1.0)
    checks.check_jeffreys_of_exact_samples(size, 1.5, spread=1.2)


@pytest.mark.parametrize("temperature", [0.3, 2.0])
def test_temperature_is_that_of_the_densities(temperature: float) -> None:
    checks.check_jeffreys_of_exact_samples(temperature=temperature)


def check_gaussians_from_own_samples(size: int, separation: float, spread: float) -> None:
    (mean_1, covariance_1), (mean_2, covariance_2) = checks.gaussian_pair(size, separation, spread)
    energies = [checks.gaussian(mean_1, covariance_1), checks.gaussian(mean_2, covariance_2)]
    estimate = jeffreys_divergence(energies, [-8.0] * size, [10.0] * size)
    expected = checks.closed_form(mean_1, covariance_1, mean_2, covariance_2)
    assert estimate == pytest.approx(expected, rel=0.05, abs=0.02 if expected == 0 else 0)


@pytest.mark.parametrize("size", range(1, 13))
def test_gaussians_from_own_samples(size: int) -> None:
    """Every dimension, and every separation twice; all of their combinations are among the slow tests."""
    check_gaussians_from_own_samples(size, SEPARATIONS[size % 6], spread=1.2 if size % 2 else 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("size", range(1, 13))
@pytest.mark.parametrize("separation", SEPARATIONS)
@pytest.mark.parametrize("spread", [1.0, 1.2])
def test_gaussians_from_own_samples_everywhere(size: int, separation: float, spread: float) -> None:
    check_gaussians_from_own_samples(size, separation, spread)


def test_far_modes_of_unequal_mass() -> None:
    """Masses 0.2 : 0.8 against 0.7 : 0.3 on modes no chain can cross between: J = Σ (p − q) log(p/q)."""

    def two_modes(left: float):
        def energy(a):
            far = torch.stack([a + 4, a - 4]).square().sum(-1) / (2 * 0.3**2)
            log_masses = torch.tensor([left, 1 - left], dtype=torch.double).log()
            return -torch.logsumexp(log_masses.view(2, *[1] * (far.ndim - 1)) - far, 0)

        return energy

    expected = (0.2 - 0.7) * math.log(0.2 / 0.7) + (0.8 - 0.3) * math.log(0.8 / 0.3)
    box = Box.of([-10.0, -10.0], [10.0, 10.0], torch.double)
    assert float(quadrature.jeffreys([two_modes(0.2), two_modes(0.7)], box)) == pytest.approx(expected, rel=1e-6)
    estimates = [jeffreys_divergence([two_modes(0.2), two_modes(0.7)], box.low, box.high, seed=s) for s in range(3)]
    assert sum(estimates) / 3 == pytest.approx(expected, rel=0.1)


def test_shared_samples_by_hand() -> None:
    """E₁ = (0, log 2), E₂ = (log 3, 0): masses (2/3, 1/3) and (1/4, 3/4), so J = (2/3 − 1/4)(log 8/3 + log 9/4)."""
    energies = torch.tensor([[0.0, math.log(2)], [math.log(3), 0.0]], dtype=torch.double)
    expected = (2 / 3 - 1 / 4) * (math.log(8 / 3) + math.log(9 / 4))
    assert float(shared_jeffreys(energies, log_importance_weights(energies))) == pytest.approx(expected)


def test_shared_samples_weighted_for_a_known_proposal() -> None:
    """Two Gaussians on shared draws of a third, wider one: the closed form 1² of a separation of 1."""
    actions = 2 * torch.randn(100_000, 1, generator=checks.seeded(1), dtype=torch.double) + 0.5
    log_q = -0.5 * ((actions.squeeze(-1) - 0.5) / 2).square()
    energies = torch.stack([0.5 * actions.squeeze(-1).square(), 0.5 * (actions.squeeze(-1) - 1).square()])
    assert float(shared_jeffreys(energies, log_importance_weights(energies, log_q))) == pytest.approx(1, rel=0.03)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.integers(2, 5), st.floats(0.1, 10))
def test_shared_is_the_divergence_of_the_weighted_sets(seed: int, models: int, temperature: float) -> None:
    """J = Σ_k (p_k − q_k) log(p_k/q_k) of the weights themselves, for every pair; so it is never negative."""
    energies = draws(models, 7, seed)[0]
    weights = log_importance_weights(energies, temperature=temperature)
    pairs = [
        ((weights[i].exp() - weights[j].exp()) * (weights[i] - weights[j])).sum(-1)
        for i in range(models)
        for j in range(i)
    ]
    value = shared_jeffreys(energies, weights, temperature)
    torch.testing.assert_close(value, torch.stack(pairs).mean(0))
    assert bool((value >= 0).all())


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_constants_change_nothing(seed: int, first: float, second: float) -> None:
    """Energies and constants on a grid of 2⁻²⁰ add exactly in float64, so the divergence is the same to the bit."""
    energies = torch.round(draws(2, 20, seed) * 2**20) / 2**20
    constants = torch.round(torch.tensor([first, second], dtype=torch.double) * 2**20) / 2**20
    moved = energies + constants.view(2, 1, 1, 1)
    for estimate in ESTIMATES:
        assert torch.equal(estimate(energies), estimate(moved))
    shared, weights = energies[:, 0], log_importance_weights(energies[:, 0])
    assert torch.equal(shared_jeffreys(shared, weights), shared_jeffreys(moved[:, 0], weights))


def test_neither_order_nor_constants_change_what_a_caller_gets() -> None:
    """From energies to the number: the swapped pair and a pair with constants of 10⁶, which float64 keeps to 1e-10."""
    first, second = (checks.gaussian(*model) for model in checks.gaussian_pair(3, 1.0, 1.2))
    pairs = [first, second], [second, first], [lambda a: first(a) - 1e6, lambda a: second(a) + 1e6]
    values = [jeffreys_divergence(pair, [-8.0] * 3, [10.0] * 3, samples=500) for pair in pairs]
    assert values[1] == pytest.approx(values[0], rel=1e-12)
    assert values[2] == pytest.approx(values[0], rel=1e-8)


def test_a_constant_in_float32_costs_only_its_own_rounding() -> None:
    energies = draws(2, 1000, 0).float()
    moved = energies.clone()
    moved[0] -= 100  # the offset Z of the paper's figure; float32 keeps 100 to 4e-6
    for estimate in ESTIMATES:
        torch.testing.assert_close(estimate(moved), estimate(energies), atol=2e-5, rtol=0)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.permutations(range(4)))
def test_the_order_of_models_does_not_matter(seed: int, order: list[int]) -> None:
    energies = draws(4, 10, seed)
    for estimate in ESTIMATES:
        torch.testing.assert_close(estimate(energies[order][:, order]), estimate(energies))


def test_more_models_are_the_mean_of_their_pairs() -> None:
    energies = draws(3, 10, 1)
    pairs = [jeffreys(energies[[i, j]][:, [i, j]]) for i in range(3) for j in range(i)]
    torch.testing.assert_close(jeffreys(energies), torch.stack(pairs).mean(0))
    divergences = pairwise_jeffreys(energies)
    assert torch.equal(divergences, divergences.transpose(0, 1))
    assert not divergences.diagonal().any()


def test_weighted_samples_are_repeated_samples() -> None:
    energies = draws(2, 3, 2)
    weights = torch.tensor([0.5, 0.25, 0.25], dtype=torch.double).log().expand(2, 2, 3)
    repeated = energies[..., [0, 0, 1, 2]]
    for estimate in ESTIMATES:
        torch.testing.assert_close(estimate(energies, weights), estimate(repeated))


def test_equal_models_do_not_diverge() -> None:
    energies = draws(2, 50, 3)[:1].expand(2, 2, 2, 50)
    for estimate in ESTIMATES:
        assert estimate(energies).abs().max() < 1e-12


def test_cross_energies_by_hand() -> None:
    """E_i(a) = c_i·a with c = (1, 10): rows are models, columns whose samples."""
    scale = torch.tensor([1.0, 10.0]).view(2, 1, 1)
    actions = torch.tensor([[[[1.0], [2.0]]], [[[3.0], [4.0]]]])  # (E=2, B=1, K=2, A=1)
    crossed = cross_energies(lambda a: scale * a.sum(-1), actions)
    assert crossed[:, :, 0].tolist() == [[[1, 2], [3, 4]], [[10, 20], [30, 40]]]


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="at least two energies"):
        jeffreys_divergence([lambda a: a.sum(-1)], [0.0], [1.0])
    with pytest.raises(ValueError, match=r"\(n, n, \.\.\., K\)"):
        jeffreys(torch.zeros(2, 3, 4))
    with pytest.raises(ValueError, match=r"\(n, \.\.\., K\)"):
        shared_jeffreys(torch.zeros(2, 4), torch.zeros(2, 5))
    with pytest.raises(ValueError, match="unbounded"):
        jeffreys_divergence([lambda a: a.sum(-1)] * 2, [-math.inf], [math.inf])
