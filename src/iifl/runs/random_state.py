"""The state of a NumPy generator as an array, so that a checkpoint can hold it and a run go on with the same draws.

A torch generator needs no such help: its `get_state` and `set_state` speak in tensors.
"""

import json
from typing import Any

import numpy as np


def numpy_state(rng: np.random.Generator) -> np.ndarray:
    """The state of a NumPy generator: its JSON, as bytes.

    What it has spawned is not part of it: spawn when the run starts, not on the way.
    """
    state = json.dumps(rng.bit_generator.state, default=lambda array: array.tolist())
    return np.frombuffer(state.encode(), np.uint8).copy()


def set_numpy_state(rng: np.random.Generator, state: np.ndarray) -> None:
    """Let `rng` go on from a state that `numpy_state` gave."""
    value: dict[str, Any] = json.loads(state.tobytes())
    own = rng.bit_generator.state["bit_generator"]
    if value["bit_generator"] != own:
        raise ValueError(f"the saved random state is of a {value['bit_generator']}, this generator is a {own}")
    rng.bit_generator.state = value
