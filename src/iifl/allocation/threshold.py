"""How unsure is too unsure: û, a high quantile of the uncertainty that the offline-only policy meets by itself.

The paper runs the policy that was only trained offline with N = 100 robots for T = 1000 timesteps, and takes the 99th
percentile of all N × T values (its appendix on hyperparameters).
"""

from dataclasses import dataclass

import numpy as np

from iifl.records import FloatArray


@dataclass(frozen=True)
class Threshold:
    """û and where it comes from, to be kept with every run that uses it."""

    value: float  # û
    quantile: float
    robots: int  # N of the calibrating run
    timesteps: int  # T of it
    policy: str  # the offline-only policy that was run


def calibrate(uncertainty: FloatArray, policy: str, quantile: float = 0.99) -> Threshold:
    """û from all uncertainty values (T, N) of the run of the offline-only policy that `policy` names."""
    if not 0 < quantile < 1:
        raise ValueError(f"the quantile must be between 0 and 1, not {quantile}")
    if uncertainty.ndim != 2:
        raise ValueError(f"the uncertainty of a run has shape (timesteps, robots), not {uncertainty.shape}")
    wrong = ~(np.isfinite(uncertainty) & (uncertainty >= 0))
    if wrong.any():
        timestep, robot = (int(i) for i in np.argwhere(wrong)[0])
        value = uncertainty[timestep, robot]
        raise ValueError(f"timestep {timestep}, robot {robot}: uncertainty is {value}, so there is no quantile to take")
    timesteps, robots = uncertainty.shape
    enough = round(1 / (1 - quantile))  # with fewer, no value lies above the quantile but the largest
    if uncertainty.size < enough:
        raise ValueError(
            f"{timesteps} timesteps of {robots} robots are {uncertainty.size} values: the quantile {quantile} needs at "
            f"least {enough}; run more robots or longer"
        )
    return Threshold(float(np.quantile(uncertainty, quantile)), quantile, robots, timesteps, policy)
