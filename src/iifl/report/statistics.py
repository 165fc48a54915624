"""Intervals for what was measured, and numbers written with no more digits than they have earned.

Seeds are the independent units. Their mean and interquartile mean get a bootstrap interval; a rate of k out of n trials
gets Wilson's. One seed has no interval, and none is made up for it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
SEEDS_FOR_QUARTILES = 4
"""From this many seeds on, the interquartile mean leaves some out."""
_RESAMPLES = 10_000
_MOST_DECIMALS = 8


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval from n seeds; without an interval where there is nothing to make it from."""

    value: float
    low: float | None
    high: float | None
    n: int

    def times(self, factor: float) -> "Estimate":
        """The same in another unit (factor > 0)."""
        low, high = (None if end is None else end * factor for end in (self.low, self.high))
        return Estimate(self.value * factor, low, high, self.n)

    def value_text(self) -> str:
        """The value, to the digits that its interval leaves."""
        return number_text(self.value, self._decimals())

    def interval_text(self) -> str:
        """The interval in brackets; empty where there is none."""
        if self.low is None or self.high is None:
            return ""
        return f"[{number_text(self.low, self._decimals())}, {number_text(self.high, self._decimals())}]"

    def __str__(self) -> str:
        return f"{self.value_text()} {self.interval_text()}".rstrip()

    def _decimals(self) -> int:
        if self.low is None or self.high is None:
            return decimals(self.value)
        return decimals(self.value, (self.high - self.low) / 2)


def mean_estimate(values: Sequence[float]) -> Estimate:
    """The mean over seeds, with its bootstrap interval."""
    return _bootstrap(values, np.mean)


def interquartile_mean_estimate(values: Sequence[float]) -> Estimate:
    """The mean of the middle half of the seeds, with its bootstrap interval; below four seeds it is the mean."""
    return _bootstrap(values, _interquartile_mean)


def rate_estimate(rates: Sequence[float], trials: Sequence[float]) -> Estimate:
    """The rate of success over seeds, each `rates[i]` of `trials[i]`.

    Wilson's interval of all trials together knows only the chance of the trials; where the seeds differ by more than
    that, their bootstrap interval reaches further. The hull of both is reported.
    """
    successes = [_whole(rate * n, f"{rate} of {n} trials") for rate, n in zip(rates, trials, strict=True)]
    low, high = wilson(sum(successes), sum(_whole(n, "the number of trials") for n in trials))
    between = mean_estimate(rates)
    if between.low is not None and between.high is not None:
        low, high = min(low, between.low), max(high, between.high)
    return Estimate(between.value, low, high, len(rates))


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a rate of `successes` out of `trials`."""
    interval = stats.binomtest(successes, trials).proportion_ci(CONFIDENCE, method="wilson")
    return float(interval.low), float(interval.high)


def difference(first: Estimate, second: Estimate) -> Estimate:
    """first − second of independent estimates, from their own intervals (Newcombe 1998; Zou and Donner 2008)."""
    value, n = first.value - second.value, min(first.n, second.n)
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return Estimate(value, None, None, n)
    down = math.hypot(first.value - first.low, second.high - second.value)
    up = math.hypot(first.high - first.value, second.value - second.low)
    return Estimate(value, value - down, value + up, n)


def deviation(values: Sequence[float]) -> float | None:
    """The standard deviation over seeds, as in the paper's tables (divided by n); None for one seed."""
    return float(np.std(values)) if len(values) > 1 else None


def decimals(value: float, half_width: float = 0.0) -> int:
    """How many decimals are honest: one or two digits of the half width (the Particle Data Group's rule).

    Without a half width it is three digits of the value, and none for whole numbers.
    """
    if half_width > 0:
        exponent = math.floor(math.log10(half_width))
        wanted = (1 if half_width < 3.55 * 10**exponent else 0) - exponent
    elif value == round(value):
        wanted = 0
    else:
        wanted = 2 - math.floor(math.log10(abs(value)))
    return min(max(wanted, 0), _MOST_DECIMALS)


def number_text(value: float, places: int) -> str:
    """A number with a fixed number of decimals, thousands apart, and a proper minus sign."""
    text = f"{value:,.{places}f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0 else text.replace("-", "−")


def _interquartile_mean(values: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.asarray(stats.trim_mean(values, 0.25, axis=axis))


def _bootstrap(values: Sequence[float], statistic: Callable[..., np.ndarray]) -> Estimate:
    sample = np.asarray(values, np.float64)
    if len(sample) == 0:
        raise ValueError("an estimate needs at least one value")
    value = float(statistic(sample, axis=-1))
    if len(sample) == 1:
        return Estimate(value, None, None, 1)
    if np.ptp(sample) == 0:
        return Estimate(value, value, value, len(sample))
    interval = stats.bootstrap(
        (sample,),
        statistic,
        n_resamples=_RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(0),  # the same rows give the same page
    ).confidence_interval
    return Estimate(value, float(interval.low), float(interval.high), len(sample))


def _whole(number: float, what: str) -> int:
    if abs(number - round(number)) > 1e-6 * max(1.0, abs(number)):
        raise ValueError(f"{what} is not a whole number ({number:g})")
    return round(number)
