"""A sweep: which runs follow from the command line, what is left in the end, and what a failure and a stop do to it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from iifl.checks import ConfigError
from iifl.cli import FAILURE, INTERRUPTED, main
from iifl.commands.sweep import Sweep, configurations
from iifl.report.results import read_summary
from iifl.runs.folder import RunFolder

TINY = """
    --fleet.robots 6 --fleet.humans 2 --fleet.timesteps 12 --learning.demonstrations 1 --learning.pretraining-steps 4
    --learning.update-every 6 --allocation.threshold 0 --trials 2
    --policy.width 8
"""
FILES = ("summary.json", "report.json", "report.html")


def test_every_option_of_a_run_holds_for_all_runs_and_the_rest_is_the_preset_of_each():
    given = Sweep(tasks=("ball-balance", "ant"), algorithms=("bc", "iifl"), seeds=(3, 5))
    configs = configurations(given, ["--fleet.timesteps", "77", "--policy.width", "16"])
    assert [(config.task, config.algorithm, config.seed) for config in configs] == [
        (task, algorithm, seed) for task in ("ball_balance", "ant") for algorithm in ("bc", "iifl") for seed in (3, 5)
    ]
    assert {config.fleet.timesteps for config in configs} == {77}
    assert {config.policy.width for config in configs} == {16}
    assert [config.policy.kind for config in configs[:3]] == ["explicit", "explicit", "implicit"]
    assert [config.learning.update_every for config in configs[:3]] == [0, 0, 1000]


@pytest.mark.parametrize(
    ("given", "others", "hint"),
    [
        (Sweep(tasks=("reecher",)), [], "did you mean 'reacher'"),
        (Sweep(), ["--task", "ant"], "a sweep has --tasks"),
        (Sweep(), ["--seed=1"], "a sweep has --seeds"),
    ],
)
def test_a_mistake_is_told(given, others, hint):
    with pytest.raises(ConfigError, match=hint):
        configurations(given, others)


def test_iifl_r_alone_has_no_budget(tmp_path, capsys):
    assert main(["sweep", "--algorithms", "iifl-r", "--out", str(tmp_path)]) == FAILURE
    assert "name iifl among the algorithms" in " ".join(capsys.readouterr().err.split())


@pytest.mark.usefixtures("in_this_process")
def test_a_sweep_goes_on_where_it_was_and_a_failed_run_stops_nobody(tmp_path, capsys):
    """The folder of one run is in the way of its run, and is mended before the second try."""
    broken = tmp_path / "runs" / "reacher-bc-0"
    broken.mkdir(parents=True)
    (broken / "journal.sqlite").write_text("of somebody else")
    command = ["sweep", "--tasks", "reacher", "--algorithms", "bc", "iifl", "iifl-r", "--seeds", "0", *TINY.split()]
    command += ["--out", str(tmp_path)]
    assert main(command) == FAILURE
    shown = capsys.readouterr()
    assert "holds another run (journal.sqlite)" in shown.out
    assert f"its log: {broken / 'log.txt'}" in shown.out
    assert "1 failed: reacher BC seed 0" in shown.err
    assert "Traceback" in (broken / "log.txt").read_text()
    assert {row.algorithm for row in read_summary(tmp_path / "summary.json")} == {"iifl", "iifl-r"}
    iifl, random = (tmp_path / "runs" / f"reacher-{name}-0" for name in ("iifl", "iifl-r"))
    spent = {row["metric"]: row["value"] for row in RunFolder.read(iifl).read_summary()}["human_actions"]
    assert json.loads((random / "config.json").read_text())["allocation"]["budget"] == spent > 0

    made = {path: path.stat().st_mtime_ns for path in (iifl / "summary.json", random / "summary.json")}
    (broken / "journal.sqlite").unlink()
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "3 runs" in shown
    assert shown.count("finished") == 3
    assert {path: path.stat().st_mtime_ns for path in made} == made
    assert {row.algorithm for row in read_summary(tmp_path / "summary.json")} == {"bc", "iifl", "iifl-r"}
    assert all((tmp_path / name).exists() for name in FILES)
    assert "A sweep" in (tmp_path / "report.html").read_text()


def test_ctrl_c_ends_all_processes_and_the_same_command_goes_on(tmp_path):
    long = [*TINY.split(), "--fleet.timesteps", "100000", "--checkpoint-every", "5"]
    command = [sys.executable, "-m", "iifl", "sweep", "--tasks", "reacher", "--algorithms", "bc", "--seeds", "0", *long]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    run, end = tmp_path / "runs" / "reacher-bc-0", time.monotonic() + 100
    while len(list(run.glob("checkpoints/*.safetensors"))) < 2:
        assert time.monotonic() < end and process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert "Interrupted. Give the same command again" in errors
    assert "Traceback" not in errors
    worker = int((run / "lock").read_text().split()[1])
    assert worker != process.pid
    assert not Path(f"/proc/{worker}").exists()
    RunFolder.resume(run).close()  # nobody holds its lock
