"""Who needs help most: the priority functions p̂ of the Fleet-DAgger family (section 3.3 of the paper).

An order is a frozen dataclass, called with the signals of this timestep. It gives every robot a tuple of numbers that
are compared left to right, larger first, then at random. Thresholds are reached at equality: with û = 0 every robot
wants help, one that is not unsure at all included.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from iifl.records import BoolArray, FloatArray, IntArray

CATCH_UP = 20
"""Timesteps over which `RandomBudget` makes up for what it spent ahead of an even pace: a few interventions long."""


@dataclass(frozen=True)
class Signals:
    """All that an order may look at. `risk` is Q_risk(s, a) of the robots' own actions, None where nobody learns it."""

    uncertainty: FloatArray  # (N,), finite and non-negative
    failed: BoolArray  # (N,) waiting for a hard reset, or under one
    risk: FloatArray | None = None  # (N,)
    timestep: int = 0  # t, from 0
    human_actions: int = 0  # Σ‖α‖²_F of all timesteps before this one

    def __post_init__(self) -> None:
        _check_signal("uncertainty", self.uncertainty, len(self.failed))
        if self.risk is not None:
            _check_signal("risk", self.risk, len(self.failed))


@dataclass(frozen=True)
class Priority:
    """The order of the fleet in this timestep."""

    keys: FloatArray  # (N, K) compared left to right, larger first
    tie_break: FloatArray  # (N,) random, compared last
    wants: BoolArray  # (N,) robots that want help at all
    busy_at_most: int | None = None  # how many humans may be at work, those who are locked included; None for all

    def ranking(self) -> IntArray:
        """The robots that want help, the highest priority first."""
        robots = np.flatnonzero(self.wants)
        columns = [-self.tie_break[robots], *(-self.keys[robots].T[::-1])]  # lexsort's last key is its first
        return robots[np.lexsort(columns)]


class Order(Protocol):
    """A priority function p̂. `teaches` is false where humans do nothing but hard resets."""

    teaches: ClassVar[bool]

    def __call__(self, signals: Signals, rng: np.random.Generator) -> Priority:
        """The priority of every robot; pure but for the random tie-break."""
        ...


@dataclass(frozen=True)
class Constraint:
    """ "C": only failed robots want help, in random order, and only a hard reset is given (BC and IBC)."""

    teaches: ClassVar[bool] = False

    def __call__(self, signals: Signals, rng: np.random.Generator) -> Priority:
        """See `Order`."""
        return _priority([signals.failed], signals.failed, rng)


@dataclass(frozen=True)
class UncertaintyConstraint:
    """ "U.C.", Fleet-EnsembleDAgger and IIFL: (u if u ≥ û else 0, c). A robot with u < û and c = 0 wants no help."""

    threshold: float  # û
    teaches: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_threshold("threshold", self.threshold)

    def __call__(self, signals: Signals, rng: np.random.Generator) -> Priority:
        """See `Order`."""
        unsure = signals.uncertainty >= self.threshold
        keys = [np.where(unsure, signals.uncertainty, 0), signals.failed]
        return _priority(keys, unsure | signals.failed, rng)


@dataclass(frozen=True)
class ConstraintUncertaintyRisk:
    """ "C.U.R.", Fleet-DAgger's own order: (c, u if u ≥ û else 0, risk if risk ≥ r̂ else 0)."""

    threshold: float  # û
    risk_threshold: float  # r̂
    teaches: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_threshold("threshold", self.threshold)
        _check_threshold("risk_threshold", self.risk_threshold)

    def __call__(self, signals: Signals, rng: np.random.Generator) -> Priority:
        """See `Order`."""
        risk = _risk_of(signals, "C.U.R.")
        unsure, at_risk = signals.uncertainty >= self.threshold, risk >= self.risk_threshold
        keys = [signals.failed, np.where(unsure, signals.uncertainty, 0), np.where(at_risk, risk, 0)]
        return _priority(keys, signals.failed | unsure | at_risk, rng)


