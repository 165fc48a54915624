"""Every metric against a history worked by hand and against sums over explicit α matrices."""

from dataclasses import replace

import numpy as np
import pytest

from iifl.metrics import curves, final, stack, switches
from iifl.records import NOBODY, Assignment, Timestep


def step(human_of, rewards=(0, 0, 0), failed=(), hard_reset=(), success=()) -> Timestep:
    n = len(human_of)
    mask = lambda robots: np.isin(np.arange(n), list(robots))  # noqa: E731
    return Timestep(
        human_of=np.array(human_of),
        taught=(np.array(human_of) != NOBODY) & ~mask(failed),
        uncertainty=np.zeros(n),
        rewards=np.array(rewards, float),
        failed=mask(failed),
        hard_reset=mask(hard_reset),
        success=mask(success),
        ended=mask(success),
    )


# 3 robots, 2 humans, 4 timesteps. Human 0 helps robot 1, goes; human 1 takes two timesteps to reset robot 2.
BY_HAND = [
    step([-1, 0, -1], rewards=[1, 2, 0]),
    step([-1, 0, 1], rewards=[1, 0, 0], failed=[2]),
    step([-1, 1, 0], rewards=[0, 1, 0], failed=[2], hard_reset=[2], success=[0]),
    step([-1, -1, -1], rewards=[0, 3, 4], success=[0, 1]),
]


def test_a_history_worked_by_hand():
    found = curves(stack(BY_HAND), humans=2, episode_steps=10)
    expected = {
        "successes": [0, 0, 1, 3],
        "successes_alone": [0, 0, 1, 2],  # robot 1 had a human in the episode that it completes
        "hard_resets": [0, 0, 1, 1],
        "idle": [0, 1, 2, 2],
        "human_actions": [1, 3, 5, 5],
        # Robot 1 gets human 0; robot 2 gets human 1; the two change places; both robots are left alone.
        "switches": [1, 2, 4, 6],
        "reward": [3, 4, 5, 12],
        # Reward · 10 timesteps of an episode / (3 robots · timesteps so far).
        "average_reward": [10, 20 / 3, 50 / 9, 10],
        "rohe_total_success": [0, 0, 1 / 6, 3 / 6],
        "rohe_total_reward": [3 / 2, 4 / 4, 5 / 6, 12 / 6],
        # 2/3 humans per robot, and the mean over 3 robots.
        "rohe_paper_success": [0, 0, 2 / 9 / 6, 2 / 9 * 3 / 6],
        "rohe_paper_reward": [2 / 9 * 3 / 2, 2 / 9 * 4 / 4, 2 / 9 * 5 / 6, 2 / 9 * 12 / 6],
    }
    assert found.keys() == expected.keys()
    for name, curve in expected.items():
        assert found[name] == pytest.approx(curve), name


def random_history(seed, n=7, m=3, timesteps=40) -> list[Timestep]:
    rng = np.random.default_rng(seed)
    robots_at = lambda share: np.flatnonzero(rng.random(n) < share)  # noqa: E731
    return [
        step(
            rng.permutation([*range(m), *[NOBODY] * (n - m)]) if rng.random() < 0.5 else np.full(n, NOBODY),
            rewards=rng.normal(size=n),
            failed=robots_at(0.2),
            hard_reset=robots_at(0.1),
            success=robots_at(0.1),
        )
        for _ in range(timesteps)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_sums_over_explicit_alpha_matrices(seed):
    """Eq. (4) by its letter: Frobenius norms of α, mean reward over robots, M/N."""
    n, m, L = 7, 3, 25
    steps = random_history(seed, n, m)
    found = curves(stack(steps), m, L)
    before, norm, changed, paid, completed = np.zeros((n, m)), 0.0, 0, 0.0, 0
    for t, now in enumerate(steps):
        alpha = Assignment(now.human_of, np.zeros(n, np.int64)).alpha(m)
        norm += np.linalg.norm(alpha, "fro") ** 2
        changed += sum(bool((alpha[i] != before[i]).any()) for i in range(n))
        paid += float(np.mean(now.rewards))
        completed += int(sum(now.success))
        before = alpha
        assert found["human_actions"][t] == pytest.approx(norm)
        assert found["switches"][t] == changed
        assert found["rohe_paper_reward"][t] == pytest.approx(m / n * paid / (1 + norm))
        assert found["rohe_paper_success"][t] == pytest.approx(m / n * completed / n / (1 + norm))
        assert found["rohe_total_reward"][t] == pytest.approx(paid * n / (1 + norm))
        assert found["rohe_total_success"][t] == pytest.approx(completed / (1 + norm))
        assert found["average_reward"][t] == pytest.approx(paid / (t + 1) * L)
    assert found["hard_resets"][-1] == sum(s.hard_reset.sum() for s in steps)
    assert found["idle"][-1] == sum(s.failed.sum() for s in steps)


def test_final_is_the_end_of_every_curve():
    history = stack(random_history(9))
    ends = final(history, 3, 25)
    assert ends == {name: curve[-1] for name, curve in curves(history, 3, 25).items()}
    assert all(type(value) is float for value in ends.values())


def test_a_curve_depends_on_the_past_alone():
    steps = random_history(10)
    whole, half = curves(stack(steps), 3, 25), curves(stack(steps[:20]), 3, 25)
    assert all(whole[name][:20] == pytest.approx(half[name]) for name in whole)


def test_the_two_rohes_differ_by_a_constant_of_the_fleet():
    ends = final(stack(random_history(11)), humans=3, episode_steps=25)
    assert ends["rohe_total_reward"] == pytest.approx(ends["rohe_paper_reward"] * 7**2 / 3)


def test_single_precision_rewards_do_not_stop_adding_up():
    """2²⁴ + 1 = 2²⁴ in single precision."""
    rewards = np.float32([[2**24, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0]])
    history = stack([replace(BY_HAND[0], rewards=row) for row in rewards])
    assert curves(history, 2, 10)["reward"].tolist() == [2**24, 2**24 + 1, 2**24 + 2, 2**24 + 3]


def test_an_unchanged_assignment_is_no_switch():
    assert switches(stack([BY_HAND[1]] * 4)).tolist() == [2, 2, 2, 2]


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="without a timestep"):
        stack([])
    with pytest.raises(ValueError, match=r"arrays of \(timesteps, robots\)"):
        curves(BY_HAND[0], 2, 10)
    broken = replace(BY_HAND[3], rewards=np.array([0, np.nan, 0]))
    with pytest.raises(ValueError, match="timestep 1, robot 1: the reward is nan"):
        curves(stack([BY_HAND[0], broken]), 2, 10)
