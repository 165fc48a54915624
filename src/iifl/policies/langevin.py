"""The published implicit policy: energy networks, sampled by Langevin chains from uniform starts (IBC, IIFL).

Actions, uncertainty and counter-examples come from separate sets of chains, as published. `LangevinConfig()` has the
hyper-parameters of the paper. The published sampler settles at temperature noise² = 0.109 and its samples count as
samples of π (`energy/samplers.py`), so the divergence is that of the sharper densities, times 0.109.
"""

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from iifl.checks import at_least
from iifl.encoders import EncoderConfig, make_encoder
from iifl.energy.box import Box
from iifl.energy.divergence import jeffreys
from iifl.energy.function import cross_energies
from iifl.energy.losses import gradient_penalty, info_nce
from iifl.energy.networks import ConditionalEnergy, EnergyEnsemble, EnergyNetwork
from iifl.energy.samplers import Samples, published_sampler
from iifl.policies.learner import Learner, Optimisation, Sizes
from iifl.records import Decision, FloatArray, ObservationArray


@dataclass(frozen=True)
class LangevinConfig:
    """The implicit policy with Langevin chains; the defaults are those of the paper."""

    kind: Literal["langevin"] = "langevin"
    """An energy-based ensemble with Langevin chains."""
    members: int = 2
    """n, models in the ensemble."""
    width: int = 256
    """Units in a hidden layer."""
    depth: int = 6
    """Hidden layers."""
    iterations: int = 100
    """Langevin iterations of every chain."""
    counter_examples: int = 8
    """Chains for each of the humans' actions in training."""
    draws: int = 512
    """Chains for each robot's action, and again for its uncertainty under each model."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    """How it sees images."""
    optimisation: Optimisation = field(default_factory=Optimisation)
    """How it is trained."""

    def __post_init__(self) -> None:
        at_least(self, 2, "members")
        at_least(self, 1, "width", "depth", "iterations", "counter_examples", "draws")


def small_langevin() -> LangevinConfig:
    """The published method at a size that fits a small CPU."""
    return LangevinConfig(
        width=128,
        depth=3,
        iterations=25,
        draws=64,
        optimisation=Optimisation(batch=128, learning_rate=1e-3),
    )


class LangevinPolicy(Learner):
    """An ensemble of spectrally normalised MLPs E(s, a); the robots act with its first member."""

    model: EnergyEnsemble

    def __init__(self, config: LangevinConfig, sizes: Sizes, seed: int, device: str = "cpu") -> None:
        self.config = config
        shape = EnergyNetwork(config.width, config.depth)
        generator = torch.Generator().manual_seed(seed)
        encoder = make_encoder(sizes.seen, config.members, config.encoder, generator)
        model = EnergyEnsemble(config.members, encoder.features, sizes.action, shape, generator)
        super().__init__(encoder, model, sizes, config.optimisation, seed=seed, device=device)
        one = torch.ones(sizes.action, device=self.device)
        self.box = Box(-one, one)
        self.sampler = published_sampler(config.iterations)

    def act(self, observations: ObservationArray) -> FloatArray:
        """See `Policy.act`."""
        return self._act(self._energy(observations))

    def uncertainty(self, observations: ObservationArray) -> FloatArray:
        """See `Policy.uncertainty`."""
        return self._uncertainty(self._energy(observations))

    def decide(self, observations: ObservationArray) -> Decision:
        """Both, from their own chains; only the states are encoded once."""
        energy = self._energy(observations)
        return Decision(self._act(energy), self._uncertainty(energy))

    @torch.no_grad()
    def _energy(self, observations: ObservationArray) -> ConditionalEnergy:
        self.model.eval()
        return self.model.at(self._states(observations))

    @torch.no_grad()
    def _act(self, energy: ConditionalEnergy) -> FloatArray:
        """The end of lowest energy of a set of chains of the first member."""
        return self._world_actions(self._sample(energy.only(0), self.config.draws).best()[0])

    @torch.no_grad()
    def _uncertainty(self, energy: ConditionalEnergy) -> FloatArray:
        """The Jeffreys divergence on a set of chains of every member."""
        samples = self._sample(energy, self.config.draws)
        divergence: FloatArray = jeffreys(cross_energies(energy, samples.actions)).clamp(min=0).cpu().numpy()
        return divergence

    def _losses(self, states: Tensor, actions: Tensor) -> Tensor:
        """InfoNCE against chains of the present model, and the gradient penalty on them (E,)."""
        self.model.train()
        energy = self.model.at(states)
        with torch.no_grad():
            chains = self._sample(energy, self.config.counter_examples).actions
        energies = energy(torch.cat([actions.unsqueeze(2), chains], 2))
        _, gradients = energy.value_and_grad(chains)
        penalty = gradient_penalty(gradients)
        return (info_nce(energies[..., 0], energies[..., 1:]) + penalty).mean(1)

    def _sample(self, energy: ConditionalEnergy, count: int) -> Samples:
        """The ends of `count` chains from uniform starts for every member and state."""
        members, states, _ = energy.from_state.shape
        start = self.box.uniform((members, states, count), self.generator)
        return self.sampler(energy, start, self.box, generator=self.generator)
