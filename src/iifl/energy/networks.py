"""Energy networks E_θ(s, a): an ensemble of MLPs in one module, each weight with a leading ensemble axis.

With hidden layers h_1 = W_s s + W_a a + b, h_{i+1} = W_i relu(h_i) + b_i (plus h_i for a residual network) and
E = w · relu(h_L) + b, the part of h_1 that depends on the state is computed once per state, and the gradient ∂E/∂a is
written out, so that a sampler pays neither for the state nor for autograd's tape at each of its iterations.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Generator, Tensor, nn

from iifl.energy.spectral import SpectralNorm

ROWS_PER_CHUNK = 4096
"""Rows (states × actions) that one pass takes when no tape is kept: their activations then stay in cache."""

ROWS_PER_GPU_CHUNK = 1 << 18
"""The same on a GPU: enough to fill it, and a few gigabytes of activations at most."""


@dataclass(frozen=True)
class EnergyNetwork:
    """The shape of one member; the defaults are the published runs'."""

    width: int = 256
    depth: int = 6  # hidden layers
    kind: Literal["mlp", "residual"] = "mlp"
    spectral_norm: bool = True  # on hidden layers, not on the last

    def __post_init__(self) -> None:
        if self.width < 1 or self.depth < 1:
            raise ValueError(f"an energy network needs width and depth of at least 1, got {self.width}, {self.depth}")
        if self.kind not in ("mlp", "residual"):
            raise ValueError(f"unknown kind of energy network '{self.kind}': use 'mlp' or 'residual'")


class EnergyEnsemble(nn.Module):
    """E energy networks of one shape, computed together."""

    def __init__(
        self, members: int, state_size: int, action_size: int, network: EnergyNetwork, generator: Generator
    ) -> None:
        super().__init__()
        self.members, self.state_size, self.action_size, self.network = members, state_size, action_size, network
        inputs = [state_size + action_size] + [network.width] * network.depth
        outputs = [network.width] * network.depth + [1]
        # He et al. 2015: variance 2 / fan-in keeps the scale of activations through ReLU layers.
        self.weights = nn.ParameterList(
            torch.randn(members, i, o, generator=generator) * (2 / i) ** 0.5
            for i, o in zip(inputs, outputs, strict=True)
        )
        # Random biases spread the kinks of the first layer over the inputs; zeros would put all of them at the origin.
        self.biases = nn.ParameterList(
            (2 * torch.rand(members, 1, o, generator=generator) - 1) / i**0.5
            for i, o in zip(inputs, outputs, strict=True)
        )
        norms = [SpectralNorm(w, generator) for w in self.weights[:-1]] if network.spectral_norm else []
        self.norms = nn.ModuleList(norms)

    def at(self, states: Tensor, dtype: torch.dtype | None = None) -> "ConditionalEnergy":
        """The energies of all members at states (B, S), or (E, B, S) with a batch for each member.

        In training mode this also takes one power iteration of the spectral norms. `dtype` is that of the hidden
        products (bfloat16 is fastest on CPUs that have it); energies come in float32 at least.
        """
        if states.ndim not in (2, 3) or states.shape[-1] != self.state_size:
            raise ValueError(f"states must be (B, {self.state_size}) or (E, B, {self.state_size}), got {states.shape}")
        hidden = list(self.weights[:-1])
        if self.norms:
            hidden = [norm(weight) for norm, weight in zip(self.norms, hidden, strict=True)]
        dtype = dtype or hidden[0].dtype
        states = states.expand(self.members, *states.shape[-2:])
        of_states, of_actions = hidden[0].split([self.state_size, self.action_size], dim=1)
        return ConditionalEnergy(
            from_state=torch.baddbmm(self.biases[0], states.to(of_states.dtype), of_states).to(dtype),
            of_actions=of_actions.to(dtype),
            weights=[w.to(dtype) for w in hidden[1:]],
            biases=[b.to(dtype) for b in self.biases[1:-1]],
            last_weight=self.weights[-1],
            last_bias=self.biases[-1],
            residual=self.network.kind == "residual",
        )


