"""All models' samples as one weighted set for every model: multistate reweighting (Shirts and Chodera 2008, MBAR).

Samples of n densities exp(−E_j/T)/Z_j are together draws of their mixture, so each counts for model i in proportion to

    exp(−E_i/T) / Σ_j exp(−E_j/T)/Z_j,

where the Z_j (up to a common factor) are those that make each model's total weight one. A divergence from these weights
uses every sample for every model: where the models are close, its relative error stays at 1/√K, while that of separate
means grows without bound.
"""

import math

import torch
from torch import Tensor

MOST_ITERATIONS = 100
TOLERANCE = 1e-4
"""In nats of log Z; the iteration is slow only where models hardly overlap: there the weights hardly depend on Z."""


def pooled(energies: Tensor, log_weights: Tensor | None = None, temperature: float = 1.0) -> tuple[Tensor, Tensor]:
    """Energies and normalised log weights for each model, at all models' samples: both (n, ..., n·K), in float64.

    `energies` (n, n, ..., K) holds at [i, j] the energy E_i at samples of π_j; `log_weights` (n, ..., K) are the
    samples' own, normalised, if they do not all count alike.
    """
    models, count = len(energies), energies.shape[-1]
    everywhere = energies.double().movedim(1, -2).flatten(-2)  # (n, ..., n·K), samples of model 0 first
    everywhere = everywhere - everywhere[..., :1]  # each model's own constant does not matter
    log_density = -everywhere / temperature
    if log_weights is None:
        log_measure = torch.full_like(everywhere[0], -math.log(count))
    else:
        log_measure = log_weights.double().movedim(0, -2).flatten(-2)  # (..., n·K)
    # log Z = E_π[−E/T] plus the entropy of π, and the entropies of the models hardly differ: a start near the end, that
    # depends neither on constants nor on the order of the models.
    own = (log_measure.exp() * log_density).reshape(*log_density.shape[:-1], models, count).sum(-1)  # (n, ..., n)
    log_z = torch.diagonal(own, dim1=0, dim2=-1).movedim(-1, 0).unsqueeze(-1)  # (n, ..., 1)
    for _ in range(MOST_ITERATIONS):
        log_mixture = torch.logsumexp(log_density - log_z, 0)  # (..., n·K)
        log_total = torch.logsumexp(log_measure + log_density - log_mixture, -1, keepdim=True)
        moved = (log_total - log_z) - (log_total - log_z).mean(0)  # only ratios of partition functions are known
        log_z = log_z + moved
        if float(moved.abs().max()) < TOLERANCE:
            break
    log_mixture = torch.logsumexp(log_density - log_z, 0)
    return everywhere, torch.log_softmax(log_measure + log_density - log_mixture, -1)
