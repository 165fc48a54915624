"""The records that cross the borders: α of Eq. (2), and that nobody changes a record."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from iifl.records import NOBODY, Assignment


def test_alpha_worked_by_hand():
    assignment = Assignment(np.array([2, NOBODY, 0, NOBODY]), np.zeros(4, np.int64))
    assert assignment.alpha(3).tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0], [0, 0, 0]]


def test_at_first_every_robot_is_on_its_own():
    first = Assignment.nobody(4)
    assert first.alpha(2).tolist() == [[0, 0]] * 4
    assert first.together.tolist() == [0] * 4


def test_alpha_of_a_random_assignment_is_a_partial_permutation():
    rng = np.random.default_rng(0)
    human_of = rng.permutation([*range(5), *[NOBODY] * 8])
    alpha = Assignment(human_of, np.zeros(13, np.int64)).alpha(5)
    assert alpha.sum(axis=0).tolist() == [1] * 5
    assert np.array_equal(alpha.sum(axis=1), human_of != NOBODY)
    assert all(alpha[robot, human] == 1 for robot, human in enumerate(human_of) if human != NOBODY)


def test_a_record_is_frozen():
    with pytest.raises(FrozenInstanceError):
        Assignment.nobody(2).human_of = np.zeros(2, np.int64)  # type: ignore[misc]
