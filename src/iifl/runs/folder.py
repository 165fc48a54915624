"""The folder of one run: what is where in it, and the lock that keeps a second process from writing it.

config.json     the resolved configuration, for people and to start the run again
manifest.json   the same with program, libraries and machine; it makes a folder a run
threshold.json  how unsure is too unsure (û), and the run that it was calibrated in
journal.sqlite  what happened in every timestep
checkpoints/    the newest two states to go on from
metrics.json    the reported numbers over time
SHA256SUMS      checksums of the JSON files of a finished run (`sha256sum --check SHA256SUMS`)
summary.json    tidy rows of final numbers; a run that has it is finished
lock            held by the process that is writing
"""

import fcntl
import hashlib
import math
import os
import time
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from iifl.runs.checkpoint import Checkpoints
from iifl.runs.files import (
    StorageError,
    encode_json,
    read_bytes,
    read_json,
    storage_errors,
    write_atomically,
    write_json,
)
from iifl.runs.manifest import Manifest

_SUMS = "SHA256SUMS"
_SUMMED = ("config.json", "manifest.json", "threshold.json", "metrics.json")
_RESTORE = "restore it from a copy, or start the run again with --fresh"
CONTENTS = ("manifest.json", "journal.sqlite", "checkpoints", "answers.jsonl", "metrics.json", "summary.json")
SUMMARY_KEYS = ("experiment", "task", "algorithm", "supervisors", "seed", "scale", "metric", "value")


class LockedError(StorageError):
    """Another process is writing this run."""


