"""Whether the fast policy judges as well as it is fast: on states that it meets when it works in its world.

A policy learns from the offline demonstrations of a world, a fleet works with it alone, and 1,000 of the states that it
meets are kept, in 10 fleets of 100. There its uncertainty is compared with a gold estimate of the same divergence, and
its action with that of the published sampler on the same energy (both in `gold.py`). The rows of each world:

- `same order`: Spearman's correlation of the uncertainty with the gold estimate, and of two independent golds;
- `same 10 of 100`: the share of the gold's 10 most uncertain robots of each fleet that are the fast policy's as well;
- `fast / gold`: the median ratio of the two, 1 if the scale is right too;
- `action no higher`: the share of states where the fast action has no more energy than the published one, to 0.01 nats;
  by how much it is higher at most is in the settings;
- `both ways`, where people go two ways: the smaller way's share in the policy, by the draws that it weighs.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import Tensor

from iifl.allocation.priority import Constraint
from iifl.assembly import make_memory, make_policy, make_supervisors, make_task, sizes_of
from iifl.benchmarks.gold import Effort, gold_divergence, in_parts, published_energy
from iifl.benchmarks.rows import Row
from iifl.config import RunConfig
from iifl.energy.samplers import log_importance_weights
from iifl.loop import Fleet, Rules
from iifl.policies.implicit import ImplicitPolicy
from iifl.presets import preset
from iifl.records import FloatArray, ObservationArray
from iifl.run import pretrain, silent

WORLDS = ("reacher", "navigation", "cube_stacking", "ant")
ROBOTS, STATES, CHOSEN = 100, 1000, 10
LONGEST = 500
"""Timesteps of the rollout at most."""
VISIT_SEED = 5_000_011
"""Added to the seed: the rollout has episodes of its own."""
EFFORT, MOST_CHAINS = Effort(), 2048
NEAR = 0.01
"""Nats that count as equal."""

TWO_WAYS: dict[str, Callable[[Tensor], Tensor]] = {
    "reacher": lambda actions: actions[..., 1] > 0,  # the elbow's side
    "navigation": lambda actions: actions[..., 1] > 0,  # up or down at the fork
}
"""Where every episode begins with a choice between two ways: which actions (..., A) go the first."""


@dataclass(frozen=True)
class Judgement:
    """What the fast policy thought at each of the states, and what is so."""

    uncertainty: FloatArray  # (B,)
    gold: FloatArray  # (2, B), two independent sets of chains
    excess: FloatArray  # (B,) nats of the fast action above the published one


def benchmark_judgement(worlds: tuple[str, ...] = WORLDS) -> list[Row]:
    """The rows of all worlds."""
    return [row for world in worlds for row in judgement_of(preset(world, "iifl"))]


def judgement_of(config: RunConfig, states: int = STATES, effort: Effort = EFFORT) -> list[Row]:
    """The rows of one world."""
    start = time.perf_counter()
    policy = offline_policy(config)
    visited = visited_states(config, policy, states)
    chains = min(MOST_CHAINS, effort.chains * states // len(visited))  # a world with few states gets more for each
    judgement = judge(policy, visited, replace(effort, chains=chains))
    rows = _rows(config.task, judgement, time.perf_counter() - start)
    if config.task in TWO_WAYS:
        rows.append(_both_ways(config, policy))
    return rows


def offline_policy(config: RunConfig) -> ImplicitPolicy:
    """The policy as it is before its fleet starts."""
    sizes = sizes_of(make_task(config.task, 1, config.seed))
    rng = np.random.default_rng(config.seed)
    policy = make_policy(config.policy, sizes, config.seed, config.device)
    assert isinstance(policy, ImplicitPolicy)
    pretrain(config, policy, make_memory(config.policy, sizes, rng), rng, silent)
    return policy


def visited_states(config: RunConfig, policy: ImplicitPolicy, count: int) -> ObservationArray:
    """`count` distinct states, or all if there are fewer, that robots meet with people who only reset them: (B, S)."""
    seed = config.seed + VISIT_SEED
    rng = np.random.default_rng(seed)
    task = make_task(config.task, ROBOTS, seed)
    people = make_supervisors(config.task, config.fleet.humans, ROBOTS, rng)
    spare = make_memory(config.policy, sizes_of(task), rng)
    rules = Rules(config.fleet.minimum_intervention, config.fleet.reset_steps, 0, 0)
    fleet = Fleet(task, policy, people, Constraint(), spare, rules, rng)
    met = []
    for _ in range(min(task.episode_steps, LONGEST)):
        met.append(fleet.observations[task.running].copy())
        fleet.advance()
    distinct = np.unique(np.concatenate(met), axis=0)
    return distinct[rng.permutation(len(distinct))[:count]]


def judge(policy: ImplicitPolicy, observations: ObservationArray, effort: Effort) -> Judgement:
    """The fast policy and what it is measured by, at observations (B, S)."""
    decision = policy.decide(observations)
    states = policy._states(observations)
    generator = torch.Generator(policy.device).manual_seed(VISIT_SEED)
    with torch.no_grad():
        gold = [in_parts(states, lambda part: gold_divergence(policy.model.at(part), effort, generator)) for _ in "12"]
        published = in_parts(states, lambda part: published_energy(policy.model.at(part), effort, generator))
    ours = policy.energies(observations, decision.actions[:, None]).mean(0)[:, 0]
    return Judgement(
        decision.uncertainty, torch.stack(gold).cpu().numpy(), ours - published.cpu().numpy().astype(np.float64)
    )


def _rows(world: str, judgement: Judgement, seconds: float) -> list[Row]:
    gold, fast = judgement.gold.mean(0), judgement.uncertainty
    fleets = np.array_split(np.arange(len(fast)), max(1, len(fast) // ROBOTS))
    settings: dict[str, Any] = {"states": len(fast), "fleets": len(fleets), "threads": torch.get_num_threads()}

    def row(name: str, value: float, each: FloatArray, **more: Any) -> Row:
        low, high = np.quantile(each, [0.25, 0.75])
        return Row(f"{world}: {name}", float(value), float(high - low), seconds, {**settings, **more})

    correlations = np.array([_order(fast[fleet], gold[fleet]) for fleet in fleets])
    same = np.array([_same_chosen(fast[fleet], gold[fleet]) for fleet in fleets])
    between = np.array([_order(*judgement.gold[:, fleet]) for fleet in fleets])
    ratios = fast / np.maximum(gold, 1e-12)
    excess = judgement.excess
    gaps = {f"excess_{name}": float(np.quantile(excess, q)) for name, q in (("median", 0.5), ("99", 0.99), ("most", 1))}
    return [
        row("uncertainty, same order as gold", _order(fast, gold), correlations),
        row("uncertainty, same order in two golds", _order(*judgement.gold), between),
        row("uncertainty, same 10 of 100", same.mean(), same),
        row("uncertainty, fast / gold", np.median(ratios), ratios, gold_median=float(np.median(gold))),
        row(
            "action no higher than published",
            (excess <= NEAR).mean(),
            excess,
            tolerance=NEAR,
            strictly=float((excess <= 0).mean()),
            **gaps,
        ),
    ]


def _order(first: FloatArray, second: FloatArray) -> float:
    """Spearman's correlation."""
    return float(spearmanr(first, second).statistic)


