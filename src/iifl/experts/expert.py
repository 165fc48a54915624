"""A trained expert: a deterministic policy, in plain arrays, that needs no training library to act."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from iifl.experts.cards import WEIGHTS
from iifl.experts.normalisation import normalised
from iifl.records import FloatArray


@dataclass(frozen=True)
class Expert:
    """A multilayer perceptron with ELU units on normalised observations; its output is clipped to [-1, 1]."""

    mean: FloatArray  # (S,)
    std: FloatArray  # (S,)
    weights: tuple[FloatArray, ...]  # (out, in) each
    biases: tuple[FloatArray, ...]

    def act(self, observations: FloatArray) -> FloatArray:
        """The expert's actions for observations (k, S): (k, A), inside the action box."""
        x = normalised(observations, self.mean, self.std)
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = x @ weight.T + bias
            if layer < last:
                x = np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
        return np.clip(x, -1.0, 1.0)

    def save(self, path: Path) -> None:
        """Write the expert as safetensors."""
        layers = {f"weight.{i}": w for i, w in enumerate(self.weights)}
        layers |= {f"bias.{i}": b for i, b in enumerate(self.biases)}
        save_file({"mean": self.mean, "std": self.std, **layers}, path)

    @staticmethod
    def load(path: Path) -> "Expert":
        """Read an expert that `save` wrote."""
        arrays = load_file(path)
        layers = range(sum(key.startswith("weight.") for key in arrays))
        return Expert(
            arrays["mean"],
            arrays["std"],
            tuple(arrays[f"weight.{i}"] for i in layers),
            tuple(arrays[f"bias.{i}"] for i in layers),
        )

    @staticmethod
    def of(world: str) -> "Expert":
        """The expert of a world that ships with the package."""
        path = WEIGHTS / f"{world}.safetensors"
        if not path.exists():
            known = ", ".join(sorted(p.stem for p in WEIGHTS.glob("*.safetensors"))) or "none"
            raise FileNotFoundError(f"no trained expert for '{world}' (there are: {known}); run `iifl train-expert`")
        return Expert.load(path)
