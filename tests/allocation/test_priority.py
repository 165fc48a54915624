"""The orders of priority, ranked by hand; the border û; the draws of the random order; the errors."""

import numpy as np
import pytest
from scipy.stats import norm

from iifl.allocation import ORDERS
from iifl.allocation.priority import (
    Constraint,
    ConstraintUncertaintyRisk,
    Priority,
    RandomBudget,
    Scale,
    Signals,
    Thrifty,
    UncertaintyConstraint,
)
from iifl.registry import UnknownNameError

RNG = np.random.default_rng(0)
FLEET = Signals(
    uncertainty=np.array([0.2, 0.9, 0.1, 0.5, 0.4, 0.9]),
    failed=np.array([True, False, True, False, False, True]),
    risk=np.array([0.9, 0.1, 0.3, 0.8, 0.95, 0.0]),
)


def ranking(order, signals=FLEET):
    return order(signals, np.random.default_rng(1)).ranking().tolist()


def test_constraint_wants_failed_robots_only():
    assert sorted(ranking(Constraint())) == [0, 2, 5]


def test_uncertainty_constraint_puts_the_unsure_before_the_failed():
    # 5 and 1 are equally unsure, and 5 has failed; 3 is at the threshold; 4 is below it and has not failed.
    order = UncertaintyConstraint(0.5)
    assert ranking(order)[:3] == [5, 1, 3]
    assert sorted(ranking(order)[3:]) == [0, 2]


def test_with_threshold_zero_every_robot_wants_help_even_one_that_is_not_unsure():
    signals = Signals(np.array([0.0, 0.3, 0.1]), np.zeros(3, bool))
    assert ranking(UncertaintyConstraint(0.0), signals) == [1, 2, 0]
    assert ranking(UncertaintyConstraint(1e-12), signals) == [1, 2]


def test_constraint_uncertainty_risk_puts_the_failed_first_and_the_risk_last():
    # Failed: 5 (unsure), 0 (at risk), 2; then 1 and 3 by uncertainty; then 4 by risk alone.
    assert ranking(ConstraintUncertaintyRisk(0.5, 0.8)) == [5, 0, 2, 1, 3, 4]


def test_thrifty_ranks_by_the_weighted_sum_of_scaled_signals():
    order = Thrifty(1.0, 0.25, risk_scale=Scale(0.5, 0.1), uncertainty_scale=Scale(0.3, 0.1))
    # ¼ (risk − ½)/0.1 + ¾ (u − 0.3)/0.1 = 0.25, 3.5, −2, 2.25, 1.875, 3.25; at or above 1: 1, 5, 3, 4; failed: 0, 2.
    assert ranking(order)[:4] == [1, 5, 3, 4]
    assert sorted(ranking(order)[4:]) == [0, 2]
    assert np.allclose(order(FLEET, RNG).keys[:, 0], [0, 3.5, 0, 2.25, 1.875, 3.25])


def test_the_ranking_is_that_of_python_tuples():
    rng = np.random.default_rng(2)
    for _ in range(200):
        n, k = int(rng.integers(1, 12)), int(rng.integers(0, 4))
        priority = Priority(rng.integers(0, 2, (n, k)) / 2, rng.permutation(n) / n, rng.random(n) < 0.7)
        rank = {r: (*priority.keys[r], priority.tie_break[r]) for r in range(n) if priority.wants[r]}
        assert priority.ranking().tolist() == sorted(rank, key=lambda r: rank[r], reverse=True)


def test_only_the_constraint_order_does_not_teach():
    assert [name for name in ORDERS.names() if not ORDERS.load(name).teaches] == ["constraint"]


def test_an_unknown_order_names_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'random_budget'"):
        ORDERS.load("random_budgets")


# The random order -------------------------------------------------------------------------------------------------


def busy(order, draws, timestep=0, human_actions=0):
    signals = Signals(np.zeros(3), np.zeros(3, bool), timestep=timestep, human_actions=human_actions)
    rng = np.random.default_rng(3)
    return np.array([order(signals, rng).busy_at_most for _ in range(draws)])


