"""Real disks that are full, limited or read-only; the first and the last need the right to mount, as in a container."""

import ctypes
import os
import resource
import subprocess
from pathlib import Path

import numpy as np
import pytest

from iifl.records import Form
from iifl.runs.checkpoint import Checkpoints
from iifl.runs.files import StorageError
from iifl.runs.folder import RunFolder
from iifl.runs.journal import Journal

NEW_MOUNTS = 0x00020000  # CLONE_NEWNS of unshare(2)
CANNOT_MOUNT = 77


def mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture
def on_its_own_disk(tmp_path, in_child):
    """Run `action` in a child with a disk of 600 kB of its own, which goes with the child."""

    def run(action) -> None:
        def child() -> None:
            try:
                if ctypes.CDLL(None).unshare(NEW_MOUNTS):
                    raise OSError("unshare")
                mount("--make-rprivate", "/")
                mount("-t", "tmpfs", "-o", "size=600k", "tmpfs", tmp_path)
            except (OSError, AttributeError, subprocess.CalledProcessError):
                os._exit(CANNOT_MOUNT)
            action(tmp_path)

        _, status = os.waitpid(in_child(child), 0)
        if os.waitstatus_to_exitcode(status) == CANNOT_MOUNT:
            pytest.skip("mounting is not allowed here")
        assert status == 0

    return run


def test_a_full_disk(on_its_own_disk, make_step, holds_steps):
    def check(disk: Path) -> None:
        ballast, checkpoints = disk / "ballast", Checkpoints(disk / "checkpoints")
        ballast.write_bytes(bytes(400_000))
        checkpoints.save(1, {"x": np.arange(1000)}, {})
        with Journal.create(disk / "journal.sqlite", 13, Form((5,)), 3) as journal:
            with pytest.raises(StorageError, match=r"journal\.sqlite: cannot write: the disk .*full"):
                for t in range(10_000):
                    journal.append(t, *make_step(t))
            committed = len(journal)
            assert committed > 3
            holds_steps(journal)
            with pytest.raises(
                StorageError, match=r"checkpoint-000000002\.safetensors: .* the disk is full: free some"
            ):
                checkpoints.save(2, {"x": np.arange(1_000_000)}, {})
            assert checkpoints.load_latest().t == 1
            assert [path.name for path in checkpoints.folder.iterdir()] == ["checkpoint-000000001.safetensors"]
            ballast.unlink()
            journal.append(committed, *make_step(committed))
        with Journal.open(disk / "journal.sqlite") as journal:
            assert len(journal) == committed + 1
            holds_steps(journal)

    on_its_own_disk(check)


def test_a_read_only_disk(on_its_own_disk, make_step, holds_steps, manifest):
    def check(disk: Path) -> None:
        with RunFolder.create(disk / "run", manifest) as folder:
            folder.checkpoints.save(1, {"x": np.arange(10)}, {})
            with Journal.create(folder.journal, 13, Form((5,)), 3) as journal:
                journal.append(0, *make_step(0))
        mount("-o", "remount,ro", disk)
        folder = RunFolder.read(disk / "run")
        assert folder.checkpoints.load_latest().state["x"].tolist() == list(range(10))
        with Journal.open(folder.journal, read_only=True) as journal:
            assert len(journal) == 1
            holds_steps(journal)
        for name, write in {
            "journal.sqlite: .*read-only": lambda: Journal.open(folder.journal),
            "other.sqlite: .*read-only": lambda: Journal.create(disk / "other.sqlite", 13, Form((5,)), 3),
            "checkpoint-000000002.safetensors: .*read-only": lambda: folder.checkpoints.save(2, {}, {}),
            "SHA256SUMS: .*read-only": lambda: folder.write_summary([]),
            "lock: .*read-only": lambda: RunFolder.resume(disk / "run"),
            "new: .*read-only": lambda: RunFolder.create(disk / "new", manifest),
        }.items():
            with pytest.raises(StorageError, match=name):
                write()

    on_its_own_disk(check)


def test_a_limit_on_the_size_of_files(tmp_path, make_step, holds_steps, in_child):
    """The size limit of the process: what is refused is named, and what was committed before is whole."""
    path = tmp_path / "journal.sqlite"
    checkpoints = Checkpoints(tmp_path)
    Journal.create(path, 13, Form((5,)), 3).close()

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
