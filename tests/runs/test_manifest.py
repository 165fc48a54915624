import json
import subprocess
from dataclasses import replace

import pytest
import torch

import iifl
from iifl.runs.files import StorageError
from iifl.runs.manifest import Manifest, ManifestMismatchError


def test_a_manifest_comes_back_and_is_the_same_as_itself(tmp_path, manifest):
    path = tmp_path / "manifest.json"
    manifest.write(path)
    back = Manifest.read(path)
    assert back == manifest
    assert manifest.check_same(back) == []
    assert manifest.require_same(back) == []
    assert back.config["fleet"] == {"robots": 13, "humans": 2}
    assert back.versions["torch"] == torch.__version__
    assert back.threads["torch"] == str(torch.get_num_threads())
    assert all(back.machine[name] for name in ("system", "processor", "instructions"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"config": {"task": "ant", "fleet": {"robots": 13, "humans": 2}, "seed": 0}},
            'config.task: .*"navigation".*"ant"',
        ),
        (
            {"config": {"task": "navigation", "seed": 0, "fleet": {"robots": 13}}},
            "config.fleet.humans: .* 2, here it is none",
        ),
        ({"versions": {"torch": "1.0"}}, "version of torch: the run has .*, here it is 1.0"),
        ({"machine": {"processor": "abacus"}}, "processor: the run has .*, here it is abacus"),
        ({"threads": {"torch": "64"}}, "threads of torch: the run has .*, here it is 64"),
        ({"source": "0" * 64}, "source of iifl: the run has"),
    ],
)
def test_what_changes_the_bits_is_refused_with_the_reason(manifest, change, reason):
    merged = {
        name: {**getattr(manifest, name), **new} if name in ("versions", "machine", "threads") else new
        for name, new in change.items()
    }
    other = replace(manifest, **merged)
    with pytest.raises(ManifestMismatchError, match=f"cannot be resumed exactly:\n  - {reason}"):
        manifest.require_same(other)
    assert len(manifest.require_same(other, force=True)) == 1


def test_when_and_how_a_run_was_started_does_not_matter(manifest):
    other = replace(manifest, started="1999", command=["iifl", "resume"], git={"commit": "0", "dirty": False})
    assert manifest.check_same(other) == []


def test_a_damaged_manifest_is_named(tmp_path):
    path = tmp_path / "manifest.json"
    path.write_text('{"config": {}}')
    with pytest.raises(
        StorageError, match=r"manifest\.json: is no manifest of this version: it should hold command, con"
    ):
        Manifest.read(path)
    path.write_text('{"config": ')
    with pytest.raises(StorageError, match=r"manifest\.json: is damaged"):
        Manifest.read(path)


def test_the_configuration_must_be_json(manifest):
    with pytest.raises(TypeError):
        Manifest.gather({"x": object()})
    assert Manifest.gather({"x": (1, 2)}).config == json.loads('{"x": [1, 2]}')


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package `iifl` of one file, in a folder of its own."""
    folder = tmp_path / "tree" / "iifl"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("x = 1\n")
    monkeypatch.setattr(iifl, "__file__", str(folder / "__init__.py"))
    return folder


def git(folder, *arguments: str) -> str:
    person = ("-c", "user.name=n", "-c", "user.email=e")
    command = ["git", "-C", str(folder), *person, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_the_source_is_known_by_its_content_commit_and_changes(package):
    assert Manifest.gather({}).git == {}
    tree = package.parent
    git(tree, "init")
    assert Manifest.gather({}).git == {}  # a tree around the package that does not hold it
    git(tree, "add", "iifl")
    git(tree, "commit", "-m", "first")
    clean = Manifest.gather({})
    assert clean.git == {"commit": git(tree, "rev-parse", "HEAD"), "dirty": False}
    (package / "__init__.py").write_text("x = 2\n")
    changed = Manifest.gather({})
    assert changed.git == {**clean.git, "dirty": True}
    assert [reason.split(":")[0] for reason in clean.check_same(changed)] == ["source of iifl"]


def test_git_may_be_missing(package, monkeypatch):
    git(package.parent, "init")
    git(package.parent, "add", "iifl")
    monkeypatch.setenv("PATH", "")
    assert Manifest.gather({}).git == {}
