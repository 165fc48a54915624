"""The picture of the augmentations: an image as it was, each transformation at its ends, and what comes out of all."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from iifl import augmentation
from iifl.augmentation import altered
from iifl.records import ObservationArray
from iifl.report.figures import save_figure, style


def _noise(images: Tensor, deviation: Tensor) -> Tensor:
    return augmentation.gaussian_noise(images, deviation, torch.Generator().manual_seed(0))


ENDS: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], tuple[float, float], str]] = {
    "contrast": (augmentation.linear_contrast, augmentation.CONTRAST, "{:.0%}"),
    "add": (augmentation.add, augmentation.ADDED, "{:+.0f}"),
    "gamma": (augmentation.gamma_contrast, augmentation.GAMMA, "{:.0%}"),
    "blur": (augmentation.gaussian_blur, augmentation.BLUR, "σ = {:.1f} px"),
    "saturation": (augmentation.saturation, augmentation.SATURATION, "{:.0%}"),
    "noise": (_noise, augmentation.NOISE, "σ = {:.1f}"),
}
"""Each transformation with its range and how an amount is written."""


def alterations(images: ObservationArray, path: Path) -> None:
    """The first of the images (k, H, W, 3) under each transformation at both ends, and copies with all of them."""
    original = torch.as_tensor(images[:1]).float()
    copies = altered(torch.as_tensor(images[:1]).repeat(len(ENDS) + 1, 1, 1, 1), torch.Generator().manual_seed(0))
    with style():
        figure = Figure(figsize=(1.35 * (len(ENDS) + 1), 4.7), layout="constrained")
        grid = figure.subplots(3, len(ENDS) + 1)
        _show(grid[0, 0], original[0], "original")
        grid[1, 0].set_axis_off()
        for axes, (name, (transformation, ends, written)) in zip(grid[:2, 1:].T, ENDS.items(), strict=True):
            for place, end in zip(axes, ends, strict=True):
                _show(place, transformation(original, torch.full((1, 1, 1, 1), end))[0], written.format(end))
            axes[0].set_title(f"{name}\n{written.format(ends[0])}", fontsize=9)
        for place, copy in zip(grid[2], copies, strict=True):
            _show(place, copy, "")
        grid[2, 0].set_title("seven copies, with all of them at random", fontsize=9, loc="left")
        save_figure(figure, path)


def _show(axes: Axes, image: Tensor, title: str) -> None:
    axes.imshow(image.numpy().round().astype(np.uint8), interpolation="nearest")
    axes.set_title(title, fontsize=9)
    axes.set_axis_off()
