"""The box of allowed actions [low, high], the support of every density here; a bound may be infinite."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Generator, Tensor

from iifl.records import FloatArray

Bound = float | Sequence[float] | FloatArray | Tensor


@dataclass(frozen=True)
class Box:
    """An axis-parallel box, with unit coordinates in which a bounded axis is [−1, 1].

    An axis with an infinite bound keeps its own unit. Step sizes are always in unit coordinates, so that they do not
    depend on the units of the actions.
    """

    low: Tensor  # (A,)
    high: Tensor  # (A,)

    def __post_init__(self) -> None:
        if self.low.ndim != 1 or self.low.shape != self.high.shape:
            raise ValueError(
                f"a box needs bounds of one shape (A,), got {tuple(self.low.shape)} and {tuple(self.high.shape)}"
            )
        if not bool((self.low < self.high).all()):
            raise ValueError(f"every low bound must be below its high bound: {self.low.tolist()}, {self.high.tolist()}")

    @staticmethod
    def of(low: Bound, high: Bound, dtype: torch.dtype = torch.float32) -> "Box":
        """A box from anything that torch can read; a number counts for every axis of the other bound."""
        lows, highs = torch.as_tensor(low, dtype=dtype), torch.as_tensor(high, dtype=dtype)
        size = max(lows.numel(), highs.numel())
        return Box(lows.expand(size).clone(), highs.expand(size).clone())

    @staticmethod
    def unbounded(size: int, dtype: torch.dtype = torch.float32) -> "Box":
        """All of R^size."""
        infinite = torch.full((size,), torch.inf, dtype=dtype)
        return Box(-infinite, infinite)

    @property
    def size(self) -> int:
        """The number of axes A."""
        return len(self.low)

    @cached_property
    def bounded(self) -> bool:
        """Whether the box has a volume."""
        return bool((self.low.isfinite() & self.high.isfinite()).all())

    @cached_property
    def center(self) -> Tensor:
        """The middle (A,); 0 on an axis with an infinite bound."""
        return torch.where(self.low.isfinite() & self.high.isfinite(), (self.low + self.high) / 2, 0.0)

    @cached_property
    def half_range(self) -> Tensor:
        """Half the range (A,), the unit of each axis; 1 on an axis with an infinite bound."""
        return torch.where(self.low.isfinite() & self.high.isfinite(), (self.high - self.low) / 2, 1.0)

    @cached_property
    def log_volume(self) -> float:
        """The log of the volume; infinite for an unbounded box."""
        return float((self.high - self.low).double().log().sum())

    def uniform(self, shape: Sequence[int], generator: Generator) -> Tensor:
        """Uniform actions (*shape, A)."""
        if not self.bounded:
            raise ValueError("there are no uniform actions in an unbounded box: give start actions, or finite bounds")
        uniforms = torch.rand(*shape, self.size, generator=generator, dtype=self.low.dtype, device=self.low.device)
        return self.low + (self.high - self.low) * uniforms

    def clip(self, actions: Tensor) -> Tensor:
        """The nearest actions in the box."""
        return torch.clamp(actions, self.low, self.high)

    def contains(self, actions: Tensor) -> Tensor:
        """Which actions (..., A) are in the box: (...)."""
        return ((actions >= self.low) & (actions <= self.high)).all(-1)

    def to_unit(self, actions: Tensor) -> Tensor:
        """Actions in unit coordinates."""
        return (actions - self.center) / self.half_range

    def from_unit(self, unit: Tensor) -> Tensor:
        """Actions from unit coordinates; clipped, since the change of coordinates rounds."""
        return self.clip(self.center + self.half_range * unit)
