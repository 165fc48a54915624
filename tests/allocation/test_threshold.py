"""û against quantiles known by hand and in closed form; and what is no calibration."""

import numpy as np
import pytest

from iifl.allocation.threshold import Threshold, calibrate


def test_the_99th_percentile_of_all_values_of_the_run():
    values = np.random.default_rng(0).permutation(np.arange(100_001)[:100_000].reshape(1000, 100))
    assert calibrate(values.astype(float), "ibc") == Threshold(
        pytest.approx(0.99 * 99_999), 0.99, robots=100, timesteps=1000, policy="ibc"
    )


def test_another_quantile_of_a_known_distribution():
    """Exponential: −ln(1 − q), within 5 standard errors of the sample quantile."""
    q, n = 0.9, 200_000
    values = np.random.default_rng(1).exponential(size=(n // 10, 10))
    error = np.sqrt(q * (1 - q) / n) / (1 - q)
    assert abs(calibrate(values, "bc", q).value + np.log(1 - q)) < 5 * error


def test_one_percent_of_the_values_reach_it():
    values = np.random.default_rng(2).random((500, 20))
    assert np.mean(values >= calibrate(values, "bc").value) == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("values", "quantile", "message"),
    [
        (np.zeros((9, 11)), 0.99, "9 timesteps of 11 robots are 99 values: the quantile 0.99 needs at least 100"),
        (np.zeros((0, 10)), 0.5, "are 0 values"),
        (np.zeros(1000), 0.99, r"has shape \(timesteps, robots\), not \(1000,\)"),
        (np.zeros((100, 10)), 1.0, "quantile must be between 0 and 1"),
    ],
)
def test_too_little_is_an_error(values, quantile, message):
    with pytest.raises(ValueError, match=message):
        calibrate(values, "bc", quantile)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1.0])
def test_a_value_that_is_no_uncertainty_is_named(wrong):
    values = np.zeros((100, 10))
    values[7, 3] = wrong
    with pytest.raises(ValueError, match="timestep 7, robot 3: uncertainty is"):
        calibrate(values, "bc")


def test_enough_is_enough():
    assert calibrate(np.ones((10, 10)), "bc").value == 1.0
