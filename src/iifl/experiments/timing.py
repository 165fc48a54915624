"""Computation times (appendix, table "times"): training, inference, uncertainty of IFL and IIFL, in the sizes of Ant.

The explicit ensemble, the implicit policy of this project and the published one, each with its own hyper-parameters;
and, as in the paper, 5 implicit models, and annealed importance sampling of the partition functions instead of the
Jeffreys identity. A repetition is reported as a seed. The published sampler takes minutes for a fleet on a small CPU:
below the scale `paper` it is measured for 10 of the 100 robots and multiplied by 10 (its cost is in proportion to the
robots, which go through it in chunks), and the scale `smoke` leaves it out.
"""

from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import Progress

from iifl.benchmarks.policies import ACTION, OBSERVATION, ROBOTS, fleet_observations, lessons, sizes
from iifl.benchmarks.rows import seconds
from iifl.energy.annealing import log_partition
from iifl.experiments.scale import Scale
from iifl.policies.explicit import ExplicitConfig, ExplicitPolicy
from iifl.policies.implicit import ImplicitConfig, ImplicitPolicy
from iifl.policies.langevin import LangevinConfig, LangevinPolicy
from iifl.policies.learner import Learner
from iifl.report.page import build_report
from iifl.report.results import Row, write_summary
from iifl.report.story import Claim, Difference, Metric, PaperNumber, Story, write_story

NAME = "timing"
REPETITIONS: dict[Scale, int] = {"smoke": 5, "cpu": 20, "paper": 100}
SLOW_REPETITIONS: dict[Scale, int] = {"smoke": 0, "cpu": 2, "paper": 3}
SLOW_ROBOTS: dict[Scale, int] = {"smoke": 0, "cpu": 10, "paper": ROBOTS}
STAGES = 100
"""Temperatures of the annealed importance sampling: as many as Langevin iterations."""

Timing = Callable[[], object]


def reproduce(out: Path, scale: Scale, console: Console, fresh: bool = False) -> Path:
    """Measure everything, one thing after the other, and build the report; it is always measured anew."""
    del fresh
    out.mkdir(parents=True, exist_ok=True)
    fast, slow = _fast(), _slow(SLOW_ROBOTS[scale]) if SLOW_REPETITIONS[scale] else {}
    rows: list[Row] = []
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("Timing", total=len(fast) + len(slow))
        for cases, repetitions, factor in (
            (fast, REPETITIONS[scale], 1.0),
            (slow, SLOW_REPETITIONS[scale], ROBOTS / max(1, SLOW_ROBOTS[scale])),
        ):
            for (algorithm, metric), case in cases.items():
                of_fleet = 1.0 if metric == "training" else factor
                for repetition, took in enumerate(_times(case, repetitions)):
                    values = {metric: of_fleet * took}
                    if metric == "training":
                        values["training_per_model"] = took / MEMBERS[algorithm]
                    rows += [
                        Row(NAME, "ant", algorithm, "none", repetition, scale, name, value)
                        for name, value in values.items()
                    ]
                progress.advance(task)
    write_summary(out, sorted(rows, key=lambda row: list(LABELS).index(row.algorithm)))
    write_story(out, _story(scale))
    return build_report([out], out / "report.html")


def _times(case: Timing, repetitions: int) -> list[float]:
    """Seconds of each repetition, after one that warms up if there are many."""
    if repetitions > 3:
        case()
    return [seconds(case) for _ in range(repetitions)]


LABELS = {
    "ifl": "IFL: 5 explicit models",
    "iifl": "IIFL: 2 models",
    "iifl-5": "IIFL: 5 models",
    "published": "IIFL as published: 2 models",
    "published-5": "IIFL as published: 5 models",
    "annealed": "Annealed importance sampling, 2 models",
}

MEMBERS = {"ifl": 5, "iifl": 2, "iifl-5": 5, "published": 2, "published-5": 5, "annealed": 2}


def _fast() -> dict[tuple[str, str], Timing]:
    """What takes milliseconds."""
    policies: dict[str, Learner] = {
        "ifl": ExplicitPolicy(ExplicitConfig(), sizes(), seed=0),
        "iifl": ImplicitPolicy(ImplicitConfig(), sizes(), seed=0),
        "iifl-5": ImplicitPolicy(ImplicitConfig(members=5), sizes(), seed=0),
    }
    cases: dict[tuple[str, str], Timing] = {}
    for name, policy in policies.items():
        cases |= _cases(name, policy, ROBOTS)
    return cases


