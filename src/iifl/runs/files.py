"""Files that are either the old one or the new one, whole, whenever the process is killed or the power goes.

Written to a temporary file in the same folder, synced, renamed over the old one, and the folder synced. Whatever the
disk refuses becomes a `StorageError` that names the file and says what to do. One process writes a file at a time (the
lock of the run's folder sees to that), so a temporary file that a kill left behind is simply written over.
"""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from iifl.runs.failpoints import failpoint

_ADVICE = {
    errno.ENOSPC: "the disk is full: free some space and resume the run",
    errno.EDQUOT: "the disk quota is used up: free some space and resume the run",
    errno.EFBIG: "the file reached the size limit of this process or disk: raise it (ulimit -f) and resume the run",
    errno.EROFS: "the file system is read-only: choose a folder that can be written",
    errno.EACCES: "permission denied: choose a folder that this user can read and write, or change its permissions",
    errno.EPERM: "permission denied: choose a folder that this user can read and write, or change its permissions",
    errno.ENOENT: "it is missing: check the path",
    errno.ENOTDIR: "a part of the path is a file, not a folder: check the path",
    errno.EISDIR: "it is a folder, not a file: check the path",
    errno.EIO: "the disk reports an input/output error: check the disk",
}


class StorageError(Exception):
    """A file of a run cannot be read or written; the message names it and says what to do."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path


@contextmanager
def storage_errors(path: Path, doing: str) -> Iterator[None]:
    """Turn an OSError within this block into a `StorageError` about `path`."""
    try:
        yield
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0, error.strerror or str(error))
        raise StorageError(path, f"cannot {doing}: {advice}") from error


def read_bytes(path: Path) -> bytes:
    """The whole file."""
    with storage_errors(path, "read"):
        return path.read_bytes()


def write_atomically(path: Path, data: bytes, kind: str) -> None:
    """Replace `path` by a file holding `data`; `kind` is the first part of the failpoints' names ("summary.rename")."""
    temporary = temporary_path(path)
    with storage_errors(path, "write"):
        try:
            with temporary.open("wb") as file:
                failpoint(f"{kind}.write")
                file.write(data)
                file.flush()
                failpoint(f"{kind}.fsync")
                os.fsync(file.fileno())
            publish(temporary, path, kind)
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise


def temporary_path(path: Path) -> Path:
    """Where the new content of `path` is put together: hidden, in the same folder, so that renaming is atomic."""
    return path.with_name(f".{path.name}.tmp")


def publish(temporary: Path, path: Path, kind: str) -> None:
    """Rename a finished and synced temporary file to its name, and make the renaming last."""
    failpoint(f"{kind}.rename")
    temporary.replace(path)
    failpoint(f"{kind}.fsync_folder")
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the creations, renamings and removals in `folder` last through a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def encode_json(path: Path, value: Any) -> bytes:
    """What a JSON file at `path` holds: strict JSON (no NaN, no infinity)."""
    try:
        text = json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} was not written, its content is not strict JSON: {error}") from error
    return (text + "\n").encode()


def write_json(path: Path, value: Any, kind: str) -> None:
    """Write `value` as strict JSON, atomically."""
    write_atomically(path, encode_json(path, value), kind)


def read_json(path: Path) -> Any:
    """What `write_json` wrote; anything that is not strict JSON is damage."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(read_bytes(path).decode(), parse_constant=refuse)
    except ValueError as error:
        raise StorageError(path, f"is damaged, it is not valid JSON ({error}): restore it from a copy") from error
