"""One run from beginning to end: demonstrate, pretrain, calibrate, let the fleet work, try the robots alone, sum up.

A run lives in a folder (`runs/`) while it happens, and one that was killed goes on from its last checkpoint to the same
bits. `execute` is the whole of it, `trial` the robots alone.
"""

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from iifl import metrics
from iifl.allocation.priority import Constraint, Scale
from iifl.allocation.risk import RiskConfig, RiskCritic
from iifl.allocation.threshold import Threshold, calibrate
from iifl.assembly import (
    demonstrate,
    make_memory,
    make_order,
    make_policy,
    make_rules,
    make_supervisors,
    make_task,
    require_budget,
    sizes_of,
)
from iifl.checks import ConfigError
from iifl.config import AllocationConfig, RunConfig, to_dict
from iifl.loop import Fleet, Rules
from iifl.memory import Memory
from iifl.offline import Offline
from iifl.policies.base import Policy
from iifl.policies.learner import Sizes
from iifl.records import Timestep
from iifl.registry import TASKS
from iifl.runs.checkpoint import Checkpoint
from iifl.runs.files import StorageError
from iifl.runs.folder import RunFolder
from iifl.runs.journal import Journal
from iifl.runs.manifest import Manifest
from iifl.supervisors.base import Supervisors
from iifl.tasks.fleet import FleetTask

PRETRAINING_CHUNK = 50
"""Gradient steps between two signs of progress; the result does not depend on it."""
CALIBRATION_SEED, TRIAL_SEED = 2_000_003, 3_000_017
"""Added to the seed of the run: calibration and trials have episodes of their own."""


class Progress(Protocol):
    """Whoever wants to know how far a run is."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` units of this stage are done."""
        ...


Meeting = Callable[[Supervisors, Path], None]
"""Is shown the people of a run, and its folder."""


def silent(stage: str, done: int, total: int) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True)
class Trials:
    """Episodes of the robots alone."""

    success: np.ndarray  # (trials,)
    steps: np.ndarray  # (trials,) how long each took


@dataclass(frozen=True)
class Origin:
    """What the calibrating run decided before the first timestep; every checkpoint has it."""

    threshold: Threshold
    scales: tuple[Scale, ...] = ()  # of risk and uncertainty, for ThriftyDAgger

    def to_meta(self) -> dict[str, Any]:
        """As JSON takes it."""
        return asdict(self)

    @staticmethod
    def from_meta(meta: dict[str, Any]) -> "Origin":
        """What `to_meta` gave."""
        return Origin(Threshold(**meta["threshold"]), tuple(Scale(**scale) for scale in meta["scales"]))


@dataclass(frozen=True)
class Finished:
    """A run that has ended."""

    config: RunConfig
    path: Path
    summary: list[dict[str, Any]]

    @cached_property
    def fleet(self) -> Fleet:
        """The fleet as it was in the end, from the last checkpoint."""
        checkpoints = RunFolder.read(self.path).checkpoints
        saved = checkpoints.load_latest()
        if saved.t != self.config.fleet.timesteps:
            raise StorageError(checkpoints.folder, f"the last checkpoint is lost, the newest is of timestep {saved.t}")
        return _fleet(self.config, saved, silent)[0]


def execute(
    config: RunConfig,
    path: Path,
    progress: Progress = silent,
    *,
    experiment: str = "run",
    scale: str = "custom",
    force: bool = False,
    watch: Callable[[FleetTask], None] | None = None,
    meet: Meeting | None = None,
    offline: Path | None = None,
) -> Finished:
    """Run `config` in the folder `path`, or go on with the run of this configuration that is there.

    A run that has finished is only loaded, whatever program and machine it was made with; one that has not goes on only
    where it ends with the bits that it would have had. `watch` sees the world before every timestep of the trials.
    `meet` is shown the people of a run that is not finished, and the run's folder, before anything begins. What was
    learned offline is kept in the folder `offline`, and taken from there by runs that would learn the same.
    """
    require_budget(config)
    if RunFolder.holds_run(path) and (done := RunFolder.read(path)).is_finished:
        _require_same_config(path, done.manifest.config, config)
        return Finished(config, path, done.read_summary())
    with _open(config, path, force) as folder:
        fleet, origin = _begin(config, folder, progress, meet, offline)
        _work(config, fleet, folder, progress, origin)
        trials = trial(config, fleet.policy, progress, watch) if config.trials else None
        _sum_up(config, folder, trials, experiment, scale)
        return Finished(config, path, folder.read_summary())


def _open(config: RunConfig, path: Path, force: bool) -> RunFolder:
    """The folder of a new run, or of the unfinished one that is there if it can go on here."""
    manifest = Manifest.gather(to_dict(config))
    if not RunFolder.holds_run(path):
        return RunFolder.create(path, manifest)
    folder = RunFolder.resume(path)
    try:
        _require_same_config(path, folder.manifest.config, config)
        folder.manifest.require_same(manifest, force=force)
    except BaseException:
        folder.close()
        raise
    return folder


