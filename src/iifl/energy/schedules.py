"""Step sizes over the iterations of a sampler."""

from collections.abc import Callable
from dataclasses import dataclass

Schedule = Callable[[int, int], float]
"""(iteration, iterations) → step size ε."""


@dataclass(frozen=True)
class Constant:
    """The same step size throughout."""

    step: float

    def __call__(self, iteration: int, iterations: int) -> float:
        """The step size of this iteration."""
        return self.step


@dataclass(frozen=True)
class PolynomialDecay:
    """From `first` at the first iteration to `last` at the last one, along (1 − progress)^power."""

    first: float
    last: float
    power: float

    def __call__(self, iteration: int, iterations: int) -> float:
        """The step size of this iteration."""
        progress = iteration / max(1, iterations - 1)
        return float((self.first - self.last) * (1 - progress) ** self.power + self.last)