def _same_chosen(fast: FloatArray, gold: FloatArray) -> float:
    """The share of the tenth with the highest gold that also has the highest fast values."""
    count = max(1, len(fast) * CHOSEN // ROBOTS)
    return len(set(np.argsort(-fast)[:count]) & set(np.argsort(-gold)[:count])) / count


@torch.no_grad()
def _both_ways(config: RunConfig, policy: ImplicitPolicy) -> Row:
    """The share of the rarer way at the start of an episode, as the members' weighted draws have it."""
    start = time.perf_counter()
    observations, _ = make_task(config.task, ROBOTS, config.seed + VISIT_SEED).reset()
    energy = policy.model.at(policy._states(observations))
    draws = energy.proposal.spread(policy.config.draws // policy.config.members, policy.generator)  # (E, N, K, A)
    weights = log_importance_weights(energy.correction(draws)).exp()
    first = (weights * TWO_WAYS[config.task](draws)).sum(-1).mean(1)  # (E,)
    rarer = torch.minimum(first, 1 - first).cpu().numpy()
    low, high = float(rarer.min()), float(rarer.max())
    settings = {"robots": ROBOTS, "draws": policy.config.draws, "lowest_of_members": low}
    return Row(f"{config.task}: both ways", float(rarer.mean()), high - low, time.perf_counter() - start, settings)
