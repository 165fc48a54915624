"""Explicit policies (BC and IFL): an ensemble of bootstrapped regressions, unsure where its members differ.

The counterpart of section 4.3, as in the IFL benchmark: the action is the mean of the ensemble; the uncertainty is the
variance over the ensemble of each action dimension, averaged, divided by the variance of a fair coin on {low, high}.
"""

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from iifl.checks import at_least
from iifl.encoders import EncoderConfig, make_encoder
from iifl.policies.learner import Learner, Optimisation, Sizes
from iifl.policies.networks import EnsembleMLP
from iifl.records import Decision, ObservationArray


@dataclass(frozen=True)
class ExplicitConfig:
    """The published explicit policy: 5 networks, 2 hidden layers of 256, tanh, mean squared error."""

    kind: Literal["explicit"] = "explicit"
    """A regression ensemble."""
    members: int = 5
    """Models in the ensemble."""
    width: int = 256
    """Units in a hidden layer."""
    depth: int = 2
    """Hidden layers."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    """How it sees images."""
    optimisation: Optimisation = field(default_factory=lambda: Optimisation(learning_rate=1e-3, decay=1.0))
    """How it is trained."""

    def __post_init__(self) -> None:
        at_least(self, 1, "members", "width", "depth")


class ExplicitPolicy(Learner):
    """An ensemble of networks s → a."""

    def __init__(self, config: ExplicitConfig, sizes: Sizes, seed: int, device: str = "cpu") -> None:
        generator = torch.Generator().manual_seed(seed)
        encoder = make_encoder(sizes.seen, config.members, config.encoder, generator)
        layers = [encoder.features] + [config.width] * config.depth + [sizes.action]
        network = EnsembleMLP(config.members, layers, generator)
        super().__init__(encoder, network, sizes, config.optimisation, seed=seed, device=device)

    @torch.no_grad()
    def decide(self, observations: ObservationArray) -> Decision:
        """Mean and variance of the ensemble; in [−1, 1] a fair coin on the bounds has variance 1."""
        predictions = torch.tanh(self.model(self._states(observations)))  # (E, N, A)
        disagreement = predictions.var(0, correction=0).mean(-1)
        return Decision(self._world_actions(predictions.mean(0)), disagreement.cpu().numpy())

    def _losses(self, states: Tensor, actions: Tensor) -> Tensor:
        """Mean squared error of each member (E,)."""
        return (torch.tanh(self.model(states)) - actions).square().mean((1, 2))
