"""A whole run as frozen dataclasses: what `iifl run` takes, what a run folder keeps, what makes two runs the same.

Strict both ways: a value out of range is an error that says what is allowed, and an unknown key in a file is an error
that names the nearest known one.
"""

import dataclasses
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from iifl.checks import ConfigError, at_least
from iifl.policies.explicit import ExplicitConfig
from iifl.policies.implicit import ImplicitConfig
from iifl.policies.langevin import LangevinConfig
from iifl.registry import SCRIPTED, TASKS, nearest, spelled, supervisors_known

Algorithm = Literal["bc", "ibc", "ifl", "iifl-r", "iifl"]
OrderName = Literal["C", "U.C.", "C.U.R.", "thrifty", "random"]
PolicyConfig = ExplicitConfig | ImplicitConfig | LangevinConfig
Config = TypeVar("Config")


@dataclass(frozen=True)
class FleetConfig:
    """The fleet and the people (section 3 of the paper)."""

    robots: int = 100
    """N, how many robots share the policy."""
    humans: int = 10
    """M, how many people supervise them; fewer than N."""
    timesteps: int = 10_000
    """T, how long the fleet works; 0 for a policy that is only trained offline."""
    minimum_intervention: int = 5
    """t_T, timesteps that a person stays with a robot at least."""
    reset_steps: int = 5
    """t_R, timesteps that a hard reset takes."""

    def __post_init__(self) -> None:
        at_least(self, 1, "robots", "minimum_intervention", "reset_steps")
        at_least(self, 0, "humans", "timesteps")
        if self.humans >= self.robots:
            raise ConfigError(f"fleet.humans is {self.humans}; it must be below fleet.robots = {self.robots} (M < N)")


@dataclass(frozen=True)
class AllocationConfig:
    """Who gets help (section 4.4 of the paper)."""

    order: OrderName = "U.C."
    """How priorities are formed: by constraint, uncertainty and risk (from left to right), ThriftyDAgger, or random."""
    threshold: float | None = None
    """û, how unsure is too unsure; none: calibrate it by the protocol of the paper before the run."""
    quantile: float = 0.99
    """The quantile of the offline-only policy's uncertainties that û is calibrated to."""
    calibration_robots: int = 100
    """How many robots the calibrating run has."""
    calibration_timesteps: int = 1000
    """How many timesteps the calibrating run has."""
    risk_threshold: float = 0.5
    """For C.U.R.: the risk from which a robot wants help."""
    risk_weight: float = 0.5
    """For ThriftyDAgger: the weight of risk beside uncertainty."""
    budget: int = 0
    """For random: human actions in the whole run (as many as IIFL used)."""

    def __post_init__(self) -> None:
        at_least(self, 0, "budget", "risk_threshold")
        at_least(self, 1, "calibration_robots", "calibration_timesteps")
        if self.threshold is not None:
            at_least(self, 0, "threshold")
        if not 0 < self.quantile < 1:
            raise ConfigError(f"allocation.quantile is {self.quantile}; it must be between 0 and 1")
        if not 0 <= self.risk_weight <= 1:
            raise ConfigError(f"allocation.risk_weight is {self.risk_weight}; it must be between 0 and 1")


@dataclass(frozen=True)
class LearningConfig:
    """How the policy learns, offline and during the run (section 4.2 of the paper)."""

    demonstrations: int = 10
    """Offline episodes of the supervisors, before the fleet starts."""
    transitions: int = 0
    """Of these episodes, the first transitions of each kind of people that are kept; 0: all."""
    pairs: int | None = None
    """Offline states and actions instead of whole episodes, of people who do the work of the fleet themselves."""
    augmentation: int = 1
    """How often each transition is kept, offline and online: itself, the others with altered images."""
    features: bool = False
    """Learn from what the task makes of an observation (its `features`) instead of from the observation itself."""
    symmetry: bool = False
    """Learn from every transition as the task's symmetry turns it (its `turned`), at random, instead of as it was."""
    pretraining_steps: int | None = None
    """Gradient steps on them; none: half as many as there are transitions."""
    update_every: int = 1000
    """t̂, timesteps between updates; 0: the policy is frozen."""
    steps_per_timestep: int = 2
    """Gradient steps per timestep; an update takes t̂ times as many, so every t̂ has the same budget."""

    def __post_init__(self) -> None:
        at_least(self, 1, "demonstrations", "augmentation")
        if self.pairs is not None:
            at_least(self, 1, "pairs")
        at_least(self, 0, "transitions", "update_every", "steps_per_timestep")
        if self.pretraining_steps is not None:
            at_least(self, 0, "pretraining_steps")


