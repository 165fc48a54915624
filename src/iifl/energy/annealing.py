"""Annealed sampling from the uniform density to exp(−E/T): right weights for every mode, and the partition function.

Particles start uniform in the box and pass densities exp(−β E/T), β from 0 to 1. At each stage a particle's weight
takes the factor exp(−Δβ E/T), then Metropolis-adjusted Langevin steps leave the stage's density as it is: annealed
importance sampling (Neal 2001). Where few particles carry most of the weight they are resampled (sequential Monte
Carlo, Del Moral et al. 2006), so that far modes keep their mass without a chain having to cross between them.
"""

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from iifl.energy.box import Box
from iifl.energy.function import Energy, checked
from iifl.energy.langevin import Landscape, Walkers, adapted, metropolis_step
from iifl.energy.samplers import BEST_ACCEPTANCE, Samples, check_start

GAIN = 0.5
"""The step size follows its best value, which falls by orders of magnitude on the way, at this constant gain."""


@dataclass(frozen=True)
class AnnealedSampling:
    """Stages β = (stage / stages)^power, `moves` steps at each; resamples below a share of effective particles.

    With `resample_below=0` it is annealed importance sampling as Neal has it. Step sizes follow the mean acceptance of
    all particles, so that the estimate of Z is unbiased up to the O(1/K) by which one particle moves that mean.
    """

    stages: int = 64
    moves: int = 2
    resample_below: float = 0.5
    power: float = 4.0
    first_step: float = 0.1

    def __call__(
        self, energy: Energy, start: Tensor, box: Box, *, generator: Generator, temperature: float = 1.0
    ) -> Samples:
        """Weighted samples in the shape of the start."""
        return self.with_log_partition(energy, start, box, generator=generator, temperature=temperature)[0]

    def with_log_partition(
        self, energy: Energy, start: Tensor, box: Box, *, generator: Generator, temperature: float = 1.0
    ) -> tuple[Samples, Tensor]:
        """The samples, and log Z = log ∫ exp(−E/T) da over the box at each leading index (...)."""
        check_start(start, box, temperature)
        landscape = Landscape(energy, box)
        walkers = landscape.at(box.to_unit(box.uniform(start.shape[:-1], generator)))
        count = walkers.energies.shape[-1]
        log_weights = torch.zeros_like(walkers.energies)
        log_partition = torch.full_like(walkers.energies[..., 0], box.log_volume)
        scale = torch.full((*start.shape[:-2], 1, 1), self.first_step, dtype=start.dtype, device=start.device)
        acceptance = torch.zeros_like(walkers.energies)
        beta = 0.0
        for stage in range(1, self.stages + 1):
            previous, beta = beta, (stage / self.stages) ** self.power
            log_weights = log_weights - (beta - previous) * walkers.energies / temperature
            mean_weight = torch.logsumexp(log_weights, -1) - math.log(count)
            few = torch.exp(-torch.logsumexp(2 * torch.log_softmax(log_weights, -1), -1)) < self.resample_below * count
            if bool(few.any()):
                walkers = _resampled(walkers, log_weights, few, generator)
                log_partition = log_partition + torch.where(few, mean_weight, 0.0)
                log_weights = torch.where(few.unsqueeze(-1), 0.0, log_weights)
            for _ in range(self.moves):
                # ε = scale·β/T at temperature T/β: noise √(2·scale) and drift −scale·∇(βE/T), fit for a small β too.
                step = scale * beta / temperature
                walkers, acceptance = metropolis_step(landscape, walkers, step, temperature / beta, generator)
                scale = adapted(scale, acceptance, BEST_ACCEPTANCE, GAIN)
        actions = box.from_unit(walkers.unit)
        log_partition = log_partition + torch.logsumexp(log_weights, -1) - math.log(count)
        weights = torch.log_softmax(log_weights, -1)
        return Samples(actions, checked(walkers.energies, actions), weights, acceptance), log_partition


def log_partition(
    energy: Energy,
    box: Box,
    shape: tuple[int, ...],
    *,
    generator: Generator,
    temperature: float = 1.0,
    stages: int = 128,
    moves: int = 2,
) -> Tensor:
    """log Z = log ∫ exp(−E/T) da over the box, by annealed importance sampling (Neal 2001).

    `shape` is (..., K): the energy's leading axes and the number of particles; the answer has the shape (...).
    """
    sampling = AnnealedSampling(stages, moves, resample_below=0.0)
    start = box.center.expand(*shape, box.size)
    return sampling.with_log_partition(energy, start, box, generator=generator, temperature=temperature)[1]


def _resampled(walkers: Walkers, log_weights: Tensor, few: Tensor, generator: Generator) -> Walkers:
    """Particles drawn by their weights where `few`, unchanged elsewhere."""
    chosen = systematic_resample(log_weights, generator)
    chosen = torch.where(few.unsqueeze(-1), chosen, torch.arange(chosen.shape[-1], device=chosen.device))
    return Walkers(
        walkers.unit.take_along_dim(chosen.unsqueeze(-1), dim=-2),
        walkers.energies.take_along_dim(chosen, dim=-1),
        walkers.gradients.take_along_dim(chosen.unsqueeze(-1), dim=-2),
    )


def systematic_resample(log_weights: Tensor, generator: Generator) -> Tensor:
    """Indices (..., K) of K draws by their weights, with one random offset per row: the least noisy unbiased draw."""
    count = log_weights.shape[-1]
    cumulative = torch.softmax(log_weights.double(), -1).cumsum(-1)
    offset = torch.rand(*log_weights.shape[:-1], 1, generator=generator, dtype=torch.double, device=log_weights.device)
    positions = (torch.arange(count, dtype=torch.double, device=log_weights.device) + offset) / count
    return torch.searchsorted(cumulative, positions).clamp(max=count - 1)
