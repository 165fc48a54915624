import json
import math
import os
import signal

import numpy as np
import pytest

from iifl.runs.files import StorageError
from iifl.runs.folder import SUMMARY_KEYS, RunFolder

ROW = {
    "experiment": "benchmark",
    "task": "ant",
    "algorithm": "iifl",
    "supervisors": "experts",
    "seed": 0,
    "scale": "smoke",
    "metric": "successes",
    "value": 3.5,
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs" / "ant-0"


def test_a_run_from_its_start_to_its_end(path, manifest):
    assert not RunFolder.holds_run(path)
    with RunFolder.create(path, manifest) as folder:
        assert RunFolder.holds_run(path)
        assert not folder.is_finished
        assert json.loads((path / "config.json").read_text()) == manifest.config
        folder.write_metrics({"successes": [0, 1, 1]})
        folder.write_summary([ROW, {**ROW, "metric": "rohe", "value": np.float32(0.5), "seed": np.int64(0)}])
    looked = RunFolder.read(path)
    assert looked.manifest == manifest
    assert looked.is_finished
    assert looked.read_metrics() == {"successes": [0, 1, 1]}
    assert looked.read_summary() == [ROW, {**ROW, "metric": "rohe", "value": 0.5}]
    assert list(looked.read_summary()[1]) == list(SUMMARY_KEYS)


@pytest.mark.parametrize("held", ["manifest.json", "journal.sqlite", "checkpoints", "summary.json"])
def test_a_folder_with_another_run_is_not_written(path, manifest, held):
    path.mkdir(parents=True)
    (path / held).write_text("something")
    with pytest.raises(
        StorageError, match=rf"ant-0: holds another run \({held}\): resume that one, choose another folder"
    ):
        RunFolder.create(path, manifest)
    assert (path / held).read_text() == "something"
    assert not (path / "config.json").exists()


def test_a_folder_without_a_run_cannot_be_opened(path):
    with pytest.raises(StorageError, match="ant-0: holds no run"):
        RunFolder.read(path)
    path.mkdir(parents=True)
    with pytest.raises(StorageError, match="ant-0: holds no run"):
        RunFolder.resume(path)


def test_a_changed_configuration_is_found(path, manifest):
    RunFolder.create(path, manifest).close()
    (path / "config.json").write_text('{"task": "ant"}')
    with pytest.raises(StorageError, match=r"config\.json: is not what the run was started with"):
        RunFolder.resume(path)
    (path / "config.json").unlink()
    with pytest.raises(StorageError, match=r"config\.json: cannot read: it is missing"):
        RunFolder.resume(path)


def test_two_processes_cannot_write_one_run(path, manifest, in_child):
    with RunFolder.create(path, manifest):
        for attempt in (lambda: RunFolder.resume(path), lambda: RunFolder.create(path, manifest)):
            with pytest.raises(StorageError, match=rf"is being written by another process \(process {os.getpid()}\)"):
                attempt()
        RunFolder.read(path)  # looking is free
    RunFolder.resume(path).close()

    reading, writing = os.pipe()

    def hold() -> None:
        with RunFolder.resume(path):
            os.write(writing, b".")
            signal.pause()

    child = in_child(hold)
    assert os.read(reading, 1) == b"."
    with pytest.raises(StorageError, match=f"process {child}"):
        RunFolder.resume(path)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    RunFolder.resume(path).close()  # the dead hold no locks


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": math.nan}, "row 1 of the summary: the value of successes must be a finite number, not nan"),
        ({"value": np.float32("inf")}, "must be a finite number"),
        ({"value": None}, "leave the row out where there is none"),
        ({"value": True}, "must be a finite number, not True"),
        ({"value": "3"}, "must be a finite number, not '3'"),
        ({"seed": 1.0}, "seed must be an integer, not 1.0"),
        ({"task": ""}, "task must be a non-empty string"),
        ({"scale": 3}, "scale must be a non-empty string, not 3"),
        ({"extra": 1}, "missing or unknown keys: extra"),
        ({}, "there is another row for"),
    ],
)
def test_rows_of_the_summary_are_checked(path, manifest, change, message):
    with RunFolder.create(path, manifest) as folder:
        with pytest.raises(ValueError, match=message):
            folder.write_summary([ROW, {**ROW, **change}])
        with pytest.raises(ValueError, match="missing or unknown keys: seed"):
            folder.write_summary([{key: value for key, value in ROW.items() if key != "seed"}])
        assert not folder.is_finished
