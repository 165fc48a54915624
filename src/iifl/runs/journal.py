"""The journal of a run: what happened to the fleet in every timestep, and what people taught it, step by step.

One SQLite file in WAL mode with one writer. Each timestep is one row, committed as it ends: its `records.Timestep`, the
labelled transitions, and a CRC-32 over them and the timestep's number.

What is committed survives the death of the process at any moment. It is not synced to the disk at each timestep
(synchronous = NORMAL), since that costs milliseconds on a common disk, as long as a timestep of the fleet: a power cut
may take the last timesteps, and what remains is a whole and true beginning of the run. `sync` ends that doubt; call it
before saving a checkpoint, so that the journal is never behind the checkpoint. A closed journal is one ordinary file.
"""

import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType

import numpy as np

from iifl.records import FloatArray, Form, IntArray, ObservationArray, Timestep
from iifl.runs.failpoints import failpoint
from iifl.runs.files import StorageError, publish, storage_errors, temporary_path
from iifl.runs.layout import COLUMNS, JournalLayout, checksum

_SCHEMA = """
CREATE TABLE header (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE timesteps (
    t INTEGER PRIMARY KEY, fleet BLOB NOT NULL, transitions BLOB NOT NULL, checksum INTEGER NOT NULL
);
"""
_DAMAGED = "is damaged: restore it from a copy, or start the run again in a new folder"
_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full: free some space and resume the run",
    sqlite3.SQLITE_READONLY: "the file or its file system is read-only: choose a folder that can be written",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check that it is there and that its folder can be written",
    sqlite3.SQLITE_IOERR: "the disk refuses (full, over a size limit, or failing): make room or check the disk",
    sqlite3.SQLITE_BUSY: "another process is writing to it: wait for it or end it",
    sqlite3.SQLITE_CONSTRAINT: "another process has written to it: only one may",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
}


