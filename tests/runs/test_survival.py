"""A small run that counts: killed, or out of disk, at every place where it writes, it ends with the same bits."""

import errno
import os
import random
import signal
import struct
import time
import warnings

import numpy as np
import pytest
import torch

from iifl.records import Form
from iifl.runs.checkpoint import Checkpoints
from iifl.runs.failpoints import FAILPOINTS, armed
from iifl.runs.files import StorageError, write_json
from iifl.runs.folder import RunFolder
from iifl.runs.journal import Journal

ROBOTS, OBSERVATION, ACTION = 13, 5, 3
STEPS, EVERY = 9, 2
ROW = {"experiment": "e", "task": "t", "algorithm": "a", "supervisors": "s", "seed": 0, "scale": "smoke"}


def go_on(path, manifest, make_step, until=STEPS) -> None:
    """Start or resume the run; with `until` < STEPS it stops on the way, as a killed one would."""
    with RunFolder.resume(path) if RunFolder.holds_run(path) else RunFolder.create(path, manifest) as folder:
        if folder.is_finished:
            return
        checkpoints = folder.checkpoints
        total, first = np.zeros(ROBOTS), 0
        with (
            Journal.open(folder.journal)
            if folder.journal.exists()
            else Journal.create(folder.journal, ROBOTS, Form((OBSERVATION,)), ACTION)
        ) as journal:
            if checkpoints.paths():
                loaded = checkpoints.load_latest()
                first, total = loaded.t, loaded.state["total"]
            journal.truncate(first)
            for t in range(first, until):
                if t > 0 and t % EVERY == 0:
                    journal.sync()
                    checkpoints.save(t, {"total": total}, {})
                step = make_step(t)
                total = total + step[0].rewards
                journal.append(t, *step)
            if until < STEPS:
                return
            checkpoints.save(STEPS, {"total": total}, {})
        folder.write_threshold({"value": 0.5})
        folder.write_metrics({"total": total.tolist()})
        write_json(path / "notes.json", {"total": total.sum()}, "extra")
        folder.write_summary([{**ROW, "metric": "total", "value": total.sum()}])


def ending(path) -> dict[str, bytes]:
    """All that the run has to show in the end."""
    with Journal.open(path / "journal.sqlite", read_only=True) as journal:
        journaled = b"".join(column.tobytes() for column in [*journal.read().values(), *journal.transitions()])
    names = ("config.json", "threshold.json", "metrics.json", "notes.json", "summary.json")
    files = [*(path / name for name in names), *(path / "checkpoints").iterdir()]
    return {"journal": journaled, **{file.name: file.read_bytes() for file in files}}


@pytest.fixture
def small_run(manifest, make_step):
    """The run at a path, stopped once on the way and then ended; gives its ending."""

    def run(path) -> dict[str, bytes]:
        go_on(path, manifest, make_step, until=STEPS // 2 + 1)
        go_on(path, manifest, make_step)
        return ending(path)

    return run


@pytest.fixture
def expected(tmp_path, manifest, make_step):
    """The ending of a run that nothing interrupts."""
    go_on(tmp_path / "uninterrupted", manifest, make_step)
    return ending(tmp_path / "uninterrupted")


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("name", sorted(FAILPOINTS))
def test_a_full_disk_at_any_write_is_a_clear_error_and_the_run_goes_on(tmp_path, name, at, expected, small_run):
    path, hits = tmp_path / "run", []

    def fail() -> None:
        hits.append(name)
        if len(hits) >= at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with armed(name, fail):
        try:
            small_run(path)
        except StorageError as error:
            assert "the disk is full: free some space" in str(error)
            assert str(path) in str(error)
        else:
            assert len(hits) < at, "the full disk was not noticed"
    assert hits, f"{name} was not reached"
    assert small_run(path) == expected


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("name", sorted(FAILPOINTS))
def test_a_kill_at_any_write_changes_nothing(tmp_path, name, at, small_run, in_child):
    path, hits = tmp_path / "run", []

    def kill() -> None:
        hits.append(name)
        if len(hits) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    def run() -> None:
        with armed(name, kill):
            small_run(path)

    _, status = os.waitpid(in_child(run), 0)
    assert os.WIFSIGNALED(status) or (at == 2 and status == 0)  # what is written once is not reached twice
    assert small_run(path) == small_run(tmp_path / "uninterrupted")


def killed(in_child, write, rng: random.Random) -> int | None:
    """Kill a child in its `write(say)` at a random moment; the last timestep it said that it has on disk, if any."""
    reading, writing = os.pipe()
    child = in_child(lambda: write(lambda t: os.write(writing, struct.pack("<q", t))))
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        heard = pipe.read(8 * rng.randrange(5))  # some are killed while they still open their files
        time.sleep(rng.uniform(0, 0.01))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        heard += pipe.read()
    assert os.WIFSIGNALED(status), "the writer ended before it was killed"
    return struct.unpack("<q", heard[-8:])[0] if heard else None


def test_no_committed_timestep_is_lost_or_doubled_in_forty_kills(tmp_path, make_step, holds_steps, in_child):
    path, rng, length, appended = tmp_path / "journal.sqlite", random.Random(0), 0, 0
    Journal.create(path, ROBOTS, Form((OBSERVATION,)), ACTION).close()
    for _ in range(40):
        back = max(length - 3, 0)

        def write(say, back=back) -> None:
            with Journal.open(path) as journal:
                journal.truncate(back)
                for t in range(back, back + 40):
                    journal.append(t, *make_step(t))
                    say(t)
                    if t % 10 == 0:
                        journal.sync()
                signal.pause()

        said = killed(in_child, write, rng)
        with Journal.open(path, read_only=rng.random() < 0.5) as journal:
            if said is None:
                assert len(journal) in (length, back, back + 1)
            else:
                assert said + 1 <= len(journal) <= said + 2  # one more may be committed and not yet acknowledged
                appended += said + 1 - back
            length = len(journal)
            holds_steps(journal)
    assert appended > 80  # the kills did fall into the writing


def test_a_whole_checkpoint_not_ahead_of_the_journal_is_there_after_each_of_forty_kills(tmp_path, make_step, in_child):
    checkpoints, journal_path, rng = (
        Checkpoints(tmp_path / "checkpoints"),
        tmp_path / "journal.sqlite",
        random.Random(1),
    )
    Journal.create(journal_path, ROBOTS, Form((OBSERVATION,)), ACTION).close()

    def state(t: int) -> dict:
        return {"numbers": np.full(20_000, t), "more": torch.full((100,), float(t))}

    checkpoints.save(0, state(0), {"t": 0})
    t = 0
    for _ in range(40):

        def write(say, first=t) -> None:
            with Journal.open(journal_path) as journal:
                journal.truncate(first)
                for t in range(first, first + 40):
                    journal.append(t, *make_step(t))
                    journal.sync()
                    checkpoints.save(t + 1, state(t + 1), {"t": t + 1})
                    say(t + 1)
                signal.pause()

        said = killed(in_child, write, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loaded = checkpoints.load_latest()
        assert loaded.t in ((t, t + 1) if said is None else (said, said + 1))
        t = loaded.t
        assert loaded.meta == {"t": t}
        assert (loaded.state["numbers"] == t).all()
        assert (loaded.state["more"] == t).all()
        with Journal.open(journal_path, read_only=True) as journal:
            assert len(journal) >= t
    assert t > 60
    checkpoints.save(t + 1, state(t + 1), {})
    assert len(list(checkpoints.folder.iterdir())) == 2  # nothing unfinished is left behind
