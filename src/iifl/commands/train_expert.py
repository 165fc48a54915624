"""`iifl train-expert`: train the expert supervisor of a world by reinforcement learning."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import tyro
from rich.console import Console


@dataclass(frozen=True)
class TrainExpert:
    """Train the expert supervisor of a world; goes on from the checkpoint in its folder.

    Needs the extra `experts`: pip install 'iifl[experts]'.
    """

    world: tyro.conf.Positional[str]
    """The world: ball_balance, ant or anymal."""
    steps: int | None = None
    """Steps of all robots together; none: as many as the shipped expert took."""
    seed: int = 0
    """Everything random in the training follows from it."""
    threads: int = 0
    """Threads of physics and learning; 0: all cores."""
    out: Path | None = None
    """The folder; none: runs/expert-WORLD."""


def command(options: Sequence[str], console: Console) -> None:
    """Train, measure, and say where the expert is."""
    given = tyro.cli(TrainExpert, prog="iifl train-expert", args=options)
    if find_spec("stable_baselines3") is None:
        raise RuntimeError("training an expert needs stable-baselines3: pip install 'iifl[experts]'")
    from iifl.experts.train import train_expert  # noqa: PLC0415 (only there with the extra)

    out = given.out or Path("runs") / f"expert-{given.world}"
    train_expert(given.world, out, steps=given.steps, seed=given.seed, threads=given.threads)
    console.print(f"The expert and its card are in {out}")
