"""What every change of the preset `best` brings to cube stacking: the robot alone, with each change undone.

All variants learn from the same demonstrations and are tried in the same episodes. Leaves a folder with the runs,
`summary.json`, `report.json` and `report.html`. Runs that are finished are not run again.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from iifl.config import RunConfig
from iifl.experiments.scale import Scale
from iifl.policies.implicit import ImplicitConfig
from iifl.pool import Job, run_jobs
from iifl.presets import preset
from iifl.report.page import build_report
from iifl.report.results import Row, write_summary
from iifl.report.story import Claim, Metric, Story, write_story
from iifl.run import Progress, execute, start_again

NAME = "cube_changes"
SEEDS: dict[Scale, int] = {"smoke": 1, "cpu": 2, "paper": 5}
TRIALS: dict[Scale, int] = {"smoke": 20, "cpu": 100, "paper": 100}
SMOKE_STEPS = 200


def _learning(**changes: Any) -> Callable[[RunConfig], RunConfig]:
    return lambda config: replace(config, learning=replace(config.learning, **changes))


def _policy(**changes: Any) -> Callable[[RunConfig], RunConfig]:
    return lambda config: replace(config, policy=replace(config.policy, **changes))


DEFAULT = ImplicitConfig()
CHANGES: dict[str, Callable[[RunConfig], RunConfig]] = {
    "best": lambda config: config,
    "the observation itself, not features of it": _learning(features=False),
    "demonstrations as they were, not turned about the base": _learning(symmetry=False),
    f"components at least {DEFAULT.narrowest} wide": _policy(narrowest=DEFAULT.narrowest),
    "the lowest energy itself, not blurred": _policy(blur=0.0),
    "the default batch and learning rate": _policy(optimisation=DEFAULT.optimisation),
    "half as many gradient steps": _learning(pretraining_steps=2000),
}
"""From `best`: one thing as it is by default."""


def reproduce(out: Path, scale: Scale, console: Console, fresh: bool = False) -> Path:
    """Run what is not there yet, on all cores, and build the report; returns the page."""
    chosen = [item for seed in range(SEEDS[scale]) for item in configurations(seed, scale).items()]
    jobs = []
    for number, (name, config) in enumerate(chosen):
        arguments = (config, out / "runs" / str(number), scale, fresh)
        jobs.append(Job(f"{name}, seed {config.seed}", _run, arguments))
    found = run_jobs(jobs, console, "Changes")
    rows = [replace(row, algorithm=name) for (name, _), rows in zip(chosen, found, strict=True) for row in rows]
    write_summary(out, rows)
    write_story(out, _story(scale))
    return build_report([out], out / "report.html")


def configurations(seed: int, scale: Scale) -> dict[str, RunConfig]:
    """The runs of one seed, each learned offline and then tried alone."""
    chosen = {name: change(preset("cube_stacking", "ibc", "best")) for name, change in CHANGES.items()}
    chosen["fast: all of these"] = preset("cube_stacking", "ibc", "fast")
    chosen["best, with an explicit policy (BC)"] = preset("cube_stacking", "bc", "best")
    alone = {}
    for name, config in chosen.items():
        steps = SMOKE_STEPS if scale == "smoke" else config.learning.pretraining_steps
        alone[name] = replace(
            config,
            seed=seed,
            trials=TRIALS[scale],
            fleet=replace(config.fleet, timesteps=0),
            learning=replace(config.learning, pretraining_steps=steps),
        )
    return alone


def _run(config: RunConfig, folder: Path, scale: Scale, fresh: bool, progress: Progress) -> list[Row]:
    """One variant in its own folder."""
    if fresh:
        start_again(folder)
    return [Row(**row) for row in execute(config, folder, progress, experiment=NAME, scale=scale).summary]


def _story(scale: Scale) -> Story:
    names = tuple(configurations(0, scale))
    return Story(
        title="What every change brings to cube stacking",
        summary=(
            "The robot alone, after learning from the same 10,000 transitions of four kinds of supervisors, with one "
            "change of the preset `best` undone at a time."
        ),
        algorithms=names,
        labels={"cube_stacking": "Cube stacking", "scripted": "four kinds of supervisors"},
        metrics=(Metric("success_rate", "Success of the robot alone", "higher", trials="trials"),),
        claims=tuple(
            Claim(f"`best` gains by not having {name}.", "success_rate", "best", "more than", against=(name,))
            for name in names[1:]
        ),
        settings={"Trials": f"{TRIALS[scale]} episodes for each of {SEEDS[scale]} seeds"},
        commands=(f"iifl reproduce cube-changes --scale {scale}",),
    )
