"""The check of the uncertainty (appendix, figure "jeffreys_l2"): does it tell how far the robot is from the expert?

A policy learns from the offline demonstrations of a world whose people are one trained expert, and one robot does the
first 1,000 timesteps by itself. At each state the Jeffreys uncertainty is compared with the L2 distance between the
robot's and the expert's action, in half action ranges. One ensemble of 5 is trained; n = 2 is its first two members,
and they choose the robot's actions. So both sizes judge the same actions at the same states.

The paper does not name its world. Ball Balance and Ant are the first two worlds of its benchmark; both are reported.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from scipy.stats import pearsonr, spearmanr

from iifl.assembly import make_memory, make_policy, make_supervisors, make_task, sizes_of
from iifl.config import RunConfig
from iifl.experiments.scale import Scale
from iifl.experiments.uncertainty_figure import draw
from iifl.policies.implicit import ImplicitConfig, ImplicitPolicy
from iifl.pool import Job, run_jobs
from iifl.presets import preset
from iifl.records import FloatArray
from iifl.report.page import build_report
from iifl.report.results import Row, write_summary
from iifl.report.story import Claim, Difference, FigureNote, Metric, PaperNumber, Story, write_story
from iifl.report.strict import read_json, write_json
from iifl.run import Progress, pretrain

NAME = "uncertainty"
WORLDS = {"ball_balance": "Ball Balance", "ant": "Ant"}
SIZES = {"n2": 2, "n5": 5}
SEEDS: dict[Scale, int] = {"smoke": 1, "cpu": 3, "paper": 5}
STEPS: dict[Scale, int | None] = {"smoke": 300, "cpu": None, "paper": None}
"""Gradient steps before the robot begins; none: half as many as there are transitions, as in the paper."""
TIMESTEPS = 1000
VISIT_SEED = 6_000_029
"""Added to the seed: the robot's episodes are not those of the demonstrations."""


def reproduce(out: Path, scale: Scale, console: Console, fresh: bool = False) -> Path:
    """Train and visit what is not there yet, on all cores, and build the report; returns the page."""
    jobs = []
    for world in WORLDS:
        for seed in range(SEEDS[scale]):
            config = configuration(world, seed, scale)
            jobs.append(Job(f"{world} seed {seed}", _visit, (config, _file(out, world, seed), fresh)))
    visits: list[dict[str, Any]] = run_jobs(jobs, console, "Uncertainty")
    write_summary(out, [row for visit in visits for row in _rows(visit, scale)])
    write_story(out, _story(scale))
    draw(visits, WORLDS, out / "uncertainty")
    return build_report([out], out / "report.html")


def configuration(world: str, seed: int, scale: Scale) -> RunConfig:
    """The implicit policy of a world, with the larger ensemble."""
    config = preset(world, "iifl")
    policy = config.policy
    assert isinstance(policy, ImplicitConfig)
    learning = config.learning if STEPS[scale] is None else replace(config.learning, pretraining_steps=STEPS[scale])
    return replace(config, seed=seed, policy=replace(policy, members=max(SIZES.values())), learning=learning)


def first_members(policy: ImplicitPolicy, count: int, seed: int) -> ImplicitPolicy:
    """The policy of the first `count` members of another."""
    few = ImplicitPolicy(replace(policy.config, members=count), policy.sizes, seed, str(policy.device))
    few.normalisation.load_state_dict(policy.normalisation.state_dict())
    few.model.load_state_dict({name: value[:count] for name, value in policy.model.state_dict().items()})
    return few


def _file(out: Path, world: str, seed: int) -> Path:
    return out / "runs" / f"{world}-{seed}.json"


def _visit(config: RunConfig, path: Path, fresh: bool, progress: Progress) -> dict[str, Any]:
    """Uncertainties and distances along the way of one robot, from the file if it is there."""
    if path.exists() and not fresh:
        return dict(read_json(path))
    sizes = sizes_of(make_task(config.task, 1, config.seed))
    rng = np.random.default_rng(config.seed)
    policy = make_policy(config.policy, sizes, config.seed, config.device)
    assert isinstance(policy, ImplicitPolicy)
    pretrain(config, policy, make_memory(config.policy, sizes, rng), rng, progress)
    ensembles = {name: first_members(policy, count, config.seed) for name, count in SIZES.items()}
    visit = {"task": config.task, "seed": config.seed, **_along_the_way(config, ensembles)}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, visit)
    return visit


