import numpy as np
import pytest

from iifl.runs.checkpoint import Checkpoints
from iifl.runs.random_state import numpy_state, set_numpy_state

KINDS = (np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64, np.random.MT19937)


def draw(rng: np.random.Generator) -> np.ndarray:
    return np.concatenate([rng.integers(0, 10, 5, dtype=np.uint32), rng.normal(size=5), rng.permutation(9)])


@pytest.mark.parametrize("kind", KINDS)
def test_the_draws_go_on_through_a_checkpoint(tmp_path, kind):
    rng = np.random.Generator(kind(3))
    rng.normal(size=7)
    rng.integers(0, 10, 3, dtype=np.uint32)  # leaves half a word behind
    Checkpoints(tmp_path).save(1, {"rng": numpy_state(rng)}, {})
    other = np.random.Generator(kind(4))
    set_numpy_state(other, Checkpoints(tmp_path).load_latest().state["rng"])
    for _ in range(3):
        np.testing.assert_array_equal(draw(other), draw(rng))


def test_a_state_of_another_kind_is_refused():
    state = numpy_state(np.random.Generator(np.random.Philox(0)))
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="of a Philox, this generator is a PCG64"):
        set_numpy_state(rng, state)
