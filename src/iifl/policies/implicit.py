"""The implicit policy of this project: an energy-based model with a learned proposal, so that no chain is needed.

Each member's energy is

    E(s, a) = −log q(a|s) + f(s, a),   π(a|s) = exp(−E(s, a)) / Z(s)   (Eq. 3, at temperature 1),

with q a mixture density learned by likelihood and f a correction learned by ranking noise-contrastive estimation
against draws from q (Eq. 5 with the proposal's log density, Singh et al. 2023). Whatever q cannot express, f does.
f is bounded, so π/q is too, and draws from q with importance weights stand for draws from π. docs/fast-path.md has the
whole argument; `langevin.py` is the published policy, which samples by long chains from uniform starts.

One set of draws serves the action and the uncertainty: the action is the draw (or mixture mean) with the lowest mean
energy of the ensemble (Eq. 1), the uncertainty the Jeffreys divergence of the members (Identity 1) on the same draws.
"""

import math
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Generator, Tensor, nn

from iifl.checks import ConfigError, above, at_least
from iifl.encoders import EncoderConfig, make_encoder
from iifl.energy.divergence import shared_jeffreys
from iifl.energy.losses import info_nce
from iifl.energy.networks import ConditionalEnergy, EnergyEnsemble, EnergyNetwork
from iifl.energy.samplers import log_importance_weights
from iifl.policies.learner import Learner, Optimisation, Sizes
from iifl.policies.mixture import WIDEST, TruncatedMixture
from iifl.policies.networks import EnsembleMLP
from iifl.records import Decision, FloatArray, ObservationArray

MODES = 16
"""Components whose means are candidates for an action: the likeliest of each member, from all members together."""

LINE_SEARCHES, LENGTHS = 3, (0.0, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0)
"""How often the best candidate goes downhill, and the shares of the mean shift's length that are tried each time."""


