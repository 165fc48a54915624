"""Named places where writing to disk can be made to fail, so that tests prove what a full disk or a kill leaves behind.

Code calls `failpoint(name)` just before the step that the name says; unless something is armed that costs one look at
an empty dictionary.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

FILE_KINDS = ("config", "manifest", "threshold", "checkpoint", "journal", "metrics", "sums", "summary", "extra")
FILE_STEPS = ("write", "fsync", "rename", "fsync_folder")

FAILPOINTS = frozenset(
    {f"{kind}.{step}" for kind in FILE_KINDS for step in FILE_STEPS}
    | {"checkpoint.remove"}
    | {"journal.append", "journal.commit", "journal.truncate", "journal.sync", "journal.close"}
)
"""Every failpoint there is: the steps of each kind of file, and those of the open journal.

Sums are the checksums of a finished run, extra is what an experiment keeps beside a run.
"""

_armed: dict[str, Callable[[], None]] = {}


def failpoint(name: str) -> None:
    """Do what is armed here, if anything is."""
    if _armed and name in _armed:
        _armed[name]()


@contextmanager
def armed(name: str, action: Callable[[], None]) -> Iterator[None]:
    """Within this block, run `action` (raise an OSError, kill the process) each time `name` is reached."""
    if name not in FAILPOINTS:
        raise ValueError(f"unknown failpoint '{name}'; known: {', '.join(sorted(FAILPOINTS))}")
    _armed[name] = action
    try:
        yield
    finally:
        del _armed[name]
