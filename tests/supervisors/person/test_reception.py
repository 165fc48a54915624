"""How a person comes from the terminal to the page."""

import re
from io import StringIO

import pytest
from rich.console import Console

from iifl.commands.person import Reception
from iifl.supervisors.person.people import People


@pytest.fixture
def opened(monkeypatch) -> list[str]:
    """The addresses that a browser was opened with, on a machine with a screen."""
    addresses: list[str] = []
    monkeypatch.setattr("webbrowser.open", addresses.append)
    monkeypatch.setenv("DISPLAY", ":0")
    return addresses


def receive(folder, *, browser: bool) -> str:
    console = Console(file=StringIO(), width=40)
    with Reception(console, lambda *seen: None, browser=browser) as reception:
        reception.meet(People(2, 4), folder)
    return console.file.getvalue()


def test_the_addresses_are_shown_in_one_piece_and_the_first_is_opened(tmp_path, opened):
    shown = re.findall(r"^([\w ]+): (http://127.0.0.1:\d+/\S+/)$", receive(tmp_path, browser=True), re.MULTILINE)
    assert [people for people, _ in shown] == ["All 2 people", "Person 1", "Person 2"]
    assert opened == [shown[0][1]]


def test_no_browser_is_opened_for_who_wants_none_and_where_nobody_would_see_it(tmp_path, opened, monkeypatch):
    assert "Person 1: http" in receive(tmp_path, browser=False)
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert "Person 1: http" in receive(tmp_path, browser=True)
    assert opened == []


def test_the_people_hear_how_far_the_run_is(tmp_path):
    told = []
    with Reception(Console(file=StringIO()), lambda *seen: told.append(seen), browser=False) as reception:
        reception.progress("pretrain", 0, 2)
        people = People(1, 4)
        reception.meet(people, tmp_path)
        reception.progress("pretrain", 1, 2)
    assert people._desk._stage == ("pretrain", 1, 2)
    assert told == [("pretrain", 0, 2), ("pretrain", 1, 2)]
