"""The benchmark's configurations: what a scale promises, and the budget that makes IIFL-R a fair comparison."""

from pathlib import Path
from typing import get_args

import pytest

from iifl.experiments import benchmark
from iifl.experiments.benchmark import ALGORITHMS, WORLDS, configuration, timesteps
from iifl.experiments.scale import Scale
from iifl.registry import TASKS
from iifl.run import silent


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


def test_iifl_r_has_the_human_actions_of_iifl_as_its_budget(monkeypatch):
    asked = []

    def execute(config, folder, scale, fresh, progress):
        asked.append(config)
        return [{"metric": "human_actions", "value": 123.0}]

    monkeypatch.setattr(benchmark, "_execute", execute)
    for algorithm in ("iifl", "ifl"):
        benchmark._run(configuration("ant", algorithm, 1, "smoke"), Path("runs"), "smoke", False, silent)
    assert [(config.algorithm, config.allocation.budget) for config in asked] == [
        ("iifl", 0),
        ("iifl-r", 123),
        ("ifl", 0),
    ]
    assert {config.seed for config in asked} == {1}
