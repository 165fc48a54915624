"""Multi-layer perceptrons of all ensemble members as one module: each weight has a leading ensemble axis."""

import itertools

import torch
from torch import Generator, Tensor, nn


class EnsembleMLP(nn.Module):
    """E networks x → y with ReLU between their layers: (E, B, inputs), or (B, inputs) for all, → (E, B, outputs)."""

    def __init__(self, members: int, sizes: list[int], generator: Generator) -> None:
        super().__init__()
        pairs = list(itertools.pairwise(sizes))
        # He et al. 2015: variance 2 / fan-in keeps the scale of activations through ReLU layers.
        self.weights = nn.ParameterList(
            torch.randn(members, i, o, generator=generator) * (2 / i) ** 0.5 for i, o in pairs
        )
        # Random biases spread the kinks of the first layer over the states; zeros would put all of them at the mean.
        self.biases = nn.ParameterList(
            (2 * torch.rand(members, 1, o, generator=generator) - 1) / i**0.5 for i, o in pairs
        )
        self.members = members

    def forward(self, inputs: Tensor) -> Tensor:
        """The outputs of all members."""
        hidden = inputs.expand(self.members, *inputs.shape[-2:])
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = torch.baddbmm(bias, hidden, weight)
            if layer < last:
                hidden = hidden.relu()
        return hidden
