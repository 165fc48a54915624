"""Offline demonstrations as a file: full episodes in Parquet, with the column names of LeRobotDataset v3.

The columns are described in docs/demonstrations.md.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from iifl.records import BoolArray, FloatArray, IntArray, ObservationArray
from iifl.supervisors.base import Supervisors
from iifl.tasks.fleet import FleetTask

COLUMNS = {
    "observations": "observation.state",
    "actions": "action",
    "episodes": "episode_index",
    "frames": "frame_index",
    "timestamps": "timestamp",
    "rewards": "next.reward",
    "done": "next.done",
    "success": "next.success",
    "humans": "human",
}
SHAPE = "observation_shape"  # in the metadata: images are kept as long rows of bytes
MOST_ATTEMPTS = 20


class DemonstrationError(ValueError):
    """Demonstrations that cannot be recorded or read; the message says why."""


@dataclass(frozen=True)
class Demonstrations:
    """Episodes one after the other, one row per timestep."""

    observations: ObservationArray  # (n, *S)
    actions: FloatArray  # (n, A)
    episodes: IntArray  # (n,)
    frames: IntArray  # (n,) from 0 in each episode
    timestamps: FloatArray  # (n,) seconds since the episode began
    rewards: FloatArray  # (n,) of the step that the action took
    done: BoolArray  # (n,) the episode ended with this step
    success: BoolArray  # (n,) and it was a success
    humans: IntArray  # (n,) who acted

    def save(self, path: Path, world: str, seed: int) -> None:
        """Write a Parquet file that says where it comes from; the same demonstrations make the same bytes."""
        columns = {column: _column(getattr(self, name)) for name, column in COLUMNS.items()}
        shape = json.dumps(self.observations.shape[1:])
        table = pa.table(columns, metadata={"world": world, "seed": str(seed), SHAPE: shape})
        pq.write_table(table, path, compression="zstd")

    def first_of_each(self, kind_of: IntArray, count: int) -> "Demonstrations":
        """The first `count` timesteps of every kind of people, where human m is of kind `kind_of[m]`."""
        kinds = kind_of[self.humans]
        kept = []
        for kind in np.unique(kind_of):
            rows = np.flatnonzero(kinds == kind)
            if len(rows) < count:
                raise DemonstrationError(
                    f"kind {kind} of people demonstrated for {len(rows)} timesteps, not {count}: record more episodes"
                )
            kept.append(rows[:count])
        chosen = np.sort(np.concatenate(kept))
        return Demonstrations(**{name: getattr(self, name)[chosen] for name in COLUMNS})

    @staticmethod
    def load(path: Path) -> "Demonstrations":
        """Read demonstrations that `save` wrote, or others with the same columns."""
        table = pq.read_table(path)
        missing = sorted(set(COLUMNS.values()) - set(table.column_names))
        if missing:
            raise DemonstrationError(f"{path} has no column {', '.join(missing)}")
        arrays = {name: _array(table[column]) for name, column in COLUMNS.items()}
        shape = (table.schema.metadata or {}).get(SHAPE.encode())
        if shape is not None:
            arrays["observations"] = arrays["observations"].reshape(-1, *json.loads(shape))
        return Demonstrations(**arrays)


def record_demonstrations(task: FleetTask, supervisors: Supervisors, seconds_per_step: float) -> Demonstrations:
    """One full episode of each robot of the fleet, with its own human throughout; a failed one is begun again."""
    robots = np.arange(task.num_envs)
    human_of = robots % supervisors.humans
    finished = np.zeros(task.num_envs, bool)
    steps: list[dict[str, np.ndarray]] = []
    observations, _ = task.reset()
    supervisors.begin(robots)
    while not finished.all():
        running = np.flatnonzero(task.running)
        chosen = supervisors.act(human_of[running], running, observations[running], task)
        actions = np.zeros((task.num_envs, chosen.shape[1]), np.float32)
        actions[running] = chosen
        before, frames = observations[running], task.clock[running].copy()
        observations, rewards, *_, info = task.step(actions)
        steps.append(
            {
                "robot": running,
                "attempt": task.episode[running].copy(),
                "observations": before,
                "actions": chosen.astype(np.float32),
                "frames": frames,
                "rewards": rewards[running].astype(np.float32),
                "done": ~task.running[running],
                "success": info["success"][running],
            }
        )
        finished |= ~task.running & ~info["failed"]
        if info["failed"].any():
            observations = _again(task, supervisors, info["failed"])
    rows = {key: np.concatenate([step[key] for step in steps]) for key in steps[0]}
    order = np.lexsort((rows["frames"], rows["robot"]))
    kept = order[(rows["attempt"] == task.episode[rows["robot"]])[order]]
    rows = {key: value[kept] for key, value in rows.items()}
    robot = rows.pop("robot")
    del rows["attempt"]
    return Demonstrations(
        **rows,
        episodes=robot,
        timestamps=(rows["frames"] * seconds_per_step).astype(np.float32),
        humans=human_of[robot],
    )


def record_pairs(
    task: FleetTask, supervisors: Supervisors, count: int
) -> tuple[ObservationArray, FloatArray, IntArray]:
    """`count` observations, actions and who acted, of people at work with a fleet, episode after episode.

    Each robot has its own human. An action that led into a failure is no example to anybody, and is left out.
    """
    robots = np.arange(task.num_envs)
    human_of = robots % supervisors.humans
    observations, _ = task.reset()
    supervisors.begin(robots)
    kept: list[tuple[np.ndarray, ...]] = []
    found = 0
    while found < count:
        if len(kept) == MOST_ATTEMPTS * count:
            raise DemonstrationError(f"people gave {found} of {count} examples in {len(kept)} timesteps: they fail")
        actions = supervisors.act(human_of, robots, observations, task)
        following, _, _, _, info = task.step(actions)
        good = ~info["failed"]
        kept.append((observations[good], actions[good].astype(np.float32), human_of[good]))
        found += int(good.sum())
        over = ~task.running
        observations, _ = task.reset(options={"reset_mask": over}) if over.any() else (following, info)
        supervisors.begin(np.flatnonzero(over))
    columns = [np.concatenate(rows)[:count] for rows in zip(*kept, strict=True)]
    return columns[0], columns[1], columns[2]


def _again(task: FleetTask, supervisors: Supervisors, failed: BoolArray) -> FloatArray:
    """Begin a new episode for the robots that failed."""
    if (task.episode[failed] + 1 >= MOST_ATTEMPTS).any():
        robot = int(np.flatnonzero(failed)[task.episode[failed].argmax()])
        raise DemonstrationError(f"robot {robot} failed in {MOST_ATTEMPTS} episodes in a row: train its expert longer")
    observations, _ = task.reset(options={"reset_mask": failed})
    supervisors.begin(np.flatnonzero(failed))
    return observations


def _column(values: np.ndarray) -> pa.Array:
    if values.ndim == 1:
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), math.prod(values.shape[1:]))


def _array(column: Any) -> np.ndarray:
    chunk = column.combine_chunks()
    if not pa.types.is_fixed_size_list(chunk.type) and not pa.types.is_list(chunk.type):
        return np.asarray(chunk.to_numpy(zero_copy_only=False))
    return np.asarray(chunk.flatten().to_numpy(zero_copy_only=False)).reshape(len(chunk), -1)
