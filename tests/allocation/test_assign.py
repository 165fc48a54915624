"""`assign` against a slow oracle, its invariants over long histories, hand-worked cases, and its speed."""

import time
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from iifl.allocation.assign import AssignmentError, assign
from iifl.allocation.priority import (
    Constraint,
    ConstraintUncertaintyRisk,
    Priority,
    RandomBudget,
    Signals,
    UncertaintyConstraint,
)
from iifl.records import NOBODY, Assignment


def ranked(*robots: int, of: int, busy_at_most: int | None = None) -> Priority:
    """These robots want help, the first most of all."""
    wants, keys = np.zeros(of, bool), np.zeros((of, 1))
    for place, robot in enumerate(robots):
        wants[robot], keys[robot] = True, of - place
    return Priority(keys, np.arange(of) / of, wants, busy_at_most)


def allocate(old, priority, humans, *, t_T=1, resetting=(), seed=0):
    mask = np.zeros(len(old.human_of), bool)
    mask[list(resetting)] = True
    rng = np.random.default_rng(seed)
    return assign(old, priority, humans=humans, minimum_intervention=t_T, resetting=mask, rng=rng)


def paired(**pairs: tuple[int, int]) -> Assignment:
    """r2=(1, 4): robot 2 of 5 has human 1, with `together` 4."""
    human_of, together = np.full(5, NOBODY), np.zeros(5, np.int64)
    for robot, (human, steps) in pairs.items():
        human_of[int(robot[1:])], together[int(robot[1:])] = human, steps
    return Assignment(human_of, together)


# Hand-worked ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("t_T", [1, 2, 5])
def test_a_human_stays_exactly_the_minimum_intervention_time(t_T):
    assignment, spent = allocate(Assignment.nobody(5), ranked(3, of=5), humans=1, t_T=t_T), 1
    while assignment.human_of[3] == 0:
        assert assignment.together[3] == spent - 1
        assignment, spent = allocate(assignment, ranked(1, of=5), humans=1, t_T=t_T), spent + 1
    assert spent - 1 == t_T
    assert assignment.human_of.tolist() == [-1, 0, -1, -1, -1]
    assert assignment.together.tolist() == [0] * 5


def test_an_expired_human_of_a_robot_that_is_not_next_goes_where_help_is_wanted():
    old = paired(r0=(1, 7), r2=(0, 7))
    new = allocate(old, ranked(2, 4, 0, of=5), humans=2, t_T=3)
    assert new.human_of.tolist() == [-1, -1, 0, -1, 1]
    assert new.together.tolist() == [0, 0, 8, 0, 0]


def test_a_locked_human_takes_no_place_from_the_robots_next_in_priority():
    # Human 0 is locked to robot 0, which wants most. The one other human is for the next robot, where nobody is.
    old = paired(r0=(0, 0), r3=(1, 9))
    new = allocate(old, ranked(0, 2, 3, of=5), humans=2, t_T=5)
    assert new.human_of.tolist() == [0, -1, 1, -1, -1]


def test_humans_are_free_when_nobody_wants_help():
    new = allocate(paired(r0=(0, 9), r1=(1, 0)), ranked(of=5), humans=3, t_T=1)
    assert new.human_of.tolist() == [-1, -1, -1, -1, -1]
    assert new.together.tolist() == [0, 0, 0, 0, 0]


def test_a_hard_reset_holds_its_human_after_the_minimum_intervention_time():
    old = paired(r0=(0, 50))
    assert allocate(old, ranked(4, of=5), humans=1, t_T=2, resetting=[0]).human_of[0] == 0
    assert allocate(old, ranked(4, of=5), humans=1, t_T=2).human_of[0] == NOBODY


def test_fewer_humans_at_work_counts_those_who_are_locked():
    old = paired(r0=(0, 0), r1=(1, 9), r2=(2, 9))
    priority = ranked(0, 3, 2, 1, 4, of=5, busy_at_most=2)
    assert allocate(old, priority, humans=4, t_T=5).human_of[[0, 1, 2, 4]].tolist() == [0, -1, -1, -1]
    assert allocate(old, priority, humans=4, t_T=5).human_of[3] != NOBODY
    none = ranked(0, 1, of=5, busy_at_most=0)
    assert allocate(old, none, humans=4, t_T=5).human_of.tolist() == [0, -1, -1, -1, -1]


def test_nothing_that_came_in_is_changed():
    old = paired(r0=(1, 7), r2=(0, 7))
    before = old.human_of.copy(), old.together.copy()
    allocate(old, ranked(1, 4, of=5), humans=2)
    assert (old.human_of == before[0]).all()
    assert (old.together == before[1]).all()


# Errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "options", "message"),
    [
        (paired(r3=(2, 0)), {}, "robot 3 has human 2"),
        (paired(r3=(-2, 0)), {}, "robot 3 has human -2"),
        (paired(r3=(1, 0), r4=(1, 0)), {}, "human 1 is with 2 robots"),
        (paired(r3=(1, 0)), {"resetting": [2]}, "robot 2 is in the middle of a hard reset without a human"),
        (paired(), {"t_T": 0}, "minimum intervention time"),
    ],
)
def test_an_impossible_past_is_an_error_that_names_it(old, options, message):
    with pytest.raises(ValueError, match=message):
        allocate(old, ranked(0, of=5), humans=2, **options)
    assert issubclass(AssignmentError, ValueError)


