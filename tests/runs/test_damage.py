"""A damaged file of a run: an error that names it, or a result that is right to the last bit; never a wrong one.

A flipped byte, a truncation or a missing piece at random in every file of two runs: a finished one, which is loaded
again, and one that was killed on the way, which goes on.
"""

import os
import random
import shutil
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest

from iifl.checks import ConfigError
from iifl.config import AllocationConfig, FleetConfig, LearningConfig, RunConfig
from iifl.policies.explicit import ExplicitConfig
from iifl.policies.learner import Optimisation
from iifl.run import execute
from iifl.runs.files import StorageError
from iifl.runs.folder import RunFolder
from iifl.runs.journal import Journal
from iifl.runs.manifest import ManifestMismatchError

pytestmark = pytest.mark.usefixtures("unchanged_source")

CONFIG = RunConfig(
    algorithm="ifl",
    checkpoint_every=4,
    fleet=FleetConfig(robots=3, humans=1, timesteps=14),
    allocation=AllocationConfig(threshold=0.0),
    learning=LearningConfig(demonstrations=1, pretraining_steps=2, update_every=5, steps_per_timestep=1),
    policy=ExplicitConfig(members=2, width=4, depth=1, optimisation=Optimisation(batch=4)),
)
FILES = ("config.json", "manifest.json", "threshold.json", "metrics.json", "summary.json", "SHA256SUMS")
FOUND = (StorageError, ManifestMismatchError, ConfigError)


def result(path: Path) -> dict[str, bytes]:
    """The run as it is loaded, or gone on with, from its folder: numbers over time, final numbers, and the fleet."""
    finished = execute(CONFIG, path)
    with Journal.open(path / "journal.sqlite", read_only=True) as journal:
        journaled = [*journal.read().values(), *journal.transitions()]
    state = {name: np.asarray(value).tobytes() for name, value in finished.fleet.state_dict().items()}
    numbers = (finished.summary, RunFolder.read(path).read_metrics(), (path / "threshold.json").read_text())
    return {**state, "journal": b"".join(map(bytes, journaled)), "numbers": repr(numbers).encode()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory, unchanged_source) -> Path:
    path = tmp_path_factory.mktemp("finished") / "run"
    execute(CONFIG, path)
    return path


@pytest.fixture(scope="module")
def killed(tmp_path_factory, unchanged_source) -> Path:
    """The same run, killed after timestep 10 with two checkpoints behind it."""
    path = tmp_path_factory.mktemp("killed") / "run"

    def kill(stage: str, done: int, total: int) -> None:
        if (stage, done) == ("fleet at work", 10):
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        try:
            execute(CONFIG, path, kill)
        finally:
            os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    return path


def damage(file: Path, rng: random.Random) -> str:
    """Flip a byte, cut the file off, take a piece out of it, or remove it."""
    whole = file.read_bytes()
    place, kind = rng.randrange(max(len(whole), 1)), rng.choice(("flip", "flip", "flip", "cut", "piece", "remove"))
    if kind == "flip" and whole:
        file.write_bytes(whole[:place] + bytes([whole[place] ^ rng.randrange(1, 256)]) + whole[place + 1 :])
    elif kind == "cut":
        file.write_bytes(whole[:place])
    elif kind == "piece":
        file.write_bytes(whole[:place] + whole[place + rng.randrange(1, 600) :])
    else:
        file.unlink()
    return f"{kind} at {place} of {file.name}"


def every_damage(run: Path, copy: Path, expected: dict[str, bytes], times: int) -> dict[str, int]:
    """Damage every file of `run` so often, each time in a fresh copy; for each file, how often it was found out."""
    found = {}
    names = [file.relative_to(run) for file in sorted(run.rglob("*")) if file.is_file() and file.name != "lock"]
    for name in names:
        rng, found[name.name] = random.Random(str(name)), 0
        for _ in range(times):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(run, copy)
            what = damage(copy / name, rng)
            try:
                with warnings.catch_warnings(record=True) as warned:
                    warnings.simplefilter("always")
                    same = result(copy) == expected
            except FOUND as error:
                found[name.name] += 1
                known = (name.name.split("-wal")[0], name.parent.name or "-", "resumed exactly", "holds another run")
                assert any(word in str(error) for word in known), f"{what}: {error}"
            else:
                assert same, f"{what} changed the result silently"
                found[name.name] += any(name.name in str(warning.message) for warning in warned)
    return found


def check_all(finished: Path, killed: Path, tmp_path: Path, times: int) -> None:
    expected = result(finished)
    found = every_damage(finished, tmp_path / "copy", expected, times)
    assert set(found) >= {*FILES, "journal.sqlite", "checkpoint-000000014.safetensors"}
    assert all(found[name] == times for name in (*FILES, "checkpoint-000000014.safetensors"))
    found = every_damage(killed, tmp_path / "copy", expected, times)
    assert set(found) >= {"config.json", "manifest.json", "journal.sqlite", "checkpoint-000000008.safetensors"}
    assert found["config.json"] == times
    assert found["checkpoint-000000008.safetensors"] > 0  # the older one went on to the same bits


def test_damage_is_found_or_harmless(finished, killed, tmp_path):
    check_all(finished, killed, tmp_path, times=3)


@pytest.mark.slow
def test_much_damage_is_found_or_harmless(finished, killed, tmp_path):
    check_all(finished, killed, tmp_path, times=100)
