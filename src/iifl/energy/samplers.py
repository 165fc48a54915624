"""Samplers of the Boltzmann density exp(−E/T) on a box of actions: one signature, the temperature always explicit.

Every sampler is a frozen description that is called as

    sampler(energy, start, box, temperature=T, generator=g) -> Samples

with start actions (..., K, A), one for each of the K samples wanted at each leading index. Chains begin there,
importance sampling weighs them, and samplers that need no start use only their shape. Step sizes are in the box's unit
coordinates.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Generator, Tensor

from iifl.energy.box import Box
from iifl.energy.function import Energy, checked
from iifl.energy.langevin import Landscape, adapted, langevin_step, metropolis_step
from iifl.energy.schedules import Constant, PolynomialDecay, Schedule

BEST_ACCEPTANCE = 0.574
"""The acceptance at which Metropolis-adjusted Langevin mixes fastest in many dimensions (Roberts, Rosenthal 1998)."""

SMALL_STEPS = Constant(0.01)


@dataclass(frozen=True)
class Samples:
    """Weighted samples of a density: E[f] ≈ Σ_k exp(log_weights_k) f(a_k) at each leading index."""

    actions: Tensor  # (..., K, A)
    energies: Tensor  # (..., K)
    log_weights: Tensor  # (..., K), their exponentials sum to one
    acceptance: Tensor  # (..., K) mean acceptance probability of each chain; 1 where nothing is rejected

    @staticmethod
    def unweighted(actions: Tensor, energies: Tensor, acceptance: Tensor | None = None) -> "Samples":
        """Samples that all count alike."""
        alike = torch.full_like(energies, -math.log(energies.shape[-1]))
        return Samples(actions, energies, alike, torch.ones_like(energies) if acceptance is None else acceptance)

    def mean(self, values: Tensor) -> Tensor:
        """The expectation of values (..., K)."""
        return (self.log_weights.exp() * values).sum(-1)

    def best(self) -> Tensor:
        """The action with the lowest energy at each leading index (..., A): the policy's action of Eq. (1)."""
        lowest = self.energies.argmin(-1, keepdim=True).unsqueeze(-1)
        return self.actions.take_along_dim(lowest, dim=-2).squeeze(-2)

    def effective_size(self) -> Tensor:
        """Kish's effective number of samples 1 / Σ w² (...), between 1 and K."""
        return torch.exp(-torch.logsumexp(2 * self.log_weights, -1))


class Sampler(Protocol):
    """What all samplers are."""

    def __call__(
        self, energy: Energy, start: Tensor, box: Box, *, generator: Generator, temperature: float = 1.0
    ) -> Samples:
        """Samples of exp(−E/T) restricted to the box, as many as there are start actions."""
        ...


def log_importance_weights(energies: Tensor, log_proposal: Tensor | float = 0.0, temperature: float = 1.0) -> Tensor:
    """Self-normalised log weights of draws from a proposal q (..., K): −E/T − log q, less its logsumexp."""
    return torch.log_softmax(-energies / temperature - log_proposal, dim=-1)


@dataclass(frozen=True)
class Uniform:
    """Uniform actions in the box, whatever the energy."""

    def __call__(
        self, energy: Energy, start: Tensor, box: Box, *, generator: Generator, temperature: float = 1.0
    ) -> Samples:
        """Fresh uniform actions in the shape of the start."""
        check_start(start, box, temperature)
        actions = box.uniform(start.shape[:-1], generator)
        return Samples.unweighted(actions, checked(energy(actions), actions))


@dataclass(frozen=True)
class ImportanceSampling:
    """The start actions are draws from a proposal, uniform in the box unless its log density is given."""

    log_proposal: Callable[[Tensor], Tensor] | None = None

    def __call__(
        self, energy: Energy, start: Tensor, box: Box, *, generator: Generator, temperature: float = 1.0
    ) -> Samples:
        """The start actions with self-normalised weights exp(−E/T)/q, zero outside the box."""
        check_start(start, box, temperature)
        energies = checked(energy(start), start)
        log_proposal = 0.0 if self.log_proposal is None else self.log_proposal(start)
        inside = torch.where(box.contains(start), energies, torch.inf)
        return Samples(
            start, energies, log_importance_weights(inside, log_proposal, temperature), torch.ones_like(energies)
        )


