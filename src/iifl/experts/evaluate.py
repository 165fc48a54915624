"""What an expert is worth: every robot of a fresh fleet does one whole episode."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.progress import track

from iifl.experts.expert import Expert
from iifl.records import FloatArray
from iifl.registry import TASKS

FRESH_SEED = 4_000_037
"""Episodes of this seed are in no training."""

MEASURES: dict[str, dict[str, Callable[[Any], FloatArray]]] = {
    "ant": {"speed_m_s": lambda task: task.qvel[:, 0]},
    "anymal": {
        "linear_velocity_error_m_s": lambda task: task.velocity_errors()[0],
        "yaw_rate_error_rad_s": lambda task: task.velocity_errors()[1],
    },
}
"""What matters beside return and failure, as a number of every robot after every step; the mean is reported."""


@dataclass(frozen=True)
class Evaluation:
    """Returns and failures of an expert's episodes."""

    episodes: int
    seed: int
    mean_return: float
    std_return: float
    failure_rate: float
    mean_steps: float
    measures: dict[str, float]


def evaluate_expert(
    name: str, expert: Expert, episodes: int = 200, seed: int = FRESH_SEED, threads: int = 0
) -> Evaluation:
    """Let the expert do `episodes` episodes of world `name`, one per robot, to their end."""
    task = TASKS.load(name)(episodes, seed=seed, threads=threads)
    measures = MEASURES.get(name, {})
    sums = {measure: np.zeros(episodes) for measure in measures}
    observations, _ = task.reset(seed=seed)
    for _ in track(range(task.episode_steps), description=f"evaluating {name}", transient=True):
        running = task.running
        if not running.any():
            break
        observations, *_ = task.step(expert.act(observations))
        for measure, of in measures.items():
            sums[measure] += np.where(running, of(task), 0.0)
    return Evaluation(
        episodes=episodes,
        seed=seed,
        mean_return=float(task.episode_return.mean()),
        std_return=float(task.episode_return.std()),
        failure_rate=float(task.failed.mean()),
        mean_steps=float(task.clock.mean()),
        measures={measure: float(total.sum() / task.clock.sum()) for measure, total in sums.items()},
    )
