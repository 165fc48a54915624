"""Random numbers that belong to one robot and one episode, for a whole fleet at once.

Robot i's k-th episode draws its numbers from a hash of (seed, i, k, draw), so that they depend on nothing else: not on
the size of the fleet, on when other robots were reset, or on the number of threads. There is no state to save but k.
The hash is SplitMix64's finaliser (Steele, Lea and Flood 2014), applied once per word.
"""

import numpy as np

from iifl.records import FloatArray, IntArray

_WEYL = np.uint64(0x9E3779B97F4A7C15)


def _mix(words: np.ndarray) -> np.ndarray:
    """SplitMix64's bijection of 64-bit words, after one step of its Weyl sequence."""
    z = words + _WEYL
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def episode_uniforms(seed: int, robots: IntArray, episodes: IntArray, count: int) -> FloatArray:
    """Uniform numbers in [0, 1) for the given episodes of the given robots: (len(robots), count)."""
    with np.errstate(over="ignore"):
        key = _mix(np.asarray([seed], np.int64).view(np.uint64))
        key = _mix(key ^ robots.astype(np.uint64))
        key = _mix(key ^ episodes.astype(np.uint64))
        words = _mix(key[:, None] ^ np.arange(count, dtype=np.uint64))
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
