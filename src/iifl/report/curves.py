"""Metrics over time on disk: `curves.parquet`, tidy: experiment, task, algorithm, seed, metric, t, value."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from iifl.report.strict import ReportError

CURVES_FILE = "curves.parquet"

_SCHEMA = pa.schema(
    [
        ("experiment", pa.string()),
        ("task", pa.string()),
        ("algorithm", pa.string()),
        ("seed", pa.int64()),
        ("metric", pa.string()),
        ("t", pa.int64()),
        ("value", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Curve:
    """One metric of one algorithm over time, for all its seeds."""

    task: str
    algorithm: str
    metric: str
    seeds: tuple[int, ...]
    t: np.ndarray  # (T,)
    values: np.ndarray  # (seeds, T)

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.seeds), len(self.t)):
            raise ValueError(
                f"{self.metric} of {self.algorithm} on {self.task}: values must have shape "
                f"{(len(self.seeds), len(self.t))} (seeds, T), not {self.values.shape}"
            )


def write_curves(folder: Path, experiment: str, curves: Sequence[Curve]) -> Path:
    """Write `curves.parquet` into a result folder."""
    path = folder / CURVES_FILE
    parts = [_table(experiment, curve) for curve in curves]
    pq.write_table(pa.concat_tables([_SCHEMA.empty_table(), *parts]), path, compression="zstd")
    return path


def read_curves(path: Path) -> list[Curve]:
    """The curves of a file, or an error that names the file and the problem."""
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as problem:
        raise ReportError(f"{path}: not readable as Parquet curves: {problem}") from problem
    if table.schema != _SCHEMA:
        wanted = ", ".join(f"{field.name} ({field.type})" for field in _SCHEMA)
        raise ReportError(f"{path}: must have the columns {wanted}, not {', '.join(table.column_names)}")
    keys = table.select(["task", "algorithm", "metric"]).to_pylist()
    names = [(key["task"], key["algorithm"], key["metric"]) for key in keys]
    seeds, t, value = (table[name].to_numpy() for name in ("seed", "t", "value"))
    rows: dict[tuple[str, str, str], list[int]] = {}
    for i, name in enumerate(names):
        rows.setdefault(name, []).append(i)
    return [_curve(path, name, seeds[index], t[index], value[index]) for name, index in rows.items()]


def _table(experiment: str, curve: Curve) -> pa.Table:
    seeds, times = curve.values.shape
    size = seeds * times
    columns = [
        pa.repeat(experiment, size),
        pa.repeat(curve.task, size),
        pa.repeat(curve.algorithm, size),
        pa.array(np.repeat(np.asarray(curve.seeds, np.int64), times)),
        pa.repeat(curve.metric, size),
        pa.array(np.tile(np.asarray(curve.t, np.int64), seeds)),
        pa.array(np.asarray(curve.values, np.float64).ravel()),
    ]
    return pa.table(columns, schema=_SCHEMA)


def _curve(path: Path, name: tuple[str, str, str], seeds: np.ndarray, t: np.ndarray, value: np.ndarray) -> Curve:
    task, algorithm, metric = name
    order = np.lexsort((t, seeds))
    seeds, t, value = seeds[order], t[order], value[order]
    distinct = np.unique(seeds)
    times = t[seeds == distinct[0]]
    if not np.array_equal(t, np.tile(times, len(distinct))):
        raise ReportError(f"{path}: the seeds of {metric} of {algorithm} on {task} do not have the same times")
    return Curve(task, algorithm, metric, tuple(map(int, distinct)), times, value.reshape(len(distinct), -1))