def test_busy_humans_are_drawn_from_the_published_normal():
    """N(budget/T, (0.1 M)²), rounded: every frequency within 5 standard errors (false alarm about 1e-5)."""
    drawn, mean, sd = busy(RandomBudget(40_000, 1_000, 100), 20_000), 40.0, 10.0
    for low, high in [(0, 25), (26, 35), (36, 40), (41, 47), (48, 60)]:
        expected = norm.cdf(high + 0.5, mean, sd) - norm.cdf(low - 0.5, mean, sd)
        seen = np.mean((drawn >= low) & (drawn <= high))
        assert abs(seen - expected) < 5 * np.sqrt(expected * (1 - expected) / len(drawn))


def test_busy_humans_are_clipped_to_the_humans_there_are():
    assert busy(RandomBudget(40_000, 1_000, 10), 100).max() == 10
    assert busy(RandomBudget(0, 1_000, 10), 100).tolist() == [0] * 100
    assert busy(RandomBudget(100, 1_000, 10), 500).min() == 0


def test_what_is_left_of_the_budget_bounds_and_steers_the_draw():
    order = RandomBudget(1_000, 100, 20)
    assert busy(order, 100, timestep=90, human_actions=997).max() == 3
    assert busy(order, 100, timestep=90, human_actions=1_004).max() == 0
    # An even pace is 10 a timestep: 500 by timestep 50. 20 behind or 40 ahead are made up for in 20 timesteps.
    for human_actions, mean in [(500, 10), (480, 11), (540, 8)]:
        drawn = busy(order, 4000, timestep=50, human_actions=human_actions)
        assert abs(drawn.mean() - mean) < 5 * 2 / np.sqrt(4000)


def test_the_random_order_knows_neither_uncertainty_nor_failure():
    """Every robot is as likely to be first: 5 standard errors (false alarm about 3e-6 for 6 robots)."""
    rng, order, trials = np.random.default_rng(4), RandomBudget(100, 10, 5), 6_000
    first = np.bincount([order(FLEET, rng).ranking()[0] for _ in range(trials)], minlength=6)
    assert np.all(np.abs(first - trials / 6) < 5 * np.sqrt(trials * 5 / 36))


# Errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.1])
def test_a_signal_that_is_no_number_names_the_robot(value):
    with pytest.raises(ValueError, match="robot 2: uncertainty is"):
        Signals(np.array([0.0, 1.0, value]), np.zeros(3, bool))
    with pytest.raises(ValueError, match="robot 0: risk is"):
        Signals(np.zeros(3), np.zeros(3, bool), risk=np.array([value, 0.0, value]))


def test_signals_of_another_fleet_are_an_error():
    with pytest.raises(ValueError, match=r"uncertainty must have shape \(4,\), not \(3,\)"):
        Signals(np.zeros(3), np.zeros(4, bool))


@pytest.mark.parametrize(
    "order", [ConstraintUncertaintyRisk(0.1, 0.1), Thrifty(0.1, 0.5, Scale(0, 1), Scale(0, 1))], ids=["CUR", "thrifty"]
)
def test_an_order_that_needs_risk_says_so(order):
    with pytest.raises(ValueError, match="needs the risk of every robot"):
        order(Signals(np.zeros(3), np.zeros(3, bool)), RNG)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: UncertaintyConstraint(np.nan), "threshold must be finite"),
        (lambda: UncertaintyConstraint(-1.0), "threshold must be finite and non-negative, not -1.0"),
        (lambda: ConstraintUncertaintyRisk(0.0, np.inf), "risk_threshold must be finite"),
        (lambda: Thrifty(0.0, 1.5, Scale(0, 1), Scale(0, 1)), r"risk_weight must be in \[0, 1\], not 1.5"),
        (lambda: Scale(0.0, 0.0), "a positive std"),
        (lambda: RandomBudget(-1, 10, 10), "a budget of at least 0"),
        (lambda: RandomBudget(10, 0, 10), "at least 1 timestep"),
    ],
)
def test_a_wrong_setting_is_an_error(build, message):
    with pytest.raises(ValueError, match=message):
        build()
