"""Names for the things a run is made of, loaded when used: name → "module:attribute".

A new task, policy or allocator is one line here and one file in its folder.
"""

import difflib
from collections.abc import Iterable
from importlib import import_module
from typing import Any


class UnknownNameError(ValueError):
    """A name that is not registered; the message names the nearest one that is."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name: the nearest known one, and all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"{hint}known: {', '.join(names)}"


def spelled(name: str) -> str:
    """A name as it is registered: on the command line a dash is as good as an underscore."""
    return name.replace("-", "_")


class Registry:
    """One kind of thing, by name."""

    def __init__(self, kind: str, entries: dict[str, str]) -> None:
        self.kind = kind
        self._entries = dict(entries)

    def names(self) -> list[str]:
        """All registered names."""
        return list(self._entries)

    def add(self, name: str, target: str) -> None:
        """Register `target` ("module:attribute") under `name`."""
        if self._entries.get(name, target) != target:
            raise ValueError(f"{self.kind} '{name}' is already registered as {self._entries[name]}")
        self._entries[name] = target

    def load(self, name: str) -> Any:
        """Import and return what is registered under `name`."""
        name = spelled(name)
        if name not in self._entries:
            raise UnknownNameError(f"unknown {self.kind} '{name}': {nearest(name, self._entries)}")
        module, attribute = self._entries[name].split(":")
        return getattr(import_module(module), attribute)


TASKS = Registry(
    "task",
    {
        "navigation": "iifl.tasks.navigation:Navigation",
        "ball_balance": "iifl.tasks.ball_balance:BallBalance",
        "ant": "iifl.tasks.ant:Ant",
        "anymal": "iifl.tasks.anymal:Anymal",
        "reacher": "iifl.tasks.reacher:Reacher",
        "cube_stacking": "iifl.tasks.cube_stacking:CubeStacking",
        "block_push": "iifl.tasks.block_push:BlockPush",
    },
)

SCRIPTED = "scripted"
"""The people that every task has; others are registered as TASK/NAME."""

SUPERVISORS = Registry(
    "supervisors of task",
    {
        "navigation": "iifl.supervisors.navigation:NavigationSupervisors",
        "ball_balance": "iifl.supervisors.experts:BallBalanceExperts",
        "ant": "iifl.supervisors.experts:AntExperts",
        "anymal": "iifl.supervisors.experts:AnymalExperts",
        "reacher": "iifl.supervisors.reacher:ReacherSupervisors",
        "cube_stacking": "iifl.supervisors.cube_stacking:CubeStackingSupervisors",
        "block_push": "iifl.supervisors.block_push:BlockPushSupervisors",
        "block_push/me": "iifl.supervisors.person.people:People",
        "cube_stacking/two_kinds": "iifl.supervisors.cube_stacking:two_kinds",
    },
)


def crowd_of(task: str, supervisor: str) -> str:
    """The name in `SUPERVISORS` of a task's people of this kind; `scripted` are those every task has."""
    task, supervisor = spelled(task), spelled(supervisor)
    return task if supervisor == SCRIPTED else f"{task}/{supervisor}"


def supervisors_known(task: str) -> list[str]:
    """All kinds of people that a task has."""
    others = [name.split("/")[1] for name in SUPERVISORS.names() if name.startswith(f"{spelled(task)}/")]
    return [SCRIPTED, *others]


POLICIES = Registry(
    "policy",
    {
        "explicit": "iifl.policies.explicit:ExplicitPolicy",
        "implicit": "iifl.policies.implicit:ImplicitPolicy",
        "langevin": "iifl.policies.langevin:LangevinPolicy",
    },
)

EXPERIMENTS = Registry(
    "experiment",
    {
        "navigation": "iifl.experiments.navigation:reproduce",
        "jeffreys": "iifl.experiments.jeffreys:reproduce",
        "benchmark": "iifl.experiments.benchmark:reproduce",
        "block_pushing": "iifl.experiments.block_pushing:reproduce",
        "uncertainty": "iifl.experiments.uncertainty:reproduce",
        "timing": "iifl.experiments.timing:reproduce",
        "cube_stacking": "iifl.experiments.cube_stacking:reproduce",
        "cube_changes": "iifl.experiments.cube_changes:reproduce",
    },
)