def test_arrays_of_another_fleet_are_an_error():
    with pytest.raises(ValueError, match="priority is for 4 robots, but the assignment is for 5"):
        allocate(paired(), ranked(0, of=4), humans=2)


# The oracle -------------------------------------------------------------------------------------------------------


@dataclass
class Case:
    humans: int
    minimum: int  # t_T
    human_of: list[int]
    together: list[int]
    resetting: list[bool]
    keys: list[tuple[int, ...]]
    ties: list[int]
    wants: list[bool]
    busy_at_most: int | None


@st.composite
def cases(draw) -> Case:
    n, m = draw(st.integers(1, 6)), draw(st.integers(0, 4))
    everyone = list(range(m)) + [NOBODY] * n
    human_of = draw(st.permutations(everyone))[:n]
    per_robot = lambda of: draw(st.lists(of, min_size=n, max_size=n))  # noqa: E731
    return Case(
        humans=m,
        minimum=draw(st.integers(1, 4)),
        human_of=human_of,
        together=[steps if h != NOBODY else 0 for h, steps in zip(human_of, per_robot(st.integers(0, 5)), strict=True)],
        resetting=[r and h != NOBODY for h, r in zip(human_of, per_robot(st.booleans()), strict=True)],
        keys=per_robot(st.tuples(st.integers(0, 2), st.integers(0, 1))),
        ties=draw(st.permutations(range(n))),
        wants=per_robot(st.booleans()),
        busy_at_most=draw(st.none() | st.integers(0, 4)),
    )


def oracle(case: Case) -> tuple[dict[int, int], set[int], set[int]]:
    """Pairs that go on, robots that get a new human, and the humans of whom these come: in words, robot by robot."""
    robots = range(len(case.human_of))
    pairs = {r: case.human_of[r] for r in robots if case.human_of[r] != NOBODY}
    go_on = {r: h for r, h in pairs.items() if case.together[r] + 1 < case.minimum or case.resetting[r]}
    left = case.humans - len(go_on)
    if case.busy_at_most is not None:
        left = min(left, case.busy_at_most - len(go_on))
    new = set()
    for robot in sorted(robots, key=lambda r: (*case.keys[r], case.ties[r]), reverse=True):
        if not case.wants[robot] or robot in go_on:
            continue
        if left <= 0:
            break
        left -= 1
        if robot in pairs:
            go_on[robot] = pairs[robot]
        else:
            new.add(robot)
    return go_on, new, set(range(case.humans)) - set(go_on.values())


@settings(max_examples=1000, deadline=None, derandomize=True)
@given(case=cases(), seed=st.integers(0, 100))
def test_the_oracle_agrees(case, seed):
    n = len(case.human_of)
    new = assign(
        Assignment(np.array(case.human_of), np.array(case.together)),
        Priority(np.array(case.keys, float), np.array(case.ties) / n, np.array(case.wants), case.busy_at_most),
        humans=case.humans,
        minimum_intervention=case.minimum,
        resetting=np.array(case.resetting),
        rng=np.random.default_rng(seed),
    )
    go_on, newly_helped, available = oracle(case)
    helped = {r: int(h) for r, h in enumerate(new.human_of) if h != NOBODY}
    assert set(helped) == set(go_on) | newly_helped
    assert all(helped[r] == h for r, h in go_on.items())
    assert {helped[r] for r in newly_helped} <= available
    assert len(set(helped.values())) == len(helped)
    assert new.together.tolist() == [case.together[r] + 1 if r in go_on else 0 for r in range(n)]


# Long histories ---------------------------------------------------------------------------------------------------

ORDERS = [UncertaintyConstraint(0.6), UncertaintyConstraint(0.0), Constraint(), ConstraintUncertaintyRisk(0.7, 0.8)]


@pytest.mark.parametrize("seed", range(4))
def test_the_rules_hold_at_every_timestep_of_long_histories(seed):
    """4 × 26,000 timesteps of small fleets; the time together and the hard resets are counted here, apart."""
    rng = np.random.default_rng(seed)
    for _ in range(104):
        n, m = int(rng.integers(2, 8)), int(rng.integers(0, 5))
        t_T, t_R = int(rng.integers(1, 7)), int(rng.integers(1, 7))
        _check_history(ORDERS[int(rng.integers(len(ORDERS)))], n, m, t_T=t_T, t_R=t_R, rng=rng)


