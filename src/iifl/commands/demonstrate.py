"""`iifl demonstrate`: full episodes of the people of a world at work by themselves, as a Parquet file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro
from rich.console import Console

from iifl.assembly import make_supervisors, make_task
from iifl.experts.demonstrations import record_demonstrations
from iifl.registry import SCRIPTED, TASKS
from iifl.supervisors.base import kinds_of


@dataclass(frozen=True)
class Demonstrate:
    """Record demonstrations; the same options give the same file. docs/demonstrations.md describes it."""

    world: tyro.conf.Positional[str]
    """The world, by name."""
    episodes: int = 10
    """Full episodes; one that fails is left out and begun again."""
    humans: int = 1
    """People, who take turns from episode to episode."""
    supervisor: str = SCRIPTED
    """Who demonstrates: scripted, or another kind of people that the world has."""
    transitions: int = 0
    """Keep the first so many timesteps of each kind of people; 0: whole episodes."""
    seed: int = 0
    """Everything random follows from it."""
    out: Path | None = None
    """The file; none: runs/WORLD-demonstrations.parquet."""


def command(options: Sequence[str], console: Console) -> None:
    """Record, and say where the file is."""
    given = tyro.cli(Demonstrate, prog="iifl demonstrate", args=options)
    out = given.out or Path("runs") / f"{given.world}-demonstrations.parquet"
    out.parent.mkdir(parents=True, exist_ok=True)
    task = make_task(given.world, given.episodes, given.seed, **TASKS.load(given.world).demonstration_options)
    rng = np.random.default_rng(given.seed)
    crowd = make_supervisors(given.world, given.humans, given.episodes, rng, given.supervisor)
    found = record_demonstrations(task, crowd, getattr(task, "timestep", 1.0))
    success = found.success[found.done].mean()
    if given.transitions:
        found = found.first_of_each(kinds_of(crowd), given.transitions)
    found.save(out, given.world, given.seed)
    console.print(f"{given.episodes} episodes, {len(found.frames):,} timesteps, {success:.0%} successful: {out}")
