import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from iifl.experts.normalisation import CLIP, RunningNormalisation


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**31), sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_batches_one_by_one_give_the_moments_of_all_at_once(seed, sizes):
    rng = np.random.default_rng(seed)
    batches = [rng.normal(rng.normal(), 1 + rng.random(), (size, 3)) for size in sizes]
    running = RunningNormalisation((3,))
    running.count = 0.0  # without the prior that keeps a first division defined
    for batch in batches:
        running(batch, learn=True)
    everything = np.concatenate(batches)
    np.testing.assert_allclose(running.mean, everything.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(running.variance, everything.var(axis=0), atol=1e-9)


def test_what_is_far_out_is_clipped_and_nothing_is_learned_unasked():
    running = RunningNormalisation((1,))
    running(np.random.default_rng(0).normal(size=(1000, 1)), learn=True)
    mean = running.mean.copy()
    assert running(np.array([[1e6]]), learn=False).tolist() == [[CLIP]]
    np.testing.assert_array_equal(running.mean, mean)
