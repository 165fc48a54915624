"""The Jeffreys divergence of energy-based models (Identity 1), the paper's uncertainty:

    D_J(π₁‖π₂) = E_π₁[E₂ − E₁] + E_π₂[E₁ − E₂],   π_i = exp(−E_i) / Z_i.

At temperature T the models are π_i = exp(−E_i/T) / Z_i, so samples must be drawn at T and the identity reads E/T for E.
With D_ij the mean of E_i under π_j, the divergence of a pair is (D_ij + D_ji − D_ii − D_jj) / T. Sums are in float64
and on energies less each model's own energy at one common action: a constant added to an energy then changes nothing
but the last digit of the energies themselves.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from iifl.energy.annealing import AnnealedSampling
from iifl.energy.box import Bound, Box
from iifl.energy.function import Energy, checked
from iifl.energy.pooling import pooled


def jeffreys(energies: Tensor, log_weights: Tensor | None = None, temperature: float = 1.0) -> Tensor:
    """The divergence from each model's own samples, the mean over all pairs of n models: (...).

    `energies` (n, n, ..., K) holds at [i, j] the energy E_i at samples of π_j (see `cross_energies`); `log_weights`
    (n, ..., K) are those of the samples, normalised, if they do not all count alike.
    """
    return mean_over_pairs(pairwise_jeffreys(energies, log_weights, temperature))


def pairwise_jeffreys(energies: Tensor, log_weights: Tensor | None = None, temperature: float = 1.0) -> Tensor:
    """The divergences of all pairs of models, each from the two models' own samples: (n, n, ...)."""
    if energies.ndim < 3 or energies.shape[0] != energies.shape[1] or len(energies) < 2:
        raise ValueError(f"energies must be (n, n, ..., K) for n ≥ 2 models, got {tuple(energies.shape)}")
    centred = energies.double() - energies[:, :1, ..., :1].double()
    if log_weights is None:
        return _pairwise(centred.mean(-1), temperature)
    return _pairwise((log_weights.double().exp() * centred).sum(-1), temperature)


def shared_jeffreys(energies: Tensor, log_weights: Tensor, temperature: float = 1.0) -> Tensor:
    """The divergence from one set of samples weighted for each model, the mean over all pairs: (...).

    `energies` and normalised `log_weights` are (n, ..., K). A pair gives Σ_k (w₁ − w₂)(E₂ − E₁)/T. Where each model's
    weights are some common measure times exp(−E_i/T) (`log_importance_weights`), that is exactly the Jeffreys
    divergence of the two weighted sets, so it is never negative.
    """
    return mean_over_pairs(pairwise_shared_jeffreys(energies, log_weights, temperature))


def pairwise_shared_jeffreys(energies: Tensor, log_weights: Tensor, temperature: float = 1.0) -> Tensor:
    """The divergences of all pairs of models from one set of samples weighted for each: (n, n, ...)."""
    if energies.ndim < 2 or energies.shape != log_weights.shape or len(energies) < 2:
        raise ValueError(
            f"energies and log weights must both be (n, ..., K) for n ≥ 2 models, "
            f"got {tuple(energies.shape)} and {tuple(log_weights.shape)}"
        )
    centred = energies.double() - energies[..., :1].double()
    weights = torch.log_softmax(log_weights.double(), -1).exp()
    means = torch.einsum("i...k,j...k->ij...", centred, weights)
    return _pairwise(means, temperature).clamp(min=0)  # the clamp only takes off rounding


def pooled_jeffreys(energies: Tensor, log_weights: Tensor | None = None, temperature: float = 1.0) -> Tensor:
    """The divergence from each model's own samples, every sample used for every model (see `pooling`): (...).

    Takes what `jeffreys` takes. It is never negative, and the better estimate where the models are close.
    """
    return shared_jeffreys(*pooled(energies, log_weights, temperature), temperature)


def _pairwise(means: Tensor, temperature: float) -> Tensor:
    """(n, n, ...) divergences from D_ij, the mean of E_i under π_j (n, n, ...)."""
    own = torch.diagonal(means).movedim(-1, 0)  # (n, ...)
    return (means + means.transpose(0, 1) - (own.unsqueeze(0) + own.unsqueeze(1))) / temperature


def mean_over_pairs(divergences: Tensor) -> Tensor:
    """The mean over the n(n − 1)/2 unordered pairs of a symmetric (n, n, ...): (...)."""
    models = len(divergences)
    first, second = torch.triu_indices(models, models, offset=1)
    return divergences[first, second].mean(0)


def jeffreys_divergence(
    energies: Sequence[Energy],
    low: Bound,
    high: Bound,
    *,
    samples: int = 16_384,
    seed: int = 0,
    temperature: float = 1.0,
) -> float:
    """The Jeffreys divergence of Boltzmann densities exp(−E/T) on the box [low, high], from their own samples.

    Each energy maps float64 actions (..., A) to energies (...), in torch operations. Two energies give their
    divergence, more the mean over all pairs. The samples are annealed from uniform ones and weighted, so that modes
    count by their mass however far apart they are; the default number of them keeps Gaussians in up to 12 dimensions
    within 5 % of the closed form. For a density without bounds, give a box that holds its mass.

    Every energy is sampled with the same random numbers: the order of the energies then changes only the rounding, and
    what their samples have in common cancels.
    """
    if len(energies) < 2:
        raise ValueError(f"a divergence needs at least two energies, got {len(energies)}")
    box = Box.of(low, high, torch.float64)
    start = box.center.expand(samples, box.size)
    drawn = [
        AnnealedSampling()(e, start, box, generator=torch.Generator().manual_seed(seed), temperature=temperature)
        for e in energies
    ]
    crossed = torch.stack([torch.stack([checked(e(d.actions), d.actions) for d in drawn]) for e in energies])
    return float(pooled_jeffreys(crossed, torch.stack([d.log_weights for d in drawn]), temperature))