class Journal:
    """The journal of one run, open for one writer or read-only; `len` is the number of committed timesteps."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, read_only: bool) -> None:
        self.path = path
        self._connection = connection
        self._read_only = read_only
        with _journal_errors(path, "read"):
            if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise StorageError(path, _DAMAGED)
            self.layout = self._check_header()
            self._length = self._check_timesteps()

    @classmethod
    def create(cls, path: Path, robots: int, observation: Form, action_size: int) -> "Journal":
        """Start an empty journal for a fleet of `robots`, and open it for writing."""
        path = Path(path)
        if path.exists():
            raise StorageError(path, "is there already: open it to go on, or choose another folder")
        layout = JournalLayout(robots, observation, action_size)
        temporary = temporary_path(path)
        with storage_errors(path, "create"), _journal_errors(path, "create"):
            temporary.unlink(missing_ok=True)
            failpoint("journal.write")
            with closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
                connection.executescript(_SCHEMA)
                _put(connection, "layout", json.dumps(layout.to_json()))
                _put(connection, "length", "0")
            failpoint("journal.fsync")
            _sync_file(temporary)
            publish(temporary, path, "journal")
        return cls.open(path)

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> "Journal":
        """Open a journal and check all of it: one that opens is whole."""
        path = Path(path)
        with storage_errors(path, "open"):
            path.stat()
        with _journal_errors(path, "open"):
            # A reader too may have to finish what a killed writer left, so it is read-only by word, not by file mode.
            connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
            connection.execute(f"PRAGMA query_only = {int(read_only)}")
        try:
            journal = cls(path, connection, read_only=read_only)
            if not read_only:
                if journal.layout.columns != COLUMNS:
                    raise StorageError(path, "was written by another version of this program: it can only be read")
                with _journal_errors(path, "open"):
                    connection.execute("PRAGMA journal_mode = WAL")
                    connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return journal

    def __len__(self) -> int:
        return self._length

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def append(
        self, t: int, timestep: Timestep, observations: ObservationArray, actions: FloatArray, humans: IntArray
    ) -> None:
        """Commit timestep `t`, the next one, and the k transitions taught in it: (k, *S), (k, A), (k,)."""
        if t != self._length:
            raise ValueError(f"timestep {t} cannot be appended to {self.path}: the next one is {self._length}")
        fleet = self.layout.encode_timestep(timestep)
        transitions = self.layout.encode_transitions(observations, actions, humans)
        with self._transaction("journal.append"):
            row = (t, fleet, transitions, checksum(t, fleet, transitions))
            self._connection.execute("INSERT INTO timesteps VALUES (?, ?, ?, ?)", row)
        self._length += 1

    def truncate(self, t: int) -> None:
        """Forget timesteps `t` and later: the run goes on from a checkpoint before `t` and does them again."""
        if not 0 <= t <= self._length:
            raise StorageError(
                self.path,
                f"holds {self._length} timesteps, the checkpoint is of timestep {t}: they are not of the same run, or "
                "the journal has lost timesteps; restore it from a copy, or start the run again in a new folder",
            )
        with self._transaction("journal.truncate"):
            self._connection.execute("DELETE FROM timesteps WHERE t >= ?", (t,))
            _put(self._connection, "length", str(t))
        self._length = t

    def sync(self) -> None:
        """Put all that is committed on the disk itself, where a power cut leaves it."""
        with _journal_errors(self.path, "sync"):
            self._connection.execute("PRAGMA synchronous = FULL")  # this commit syncs the whole write-ahead log
        with self._transaction("journal.sync"):
            _put(self._connection, "length", str(self._length))
        with _journal_errors(self.path, "sync"):
            self._connection.execute("PRAGMA synchronous = NORMAL")

    def close(self) -> None:
        """Sync and close; harmless when closed already."""
        try:
            if not self._read_only and self._is_open():
                self.sync()
                with _journal_errors(self.path, "close"):
                    failpoint("journal.close")
                    # A reader in another process keeps the file in WAL mode, which loses nothing.
                    with suppress(sqlite3.OperationalError):
                        self._connection.execute("PRAGMA journal_mode = DELETE")
        finally:
            self._connection.close()

    def read(self) -> dict[str, np.ndarray]:
        """Every field of `records.Timestep` over all timesteps, each (T, N)."""
        return self.layout.decode_timesteps([fleet for fleet, _ in self._rows()])

    def transitions(self) -> tuple[ObservationArray, FloatArray, IntArray]:
        """All that people taught, as `Memory.add` takes it: observations (K, *S), actions (K, A), humans (K,)."""
        return self.layout.decode_transitions([transitions for _, transitions in self._rows()])

    def _rows(self) -> Iterator[tuple[bytes, bytes]]:
        """The checked blobs of every timestep there was when the journal was opened, or that was appended since."""
        query = "SELECT t, fleet, transitions, checksum FROM timesteps WHERE t < ? ORDER BY t"
        with _journal_errors(self.path, "read"):
            count = 0
            for t, fleet, transitions, stored in self._connection.execute(query, (self._length,)):
                blobs = isinstance(fleet, bytes) and isinstance(transitions, bytes)
                if t != count or not blobs or checksum(t, fleet, transitions) != stored:
                    raise StorageError(self.path, f"timestep {count} {_DAMAGED}")
                if not self.layout.fits(fleet, transitions):
                    raise StorageError(self.path, f"timestep {count} is not of the layout in the header")
                yield fleet, transitions
                count += 1
        if count != self._length:
            raise StorageError(self.path, f"has lost timesteps ({count} of {self._length} are left) and {_DAMAGED}")

    def _check_header(self) -> JournalLayout:
        header = {}
        for key, value, stored in self._connection.execute("SELECT key, value, checksum FROM header"):
            if not isinstance(value, str) or zlib.crc32(f"{key}={value}".encode()) != stored:
                raise StorageError(self.path, f"the header {_DAMAGED}")
            header[key] = value
        if header.keys() != {"layout", "length"}:
            raise StorageError(self.path, f"the header {_DAMAGED}")
        self._synced_length = int(header["length"])
        return JournalLayout.from_json(json.loads(header["layout"]))

    def _check_timesteps(self) -> int:
        """The number of timesteps, all of them read and checked."""
        (length,) = self._connection.execute("SELECT count(*) FROM timesteps").fetchone()
        self._length = max(length, self._synced_length)
        for _ in self._rows():
            pass
        return self._length

    def _is_open(self) -> bool:
        try:
            self._connection.total_changes  # noqa: B018
        except sqlite3.ProgrammingError:
            return False
        return True

    @contextmanager
    def _transaction(self, name: str) -> Iterator[None]:
        """All or nothing; the failpoints are `name`, before it begins, and "journal.commit"."""
        with _journal_errors(self.path, "write"):
            failpoint(name)
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                failpoint("journal.commit")
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise


def _put(connection: sqlite3.Connection, key: str, value: str) -> None:
    row = (key, value, zlib.crc32(f"{key}={value}".encode()))
    connection.execute("INSERT OR REPLACE INTO header VALUES (?, ?, ?)", row)


def _sync_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


@contextmanager
def _journal_errors(path: Path, doing: str) -> Iterator[None]:
    """Turn what SQLite or the disk refuses within this block into a `StorageError` about `path`."""
    try:
        with storage_errors(path, doing):
            yield
    except sqlite3.ProgrammingError:
        raise  # a closed journal was used: a fault of the caller, not of the disk
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        raise StorageError(path, f"cannot {doing}: {_ADVICE.get(code, f'{error}; it {_DAMAGED}')}") from error