@dataclass(frozen=True)
class DerivativeFree:
    """Implicit Behavior Cloning's optimiser (Florence et al. 2021, algorithm 1): resample by exp(−E/T), add noise.

    Its noise shrinks at every iteration; it finds low energies, and does not sample the density.
    """

    iterations: int = 3
    noise: float = 0.33  # of half the action range
    shrink: float = 0.5

    def __call__(
        self, energy: Energy, start: Tensor, box: Box, *, generator: Generator, temperature: float = 1.0
    ) -> Samples:
        """The start actions after `iterations` rounds."""
        check_start(start, box, temperature)
        actions, energies = start, checked(energy(start), start)
        for iteration in range(self.iterations):
            probabilities = torch.softmax(-energies / temperature, dim=-1)
            rows = probabilities.reshape(-1, probabilities.shape[-1]).float()
            chosen = torch.multinomial(rows, rows.shape[-1], replacement=True, generator=generator)
            actions = actions.take_along_dim(chosen.reshape(probabilities.shape).unsqueeze(-1), dim=-2)
            noise = torch.randn(actions.shape, generator=generator, dtype=actions.dtype, device=actions.device)
            actions = box.clip(actions + self.noise * self.shrink**iteration * box.half_range * noise)
            energies = checked(energy(actions), actions)
        return Samples.unweighted(actions, energies)


@dataclass(frozen=True)
class Langevin:
    """Unadjusted Langevin chains a ← a − ε∇E + √(2εT)·noise·ξ, clipped to the box; exact only as ε → 0.

    With `noise` other than 1 the chains settle at the temperature noise²·T instead of T.
    """

    iterations: int = 100
    schedule: Schedule = SMALL_STEPS
    noise: float = 1.0
    max_update: float | None = None

    def __call__(
        self, energy: Energy, start: Tensor, box: Box, *, generator: Generator, temperature: float = 1.0
    ) -> Samples:
        """The end of every chain."""
        check_start(start, box, temperature)
        landscape = Landscape(energy, box)
        walkers = landscape.at(box.to_unit(start))
        for iteration in range(self.iterations):
            step = self.schedule(iteration, self.iterations)
            effective = self.noise**2 * temperature
            walkers = langevin_step(
                landscape, walkers, step, effective, generator=generator, max_update=self.max_update
            )
        actions = box.from_unit(walkers.unit)
        return Samples.unweighted(actions, checked(walkers.energies, actions))


def published_sampler(iterations: int = 100) -> Langevin:
    """The sampler of the published runs (512 uniform starts): noise 0.33, so in truth at temperature 0.109, not 1."""
    return Langevin(iterations, PolynomialDecay(0.1, 1e-5, 2), noise=0.33, max_update=0.1)


@dataclass(frozen=True)
class MetropolisLangevin:
    """Metropolis-adjusted Langevin chains: their stationary density is exp(−E/T) on the box, exactly.

    During the burn-in the step size of each leading index moves towards the best acceptance; then it is fixed.
    """

    iterations: int = 100
    burn_in: int = 100
    first_step: float = 0.01
    target_acceptance: float = BEST_ACCEPTANCE

    def __call__(
        self, energy: Energy, start: Tensor, box: Box, *, generator: Generator, temperature: float = 1.0
    ) -> Samples:
        """The end of every chain, with its acceptance after the burn-in."""
        check_start(start, box, temperature)
        landscape = Landscape(energy, box)
        walkers = landscape.at(box.to_unit(start))
        step = torch.full((*start.shape[:-2], 1, 1), self.first_step, dtype=start.dtype, device=start.device)
        total = torch.zeros_like(walkers.energies)
        for iteration in range(self.burn_in + self.iterations):
            walkers, probability = metropolis_step(landscape, walkers, step, temperature, generator)
            if iteration < self.burn_in:
                gain = 2 / (iteration + 1) ** 0.6  # Robbins and Monro's: its sum diverges, that of its squares does not
                step = adapted(step, probability, self.target_acceptance, gain)
            else:
                total += probability
        actions = box.from_unit(walkers.unit)
        return Samples.unweighted(actions, checked(walkers.energies, actions), total / max(1, self.iterations))


def check_start(start: Tensor, box: Box, temperature: float) -> None:
    """Refuse a start that is no (..., K, A) in the box's size, or a temperature that is not positive."""
    if start.ndim < 2 or start.shape[-1] != box.size:
        raise ValueError(f"start actions must be (..., K, {box.size}) for this box, got {tuple(start.shape)}")
    if not (0 < temperature < math.inf):
        raise ValueError(f"the temperature must be positive and finite, got {temperature}")
