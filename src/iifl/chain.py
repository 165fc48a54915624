"""Runs that build on one another: IIFL-R has the human actions of the IIFL before it as its budget."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from iifl.config import RunConfig
from iifl.run import Progress, execute
from iifl.runs.folder import RunFolder

Summary = list[dict[str, Any]]


@dataclass(frozen=True)
class Chain:
    """Runs of one experiment in their order, each in its own folder."""

    configs: tuple[RunConfig, ...]
    folders: tuple[Path, ...]
    experiment: str
    scale: str
    force: bool = False
    """Go on with runs of another program or machine."""


def execute_chain(chain: Chain, progress: Progress) -> list[Summary]:
    """The summaries of the runs; where nobody was ever asked there is nothing to spend at random, and no run of it."""
    summaries: list[Summary] = []
    for config, folder in zip(chain.configs, chain.folders, strict=True):
        if summaries and needs_budget(config):
            if not (budget := human_actions(summaries[-1])):
                continue
            config = replace(config, allocation=replace(config.allocation, budget=budget))  # noqa: PLW2901
        RunFolder.wait(folder)
        finished = execute(
            config,
            folder,
            _named(config, progress) if summaries else progress,
            experiment=chain.experiment,
            scale=chain.scale,
            force=chain.force,
        )
        summaries.append(finished.summary)
    return summaries


def needs_budget(config: RunConfig) -> bool:
    """Whether people go to robots at random, and nobody has said how often."""
    return config.allocation.order == "random" and bool(config.fleet.timesteps) and not config.allocation.budget


def human_actions(summary: Summary) -> int:
    """How many human actions a run has taken."""
    return round(next((row["value"] for row in summary if row["metric"] == "human_actions"), 0))


def chained(stages: dict[str, float], names: Sequence[str]) -> dict[str, float]:
    """The shares of the stages of a chain of runs that take equally long; `names` are the algorithms."""
    return {
        (_stage(name, stage) if place else stage): share / len(names)
        for place, name in enumerate(names)
        for stage, share in stages.items()
    }


def _named(config: RunConfig, progress: Progress) -> Progress:
    """The progress of a later run of a chain, under its name."""

    def tell(stage: str, done: int, total: int) -> None:
        progress(_stage(config.algorithm, stage), done, total)

    return tell


def _stage(name: str, stage: str) -> str:
    return f"{name.upper()}: {stage}"
