"""Terms added to a world's reward in training only, so that what is learned is gentle on the robot."""

from iifl.experts.adapter import Shaping

SHAPING: dict[str, Shaping] = {}