@dataclass(frozen=True)
class ImplicitConfig:
    """The implicit policy with a learned proposal."""

    kind: Literal["implicit"] = "implicit"
    """An energy-based ensemble with a learned proposal."""
    members: int = 2
    """n, models in the ensemble."""
    width: int = 256
    """Units in a hidden layer of the proposal, which is computed once per state."""
    correction_width: int = 64
    """Units in a hidden layer of the correction, which is computed once per draw."""
    depth: int = 2
    """Hidden layers of both."""
    components: int = 4
    """Gaussians in the proposal's mixture: as many as there are ways to do it that are to be kept apart."""
    narrowest: float = 0.05
    """The floor of their widths, in half action ranges."""
    correction: float = 2.0
    """The bound of f, in nats; a larger one moves the action more than it tells (docs/fast-path.md)."""
    counter_examples: int = 16
    """Draws from the proposal that a human's action is ranked against."""
    blur: float = 0.0
    """The action is that of lowest energy after blurring π by so many half action ranges, walked down the true energy:
    where people do one of two things, what more of them do, not what they do more exactly. 0: of π itself (Eq. 1)."""
    draws: int = 64
    """Draws for each robot's action and uncertainty, from all members together."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    """How it sees images."""
    optimisation: Optimisation = field(default_factory=lambda: Optimisation(learning_rate=1e-3, weight_decay=1.0))
    """How it is trained; with the decay of weights two members err as little as the explicit five."""

    def __post_init__(self) -> None:
        at_least(self, 2, "members")
        at_least(self, 1, "width", "correction_width", "depth", "components", "counter_examples")
        at_least(self, self.members, "draws")
        above(self, 0, "narrowest", "correction")
        at_least(self, 0, "blur")
        if self.narrowest >= WIDEST:
            raise ConfigError(f"ImplicitConfig.narrowest is {self.narrowest}; it must be below {WIDEST}")


class TiltedMixture(nn.Module):
    """The energies of all members: proposals q and corrections f."""

    def __init__(self, config: ImplicitConfig, features: int, action_size: int, generator: Generator) -> None:
        super().__init__()
        outputs = TruncatedMixture.parameters(config.components, action_size)
        layers = [features] + [config.width] * config.depth + [outputs]
        shape = EnergyNetwork(config.correction_width, config.depth, spectral_norm=False)
        self.config = config
        self.proposal_network = EnsembleMLP(config.members, layers, generator)
        self.correction_network = EnergyEnsemble(config.members, features, action_size, shape, generator)
        nn.init.zeros_(self.correction_network.weights[-1])  # f = 0: until it has learned, π is the proposal
        nn.init.zeros_(self.correction_network.biases[-1])

    def at(self, states: Tensor) -> "TiltedEnergy":
        """The energies at states (B, F), or (E, B, F) with a batch for each member."""
        raw = self.proposal_network(states)
        proposal = TruncatedMixture.of(raw, self.config.components, self.config.narrowest)
        return TiltedEnergy(proposal, self.correction_network.at(states), self.config.correction)


@dataclass(frozen=True)
class TiltedEnergy:
    """E energies at B states: actions (E, B, K, A), or (B, K, A) for all members, → (E, B, K)."""

    proposal: TruncatedMixture
    free_correction: ConditionalEnergy
    bound: float

    def correction(self, actions: Tensor) -> Tensor:
        """f, between −bound and bound."""
        return self._bounded(self.free_correction(actions))

    def __call__(self, actions: Tensor) -> Tensor:
        """−log q + f."""
        return self.correction(actions) - self.proposal.log_density(actions)

    def value_and_grad(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Energies (E, B, K) and ∂E/∂a (E, B, K, A), written out."""
        free, slope, _ = self._slope(actions)
        return self._bounded(free) - self.proposal.log_density(actions), slope

    def downhill(self, actions: Tensor) -> Tensor:
        """The way down the mean energy of the members from actions (B, K, A): (B, K, A).

        It is the slope divided by the precision of the mixtures, so its length is right where f is flat: there it is
        the mean shift (Fukunaga and Hostetler 1975), which leads to the nearest mode of the product of the mixtures.
        """
        _, slope, precision = self._slope(actions)
        return -slope.mean(0) / precision.mean(0)

    def _slope(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """f before its bound (E, B, K), and ∂E/∂a and the mixtures' precision (E, B, K, A)."""
        slope, precision = self.proposal.slope(actions)
        free, free_slope = self.free_correction.value_and_grad(actions)
        return free, slope + (1 - torch.tanh(free / self.bound).square()).unsqueeze(-1) * free_slope, precision

    def _bounded(self, free: Tensor) -> Tensor:
        return self.bound * torch.tanh(free / self.bound)


class ImplicitPolicy(Learner):
    """An ensemble of tilted mixtures, sampled without chains."""

    model: TiltedMixture

    def __init__(self, config: ImplicitConfig, sizes: Sizes, seed: int, device: str = "cpu") -> None:
        self.config = config
        generator = torch.Generator().manual_seed(seed)
        encoder = make_encoder(sizes.seen, config.members, config.encoder, generator)
        model = TiltedMixture(config, encoder.features, sizes.action, generator)
        super().__init__(encoder, model, sizes, config.optimisation, seed=seed, device=device)

    @torch.no_grad()
    def decide(self, observations: ObservationArray) -> Decision:
        """Actions and uncertainties from one set of draws."""
        energy = self.model.at(self._states(observations))
        proposal, members = energy.proposal, self.config.members
        draws = _together(proposal.spread(self.config.draws // members, self.generator))  # of all proposals alike
        modes = proposal.mean_shift(_together(proposal.modes(MODES // members)))
        candidates = torch.cat([draws, modes], 1)  # (N, K + MODES, A)

        log_density = proposal.log_density(candidates)  # (E, N, K + MODES)
        energies = energy.correction(candidates) - log_density
        judged = energies
        if self.config.blur:
            judged = energies + log_density - proposal.blurred(self.config.blur).log_density(candidates)
        actions = _descended(energy, _lowest(candidates, judged.mean(0)))

        K = draws.shape[1]
        drawn, log_pool = energies[..., :K], torch.logsumexp(log_density[..., :K], 0) - math.log(members)
        uncertainty = shared_jeffreys(drawn, log_importance_weights(drawn, log_pool))
        return Decision(self._world_actions(actions.squeeze(1)), uncertainty.cpu().numpy())

    @torch.no_grad()
    def energies(self, observations: ObservationArray, actions: FloatArray) -> FloatArray:
        """E of every member at observations (B, *S) and K actions of the world for each (B, K, A): (E, B, K)."""
        scaled = self.normalisation.scaled(torch.as_tensor(actions, dtype=torch.float32, device=self.device))
        energies: FloatArray = self.model.at(self._states(observations))(scaled).cpu().numpy()
        return energies

    def _losses(self, states: Tensor, actions: Tensor) -> Tensor:
        """Likelihood of the proposal and ranking of the whole energy, each by its own parameters (E,)."""
        energy = self.model.at(states)
        likelihood = energy.proposal.log_density(actions.unsqueeze(2)).mean((1, 2))
        with torch.no_grad():
            counter_examples = energy.proposal.sample(self.config.counter_examples, self.generator)
        # The logits −E − log q of ranking NCE are −f: the proposal's density cancels, and learns from likelihood alone.
        tilt = energy.correction(torch.cat([actions.unsqueeze(2), counter_examples], 2))
        return info_nce(tilt[..., 0], tilt[..., 1:]).mean(1) - likelihood


def _descended(energy: TiltedEnergy, actions: Tensor) -> Tensor:
    """Where a few line searches down the mean energy of the members lead: one action for each state (N, 1, A)."""
    lengths = actions.new_tensor(LENGTHS).unsqueeze(-1)
    for _ in range(LINE_SEARCHES):
        tried = (actions + lengths * energy.downhill(actions)).clamp(-1, 1)  # (N, LENGTHS, A)
        actions = _lowest(tried, energy(tried).mean(0))
    return actions


def _lowest(candidates: Tensor, energies: Tensor) -> Tensor:
    """Of the candidates (N, K, A) at each state the one with the lowest energy (N, K): (N, 1, A)."""
    return candidates.take_along_dim(energies.argmin(-1, keepdim=True).unsqueeze(-1), 1)


def _together(actions: Tensor) -> Tensor:
    """The actions of all members (E, B, K, A) as one set (B, E·K, A)."""
    return actions.transpose(0, 1).flatten(1, 2)
