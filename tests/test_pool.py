"""Jobs in processes: results in order, one failure that does not stop the others, progress that adds up."""

import importlib
import io
from functools import partial

import pytest
from rich.console import Console

from iifl.pool import Job, JobsFailedError, Outcome, run_all, run_jobs
from iifl.pool.board import Pace
from iifl.pool.processes import Processes

MODULE = """
import os
import signal
import time
from pathlib import Path

import torch

from iifl.runs.files import StorageError
from iifl.tasks.ball_balance import BallBalance as Ball

def square(number, pause, progress):
    progress("work", 1, 2)
    time.sleep(pause)
    progress("work", 2, 2)
    if number < 0:
        raise ValueError(f"{number} is negative")
    return number * number

def die(progress):
    os.kill(os.getpid(), signal.SIGKILL)

def threads(progress):
    return torch.get_num_threads(), os.environ["OMP_NUM_THREADS"], Ball(4).batch.nthread

def refuse(progress):
    print("about to refuse")
    raise StorageError(Path("somewhere"), "is damaged")
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A module that worker processes can import."""
    (tmp_path / "jobs_of_test_pool.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return importlib.import_module("jobs_of_test_pool")


def console():
    return Console(file=io.StringIO(), width=300)


def test_results_come_in_the_order_of_the_jobs_and_each_process_has_its_share_of_threads(work):
    jobs = [Job("slow", work.square, (3, 0.5)), Job("fast", work.square, (2, 0.0)), Job("threads", work.threads, ())]
    assert run_jobs(jobs, console(), "order", partial(Processes, threads=1)) == [9, 4, (1, "1", 1)]


def test_neither_a_failure_nor_a_death_stops_the_others(work, tmp_path):
    """Nor an error that cannot be rebuilt in another process, as those of files."""
    log = tmp_path / "logs" / "log.txt"
    calls = [(work.square, (-1, 0.0)), (work.die, ()), (work.refuse, ()), (work.square, (2, 0.0))]
    jobs = [Job(f"job {n}", call, given, log=log if n == 2 else None) for n, (call, given) in enumerate(calls)]
    out, one = console(), partial(Processes, processes=1)
    outcomes = run_all(jobs, out, "failure", one)
    assert outcomes[0] == Outcome(0, error="ValueError: -1 is negative")
    assert outcomes[1] == Outcome(1, error="its process died (SIGKILL)")
    assert outcomes[2] == Outcome(2, error="StorageError: somewhere: is damaged")
    assert outcomes[3] == Outcome(3, 4)
    shown = " ".join(out.file.getvalue().split())
    assert "failed: job 1: its process died" in shown
    assert f"its log: {log}" in shown.replace("- ", "-")
    assert "4 of 4: job 3" in shown
    assert "about to refuse" in log.read_text()
    assert "Traceback" in log.read_text()


def test_failures_are_raised_with_their_names_when_all_have_ended(work, in_this_process):
    jobs = [Job(f"job {number}", work.square, (number, 0.0)) for number in (-1, 3)]
    with pytest.raises(JobsFailedError, match=r"1 of 2 failed.*\n  job -1: ValueError: -1 is negative"):
        run_jobs(jobs, console(), "failure", in_this_process)


def test_the_time_left_goes_by_what_was_gained_and_not_by_what_was_there():
    assert Pace(first=0.8, since=100.0, done=0.8).left(1.0, 105.0) is None
    assert Pace(first=0.8, since=100.0, done=0.9).left(1.0, 110.0) == pytest.approx(10.0)
    assert Pace(first=2.0, since=0.0, done=6.0).left(8.0, 40.0) == pytest.approx(20.0)


def test_the_share_of_a_job_is_that_of_its_stages():
    one = Job("one", print, (), stages={"first": 0.25, "second": 0.75})
    assert one.share("first", 1, 2) == pytest.approx(0.125)
    assert one.share("second", 1, 3) == pytest.approx(0.5)
    assert one.share("unheard of", 1, 1) == 0.0
