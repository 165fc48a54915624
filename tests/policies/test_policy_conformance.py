"""What every registered policy must do, whatever it is."""

import dataclasses

import numpy as np
import pytest
import torch

from iifl.config import PolicyConfig
from iifl.memory import Memory
from iifl.policies.explicit import ExplicitConfig
from iifl.policies.implicit import ImplicitConfig
from iifl.policies.langevin import LangevinConfig
from iifl.policies.learner import Optimisation, Sizes
from iifl.records import Form
from iifl.registry import POLICIES

LOW, HIGH = np.array([-1.0, 0.0], np.float32), np.array([2.0, 8.0], np.float32)
SIZES = Sizes(Form((3,)), LOW, HIGH)
LIGHT = Optimisation(batch=16, learning_rate=3e-3, decay=0.9, decay_every=4)
TINY: dict[str, PolicyConfig] = {
    "explicit": ExplicitConfig(members=2, width=8, optimisation=LIGHT),
    "implicit": ImplicitConfig(width=8, components=2, counter_examples=4, draws=8, optimisation=LIGHT),
    "langevin": LangevinConfig(width=8, depth=2, iterations=4, counter_examples=4, draws=8, optimisation=LIGHT),
}
every_policy = pytest.mark.parametrize("name", POLICIES.names())


def make(name: str, seed: int = 0):
    return POLICIES.load(name)(TINY[name], SIZES, seed, "cpu")


def make_memory(seed: int = 0) -> Memory:
    """A smooth function of the state, on both of its bootstraps."""
    rng = np.random.default_rng(seed)
    memory = Memory(Form((3,)), 2, 2, rng)
    observations = rng.normal([3, 0, -2], [2, 1, 0.5], (60, 3))
    actions = np.stack([observations[:, 1], 4 + 2 * observations[:, 1]], 1).clip(LOW, HIGH)
    memory.add(observations, actions, np.zeros(60, int))
    return memory


def taught(name: str, steps: int = 3, seed: int = 0):
    policy, memory = make(name, seed), make_memory()
    policy.fit_normalisation(memory)
    policy.learn(memory, steps)
    return policy


def same_states(first, second) -> bool:
    one, other = first.state_dict(), second.state_dict()
    return one.keys() == other.keys() and all(torch.equal(value, other[key]) for key, value in one.items())


def test_every_policy_is_tried_and_knows_its_kind():
    assert set(TINY) == set(POLICIES.names())
    assert all(config.kind == name for name, config in TINY.items())


@every_policy
@pytest.mark.parametrize("robots", [1, 5])
def test_shapes_and_ranges(name, robots):
    policy = taught(name)
    for observations in (np.zeros((robots, 3), np.float32), np.full((robots, 3), 1e4)):
        decision = policy.decide(observations)
        assert decision.actions.shape == (robots, 2)
        assert decision.uncertainty.shape == (robots,)
        assert np.isfinite(decision.uncertainty).all()
        assert (decision.uncertainty >= 0).all()
        for actions in (decision.actions, policy.act(observations)):
            assert ((actions >= LOW) & (actions <= HIGH)).all()  # NaN is not
        assert policy.uncertainty(observations).shape == (robots,)


@every_policy
def test_a_bad_observation_names_the_robot(name):
    observations = np.zeros((4, 3))
    observations[2, 0] = np.nan
    for ask in (make(name).act, make(name).uncertainty, make(name).decide):
        with pytest.raises(ValueError, match="robot 2: its observation holds NaN"):
            ask(observations)


@every_policy
def test_learning_lowers_the_loss(name):
    policy, memory = make(name), make_memory()
    policy.fit_normalisation(memory)
    first = policy.learn(memory, 5)
    policy.learn(memory, 60)
    assert policy.learn(memory, 20) < first


@every_policy
def test_the_seed_decides_everything(name):
    observations = make_memory().observations
    first, again, other = taught(name), taught(name), taught(name, seed=1)
    np.testing.assert_array_equal(first.act(observations), again.act(observations))
    np.testing.assert_array_equal(first.uncertainty(observations), again.uncertainty(observations))
    assert not np.array_equal(first.act(observations), other.act(observations))


@every_policy
def test_the_seed_of_the_process_is_neither_used_nor_moved(name):
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002 (what must not move)
    taught(name).decide(np.zeros((2, 3)))
    assert torch.equal(torch.get_rng_state(), before[0])
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


@every_policy
@pytest.mark.parametrize("used", [False, True])
def test_a_saved_policy_goes_on_to_the_same_bits(name, used):
    """From its state alone, into a policy of another seed, fresh or already used."""
    first, second = taught(name, steps=5), taught(name, seed=7) if used else make(name, seed=7)
    first.act(np.zeros((2, 3)))  # the random state is somewhere in between
    second.load_state_dict(first.state_dict())
    assert same_states(first, second)
    memory, again = make_memory(1), make_memory(1)
    assert first.learn(memory, 6) == second.learn(again, 6)
    assert same_states(first, second)
    one, other = first.decide(memory.observations), second.decide(memory.observations)
    np.testing.assert_array_equal(one.actions, other.actions)
    np.testing.assert_array_equal(one.uncertainty, other.uncertainty)


@every_policy
def test_a_saved_state_does_not_change_when_the_policy_learns(name):
    policy = taught(name)
    state = policy.state_dict()
    kept = {key: value.clone() for key, value in state.items()}
    policy.learn(make_memory(), 3)
    assert all(torch.equal(value, kept[key]) for key, value in state.items())
    loaded = make(name)
    loaded.load_state_dict(state)
    loaded.learn(make_memory(), 3)
    assert all(torch.equal(value, kept[key]) for key, value in state.items())


@every_policy
def test_normalisation_is_in_the_state_and_only_the_offline_data_set_it(name):
    policy = taught(name)
    memory = make_memory()
    np.testing.assert_allclose(policy.state_dict()["normalisation.mean"], memory.observations.mean(0), rtol=1e-4)
    memory.add(np.full((100, 3), 50.0), np.tile(HIGH, (100, 1)), np.zeros(100, int))
    policy.learn(memory, 2)
    np.testing.assert_allclose(policy.state_dict()["normalisation.mean"], make_memory().observations.mean(0), rtol=1e-4)


@every_policy
def test_another_shape_of_network_is_refused(name):
    wider = POLICIES.load(name)(dataclasses.replace(TINY[name], width=9), SIZES, 0, "cpu")
    with pytest.raises(RuntimeError, match="size mismatch"):
        wider.load_state_dict(make(name).state_dict())


@every_policy
def test_a_policy_of_bootstraps_that_are_not_its_own_is_refused(name):
    memory = Memory(Form((3,)), 2, 5, np.random.default_rng(0))
    memory.add(np.zeros((4, 3)), np.tile(LOW, (4, 1)), np.zeros(4, int))
    with pytest.raises((RuntimeError, ValueError)):
        make(name).learn(memory, 1)


@every_policy
def test_every_tensor_is_made_on_the_policys_own_device(name):
    """Under another default device, a tensor made without naming one would meet those of the policy and be refused."""
    policy, memory = make(name), make_memory()
    with torch.device("meta"):
        policy.fit_normalisation(memory)
        policy.learn(memory, 2)
        decision = policy.decide(memory.observations)
    assert np.isfinite(decision.uncertainty).all()
    assert same_states(policy, taught_and_asked(name))


def taught_and_asked(name: str):
    policy = taught(name, steps=2)
    policy.decide(make_memory().observations)
    return policy