def _check_history(order, n, m, *, t_T, t_R, rng):
    assignment = Assignment.nobody(n)
    pairs: dict[int, int] = {}
    lasted: dict[int, int] = {}  # robot → timesteps with its present human
    failed, done = np.zeros(n, bool), np.zeros(n, np.int64)  # done: timesteps of the hard reset that is going on
    for _ in range(250):
        failed |= rng.random(n) < 0.15
        # Few distinct values, so that priorities tie.
        signals = Signals(rng.integers(0, 5, n) / 4, failed, rng.integers(0, 5, n) / 4)
        priority = order(signals, rng)
        assignment = assign(assignment, priority, humans=m, minimum_intervention=t_T, resetting=(done > 0), rng=rng)
        now = {r: h for r, h in enumerate(assignment.human_of.tolist()) if h != NOBODY}
        assert len(set(now.values())) == len(now) <= m

        locked = {r for r in pairs if lasted[r] < t_T or done[r] > 0}
        for robot, human in pairs.items():
            assert now.get(robot) in ({human} if robot in locked else {human, None})  # never swapped for another
        lasted = {r: lasted[r] + 1 if r in pairs else 1 for r in now}
        assert assignment.together.tolist() == [lasted.get(r, 1) - 1 for r in range(n)]

        rank = [(*k, tie) for k, tie in zip(priority.keys.tolist(), priority.tie_break.tolist(), strict=True)]
        unhelped = [r for r in range(n) if priority.wants[r] and r not in now]
        chosen = [r for r in now if r not in locked]
        assert all(priority.wants[r] for r in chosen)
        if unhelped:
            assert len(now) == m  # nobody is idle while somebody wants help
            assert not chosen or min(rank[r] for r in chosen) > max(rank[r] for r in unhelped)

        pairs = now
        for robot in now:
            done[robot] += failed[robot]
        complete = done == t_R
        failed[complete], done[complete] = False, 0


# Chance -----------------------------------------------------------------------------------------------------------


def test_every_order_of_the_free_humans_is_equally_likely():
    """4 humans to 3 robots: 24 outcomes, chi-square. A false alarm has probability 1e-6 (and the seed is fixed)."""
    rng, trials = np.random.default_rng(5), 12_000
    counts: Counter[tuple[int, ...]] = Counter()
    for _ in range(trials):
        new = assign(
            Assignment.nobody(5),
            ranked(4, 0, 2, of=5),
            humans=4,
            minimum_intervention=3,
            resetting=np.zeros(5, bool),
            rng=rng,
        )
        counts[tuple(new.human_of[[4, 0, 2]].tolist())] += 1
    assert len(counts) == 24
    assert chisquare(list(counts.values())).pvalue > 1e-6


def test_equal_priorities_are_broken_evenly():
    """One human, 4 robots alike: chi-square, false alarm 1e-6."""
    rng, order = np.random.default_rng(6), UncertaintyConstraint(0.5)
    signals = Signals(np.full(4, 0.7), np.zeros(4, bool))
    chosen = [
        int(np.argmax(allocate(Assignment.nobody(4), order(signals, rng), humans=1).human_of)) for _ in range(8000)
    ]
    assert chisquare(np.bincount(chosen, minlength=4)).pvalue > 1e-6


def test_the_same_random_state_gives_the_same_assignment():
    old, priority = Assignment.nobody(5), ranked(0, 1, 2, of=5)
    again = [allocate(old, priority, humans=4, seed=3).human_of.tolist() for _ in range(2)]
    assert again[0] == again[1]


# A budget of human actions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("budget", "t_T"), [(6000, 5), (1500, 5), (6000, 1)])
def test_a_random_budget_is_spent_and_hardly_overspent(budget, t_T):
    """Humans who are locked when it runs out may overspend it, each by less than t_T."""
    n, m, timesteps = 50, 10, 1000
    order, rng = RandomBudget(budget, timesteps, m), np.random.default_rng(7)
    assignment, spent = Assignment.nobody(n), np.zeros(timesteps + 1, np.int64)
    for t in range(timesteps):
        signals = Signals(np.zeros(n), np.zeros(n, bool), timestep=t, human_actions=int(spent[t]))
        assignment = assign(
            assignment,
            order(signals, rng),
            humans=m,
            minimum_intervention=t_T,
            resetting=np.zeros(n, bool),
            rng=rng,
        )
        spent[t + 1] = spent[t] + np.count_nonzero(assignment.human_of != NOBODY)
    assert budget - 2 * m <= spent[-1] <= budget + m * (t_T - 1)
    # And evenly, although humans who are locked cannot be sent away.
    assert np.abs(spent / budget - np.linspace(0, 1, timesteps + 1)).max() < 0.03


# Speed ------------------------------------------------------------------------------------------------------------


def test_ten_thousand_robots_and_a_thousand_humans_take_less_than_five_milliseconds():
    """The best of 40 timesteps (about 2 ms on one core), so that a busy machine does not raise a false alarm."""
    n, m = 10_000, 1_000
    rng, order, best = np.random.default_rng(8), UncertaintyConstraint(0.0), np.inf
    assignment, resetting = Assignment.nobody(n), np.zeros(n, bool)
    for _ in range(40):
        signals = Signals(rng.random(n), rng.random(n) < 0.05)
        start = time.perf_counter()
        assignment = assign(
            assignment, order(signals, rng), humans=m, minimum_intervention=5, resetting=resetting, rng=rng
        )
        best = min(best, time.perf_counter() - start)
        assert np.count_nonzero(assignment.human_of != NOBODY) == m
    assert best < 5e-3