def _slow(robots: int) -> dict[tuple[str, str], Timing]:
    """What takes minutes."""
    two = LangevinPolicy(LangevinConfig(), sizes(), seed=0)
    five = LangevinPolicy(LangevinConfig(members=5), sizes(), seed=0)
    observations = fleet_observations(robots)
    return {
        **_cases("published", two, robots),
        ("published-5", "uncertainty"): lambda: five.uncertainty(observations),
        ("annealed", "uncertainty"): lambda: _partition_functions(two, robots),
    }


def _cases(name: str, policy: Learner, robots: int) -> dict[tuple[str, str], Timing]:
    """Training, inference and uncertainty of one policy, as it gives them when asked for one alone."""
    observations, memory = fleet_observations(robots), lessons(MEMBERS[name])
    return {
        (name, "training"): lambda: policy.learn(memory, 1),
        (name, "inference"): lambda: policy.act(observations),
        (name, "uncertainty"): lambda: policy.uncertainty(observations),
    }


@torch.no_grad()
def _partition_functions(policy: LangevinPolicy, robots: int) -> torch.Tensor:
    """log Z of both models for every robot, with as many particles as the published sampler has chains."""
    energy = policy.model.eval().at(policy._states(fleet_observations(robots)))
    shape = (policy.config.members, robots, policy.config.draws)
    return log_partition(energy, policy.box, shape, generator=policy.generator, stages=STAGES, moves=1)


def _story(scale: Scale) -> Story:
    """What the reader needs to judge the rows."""
    differences = [
        Difference("One NVIDIA V100.", f"CPU, {torch.get_num_threads()} threads.", "The ratios are what compares."),
        Difference(
            "Inference and uncertainty from separate chains.",
            "IIFL's action and uncertainty come from one call, whose time is in both columns.",
            "They share their draws.",
        ),
        Difference(
            "Batches of 512 for all.",
            f"IIFL: {ImplicitConfig().optimisation.batch}.",
            "The default of this project; IFL and IIFL as published have 512.",
        ),
    ]
    if scale == "cpu":
        differences.append(
            Difference(
                f"N = {ROBOTS} for the published sampler.",
                f"N = {SLOW_ROBOTS[scale]}, times {ROBOTS // SLOW_ROBOTS[scale]}.",
                "Its cost is in proportion to the robots, and minutes; --scale paper measures the whole fleet.",
            )
        )
    paper: dict[str, dict[str, tuple[float, float | None]]] = {
        "ifl": {
            "training": (0.0385, 0.0205),
            "training_per_model": (0.0077, None),
            "inference": (0.0060, None),
            "uncertainty": (0.0029, 0.0008),
        },
        "published": {
            "training": (0.694, 0.207),
            "training_per_model": (0.347, None),
            "inference": (0.494, None),
            "uncertainty": (0.988, 0.008),
        },
        "published-5": {"uncertainty": (2.599, 0.002)},
        "annealed": {"uncertainty": (7.10, None)},
    }
    return Story(
        title="Computation times",
        reference="Appendix, table “times”",
        summary=(
            f"How long one gradient step of all models takes, and one timestep of a fleet of {ROBOTS} robots, with "
            f"observations of {OBSERVATION} and actions of {ACTION} numbers as in Ant."
        ),
        algorithms=tuple(LABELS),
        labels={**LABELS, "ant": "Ant's sizes", "none": "no supervisors"},
        metrics=(
            Metric("training", "Training step", "lower", unit="s"),
            Metric("training_per_model", "of one model", "lower", unit="s"),
            Metric("inference", "Inference", "lower", unit="s"),
            Metric("uncertainty", "Uncertainty", "lower", unit="s"),
        ),
        paper=tuple(
            PaperNumber(metric, algorithm, value, deviation)
            for algorithm, numbers in paper.items()
            for metric, (value, deviation) in numbers.items()
        ),
        claims=(
            Claim(
                "Uncertainty from 5 implicit models costs at most 2.6 times that from 2.",
                "uncertainty",
                "iifl-5",
                "at most",
                against=("iifl",),
                factor=2.6,
            ),
            Claim(
                "IIFL's uncertainty costs at most 10 times IFL's.",
                "uncertainty",
                "iifl",
                "at most",
                against=("ifl",),
                factor=10,
            ),
        ),
        settings={
            "Fleet": f"N = {ROBOTS}, |S| = {OBSERVATION}, |A| = {ACTION}",
            "Repetitions": f"{REPETITIONS[scale]}; {SLOW_REPETITIONS[scale]} of what takes minutes",
            "As published": "256 × 6, 512 samples, 100 Langevin iterations, 8 counter-examples, batches of 512",
            "Annealed importance sampling": f"512 particles, {STAGES} temperatures, for each robot and model",
        },
        differences=tuple(differences),
        commands=(f"iifl reproduce timing --scale {scale}",),
    )