def _require_same_config(path: Path, there: dict[str, Any], config: RunConfig) -> None:
    """A folder holds one run; going on with it under other numbers would make it nobody's."""
    wanted = to_dict(config)
    if there != wanted:
        names = sorted(name for name in wanted.keys() | there.keys() if there.get(name) != wanted.get(name))
        raise ConfigError(
            f"{path} holds a run with other settings ({', '.join(names)}): choose another folder with --out, or delete "
            "that run and start anew with --fresh"
        )


def start_again(path: Path) -> None:
    """Delete the run in this folder, and nothing else that is there."""
    if RunFolder.holds_run(path):
        with RunFolder.resume(path) as folder:
            for name in ("summary.json", "SHA256SUMS", "metrics.json", "threshold.json", "answers.jsonl"):
                (folder.path / name).unlink(missing_ok=True)
            _forget_journal(folder)
            shutil.rmtree(folder.path / "checkpoints", ignore_errors=True)
            (folder.path / "manifest.json").unlink()  # from here on the folder holds no run
            (folder.path / "config.json").unlink()


def _forget_journal(folder: RunFolder) -> None:
    """Delete the journal, and the log beside it that SQLite would otherwise replay into the next one."""
    for suffix in ("-wal", "-shm", ""):
        folder.journal.with_name(folder.journal.name + suffix).unlink(missing_ok=True)


def _begin(
    config: RunConfig, folder: RunFolder, progress: Progress, meet: Meeting | None, offline: Path | None
) -> tuple[Fleet, Origin]:
    """The fleet as the last checkpoint left it; or a new one, with its journal and its first checkpoint."""
    saved = folder.checkpoints.load_latest() if folder.checkpoints.paths() else None
    fleet, origin = _fleet(config, saved, progress, lambda people: meet(people, folder.path) if meet else None, offline)
    if saved is None:
        _forget_journal(folder)  # of a run that was killed before its first checkpoint
        sizes = sizes_of(fleet.task)
        Journal.create(folder.journal, fleet.task.num_envs, sizes.observation, sizes.action).close()
        folder.checkpoints.save(0, fleet.state_dict(), origin.to_meta())
    folder.write_threshold(origin.to_meta())
    return fleet, origin


def _fleet(
    config: RunConfig,
    saved: Checkpoint | None,
    progress: Progress,
    meet: Callable[[Supervisors], None] = lambda people: None,
    offline: Path | None = None,
) -> tuple[Fleet, Origin]:
    """The fleet of a checkpoint; or pretrained, calibrated, and before its first timestep."""
    rng = np.random.default_rng(config.seed)
    task = make_task(config.task, config.fleet.robots, config.seed)
    sizes = sizes_of(task, config.learning.features, config.learning.symmetry)
    memory = make_memory(config.policy, sizes, rng, config.learning.augmentation)
    policy = make_policy(config.policy, sizes, config.seed, config.device)
    supervisors = make_supervisors(config.task, config.fleet.humans, config.fleet.robots, rng, config.supervisor)
    meet(supervisors)
    critic = _critic(config, sizes)
    if saved is None:
        kept = Offline(offline, config)
        if not kept.take(policy, memory, rng):
            pretrain(config, policy, memory, rng, progress)
            kept.put(policy, memory, rng)
        origin = _calibrate(config, policy, critic, memory, progress)
    else:
        origin = Origin.from_meta(saved.meta)
    order = make_order(config, origin.threshold.value, origin.scales)
    fleet = Fleet(task, policy, supervisors, order, memory, make_rules(config), rng, critic)
    if saved is not None:
        fleet.load_state_dict(saved.state)
    return fleet, origin


def _critic(config: RunConfig, sizes: Sizes) -> RiskCritic | None:
    """A risk critic for the orders that look at risk."""
    if config.allocation.order not in ("C.U.R.", "thrifty"):
        return None
    return RiskCritic(sizes.observation, sizes.action, RiskConfig(), config.seed)


def pretrain(config: RunConfig, policy: Policy, memory: Memory, rng: np.random.Generator, progress: Progress) -> None:
    """Learn from the offline demonstrations: by default N/2 gradient steps on N transitions."""
    progress("demonstrate", 0, 1)
    lesson = demonstrate(config, rng)
    memory.add(lesson.observations, lesson.actions, lesson.humans)
    progress("demonstrate", 1, 1)
    policy.fit_normalisation(memory)
    steps = config.learning.pretraining_steps
    steps = memory.size // 2 if steps is None else steps
    for done in range(0, steps, PRETRAINING_CHUNK):
        progress("pretrain", done, steps)
        policy.learn(memory, min(PRETRAINING_CHUNK, steps - done))
    progress("pretrain", steps, steps)


