"""What the fast policy's judgement is measured by: its own energies, sampled at leisure.

- The uncertainty: the Jeffreys divergence of the members at temperature 1, from Metropolis-adjusted Langevin chains of
  each member. Chains do not cross between modes that lie far apart, so they start from draws of the member's proposal,
  16 for every chain, resampled by their importance weights: that gives each mode its share, and the chains then correct
  what is left within it.
- The action: that of the published sampler (512 uniform starts, 100 Langevin iterations, the lowest energy), applied to
  the mean energy of the members.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from iifl.energy.annealing import systematic_resample
from iifl.energy.box import Box
from iifl.energy.divergence import pooled_jeffreys
from iifl.energy.function import cross_energies
from iifl.energy.samplers import MetropolisLangevin, log_importance_weights, published_sampler
from iifl.policies.implicit import TiltedEnergy

STATES_AT_ONCE = 20
STARTS_PER_CHAIN = 16


@dataclass(frozen=True)
class Effort:
    """How many chains each member has at each state, how long they are, and the starts of the published sampler."""

    chains: int = 256
    iterations: int = 50
    burn_in: int = 50
    starts: int = 512


@dataclass(frozen=True)
class MeanEnergy:
    """The mean energy of the members, as one energy: actions (B, K, A) → (B, K)."""

    energy: TiltedEnergy

    def __call__(self, actions: Tensor) -> Tensor:
        """Ē."""
        return self.energy(actions).mean(0)

    def value_and_grad(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Ē and ∂Ē/∂a."""
        energies, gradients = self.energy.value_and_grad(actions)
        return energies.mean(0), gradients.mean(0)


@torch.no_grad()
def gold_divergence(energy: TiltedEnergy, effort: Effort, generator: Generator) -> Tensor:
    """The divergence of the members at each state (B,), from chains of each."""
    box = unit_box(energy)
    starts = energy.proposal.sample(STARTS_PER_CHAIN * effort.chains, generator)  # (E, B, 16 K, A)
    log_weights = log_importance_weights(energy.correction(starts))  # E + log q is f
    chosen = systematic_resample(log_weights, generator)[..., ::STARTS_PER_CHAIN]
    starts = starts.take_along_dim(chosen.unsqueeze(-1), -2)
    sampler = MetropolisLangevin(effort.iterations, effort.burn_in)
    samples = sampler(energy, starts, box, generator=generator)
    return pooled_jeffreys(cross_energies(energy, samples.actions))


@torch.no_grad()
def published_energy(energy: TiltedEnergy, effort: Effort, generator: Generator) -> Tensor:
    """The mean energy of the action that the published sampler finds at each state (B,)."""
    box, states = unit_box(energy), energy.proposal.means.shape[1]
    sampler = published_sampler()
    samples = sampler(MeanEnergy(energy), box.uniform((states, effort.starts), generator), box, generator=generator)
    return samples.energies.min(-1).values


def unit_box(energy: TiltedEnergy) -> Box:
    """The box of actions as the networks see them."""
    one = torch.ones_like(energy.proposal.means[0, 0, 0])
    return Box(-one, one)


def in_parts(states: Tensor, at: Callable[[Tensor], Tensor]) -> Tensor:
    """`at` of some states (B, S) at a time: (B,). Memory then does not grow with the number of states."""
    return torch.cat([at(part) for part in torch.split(states, STATES_AT_ONCE)])
