"""Intervals against published and enumerated values, and their coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from iifl.report.statistics import (
    Estimate,
    decimals,
    deviation,
    difference,
    interquartile_mean_estimate,
    mean_estimate,
    number_text,
    rate_estimate,
    wilson,
)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # Newcombe (1998), Statistics in Medicine 17:857, table I, method 3
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_against_published_values(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson(successes, trials) == pytest.approx((low, high), abs=5e-5)


def test_wilson_covers_as_stated() -> None:
    """Exact, by summing the binomial: nothing random."""
    n = 100
    intervals = np.array([wilson(k, n) for k in range(n + 1)])
    rates = np.linspace(0.02, 0.98, 97)
    inside = (intervals[:, :1] <= rates) & (rates <= intervals[:, 1:])
    coverage = (binom.pmf(np.arange(n + 1)[:, None], n, rates) * inside).sum(axis=0)
    assert coverage.mean() == pytest.approx(0.95, abs=0.01)
    assert coverage.min() > 0.91


def test_difference_of_rates_against_published_value() -> None:
    """Newcombe (1998), Statistics in Medicine 17:873, table II, contrast (a), method 10: 56/70 − 48/80."""
    gap = difference(rate_estimate([56 / 70], [70]), rate_estimate([48 / 80], [80]))
    assert (gap.value, gap.low, gap.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_bootstrap_of_three_seeds_by_enumeration() -> None:
    """Of the 27 resamples of (0, 1, 5) one has mean 0 and one 5: 3.7 %, more than the 2.5 % beyond each end."""
    assert mean_estimate([0.0, 1.0, 5.0]) == Estimate(2.0, 0.0, 5.0, 3)


def test_bootstrap_of_many_is_the_normal_interval() -> None:
    values = np.random.default_rng(3).gamma(2.0, size=400)
    estimate = mean_estimate(values.tolist())
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert estimate.low == pytest.approx(values.mean() - half, abs=0.05 * half)
    assert estimate.high == pytest.approx(values.mean() + half, abs=0.05 * half)


def test_bootstrap_covers_nearly_as_stated() -> None:
    """20 seeds: the percentile bootstrap truly covers about 92.5 %.

    Of 200 repetitions a correct implementation covers outside (0.845, 0.985) with a probability below 5e-4 for a random
    seed; the seed is fixed.
    """
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(200):
        estimate = mean_estimate(rng.normal(size=20).tolist())
        assert estimate.low is not None
        assert estimate.high is not None
        hits += estimate.low <= 0.0 <= estimate.high
    assert 0.845 < hits / 200 < 0.985


def test_interquartile_mean_leaves_the_outer_quarters_out() -> None:
    assert interquartile_mean_estimate([1000.0, 2.0, 4.0, -1000.0]).value == 3.0
    assert interquartile_mean_estimate([0.0, 0.0, 9.0]).value == 3.0  # too few seeds: the mean


def test_one_seed_has_no_interval() -> None:
    estimate = mean_estimate([7.0])
    assert estimate == Estimate(7.0, None, None, 1)
    assert str(estimate) == "7"
    assert deviation([7.0]) is None
    assert difference(estimate, mean_estimate([1.0, 2.0])).low is None


def test_nothing_has_no_estimate() -> None:
    with pytest.raises(ValueError, match="at least one"):
        mean_estimate([])


def test_a_rate_is_widened_by_seeds_that_differ() -> None:
    """Half of the seeds always succeed and half never do: the trials' own interval would be far too sure."""
    estimate = rate_estimate([0.0, 1.0, 0.0, 1.0], [100, 100, 100, 100])
    assert (estimate.low, estimate.high) == (0.0, 1.0)
    same = rate_estimate([0.5, 0.5, 0.5, 0.5], [100, 100, 100, 100])
    assert (same.low, same.high) == wilson(200, 400)


def test_a_rate_must_be_k_of_n() -> None:
    with pytest.raises(ValueError, match="not a whole number"):
        rate_estimate([0.333], [100])


def test_deviation_is_the_papers() -> None:
    """Successes 0, 0, 1 of three seeds are 0.3 ± 0.5 in the paper's tables: divided by n."""
    assert deviation([0.0, 0.0, 1.0]) == pytest.approx(0.4714, abs=1e-4)


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(784.26, 680.1, 890.4, 3), "784 [680, 890]"),
        (Estimate(0.7123, 0.7019, 0.7231, 3), "0.712 [0.702, 0.723]"),
        (Estimate(99.0, 97.68, 99.57, 5), "99.0 [97.7, 99.6]"),
        (Estimate(12345.6, 11000.0, 13000.0, 3), "12,346 [11,000, 13,000]"),
        (Estimate(-3.456, -4.56, -2.34, 3), "−3.5 [−4.6, −2.3]"),
        (Estimate(0.00294, None, None, 1), "0.00294"),
        (Estimate(3.0, 3.0, 3.0, 3), "3 [3, 3]"),
    ],
)
def test_numbers_have_the_digits_they_earned(estimate: Estimate, text: str) -> None:
    assert str(estimate) == text


def test_no_minus_zero() -> None:
    assert number_text(-0.001, 1) == "0.0"


@given(st.floats(1e-6, 1e6), st.floats(1e-4, 1e4))
def test_what_is_written_is_within_a_tenth_of_the_half_width(value: float, half: float) -> None:
    """Rounding is at most half a unit of the last digit, and that digit is at least the interval's first or second."""
    written = float(number_text(value, decimals(value, half)).replace(",", ""))
    assert abs(written - value) <= 0.5 * half * 1.0001 / 3.55 + 1e-9


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12))
def test_the_interval_lies_in_the_data_and_holds_the_mean(values: list[float]) -> None:
    estimate = mean_estimate(values)
    assert estimate.low is not None
    assert estimate.high is not None
    assert min(values) - 1e-9 <= estimate.low <= estimate.high <= max(values) + 1e-9