class RunFolder:
    """One run on disk. `create` and `resume` hold its lock until `close`; `read` only looks."""

    def __init__(self, path: Path, manifest: Manifest, lock: IO[str] | None) -> None:
        self.path = path
        self.manifest = manifest
        self._lock = lock

    @classmethod
    def create(cls, path: Path, manifest: Manifest) -> "RunFolder":
        """Start a run in a folder that holds none, and lock it."""
        path = Path(path)
        with storage_errors(path, "create the folder"):
            path.mkdir(parents=True, exist_ok=True)
        lock = _locked(path)
        try:
            for name in (
                "manifest.json",
                "journal.sqlite",
                "checkpoints",
                "answers.jsonl",
                "metrics.json",
                "summary.json",
            ):
                if (path / name).exists():
                    raise StorageError(
                        path, f"holds another run ({name}): resume that one, choose another folder, or delete it"
                    )
            write_json(path / "config.json", manifest.config, "config")
            manifest.write(path / "manifest.json")
        except BaseException:
            lock.close()
            raise
        return cls(path, manifest, lock)

    @classmethod
    def resume(cls, path: Path) -> "RunFolder":
        """Open a run to go on with it, and lock it."""
        lock = _locked(Path(path))
        try:
            folder = cls.read(path)
        except BaseException:
            lock.close()
            raise
        folder._lock = lock
        return folder

    @classmethod
    def read(cls, path: Path) -> "RunFolder":
        """Open a run to look at it, even while another process writes it."""
        path = Path(path)
        if not cls.holds_run(path):
            raise StorageError(path, "holds no run (it has no manifest.json): check the path")
        if (path / "summary.json").exists():
            _check_sums(path)
        manifest = Manifest.read(path / "manifest.json")
        if read_json(path / "config.json") != manifest.config:
            raise StorageError(
                path / "config.json", "is not what the run was started with: put back what manifest.json has"
            )
        return cls(path, manifest, None)

    @staticmethod
    def holds_run(path: Path) -> bool:
        """Whether a run was started in this folder."""
        return (Path(path) / "manifest.json").exists()

    @staticmethod
    def wait(path: Path, patience: float = 60.0) -> None:
        """Wait so many seconds at most for another process to let go: one whose machine was lost may take a while."""
        end = time.monotonic() + patience
        while Path(path).is_dir():
            try:
                _locked(Path(path)).close()
            except LockedError:
                if time.monotonic() >= end:
                    raise
                time.sleep(0.2)
            else:
                return

    @property
    def journal(self) -> Path:
        """Where the journal is."""
        return self.path / "journal.sqlite"

    @property
    def checkpoints(self) -> Checkpoints:
        """The checkpoints of this run."""
        return Checkpoints(self.path / "checkpoints")

    @property
    def is_finished(self) -> bool:
        """Whether the summary, the last file of a run, was written."""
        return (self.path / "summary.json").exists()

    def write_threshold(self, threshold: Mapping[str, Any]) -> None:
        """Write û and where it comes from."""
        write_json(self.path / "threshold.json", dict(threshold), "threshold")

    def write_metrics(self, metrics: Mapping[str, Any]) -> None:
        """Write the reported numbers over time."""
        write_json(self.path / "metrics.json", dict(metrics), "metrics")

    def read_metrics(self) -> dict[str, Any]:
        """What `write_metrics` wrote."""
        value: dict[str, Any] = read_json(self.path / "metrics.json")
        return value

    def write_summary(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write the tidy rows that finish the run, and before them the checksums of all JSON files."""
        path = self.path / "summary.json"
        summary = encode_json(path, tidy_rows(rows))
        contents = {name: read_bytes(self.path / name) for name in _SUMMED if (self.path / name).exists()}
        contents["summary.json"] = summary
        lines = [_sum_line(name, data) for name, data in contents.items()]
        write_atomically(self.path / _SUMS, "".join(lines).encode(), "sums")
        write_atomically(path, summary, "summary")

    def read_summary(self) -> list[dict[str, Any]]:
        """What `write_summary` wrote."""
        value: list[dict[str, Any]] = read_json(self.path / "summary.json")
        return value

    def close(self) -> None:
        """Let others write here."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _check_sums(path: Path) -> None:
    """Refuse a finished run in which a JSON file is no longer what it was in the end."""
    sums = path / _SUMS
    if not sums.exists():
        warnings.warn(f"{sums} is missing: the files beside it cannot be checked", stacklevel=4)
        return
    kept = read_bytes(sums).decode(errors="replace")
    there = [name for name in (*_SUMMED, "summary.json") if (path / name).exists()]
    lines = {name: _sum_line(name, read_bytes(path / name)) for name in there}
    if kept != "".join(lines.values()):
        changed = [name for name, line in lines.items() if line not in kept]
        missing = [name for name in _SUMMED if name in kept and name not in there]
        wrong = path / [*changed, *missing, _SUMS][0]
        raise StorageError(wrong, f"does not match {_SUMS}, one of them is damaged: {_RESTORE}")


def _sum_line(name: str, data: bytes) -> str:
    return f"{hashlib.sha256(data).hexdigest()}  {name}\n"


def tidy_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Check the rows of a summary: exactly `SUMMARY_KEYS`, an integer seed, a finite value, no row twice."""
    checked: list[dict[str, Any]] = []
    seen: set[tuple[Any, ...]] = set()
    for number, row in enumerate(rows):
        if set(row) != set(SUMMARY_KEYS):
            wrong = ", ".join(sorted(set(row) ^ set(SUMMARY_KEYS)))
            raise ValueError(f"row {number} of the summary: missing or unknown keys: {wrong}")
        tidy = {key: row[key] for key in SUMMARY_KEYS}
        for key in ("experiment", "task", "algorithm", "supervisors", "scale", "metric"):
            if not isinstance(tidy[key], str) or not tidy[key]:
                raise ValueError(f"row {number} of the summary: {key} must be a non-empty string, not {tidy[key]!r}")
        tidy["seed"] = _integer(number, row["seed"])
        tidy["value"] = _number(number, row["metric"], row["value"])
        name = tuple(tidy[key] for key in SUMMARY_KEYS[:-1])
        if name in seen:
            raise ValueError(f"row {number} of the summary: there is another row for {name}")
        seen.add(name)
        checked.append(tidy)
    return checked


def _integer(number: int, seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise ValueError(f"row {number} of the summary: seed must be an integer, not {seed!r}")
    return int(seed)


def _number(number: int, metric: str, value: Any) -> int | float:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not math.isfinite(plain):
        raise ValueError(
            f"row {number} of the summary: the value of {metric} must be a finite number, not {value!r}; "
            "leave the row out where there is none"
        )
    return plain


def _locked(path: Path) -> IO[str]:
    """The lock file, locked; the system lets go of it when the process ends, however it ends."""
    lock = path / "lock"
    with storage_errors(lock, "lock"):
        file = lock.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise LockedError(path, f"is being written by another process ({holder}): wait for it or end it") from None
    except OSError as error:
        file.close()
        raise StorageError(lock, f"cannot be locked ({error.strerror}): choose a folder on a local disk") from error
    with storage_errors(lock, "write"):
        file.truncate(0)
        file.write(f"process {os.getpid()}\n")
        file.flush()
    return file
