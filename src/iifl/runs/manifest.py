"""The manifest of a run: which configuration, program, libraries and machine made it.

A run resumed under the same manifest ends with the same bits as one that was never interrupted; `check_same` says what
breaks that promise.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

import iifl
from iifl.runs.files import StorageError, read_json, write_json

_LIBRARIES = ("iifl", "torch", "numpy", "scipy", "mujoco", "gymnasium", "safetensors")
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class ManifestMismatchError(RuntimeError):
    """A run cannot be resumed exactly here; the message gives the reasons."""


@dataclass(frozen=True)
class Manifest:
    """Everything that the result of a run may depend on, and when and how it was started."""

    config: dict[str, Any]  # the resolved configuration
    versions: dict[str, str]  # of Python and the libraries
    source: str  # SHA-256 of the package's own files
    machine: dict[str, str]  # system, processor, instruction set, accelerators
    threads: dict[str, str]  # of torch, and the variables that set others'
    git: dict[str, Any]  # commit and dirty flag of the source tree; empty when it is in none
    started: str  # UTC, ISO 8601
    command: list[str]

    @classmethod
    def gather(cls, config: dict[str, Any]) -> "Manifest":
        """The manifest of a run of `config` that starts now in this process."""
        package = Path(iifl.__file__).parent
        return cls(
            config=json.loads(json.dumps(config, allow_nan=False)),
            versions={"python": platform.python_version(), **{name: _version(name) for name in _LIBRARIES}},
            source=_source_digest(package),
            machine={
                "system": f"{platform.system()} {platform.machine()}",
                "processor": _processor(),
                "instructions": torch.backends.cpu.get_cpu_capability(),
                "accelerators": ", ".join(
                    torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())
                ),
            },
            threads={
                "torch": str(torch.get_num_threads()),
                **{name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ},
            },
            git=_git(package),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            command=list(sys.argv),
        )

    def check_same(self, other: "Manifest") -> list[str]:
        """What makes a run of this manifest, resumed under `other`, end with other bits; empty if nothing does."""
        mine, others = self._deciding(), other._deciding()
        return [
            f"{name}: the run has {mine.get(name, 'none')}, here it is {others.get(name, 'none')}"
            for name in sorted(mine.keys() | others.keys())
            if mine.get(name) != others.get(name)
        ]

    def _deciding(self) -> dict[str, str]:
        """What decides the bits of the result, under the names that a person is told."""
        return {
            **{f"config.{name}": value for name, value in _flat(self.config).items()},
            **{f"version of {name}": value for name, value in self.versions.items()},
            **{f"threads of {name}": value for name, value in self.threads.items()},
            **self.machine,
            "source of iifl": self.source[:16],
        }

    def require_same(self, other: "Manifest", *, force: bool = False) -> list[str]:
        """Refuse to resume under `other` when there are differences; with `force`, return them instead."""
        reasons = self.check_same(other)
        if reasons and not force:
            listed = "".join(f"\n  - {reason}" for reason in reasons)
            raise ManifestMismatchError(
                f"this run cannot be resumed exactly:{listed}\nresume it where it was started, take the differences "
                "with --force, or delete it and start anew with --fresh"
            )
        return reasons

    def write(self, path: Path) -> None:
        """Write it as JSON, atomically."""
        write_json(path, asdict(self), "manifest")

    @classmethod
    def read(cls, path: Path) -> "Manifest":
        """What `write` wrote."""
        value = read_json(path)
        names = {field.name for field in fields(cls)}
        if not isinstance(value, dict) or value.keys() != names:
            raise StorageError(path, f"is no manifest of this version: it should hold {', '.join(sorted(names))}")
        return cls(**value)


def _flat(config: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """A nested configuration as dotted names and JSON values."""
    flat: dict[str, str] = {}
    for name, value in config.items():
        if isinstance(value, dict) and value:
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = json.dumps(value)
    return flat


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"


def _source_digest(package: Path) -> str:
    """SHA-256 of every Python file of the package, with its path."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _processor() -> str:
    """The processor's model, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or "unknown")


def _git(package: Path) -> dict[str, Any]:
    """The commit that the package's source tree is at, and whether it has changes; empty if it is in no such tree."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(package), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # not in a tree that merely surrounds an installed package
        return {"commit": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return {}
