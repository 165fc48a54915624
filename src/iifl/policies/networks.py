"""Multi-layer perceptrons of all ensemble members as one module: each weight has a leading ensemble axis."""

import itertools
import math

import torch
from torch import Generator, Tensor, nn


class EnsembleMLP(nn.Module):
    """E networks x → y with ReLU between their layers: (E, B, inputs), or (B, inputs) for all, → (E, B, outputs)."""

    def __init__(self, members: int, sizes: list[int], generator: Generator) -> None:
        super().__init__()
        pairs = list(itertools.pairwise(sizes))
        # As `torch.nn.Linear` begins. What a network does far from its data it has from its beginning: begun with six
        # times this variance (He et al. 2015), implicit policies lost 69 of 100 balls of Ball Balance, with this one 8.
        self.weights = nn.ParameterList(_uniform(members, i, o, i, generator) for i, o in pairs)
        self.biases = nn.ParameterList(_uniform(members, 1, o, i, generator) for i, o in pairs)
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


def _uniform(members: int, rows: int, columns: int, inputs: int, generator: Generator) -> Tensor:
    """Uniform numbers between ±1/√inputs (members, rows, columns)."""
    uniform: Tensor = 2 * torch.rand(members, rows, columns, generator=generator) - 1
    return uniform / math.sqrt(inputs)
