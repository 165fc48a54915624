"""Checkpoints: the whole state of a run at one timestep, in one safetensors file that is atomic and checksummed.

The only metadata entry, "checkpoint", is a JSON object that begins with the SHA-256 of the file (computed with zeros in
that place), so every byte is covered. Equal states give equal files, bit by bit. The newest two are kept; if the newest
is damaged, the older one is loaded with a warning.
"""

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from iifl.runs.failpoints import failpoint
from iifl.runs.files import StorageError, read_bytes, storage_errors, write_atomically

State = dict[str, Tensor | np.ndarray]

KEPT = 2
_BEFORE_DIGEST = rb'{"__metadata__":{"checkpoint":"{\"sha256\": \"'
_DIGEST_START = 8 + len(_BEFORE_DIGEST)  # safetensors begins with the length of its header in 8 bytes
_DIGEST = slice(_DIGEST_START, _DIGEST_START + 64)
_NO_DIGEST = "0" * 64


@dataclass(frozen=True)
class Checkpoint:
    """What was saved: the state before timestep `t`, and the JSON that came with it."""

    t: int
    state: State
    meta: dict[str, Any]
    path: Path


class Checkpoints:
    """The checkpoints of one run, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def paths(self) -> list[Path]:
        """The files that are there, oldest first."""
        return sorted(self.folder.glob("checkpoint-*.safetensors"))

    def save(self, t: int, state: Mapping[str, Tensor | np.ndarray], meta: Mapping[str, Any]) -> Path:
        """Write the state before timestep `t` and forget all but the newest two.

        Arrays come back as arrays and tensors as tensors (on the CPU), of the same dtype and shape.
        """
        path = self.folder / f"checkpoint-{t:09d}.safetensors"
        data = _encode(t, state, meta)
        with storage_errors(self.folder, "create the folder"):
            self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data, "checkpoint")
        self._forget(path)
        return path

    def load_latest(self) -> Checkpoint:
        """The newest checkpoint that is whole; a damaged one is passed over with a warning that names it."""
        paths = self.paths()
        if not paths:
            raise StorageError(self.folder, "holds no checkpoint: start the run again")
        for path in reversed(paths):
            try:
                return load_checkpoint(path)
            except StorageError as error:
                warnings.warn(f"passing over a checkpoint: {error}", stacklevel=2)
        raise StorageError(self.folder, "no checkpoint in it can be loaded: start the run again in a new folder")

    def _forget(self, newest: Path) -> None:
        """Remove what is older than the newest two, and what is newer than `newest`.

        The latter is there only when it could not be loaded: the run has gone back and does those timesteps again.
        """
        present = self.paths()
        place = present.index(newest)
        kept = present[max(0, place + 1 - KEPT) : place + 1]
        unfinished = self.folder.glob(".checkpoint-*.tmp")
        for path in [*(path for path in present if path not in kept), *unfinished]:
            with storage_errors(path, "remove"):
                failpoint("checkpoint.remove")
                path.unlink()


def load_checkpoint(path: Path) -> Checkpoint:
    """Read one checkpoint; anything but the very bytes that were saved is a `StorageError`."""
    data = read_bytes(path)
    if data[8:_DIGEST_START] != _BEFORE_DIGEST:
        raise StorageError(path, "is damaged or no checkpoint of this program")
    if data[_DIGEST] != _digest(data).encode():
        raise StorageError(path, "is damaged: its SHA-256 does not match its content")
    try:
        tensors = safetensors.torch.load(data)
    except SafetensorError as error:
        raise StorageError(path, f"cannot be read as safetensors: {error}") from error
    header_end = 8 + int.from_bytes(data[:8], "little")
    about = json.loads(json.loads(data[8:header_end])["__metadata__"]["checkpoint"])
    arrays = set(about["arrays"])
    state: State = {name: tensor.numpy() if name in arrays else tensor for name, tensor in tensors.items()}
    return Checkpoint(about["t"], state, about["meta"], path)


def _encode(t: int, state: Mapping[str, Tensor | np.ndarray], meta: Mapping[str, Any]) -> bytes:
    about = {
        "sha256": _NO_DIGEST,
        "t": t,
        "arrays": sorted(name for name, value in state.items() if isinstance(value, np.ndarray)),
        "meta": dict(meta),
    }
    tensors = {name: _tensor(name, state[name]) for name in sorted(state)}
    metadata = json.dumps(about, allow_nan=False)
    data = bytearray(safetensors.torch.save(tensors, {"checkpoint": metadata}))
    if data[8:_DIGEST_START] != _BEFORE_DIGEST:
        raise RuntimeError("this version of safetensors lays out its header in another way; install the pinned one")
    data[_DIGEST] = _digest(data).encode()
    return bytes(data)


def _digest(data: bytes | bytearray) -> str:
    """SHA-256 of the file with zeros where its own digest stands."""
    digest = hashlib.sha256(memoryview(data)[:_DIGEST_START])
    digest.update(_NO_DIGEST.encode())
    digest.update(memoryview(data)[_DIGEST.stop :])
    return digest.hexdigest()


def _tensor(name: str, value: Tensor | np.ndarray) -> Tensor:
    """A contiguous copy on the CPU: safetensors refuses tensors that share memory, as tied weights do."""
    if isinstance(value, Tensor):
        return value.detach().to("cpu", copy=True).contiguous()
    if not isinstance(value, np.ndarray):
        raise TypeError(f"the state '{name}' is a {type(value).__name__}; a checkpoint takes tensors and arrays")
    try:
        return torch.from_numpy(np.array(value, order="C"))
    except (TypeError, ValueError) as error:
        raise TypeError(f"the array '{name}' of dtype {value.dtype} cannot be kept in a checkpoint") from error


def join(**parts: Mapping[str, Tensor | np.ndarray]) -> State:
    """One flat state from those of the parts: `join(policy={"w": x})` is `{"policy.w": x}`."""
    return {f"{part}.{name}": value for part, state in parts.items() for name, value in state.items()}


def part(state: Mapping[str, Tensor | np.ndarray], name: str) -> dict[str, Any]:
    """The state of one part, as it was given to `join`."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
