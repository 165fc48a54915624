import ast
import errno
import math
import os
from pathlib import Path

import pytest

import iifl
from iifl.runs.failpoints import FAILPOINTS, FILE_KINDS, FILE_STEPS, armed, failpoint
from iifl.runs.files import StorageError, read_bytes, read_json, temporary_path, write_atomically, write_json


@pytest.mark.parametrize("step", FILE_STEPS)
@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission denied"),
        (errno.EIO, "input/output"),
    ],
)
def test_a_failed_write_leaves_a_whole_file_and_says_what_to_do(tmp_path, step, code, advice):
    path = tmp_path / "summary.json"
    write_atomically(path, b"old", "summary")

    def fail() -> None:
        raise OSError(code, os.strerror(code))

    with armed(f"summary.{step}", fail), pytest.raises(StorageError, match=advice) as caught:
        write_atomically(path, b"new", "summary")
    assert str(path) in str(caught.value)
    assert path.read_bytes() == (b"new" if step == "fsync_folder" else b"old")
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_kill_left_behind_is_written_over(tmp_path):
    path = tmp_path / "summary.json"
    temporary_path(path).write_bytes(b"half of a longer file")
    write_atomically(path, b"new", "summary")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_is_synced_before_it_is_renamed_and_the_folder_after(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    happened = []
    fsync = os.fsync

    def watched(descriptor: int) -> None:
        happened.append(("folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "file", path.exists()))  # noqa: PTH112
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    write_atomically(path, b"new", "summary")
    assert happened == [("file", False), ("folder", True)]


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(StorageError, match=r"nothing\.json: cannot read: it is missing"):
        read_bytes(tmp_path / "nothing.json")
    with pytest.raises(StorageError, match=r"no/a\.json: cannot write: it is missing"):
        write_atomically(tmp_path / "no" / "a.json", b"", "summary")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="is a file, not a folder"):
        write_atomically(tmp_path / "file" / "a.json", b"", "summary")
    with pytest.raises(StorageError, match="is a folder, not a file"):
        read_bytes(tmp_path)


def test_json_is_strict_both_ways(tmp_path):
    path = tmp_path / "a.json"
    value = {"α": [1, 2.5, None, True, "x"], "large": 2**100}
    write_json(path, value, "summary")
    assert read_json(path) == value
    for bad in (math.nan, math.inf, {1, 2}):
        with pytest.raises(ValueError, match=r"a\.json was not written"):
            write_json(path, {"x": bad}, "summary")
    assert read_json(path) == value
    for damaged in (b'{"x": NaN}', b'{"x": 1', b"", b'{"x": "\xff"}'):
        path.write_bytes(damaged)
        with pytest.raises(StorageError, match=r"a\.json: is damaged"):
            read_json(path)


def test_every_kind_of_file_that_is_written_has_failpoints():
    called: dict[str, set[str]] = {"write_json": set(), "write_atomically": set(), "publish": set()}
    for path in Path(iifl.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in called:
                kind = node.args[-1]
                called[node.func.id] |= {kind.value} if isinstance(kind, ast.Constant) else set()
    assert set().union(*called.values()) <= set(FILE_KINDS)
    assert {"config", "manifest", "threshold", "checkpoint", "metrics", "sums", "summary"} <= set().union(
        *called.values()
    )


def test_failpoints_are_known_and_disarmed_in_the_end():
    with pytest.raises(ValueError, match=r"unknown failpoint 'summary\.renam'"), armed("summary.renam", lambda: None):
        pass
    hits = []
    with armed("summary.rename", lambda: hits.append(1)):
        failpoint("summary.rename")
        failpoint("summary.write")
    failpoint("summary.rename")
    assert hits == [1]
    assert "summary.rename" in FAILPOINTS
