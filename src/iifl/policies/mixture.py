"""The proposal of the implicit policy: a conditional density on the action box that can be sampled without a chain.

A mixture of M Gaussians per state, each truncated to the box [−1, 1]^A. So it is a density on the box (a plain Gaussian
would lose half of its mass at each saturated action), it is exact, a draw is the inverse of the distribution function,
and the quadratic form of all draws and components is one matrix product:

    log q(a) = log Σ_m exp(c_m − ½ Σ_d (a_d − μ_md)²/σ_md²),   where c_m has the shares and the truncated masses.

The widths have a floor: scripted people repeat themselves to the last digit, and a density that follows them there has
no finite optimum.
"""

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property

import torch
from torch import Generator, Tensor
from torch.quasirandom import SobolEngine

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
WIDEST = 0.5
"""The largest width, in half action ranges: three of them would make a component flat over the box."""

SMALLEST = 2.0**-23
"""Single precision rounds a smaller tail probability to 0 or 1, whose draw would be at infinity."""


@dataclass(frozen=True)
class TruncatedMixture:
    """Mixtures for E members at B states."""

    log_shares: Tensor  # (E, B, M), their exponentials sum to one
    means: Tensor  # (E, B, M, A) in [−1, 1]
    widths: Tensor  # (E, B, M, A)

    @staticmethod
    def parameters(components: int, action_size: int) -> int:
        """How many numbers describe the mixture of one state."""
        return components * (1 + 2 * action_size)

    @staticmethod
    def of(raw: Tensor, components: int, narrowest: float) -> "TruncatedMixture":
        """A mixture from a network's output (E, B, parameters)."""
        per_component = (raw.shape[-1] - components) // 2  # components × A
        shares, means, widths = raw.split_with_sizes([components, per_component, per_component], dim=-1)
        shape = (*raw.shape[:-1], components, per_component // components)
        return TruncatedMixture(
            torch.log_softmax(shares, -1),
            torch.tanh(means).view(shape),
            narrowest + (WIDEST - narrowest) * torch.sigmoid(widths).view(shape),
        )

    @cached_property
    def _bounds(self) -> tuple[Tensor, Tensor]:
        """The distribution function of every untruncated axis at −1 and at 1 (E, B, M, A)."""
        return (
            torch.special.ndtr((-1 - self.means) / self.widths),
            torch.special.ndtr((1 - self.means) / self.widths),
        )

    @cached_property
    def _quadratic(self) -> tuple[Tensor, Tensor]:
        """What multiplies [a², a] in the exponents (E, B, M, 2A), and their constants (E, B, M, 1)."""
        low, high = self._bounds
        precision = self.widths.square().reciprocal()
        factors = torch.cat([-0.5 * precision, precision * self.means], -1)
        per_axis = 0.5 * precision * self.means.square() + (self.widths * (high - low)).log() + HALF_LOG_TWO_PI
        return factors, (self.log_shares - per_axis.sum(-1)).unsqueeze(-1)

    def log_density(self, actions: Tensor) -> Tensor:
        """log q of every member at actions (E, B, K, A) or (B, K, A) in the box: (E, B, K)."""
        parts = self._log_parts(actions)
        # What is e^−80 of the largest part counts as that much: smaller numbers are denormal soon, which is slow.
        return torch.logsumexp(torch.maximum(parts, parts.detach().amax(-2, keepdim=True) - 80), -2)

    def blurred(self, width: float) -> "TruncatedMixture":
        """The mixture with every component wider, as if convolved with a Gaussian of this width (but for the box)."""
        return replace(self, widths=(self.widths.square() + width**2).sqrt())

    def modes(self, count: int) -> Tensor:
        """The means of the `count` likeliest components, or of all if there are fewer: (E, B, count, A)."""
        likeliest = self.log_shares.topk(min(count, self.log_shares.shape[-1]), -1).indices
        return self.means.take_along_dim(likeliest.unsqueeze(-1), 2)

    def slope(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """The gradient of −log q, and the precision of the components that answer for each action: (E, B, K, A) both.

        With r_m the share of component m in the density at a, they are Σ_m r_m (a − μ_m)/σ_m² and Σ_m r_m/σ_m².
        """
        answerable = torch.softmax(self._log_parts(actions), -2).transpose(-1, -2)
        precision = self.widths.square().reciprocal()
        curvature = answerable @ precision
        return curvature * actions - answerable @ (precision * self.means), curvature

    def mean_shift(self, actions: Tensor) -> Tensor:
        """Actions (B, K, A) one step nearer to a mode of the product of all members' mixtures: (B, K, A).

        Where members agree, that is their mode; where they differ, it lies between theirs, and no member has it.
        """
        slope, precision = self.slope(actions)
        return (actions - slope.mean(0) / precision.mean(0)).clamp(-1, 1)

    def _log_parts(self, actions: Tensor) -> Tensor:
        """The log of every component's part of the density (E, B, M, K): sums over M are fastest along rows of K."""
        factors, constants = self._quadratic
        return factors @ torch.cat([actions.square(), actions], -1).transpose(-1, -2) + constants

    def sample(self, count: int, generator: Generator) -> Tensor:
        """`count` independent draws of each member at each state: (E, B, count, A)."""
        E, B, _, A = self.means.shape
        return self._draw(self._uniforms((E, B, count, 1 + A), generator))

    def spread(self, count: int, generator: Generator) -> Tensor:
        """As `sample`, but the draws of a member at a state are spread evenly over its density, and so not independent.

        They are the points of one Sobol sequence, moved around the unit cube by a random shift for each member and
        state (Cranley and Patterson 1976): every single draw has the density q, and means over them are less noisy.
        """
        E, B, _, A = self.means.shape
        shifts = self._uniforms((E, B, 1, 1 + A), generator)
        return self._draw((_sobol(count, 1 + A).to(shifts) + shifts).frac())

    def _uniforms(self, shape: tuple[int, ...], generator: Generator) -> Tensor:
        return torch.rand(shape, generator=generator, dtype=self.means.dtype, device=self.means.device)

    def _draw(self, uniforms: Tensor) -> Tensor:
        """The draw of each point (E, B, K, 1 + A) of the unit cube: its component, and its place on every axis."""
        E, B, K, _ = uniforms.shape
        M, A = self.means.shape[2:]
        cumulative = self.log_shares.exp().cumsum(-1)
        chosen = torch.searchsorted(cumulative, uniforms[..., 0].contiguous()).clamp(max=M - 1)  # sums round
        chosen = chosen.unsqueeze(-1).expand(E, B, K, A)
        low, high, means, widths = (t.gather(2, chosen) for t in (*self._bounds, self.means, self.widths))
        probabilities = torch.lerp(low, high, uniforms[..., 1:]).clamp(SMALLEST, 1 - SMALLEST)
        draws: Tensor = means + widths * torch.special.ndtri(probabilities)
        return draws.clamp(-1, 1)


@cache
def _sobol(count: int, dimensions: int) -> Tensor:
    """The first points of the Sobol sequence (count, dimensions)."""
    points: Tensor = SobolEngine(dimensions).draw(count)  # type: ignore[no-untyped-call]
    return points
