"""How a person at the terminal is shown to their page: its address, a browser, and news of the run."""

import os
import sys
import webbrowser
from pathlib import Path
from types import TracebackType

from rich.console import Console

from iifl.run import Progress
from iifl.supervisors.base import Supervisors
from iifl.supervisors.person.people import People


class Reception:
    """Opens the pages of a run's people when the run has them, passes on its progress, and closes them at its end."""

    def __init__(self, console: Console, progress: Progress, *, browser: bool) -> None:
        self._console = console
        self._progress = progress
        self._browser = browser and _has_screen()
        self._people: People | None = None

    def meet(self, supervisors: Supervisors, folder: Path) -> None:
        """Show the people to their pages; scripted ones need none."""
        if not isinstance(supervisors, People):
            return
        self._people = supervisors
        pages = supervisors.open(folder / "answers.jsonl")
        for people, address in pages.items():
            self._console.print(f"{people}: {address}", soft_wrap=True, highlight=False)
        if self._browser and pages:
            webbrowser.open(next(iter(pages.values())))
        self._console.print("The fleet waits when a robot needs help. Ctrl-C stops the run; nothing is lost.")

    def progress(self, stage: str, done: int, total: int) -> None:
        """How far the run is, to whom it may concern."""
        self._progress(stage, done, total)
        if self._people is not None:
            self._people.tell(stage, done, total)

    def __enter__(self) -> "Reception":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._people is not None:
            self._people.close(finished=kind is None)


def _has_screen() -> bool:
    """Whether a browser would be seen; without a screen, one for the terminal would take the run's own."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
