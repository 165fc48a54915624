"""Exact resume: killed at random moments on every task, a run ends with the bits of one that nobody interrupted.

The moments are drawn evenly from all the signs of progress that the uninterrupted run gave, in every stage; the kill
comes a random while after its sign. After each kill the journal holds every timestep that the run had told to be
committed, once, and as it was in the uninterrupted run.
"""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from iifl.config import AllocationConfig, FleetConfig, LearningConfig, RunConfig, to_dict
from iifl.policies.explicit import ExplicitConfig
from iifl.policies.implicit import ImplicitConfig
from iifl.policies.learner import Optimisation
from iifl.registry import TASKS
from iifl.run import execute
from iifl.runs.checkpoint import load_checkpoint
from iifl.runs.files import write_json
from iifl.runs.folder import RunFolder
from iifl.runs.journal import Journal

pytestmark = pytest.mark.usefixtures("unchanged_source")

LIGHT = Optimisation(batch=8, learning_rate=1e-2)
SMALL = RunConfig(
    checkpoint_every=7,
    fleet=FleetConfig(robots=6, humans=4, timesteps=60, minimum_intervention=3, reset_steps=2),
    allocation=AllocationConfig(quantile=0.9, calibration_robots=5, calibration_timesteps=20),
    learning=LearningConfig(demonstrations=1, pretraining_steps=120, update_every=10, steps_per_timestep=1),
    policy=ImplicitConfig(width=8, depth=1, components=2, counter_examples=2, draws=4, optimisation=LIGHT),
)
SHORT = RunConfig(
    algorithm="ifl",
    checkpoint_every=3,
    fleet=FleetConfig(robots=6, humans=2, timesteps=30, minimum_intervention=3, reset_steps=2),
    allocation=AllocationConfig(threshold=0.0),
    learning=LearningConfig(demonstrations=1, pretraining_steps=4, update_every=5, steps_per_timestep=1),
    policy=ExplicitConfig(members=2, width=8, depth=1, optimisation=LIGHT),
)
Moment = tuple[str, int]
"""A sign of progress: the stage, and how much of it is done."""


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


@contextmanager
def forked(config: RunConfig, path: Path) -> Iterator[tuple[int, IO[str]]]:
    """The run in a fork of this process, and what it tells."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            execute(config, path, lambda stage, done, total: os.write(writing, f"{stage}\t{done}\n".encode()))
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as signs:
        yield child, signs


@contextmanager
def fresh(config: RunConfig, path: Path) -> Iterator[tuple[int, IO[str]]]:
    """The run in a process that shares nothing with this one, as `iifl run` is."""
    write_json(path.with_suffix(".json"), to_dict(config), "extra")
    command = [sys.executable, str(Path(__file__).with_name("killable.py")), str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        yield process.pid, process.stdout


def uninterrupted(config: RunConfig, path: Path, begin=forked) -> tuple[list[Moment], float]:
    """Run it to the end; its signs of progress, and how long one takes."""
    with begin(config, path) as (process, signs):
        first, moments = time.monotonic(), []
        for line in signs:
            stage, done = line.rstrip().split("\t")
            moments.append((stage, int(done)))
        between = (time.monotonic() - first) / len(moments)
        assert os.waitpid(process, 0)[1] == 0
    return list(dict.fromkeys(moments)), between


def run_and_kill(started, order: dict[Moment, int], at: int, pause: float) -> list[int]:
    """Kill a run a while after it has come to the moment `at`, or later; the timesteps that it told to be committed."""
    told = []
    with started as (process, signs):
        for line in signs:
            told.append(line)
            stage, done = line.rstrip().split("\t")
            if order[stage, int(done)] >= at:
                break
        time.sleep(pause)
        os.kill(process, signal.SIGKILL)
        told += [line for line in signs if line.endswith("\n")]
        status = os.waitpid(process, 0)[1]
    assert os.WIFSIGNALED(status) or (at >= len(order) - 2 and status == 0), f"the run ended before moment {at}"
    return [int(line.split("\t")[1]) for line in told if line.startswith("fleet at work")]


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
    whole, path, rng = tmp_path / "whole", tmp_path / f"run-{seed}", random.Random(seed)
    moments, between = uninterrupted(config, whole, begin)
    order = {moment: place for place, moment in enumerate(moments)}
    length = 0
    for at in sorted(rng.sample(range(len(moments) - 1), kills)):
        committed = run_and_kill(begin(config, path), order, at, rng.uniform(0, between))
        length = check_journal(path, whole, committed, length)
    uninterrupted(config, path, begin)
    assert digest(path) == digest(whole)


@pytest.mark.parametrize("task", TASKS.names())
def test_two_kills_on_each_task(task, tmp_path):
    check_kills(replace(SMALL, task=task), tmp_path, kills=2, seed=0, begin=forked)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("task", TASKS.names())
def test_twenty_kills_in_one_run_on_each_task(task, tmp_path):
    config = replace(SMALL, task=task, trials=3, fleet=replace(SMALL.fleet, timesteps=200))
    check_kills(config, tmp_path, kills=20, seed=1, begin=fresh)


def test_ten_kills_of_a_short_run(tmp_path):
    check_kills(SHORT, tmp_path, kills=10, seed=0, begin=forked)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_hundred_kills_of_short_runs(tmp_path):
    for seed in range(20):  # ten kills of each
        (tmp_path / str(seed)).mkdir()
        check_kills(SHORT, tmp_path / str(seed), kills=10, seed=seed, begin=forked)
