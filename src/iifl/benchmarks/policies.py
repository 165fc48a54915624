"""How fast the policies are: the default against the published settings, and against the explicit ensemble.

`step` is one fleet timestep of the policy, action and uncertainty together, for N = 100 robots; `train` one gradient
step of all models. |S| = 60 and |A| = 8, the sizes of Ant. The published settings take minutes for one timestep on two
cores, so they take three turns; the fast sides are the median of many, and the spread is that of the ratio.
"""

from collections.abc import Callable

import numpy as np
import torch

from iifl.benchmarks.rows import Row, seconds
from iifl.memory import Memory
from iifl.policies.explicit import ExplicitConfig, ExplicitPolicy
from iifl.policies.implicit import ImplicitConfig, ImplicitPolicy
from iifl.policies.langevin import LangevinConfig, LangevinPolicy
from iifl.policies.learner import Learner, Sizes
from iifl.records import FloatArray, Form

ROBOTS, OBSERVATION, ACTION = 100, 60, 8
TURNS = 30


def benchmark_step() -> list[Row]:
    """One timestep of the fleet."""
    rows = [_row("step: published / fast", _step(_published()), _step(_fast()), 3)]
    rows += [_row("step: fast / explicit", _step(_fast()), _step(_explicit()), TURNS)]
    rows += [_row("step: 5 models / 2 models", _step(_fast(5)), _step(_fast()), TURNS)]
    few, many = _step(_fast()), _step(_fast(), 100 * ROBOTS)
    rows += [_row("step: cost per robot, N = 10,000 / N = 100", many, _repeated(few, 100), 3)]
    return rows


def benchmark_train() -> list[Row]:
    """One gradient step of all models."""
    return [
        _row("train: published / fast", _train(_published()), _train(_fast()), 3),
        _row("train: fast / explicit", _train(_fast()), _train(_explicit()), TURNS),
    ]


def _row(name: str, slow: Callable[[], object], fast: Callable[[], object], turns: int) -> Row:
    """The time of `slow` over that of `fast`, taking turns; the fast side warms up and goes ten times per turn."""
    for _ in range(3):
        fast()
    ratios, total = [], 0.0
    for _ in range(turns):
        took = seconds(slow)
        alone = np.median([seconds(fast) for _ in range(10)])
        ratios.append(took / alone)
        total += took
    low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
    settings = {
        "robots": ROBOTS,
        "observation": OBSERVATION,
        "action": ACTION,
        "threads": torch.get_num_threads(),
        "turns": turns,
        "slow_seconds": total / turns,
        "fast_seconds": float(alone),
    }
    return Row(name, float(middle), float(high - low), total, settings)


def _published() -> Learner:
    return LangevinPolicy(LangevinConfig(), sizes(), seed=0)


def _fast(members: int = 2) -> Learner:
    return ImplicitPolicy(ImplicitConfig(members=members), sizes(), seed=0)


def _explicit() -> Learner:
    return ExplicitPolicy(ExplicitConfig(), sizes(), seed=0)


def sizes() -> Sizes:
    """The sizes of Ant."""
    return Sizes(Form((OBSERVATION,)), -np.ones(ACTION, np.float32), np.ones(ACTION, np.float32))


def fleet_observations(robots: int = ROBOTS) -> FloatArray:
    """Observations of a fleet (N, S)."""
    return np.random.default_rng(0).normal(size=(robots, OBSERVATION)).astype(np.float32)


def lessons(members: int) -> Memory:
    """A memory with something to learn, and a bootstrap for each member."""
    rng = np.random.default_rng(0)
    memory = Memory(Form((OBSERVATION,)), ACTION, members, rng)
    observations = rng.normal(size=(5000, OBSERVATION)).astype(np.float32)
    actions = np.tanh(observations[:, :ACTION] + 0.1 * rng.normal(size=(5000, ACTION))).astype(np.float32)
    memory.add(observations, actions, np.zeros(5000, np.int64))
    return memory


def _step(policy: Learner, robots: int = ROBOTS) -> Callable[[], object]:
    observations = fleet_observations(robots)
    return lambda: policy.decide(observations)


def _train(policy: Learner) -> Callable[[], object]:
    memory = lessons(5 if isinstance(policy, ExplicitPolicy) else 2)
    return lambda: policy.learn(memory, 1)


def _repeated(action: Callable[[], object], times: int) -> Callable[[], None]:
    def all_of_them() -> None:
        for _ in range(times):
            action()

    return all_of_them
