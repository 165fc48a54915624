"""The bytes of one timestep in the journal: fixed little-endian columns over the fleet, flags packed to bits.

A journal keeps its own layout in its header, so it can be read when `records.Timestep` has changed since.
"""

import math
import struct
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from iifl.records import FloatArray, Form, IntArray, ObservationArray, Timestep

FLAGS = "bits"
COLUMNS = {
    "human_of": "<i4",
    "taught": FLAGS,
    "uncertainty": "<f8",
    "rewards": "<f8",
    "failed": FLAGS,
    "hard_reset": FLAGS,
    "success": FLAGS,
    "ended": FLAGS,
}
"""The fields of `records.Timestep` and how each robot's entry is kept."""


@dataclass(frozen=True)
class JournalLayout:
    """How the rows of one journal are laid out: N robots, observations of form S, actions of size A."""

    robots: int
    observation: Form
    action_size: int
    columns: Mapping[str, str] = field(default_factory=lambda: dict(COLUMNS))

    def __post_init__(self) -> None:
        for name, count in (
            ("robots", self.robots),
            ("observation", math.prod(self.observation.shape)),
            ("action_size", self.action_size),
        ):
            if count < 1:
                raise ValueError(f"a journal needs at least one of {name}, not {count}")

    def to_json(self) -> dict[str, Any]:
        """For the header of the journal."""
        return asdict(self)

    @staticmethod
    def from_json(header: dict[str, Any]) -> "JournalLayout":
        """What `to_json` gave."""
        form = header["observation"]
        return JournalLayout(**{**header, "observation": Form(tuple(form["shape"]), form["dtype"])})

    @property
    def _fleet(self) -> np.dtype:
        packed = (self.robots + 7) // 8
        return np.dtype(
            [
                (name, "u1", (packed,)) if kind == FLAGS else (name, kind, (self.robots,))
                for name, kind in self.columns.items()
            ]
        )

    @property
    def _transition(self) -> np.dtype:
        return np.dtype(
            [
                ("observation", self.observation.dtype, self.observation.shape),
                ("action", "<f4", (self.action_size,)),
                ("human", "<i4"),
            ]
        )

    def encode_timestep(self, timestep: Timestep) -> bytes:
        """One `Timestep` as bytes; a wrong shape or dtype is an error that names the field."""
        row = np.zeros((), self._fleet)
        for name, kind in self.columns.items():
            value = np.asarray(getattr(timestep, name))
            if value.shape != (self.robots,):
                raise ValueError(f"timestep.{name} has shape {value.shape}; the journal is of {self.robots} robots")
            row[name] = np.packbits(_flags(name, value)) if kind == FLAGS else _exactly(name, value, np.dtype(kind))
        return row.tobytes()

    def decode_timesteps(self, rows: list[bytes]) -> dict[str, np.ndarray]:
        """The columns of T timesteps, each (T, N)."""
        table = np.frombuffer(b"".join(rows), self._fleet)
        return {
            name: np.unpackbits(table[name], axis=1, count=self.robots).astype(bool)
            if kind == FLAGS
            else table[name].astype(np.dtype(kind).newbyteorder("="))
            for name, kind in self.columns.items()
        }

    def encode_transitions(self, observations: ObservationArray, actions: FloatArray, humans: IntArray) -> bytes:
        """k labelled transitions (k, *S), (k, A), (k,) as bytes, in the numbers in which the memory keeps them."""
        count = len(humans)
        expected = {
            "observations": (observations, (count, *self.observation.shape)),
            "actions": (actions, (count, self.action_size)),
            "humans": (humans, (count,)),
        }
        for name, (value, shape) in expected.items():
            if np.shape(value) != shape:
                raise ValueError(f"{name} has shape {np.shape(value)}, expected {shape}")
        table = np.zeros(count, self._transition)
        np.copyto(table["observation"], observations, casting="same_kind")  # a float is no byte
        table["action"] = actions
        table["human"] = _exactly("humans", np.asarray(humans), np.dtype("<i4"))
        return table.tobytes()

    def decode_transitions(self, rows: list[bytes]) -> tuple[ObservationArray, FloatArray, IntArray]:
        """All transitions of the given timesteps: observations (K, *S), actions (K, A), humans (K,)."""
        table = np.frombuffer(b"".join(rows), self._transition)
        return (
            table["observation"].astype(np.dtype(self.observation.dtype).newbyteorder("=")),
            table["action"].astype(np.float32),
            table["human"].astype(np.int64),
        )

    def fits(self, fleet: bytes, transitions: bytes) -> bool:
        """Whether the lengths are those of this layout."""
        return len(fleet) == self._fleet.itemsize and len(transitions) % self._transition.itemsize == 0


def checksum(t: int, fleet: bytes, transitions: bytes) -> int:
    """CRC-32 of a row: its timestep, the length of its first part, and both parts."""
    return zlib.crc32(transitions, zlib.crc32(fleet, zlib.crc32(struct.pack("<qq", t, len(fleet)))))


def _flags(name: str, value: np.ndarray) -> np.ndarray:
    if value.dtype != np.bool_:
        raise TypeError(f"{name} must be boolean, not {value.dtype}")
    return value


def _exactly(name: str, value: ArrayLike, dtype: np.dtype) -> np.ndarray:
    """`value` as `dtype`, or an error if that would change a number."""
    value = np.asarray(value)
    if dtype.kind == "i" and value.dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        if value.size and (value.min() < bounds.min or value.max() > bounds.max):
            raise ValueError(f"{name} holds an integer that does not fit {dtype.name}")
    elif not np.can_cast(value.dtype, dtype, "safe"):
        raise TypeError(f"{name} of dtype {value.dtype} cannot be kept exactly as {dtype.name}")
    return value.astype(dtype)