def _along_the_way(config: RunConfig, ensembles: dict[str, ImplicitPolicy]) -> dict[str, list[float]]:
    """One robot by itself, reset whenever it fails; it acts as the first ensemble says."""
    seed = config.seed + VISIT_SEED
    rng = np.random.default_rng(seed)
    task = make_task(config.task, 1, seed)
    expert = make_supervisors(config.task, 1, 1, rng)
    actor = next(iter(ensembles.values()))
    half_range = actor.normalisation.half_range.numpy()
    values: dict[str, list[float]] = {"distance": [], **{name: [] for name in ensembles}}
    observations, _ = task.reset()
    for _ in range(TIMESTEPS):
        decisions = {name: ensemble.decide(observations) for name, ensemble in ensembles.items()}
        action = decisions[next(iter(ensembles))].actions
        right = expert.act(np.zeros(1, int), np.zeros(1, int), observations, task)
        values["distance"].append(float(np.linalg.norm((action - right) / half_range)))
        for name, decision in decisions.items():
            values[name].append(float(decision.uncertainty[0]))
        task.step(action)
        observations, _ = task.reset(options={"reset_mask": ~task.running})
    return values


def _rows(visit: dict[str, Any], scale: Scale) -> list[Row]:
    distance = np.array(visit["distance"])
    rows = []
    for name in SIZES:
        for metric, value in correlations(np.array(visit[name]), distance).items():
            rows.append(Row(NAME, visit["task"], name, "scripted", visit["seed"], scale, metric, value))
    return rows


def correlations(uncertainty: FloatArray, distance: FloatArray) -> dict[str, float]:
    """How the uncertainties (T,) of one robot go with its distances from the expert (T,)."""
    return {
        "pearson": float(pearsonr(uncertainty, distance).statistic),
        "pearson_root": float(pearsonr(np.sqrt(uncertainty), distance).statistic),
        "rank": float(spearmanr(uncertainty, distance).statistic),
        "deviation": float((uncertainty / uncertainty.max()).std()),
    }


def _story(scale: Scale) -> Story:
    """What the reader needs to judge the rows."""
    return Story(
        title="Does the uncertainty tell how far the robot is from the expert?",
        reference="Appendix, figure “jeffreys_l2”",
        summary=(
            "At the first 1,000 states that one robot visits with a policy learned offline, its Jeffreys uncertainty "
            "is correlated with the distance between its own and the expert's action; with 2 models, and with 5."
        ),
        algorithms=tuple(SIZES),
        labels={**WORLDS, **{name: f"n = {count}" for name, count in SIZES.items()}, "scripted": "one trained expert"},
        metrics=(
            Metric("pearson", "Pearson's r", "higher"),
            Metric("pearson_root", "Pearson's r of the root", "higher"),
            Metric("rank", "Spearman's rank correlation", "higher"),
            Metric("deviation", "Deviation of the uncertainty / its maximum"),
        ),
        paper=(
            PaperNumber("pearson", "n2", 0.688),
            PaperNumber("pearson", "n5", 0.804),
            PaperNumber("deviation", "n2", 0.220),
            PaperNumber("deviation", "n5", 0.176),
        ),
        claims=(
            Claim("Five models tell it better than two.", "pearson", "n5", "more than", against=("n2",)),
            Claim("Two models tell it at least as well as the paper's two.", "pearson", "n2", "at least", bound=0.688),
            Claim("Five models tell it at least as well as its five.", "pearson", "n5", "at least", bound=0.804),
        ),
        settings={
            "Offline": "10 episodes of the expert"
            + (f", {STEPS[scale]} gradient steps" if STEPS[scale] else "; half as many gradient steps as transitions"),
            "Robot": f"one, for {TIMESTEPS:,} timesteps, begun anew whenever it fails or its episode ends",
            "Distance": "L2, between actions in half action ranges",
            "Ensembles": "n = 2 is the first two of the five models, and chooses the robot's actions for both",
            "Seeds": f"{SEEDS[scale]}, each a policy trained anew",
        },
        differences=(
            Difference(
                "A world that is not named.",
                "Ball Balance and Ant, both reported.",
                "Chosen before any result: the first two worlds of the paper's benchmark, with experts of one kind.",
            ),
            Difference(
                "Langevin samples of energies with bounded gradients, at temperature 0.109.",
                "Energies with a learned proposal, at temperature 1.",
                "Here the divergence of two narrow densities grows with the square of their distance, in the paper's "
                "about in proportion to it. So the correlation of its root is reported as well.",
            ),
        ),
        commands=(f"iifl reproduce uncertainty --scale {scale}",),
        figures=(
            FigureNote(
                "uncertainty",
                "The uncertainty (root, as a share of its maximum) and the distance from the expert, over the first "
                "1,000 states of seed 0 (left, mean over 10 states), and against each other for all seeds (right).",
                "For each world two curves over the states and a cloud of points.",
            ),
        ),
    )
