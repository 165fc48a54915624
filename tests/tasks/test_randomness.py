"""Episode uniforms: the published values of SplitMix64, the distribution, and what they depend on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from iifl.tasks.randomness import _WEYL, _mix, episode_uniforms

PUBLISHED = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC, 0x1B39896A51A8749B]
"""The first outputs of SplitMix64 seeded with 0 (Steele, Lea and Flood 2014; the reference code of Vigna 2015)."""

KNOWN = [
    [0.17173719855229574, 0.03409929747419027],
    [0.01732619831628046, 0.12151998103341066],
    [0.5100816919505269, 0.6464861798761095],
]


def mix_of_integers(word: int) -> int:
    """The same bijection in Python's own integers."""
    mask = 2**64 - 1
    z = (word + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def test_the_published_values():
    states = np.arange(5, dtype=np.uint64) * _WEYL
    assert _mix(states).tolist() == PUBLISHED
    assert [mix_of_integers(k * 0x9E3779B97F4A7C15 % 2**64) for k in range(5)] == PUBLISHED


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    seed=st.integers(-(2**63), 2**63 - 1),
    robot=st.integers(0, 2**40),
    episode=st.integers(0, 2**40),
    count=st.integers(0, 5),
)
def test_the_chain_of_hashes_in_plain_integers(seed, robot, episode, count):
    key = mix_of_integers(mix_of_integers(mix_of_integers(seed % 2**64) ^ robot) ^ episode)
    expected = [(mix_of_integers(key ^ draw) >> 11) / 2**53 for draw in range(count)]
    found = episode_uniforms(seed, np.array([robot]), np.array([episode]), count)
    assert found.shape == (1, count)
    assert found[0].tolist() == expected


def test_no_value_changes_from_one_version_to_the_next():
    """Saved runs are only reproducible while these stay."""
    found = episode_uniforms(7, np.array([0, 0, 3]), np.array([0, 1, 2]), 2)
    assert found.tolist() == KNOWN


def uniforms(seed=0, robots=100, episodes=100, count=10) -> np.ndarray:
    """All of (robots, episodes, count)."""
    i, k = np.meshgrid(np.arange(robots), np.arange(episodes), indexing="ij")
    return episode_uniforms(seed, i.ravel(), k.ravel(), count).reshape(robots, episodes, count)


@pytest.mark.parametrize("seed", [0, 1, -1, 2**62])
def test_they_are_uniform(seed):
    """Kolmogorov-Smirnov over 100,000 numbers (false alarm 1e-6)."""
    drawn = uniforms(seed)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert kstest(drawn.ravel(), "uniform").pvalue > 1e-6


@pytest.mark.parametrize("axis", [0, 1, 2], ids=["robots", "episodes", "draws"])
@pytest.mark.parametrize("lag", [1, 2, 4])
def test_neighbours_are_independent(axis, lag):
    """Correlations of numbers and of their distances from ½, within 5 standard errors (false alarm 6e-7 each)."""
    drawn = np.moveaxis(uniforms(seed=3), axis, 0)
    here, there = drawn[:-lag].ravel(), drawn[lag:].ravel()
    for bend in (lambda u: u, lambda u: np.abs(u - 0.5)):
        assert abs(np.corrcoef(bend(here), bend(there))[0, 1]) < 5 / np.sqrt(len(here))


def test_seeds_are_independent():
    for other in (1, 2, 1024, -1):
        correlation = np.corrcoef(uniforms(0).ravel(), uniforms(other).ravel())[0, 1]
        assert abs(correlation) < 5 / np.sqrt(100_000)


def test_robot_and_episode_are_not_interchangeable():
    assert not np.isclose(uniforms(robots=20, episodes=20), uniforms(robots=20, episodes=20).swapaxes(0, 1))[
        ~np.eye(20, dtype=bool)
    ].any()


def test_no_number_comes_twice():
    assert len(np.unique(uniforms(seed=4))) == 100_000


def test_a_robots_numbers_depend_neither_on_the_fleet_nor_on_the_order_nor_on_how_many_are_drawn():
    robots, episodes = np.arange(50), np.arange(50) % 7
    whole = episode_uniforms(5, robots, episodes, 6)
    some = np.array([31, 4, 18])
    assert np.array_equal(episode_uniforms(5, robots[some], episodes[some], 6), whole[some])
    assert np.array_equal(episode_uniforms(5, robots, episodes, 2), whole[:, :2])
    assert np.array_equal(episode_uniforms(5, robots.astype(np.int32), episodes, 6), whole)


def test_nothing_to_draw():
    assert episode_uniforms(0, np.arange(3), np.zeros(3, int), 0).shape == (3, 0)
    assert episode_uniforms(0, np.arange(0), np.zeros(0, int), 4).shape == (0, 4)
