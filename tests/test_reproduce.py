"""`iifl reproduce all`: every experiment in its own folder, a failure stops nobody, one report of all."""

import pytest

from iifl.cli import FAILURE, main
from iifl.registry import EXPERIMENTS, Registry

MODULE = """
from iifl.report.results import Row, write_summary


def good(out, scale, console, fresh):
    out.mkdir(parents=True, exist_ok=True)
    write_summary(out, [Row(out.name, "ant", "iifl", "scripted", 0, scale, "successes", 5.0 + fresh)])
    return out / "report.html"

def bad(out, scale, console, fresh):
    raise KeyError("lost")
"""


@pytest.fixture
def experiments(tmp_path, monkeypatch):
    """Three experiments, of which the second fails."""
    (tmp_path / "experiments_of_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    names = {"first": "good", "bad_one": "bad", "last": "good"}
    known = Registry("experiment", {name: f"experiments_of_test:{kind}" for name, kind in names.items()})
    monkeypatch.setattr("iifl.commands.reproduce.EXPERIMENTS", known)


@pytest.mark.usefixtures("experiments")
def test_all_experiments_one_after_the_other_with_one_report(tmp_path, capsys):
    out = tmp_path / "results"
    assert main(["reproduce", "all", "--scale", "smoke", "--out", str(out)]) == FAILURE
    shown = capsys.readouterr()
    assert "failed: bad_one: KeyError: 'lost'" in shown.out
    assert "1 of 3 experiments failed: bad_one" in shown.err
    page = (out / "report.html").read_text()
    assert "2 experiments" in page
    assert "First" in page
    assert "Last" in page


@pytest.mark.usefixtures("experiments")
def test_one_experiment_by_its_name_with_dashes(tmp_path, capsys):
    assert main(["reproduce", "last", "--fresh", "--out", str(tmp_path / "one")]) == 0
    assert "6" in capsys.readouterr().out
    with pytest.raises(KeyError):  # a fault of the program, not of the person: it is shown whole
        main(["reproduce", "bad-one", "--out", str(tmp_path / "two")])


def test_the_names_are_those_of_the_registry(capsys):
    assert main(["reproduce", "everything"]) == FAILURE
    shown = capsys.readouterr().err
    assert all(name in shown for name in ("all", *EXPERIMENTS.names()))