@dataclass(frozen=True)
class ConditionalEnergy:
    """E energies at B states: actions (E, B, K, A), or (B, K, A) shared by the members, → energies (E, B, K)."""

    from_state: Tensor  # (E, B, W): the part of the first hidden layer that the states give
    of_actions: Tensor  # (E, A, W)
    weights: list[Tensor]  # (E, W, W) each
    biases: list[Tensor]  # (E, 1, W) each
    last_weight: Tensor  # (E, W, 1)
    last_bias: Tensor  # (E, 1, 1)
    residual: bool

    def __call__(self, actions: Tensor) -> Tensor:
        """Energies (E, B, K)."""
        return torch.cat([self._energies(part, a)[0] for part, a in self._chunks(actions)], dim=1)

    def only(self, member: int) -> "ConditionalEnergy":
        """The energies of one member, with an ensemble axis of 1."""
        one = slice(member, member + 1)
        return ConditionalEnergy(
            from_state=self.from_state[one],
            of_actions=self.of_actions[one],
            weights=[weight[one] for weight in self.weights],
            biases=[bias[one] for bias in self.biases],
            last_weight=self.last_weight[one],
            last_bias=self.last_bias[one],
            residual=self.residual,
        )

    def value_and_grad(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Energies (E, B, K) and ∂E/∂a (E, B, K, A), which is itself differentiable by the weights."""
        energies, gradients = zip(*(self._value_and_grad(part, a) for part, a in self._chunks(actions)), strict=True)
        return torch.cat(energies, dim=1), torch.cat(gradients, dim=1)

    def _chunks(self, actions: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Some of the states' parts (E, b, W) with their actions (E, b, K, A)."""
        E, B, _ = self.from_state.shape
        if actions.ndim not in (3, 4) or actions.shape[-1] != self.of_actions.shape[1]:
            raise ValueError(
                f"actions must be ({E}, {B}, K, {self.of_actions.shape[1]}) or lack the first axis, "
                f"got {tuple(actions.shape)}"
            )
        actions = actions.expand(E, B, *actions.shape[-2:])
        rows = ROWS_PER_CHUNK if actions.device.type == "cpu" else ROWS_PER_GPU_CHUNK
        states = B if torch.is_grad_enabled() else max(1, rows // (E * actions.shape[2]))
        for start in range(0, B, states):
            yield self.from_state[:, start : start + states], actions[:, start : start + states]

    def _energies(self, from_state: Tensor, actions: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Energies (E, b, K), and the relu of every hidden layer (E, b·K, W)."""
        E, b, K, _ = actions.shape
        relu = torch.relu if self.residual else torch.relu_  # in place: fresh memory costs more than the relu itself
        hidden = torch.bmm(actions.reshape(E, b * K, -1).to(self.of_actions.dtype), self.of_actions)
        hidden = hidden.view(E, b, K, -1).add_(from_state.unsqueeze(2)).flatten(1, 2)
        active = [relu(hidden)]
        for weight, bias in zip(self.weights, self.biases, strict=True):
            product = torch.baddbmm(bias, active[-1], weight)
            hidden = hidden + product if self.residual else product
            active.append(relu(hidden))
        # The last product is in the parameters' own dtype: differences of energies need more digits than bfloat16 has.
        last = torch.linalg.vecdot(active[-1].to(self.last_weight.dtype), self.last_weight.transpose(1, 2))
        return (last + self.last_bias.squeeze(-1)).view(E, b, K), active

    def _value_and_grad(self, from_state: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        energies, active = self._energies(from_state, actions)
        last = self.last_weight.to(active[-1].dtype).transpose(1, 2)  # (E, 1, W)
        gradient = _through_relu(last.expand_as(active[-1]), active[-1])
        for weight, here in zip(reversed(self.weights), reversed(active[:-1]), strict=True):
            product = _through_relu(torch.bmm(gradient, weight.transpose(1, 2)), here)
            gradient = gradient + product if self.residual else product
        gradient = torch.bmm(gradient, self.of_actions.transpose(1, 2))
        return energies, gradient.view(actions.shape).to(actions.dtype)


def _through_relu(gradient: Tensor, active: Tensor) -> Tensor:
    """The gradient before a relu from the one after it, where `active` is the relu's output: one fused pass."""
    passed: Tensor = torch.ops.aten.threshold_backward(gradient, active, 0)
    return passed
