"""The configuration of a run: it survives JSON, and refuses what cannot be run by saying what, where and what to do."""

import dataclasses
import json
import math
import re
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iifl.assembly import make_order
from iifl.checks import ConfigError
from iifl.config import (
    AllocationConfig,
    FleetConfig,
    LearningConfig,
    PolicyConfig,
    RunConfig,
    from_dict,
    to_dict,
)
from iifl.policies.explicit import ExplicitConfig
from iifl.policies.implicit import ImplicitConfig
from iifl.policies.langevin import LangevinConfig
from iifl.presets import ALGORITHMS, Preset, preset
from iifl.registry import POLICIES, TASKS


def through_json(config: RunConfig) -> RunConfig:
    return from_dict(RunConfig, json.loads(json.dumps(to_dict(config))))


def fields_of(data: dict[str, Any], path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths to all values of a configuration."""
    paths = []
    for key, value in data.items():
        paths += fields_of(value, (*path, key)) if isinstance(value, dict) else [(*path, key)]
    return paths


def changed(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """The default configuration with one other value."""
    data = to_dict(RunConfig())
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return data


VALUES = [path for path in fields_of(to_dict(RunConfig())) if path != ("policy", "kind")]


@pytest.mark.parametrize("task", TASKS.names())
@pytest.mark.parametrize("name", get_args(Preset))
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_preset_survives_json(task, algorithm, name):
    config = preset(task, algorithm, name)
    assert through_json(config) == config
    assert (config.task, config.algorithm) == (task, algorithm)


def test_a_random_order_without_a_budget_is_refused_and_says_what_it_should_be():
    config = preset("navigation", "iifl-r")
    with pytest.raises(ConfigError, match=r"allocation\.budget is 0.*as many human actions as IIFL used"):
        make_order(config, 0.0)
    given = replace(config, allocation=replace(config.allocation, budget=700))
    assert make_order(given, 0.0).budget == 700


def test_the_algorithms_are_the_papers():
    """Section 5: who is helped, and when the policy learns; explicit at every timestep, implicit at every 1000th."""
    table = {
        "bc": (ExplicitConfig, "C", 0),
        "ibc": (ImplicitConfig, "C", 0),
        "ifl": (ExplicitConfig, "U.C.", 1),
        "iifl": (ImplicitConfig, "U.C.", 1000),
    }
    for algorithm, (policy, order, update_every) in table.items():
        config = preset("ant", algorithm)  # type: ignore[arg-type]
        assert isinstance(config.policy, policy)
        assert config.allocation.order == order
        assert config.learning.update_every == update_every
    assert preset("ant", "iifl", "paper").policy == LangevinConfig()
    assert preset("ant", "ifl", "paper").policy == ExplicitConfig()
    assert FleetConfig() == FleetConfig(100, 10, 10_000, 5, 5)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"sede": 1}, "unknown key 'sede': did you mean 'seed'?"),
        ({"fleet": {"robot": 1}}, "unknown key 'fleet.robot': did you mean 'robots'?"),
        (
            {"policy": {"kind": "explicit", "optimisation": {"learning_rat": 1.0}}},
            "unknown key 'policy.optimisation.learning_rat': did you mean 'learning_rate'?",
        ),
        ({"policy": {"kind": "explicit", "draws": 3}}, "unknown key 'policy.draws'"),
        ({"task": "navigatoin"}, "unknown task 'navigatoin': did you mean 'navigation'?"),
        ({"algorithm": "iffl"}, "algorithm is 'iffl': did you mean 'ifl'?"),
        ({"allocation": {"order": "UC"}}, "allocation.order is 'UC': did you mean 'U.C.'?"),
        ({"policy": {"kind": "implict"}}, "policy.kind is implict: did you mean 'implicit'?"),
        ({"policy": {}}, "policy.kind is None: known: explicit, implicit, langevin"),
        ({"fleet": 5}, "fleet is 5; it must be of type FleetConfig"),
        ({"fleet": {"robots": 4.5}}, "fleet.robots is 4.5; it must be of type int"),
        ({"fleet": {"robots": True}}, "fleet.robots is True; it must be of type int"),
        ({"seed": "0"}, "seed is '0'; it must be of type int"),
        ({"learning": {"pretraining_steps": "all"}}, "learning.pretraining_steps is 'all'"),
    ],
)
def test_what_is_not_known_is_an_error_that_names_the_nearest(data, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        from_dict(RunConfig, data)


@pytest.mark.parametrize("path", VALUES, ids=".".join)
def test_a_mistyped_key_is_never_swallowed(path):
    data = changed(path, None)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1] + "_"] = inner.pop(path[-1])
    with pytest.raises(ConfigError, match=re.escape(f"unknown key '{'.'.join(path)}_': did you mean '{path[-1]}'?")):
        from_dict(RunConfig, data)


@given(
    st.sampled_from(VALUES),
    st.one_of(
        st.lists(st.integers(), max_size=2), st.dictionaries(st.text(max_size=3), st.none(), min_size=1), st.text()
    ),
)
def test_a_value_of_another_type_is_refused_and_the_field_is_named(path, value):
    """No field of a run takes a list or a table, and those that take words know which."""
    try:
        from_dict(RunConfig, changed(path, value))
    except ConfigError as error:
        assert path[-1] in str(error)
    else:
        assert isinstance(value, str)
        assert path == ("device",)


OUT_OF_RANGE = [
    (FleetConfig, "robots", 0, "at least 1"),
    (FleetConfig, "humans", -1, "at least 0"),
    (FleetConfig, "humans", 100, "below fleet.robots = 100"),
    (FleetConfig, "timesteps", -1, "at least 0"),
    (FleetConfig, "minimum_intervention", 0, "at least 1"),
    (FleetConfig, "reset_steps", 0, "at least 1"),
    (AllocationConfig, "threshold", -0.1, "at least 0"),
    (AllocationConfig, "threshold", math.nan, "at least 0"),
    (AllocationConfig, "quantile", 0.0, "between 0 and 1"),
    (AllocationConfig, "quantile", 1.0, "between 0 and 1"),
    (AllocationConfig, "quantile", math.nan, "between 0 and 1"),
    (AllocationConfig, "calibration_robots", 0, "at least 1"),
    (AllocationConfig, "calibration_timesteps", 0, "at least 1"),
    (AllocationConfig, "risk_threshold", -1.0, "at least 0"),
    (AllocationConfig, "risk_weight", 1.1, "between 0 and 1"),
    (AllocationConfig, "budget", -1, "at least 0"),
    (LearningConfig, "demonstrations", 0, "at least 1"),
    (LearningConfig, "pretraining_steps", -1, "at least 0"),
    (LearningConfig, "update_every", -1, "at least 0"),
    (LearningConfig, "steps_per_timestep", -1, "at least 0"),
    (RunConfig, "seed", -1, "at least 0"),
    (RunConfig, "trials", -1, "at least 0"),
    (RunConfig, "checkpoint_every", 0, "at least 1"),
    (RunConfig, "algorithm", "nobody", "known: bc, ibc, ifl, iifl, iifl-r"),
]


@pytest.mark.parametrize(("kind", "name", "value", "allowed"), OUT_OF_RANGE)
def test_a_value_out_of_range_names_the_field_and_what_is_allowed(kind, name, value, allowed):
    with pytest.raises(ConfigError, match=re.escape(allowed)) as caught:
        kind(**{name: value})
    assert name in str(caught.value)
    assert str(value) in str(caught.value)


@pytest.mark.parametrize("kind", get_args(PolicyConfig))
def test_of_several_policies_the_kind_decides(kind):
    config = RunConfig(policy=kind(width=17))
    again = through_json(config)
    assert type(again.policy) is kind
    assert again.policy == config.policy
    assert again.policy.kind in POLICIES.names()


def test_whole_numbers_are_taken_for_real_ones_and_none_for_optional_ones():
    config = from_dict(RunConfig, {"allocation": {"threshold": 0}, "learning": {"pretraining_steps": None}})
    assert config.allocation.threshold == 0.0
    assert isinstance(config.allocation.threshold, float)
    assert config.learning.pretraining_steps is None


def test_what_is_left_out_is_the_default_and_nothing_can_be_changed_later():
    assert from_dict(RunConfig, {}) == RunConfig()
    with pytest.raises(dataclasses.FrozenInstanceError):
        RunConfig().seed = 3  # type: ignore[misc]
