"""The augmentation of the physical experiment: images as another light, lens and sensor might have given them.

The ranges are those of the paper (appendix "Physical Experiment Protocol"), applied in its order, each drawn anew for
every image. Images are (k, H, W, 3) in [0, 255], and stay there; an amount is (k, 1, 1, 1), or (k, 1, 1, 3) where each
colour has its own. What the paper leaves open: contrast is about the middle grey 127, as in common libraries, and the
noise of the three colours of a pixel is independent.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Generator, Tensor

from iifl.checks import ConfigError, at_least
from iifl.records import ObservationArray

CONTRAST = (0.85, 1.15)
ADDED = (-10.0, 10.0)
GAMMA = (0.9, 1.1)
BLUR = (0.0, 0.3)  # pixels
SATURATION = (0.95, 1.05)
NOISE = (0.0, 255 / 80)
MIDDLE = 127.0


def linear_contrast(images: Tensor, factor: Tensor) -> Tensor:
    """127 + factor · (v − 127)."""
    return (MIDDLE + factor * (images - MIDDLE)).clamp(0, 255)


def add(images: Tensor, amount: Tensor) -> Tensor:
    """v + amount."""
    return (images + amount).clamp(0, 255)


def gamma_contrast(images: Tensor, gamma: Tensor) -> Tensor:
    """255 · (v / 255)^gamma."""
    return 255 * (images / 255) ** gamma


def gaussian_blur(images: Tensor, deviation: Tensor) -> Tensor:
    """Each pixel with its neighbours, by exp(−d²/2σ²) of their distance d along each axis, the edge repeated.

    One neighbour on each side is enough: at σ = 0.3 the second one weighs 2e-10.
    """
    side = torch.exp(-0.5 / deviation.square())  # 0 at σ = 0
    total = 1 + 2 * side
    for axis in (1, 2):
        first, last = images.narrow(axis, 0, 1), images.narrow(axis, images.shape[axis] - 1, 1)
        padded = torch.cat([first, images, last], axis)
        before, after = padded.narrow(axis, 0, images.shape[axis]), padded.narrow(axis, 2, images.shape[axis])
        images = (images + side * (before + after)) / total
    return images


def saturation(images: Tensor, factor: Tensor) -> Tensor:
    """S · factor of each pixel's hue, saturation and value (HSV), at most 1.

    With V = max(R, G, B) and S = 1 − min(R, G, B)/V, that is V − (V − v) · factor for each colour v.
    """
    value = images.amax(-1, keepdim=True)
    span = value - images.amin(-1, keepdim=True)
    most = torch.where(span > 0, value / span, torch.inf)  # the factor at which S becomes 1
    return value - (value - images) * torch.minimum(factor, most)


def gaussian_noise(images: Tensor, deviation: Tensor, generator: Generator) -> Tensor:
    """v + σ ξ with ξ ~ N(0, 1) for every pixel and colour."""
    return (images + deviation * torch.randn(images.shape, generator=generator)).clamp(0, 255)


def altered(images: Tensor, generator: Generator) -> Tensor:
    """One altered copy of each image (k, H, W, 3), in bytes as they are."""

    def drawn(low_high: tuple[float, float], colours: int = 1) -> Tensor:
        low, high = low_high
        return low + (high - low) * torch.rand(len(images), 1, 1, colours, generator=generator)

    copies = linear_contrast(images.float(), drawn(CONTRAST))
    copies = add(copies, drawn(ADDED, colours=3))
    copies = gamma_contrast(copies, drawn(GAMMA))
    copies = gaussian_blur(copies, drawn(BLUR))
    copies = saturation(copies, drawn(SATURATION))
    return gaussian_noise(copies, drawn(NOISE), generator).round().byte()


@dataclass(frozen=True)
class Augmentation:
    """Several images for each: itself and its altered copies."""

    times: int = 10

    def __post_init__(self) -> None:
        at_least(self, 1, "times")

    def __call__(self, images: ObservationArray, rng: np.random.Generator) -> ObservationArray:
        """The images (k, H, W, 3), then each altered, then each altered again: (times · k, H, W, 3)."""
        if images.ndim != 4 or images.shape[-1] != 3 or images.dtype != np.uint8:
            raise ConfigError(
                f"observations of shape {images.shape[1:]} in {images.dtype} cannot be augmented, only images of "
                "bytes (H, W, 3): set learning.augmentation to 1"
            )
        generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        originals = torch.as_tensor(images)
        return torch.cat([originals, *(altered(originals, generator) for _ in range(self.times - 1))]).numpy()
