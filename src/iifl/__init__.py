"""Interactive fleet learning: one policy for a fleet of robots, learned from a few people, each with their own way.

The energy part is of use by itself: `iifl.jeffreys_divergence([E1, E2], low, high)` is the Jeffreys divergence of two
densities exp(−E) on a box, and needs no partition function. Names are loaded when they are used.
"""

import ctypes
import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

# MuJoCo chooses how to draw when it is first imported. Without a screen its default choice crashes when it draws, and
# any other choice crashes at the import where its library is missing.
if sys.platform == "linux" and not {"DISPLAY", "MUJOCO_GL"} & os.environ.keys():
    for _choice, _library in (("osmesa", "libOSMesa.so.8"), ("egl", "libEGL.so.1")):  # the last one there is taken
        with suppress(OSError):
            ctypes.CDLL(_library)
            os.environ["MUJOCO_GL"] = _choice

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
