"""The command line as a person meets it: help, mistakes, and a run from beginning to end."""

import json

import pytest

from iifl.cli import COMMANDS, FAILURE, USAGE, main

TINY = {
    "fleet.robots": 6,
    "fleet.humans": 2,
    "fleet.timesteps": 12,
    "learning.demonstrations": 3,
    "learning.pretraining-steps": 4,
    "learning.update-every": 6,
    "allocation.calibration-timesteps": 20,
    "allocation.calibration-robots": 10,
    "trials": 3,
    "policy.width": 8,
    "policy.correction-width": 8,
}


def test_the_overview_names_every_command(capsys):
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)
    assert max(map(len, shown.splitlines())) <= 80  # it fits an ordinary terminal


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (["rnu"], USAGE, "did you mean 'run'"),
        (["run", "--task", "navgation"], FAILURE, "did you mean 'navigation'"),
        (["run", "--algorithm", "ifll"], FAILURE, "known: bc, ibc, ifl"),
        (["run", "--algorithm", "iifl-r"], FAILURE, "allocation.budget is 0"),
        (["run", "--seed", "-1"], FAILURE, "must be at least 0"),
        (["reproduce", "navigatoin"], FAILURE, "did you mean 'navigation'"),
        (["report", "/nowhere"], FAILURE, "/nowhere"),
        (["bench", "taks"], FAILURE, "did you mean 'tasks'"),
    ],
)
def test_a_mistake_is_told_without_a_traceback(arguments, code, hint, capsys):
    assert main(arguments) == code
    error = " ".join(capsys.readouterr().err.split())
    assert hint in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--fleet.robot", "5"], "--fleet.robots"),
        (["--fleet.humans", "200"], "it must be below fleet.robots"),
        (["--seed", "one"], "INT"),
    ],
)
def test_a_wrong_option_is_told_with_what_is_allowed(arguments, hint, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["run", *arguments])
    assert stop.value.code == USAGE
    shown = capsys.readouterr()
    assert hint in " ".join((shown.out + shown.err).replace("│", " ").split())


def test_a_run_leaves_its_folder_and_is_only_loaded_the_second_time(tmp_path, capsys):
    arguments = ["run", "--task", "navigation", "--algorithm", "iifl", "--out", str(tmp_path)]
    arguments += [word for name, value in TINY.items() for word in (f"--{name}", str(value))]
    assert main(arguments) == 0
    assert "success rate" in capsys.readouterr().out
    config = json.loads((tmp_path / "config.json").read_text())
    assert (config["fleet"]["robots"], config["policy"]["width"], config["seed"]) == (6, 8, 0)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert {"versions", "git", "config"} <= set(manifest)
    assert main(arguments) == 0
    assert main([*arguments, "--seed", "1"]) == FAILURE
    assert "holds a run with other settings (seed)" in " ".join(capsys.readouterr().err.split())
