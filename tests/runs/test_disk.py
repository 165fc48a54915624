"""Real disks that are full, limited or read-only; the first and the last need the right to mount, as in a container."""

import os
import resource
import subprocess
import sys
import textwrap

import pytest

from iifl.runs.checkpoint import Checkpoints
from iifl.runs.files import StorageError
from iifl.runs.journal import Journal

PREPARE = """
import sys
from pathlib import Path
import numpy as np
from iifl.records import Timestep
from iifl.runs.checkpoint import Checkpoints
from iifl.runs.files import StorageError, write_json
from iifl.runs.folder import RunFolder
from iifl.runs.journal import Journal
from iifl.runs.manifest import Manifest

disk = Path(sys.argv[1])
flags, numbers = np.zeros(8, bool), np.arange(8.0)
step = Timestep(np.full(8, -1), flags, numbers, numbers, *[flags] * 4), *np.zeros((2, 40, 50)), np.zeros(40, int)

def refused(action, *words):
    try:
        action()
    except StorageError as error:
        assert str(disk) in str(error), error
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("nothing was refused")

def fill(journal):
    while True:
        journal.append(len(journal), *step)
"""

FULL = """
ballast = disk / "ballast"
ballast.write_bytes(bytes(300_000))
checkpoints = Checkpoints(disk / "checkpoints")
checkpoints.save(1, {"x": np.arange(1000)}, {})
with Journal.create(disk / "journal.sqlite", 8, 50, 50) as journal:
    refused(lambda: fill(journal), "journal.sqlite", "full")
    committed = len(journal)
    assert committed > 3
    assert journal.read()["rewards"].shape == (committed, 8)
    refused(lambda: checkpoints.save(2, {"x": np.arange(1_000_000)}, {}), "checkpoint-000000002", "the disk is full")
    assert checkpoints.load_latest().t == 1
    assert [path.name for path in checkpoints.folder.iterdir()] == ["checkpoint-000000001.safetensors"]
    ballast.unlink()
    journal.append(committed, *step)
with Journal.open(disk / "journal.sqlite") as journal:
    assert len(journal) == committed + 1
"""

MAKE = """
manifest = Manifest.gather({"seed": 0})
with RunFolder.create(disk / "run", manifest) as folder:
    folder.checkpoints.save(1, {"x": np.arange(10)}, {})
    with Journal.create(folder.journal, 8, 50, 50) as journal:
        journal.append(0, *step)
"""

READ_ONLY = """
folder = RunFolder.read(disk / "run")
assert folder.checkpoints.load_latest().state["x"].tolist() == list(range(10))
with Journal.open(folder.journal, read_only=True) as journal:
    assert journal.read()["rewards"].tolist() == [list(range(8))]
refused(lambda: Journal.open(folder.journal), "journal.sqlite", "read-only")
refused(lambda: Journal.create(disk / "other.sqlite", 8, 50, 50), "other.sqlite")
refused(lambda: folder.checkpoints.save(2, {"x": np.arange(10)}, {}), "checkpoint-000000002.safetensors", "read-only")
refused(lambda: folder.write_summary([]), "summary.json", "read-only")
refused(lambda: RunFolder.resume(disk / "run"), "lock", "read-only")
refused(lambda: RunFolder.create(disk / "new", folder.manifest), "new", "read-only")
"""


def on_a_disk_of_its_own(folder, *parts: str) -> None:
    """Run the parts one after the other on a disk of 600 kB; a part that is no Python is a command of the shell."""
    commands = [f"mount -t tmpfs -o size=600k tmpfs {folder}"]
    for part in parts:
        script = folder.parent / f"part{len(commands)}.py"
        script.write_text(PREPARE + part)
        commands.append(f"{sys.executable} {script} {folder}" if "\n" in part else part.format(disk=folder))
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", " && ".join(commands)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, textwrap.indent(done.stderr, "    ")


@pytest.fixture
def disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        command = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", str(folder)]
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting is not allowed here")
    return folder


def test_a_full_disk(disk):
    on_a_disk_of_its_own(disk, FULL)


def test_a_read_only_disk(disk):
    on_a_disk_of_its_own(disk, MAKE, "mount -o remount,ro {disk}", READ_ONLY)


def test_a_limit_on_the_size_of_files(tmp_path, make_step, holds_steps, in_child):
    """The size limit of the process: what is refused is named, and what was committed before is whole."""
    path = tmp_path / "journal.sqlite"
    checkpoints = Checkpoints(tmp_path)
    Journal.create(path, 13, 5, 3).close()

    def write() -> None:
        with pytest.raises(StorageError, match=r"journal\.sqlite: cannot (write|sync|close): the disk refuses"):
            write_limited()

    def write_limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        with Journal.open(path) as journal:
            with pytest.raises(StorageError, match=r"checkpoint-000000001\.safetensors: cannot write: .* size limit"):
                checkpoints.save(1, {"x": make_step(0, robots=50_000)[0].rewards}, {})
            for t in range(10_000):
                journal.append(t, *make_step(t))

    _, status = os.waitpid(in_child(write), 0)
    assert status == 0
    assert checkpoints.paths() == []
    with Journal.open(path) as journal:
        assert len(journal) > 20
        holds_steps(journal)
