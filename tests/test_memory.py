"""The aggregated data set and its bootstraps: what is in them, how they are drawn, what is refused."""

import numpy as np
import pytest
from scipy.stats import chisquare

from iifl.memory import Memory
from iifl.records import Form


def filled(sizes, bootstraps=2, seed=0) -> Memory:
    """Transition i is (s = [i, 2i, 3i], a = [−i, i / 2], human i mod 4)."""
    memory, start = Memory(Form((3,)), 2, bootstraps, np.random.default_rng(seed)), 0
    for k in sizes:
        i = np.arange(start, start + k, dtype=float)[:, None]
        memory.add(i * [1, 2, 3], i * [-1, 0.5], np.arange(start, start + k) % 4)
        start += k
    return memory


@pytest.mark.parametrize("sizes", [[1], [1] * 50, [1023, 1, 1], [5000, 3], [10, 0, 2000, 7]])
def test_all_transitions_stay_in_the_order_of_their_coming(sizes):
    memory, n = filled(sizes), sum(sizes)
    i = np.arange(n)
    assert memory.size == n
    assert np.array_equal(memory.observations, (i[:, None] * [1, 2, 3]).astype(np.float32))
    assert np.array_equal(memory.actions, (i[:, None] * [-1, 0.5]).astype(np.float32))
    assert np.array_equal(memory.humans, i % 4)


def test_bootstraps_grow_with_the_memory_and_keep_what_they_have():
    memory = filled([100])
    before = memory.bootstraps.copy()
    assert before.shape == (2, 100)
    for k in (1, 7, 2000):
        memory.add(np.zeros((k, 3)), np.zeros((k, 2)), np.zeros(k, int))
        assert memory.bootstraps.shape == (2, memory.size)
        assert np.array_equal(memory.bootstraps[:, :100], before)
        assert memory.bootstraps.min() >= 0
        assert memory.bootstraps.max() < memory.size


def test_a_new_transition_adds_a_draw_of_what_is_there_by_then():
    memory = filled([1] * 200, bootstraps=5)
    assert (memory.bootstraps <= np.arange(200)).all()


def test_the_first_bootstrap_is_a_resample_with_replacement():
    """The share of distinct transitions is 1 − (1 − 1/n)ⁿ ≈ 0.632, its standard deviation about 0.31/√n (5 of them)."""
    n = 4000
    for own in filled([n], bootstraps=4).bootstraps:
        share = len(np.unique(own)) / n
        assert abs(share - (1 - (1 - 1 / n) ** n)) < 5 * 0.31 / np.sqrt(n)


def test_bootstraps_differ_between_models():
    first, second = filled([1000]).bootstraps
    assert np.mean(first == second) < 0.01


def test_a_bootstrap_draw_is_uniform_over_the_memory_at_its_time():
    """The last of 10 transitions adds one of the 10, chi-square over 4000 models (false alarm 1e-6)."""
    last = filled([9, 1], bootstraps=4000, seed=1).bootstraps[:, -1]
    assert chisquare(np.bincount(last, minlength=10)).pvalue > 1e-6


def test_batches_are_drawn_from_the_own_bootstrap_with_its_frequencies():
    """Chi-square of 60,000 draws against the multiplicities of each bootstrap (false alarm 1e-6 each)."""
    memory = filled([40], bootstraps=3, seed=2)
    draws = memory.draw(60_000)
    assert draws.shape == (3, 60_000)
    for own, drawn in zip(memory.bootstraps, draws, strict=True):
        share = np.bincount(own, minlength=40) / 40
        counts = np.bincount(drawn, minlength=40)
        assert counts[share == 0].sum() == 0
        assert chisquare(counts[share > 0], 60_000 * share[share > 0]).pvalue > 1e-6


def test_models_draw_independently():
    memory = filled([50], seed=3)
    first, second = memory.draw(50_000)
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(50_000)


@pytest.mark.parametrize("sizes", [[30], [1500, 900]])
def test_a_saved_memory_goes_on_with_the_same_random_state(sizes):
    first = filled(sizes)
    saved = first.state_dict()
    rng = np.random.default_rng()
    rng.bit_generator.state = first._rng.bit_generator.state
    second = Memory(Form((3,)), 2, 2, rng)
    second.load_state_dict(saved)
    for memory in (first, second):
        memory.add(np.ones((5, 3)), np.ones((5, 2)), np.full(5, 3))
    ours, theirs = first.state_dict(), second.state_dict()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    assert np.array_equal(first.draw(100), second.draw(100))
    assert saved["observations"].shape == (sum(sizes), 3)  # a copy: not touched by what came after


def test_a_load_replaces_what_was_there():
    larger, smaller = filled([3000]), filled([5], seed=4)
    larger.load_state_dict(smaller.state_dict())
    assert larger.size == 5
    assert np.array_equal(larger.observations, smaller.observations)
    assert np.array_equal(larger.bootstraps, smaller.bootstraps)


def test_the_same_seed_gives_the_same_bootstraps():
    assert np.array_equal(filled([100], seed=5).bootstraps, filled([100], seed=5).bootstraps)
    assert not np.array_equal(filled([100], seed=5).bootstraps, filled([100], seed=6).bootstraps)


def test_an_empty_memory_cannot_be_drawn_from():
    with pytest.raises(ValueError, match="the memory is empty: give it demonstrations"):
        filled([]).draw(4)


@pytest.mark.parametrize(
    ("observations", "actions", "humans", "message"),
    [
        (np.full((2, 3), np.nan), np.zeros((2, 2)), np.zeros(2, int), "NaN or infinity"),
        (np.zeros((2, 3)), np.full((2, 2), np.inf), np.zeros(2, int), "NaN or infinity"),
        (np.zeros((2, 1)), np.zeros((2, 2)), np.zeros(2, int), r"observations .* shape \(2, 3\), not \(2, 1\)"),
        (np.zeros((2, 3)), np.zeros((1, 2)), np.zeros(2, int), r"actions .* shape \(2, 2\), not \(1, 2\)"),
        (np.zeros((2, 3)), np.zeros((2, 2)), np.zeros(1, int), r"humans .* shape \(2,\), not \(1,\)"),
    ],
)
def test_a_wrong_transition_is_refused_and_nothing_is_added(observations, actions, humans, message):
    memory = filled([10])
    with pytest.raises(ValueError, match=message):
        memory.add(observations, actions, humans)
    before, after = filled([10]).state_dict(), memory.state_dict()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_state_of_another_memory_is_refused():
    with pytest.raises(ValueError, match=r"bootstraps of the saved memory have shape \(1, 10\), here it is \(2, 10\)"):
        filled([10]).load_state_dict(filled([10], bootstraps=1).state_dict())
    with pytest.raises(ValueError, match="observations of the saved memory"):
        filled([10]).load_state_dict(Memory(Form((1,)), 2, 2, np.random.default_rng(0)).state_dict())
