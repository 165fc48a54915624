"""Terms added to a world's reward in training only, so that what is learned is gentle on the robot."""

from typing import Any

import numpy as np

from iifl.experts.adapter import Shaping
from iifl.records import FloatArray
from iifl.tasks.anymal import ANGULAR_SCALE, LINEAR_SCALE


def steady_walk(task: Any, actions: FloatArray) -> FloatArray:
    """Anymal, per second: the base neither bounces nor tumbles, and a command far away is felt from afar.

    The world's own reward is flat where the velocity is more than 1 m/s off, so that a fast command teaches nothing at
    first; a kernel four times as wide leads there.
    """
    observation = task.observation
    linear, _ = task.velocity_errors()
    bounce = (observation[:, 2] / LINEAR_SCALE) ** 2
    tumble = ((observation[:, 3:5] / ANGULAR_SCALE) ** 2).sum(axis=1)
    per_second = 0.5 * np.exp(-(linear**2)) - 0.5 * bounce - 0.02 * tumble
    shaped: FloatArray = task.timestep * per_second - np.where(task.failed, 1.0, 0.0)
    return shaped


def upright(task: Any, actions: FloatArray) -> FloatArray:
    """Ant: the torso stays level and calm, or the fastest gait is a bound that now and then turns a somersault.

    Speed beyond 5 m/s is not paid for: what it adds to the return is less than what its falls take.
    """
    observation = task.observation
    tilt = 1.0 - observation[:, 10]
    tumble = (observation[:, 4:6] ** 2).sum(axis=1)
    hurry = np.maximum(task.qvel[:, 0] - 5.0, 0.0)
    cost: FloatArray = -6.0 * tilt - 0.03 * tumble - hurry - np.where(task.failed, 500.0, 0.0)
    return cost


def hold_on(task: Any, actions: FloatArray) -> FloatArray:
    """Ball Balance: a lost ball costs as much as a good fifth of a second."""
    return np.where(task.failed, -20.0, 0.0)


SHAPING: dict[str, Shaping] = {"ball_balance": hold_on, "ant": upright, "anymal": steady_walk}
