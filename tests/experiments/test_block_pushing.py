"""The physical experiment: what a trial is, and its numbers in a history worked out by hand."""

import numpy as np
import pytest

from iifl.experiments.block_pushing import ALGORITHMS, FEW, LONG, PAPER, SIZES, TASK, configuration, measured
from iifl.presets import preset
from iifl.records import NOBODY, Timestep


def history(timesteps: int = 8) -> Timestep:
    """Robot 0 is taught at 1 and 2, fails, and is reset at 3 and 4; robot 1 reaches goals at 2, 5, 6 and 7."""
    shape = (timesteps, 2)
    human_of = np.full(shape, NOBODY)
    taught, failed, hard_reset, success = (np.zeros(shape, bool) for _ in range(4))
    human_of[1:5, 0] = 1
    taught[1:3, 0] = failed[3:5, 0] = hard_reset[4, 0] = True
    success[[2, 5, 6, 7], 1] = True
    return Timestep(human_of, taught, np.zeros(shape), success.astype(float), failed, hard_reset, success, success)


def test_the_numbers_of_a_whole_history():
    found = measured(history(), "iifl", 8)
    assert found == {
        "successes": 4,
        "hard_resets": 1,
        "idle": 2,
        "taught": 2,
        "rohe": pytest.approx(4 / (1 + 2 + 1)),  # the hard reset is one action
        "rohe_total_success": pytest.approx(4 / (1 + 4)),  # each of its timesteps is
    }


def test_a_longer_run_counts_up_to_the_end_of_the_short_one_and_compares_its_own_end_with_it():
    found = measured(history(), "iifl", 3)
    assert (found["successes"], found["hard_resets"], found["taught"]) == (1, 0, 2)
    assert found["successes_more"] == 3 - 1  # timesteps 5 to 7 against 0 to 2
    assert found["hard_resets_fewer"] == 0
    assert measured(history(), "iifl", 4)["hard_resets_fewer"] == 0 - 1


def test_where_nobody_teaches_there_is_no_return_on_it():
    assert set(measured(history(), "ibc", 8)) == {"successes", "hard_resets", "idle"}


def test_a_trial_is_that_of_the_paper():
    for algorithm in ALGORITHMS:
        config = preset(TASK, algorithm)
        fleet, learning = config.fleet, config.learning
        assert (fleet.robots, fleet.humans, fleet.timesteps) == (4, 2, 150)
        assert (fleet.minimum_intervention, fleet.reset_steps) == (3, 5)
        assert (learning.pairs, learning.augmentation) == (336, 10)
    updates = {algorithm: preset(TASK, algorithm).learning.update_every for algorithm in ALGORITHMS}
    assert updates == {"bc": 0, "ibc": 0, "ifl": 1, "iifl": 50}
    assert len({preset(TASK, algorithm).learning.steps_per_timestep for algorithm in ALGORITHMS}) == 1
    assert {preset(TASK, algorithm).allocation.order for algorithm in ("bc", "ibc")} == {"C"}  # people only reset


def test_the_paper_has_three_trials_and_the_first_trials_are_long():
    assert SIZES["paper"].trials == 3
    assert SIZES["cpu"].trials == 20
    first, last = configuration(FEW, "iifl", 0, "cpu"), configuration(TASK, "iifl", 19, "cpu")
    assert (first.fleet.timesteps, last.fleet.timesteps) == (LONG, 150)
    assert (first.seed, last.seed) == (0, 19)
    assert (first.learning.pairs, last.learning.pairs) == (34, 336)


def test_the_numbers_of_the_paper_s_table():
    assert [value for value, _ in PAPER["successes"].values()] == [2.0, 20.3, 7.0, 36.3]
    assert [value for value, _ in PAPER["hard_resets"].values()] == [51.0, 35.3, 47.3, 37.0]
    assert PAPER["rohe"] == {"ifl": (0.13, 0.01), "iifl": (0.71, 0.01)}
