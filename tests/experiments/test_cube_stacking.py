"""The cube-stacking experiment: fair runs, the paper's units, and the numbers that its claims are judged by."""

from dataclasses import replace

import numpy as np
import pytest

from iifl.assembly import demonstrate
from iifl.cli import FAILURE, main
from iifl.experiments.cube_stacking import NAME, _advantages, _reported, configuration
from iifl.experiments.cube_story import ALGORITHMS, KINDS, story_of
from iifl.presets import ALGORITHMS as ALL
from iifl.report.results import Row


@pytest.mark.parametrize("kinds", KINDS)
def test_the_algorithms_differ_in_nothing_but_what_they_are(kinds):
    configs = [configuration(kinds, algorithm, 3, "cpu") for algorithm in ALGORITHMS]
    assert len({config.fleet for config in configs}) == 1
    assert len({config.learning for config in configs}) == 1
    assert {(config.supervisor, config.seed) for config in configs} == {(KINDS[kinds], 3)}
    assert configs[0].learning.update_every == 0
    assert {config.allocation.threshold for config in configs} == {0.0}
    assert len({config.policy for config in configs}) == 2  # one explicit, one implicit
    budget = next(config.allocation.budget for config in configs if config.algorithm == "iifl-r")
    assert budget == configs[0].fleet.humans * configs[0].fleet.timesteps


@pytest.mark.parametrize(("kinds", "transitions"), [(4, 10_000), (2, 5000)])
def test_every_kind_of_supervisors_demonstrates_2500_transitions(kinds, transitions):
    config = configuration(kinds, "iifl", 0, "paper")
    lesson = demonstrate(config, np.random.default_rng(0))
    assert len(lesson.actions) == transitions
    of_kind = np.bincount(lesson.humans * kinds // config.fleet.humans)
    assert of_kind.tolist() == [2500] * kinds


def rows_of(algorithm: str, supervisors: str, seed: int = 0, **values: float) -> list[Row]:
    return [Row(NAME, NAME, algorithm, supervisors, seed, "cpu", metric, value) for metric, value in values.items()]


def test_successes_and_reward_are_in_the_units_of_the_paper():
    config = configuration(4, "iifl", 0, "cpu")  # 100 robots, 2,000 timesteps
    rows = rows_of("iifl", "scripted", successes=30, reward=60_000, human_actions=20_000, rohe_total_reward=3.0)
    found = {row.metric: row.value for row in _reported(config, [vars(row) for row in rows])}
    assert found["successes_per_10000"] == 150
    assert found["reward_per_1000"] == 300  # a hundred times the return on human effort, as published
    assert found["rohe_total_reward"] == 3.0
    idle = [replace(row, value=0.0) if row.metric == "human_actions" else row for row in rows]
    assert "rohe_total_reward" not in {row.metric for row in _reported(config, [vars(row) for row in idle])}


def test_the_advantage_grows_by_what_four_kinds_have_beyond_two():
    rows = []
    for supervisors, ours, theirs in (("scripted", 300.0, 100.0), ("two_kinds", 250.0, 90.0)):
        rows += rows_of("iifl", supervisors, successes_per_10000=ours)
        rows += rows_of("ifl", supervisors, successes_per_10000=theirs)
    found = {(row.metric, row.supervisors): row.value for row in _advantages(rows)}
    assert found == {
        ("advantage", "scripted"): 200.0,
        ("advantage", "two_kinds"): 160.0,
        ("advantage_growth", "scripted"): 40.0,
    }


def test_the_story_has_the_published_numbers_of_every_algorithm():
    story = story_of((4, 2), "cpu", configuration(4, "iifl", 0, "cpu"))
    successes = {
        (number.supervisors, number.algorithm): number.value
        for number in story.paper
        if number.metric == "successes_per_10000"
    }
    assert successes[KINDS[4], "iifl"] == 26.7
    assert successes[KINDS[2], "iifl"] == 17.7
    assert len(successes) == 2 * len(ALL)
    assert len([number for number in story.paper if number.metric == "rohe_total_reward"]) == 6  # none of BC and IBC


def test_other_experiments_have_no_choice_of_supervisors(capsys, tmp_path):
    assert main(["reproduce", "navigation", "--supervisors", "2", "--out", str(tmp_path)]) == FAILURE
    assert "--supervisors is of cube-stacking alone" in " ".join(capsys.readouterr().err.split())
