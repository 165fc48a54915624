"""`iifl watch`: a film of several robots, with the people who help them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console

from iifl.checks import at_least
from iifl.commands.progress import stages
from iifl.config import RunConfig, from_dict
from iifl.registry import TASKS, spelled
from iifl.run import execute
from iifl.runs.folder import RunFolder
from iifl.watch import watch_fleet, watch_people

PICTURES = 12
"""Of a sheet, unless somebody says how far apart they are."""


@dataclass(frozen=True)
class Watch:
    """Film several robots of a MuJoCo world, without a screen.

    The frame of each robot says who is in charge. Grey: it is on its own; blue: a human is in control; red: it has
    failed and waits; orange: a human resets it; green: a success; violet: an episode without success.
    """

    world: tyro.conf.Positional[str]
    """The world, by name."""
    policy: str = "expert"
    """Who acts: the word expert for the people of the world at work by themselves, or the folder of a finished run,
    whose fleet then works on while it is filmed."""
    out: Path | None = None
    """A .webp or .gif animation, or a .png with a sheet of pictures; none: runs/WORLD.webp."""
    robots: int = 6
    """How many robots are seen."""
    steps: int = 300
    """Timesteps of the film."""
    every: int | None = None
    """Timesteps from picture to picture; none: 3, or as many as make a sheet of 12 pictures, or 1 where a timestep is
    long and has several pictures itself."""

    def __post_init__(self) -> None:
        at_least(self, 1, "robots", "steps")
        if self.every is not None:
            at_least(self, 1, "every")


def command(options: Sequence[str], console: Console) -> None:
    """Film, and say where the film is."""
    given = tyro.cli(Watch, prog="iifl watch", args=options)
    world = spelled(given.world)
    out = given.out or Path("runs") / f"{world}.webp"
    every = given.every or _every(world, given.steps, out)
    out.parent.mkdir(parents=True, exist_ok=True)
    if given.policy == "expert":
        watch_people(world, out, given.robots, given.steps, every)
    else:
        with stages(console) as progress:
            # a film is no result: the run may be of an older program
            config = _configuration(Path(given.policy), world)
            fleet = execute(config, Path(given.policy), progress, force=True).fleet
        watch_fleet(fleet, out, given.robots, given.steps, every)
    console.print(f"The film is in {out}")


def _every(world: str, steps: int, out: Path) -> int:
    """How far apart the pictures are, unless somebody says so."""
    if getattr(TASKS.load(world), "moments", 1) > 1:
        return 1
    return max(1, steps // PICTURES) if out.suffix == ".png" else 3


def _configuration(run: Path, world: str) -> RunConfig:
    if not RunFolder.holds_run(run):
        raise ValueError(f"'{run}' is neither the word expert nor the folder of a run")
    with RunFolder.resume(run) as folder:
        if not folder.is_finished:
            raise ValueError(f"the run in '{run}' has not finished; let it finish before you film it")
        config: RunConfig = from_dict(RunConfig, folder.manifest.config)
    if config.task != world:
        raise ValueError(f"the run in '{run}' is of the world '{config.task}', not '{world}'")
    return config
