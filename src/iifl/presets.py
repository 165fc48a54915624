"""What a task and an algorithm mean before anybody changes a number: the configurations that runs start from.

The algorithms are compositions of a policy, an order of priority, and when the policy learns (section 5 of the paper):

    bc      explicit   humans only reset       never learns
    ibc     implicit   humans only reset       never learns
    ifl     explicit   by uncertainty (U.C.)   learns at every timestep
    iifl-r  implicit   at random (budget)      learns at every t̂-th
    iifl    implicit   by uncertainty (U.C.)   learns at every t̂-th

Presets differ in what learns: `fast` is the default, `paper` has the hyper-parameters of the paper, `small` is the
method of the paper at a size for a small CPU, and `best` departs from the paper where a task gains by it (elsewhere it
is `fast`).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, get_args

from iifl.config import (
    Algorithm,
    AllocationConfig,
    FleetConfig,
    LearningConfig,
    OrderName,
    PolicyConfig,
    RunConfig,
)
from iifl.policies.explicit import ExplicitConfig
from iifl.policies.implicit import ImplicitConfig
from iifl.policies.langevin import LangevinConfig, small_langevin
from iifl.policies.learner import Optimisation

Preset = Literal["fast", "paper", "small", "best"]

PRESETS: tuple[Preset, ...] = get_args(Preset)
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
_ORDERS: dict[Algorithm, OrderName] = {"bc": "C", "ibc": "C", "ifl": "U.C.", "iifl-r": "random", "iifl": "U.C."}
_EXPLICIT = ("bc", "ifl")
_INTERACTIVE = ("ifl", "iifl-r", "iifl")


def preset(task: str, algorithm: Algorithm, name: Preset = "fast") -> RunConfig:
    """The configuration of an algorithm on a task."""
    config = RunConfig(
        task=task,
        algorithm=algorithm,
        allocation=AllocationConfig(order=_ORDERS[algorithm]),
        learning=LearningConfig(update_every=_update_every(algorithm, 1000)),
        policy=_policy(algorithm, name),
    )
    own = _TASKS.get(task)
    return own(config, name) if own else config


def _policy(algorithm: Algorithm, name: Preset) -> PolicyConfig:
    if algorithm in _EXPLICIT:
        return ExplicitConfig()
    implicit: dict[Preset, PolicyConfig] = {
        "fast": ImplicitConfig(),
        "paper": LangevinConfig(),
        "small": small_langevin(),
        "best": ImplicitConfig(),
    }
    return implicit[name]


def _update_every(algorithm: Algorithm, interval: int) -> int:
    if algorithm not in _INTERACTIVE:
        return 0
    return 1 if algorithm in _EXPLICIT else interval


def _navigation(config: RunConfig, name: Preset) -> RunConfig:
    """The maze: 100 demonstrations, 500 timesteps of interactive training, then 100 trials of the robot alone.

    A two-dimensional state needs no large network, so all policies but the paper's are small, and all have the same
    offline budget. BC and IBC have no interactive phase: no robot of the maze ever fails, so there would be nothing for
    people to do in it. û is the 95 % quantile, not 99 %: an episode has 78 steps, so the one worst cell of the way has
    more than 1 % of all timesteps and would set the threshold by itself. The ensemble has 5 models: of 2, both were
    sure of "right" at the upper wall on one seed of five, of 3 all were beside the goal, and nobody was sent there.
    """
    interactive = config.algorithm in _INTERACTIVE
    policy, pretraining_steps = config.policy, None
    if name in ("fast", "best"):
        light, pretraining_steps = Optimisation(batch=256, learning_rate=2e-3, decay=0.95), 2000
        if isinstance(policy, ExplicitConfig):
            policy = replace(policy, width=128, optimisation=light)
        elif isinstance(policy, ImplicitConfig):
            policy = replace(
                policy,
                members=5,
                width=128,
                correction_width=32,
                components=4,
                counter_examples=4,
                draws=256,
                optimisation=light,
            )
    return replace(
        config,
        trials=100,
        fleet=FleetConfig(timesteps=500 if interactive else 0),
        allocation=replace(config.allocation, quantile=0.95),
        learning=LearningConfig(
            demonstrations=100,
            pretraining_steps=pretraining_steps,
            update_every=_update_every(config.algorithm, 100),
        ),
        policy=policy,
    )


def _block_push(config: RunConfig, name: Preset) -> RunConfig:
    """Block pushing: 4 robots and 2 people for 150 pushes, from 336 images of the people's pushes, each kept 10 times.

    An image policy for a laptop: small networks on few places in the image. The implicit policy learns at t = 50 and
    100, the explicit one at every timestep, with the same number of gradient steps. û is calibrated with the fleet of
    the experiment: of 100 robots with 2 people most would stand failed, and images of 1000 timesteps take minutes. It
    is the 95 % quantile, not 99 %: robots that have failed, or are caught in a loop, are highly uncertain for many
    timesteps and are most of the highest percent; then people are hardly ever asked.
    """
    policy, pretraining_steps = config.policy, None
    if name in ("fast", "best"):
        light, pretraining_steps = replace(policy.optimisation, batch=32, learning_rate=2e-3, decay=0.9), 500
        if isinstance(policy, ExplicitConfig):
            policy = replace(policy, width=128, optimisation=light)
        elif isinstance(policy, ImplicitConfig):
            policy = replace(policy, width=128, correction_width=32, components=4, optimisation=light)
    return replace(
        config,
        fleet=FleetConfig(robots=4, humans=2, timesteps=150, minimum_intervention=3, reset_steps=5),
        allocation=replace(config.allocation, quantile=0.95, calibration_robots=4, calibration_timesteps=500),
        learning=LearningConfig(
            pairs=336,
            augmentation=10,
            pretraining_steps=pretraining_steps,
            update_every=_update_every(config.algorithm, 50),
        ),
        policy=policy,
    )


def _cube_stacking(config: RunConfig, name: Preset) -> RunConfig:
    """Cubes: 2,500 transitions of each kind of people; a frozen policy, and help for the most uncertain robots (û = 0).

    What `best` changes, and what every change brings, is measured in docs/cube-stacking.md.
    """
    policy, best = config.policy, name == "best"
    if best:
        steep = Optimisation(batch=512, learning_rate=4e-3, decay=0.9)
        policy = replace(policy, optimisation=steep)
        if isinstance(policy, ImplicitConfig):
            policy = replace(
                policy,
                width=128,
                correction_width=32,
                components=8,
                narrowest=0.01,
                counter_examples=4,
                draws=32,
                blur=0.1,
            )
    return replace(
        config,
        allocation=replace(config.allocation, threshold=0.0),
        learning=LearningConfig(
            demonstrations=100,
            transitions=2500,
            features=best,
            symmetry=best,
            pretraining_steps=4000 if best else None,
            update_every=0,
        ),
        policy=policy,
    )


_TASKS: dict[str, Callable[[RunConfig, Preset], RunConfig]] = {
    "navigation": _navigation,
    "block_push": _block_push,
    "cube_stacking": _cube_stacking,
}
"""What a task means by its presets, where that differs from the table above."""
