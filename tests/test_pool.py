"""Jobs in processes: results in order, one failure that does not stop the others, progress that adds up."""

import importlib
import io

import pytest
from rich.console import Console

from iifl.pool import Job, JobsFailedError, run_jobs

MODULE = """
import time

def square(number, pause, progress):
    progress("work", 1, 2)
    time.sleep(pause)
    progress("work", 2, 2)
    if number < 0:
        raise ValueError(f"{number} is negative")
    return number * number
"""


@pytest.fixture
def square(tmp_path, monkeypatch):
    """A function in a module that worker processes can import."""
    (tmp_path / "jobs_of_test_pool.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return importlib.import_module("jobs_of_test_pool").square


def console():
    return Console(file=io.StringIO())


def test_results_come_in_the_order_of_the_jobs(square):
    jobs = [Job("slow", square, (3, 0.5)), Job("fast", square, (2, 0.0))]
    assert run_jobs(jobs, console(), "order", processes=2) == [9, 4]


def test_a_failure_names_the_job_and_the_others_are_done(square):
    jobs = [Job("bad", square, (-1, 0.0)), Job("good", square, (2, 0.0))]
    with pytest.raises(JobsFailedError, match=r"1 of 2 failed.*\n  bad: ValueError: -1 is negative"):
        run_jobs(jobs, console(), "failure", processes=1)


def test_the_share_of_a_job_is_that_of_its_stages():
    one = Job("one", print, (), stages={"first": 0.25, "second": 0.75})
    assert one.share("first", 1, 2) == pytest.approx(0.125)
    assert one.share("second", 1, 3) == pytest.approx(0.5)
    assert one.share("unheard of", 1, 1) == 0.0