def _calibrate(
    config: RunConfig, policy: Policy, critic: RiskCritic | None, memory: Memory, progress: Progress
) -> Origin:
    """û by the protocol of the paper: the offline-only policy at work, with people who only reset.

    The world is as it was for the demonstrations, and its random numbers are the calibration's own. A risk critic
    learns during it; ThriftyDAgger's scales and its threshold on the weighted sum are of the same timesteps.
    """
    allocation = config.allocation
    if allocation.order in ("C", "random") or (allocation.threshold is not None and critic is None):
        return Origin(_given(allocation))
    seed, robots, timesteps = (
        config.seed + CALIBRATION_SEED,
        allocation.calibration_robots,
        allocation.calibration_timesteps,
    )
    rng = np.random.default_rng(seed)
    kind: type[FleetTask] = TASKS.load(config.task)
    task = make_task(config.task, robots, seed, **kind.demonstration_options)
    people = make_supervisors(config.task, config.fleet.humans, robots, rng, config.supervisor)
    rules = Rules(config.fleet.minimum_intervention, config.fleet.reset_steps, 0, 0)
    if critic is not None:
        critic.fit_normalisation(memory.observations)
    spare = make_memory(config.policy, sizes_of(task), rng)
    fleet = Fleet(task, policy, people, Constraint(), spare, rules, rng, critic)
    uncertainty, risk = np.empty((timesteps, robots)), np.empty((timesteps, robots))
    for t in range(timesteps):
        if t % 10 == 0:
            progress("calibrate", t, timesteps)
        if critic is not None:
            risk[t] = critic.predict(fleet.observations, policy.act(fleet.observations))
        uncertainty[t] = fleet.advance()[0].uncertainty
    progress("calibrate", timesteps, timesteps)
    scales: tuple[Scale, ...] = ()
    if allocation.order == "thrifty":
        scales = (Scale(risk.mean(), risk.std()), Scale(uncertainty.mean(), uncertainty.std()))
        weight = allocation.risk_weight
        uncertainty = (weight * scales[0](risk) + (1 - weight) * scales[1](uncertainty)).clip(min=0)
    if allocation.threshold is not None:
        return Origin(_given(allocation), scales)
    return Origin(calibrate(uncertainty, f"{config.policy.kind}, offline only", allocation.quantile), scales)


def _given(allocation: AllocationConfig) -> Threshold:
    """û as somebody chose it, or 0 where the order does not look at it."""
    return Threshold(allocation.threshold or 0.0, allocation.quantile, 0, 0, "none: given, not calibrated")


def _work(config: RunConfig, fleet: Fleet, folder: RunFolder, progress: Progress, origin: Origin) -> None:
    """Let the fleet work to the end of the run, with every timestep in the journal."""
    total = config.fleet.timesteps
    with Journal.open(folder.journal) as journal:
        journal.truncate(fleet.timestep)
        progress("fleet at work", fleet.timestep, total)
        while fleet.timestep < total:
            t = fleet.timestep
            timestep, lesson = fleet.advance()
            journal.append(t, timestep, lesson.observations, lesson.actions, lesson.humans)
            if fleet.timestep % config.checkpoint_every == 0 or fleet.timestep == total:
                journal.sync()
                folder.checkpoints.save(fleet.timestep, fleet.state_dict(), origin.to_meta())
            progress("fleet at work", fleet.timestep, total)


def trial(
    config: RunConfig,
    policy: Policy,
    progress: Progress = silent,
    watch: Callable[[FleetTask], None] | None = None,
) -> Trials:
    """One episode of each of `config.trials` robots, all alone."""
    rng = np.random.default_rng(config.seed + TRIAL_SEED)
    task = make_task(config.task, config.trials, config.seed + TRIAL_SEED)
    nobody = make_supervisors(config.task, 0, config.trials, rng)
    spare = make_memory(config.policy, sizes_of(task), rng)
    fleet = Fleet(task, policy, nobody, Constraint(), spare, Rules(1, 1, 0, 0), rng)
    success, steps = np.zeros(config.trials, bool), np.zeros(config.trials, np.int64)
    going = np.ones(config.trials, bool)
    for t in range(task.episode_steps):
        if watch is not None:
            watch(task)
        timestep, _ = fleet.advance()
        steps += going
        success |= going & timestep.success
        going &= ~(timestep.ended | task.failed)
        progress("trials", t + 1, task.episode_steps)
        if not going.any():
            break
    progress("trials", task.episode_steps, task.episode_steps)
    return Trials(success, steps)


def _sum_up(config: RunConfig, folder: RunFolder, trials: Trials | None, experiment: str, scale: str) -> None:
    """The reported numbers, from the journal alone."""
    values: dict[str, float] = {}
    if config.fleet.timesteps:
        with Journal.open(folder.journal, read_only=True) as journal:
            history = Timestep(**journal.read())
        steps = TASKS.load(config.task).episode_steps
        curves = metrics.curves(history, config.fleet.humans, steps)
        values |= {name: float(curve[-1]) for name, curve in curves.items()}
        folder.write_metrics({name: curve.tolist() for name, curve in curves.items()})
    if trials is not None:
        values |= {"trials": float(config.trials), "success_rate": float(trials.success.mean())}
    row = {
        "experiment": experiment,
        "task": config.task,
        "algorithm": config.algorithm,
        "supervisors": config.supervisor,
        "seed": config.seed,
        "scale": scale,
    }
    folder.write_summary({**row, "metric": name, "value": value} for name, value in values.items())
