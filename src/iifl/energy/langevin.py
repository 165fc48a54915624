"""The formulas of Langevin dynamics for the Boltzmann density exp(−E/T), with step size ε:

    a' = a − ε∇E(a) + √(2εT) ξ,  ξ ~ N(0, I),

and of the Metropolis-Hastings correction (Roberts and Tweedie 1996) that makes the density exact:

    log r = −(E(a') − E(a))/T + log q(a | a') − log q(a' | a),  log q(a' | a) = −‖a' − a + ε∇E(a)‖² / (4εT) + const.

A step size is a number, or a tensor that broadcasts against actions (..., K, A).
"""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from iifl.energy.box import Box
from iifl.energy.function import Energy, value_and_grad

Step = float | Tensor


def noise_deviation(step: Step, temperature: float) -> Step:
    """√(2εT)."""
    return (2 * step * temperature) ** 0.5


def drift(gradients: Tensor, step: Step) -> Tensor:
    """−ε∇E: downhill."""
    return -step * gradients


def log_transition(to: Tensor, start: Tensor, gradients: Tensor, step: Step, temperature: float) -> Tensor:
    """log q(to | start) up to a constant that both directions share: (..., K)."""
    missed = to - start - drift(gradients, step)
    return -(missed.square() / (4 * step * temperature)).sum(-1)


@dataclass(frozen=True)
class Walkers:
    """Where the chains are, in the unit coordinates of the box."""

    unit: Tensor  # (..., K, A)
    energies: Tensor  # (..., K)
    gradients: Tensor  # (..., K, A) of the energy by the unit coordinates


@dataclass(frozen=True)
class Landscape:
    """An energy seen in the unit coordinates of its box."""

    energy: Energy
    box: Box

    def at(self, unit: Tensor) -> Walkers:
        """Energies and gradients there."""
        energies, gradients = value_and_grad(self.energy, self.box.from_unit(unit))
        return Walkers(unit, energies, gradients * self.box.half_range)

    def clip(self, unit: Tensor) -> Tensor:
        """The nearest points in the box."""
        return torch.clamp(unit, self.box.to_unit(self.box.low), self.box.to_unit(self.box.high))


def log_acceptance(now: Walkers, proposed: Walkers, step: Step, temperature: float) -> Tensor:
    """log r of the Metropolis-Hastings rule (..., K)."""
    forth = log_transition(proposed.unit, now.unit, now.gradients, step, temperature)
    back = log_transition(now.unit, proposed.unit, proposed.gradients, step, temperature)
    return -(proposed.energies - now.energies) / temperature + back - forth


def metropolis_step(
    landscape: Landscape, now: Walkers, step: Step, temperature: float, generator: Generator
) -> tuple[Walkers, Tensor]:
    """One Metropolis-adjusted Langevin step of every chain, and each one's acceptance probability (..., K).

    A proposal outside the box is rejected. That is the Metropolis-Hastings rule itself for the density restricted to
    the box: it is zero outside, so the ratio is zero, and the proposal's own density needs no change.
    """
    noise = _noise_like(now.unit, generator)
    to = now.unit + drift(now.gradients, step) + noise_deviation(step, temperature) * noise
    inside = landscape.clip(to)
    proposed = landscape.at(inside)  # an energy is never asked about actions outside the box
    allowed = (inside == to).all(-1)
    probability = torch.where(allowed, log_acceptance(now, proposed, step, temperature).clamp(max=0).exp(), 0.0)
    uniforms = torch.rand(probability.shape, generator=generator, dtype=probability.dtype, device=probability.device)
    accept = uniforms < probability
    chosen = accept.unsqueeze(-1)
    walkers = Walkers(
        torch.where(chosen, proposed.unit, now.unit),
        torch.where(accept, proposed.energies, now.energies),
        torch.where(chosen, proposed.gradients, now.gradients),
    )
    return walkers, probability


def langevin_step(
    landscape: Landscape,
    now: Walkers,
    step: float,
    temperature: float,
    *,
    generator: Generator,
    max_update: float | None = None,
) -> Walkers:
    """One unadjusted step of every chain, clipped to the box; each coordinate moves by at most `max_update`."""
    noise = _noise_like(now.unit, generator)
    update = drift(now.gradients, step) + noise_deviation(step, temperature) * noise
    if max_update is not None:
        update = update.clamp(-max_update, max_update)
    return landscape.at(landscape.clip(now.unit + update))


def adapted(step: Tensor, probability: Tensor, target: float, gain: float) -> Tensor:
    """The step (..., 1, 1) moved towards the target acceptance, given that of its chains (..., K)."""
    surplus = probability.mean(-1, keepdim=True).unsqueeze(-1) - target
    return step * torch.exp(gain * surplus)


def _noise_like(actions: Tensor, generator: Generator) -> Tensor:
    return torch.randn(actions.shape, generator=generator, dtype=actions.dtype, device=actions.device)
