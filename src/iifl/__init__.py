"""Interactive fleet learning: one policy for a fleet of robots, learned from a few people, each with their own way.

The energy part is of use by itself: `iifl.jeffreys_divergence([E1, E2], low, high)` is the Jeffreys divergence of two
densities exp(−E) on a box, and needs no partition function. Names are loaded when they are used.
"""

import os
import sys
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

# MuJoCo chooses how to draw when it is first imported, and without a screen its default choice crashes.
if sys.platform == "linux" and "DISPLAY" not in os.environ:
    os.environ.setdefault("MUJOCO_GL", "egl")

if TYPE_CHECKING:
    from iifl.config import RunConfig
    from iifl.energy.divergence import jeffreys_divergence
    from iifl.presets import preset
    from iifl.run import execute

__version__ = version("iifl")
__all__ = ["RunConfig", "__version__", "execute", "jeffreys_divergence", "preset"]

_HOME = {
    "RunConfig": "iifl.config",
    "execute": "iifl.run",
    "jeffreys_divergence": "iifl.energy.divergence",
    "preset": "iifl.presets",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'iifl' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)