@dataclass(frozen=True)
class RunConfig:
    """One run: a task, an algorithm, a seed, and every number behind them."""

    task: str = "navigation"
    """The world."""
    algorithm: Algorithm = "iifl"
    """What learns and who is helped; the rest of the configuration starts from its preset."""
    supervisor: str = SCRIPTED
    """Who helps: scripted, or another kind of people that the task has."""
    seed: int = 0
    """Everything random in the run follows from it."""
    trials: int = 0
    """Episodes of the robots alone, after the run."""
    checkpoint_every: int = 500
    """Timesteps between checkpoints, from which a killed run goes on."""
    device: str = "cpu"
    """Where the policy computes: cpu, or cuda."""
    fleet: FleetConfig = field(default_factory=FleetConfig)
    allocation: AllocationConfig = field(default_factory=AllocationConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    policy: PolicyConfig = field(default_factory=ImplicitConfig)

    def __post_init__(self) -> None:
        for name in ("task", "supervisor"):
            object.__setattr__(self, name, spelled(getattr(self, name)))
        at_least(self, 0, "seed", "trials")
        at_least(self, 1, "checkpoint_every")
        if self.task not in TASKS.names():
            raise ConfigError(f"unknown task '{self.task}': {nearest(self.task, TASKS.names())}")
        if self.supervisor not in supervisors_known(self.task):
            known = nearest(self.supervisor, supervisors_known(self.task))
            raise ConfigError(f"unknown supervisor '{self.supervisor}' of {self.task}: {known}")
        if self.device.split(":")[0] not in ("cpu", "cuda"):
            raise ConfigError(f"device is '{self.device}'; it must be cpu or cuda")
        if self.algorithm not in get_args(Algorithm):
            raise ConfigError(f"unknown algorithm '{self.algorithm}': {nearest(self.algorithm, get_args(Algorithm))}")


def to_dict(config: Any) -> dict[str, Any]:
    """The configuration as JSON takes it."""
    return dataclasses.asdict(config)


def from_dict(kind: Callable[..., Config], data: dict[str, Any], where: str = "") -> Config:
    """A configuration from what `to_dict` gave, strictly: every key known, every value of its type."""
    hints = get_type_hints(kind)
    known = {f.name for f in dataclasses.fields(cast(Any, kind))}
    for key in data:
        if key not in known:
            raise ConfigError(f"unknown key '{where}{key}': {nearest(key, known)}")
    values = {key: _value(hints[key], value, f"{where}{key}") for key, value in data.items()}
    return kind(**values)


def _value(hint: Any, value: Any, where: str) -> Any:
    """One value of a configuration file, checked against the type of its field."""
    origin, choices = get_origin(hint), get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(value, dict):
        return from_dict(cast(Callable[..., Any], hint), value, f"{where}.")
    if origin is Literal:
        if value not in choices:
            raise ConfigError(f"{where} is {value!r}: {nearest(str(value), map(str, choices))}")
        return value
    if origin in (Union, types.UnionType):
        return _one_of(choices, value, where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not (isinstance(value, hint) and isinstance(value, bool) == (hint is bool)):
        raise ConfigError(f"{where} is {value!r}; it must be of type {hint.__name__}")
    return value


def _one_of(choices: tuple[Any, ...], value: Any, where: str) -> Any:
    """The first of several types that the value fits; of several dataclasses, the one of its `kind`."""
    if isinstance(value, dict):
        by_kind = {str(getattr(choice, "kind", None)): choice for choice in choices if dataclasses.is_dataclass(choice)}
        kind = str(value.get("kind"))
        if kind not in by_kind:
            raise ConfigError(f"{where}.kind is {kind}: {nearest(kind, by_kind)}")
        return _value(by_kind[kind], value, where)
    for choice in choices:
        if choice is type(None) and value is None:
            return None
        try:
            return _value(choice, value, where)
        except (ConfigError, TypeError):
            continue
    raise ConfigError(f"{where} is {value!r}; it must be {' or '.join(str(c) for c in choices)}")
