"""The benchmark's configurations: what a scale promises."""

from typing import get_args

import pytest

from iifl.experiments.benchmark import ALGORITHMS, WORLDS, configuration, timesteps
from iifl.experiments.scale import Scale
from iifl.registry import TASKS


@pytest.mark.parametrize("scale", get_args(Scale))
@pytest.mark.parametrize("world", WORLDS)
def test_every_world_has_time_for_a_whole_episode(world, scale):
    assert timesteps(world, scale) > TASKS.load(world).episode_steps


@pytest.mark.parametrize("scale", get_args(Scale))
def test_the_algorithms_differ_in_nothing_but_what_they_are(scale):
    configs = [configuration("ant", algorithm, 3, scale) for algorithm in ALGORITHMS]
    assert len({config.fleet for config in configs}) == 1
    assert {config.seed for config in configs} == {3}
    assert len({(config.learning.demonstrations, config.learning.pretraining_steps) for config in configs}) == 1
    assert {config.learning.steps_per_timestep for config in configs} == {2}


def test_the_paper_has_a_hundred_robots_ten_people_and_ten_thousand_timesteps():
    fleet = configuration("anymal", "iifl", 0, "paper").fleet
    assert (fleet.robots, fleet.humans, fleet.timesteps) == (100, 10, 10_000)
