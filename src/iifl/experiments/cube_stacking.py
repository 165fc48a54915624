"""Cube stacking (section 5.2, Tables 1 and 5): five algorithms with four kinds of supervisors, and with two.

All policies are frozen: people help at execution only, and with û = 0 every robot wants help, so all people are always
at work. IIFL-R therefore has the human time of IIFL by construction. Where the policy of several algorithms is the same
one, it is learned once (`execute(..., offline=)`).

Leaves a folder with the runs, `summary.json`, `report.json`, `tables.md` in the form of the paper's tables, the curves
over time with their figure, the picture of the four grasps, and `report.html`. Runs that are finished are not run
again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from iifl.config import Algorithm, RunConfig
from iifl.experiments.cube_story import ALGORITHMS, KINDS, REWARD_TIMESTEPS, TIMESTEPS, story_of
from iifl.experiments.grasps import picture_of_grasps
from iifl.experiments.scale import Scale
from iifl.pool import Job, run_jobs
from iifl.presets import preset
from iifl.report.curves import Curve, write_curves
from iifl.report.figures import curves_over_time, save_figure
from iifl.report.page import build_report
from iifl.report.results import Row, load_results, write_summary
from iifl.report.story import write_story
from iifl.report.tables import tables_of, to_markdown
from iifl.run import Progress, execute, start_again
from iifl.runs.folder import RunFolder

NAME = "cube_stacking"
TOGETHER: tuple[tuple[Algorithm, ...], ...] = (("ibc", "iifl-r", "iifl"), ("bc", "ifl"))
"""Algorithms whose policies are the same one, and so are run one after the other."""
DRAWN = ("successes", "successes_alone")
GRASPS = "grasps.png"
POINTS = 200
"""Points of a curve that are kept."""


@dataclass(frozen=True)
class Size:
    """The numbers that a scale sets."""

    seeds: int
    timesteps: int  # T
    pretraining: int | None = None  # gradient steps; none: those of the preset
    trials: int = 100  # episodes of the robots alone


SIZES: dict[Scale, Size] = {
    "smoke": Size(1, 600, 300, 20),
    "cpu": Size(3, 2000),
    "paper": Size(3, 10_000),
}


def reproduce(
    out: Path, scale: Scale, console: Console, fresh: bool = False, supervisors: Sequence[int] = tuple(KINDS)
) -> Path:
    """Run what is not there yet, on all cores, and build the report; returns the page."""
    if not (out / GRASPS).exists():  # first: where no picture can be drawn, nothing was run in vain
        out.mkdir(parents=True, exist_ok=True)
        picture_of_grasps(out / GRASPS)
    jobs = []
    for kinds in supervisors:
        for seed in range(SIZES[scale].seeds):
            for algorithms in TOGETHER:
                configs = [configuration(kinds, algorithm, seed, scale) for algorithm in algorithms]
                name = f"{kinds} kinds, {', '.join(algorithms).upper()}, seed {seed}"
                jobs.append(Job(name, _run, (configs, out / "runs", scale, fresh), work=float(len(configs))))
    rows = [row for found in run_jobs(jobs, console, "Cube stacking") for row in found]
    write_summary(out, [*rows, *_advantages(rows)])
    story = story_of(supervisors, scale, configuration(supervisors[0], "iifl", 0, scale))
    write_story(out, story)
    curves = [curve for kinds in supervisors for name in ALGORITHMS for curve in _curves(out, kinds, name, scale)]
    write_curves(out, NAME, curves)
    save_figure(curves_over_time(curves, story), out / "over-time")
    tables = [to_markdown(table, "deviation") for results in load_results([out]) for table in tables_of(results)]
    (out / "tables.md").write_text("\n".join(tables), encoding="utf-8")
    return build_report([out], out / "report.html")


def configuration(kinds: int, algorithm: Algorithm, seed: int, scale: Scale) -> RunConfig:
    """The run of one algorithm with so many kinds of supervisors."""
    size, config = SIZES[scale], preset(NAME, algorithm, "best")
    budget = config.fleet.humans * size.timesteps if algorithm == "iifl-r" else 0
    return replace(
        config,
        seed=seed,
        supervisor=KINDS[kinds],
        trials=size.trials if algorithm in ("bc", "ibc") else 0,  # the others have the same policies
        fleet=replace(config.fleet, timesteps=size.timesteps),
        allocation=replace(config.allocation, budget=budget),
        learning=replace(config.learning, pretraining_steps=size.pretraining or config.learning.pretraining_steps),
    )


def _run(configs: Sequence[RunConfig], runs: Path, scale: Scale, fresh: bool, progress: Progress) -> list[Row]:
    """The runs of algorithms that share a policy, one after the other."""
    rows = []
    for config in configs:
        folder = _folder(runs, config.supervisor, config.algorithm, config.seed)
        if fresh:
            start_again(folder)
        offline = runs / f"offline-{config.supervisor}-{config.policy.kind}-{config.seed}"
        summary = execute(config, folder, progress, experiment=NAME, scale=scale, offline=offline).summary
        rows += _reported(config, summary)
    return rows


def _reported(config: RunConfig, summary: list[dict[str, Any]]) -> list[Row]:
    """The rows of a run, with successes and reward per as many timesteps as the paper's; no return on no effort."""
    rows = {row["metric"]: Row(**row) for row in summary}
    T, robots = config.fleet.timesteps, config.fleet.robots
    successes, reward = rows["successes"], rows["reward"]
    rows["successes_per_10000"] = replace(
        successes, metric="successes_per_10000", value=successes.value * TIMESTEPS / T
    )
    rows["reward_per_1000"] = replace(
        reward, metric="reward_per_1000", value=reward.value / robots * REWARD_TIMESTEPS / T
    )
    if rows["human_actions"].value == 0:
        rows = {metric: row for metric, row in rows.items() if not metric.startswith("rohe")}
    return list(rows.values())


def _advantages(rows: Sequence[Row]) -> list[Row]:
    """How many more successes IIFL has than IFL, and how much of that four kinds of supervisors add to two."""
    successes = {(row.supervisors, row.algorithm, row.seed): row for row in rows if row.metric == "successes_per_10000"}
    advantages = {}
    for (supervisors, algorithm, seed), row in successes.items():
        if algorithm == "iifl":
            value = row.value - successes[supervisors, "ifl", seed].value
            advantages[supervisors, seed] = replace(row, metric="advantage", value=value)
    growth = [
        replace(more, metric="advantage_growth", value=more.value - advantages[KINDS[2], seed].value)
        for (supervisors, seed), more in advantages.items()
        if supervisors == KINDS[4] and (KINDS[2], seed) in advantages
    ]
    return [*advantages.values(), *growth]


def _folder(runs: Path, supervisor: str, algorithm: str, seed: int) -> Path:
    return runs / f"{supervisor}-{algorithm}-{seed}"


def _curves(out: Path, kinds: int, algorithm: Algorithm, scale: Scale) -> list[Curve]:
    """The drawn metrics of all seeds, thinned, for the column of these supervisors."""
    T, seeds = SIZES[scale].timesteps, range(SIZES[scale].seeds)
    runs = [RunFolder.read(_folder(out / "runs", KINDS[kinds], algorithm, seed)).read_metrics() for seed in seeds]
    kept = np.unique(np.linspace(0, T - 1, min(POINTS, T)).astype(int))
    return [
        Curve(KINDS[kinds], algorithm, name, tuple(seeds), kept + 1, np.array([run[name] for run in runs])[:, kept])
        for name in DRAWN
    ]
