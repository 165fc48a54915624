"""From observations to what the layers of an ensemble see: standardised vectors as they are, images as features.

Three convolutions turn an image into feature maps at a quarter of its resolution, and each map into the mean place of a
softmax over it (Levine et al. 2016, arXiv:1504.00702) and its highest value: where something is, to a fraction of a
pixel, and whether it is there. Every member of the ensemble has weights of its own; all members are one grouped
convolution.
"""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import conv2d

from iifl.checks import at_least
from iifl.records import Form


@dataclass(frozen=True)
class EncoderConfig:
    """How images become features; vectors need no encoder."""

    channels: int = 16
    """Feature maps of the first convolution; the other two have twice as many."""

    def __post_init__(self) -> None:
        at_least(self, 1, "channels")


class Standardisation(nn.Module):
    """Observations less their mean, over their standard deviation: of each component, or of each colour of an image."""

    mean: Tensor
    std: Tensor

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(form.shape[-1]))
        self.register_buffer("std", torch.ones(form.shape[-1]))

    def fit(self, observations: Tensor) -> None:
        """Take them from these observations (n, *S); a constant component stays as it is."""
        axes = tuple(range(observations.ndim - 1))
        numbers = observations.to(self.mean.dtype)
        std = numbers.std(axes, correction=0)
        self.mean.copy_(numbers.mean(axes))
        self.std.copy_(torch.where(std > 1e-6, std, torch.ones_like(std)))

    def forward(self, observations: Tensor) -> Tensor:
        """Standardised observations (..., *S)."""
        standardised: Tensor = (observations - self.mean) / self.std
        return standardised


class VectorEncoder(nn.Module):
    """Vectors are features already: (B, S), or (E, B, S) with a batch for each member, stays what it is."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        (self.features,) = form.shape

    def forward(self, vectors: Tensor) -> Tensor:
        """The same vectors."""
        return vectors


class ImageEncoder(nn.Module):
    """Images (B, H, W, C), or (E, B, H, W, C) with a batch for each member → features (E, B, F) of each member."""

    def __init__(self, form: Form, members: int, config: EncoderConfig, generator: Generator) -> None:
        super().__init__()
        self.members = members
        narrow, wide = config.channels, 2 * config.channels
        self.features = 3 * wide
        layers = [(form.shape[-1], narrow, 5), (narrow, wide, 3), (wide, wide, 3)]  # inputs, outputs, kernel
        # He et al. 2015: variance 2 / fan-in keeps the scale of activations through ReLU layers.
        self.weights = nn.ParameterList(
            torch.randn(members * o, i, k, k, generator=generator) * (2 / (i * k * k)) ** 0.5 for i, o, k in layers
        )
        self.biases = nn.ParameterList(torch.zeros(members * o) for _, o, _ in layers)

    def forward(self, images: Tensor) -> Tensor:
        """The features of all members."""
        images = images.expand(self.members, *images.shape[-4:])
        maps = images.permute(1, 0, 4, 2, 3).flatten(1, 2)  # (B, E·C, H, W)
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            stride = 1 if layer == last else 2
            maps = conv2d(maps, weight, bias, stride, padding=weight.shape[-1] // 2, groups=self.members)
            if layer < last:
                maps = maps.relu()
        maps = maps.reshape(len(maps), self.members, -1, *maps.shape[-2:]).transpose(0, 1)  # (E, B, maps, h, w)
        return torch.cat([*mean_places(maps), maps.amax((-2, -1))], -1)


Encoder = VectorEncoder | ImageEncoder


def make_encoder(form: Form, members: int, config: EncoderConfig, generator: Generator) -> Encoder:
    """The encoder for observations of this form; one for vectors draws no random number."""
    return ImageEncoder(form, members, config, generator) if form.is_image else VectorEncoder(form)


def mean_places(maps: Tensor) -> tuple[Tensor, Tensor]:
    """The mean x and y of the softmax over each map (..., h, w), from −1 at its left and top to 1: (...) each."""
    height, width = maps.shape[-2:]
    mass = torch.softmax(maps.flatten(-2), -1).view(maps.shape)
    x, y = (torch.linspace(-1, 1, n, dtype=maps.dtype, device=maps.device) for n in (width, height))
    return mass.sum(-2) @ x, mass.sum(-1) @ y
