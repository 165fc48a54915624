"""The navigation experiment (section 5.1, Figure 1): BC, IBC, IFL and IIFL in the maze, then 100 trials of each alone.

Leaves a folder with the runs (`runs/`), `summary.json`, `report.json`, both parts of Figure 1 and `report.html`. Runs
that are finished are not run again.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from iifl.config import Algorithm, RunConfig
from iifl.experiments import maze_figures
from iifl.experiments.scale import Scale
from iifl.policies.implicit import ImplicitPolicy
from iifl.pool import Job, run_jobs
from iifl.presets import preset
from iifl.report.page import build_report
from iifl.report.results import Row, write_summary
from iifl.report.story import Claim, Difference, FigureNote, Metric, PaperNumber, Story, write_story
from iifl.run import Finished, Progress, execute, start_again, trial
from iifl.runs.files import write_json
from iifl.runs.folder import RunFolder
from iifl.tasks.fleet import FleetTask
from iifl.tasks.navigation import Navigation

NAME = "navigation"
ALGORITHMS: tuple[Algorithm, ...] = ("bc", "ibc", "ifl", "iifl")
SEEDS: dict[Scale, int] = {"smoke": 1, "cpu": 5, "paper": 5}
DRAWN_TRIALS = 4
"""Trials of each run whose way is drawn."""
PLACES = {"fork": (Navigation.fork_x, 0), "hallway": (30, 0), "wind": (44, 2)}
"""The cells whose energies Figure 1 (B) shows, all of them on the way of IIFL's robots."""
GRID = 61
"""Actions along each axis of an energy map."""

# How long the runs take beside each other, and their stages in them, as measured: for the estimate of the time left.
_WORK: dict[Algorithm, tuple[float, dict[str, float]]] = {
    "bc": (1.0, {"pretrain": 0.9, "trials": 0.1}),
    "ibc": (2.0, {"pretrain": 0.95, "trials": 0.05}),
    "ifl": (2.0, {"pretrain": 0.5, "calibrate": 0.15, "fleet at work": 0.3, "trials": 0.05}),
    "iifl": (3.0, {"pretrain": 0.65, "calibrate": 0.15, "fleet at work": 0.18, "trials": 0.02}),
}


def reproduce(out: Path, scale: Scale, console: Console, fresh: bool = False) -> Path:
    """Run what is not there yet, on all cores, and build the report; returns the page."""
    configs = [preset(NAME, algorithm) for algorithm in ALGORITHMS]
    jobs = []
    for config in configs:
        work, stages = _WORK[config.algorithm]
        for seed in range(SEEDS[scale]):
            folder = out / "runs" / f"{config.algorithm}-{seed}"
            if fresh:
                start_again(folder)
                (folder / "energies.json").unlink(missing_ok=True)
            arguments = (replace(config, seed=seed), folder, scale)
            jobs.append(Job(f"{config.algorithm.upper()} seed {seed}", _run, arguments, work, stages))
    longest_first = sorted(jobs, key=lambda job: -job.work)
    rows = [Row(**row) for summary in run_jobs(longest_first, console, "Navigation") for row in summary]
    order: dict[str, int] = {name: place for place, name in enumerate(ALGORITHMS)}
    write_summary(out, sorted(rows, key=lambda row: (order[row.algorithm], row.seed)))
    write_story(out, _story(configs, scale))
    ways: dict[str, list[np.ndarray]] = {
        name: [
            np.array(way)
            for seed in range(SEEDS[scale])
            for way in _read(out / "runs" / f"{name}-{seed}" / "ways.json")
        ]
        for name in ALGORITHMS
    }
    maze_figures.ways(ways, out / "figure-1a")
    energies = _read(out / "runs" / "iifl-0" / "energies.json")
    maze_figures.energy_maps({place: np.array(energy) for place, energy in energies.items()}, out / "figure-1b")
    return build_report([out], out / "report.html")


def _run(config: RunConfig, folder: Path, scale: Scale, progress: Progress) -> list[dict[str, Any]]:
    """One run in its own folder, with the ways of some trials and, for IIFL, its energies beside it."""
    RunFolder.wait(folder)
    poses: list[np.ndarray] = []

    def watch(task: FleetTask) -> None:
        assert isinstance(task, Navigation)
        poses.append(np.where(task.episode[:, None] == 0, task.pose, np.nan)[:DRAWN_TRIALS])

    finished = execute(config, folder, progress, experiment=NAME, scale=scale, watch=watch)
    if not (folder / "energies.json").exists():
        if not poses:  # the run was killed between its end and this
            trial(config, finished.fleet.policy, progress, watch)
        write_json(folder / "ways.json", _ways(np.stack(poses)), "extra")
        write_json(folder / "energies.json", _energies(finished), "extra")
    return finished.summary


def _ways(poses: np.ndarray) -> list[list[list[float]]]:
    """The way of each trial until its end: poses (T, trials, 2), NaN after it."""
    return [way[~np.isnan(way[:, 0])].round(2).tolist() for way in poses.transpose(1, 0, 2)]


