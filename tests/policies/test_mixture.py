"""The truncated mixture: a density on the box, sampled exactly, with gradients that are finite everywhere."""

import numpy as np
import pytest
import torch
from scipy.stats import kstest, norm

from iifl.policies.mixture import TruncatedMixture

LEAST, WIDEST = 0.05, 0.5


def one_axis(means, widths, shares=None) -> TruncatedMixture:
    """One member, one state, one action dimension."""
    shares = [1 / len(means)] * len(means) if shares is None else shares
    column = (1, 1, len(means), 1)
    return TruncatedMixture(
        torch.tensor(shares, dtype=torch.float64).log().view(1, 1, -1),
        torch.tensor(means, dtype=torch.float64).view(column),
        torch.tensor(widths, dtype=torch.float64).view(column),
    )


def density(mixture: TruncatedMixture, x: np.ndarray) -> np.ndarray:
    return mixture.log_density(torch.as_tensor(x).view(1, 1, -1, 1)).exp().view(-1).numpy()


def nodes(points: int) -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(points)


@pytest.mark.parametrize("mean", [-1.0, -0.6, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("width", [LEAST, 0.2, WIDEST])
def test_it_integrates_to_one(mean, width):
    x, weights = nodes(400)
    assert weights @ density(one_axis([mean], [width]), x) == pytest.approx(1, abs=1e-9)


def test_a_mixture_on_a_square_integrates_to_one():
    generator = torch.Generator().manual_seed(0)
    raw = 2 * torch.randn(2, 3, TruncatedMixture.parameters(4, 2), generator=generator, dtype=torch.float64)
    mixture = TruncatedMixture.of(raw, 4, LEAST)
    x, weights = nodes(120)
    grid = torch.as_tensor(np.stack(np.meshgrid(x, x, indexing="ij"), -1).reshape(1, -1, 2)).expand(3, -1, -1)
    mass = mixture.log_density(grid).exp() @ torch.as_tensor(np.outer(weights, weights).ravel())
    assert mass.shape == (2, 3)
    torch.testing.assert_close(mass, torch.ones(2, 3, dtype=torch.float64), atol=1e-5, rtol=0)


def test_inside_the_box_and_far_from_the_walls_it_is_the_gaussian():
    x = np.linspace(-0.5, 0.5, 11)
    np.testing.assert_allclose(density(one_axis([0.1], [0.1]), x), norm(0.1, 0.1).pdf(x), rtol=1e-6)


def test_at_a_wall_it_is_twice_the_gaussian():
    assert density(one_axis([1.0], [0.1]), np.array([1.0])) == pytest.approx(2 * norm.pdf(0) / 0.1)


def test_the_density_of_independent_axes_is_their_product():
    raw = torch.randn(1, 1, TruncatedMixture.parameters(1, 3), generator=torch.Generator().manual_seed(1))
    mixture = TruncatedMixture.of(raw, 1, LEAST)
    actions = torch.rand(1, 1, 5, 3, generator=torch.Generator().manual_seed(2)) * 2 - 1
    by_axis = [
        TruncatedMixture(mixture.log_shares, mixture.means[..., i : i + 1], mixture.widths[..., i : i + 1]).log_density(
            actions[..., i : i + 1]
        )
        for i in range(3)
    ]
    torch.testing.assert_close(mixture.log_density(actions), sum(by_axis))


@pytest.mark.parametrize(
    ("means", "widths", "shares"),
    [([0.95], [0.3], [1.0]), ([-0.9, 0.4], [0.05, 0.5], [0.2, 0.8]), ([0.0, 0.0], [0.5, 0.05], [0.5, 0.5])],
)
def test_draws_follow_the_density(means, widths, shares):
    """Kolmogorov and Smirnov's test of 4000 draws against the integrated density; false alarm 1e-4 for each mixture."""
    mixture = one_axis(means, widths, shares)
    draws = mixture.sample(4000, torch.Generator().manual_seed(0)).view(-1).numpy()
    grid = np.linspace(-1, 1, 8001)
    steps = density(mixture, (grid[1:] + grid[:-1]) / 2) * (grid[1] - grid[0])
    cumulative = np.concatenate([[0], np.cumsum(steps)])
    assert kstest(draws, lambda x: np.interp(x, grid, cumulative)).pvalue > 1e-4


def test_every_member_and_state_is_drawn_from_its_own_mixture():
    means = torch.tensor([[-0.8, -0.2], [0.3, 0.9]]).view(2, 2, 1, 1).expand(2, 2, 1, 3)
    mixture = TruncatedMixture(torch.zeros(2, 2, 1), means, torch.full((2, 2, 1, 3), 0.01))
    draws = mixture.sample(50, torch.Generator().manual_seed(0))
    assert draws.shape == (2, 2, 50, 3)
    torch.testing.assert_close(draws, means.expand(2, 2, 50, 3), atol=0.06, rtol=0)  # six standard deviations


def test_the_same_generator_gives_the_same_draws():
    mixture = one_axis([0.1, 0.5], [0.2, 0.3])
    first, again, other = (mixture.sample(9, torch.Generator().manual_seed(seed)) for seed in (4, 4, 5))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_shares_means_and_widths_keep_their_ranges_for_any_output_of_a_network():
    raw = 50 * torch.randn(2, 20, TruncatedMixture.parameters(3, 2), generator=torch.Generator().manual_seed(0))
    mixture = TruncatedMixture.of(raw, 3, LEAST)
    assert mixture.means.shape == mixture.widths.shape == (2, 20, 3, 2)
    torch.testing.assert_close(mixture.log_shares.exp().sum(-1), torch.ones(2, 20))
    assert mixture.means.abs().max() <= 1
    assert mixture.widths.min() >= LEAST
    assert mixture.widths.max() <= WIDEST


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_gradients_are_finite_even_for_saturated_outputs_and_actions_at_the_walls(scale):
    raw = scale * torch.randn(1, 6, TruncatedMixture.parameters(3, 2), generator=torch.Generator().manual_seed(0))
    raw.requires_grad_(True)
    corners = torch.tensor([[-1.0, -1.0], [1.0, 1.0], [1.0, -1.0], [0.0, 0.0]]).expand(6, 4, 2)
    log_density = TruncatedMixture.of(raw, 3, LEAST).log_density(corners)
    log_density.sum().backward()
    assert torch.isfinite(log_density).all()
    assert torch.isfinite(raw.grad).all()


def random_mixture(members: int, states: int, components: int, actions: int, scale: float = 1.0) -> TruncatedMixture:
    size = TruncatedMixture.parameters(components, actions)
    raw = torch.randn(members, states, size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return TruncatedMixture.of(scale * raw, components, LEAST)


def test_the_slope_is_autograds():
    mixture = random_mixture(2, 3, 4, 2)
    actions = torch.rand(3, 7, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 2 - 1
    shared = actions.clone().requires_grad_(True)
    for member in range(2):
        (expected,) = torch.autograd.grad(-mixture.log_density(shared)[member].sum(), shared)
        torch.testing.assert_close(mixture.slope(actions)[0][member], expected)


def test_the_precision_is_that_of_the_components_that_answer():
    """At a mean far from the other the precision is its own; in the middle of two alike it is the mean of both."""
    mixture = one_axis([-0.5, 0.5], [0.1, 0.1])
    torch.testing.assert_close(mixture.slope(torch.zeros(1, 1, 1, dtype=torch.float64))[1].item(), 100.0)
    precision = one_axis([-0.5, 0.5], [0.1, 0.05]).slope(torch.tensor([[[-0.5], [0.5]]], dtype=torch.float64))[1]
    torch.testing.assert_close(precision.flatten(), torch.tensor([100.0, 400.0], dtype=torch.float64))


def test_the_mean_shift_ends_at_the_mode_of_the_members_product():
    """Two Gaussians of different widths: the precision-weighted mean, in one step from anywhere near."""
    means = torch.tensor([0.1, 0.3], dtype=torch.float64).view(2, 1, 1, 1)
    widths = torch.tensor([0.1, 0.2], dtype=torch.float64).view(2, 1, 1, 1)
    mixture = TruncatedMixture(torch.zeros(2, 1, 1, dtype=torch.float64), means, widths)
    start = torch.tensor([[[0.1], [0.3], [-0.8]]], dtype=torch.float64)
    expected = torch.full_like(start, (0.1 * 100 + 0.3 * 25) / 125)
    torch.testing.assert_close(mixture.mean_shift(start), expected)


def test_the_likeliest_components_come_first():
    mixture = one_axis([-0.5, 0.0, 0.5], [0.1] * 3, [0.2, 0.3, 0.5])
    assert mixture.modes(2).flatten().tolist() == [0.5, 0.0]
    assert sorted(mixture.modes(9).flatten().tolist()) == [-0.5, 0.0, 0.5]


def test_every_spread_draw_has_the_density():
    """The first draw of each of 4000 states, and the last: each set is independent, and passes the test of `sample`."""
    one = one_axis([-0.9, 0.4], [0.05, 0.5], [0.2, 0.8])
    many = TruncatedMixture(*(t.expand(1, 4000, *t.shape[2:]) for t in (one.log_shares, one.means, one.widths)))
    draws = many.spread(8, torch.Generator().manual_seed(0))
    grid = np.linspace(-1, 1, 8001)
    cumulative = np.concatenate([[0], np.cumsum(density(one, (grid[1:] + grid[:-1]) / 2) * (grid[1] - grid[0]))])
    for k in (0, 7):
        assert kstest(draws[0, :, k, 0].numpy(), lambda x: np.interp(x, grid, cumulative)).pvalue > 1e-4


def test_means_over_spread_draws_are_less_noisy():
    """The mean of the log density over 32 draws: a third of the variance of independent ones, or less."""
    mixture = random_mixture(1, 300, 4, 3)

    def noise(draw) -> float:
        sets = [mixture.log_density(draw(32, torch.Generator().manual_seed(seed))).mean(-1) for seed in range(20)]
        return float(torch.stack(sets).var(0).mean())

    assert noise(mixture.spread) < noise(mixture.sample) / 3


def test_blurred_it_is_its_convolution_with_a_gaussian():
    """Away from the bounds of the box, against a sum over the points of a fine grid."""
    mixture, width = one_axis([-0.2, 0.3], [0.05, 0.1], shares=[0.3, 0.7]), 0.08
    x = np.linspace(-1, 1, 4001)
    before, step = density(mixture, x), x[1] - x[0]
    for at in (-0.3, 0.0, 0.25):
        convolved = step * np.sum(before * norm.pdf(at - x, scale=width))
        assert density(mixture.blurred(width), np.array([at]))[0] == pytest.approx(convolved, rel=1e-3)
