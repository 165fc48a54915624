"""How fast the policies learn: the held-out error after equal numbers of gradient steps, and the time to a given error.

The error is the mean L2 distance, in half action ranges, between the policy's action and the human's at 300 states of
demonstrations that nobody learned from. The fast policy is compared with the published method at the size for a small
CPU (`--preset small`), which has the published loss and sampler: that of the paper takes hours for as many steps.
"""

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from iifl.assembly import demonstrate, make_memory, make_policy, make_task, sizes_of
from iifl.benchmarks.rows import Row, seconds
from iifl.config import RunConfig
from iifl.policies.base import Policy
from iifl.presets import preset
from iifl.records import FloatArray, ObservationArray

WORLDS = ("reacher", "ball_balance")
CHECKPOINTS = (25, 50, 100, 200, 400)
SEEDS = 3
HELD_OUT = 300
HELD_OUT_SEED = 7_000_003
"""Added to the seed: the held-out demonstrations have episodes of their own."""


@dataclass(frozen=True)
class Progress:
    """The held-out error and the seconds of training so far, at each checkpoint."""

    errors: FloatArray
    seconds: FloatArray

    def first_at_most(self, error: float) -> float:
        """The seconds of the first checkpoint with this error or less; infinite if there is none."""
        reached = np.flatnonzero(self.errors <= error)
        return float(self.seconds[reached[0]]) if len(reached) else float("inf")


def benchmark_learning(worlds: tuple[str, ...] = WORLDS, seeds: int = SEEDS) -> list[Row]:
    """The rows of all worlds."""
    return [row for world in worlds for row in _rows(world, seeds)]


def _rows(world: str, seeds: int) -> list[Row]:
    start = time.perf_counter()
    pairs = [(progress(preset(world, "iifl", "small"), s), progress(preset(world, "iifl"), s)) for s in range(seeds)]
    took = time.perf_counter() - start
    errors = np.array([[one.errors for one in pair] for pair in pairs])  # (seeds, 2, checkpoints)
    settings = {
        "seeds": seeds,
        "held_out": HELD_OUT,
        "steps": list(CHECKPOINTS),
        "published_small_errors": errors[:, 0].mean(0).tolist(),
        "fast_errors": errors[:, 1].mean(0).tolist(),
    }
    rows = []
    for i, steps in enumerate(CHECKPOINTS):
        ratios = errors[:, 0, i] / errors[:, 1, i]
        rows.append(_row(f"{world}: error after {steps} steps, published (small) / fast", ratios, took, settings))
    times = np.array([slow.seconds[-1] / fast.first_at_most(slow.errors[-1]) for slow, fast in pairs])
    name = f"{world}: time to the error of {CHECKPOINTS[-1]} published (small) steps, published / fast"
    return [*rows, _row(name, times, took, settings)]


def _row(name: str, values: FloatArray, took: float, settings: dict[str, object]) -> Row:
    return Row(name, float(np.median(values)), float(values.max() - values.min()), took, settings)


def progress(config: RunConfig, seed: int) -> Progress:
    """One policy on its way through the checkpoints."""
    config = replace(config, seed=seed)
    rng = np.random.default_rng(seed)
    lesson = demonstrate(config, rng)
    other = demonstrate(replace(config, seed=seed + HELD_OUT_SEED), np.random.default_rng(seed + HELD_OUT_SEED))
    kept = rng.permutation(len(other.observations))[:HELD_OUT]
    sizes = sizes_of(make_task(config.task, 1, seed))
    policy, memory = make_policy(config.policy, sizes, seed, config.device), make_memory(config.policy, sizes, rng)
    memory.add(lesson.observations, lesson.actions, lesson.humans)
    policy.fit_normalisation(memory)
    half_range = (sizes.action_high - sizes.action_low) / 2
    errors: list[float] = []
    times: list[float] = []
    done = 0
    for steps in CHECKPOINTS:
        took = seconds(partial(policy.learn, memory, steps - done))
        times.append(took + (times[-1] if times else 0.0))
        done = steps
        errors.append(held_out_error(policy, other.observations[kept], other.actions[kept], half_range))
    return Progress(np.array(errors), np.array(times))


def held_out_error(
    policy: Policy, observations: ObservationArray, actions: FloatArray, half_range: FloatArray
) -> float:
    """The mean distance between the policy's actions and the humans'."""
    return float(np.linalg.norm((policy.act(observations) - actions) / half_range, axis=1).mean())