@dataclass(frozen=True)
class Scale:
    """Mean and standard deviation of a signal, to make it comparable with another."""

    mean: float
    std: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and np.isfinite(self.std) and self.std > 0):
            raise ValueError(f"a scale needs a finite mean and a positive std, not {self.mean} and {self.std}")

    def __call__(self, signal: FloatArray) -> FloatArray:
        """The signal in standard deviations from its mean."""
        scaled: FloatArray = (signal - self.mean) / self.std
        return scaled


@dataclass(frozen=True)
class Thrifty:
    """Fleet-ThriftyDAgger: (x if x ≥ threshold else 0, c), x = w · scaled risk + (1 − w) · scaled uncertainty.

    The scales are those of the offline-only policy, as û is, so that the priority depends on the present alone.
    """

    threshold: float
    risk_weight: float  # w
    risk_scale: Scale
    uncertainty_scale: Scale
    teaches: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_threshold("threshold", self.threshold)
        if not 0 <= self.risk_weight <= 1:
            raise ValueError(f"risk_weight must be in [0, 1], not {self.risk_weight}")

    def __call__(self, signals: Signals, rng: np.random.Generator) -> Priority:
        """See `Order`."""
        risk = self.risk_scale(_risk_of(signals, "thrifty"))
        both = self.risk_weight * risk + (1 - self.risk_weight) * self.uncertainty_scale(signals.uncertainty)
        needy = both >= self.threshold
        return _priority([np.where(needy, both, 0), signals.failed], needy | signals.failed, rng)


@dataclass(frozen=True)
class RandomBudget:
    """IIFL-R: humans go to robots at random, about `budget` human actions in the whole run.

    Every robot wants help, a failed one no more than another: who is sent to it gives the hard reset. The number of
    humans at work is drawn from N(budget/T, (0.1 M)²), and clipped to [0, M] and to what is left of the budget. Humans
    who are locked cannot be sent away when a small number is drawn, so more than the mean are at work; the mean is
    therefore lowered by what was spent ahead of an even pace (or raised), over `CATCH_UP` timesteps. For the same
    reason humans who are locked when the budget runs out finish what they began.
    """

    budget: int
    timesteps: int  # T
    humans: int  # M
    teaches: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.budget < 0 or self.timesteps < 1 or self.humans < 1:
            raise ValueError(
                f"a budget of at least 0 for at least 1 timestep and 1 human, not {self.budget} for {self.timesteps} "
                f"timesteps and {self.humans} humans"
            )

    def __call__(self, signals: Signals, rng: np.random.Generator) -> Priority:
        """See `Order`."""
        pace = self.budget / self.timesteps
        mean = pace + (pace * signals.timestep - signals.human_actions) / CATCH_UP
        busy = round(rng.normal(mean, 0.1 * self.humans))
        busy = max(0, min(busy, self.humans, self.budget - signals.human_actions))
        robots = len(signals.failed)
        return Priority(np.empty((robots, 0)), rng.random(robots), np.ones(robots, bool), busy_at_most=busy)


def _priority(keys: list[FloatArray | BoolArray], wants: BoolArray, rng: np.random.Generator) -> Priority:
    return Priority(np.stack(keys, axis=1).astype(np.float64), rng.random(len(wants)), wants)


def _risk_of(signals: Signals, order: str) -> FloatArray:
    if signals.risk is None:
        raise ValueError(f"the order {order} needs the risk of every robot: give the run a risk critic")
    return signals.risk


def _check_signal(name: str, values: FloatArray, robots: int) -> None:
    if values.shape != (robots,):
        raise ValueError(f"{name} must have shape {(robots,)}, not {values.shape}")
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        robot = int(np.argmax(wrong))
        raise ValueError(f"robot {robot}: {name} is {values[robot]}; it must be finite and non-negative")


def _check_threshold(name: str, value: float) -> None:
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be finite and non-negative, not {value}")
