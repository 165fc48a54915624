"""Implicit interactive fleet learning."""

import os
import sys

# MuJoCo chooses how to draw when it is first imported, and without a screen its default choice crashes.
if sys.platform == "linux" and "DISPLAY" not in os.environ:
    os.environ.setdefault("MUJOCO_GL", "egl")
