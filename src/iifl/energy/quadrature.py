"""Expectations under exp(−E/T) by Gauss-Legendre quadrature on a tensor grid over the box: the oracle of the samplers.

Exact to rounding for smooth energies in one to three dimensions; the figures and the tests compare with it.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from iifl.energy.box import Box
from iifl.energy.divergence import shared_jeffreys
from iifl.energy.function import Energy
from iifl.energy.samplers import log_importance_weights

MOST_NODES = 4_000_000


def grid(box: Box, points: int = 256) -> tuple[Tensor, Tensor]:
    """Nodes (points^A, A) and the logs of their quadrature weights (points^A,), which sum to the box's volume."""
    if not box.bounded:
        raise ValueError("quadrature needs a bounded box: give bounds wide enough to hold the density")
    if points**box.size > MOST_NODES:
        raise ValueError(f"{points}^{box.size} nodes are too many for quadrature: sample instead, or use fewer points")
    nodes, weights = np.polynomial.legendre.leggauss(points)
    axes = [torch.as_tensor(nodes).to(box.low.device)] * box.size
    unit = torch.stack(torch.meshgrid(*axes, indexing="ij"), dim=-1).reshape(-1, box.size)
    log_axes = [torch.as_tensor(np.log(weights)).to(box.low.device)] * box.size
    log_weights = torch.stack(torch.meshgrid(*log_axes, indexing="ij"), dim=-1).reshape(-1, box.size).sum(-1)
    double = Box(box.low.double(), box.high.double())
    return double.from_unit(unit), log_weights + float(double.half_range.log().sum())


def log_partition(energy: Energy, box: Box, *, points: int = 256, temperature: float = 1.0) -> Tensor:
    """log Z = log ∫ exp(−E/T) da over the box at each of the energy's leading indices."""
    nodes, log_weights = grid(box, points)
    return torch.logsumexp(-energy(nodes) / temperature + log_weights, -1)


def jeffreys(energies: Sequence[Energy], box: Box, *, points: int = 256, temperature: float = 1.0) -> Tensor:
    """The Jeffreys divergence, the mean over all pairs of the energies, at each of their leading indices."""
    nodes, log_weights = grid(box, points)
    on_nodes = torch.stack([energy(nodes) for energy in energies])
    weights = log_importance_weights(on_nodes, -log_weights, temperature)
    return shared_jeffreys(on_nodes, weights, temperature)
