"""A chain of runs: the budget that makes IIFL-R a fair comparison, and progress under the name of each run."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from iifl import chain
from iifl.chain import Chain, chained, execute_chain, needs_budget
from iifl.pool import Job
from iifl.presets import preset
from iifl.run import silent


@pytest.fixture
def asked(monkeypatch):
    """The configurations that were run; every run has taken 123 human actions, and none with the seed 9."""
    configs = []

    def execute(config, folder, progress, **named):
        configs.append(config)
        progress("fleet at work", 1, 2)
        return SimpleNamespace(summary=[{"metric": "human_actions", "value": 0.0 if config.seed == 9 else 123.0}])

    monkeypatch.setattr(chain, "execute", execute)
    return configs


def pair(tmp_path, seed=1, budget=0):
    configs = [replace(preset("ant", name), seed=seed) for name in ("iifl", "iifl-r")]
    configs[1] = replace(configs[1], allocation=replace(configs[1].allocation, budget=budget))
    return Chain(tuple(configs), (tmp_path / "a", tmp_path / "b"), "sweep", "custom")


def test_iifl_r_has_the_human_actions_of_iifl_as_its_budget(asked, tmp_path):
    signs = []
    summaries = execute_chain(pair(tmp_path), lambda *sign: signs.append(sign))
    assert [(config.algorithm, config.allocation.budget, config.seed) for config in asked] == [
        ("iifl", 0, 1),
        ("iifl-r", 123, 1),
    ]
    assert len(summaries) == 2
    assert signs == [("fleet at work", 1, 2), ("IIFL-R: fleet at work", 1, 2)]


def test_a_budget_that_is_given_is_kept_and_without_one_there_is_no_run(asked, tmp_path):
    execute_chain(pair(tmp_path, budget=7), silent)
    assert asked[-1].allocation.budget == 7
    assert len(execute_chain(pair(tmp_path, seed=9), silent)) == 1
    assert asked[-1].algorithm == "iifl"


def test_only_random_allocation_without_a_budget_needs_one():
    assert [needs_budget(preset("ant", name)) for name in ("bc", "iifl", "iifl-r")] == [False, False, True]


def test_a_chain_of_two_is_half_done_when_the_first_is():
    job = Job("pair", print, (), stages=chained({"pretrain": 0.5, "fleet at work": 0.5}, ("iifl", "iifl-r")))
    assert job.share("fleet at work", 1, 1) == pytest.approx(0.5)
    assert job.share("IIFL-R: fleet at work", 1, 2) == pytest.approx(0.875)
