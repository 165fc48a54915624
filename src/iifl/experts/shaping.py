"""Terms added to a world's reward in training only, so that what is learned is gentle on the robot."""

from typing import Any

import numpy as np

from iifl.experts.adapter import Shaping
from iifl.records import FloatArray
from iifl.tasks.anymal import ANGULAR_SCALE, LINEAR_SCALE


def steady_base(task: Any, actions: FloatArray) -> FloatArray:
    """Anymal: the base neither bounces, pitches nor rolls, and above all does not fall (per second, as the reward)."""
    observation = task.observation
    bounce = (observation[:, 2] / LINEAR_SCALE) ** 2
    tumble = ((observation[:, 3:5] / ANGULAR_SCALE) ** 2).sum(axis=1)
    cost: FloatArray = -task.timestep * (bounce + 0.05 * tumble) - np.where(task.failed, 1.0, 0.0)
    return cost


def never_fall(task: Any, actions: FloatArray) -> FloatArray:
    """Ant: a fall costs as much as half a second of running, or the fastest gait is a reckless one."""
    return np.where(task.failed, -150.0, 0.0)


SHAPING: dict[str, Shaping] = {"ant": never_fall, "anymal": steady_base}
