import functools
import os
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from iifl.records import Timestep
from iifl.runs.manifest import Manifest

ROBOTS, OBSERVATION, ACTION = 13, 5, 3


@pytest.fixture
def tmp_path(tmp_path_factory):
    """A folder in memory where there is one: these tests sync thousands of times, and kills need no real disk."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path_factory.mktemp("run")
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.fixture
def make_step():
    """What `Journal.append` takes for timestep t, drawn from t alone."""

    @functools.cache
    def make(t: int, robots: int = ROBOTS, observation: int = OBSERVATION, action: int = ACTION, taught: int = 4):
        rng = np.random.default_rng(t)
        flags = [rng.random(robots) < 0.3 for _ in range(5)]
        human_of = rng.integers(-1, 10, robots)
        numbers = rng.normal(size=(2, robots))
        timestep = Timestep(human_of, flags[0], numbers[0], numbers[1], *flags[1:])
        k = t % (taught + 1)
        observations = rng.normal(size=(k, observation)).astype(np.float32)
        actions = rng.normal(size=(k, action)).astype(np.float32)
        return timestep, observations, actions, rng.integers(0, 10, k)

    return make


@pytest.fixture
def holds_steps(make_step):
    """Check that a journal holds timesteps 0 … T−1 exactly."""

    def check(journal) -> None:
        steps = [make_step(t) for t in range(len(journal))]
        for name, column in journal.read().items():
            expected = [getattr(step[0], name) for step in steps]
            np.testing.assert_array_equal(column, np.reshape(expected, (len(steps), ROBOTS)), err_msg=name)
        for part, values in enumerate(journal.transitions(), start=1):
            np.testing.assert_array_equal(values, np.concatenate([step[part] for step in [make_step(0), *steps]]))

    return check


@pytest.fixture
def in_child():
    """Start `action` in a forked process and return its id; it ends with status 0 only if nothing was raised."""

    def start(action: Callable[[], None]) -> int:
        child = os.fork()
        if child:
            return child
        status = 1
        try:
            action()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    return start


@pytest.fixture(scope="session")
def manifest() -> Manifest:
    return Manifest.gather({"task": "navigation", "fleet": {"robots": ROBOTS, "humans": 2}, "seed": 0})
