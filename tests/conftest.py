"""Settings of the whole suite: the same examples in every run, no time limit per example, one thread per process."""

import pytest
import torch
from hypothesis import settings

from iifl.pool.jobs import perform  # iifl before MuJoCo, which it tells how to draw without a screen

settings.register_profile("iifl", derandomize=True, deadline=None)
settings.load_profile("iifl")
torch.set_num_threads(1)  # the networks of the tests are far too small to share among threads


@pytest.fixture(scope="module")
def unchanged_source():
    """A run is bound to the source it was started with; these tests go on while somebody edits it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("iifl.runs.manifest._source_digest", lambda package: "0" * 16)
        yield


class InThisProcess:
    """An engine for tests of what is around it: one job after the other, at once."""

    def __init__(self, jobs, processes=None, threads=None):
        self.jobs = list(enumerate(jobs))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def events(self):
        signs = []
        outcome = perform(*self.jobs.pop(0), signs.append)
        yield from [*signs, outcome]


@pytest.fixture
def in_this_process(monkeypatch):
    """Sweeps and experiments run their jobs in this process."""
    monkeypatch.setattr("iifl.pool.engine.Processes", InThisProcess)
    return InThisProcess
