"""What it costs to keep a run: journal and checkpoints against the work of the fleet, and a long run on disk.

Each row is a share of what is allowed.

- `keeping`: the time of the journal and the checkpoints, of 5 % of the run's, in a fast world: for BC, whose timesteps
  are the shortest, and for IIFL at the end of a long run, whose checkpoints are the largest.
- `size` and `opening` of a run of 10,000 timesteps of 100 robots with Ant's sizes (|S| = 60, |A| = 8), all ten people
  teaching all the time, of 500 MB and of 2 s.
"""

import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from iifl import metrics
from iifl.benchmarks.rows import Row, seconds
from iifl.config import Algorithm, RunConfig, to_dict
from iifl.loop import Fleet
from iifl.presets import preset
from iifl.records import Form, Timestep
from iifl.run import execute
from iifl.runs.folder import RunFolder
from iifl.runs.journal import Journal
from iifl.runs.manifest import Manifest

WORLD, STEPS, TURNS = "ball_balance", 50, 9
LONG = 10_000
TAUGHT = 10
TIME_LIMIT, SIZE_LIMIT, OPEN_LIMIT = 0.05, 500e6, 2.0


def benchmark_runs() -> list[Row]:
    """All of them."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [_keeping("bc", Path(folder) / "bc", 0), _keeping("iifl", Path(folder) / "iifl", LONG * TAUGHT)]
        return rows + _long_run(Path(folder) / "long")


def _keeping(algorithm: Algorithm, path: Path, labelled: int) -> Row:
    """The share of journal and checkpoints in the time of a run that has so many labelled transitions."""
    config, fleet = _fleet(algorithm, path)
    _teach(fleet, labelled)
    shares, total = [], 0.0
    with Journal.open(path / "journal.sqlite") as journal:
        for _ in range(TURNS):
            working = keeping = 0.0
            for _ in range(STEPS):
                start = time.perf_counter()
                timestep, lesson = fleet.advance()
                advanced = time.perf_counter()
                journal.append(len(journal), timestep, lesson.observations, lesson.actions, lesson.humans)
                working += advanced - start
                keeping += time.perf_counter() - advanced
            saving = seconds(journal.sync) + seconds(partial(_save, fleet, path))
            keeping += saving * STEPS / config.checkpoint_every
            shares.append(keeping / (working + keeping) / TIME_LIMIT)
            total += working + keeping
    low, middle, high = np.quantile(shares, [0.25, 0.5, 0.75])
    settings = {
        "robots": config.fleet.robots,
        "labelled": labelled,
        "checkpoint_every": config.checkpoint_every,
        "timestep_seconds": working / STEPS,
        "checkpoint_seconds": saving,
        "checkpoint_megabytes": round(RunFolder.read(path).checkpoints.paths()[-1].stat().st_size / 1e6, 1),
    }
    return Row(
        f"keeping / 5 % of the run: {WORLD}, {algorithm.upper()}", float(middle), float(high - low), total, settings
    )


def _fleet(algorithm: Algorithm, path: Path) -> tuple[RunConfig, Fleet]:
    """A fleet before its first timestep, with a run in its folder."""
    config = preset(WORLD, algorithm)
    config = replace(
        config,
        fleet=replace(config.fleet, timesteps=0),
        allocation=replace(config.allocation, threshold=0.0),
        learning=replace(config.learning, pretraining_steps=100, update_every=0),
    )
    return config, execute(config, path).fleet


def _teach(fleet: Fleet, transitions: int) -> None:
    """Fill the memory."""
    rng, memory = np.random.default_rng(0), fleet.memory
    observations = rng.normal(size=(transitions, memory.observations.shape[1])).astype(np.float32)
    actions = rng.uniform(-1, 1, (transitions, memory.actions.shape[1])).astype(np.float32)
    memory.add(observations, actions, np.zeros(transitions, np.int64))


def _save(fleet: Fleet, path: Path) -> None:
    RunFolder.read(path).checkpoints.save(fleet.timestep, fleet.state_dict(), {})


def _long_run(path: Path) -> list[Row]:
    """The size of a long run, and how long it takes to open all of it."""
    config = preset("ant", "iifl")
    robots, rng = config.fleet.robots, np.random.default_rng(0)
    _, fleet = _fleet("iifl", path.with_name("its-fleet"))
    _teach(fleet, LONG * TAUGHT)
    with RunFolder.create(path, Manifest.gather(to_dict(config))) as folder:
        with Journal.create(folder.journal, robots, Form((60,)), 8) as journal:
            for t in range(LONG):
                journal.append(
                    t,
                    Timestep(
                        rng.integers(-1, TAUGHT, robots),
                        rng.random(robots) < 0.1,
                        *rng.normal(size=(2, robots)),
                        *(rng.random((4, robots)) < 0.1),
                    ),
                    rng.normal(size=(TAUGHT, 60)).astype(np.float32),
                    rng.normal(size=(TAUGHT, 8)).astype(np.float32),
                    np.arange(TAUGHT),
                )
            history = Timestep(**journal.read())
        for t in (LONG - config.checkpoint_every, LONG):
            folder.checkpoints.save(t, fleet.state_dict(), {})
        curves = metrics.curves(history, config.fleet.humans, 1000)
        folder.write_metrics({name: curve.tolist() for name, curve in curves.items()})
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    times = [seconds(partial(_open_all, path)) for _ in range(TURNS)]
    settings = {"robots": robots, "timesteps": LONG, "taught": TAUGHT, "megabytes": round(size / 1e6, 1)}
    low, middle, high = np.quantile(times, [0.25, 0.5, 0.75])
    return [
        Row(
            "size of a long run / 500 MB", size / SIZE_LIMIT, 0.0, 0.0, {**settings, "megabytes": round(size / 1e6, 1)}
        ),
        Row("opening a long run / 2 s", middle / OPEN_LIMIT, (high - low) / OPEN_LIMIT, sum(times), settings),
    ]


def _open_all(path: Path) -> None:
    """All that a run holds, checked and read."""
    folder = RunFolder.read(path)
    folder.checkpoints.load_latest()
    folder.read_metrics()
    with Journal.open(folder.journal, read_only=True) as journal:
        journal.read()
