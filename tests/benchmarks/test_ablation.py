"""The ladder compares like with like: every way to compute the published energy gives the same energy and gradient."""

import pytest
import torch

from iifl.benchmarks.ablation import ACTION, FEW_ROBOTS, OBSERVATION, halved, naive, split, written
from iifl.benchmarks.policies import fleet_observations
from iifl.energy.function import value_and_grad
from iifl.energy.networks import EnergyEnsemble, EnergyNetwork


@pytest.mark.parametrize(("way", "tolerance"), [(split, 1e-4), (written, 1e-4), (halved, 0.1)])
def test_every_step_computes_the_energy_of_the_first(way, tolerance):
    generator = torch.Generator().manual_seed(0)
    model = EnergyEnsemble(1, OBSERVATION, ACTION, EnergyNetwork(width=32, depth=3), generator).eval()
    states = torch.as_tensor(fleet_observations(FEW_ROBOTS))
    actions = 2 * torch.rand(1, FEW_ROBOTS, 16, ACTION, generator=generator) - 1
    with torch.no_grad():
        expected, found = (value_and_grad(make(model, states), actions) for make in (naive, way))
    for one, other in zip(expected, found, strict=True):
        assert (one - other).norm() < tolerance * one.norm()
