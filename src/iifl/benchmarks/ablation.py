"""What each step of the way from the published timestep to the fast one brings: every step measured, in turns.

A timestep of the published method is 3 sets of chains (one for the action, two for the uncertainty) of 512 samples and
100 Langevin iterations for each of 100 robots. Their cost is in proportion to robots and iterations, so all steps with
chains are measured on 8 robots and 4 iterations, and scaled; the last step is measured whole. A row's ratio is the time
of the step before over its own, its seconds are those of a timestep of the fleet.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from iifl.benchmarks.policies import ACTION, OBSERVATION, ROBOTS, fleet_observations, sizes
from iifl.benchmarks.rows import Row, seconds
from iifl.energy.box import Box
from iifl.energy.function import Energy
from iifl.energy.networks import EnergyEnsemble, EnergyNetwork
from iifl.energy.samplers import published_sampler
from iifl.policies.implicit import ImplicitConfig, ImplicitPolicy

FEW_ROBOTS, FEW_ITERATIONS, ITERATIONS, TURNS = 8, 4, 100, 5
SCALED = (ROBOTS / FEW_ROBOTS) * (ITERATIONS / FEW_ITERATIONS)
LARGE, SMALL = EnergyNetwork(), EnergyNetwork(width=128, depth=3)
"""The paper's network, and one that fits a small CPU."""


@dataclass(frozen=True)
class Chains:
    """Langevin chains of one member: how its energy is computed, how large it is, and how many sets and samples."""

    energy: Callable[[EnergyEnsemble, Tensor], Energy]
    network: EnergyNetwork = LARGE
    sets: int = 3
    samples: int = 512

    def timestep(self) -> Callable[[], float]:
        """Measures the sets one after the other; gives the seconds of a timestep of the whole fleet."""
        model = EnergyEnsemble(1, OBSERVATION, ACTION, self.network, torch.Generator().manual_seed(0)).eval()
        states = torch.as_tensor(fleet_observations(FEW_ROBOTS))
        one = torch.ones(ACTION)
        box, generator, sampler = Box(-one, one), torch.Generator().manual_seed(0), published_sampler(FEW_ITERATIONS)

        @torch.no_grad()
        def chains() -> None:
            energy = self.energy(model, states)
            for _ in range(self.sets):
                start = box.uniform((1, FEW_ROBOTS, self.samples), generator)
                sampler(energy, start, box, generator=generator)

        return lambda: SCALED * seconds(chains)


def naive(model: EnergyEnsemble, states: Tensor) -> Energy:
    """The network on rows [s, a], with autograd's gradient."""
    weights = [norm(weight) for norm, weight in zip(model.norms, model.weights[:-1], strict=True)]

    def energy(actions: Tensor) -> Tensor:  # (1, B, K, A)
        rows = torch.cat([states.view(1, -1, 1, OBSERVATION).expand(*actions.shape[:-1], OBSERVATION), actions], -1)
        hidden = rows.flatten(0, -2)
        for weight, bias in zip(weights, model.biases[:-1], strict=True):
            hidden = (hidden @ weight[0] + bias[0]).relu()
        energies: Tensor = hidden @ model.weights[-1][0] + model.biases[-1][0]
        return energies.view(actions.shape[:-1])

    return energy


def split(model: EnergyEnsemble, states: Tensor) -> Energy:
    """The state's part of the first layer once, with autograd's gradient."""
    return model.at(states).__call__  # a method, which offers no gradient


def written(model: EnergyEnsemble, states: Tensor) -> Energy:
    """The gradient written out, rows in chunks that stay in cache."""
    return model.at(states)


def halved(model: EnergyEnsemble, states: Tensor) -> Energy:
    """The same, with hidden products in bfloat16."""
    return model.at(states, torch.bfloat16)


STEPS: dict[str, Chains] = {
    "as published: 3 sets of chains, 256 × 6, 512 samples, autograd": Chains(naive),
    "the state's part of the first layer once": Chains(split),
    "a written gradient, in chunks that stay in cache": Chains(written),
    "(aside: hidden products in bfloat16)": Chains(halved),
    "one set of chains of both models for action and uncertainty": Chains(written, sets=2),
    "a network of 128 × 3": Chains(written, SMALL, sets=2),
    "64 samples": Chains(written, SMALL, sets=2, samples=64),
}
FAST = "a learned proposal instead of chains (the fast policy)"


def benchmark_ablation() -> list[Row]:
    """The ladder; an aside is compared with the step before it, and the next step too."""
    measures = {name: step.timestep() for name, step in STEPS.items()}
    policy = ImplicitPolicy(ImplicitConfig(), sizes(), seed=0)
    observations = fleet_observations()
    measures[FAST] = lambda: float(np.median([seconds(lambda: policy.decide(observations)) for _ in range(10)]))
    for measure in measures.values():
        measure()
    times = np.array([[measure() for measure in measures.values()] for _ in range(TURNS)])  # (turns, steps)
    rows, before = [], 0
    for i, name in enumerate(measures):
        low, ratio, high = np.quantile(times[:, before] / times[:, i], [0.25, 0.5, 0.75])
        settings = {"threads": torch.get_num_threads(), "turns": TURNS, "scaled_by": 1.0 if name == FAST else SCALED}
        rows.append(Row(f"step: {name}", float(ratio), float(high - low), float(np.median(times[:, i])), settings))
        if not name.startswith("("):
            before = i
    return rows
