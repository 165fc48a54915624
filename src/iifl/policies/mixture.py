"""The proposal of the implicit policy: a conditional density on the action box that can be sampled without a chain.

A mixture of M Gaussians per state, folded at the walls of the box [−1, 1]^A: what would fall outside comes back as in a
mirror. So it is a density on the box (a plain Gaussian would lose half of its mass at each saturated action), it can
be evaluated exactly, and a draw is a Gaussian draw and two reflections. With μ ∈ [−1, 1] and σ ≤ ½, the three nearest
mirror images hold all but 2·10⁻⁹ of the mass.

The width has a floor: scripted people repeat themselves to the last digit, and a density that follows them there has
no finite optimum.
"""

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class FoldedMixture:
    """Mixtures for E members at B states."""

    log_shares: Tensor  # (E, B, M), their exponentials sum to one
    means: Tensor  # (E, B, M, A) in [−1, 1]
    widths: Tensor  # (E, B, M, A)

    @staticmethod
    def parameters(components: int, action_size: int) -> int:
        """How many numbers describe the mixture of one state."""
        return components * (1 + 2 * action_size)

    @staticmethod
    def of(raw: Tensor, components: int, narrowest: float, widest: float = 0.5) -> "FoldedMixture":
        """A mixture from a network's output (E, B, parameters)."""
        per_component = (raw.shape[-1] - components) // 2  # components × A
        shares, means, widths = raw.split_with_sizes([components, per_component, per_component], dim=-1)
        shape = (*raw.shape[:-1], components, per_component // components)
        return FoldedMixture(
            torch.log_softmax(shares, -1),
            torch.tanh(means).view(shape),
            narrowest + (widest - narrowest) * torch.sigmoid(widths).view(shape),
        )

    def log_density(self, actions: Tensor) -> Tensor:
        """log q of every member at actions (E, B, K, A) or (B, K, A): (E, B, K)."""
        scale = self.widths.reciprocal().unsqueeze(-3)  # (E, B, 1, M, A)
        means, actions = self.means.unsqueeze(-3), actions.unsqueeze(-2)  # (E, B, 1, M, A), (E, B, K, 1, A)
        direct = -0.5 * ((actions - means) * scale).square()
        above = -0.5 * ((2 - actions - means) * scale).square()
        below = -0.5 * ((-2 - actions - means) * scale).square()
        # Of the two mirror images at most one is near; the direct term is never far below both.
        folded = torch.logaddexp(direct, torch.maximum(above, below))
        per_axis = folded - self.widths.log().unsqueeze(-3) - HALF_LOG_TWO_PI
        return torch.logsumexp(per_axis.sum(-1) + self.log_shares.unsqueeze(-2), -1)

    def sample(self, count: int, generator: Generator) -> Tensor:
        """`count` draws of each member at each state: (E, B, count, A)."""
        E, B, M, A = self.means.shape
        shares = self.log_shares.exp().view(E * B, M)
        chosen = torch.multinomial(shares, count, replacement=True, generator=generator).view(E, B, count, 1)
        chosen = chosen.expand(E, B, count, A)
        noise = torch.randn(chosen.shape, generator=generator, device=chosen.device)
        return fold(self.means.gather(2, chosen) + self.widths.gather(2, chosen) * noise)


def fold(actions: Tensor) -> Tensor:
    """Reflect actions at the walls of [−1, 1] until they are inside: a triangle wave of period 4."""
    return (torch.remainder(actions + 1, 4) - 2).abs().neg() + 1
