"""The proposal of the implicit policy: a conditional density on the action box that can be sampled without a chain.

A mixture of M Gaussians per state, each truncated to the box [−1, 1]^A. So it is a density on the box (a plain Gaussian
would lose half of its mass at each saturated action), it is exact, a draw is the inverse of the distribution function,
and the quadratic form of all draws and components is one matrix product:

    log q(a) = log Σ_m exp(c_m − ½ Σ_d (a_d − μ_md)²/σ_md²),   where c_m has the shares and the truncated masses.

The widths have a floor: scripted people repeat themselves to the last digit, and a density that follows them there has
no finite optimum.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Generator, Tensor

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
        """What multiplies [a², a] in the exponents (E, B, 2A, M), and their constants (E, B, 1, M)."""
        low, high = self._bounds
        precision = self.widths.square().reciprocal()
        factors = torch.cat([-0.5 * precision, precision * self.means], -1).transpose(-1, -2)
        per_axis = 0.5 * precision * self.means.square() + (self.widths * (high - low)).log() + HALF_LOG_TWO_PI
        return factors, (self.log_shares - per_axis.sum(-1)).unsqueeze(-2)

    def log_density(self, actions: Tensor) -> Tensor:
        """log q of every member at actions (E, B, K, A) or (B, K, A) in the box: (E, B, K)."""
        factors, constants = self._quadratic
        return torch.logsumexp(torch.cat([actions.square(), actions], -1) @ factors + constants, -1)

    def sample(self, count: int, generator: Generator) -> Tensor:
        """`count` draws of each member at each state: (E, B, count, A)."""
        E, B, M, A = self.means.shape
        shares = self.log_shares.exp().view(E * B, M)
        chosen = torch.multinomial(shares, count, replacement=True, generator=generator).view(E, B, count, 1)
        chosen = chosen.expand(E, B, count, A)
        low, high, means, widths = (t.gather(2, chosen) for t in (*self._bounds, self.means, self.widths))
        uniforms = torch.rand(chosen.shape, generator=generator, dtype=means.dtype, device=means.device)
        probabilities = torch.lerp(low, high, uniforms).clamp(SMALLEST, 1 - SMALLEST)
        draws: Tensor = means + widths * torch.special.ndtri(probabilities)
        return draws.clamp(-1, 1)
