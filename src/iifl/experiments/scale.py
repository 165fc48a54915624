"""How large an experiment is run: a first look, what a laptop can do, or the size of the paper."""

from typing import Literal

Scale = Literal["smoke", "cpu", "paper"]
