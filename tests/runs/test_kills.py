"""Exact resume: killed at random moments on every task, a run ends with the bits of one that nobody interrupted.

The moments are drawn evenly from all the signs of progress that the uninterrupted run gave, in every stage; the kill
comes a random while after its sign. After each kill the journal holds every timestep that the run had told to be
committed, once, and as it was in the uninterrupted run.
"""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

import numpy as np
import pytest
import torch

from iifl.config import AllocationConfig, FleetConfig, LearningConfig, RunConfig, from_dict, to_dict
from iifl.policies.explicit import ExplicitConfig
from iifl.policies.learner import Optimisation
from iifl.presets import preset
from iifl.registry import TASKS
from iifl.run import execute
from iifl.runs.checkpoint import load_checkpoint
from iifl.runs.folder import RunFolder
from iifl.runs.journal import Journal

pytestmark = pytest.mark.usefixtures("unchanged_source")

LIGHT = Optimisation(batch=8, learning_rate=1e-2)
SHORT = RunConfig(
    algorithm="ifl",
    checkpoint_every=3,
    fleet=FleetConfig(robots=6, humans=2, timesteps=30, minimum_intervention=3, reset_steps=2),
    allocation=AllocationConfig(threshold=0.0),
    learning=LearningConfig(demonstrations=1, pretraining_steps=4, update_every=5, steps_per_timestep=1),
    policy=ExplicitConfig(members=2, width=8, depth=1, optimisation=LIGHT),
)


def small(task: str) -> RunConfig:
    """IIFL on a task, as small as it can be."""
    start = preset(task, "iifl")
    return replace(
        start,
        checkpoint_every=7,
        trials=0,
        fleet=FleetConfig(robots=6, humans=4, timesteps=60, minimum_intervention=3, reset_steps=2),
        allocation=replace(start.allocation, quantile=0.9, calibration_robots=5, calibration_timesteps=20),
        learning=LearningConfig(demonstrations=1, pretraining_steps=120, update_every=10, steps_per_timestep=1),
        policy=replace(start.policy, width=8, depth=1, components=2, counter_examples=2, draws=5, optimisation=LIGHT),
    )


Moment = tuple[str, int]
"""A sign of progress: the stage, and how much of it is done."""
PAUSE = 0.004
"""Seconds from such a moment to the kill, at most: somewhat more than the shortest timesteps take."""


def digest(path: Path) -> str:
    """SHA-256 of all that a run has to show in the end: journal, last state of everything, numbers."""
    with Journal.open(path / "journal.sqlite", read_only=True) as journal:
        found = hashlib.sha256(b"".join(map(bytes, [*journal.read().values(), *journal.transitions()])))
    folder = RunFolder.read(path)
    newest = folder.checkpoints.load_latest()
    assert newest.t == folder.manifest.config["fleet"]["timesteps"]
    for file in (newest.path, path / "threshold.json", path / "metrics.json", path / "summary.json"):
        found.update(file.read_bytes())
    return found.hexdigest()


@dataclass(frozen=True)
class Killed:
    """A run whose process kills itself a while after it has come to the moment `at` of `moments`, or to a later one."""

    config: RunConfig
    path: Path
    moments: list[Moment] = field(default_factory=list)
    at: int = sys.maxsize  # never
    pause: float = 0.0

    def run(self, tell: Callable[[str], object]) -> None:
        """All of it, in this process; tells every sign of progress."""
        order = {moment: place for place, moment in enumerate(self.moments)}
        killer = threading.Timer(self.pause, os.kill, (os.getpid(), signal.SIGKILL))
        killer.daemon = True

        def progress(stage: str, done: int, total: int) -> None:
            tell(f"{stage}\t{done}\n")
            if order.get((stage, done), -1) >= self.at and not killer.ident:
                killer.start()

        execute(self.config, self.path, progress)