def _energies(finished: Finished) -> dict[str, Any]:
    """The ensemble's mean energy over the action square at each place, above its minimum."""
    policy = finished.fleet.policy
    if not isinstance(policy, ImplicitPolicy):
        return {}
    axis = np.linspace(-1, 1, GRID)
    actions = np.stack(np.meshgrid(axis, axis, indexing="xy"), axis=-1).reshape(1, -1, 2)
    cells = np.array(list(PLACES.values()), np.float32)
    energies = policy.energies(cells, np.repeat(actions, len(cells), axis=0)).mean(0)
    above = energies - energies.min(axis=1, keepdims=True)
    return {place: above[i].reshape(GRID, GRID).round(3).tolist() for i, place in enumerate(PLACES)}


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _story(configs: list[RunConfig], scale: Scale) -> Story:
    """What the reader needs to judge the rows."""
    iifl = next(config for config in configs if config.algorithm == "iifl")
    fleet, learning, allocation = iifl.fleet, iifl.learning, iifl.allocation
    return Story(
        title="Navigation: a fork, and a wind that nobody demonstrated",
        reference="Section 5.1 and Figure 1",
        summary=(
            "Can a robot learn from people who go either way round an obstacle, and then cope with a wind that was not "
            "there when they showed the way? Each algorithm learns from the same demonstrations; IFL and IIFL then get "
            "help in the windy maze. What counts is the success of the robot alone, afterwards."
        ),
        algorithms=ALGORITHMS,
        metrics=(
            Metric("success_rate", "Success alone", "higher", trials="trials"),
            Metric("human_actions", "Human actions in training", "lower"),
            Metric("successes", "Successes in training", "higher"),
        ),
        paper=tuple(
            PaperNumber("success_rate", name, value) for name, value in (("bc", 0.0), ("ibc", 0.0), ("iifl", 1.0))
        ),
        claims=(
            Claim("BC cannot do the task alone (at most 5 %).", "success_rate", "bc", "at most", bound=0.05),
            Claim("IBC cannot do the task alone (at most 5 %).", "success_rate", "ibc", "at most", bound=0.05),
            Claim("IIFL can (at least 95 %).", "success_rate", "iifl", "at least", bound=0.95),
        ),
        settings={
            "Offline": (
                f"{learning.demonstrations} demonstrations without wind; {learning.pretraining_steps} gradient steps"
            ),
            "Interactive phase (IFL, IIFL)": (
                f"N = {fleet.robots} robots, M = {fleet.humans} humans, T = {fleet.timesteps} timesteps, "
                f"t_T = {fleet.minimum_intervention}, t_R = {fleet.reset_steps}"
            ),
            "Learning": (
                f"IIFL every {learning.update_every} timesteps, IFL every timestep; "
                f"{learning.steps_per_timestep} gradient steps per timestep for both"
            ),
            "Threshold û": (
                f"{allocation.quantile:.0%} quantile of the offline-only policy's uncertainty without wind, "
                f"{allocation.calibration_robots} robots × {allocation.calibration_timesteps} timesteps"
            ),
            "Trials": f"{iifl.trials} episodes of the robot alone, with wind, for each of {SEEDS[scale]} seeds",
        },
        differences=(
            Difference(
                "A maze whose measures are not given.",
                "Room 20 × 21 cells, corridor 42 × 7, wind over 18 columns that begin 20 columns after the merge; "
                "people keep to the middle three cells of a passage, each episode in a lane of its own.",
                "With a nearer wind or one lane for all, IBC carried “back to the middle”, which it learns at the "
                "merge, over to the wind on some seeds and passed it: then there is no distribution shift to study.",
            ),
            Difference(
                "Implicit policy: Langevin chains.",
                "Energies with a learned proposal, sampled without chains (the default policy of this project).",
                "The same identity at a small part of the cost; `iifl run --preset paper` has the chains.",
            ),
            Difference(
                "BC cannot pass the fork.",
                "BC hesitates at the fork, then drifts off by the imbalance of the demonstrations; most trials end in "
                "the wind, some at a wall of the branch.",
                "A hundred tosses of a coin are never even, and small moves add up until the robot is in another cell.",
            ),
            Difference(
                "An ensemble of 2 models.",
                f"{iifl.policy.members} models, mean of all pairs.",
                "Two or three models were all sure of a wrong action on one seed of five: nobody was sent there.",
            ),
            Difference(
                "N, M, T and û of the interactive phase are not given.",
                f"N = {fleet.robots}, M = {fleet.humans}, T = {fleet.timesteps}, {allocation.quantile:.0%} quantile.",
                "The fleet of the paper's other simulations, for about five episodes of each robot. An episode has 78 "
                "steps, so the one worst cell of the way would set a 99% quantile by itself.",
            ),
        ),
        commands=("iifl reproduce navigation", "iifl run --task navigation --algorithm iifl --seed 0"),
        figures=(
            FigureNote(
                "figure-1a",
                f"Figure 1 (A): {DRAWN_TRIALS} trials of each seed, alone in the windy maze; dots: where they ended.",
                "Four maps of the maze, one for each algorithm, with the robots' trajectories.",
            ),
            FigureNote(
                "figure-1b",
                "Figure 1 (B): IIFL's energy over the action square in three cells (seed 0). Darker is lower, and "
                "better: up or down at the fork, right in the hallway, right and down against the wind.",
                "Three maps of energy over the two action axes.",
            ),
        ),
    )
