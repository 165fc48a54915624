"""What was learned offline, kept in a folder for other runs that would learn the same to the last bit.

BC and IFL, or IBC and IIFL, of one seed differ only in what happens after it.
"""

from pathlib import Path
from typing import Any

import numpy as np

from iifl.config import RunConfig, to_dict
from iifl.memory import Memory
from iifl.policies.base import Policy
from iifl.runs.checkpoint import Checkpoints, join, part
from iifl.runs.random_state import numpy_state, set_numpy_state

LEARNING = ("demonstrations", "transitions", "features", "symmetry", "pretraining_steps")


class Offline:
    """The folder of what `config` learns offline; without a folder nothing is kept."""

    def __init__(self, folder: Path | None, config: RunConfig) -> None:
        self.checkpoints = Checkpoints(folder) if folder is not None else None
        self.learned_from = learned_from(config)

    def take(self, policy: Policy, memory: Memory, rng: np.random.Generator) -> bool:
        """Put what is kept into these; false if there is nothing, or something learned in another way."""
        if self.checkpoints is None or not self.checkpoints.paths():
            return False
        saved = self.checkpoints.load_latest()
        if saved.meta != self.learned_from:
            return False
        policy.load_state_dict(part(saved.state, "policy"))
        memory.load_state_dict(part(saved.state, "memory"))
        set_numpy_state(rng, part(saved.state, "random")["rng"])
        return True

    def put(self, policy: Policy, memory: Memory, rng: np.random.Generator) -> None:
        """Keep these."""
        if self.checkpoints is not None:
            random = {"rng": numpy_state(rng)}
            state = join(policy=policy.state_dict(), memory=memory.state_dict(), random=random)
            self.checkpoints.save(0, state, self.learned_from)


def learned_from(config: RunConfig) -> dict[str, Any]:
    """All that offline learning depends on."""
    everything = to_dict(config)
    chosen = {name: everything[name] for name in ("task", "supervisor", "seed", "device", "policy")}
    learning = {name: everything["learning"][name] for name in LEARNING}
    fleet = {name: everything["fleet"][name] for name in ("robots", "humans")}
    return {**chosen, "learning": learning, "fleet": fleet}
