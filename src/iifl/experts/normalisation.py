"""Mean and standard deviation of a stream of observations (Chan, Golub and LeVeque 1979)."""

import numpy as np

from iifl.records import FloatArray

CLIP = 10.0
"""Normalised observations beyond this are clipped: a jammed foot must not blind the network."""


class RunningNormalisation:
    """Brings observations to mean 0 and standard deviation 1, as far as they are known."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.mean: FloatArray = np.zeros(shape)
        self.variance: FloatArray = np.ones(shape)
        self.count = 1e-4

    def __call__(self, observations: FloatArray, learn: bool) -> FloatArray:
        """Normalised observations (N, S); with `learn`, they first count themselves."""
        if learn:
            self._learn(observations)
        return normalised(observations, self.mean, np.sqrt(self.variance + 1e-8))

    def _learn(self, observations: FloatArray) -> None:
        n = len(observations)
        total = self.count + n
        step = observations.mean(axis=0, dtype=np.float64) - self.mean
        scatter = self.variance * self.count + observations.var(axis=0, dtype=np.float64) * n
        self.variance = (scatter + step**2 * self.count * n / total) / total
        self.mean = self.mean + step * n / total
        self.count = total


def normalised(observations: FloatArray, mean: FloatArray, std: FloatArray) -> FloatArray:
    """(observations − mean) / std, clipped, as float32."""
    scaled: FloatArray = np.clip((observations - mean) / std, -CLIP, CLIP).astype(np.float32)
    return scaled
