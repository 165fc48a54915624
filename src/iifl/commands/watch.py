"""`iifl watch`: a film of several robots, with the people who help them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console

from iifl.commands.progress import stages
from iifl.config import RunConfig, from_dict
from iifl.run import execute
from iifl.runs.folder import RunFolder
from iifl.watch import watch_expert, watch_fleet


@dataclass(frozen=True)
class Watch:
    """Film several robots of a MuJoCo world, without a screen.

    Borders: blue, a human is with this robot; red, it has failed; orange, a human resets it; green, it ended well.
    """

    world: tyro.conf.Positional[str]
    """The world, by name."""
    policy: str = "expert"
    """Who acts: the word expert, or the folder of a finished run, whose fleet then works on while it is filmed."""
    out: Path | None = None
    """A .webp or .gif animation, or a .png with a sheet of pictures; none: runs/WORLD.webp."""
    robots: int = 6
    """How many robots are seen."""
    steps: int = 300
    """Timesteps of the film."""
    every: int = 3
    """Timesteps from picture to picture."""


def command(options: Sequence[str], console: Console) -> None:
    """Film, and say where the film is."""
    given = tyro.cli(Watch, prog="iifl watch", args=options)
    out = given.out or Path("runs") / f"{given.world}.webp"
    out.parent.mkdir(parents=True, exist_ok=True)
    if given.policy == "expert":
        watch_expert(given.world, out, given.robots, given.steps, given.every)
    else:
        with stages(console) as progress:
            # a film is no result: the run may be of an older program
            config = _configuration(Path(given.policy), given.world)
            fleet = execute(config, Path(given.policy), progress, force=True).fleet
        watch_fleet(fleet, out, given.robots, given.steps, given.every)
    console.print(f"The film is in {out}")


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
