"""The IFL benchmark (section 5.2, Figure "IFL Benchmark"): five algorithms on Ball Balance, Ant and Anymal.

IIFL-R has the human actions of IIFL on the same world and seed as its budget, so it runs after it, in the same job.
Small scales give every world time for at least one whole episode, since a success is a whole episode.
Leaves a folder with the runs, `summary.json`, `report.json`, the curves over time with their figure, and `report.html`.
Runs that are finished are not run again.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console

from iifl.chain import Chain, chained, execute_chain
from iifl.config import Algorithm, RunConfig
from iifl.experiments.scale import Scale
from iifl.pool import Job, run_jobs
from iifl.presets import preset
from iifl.registry import TASKS
from iifl.report.curves import Curve, write_curves
from iifl.report.figures import curves_over_time, save_figure
from iifl.report.page import build_report
from iifl.report.results import Row, write_summary
from iifl.report.story import Claim, Difference, FigureNote, Metric, Story, write_story
from iifl.run import start_again
from iifl.runs.folder import RunFolder
from iifl.tasks.fleet import FleetTask

NAME = "benchmark"
LABELS = {"ball_balance": "Ball Balance", "ant": "Ant", "anymal": "Anymal"}
WORLDS = tuple(LABELS)
ALGORITHMS: tuple[Algorithm, ...] = ("bc", "ibc", "ifl", "iifl-r", "iifl")
DRAWN = ("successes", "hard_resets", "rohe_total_success")
POINTS = 200
"""Points of a curve that are kept."""


@dataclass(frozen=True)
class Size:
    """The numbers that a scale sets."""

    seeds: int
    timesteps: int  # T, unless an episode of the world takes longer
    update_every: int  # t̂ of the implicit policies
    calibration: int  # timesteps of the calibrating run
    pretraining: int | None  # gradient steps; none: half as many as there are transitions


SIZES: dict[Scale, Size] = {
    "smoke": Size(2, 600, 200, 50, 400),
    "cpu": Size(3, 2000, 500, 1000, None),
    "paper": Size(3, 10_000, 1000, 1000, None),
}

SLACK = 1.1
"""T is at least so many episodes of the world."""

# How long the runs take beside each other, and their stages in them: for the estimate of the time left only.
_STAGES = {"pretrain": 0.3, "calibrate": 0.2, "fleet at work": 0.5}
_WORK: dict[Algorithm, tuple[float, dict[str, float]]] = {
    "iifl": (6.0, chained(_STAGES, ("iifl", "iifl-r"))),
    "ibc": (2.0, {"pretrain": 0.6, "fleet at work": 0.4}),
    "ifl": (2.0, _STAGES),
    "bc": (1.0, {"pretrain": 0.6, "fleet at work": 0.4}),
}


def reproduce(out: Path, scale: Scale, console: Console, fresh: bool = False) -> Path:
    """Run what is not there yet, on all cores, and build the report; returns the page."""
    jobs = []
    for task in WORLDS:
        for seed in range(SIZES[scale].seeds):
            for algorithm, (weight, stages) in _WORK.items():
                config = configuration(task, algorithm, seed, scale)
                work = weight * config.fleet.timesteps
                configs = (config, configuration(task, "iifl-r", seed, scale)) if algorithm == "iifl" else (config,)
                folders = tuple(_folder(out / "runs", task, each.algorithm, seed) for each in configs)
                if fresh:
                    for folder in folders:
                        start_again(folder)
                name, chain = f"{task} {algorithm.upper()} seed {seed}", Chain(configs, folders, NAME, scale)
                jobs.append(Job(name, execute_chain, (chain,), work, stages, folders[0] / "log.txt"))
    jobs.sort(key=lambda job: -job.work)  # so that no core waits for a long one at the end
    rows = [Row(**row) for runs in run_jobs(jobs, console, "Benchmark") for summary in runs for row in summary]
    rows.sort(key=lambda row: (WORLDS.index(row.task), _place(row.algorithm), row.seed))
    write_summary(out, rows)
    story = _story(scale)
    write_story(out, story)
    curves = [curve for task in WORLDS for algorithm in ALGORITHMS for curve in _curves(out, task, algorithm, scale)]
    write_curves(out, NAME, curves)
    save_figure(curves_over_time(curves, story), out / "over-time")
    return build_report([out], out / "report.html")


def timesteps(task: str, scale: Scale) -> int:
    """T of a world at a scale."""
    world: type[FleetTask] = TASKS.load(task)
    return max(SIZES[scale].timesteps, round(SLACK * world.episode_steps))


def configuration(task: str, algorithm: Algorithm, seed: int, scale: Scale) -> RunConfig:
    """The run of one algorithm on one world."""
    size = SIZES[scale]
    config = preset(task, algorithm)
    implicit = config.learning.update_every > 1
    return replace(
        config,
        seed=seed,
        fleet=replace(config.fleet, timesteps=timesteps(task, scale)),
        allocation=replace(config.allocation, calibration_timesteps=size.calibration),
        learning=replace(
            config.learning,
            update_every=size.update_every if implicit else config.learning.update_every,
            pretraining_steps=size.pretraining,
        ),
    )


def _folder(runs: Path, task: str, algorithm: str, seed: int) -> Path:
    return runs / f"{task}-{algorithm}-{seed}"


def _curves(out: Path, task: str, algorithm: Algorithm, scale: Scale) -> list[Curve]:
    """The drawn metrics of all seeds, thinned."""
    seeds = range(SIZES[scale].seeds)
    folders = [_folder(out / "runs", task, algorithm, seed) for seed in seeds]
    if not all(RunFolder.holds_run(folder) for folder in folders):
        return []
    metrics = [RunFolder.read(folder).read_metrics() for folder in folders]
    T = timesteps(task, scale)
    kept = np.unique(np.linspace(0, T - 1, min(POINTS, T)).astype(int))
    names = [name for name in DRAWN if _teaches(algorithm) or not name.startswith("rohe")]
    return [
        Curve(task, algorithm, name, tuple(seeds), kept + 1, np.array([m[name] for m in metrics])[:, kept])
        for name in names
    ]


def _teaches(algorithm: str) -> bool:
    """Whether its people teach: the return on human effort is of interactive algorithms only."""
    return algorithm not in ("bc", "ibc")


def _place(algorithm: str) -> int:
    return list[str](ALGORITHMS).index(algorithm)


def _story(scale: Scale) -> Story:
    """What the reader needs to judge the rows."""
    size, config = SIZES[scale], configuration("ant", "iifl", 0, scale)
    length = ", ".join(f"{timesteps(world, scale):,} ({label})" for world, label in LABELS.items())
    against: tuple[str, ...] = tuple(name for name in ALGORITHMS if name != "iifl")
    return Story(
        title="The IFL benchmark: a hundred robots, ten people, one way of doing it",
        reference="Section 5.2, Figure “IFL Benchmark”",
        summary=(
            "Three worlds whose supervisors are trained experts of one kind. How many tasks does the fleet complete, "
            "how many hard resets does it need, and what does human time buy?"
        ),
        algorithms=ALGORITHMS,
        labels={**LABELS, "scripted": "trained experts"},
        metrics=(
            Metric("successes", "Task successes", "higher"),
            Metric("hard_resets", "Hard resets", "lower"),
            Metric("rohe_total_success", "ROHE (successes)", "higher"),
            Metric("human_actions", "Human actions"),
            Metric("idle", "Idle robot-steps", "lower"),
            Metric("average_reward", "Average reward", "higher"),
        ),
        claims=(
            Claim(
                "IIFL has at least as many successes as every baseline.",
                "successes",
                "iifl",
                "at least",
                against=against,
            ),
            Claim(
                "IIFL has at least the return on human effort of IFL and IIFL-R.",
                "rohe_total_success",
                "iifl",
                "at least",
                against=("ifl", "iifl-r"),
            ),
        ),
        settings={
            "Fleet": (
                f"N = {config.fleet.robots}, M = {config.fleet.humans}, T = {length}, "
                f"t_T = {config.fleet.minimum_intervention}, t_R = {config.fleet.reset_steps}"
            ),
            "Offline": f"{config.learning.demonstrations} episodes of the expert",
            "Learning": (
                f"IFL every timestep, IIFL and IIFL-R every {size.update_every}; "
                f"{config.learning.steps_per_timestep} gradient steps per timestep for all"
            ),
            "Success": "an episode without a hard reset, with at least 95 % of the expert's mean return",
            "Seeds": str(size.seeds),
        },
        differences=(
            Difference("Isaac Gym.", "MuJoCo.", "Isaac Gym can no longer be installed."),
            Difference(
                "Implicit policy: Langevin chains.",
                "Energies with a learned proposal, sampled without chains.",
                "The published sampler takes minutes per timestep on two cores.",
            ),
            *(
                ()
                if scale == "paper"
                else (Difference("T = 10,000.", f"T = {length}.", f"The scale '{scale}'; --scale paper has it."),)
            ),
        ),
        commands=(f"iifl reproduce benchmark --scale {scale}",),
        figures=(
            FigureNote(
                "over-time",
                "Successes, hard resets and return on human effort up to each timestep; mean ± 1 standard deviation.",
                "A grid of curves over time: one column for each world, one row for each metric.",
            ),
        ),
    )
