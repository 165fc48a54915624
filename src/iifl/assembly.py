"""From a configuration to the parts of a run: world, people, policy, order, and the demonstrations they start from."""

from typing import Any

import numpy as np
from gymnasium import spaces

from iifl.allocation.priority import (
    Constraint,
    ConstraintUncertaintyRisk,
    Order,
    RandomBudget,
    Scale,
    Thrifty,
    UncertaintyConstraint,
)
from iifl.augmentation import Augmentation
from iifl.checks import ConfigError
from iifl.config import PolicyConfig, RunConfig
from iifl.experts.demonstrations import record_demonstrations, record_pairs
from iifl.loop import Lesson, Rules
from iifl.memory import Memory
from iifl.policies.base import Policy
from iifl.policies.learner import Sizes, as_it_is
from iifl.records import Form
from iifl.registry import POLICIES, SCRIPTED, SUPERVISORS, TASKS, crowd_of
from iifl.supervisors.base import Attentive, Supervisors, kinds_of
from iifl.tasks.fleet import FleetTask


def make_task(name: str, robots: int, seed: int, **options: Any) -> FleetTask:
    """The world `name` with a fleet of this size."""
    task: FleetTask = TASKS.load(name)(robots, seed=seed, **options)
    return task


def make_supervisors(
    task: str, humans: int, robots: int, rng: np.random.Generator, supervisor: str = SCRIPTED
) -> Supervisors:
    """The people of the world `task`: scripted ones, or of another kind that it has."""
    crowd: Supervisors = SUPERVISORS.load(crowd_of(task, supervisor))(humans, robots, rng)
    return crowd


def sizes_of(task: FleetTask, features: bool = False, symmetry: bool = False) -> Sizes:
    """What a policy must know of a world, with the world's own features and symmetry if it is to learn by them."""
    observation, action = task.single_observation_space, task.single_action_space
    assert isinstance(observation, spaces.Box)
    assert isinstance(action, spaces.Box)
    return Sizes(
        Form(observation.shape, observation.dtype.str),
        action.low,
        action.high,
        task.features if features else as_it_is,
        task.turned if symmetry else None,
    )


def make_policy(config: PolicyConfig, sizes: Sizes, seed: int, device: str) -> Policy:
    """An untrained policy."""
    policy: Policy = POLICIES.load(config.kind)(config, sizes, seed, device)
    return policy


def make_memory(config: PolicyConfig, sizes: Sizes, rng: np.random.Generator, times: int = 1) -> Memory:
    """An empty memory with a bootstrap for each model of the policy, that keeps each transition so many times."""
    augmentation = Augmentation(times) if times > 1 else None
    return Memory(sizes.observation, sizes.action, config.members, rng, augmentation)


def make_rules(config: RunConfig) -> Rules:
    """The numbers of the loop; the gradient budget of an update covers all timesteps since the last one."""
    fleet, learning = config.fleet, config.learning
    return Rules(
        fleet.minimum_intervention,
        fleet.reset_steps,
        learning.update_every,
        learning.update_every * learning.steps_per_timestep,
    )


def require_budget(config: RunConfig) -> None:
    """Refuse a run whose humans go to robots at random without saying how often."""
    if config.allocation.order == "random" and config.fleet.timesteps and not config.allocation.budget:
        raise ConfigError("allocation.budget is 0; the order random needs one: as many human actions as IIFL used")


def make_order(config: RunConfig, threshold: float, scales: tuple[Scale, ...] = ()) -> Order:
    """The priority function of the run, with û and, for ThriftyDAgger, the scales of risk and uncertainty."""
    allocation, fleet = config.allocation, config.fleet
    match allocation.order:
        case "C":
            return Constraint()
        case "U.C.":
            return UncertaintyConstraint(threshold)
        case "C.U.R.":
            return ConstraintUncertaintyRisk(threshold, allocation.risk_threshold)
        case "random":
            require_budget(config)
            return RandomBudget(allocation.budget, fleet.timesteps, fleet.humans)
        case "thrifty":
            risk, uncertainty = scales
            return Thrifty(threshold, allocation.risk_weight, risk, uncertainty)


def demonstrate(config: RunConfig, rng: np.random.Generator) -> Lesson:
    """The people at work by themselves: full episodes (section 5 of the paper), or as much of them as is asked for."""
    pairs, humans = config.learning.pairs, max(1, config.fleet.humans)
    robots = config.learning.demonstrations if pairs is None else config.fleet.robots
    kind: type[FleetTask] = TASKS.load(config.task)
    task = make_task(config.task, robots, demonstration_seed(config.seed), **kind.demonstration_options)
    crowd = make_supervisors(config.task, humans, robots, rng, config.supervisor)
    if isinstance(crowd, Attentive):  # people of flesh and blood help a fleet; scripted ones show it the work before
        crowd = make_supervisors(config.task, humans, robots, rng)
    if pairs is not None:
        return Lesson(*record_pairs(task, crowd, pairs))
    recorded = record_demonstrations(task, crowd, seconds_per_step=1.0)
    if config.learning.transitions:
        recorded = recorded.first_of_each(kinds_of(crowd), config.learning.transitions)
    return Lesson(recorded.observations, recorded.actions, recorded.humans)


def demonstration_seed(seed: int) -> int:
    """Demonstrations have episodes of their own: no robot of the run starts where a demonstration did."""
    return 1_000_003 + seed
