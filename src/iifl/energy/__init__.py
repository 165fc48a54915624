"""Energy-based models: networks, samplers, losses and divergences, for anyone with a Boltzmann density exp(−E/T).

Everything here takes an energy as a function of actions with its state already bound, and knows nothing of fleets.
"""

from iifl.energy.annealing import AnnealedSampling, log_partition
from iifl.energy.box import Box
from iifl.energy.divergence import jeffreys, jeffreys_divergence, pairwise_jeffreys, pooled_jeffreys, shared_jeffreys
from iifl.energy.function import Energy, cross_energies, value_and_grad
from iifl.energy.losses import gradient_penalty, info_nce
from iifl.energy.networks import ConditionalEnergy, EnergyEnsemble, EnergyNetwork
from iifl.energy.samplers import (
    DerivativeFree,
    ImportanceSampling,
    Langevin,
    MetropolisLangevin,
    Sampler,
    Samples,
    Uniform,
    log_importance_weights,
    published_sampler,
)
from iifl.energy.schedules import Constant, PolynomialDecay, Schedule

__all__ = [
    "AnnealedSampling",
    "Box",
    "ConditionalEnergy",
    "Constant",
    "DerivativeFree",
    "Energy",
    "EnergyEnsemble",
    "EnergyNetwork",
    "ImportanceSampling",
    "Langevin",
    "MetropolisLangevin",
    "PolynomialDecay",
    "Sampler",
    "Samples",
    "Schedule",
    "Uniform",
    "cross_energies",
    "gradient_penalty",
    "info_nce",
    "jeffreys",
    "jeffreys_divergence",
    "log_importance_weights",
    "log_partition",
    "pairwise_jeffreys",
    "pooled_jeffreys",
    "published_sampler",
    "shared_jeffreys",
    "value_and_grad",
]
