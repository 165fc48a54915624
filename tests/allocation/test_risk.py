"""The risk critic against Markov chains whose discounted risk is a linear system; its state; its errors."""

import numpy as np
import pytest

from iifl.allocation.risk import RiskConfig, RiskCritic
from iifl.records import Form

STATES, DISCOUNT = 5, 0.8


def chain() -> tuple[np.ndarray, np.ndarray]:
    """A walk on 5 states: falling off the left end is a failure, off the right end a success.

    Action 1 steps right with 0.8 and left with 0.2, action 0 the other way round. The policy takes 1 in even states,
    0 in odd ones. Returns Q_risk (5, 2) in closed form and the policy (5,).
    """
    policy = 1 - np.arange(STATES) % 2
    left = np.array([0.8, 0.2])  # by action
    # V = c + γ P V under the policy, then Q = c + γ P_a V.
    moves = np.zeros((2, STATES, STATES))
    for action in range(2):
        moves[action] = (1 - left[action]) * np.eye(STATES, k=1) + left[action] * np.eye(STATES, k=-1)
    fails = np.zeros((2, STATES))
    fails[:, 0] = left
    every = np.arange(STATES)
    value = np.linalg.solve(np.eye(STATES) - DISCOUNT * moves[policy, every], fails[policy, every])
    return (fails + DISCOUNT * moves @ value).T, policy


def transitions(k: int, seed: int):
    """k random steps of the chain: one-hot states, actions ±1."""
    _, policy = chain()
    rng = np.random.default_rng(seed)
    s, a = rng.integers(0, STATES, k), rng.integers(0, 2, k)
    following = s + np.where(rng.random(k) < np.where(a == 1, 0.8, 0.2), 1, -1)
    failed, ended = following < 0, (following < 0) | (following >= STATES)
    s_next = np.clip(following, 0, STATES - 1)
    actions, next_actions = (np.float32(2) * x[:, None] - 1 for x in (a, policy[s_next]))
    one_hot = np.eye(STATES, dtype=np.float32)
    return (one_hot[s], actions, one_hot[s_next], next_actions), {"failed": failed, "ended": ended}


CONFIG = RiskConfig(discount=DISCOUNT, hidden=32, learning_rate=3e-3, target_rate=0.02, capacity=20_000)
EVERY_STATE = np.repeat(np.eye(STATES, dtype=np.float32), 2, axis=0)
BOTH_ACTIONS = np.tile(np.array([[-1.0], [1.0]], np.float32), (STATES, 1))


def trained(steps: int) -> RiskCritic:
    critic = RiskCritic(Form((STATES,)), 1, CONFIG, seed=0)
    arrays, outcomes = transitions(20_000, seed=1)
    critic.record(*arrays, **outcomes)
    critic.learn(steps)
    return critic


def test_the_risk_of_a_markov_chain():
    """Within 0.04 of the closed form in all 10 state-action pairs, whose risks go from 0.03 to 0.87."""
    exact, _ = chain()
    assert exact.min() < 0.05
    assert exact.max() > 0.8
    assert np.abs(trained(2000).predict(EVERY_STATE, BOTH_ACTIONS).reshape(STATES, 2) - exact).max() < 0.04


def test_normalisation_makes_the_units_of_the_observations_irrelevant():
    arrays, outcomes = transitions(2000, seed=2)
    plain, scaled = (RiskCritic(Form((STATES,)), 1, CONFIG, seed=3) for _ in range(2))
    plain.fit_normalisation(arrays[0])
    scaled.fit_normalisation(1000 * arrays[0] - 7)
    plain.record(*arrays, **outcomes)
    scaled.record(1000 * arrays[0] - 7, arrays[1], 1000 * arrays[2] - 7, arrays[3], **outcomes)
    plain.learn(20)
    scaled.learn(20)
    assert np.allclose(
        plain.predict(EVERY_STATE, BOTH_ACTIONS), scaled.predict(1000 * EVERY_STATE - 7, BOTH_ACTIONS), atol=1e-3
    )


def test_a_saved_critic_goes_on_bit_by_bit():
    first = trained(30)
    second = RiskCritic(Form((STATES,)), 1, CONFIG, seed=99)
    second.load_state_dict(first.state_dict())
    more, outcomes = transitions(50, seed=4)
    for critic in (first, second):
        critic.record(*more, **outcomes)
        critic.learn(30)
    ours, theirs = first.state_dict(), second.state_dict()
    assert ours.keys() == theirs.keys()
    assert all((ours[name] == theirs[name]).all() for name in ours)


def test_a_saved_state_is_not_touched_by_later_learning():
    critic = trained(5)
    saved = critic.state_dict()
    before = {name: tensor.clone() for name, tensor in saved.items()}
    critic.learn(5)
    assert all((saved[name] == before[name]).all() for name in saved)


def test_the_oldest_transitions_make_room():
    critic = RiskCritic(Form((1,)), 1, RiskConfig(capacity=5, batch=64, learning_rate=0.02, hidden=8), seed=0)
    row = np.zeros((4, 1), np.float32)
    for failed in (True, False, False):  # the first four are gone by the end
        critic.record(row, row, row, row, failed=np.full(4, failed), ended=np.ones(4, bool))
    assert critic.size == 5
    critic.learn(300)
    assert critic.predict(row[:1], row[:1])[0] < 0.05


def test_a_failure_ends_the_episode_even_if_it_is_not_called_over():
    """Without an end, the target of a failure would exceed 1."""
    critic = RiskCritic(Form((1,)), 1, RiskConfig(batch=64, learning_rate=0.02, hidden=8), seed=0)
    row = np.zeros((4, 1), np.float32)
    critic.record(
        row, row, row, row, failed=np.array([True, True, False, False]), ended=np.array([False] * 2 + [True] * 2)
    )
    critic.learn(400)
    assert critic.predict(row[:1], row[:1])[0] == pytest.approx(0.5, abs=0.05)


def test_errors_say_what_is_wrong():
    critic = RiskCritic(Form((2,)), 1, CONFIG, seed=0)
    s, a = np.zeros((3, 2), np.float32), np.zeros((3, 1), np.float32)
    outcomes = {"failed": np.zeros(3, bool), "ended": np.zeros(3, bool)}
    with pytest.raises(ValueError, match="no transitions yet"):
        critic.learn(1)
    a[1] = np.nan
    with pytest.raises(ValueError, match="transition 1 for the risk critic holds NaN"):
        critic.record(s, a, s, a, **outcomes)
    assert critic.size == 0
    with pytest.raises(ValueError, match="20001 transitions at once, but the risk critic keeps 20000"):
        arrays, many = transitions(20_001, seed=0)
        RiskCritic(Form((STATES,)), 1, CONFIG, seed=0).record(*arrays, **many)
    with pytest.raises(ValueError, match=r"online\.standardise\.mean of the saved risk critic"):
        critic.load_state_dict(RiskCritic(Form((3,)), 1, CONFIG, seed=0).state_dict())
    with pytest.raises(ValueError, match="discount"):
        RiskConfig(discount=1.0)
