"""A sweep on a Ray cluster of two nodes, one of which is killed: its runs go on from their checkpoints on the other."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from iifl.runs.journal import Journal

OPTIONS = """
    --tasks reacher --algorithms iifl --seeds 0 1 --checkpoint-every 5 --trials 2 --fleet.robots 6 --fleet.humans 2
    --fleet.timesteps 300 --learning.demonstrations 1 --learning.pretraining-steps 10 --learning.update-every 20
    --allocation.calibration-timesteps 20 --allocation.calibration-robots 5 --policy.width 8 --policy.draws 4
"""
PATIENCE = 120

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra 'ray'")


def sweep(out: Path, *options: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "iifl", "sweep", *OPTIONS.split(), "--out", str(out), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ending(out: Path) -> dict[str, bytes]:
    """All that the runs have to show in the end."""
    shown = {}
    for run in sorted((out / "runs").iterdir()):
        with Journal.open(run / "journal.sqlite", read_only=True) as journal:
            columns = [*journal.read().values(), *journal.transitions()]
        shown[f"{run.name} journal"] = b"".join(map(bytes, columns))
        files = [run / "metrics.json", run / "summary.json", *(run / "checkpoints").iterdir()]
        shown |= {f"{run.name} {file.name}": file.read_bytes() for file in files}
    return shown


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def at_work_on(raylet: int, out: Path) -> dict[Path, int]:
    """The runs on the node of this raylet that have come past a checkpoint, with their processes."""
    found = {}
    for run in (out / "runs").glob("*"):
        try:
            process = int((run / "lock").read_text().removeprefix("process "))
            if parent(process) == raylet and len(list(run.glob("checkpoints/*.safetensors"))) == 2:
                found[run] = process
        except (OSError, ValueError):
            continue  # it has not begun, or has ended
    return found


@pytest.fixture
def cluster():
    """Two nodes of one core each on this machine, the first of them the head."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415 (only there with the extra)

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes.add_node(num_cpus=1)
    yield nodes
    nodes.shutdown()


@pytest.mark.slow
@needs_ray
def test_runs_of_a_node_that_dies_end_with_the_same_bits_on_the_other(tmp_path, cluster):
    at_work = sweep(tmp_path / "cluster", "--engine", "ray", "--address", cluster.address)
    node = next(node for node in cluster.list_all_nodes() if node is not cluster.head_node)
    raylet = node.all_processes["raylet"][0].process.pid
    end = time.monotonic() + PATIENCE
    while not (victims := at_work_on(raylet, tmp_path / "cluster")):
        assert time.monotonic() < end and at_work.poll() is None, at_work.communicate()[0]
        time.sleep(0.05)
    cluster.remove_node(node, allow_graceful=False)
    for process in victims.values():
        os.kill(process, signal.SIGKILL)
    assert not any((run / "summary.json").exists() for run in victims)
    shown, _ = at_work.communicate(timeout=PATIENCE)
    assert at_work.returncode == 0, shown
    for run in victims:
        assert (run / "log.txt").read_text().count("--- process") == 2  # it was begun twice
    alone = sweep(tmp_path / "alone")
    shown, _ = alone.communicate(timeout=PATIENCE)
    assert alone.returncode == 0, shown
    assert ending(tmp_path / "cluster") == ending(tmp_path / "alone")