def forked(given: Killed) -> tuple[int, IO[str]]:
    """Begin the run in a fork of this process: its number, and what it tells."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            given.run(lambda sign: os.write(writing, sign.encode()))
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    return child, os.fdopen(reading)


def fresh(given: Killed) -> tuple[int, IO[str]]:
    """Begin the run in a process that shares nothing with this one, as `iifl run` is."""
    file = given.path.with_suffix(".json")
    file.write_text(json.dumps({**vars(given), "config": to_dict(given.config), "path": str(given.path)}))
    process = subprocess.Popen([sys.executable, __file__, str(file)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process.pid, process.stdout


def as_told(given: Killed, begin) -> tuple[list[Moment], int]:
    """The signs of progress of the run, and how its process ended."""
    process, signs = begin(given)
    with signs:
        moments = [(stage, int(done)) for stage, _, done in (line.partition("\t") for line in signs)]
    return moments, os.waitpid(process, 0)[1]


def check_journal(path: Path, whole: Path, committed: list[int], before: int) -> int:
    """No committed timestep is lost, none is there twice, and each is what it is in the uninterrupted run.

    Gives their number; there were so many `before`. A run that goes on does those after its checkpoint again.
    """
    if not (path / "journal.sqlite").exists():
        assert not committed
        return 0
    with Journal.open(path / "journal.sqlite", read_only=True) as ours:
        there, taught, length = ours.read(), ours.transitions(), len(ours)
    if committed:
        assert committed == list(range(committed[0], committed[-1] + 1))
        assert committed[-1] <= length <= committed[-1] + 1
    else:
        saved = RunFolder.read(path).checkpoints.paths()
        assert (load_checkpoint(saved[-1]).t if saved else 0) <= length <= before + 1
    with Journal.open(whole / "journal.sqlite", read_only=True) as theirs:
        expected, lessons = theirs.read(), theirs.transitions()
    for name, column in there.items():
        np.testing.assert_array_equal(column, expected[name][:length], err_msg=name)
    for ours_taught, theirs_taught in zip(taught, lessons, strict=True):
        assert len(ours_taught) == there["taught"].sum()
        np.testing.assert_array_equal(ours_taught, theirs_taught[: len(ours_taught)])
    return length


def check_kills(config: RunConfig, tmp_path: Path, kills: int, seed: int, begin) -> None:
    """Kill one run so often, and let it end."""
    whole, path, rng = tmp_path / "whole", tmp_path / "run", random.Random(seed)
    signs, status = as_told(Killed(config, whole), begin)
    assert status == 0
    moments, length = list(dict.fromkeys(signs)), 0
    for at in sorted(rng.sample(range(len(moments) - 3), kills)):
        told, status = as_told(Killed(config, path, moments, at, rng.uniform(0, PAUSE)), begin)
        assert os.WIFSIGNALED(status), f"the run ended before {moments[at]}"
        assert os.WTERMSIG(status) == signal.SIGKILL
        length = check_journal(path, whole, [done for stage, done in told if stage == "fleet at work"], length)
    assert as_told(Killed(config, path), begin)[1] == 0
    assert digest(path) == digest(whole)


@pytest.mark.parametrize("task", TASKS.names())
def test_two_kills_on_each_task(task, tmp_path):
    draws = hasattr(TASKS.load(task), "draw")  # a fork of a process that has drawn a picture cannot draw another
    check_kills(small(task), tmp_path, kills=2, seed=0, begin=fresh if draws else forked)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("task", TASKS.names())
def test_twenty_kills_in_one_run_on_each_task(task, tmp_path):
    config = replace(small(task), trials=3, fleet=replace(small(task).fleet, timesteps=200))
    check_kills(config, tmp_path, kills=20, seed=1, begin=fresh)


def test_ten_kills_of_a_short_run(tmp_path):
    check_kills(SHORT, tmp_path, kills=10, seed=0, begin=forked)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_hundred_kills_of_short_runs(tmp_path):
    for seed in range(20):  # ten kills of each
        (tmp_path / str(seed)).mkdir()
        check_kills(SHORT, tmp_path / str(seed), kills=10, seed=seed, begin=forked)


if __name__ == "__main__":
    torch.set_num_threads(1)
    there = json.loads(Path(sys.argv[1]).read_text())
    config = from_dict(RunConfig, there.pop("config"))
    Killed(config, Path(there.pop("path")), [tuple(moment) for moment in there.pop("moments")], **there).run(
        lambda sign: print(sign, end="", flush=True)  # noqa: T201
    )
