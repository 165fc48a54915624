"""Progress of learning: when an error is reached, and what an error is."""

import numpy as np

from iifl.benchmarks.learning import Progress, held_out_error


def test_the_time_to_an_error_is_that_of_the_first_checkpoint_that_has_it():
    progress = Progress(np.array([0.5, 0.3, 0.35, 0.2]), np.array([1.0, 2.0, 3.0, 4.0]))
    assert [progress.first_at_most(error) for error in (0.6, 0.3, 0.2)] == [1.0, 2.0, 4.0]
    assert progress.first_at_most(0.1) == float("inf")


def test_the_error_is_in_half_action_ranges():
    """(3, 4) and (0, 0) off in half ranges of (1, 2): √(9 + 4) and 0."""

    class Still:
        def act(self, observations):
            return np.zeros((2, 2))

    error = held_out_error(Still(), np.zeros((2, 1)), np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([1.0, 2.0]))
    np.testing.assert_allclose(error, np.sqrt(13) / 2)
