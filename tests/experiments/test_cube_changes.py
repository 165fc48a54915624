"""The variants of the cube-stacking policy: each differs from `best` in the one thing that its name says."""

import pytest

from iifl.config import to_dict
from iifl.experiments.cube_changes import CHANGES, configurations


def paths(data: dict, prefix: str = "") -> dict[str, object]:
    """The settings of a configuration by their paths; how it is optimised is one setting."""
    found = {}
    for key, value in data.items():
        inner = isinstance(value, dict) and key != "optimisation"
        found |= paths(value, f"{prefix}{key}.") if inner else {f"{prefix}{key}": value}
    return found


@pytest.mark.parametrize("name", [name for name in CHANGES if name != "best"])
def test_one_change_is_undone(name):
    chosen = configurations(0, "cpu")
    best, other = paths(to_dict(chosen["best"])), paths(to_dict(chosen[name]))
    assert len([path for path in best if best[path] != other[path]]) == 1


def test_all_learn_from_the_same_demonstrations_and_are_tried_in_the_same_episodes():
    chosen = configurations(3, "cpu").values()
    assert {(config.seed, config.trials, config.fleet.timesteps) for config in chosen} == {(3, 100, 0)}
    assert {(config.learning.demonstrations, config.learning.transitions) for config in chosen} == {(100, 2500)}
