"""The explicit policy: the mean and the variance of an ensemble, whose members learn as if each were alone."""

import numpy as np
import pytest
import torch

from iifl.memory import Memory
from iifl.policies.explicit import ExplicitConfig, ExplicitPolicy
from iifl.policies.learner import Optimisation, Sizes
from iifl.records import Form

LOW, HIGH = np.array([-1.0, 0.0], np.float32), np.array([1.0, 8.0], np.float32)
SIZES = Sizes(Form((3,)), LOW, HIGH)


def outputs(policy: ExplicitPolicy, values) -> None:
    """Let each member answer (E, A) in the unit box, whatever it is asked."""
    with torch.no_grad():
        for weight in policy.model.weights:
            weight.zero_()
        for bias in policy.model.biases:
            bias.zero_()
        policy.model.biases[-1].copy_(torch.atanh(torch.tensor(values)).unsqueeze(1))


def test_the_action_is_the_mean_and_the_uncertainty_the_variance():
    """Means (0.2, 0); variances 0.16 and 0.25, whose mean is 0.205; a fair coin on {−1, 1} has variance 1."""
    policy = ExplicitPolicy(ExplicitConfig(members=2, width=4), SIZES, seed=0)
    outputs(policy, [[-0.2, 0.5], [0.6, -0.5]])
    decision = policy.decide(np.ones((4, 3)))
    np.testing.assert_allclose(decision.actions, np.tile([0.2, 4.0], (4, 1)), rtol=1e-5)
    np.testing.assert_allclose(decision.uncertainty, np.full(4, 0.205), rtol=1e-5)


def test_the_uncertainty_of_a_fair_coin_on_the_bounds_is_one():
    """In the units of the world the variances are 1 and 16: the box is what they are divided by."""
    policy = ExplicitPolicy(ExplicitConfig(members=4, width=4), SIZES, seed=0)
    outputs(policy, [[0.9999999] * 2, [-0.9999999] * 2] * 2)
    np.testing.assert_allclose(policy.uncertainty(np.zeros((1, 3))), [1.0], rtol=1e-4)


class Recorder:
    """A memory that keeps the batches it gave."""

    def __init__(self, memory: Memory) -> None:
        self.memory, self.batches = memory, []
        self.observations, self.actions = memory.observations, memory.actions

    def draw(self, batch: int) -> np.ndarray:
        self.batches.append(self.memory.draw(batch))
        return self.batches[-1]


def test_every_member_learns_as_if_it_were_alone():
    rng = np.random.default_rng(0)
    memory = Memory(Form((3,)), 2, 3, rng)
    observations = rng.normal(size=(40, 3))
    memory.add(
        observations,
        np.stack([np.sin(observations[:, 0]), 4 + observations[:, 1]], 1).clip(LOW, HIGH),
        np.zeros(40, int),
    )
    config = ExplicitConfig(members=3, width=8, optimisation=Optimisation(batch=16, learning_rate=1e-2, decay=1.0))
    policy = ExplicitPolicy(config, SIZES, seed=0)
    policy.fit_normalisation(memory)
    initial = [parameter.detach().clone() for parameter in policy.model.parameters()]
    recorder = Recorder(memory)
    policy.learn(recorder, 30)

    states = policy.normalisation(torch.as_tensor(memory.observations))
    targets = policy.normalisation.scaled(torch.as_tensor(memory.actions))
    for member in range(3):
        alone = [torch.nn.Parameter(parameter[member].clone()) for parameter in initial]
        weights, biases = alone[: len(alone) // 2], alone[len(alone) // 2 :]
        optimiser = torch.optim.Adam(alone, lr=1e-2)
        for batch in recorder.batches:
            hidden = states[batch[member]]
            for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
                hidden = hidden @ weight + bias
                hidden = hidden.relu() if layer < len(weights) - 1 else hidden.tanh()
            optimiser.zero_grad()
            (hidden - targets[batch[member]]).square().mean().backward()
            optimiser.step()
        for together, single, before in zip(policy.model.parameters(), alone, initial, strict=True):
            torch.testing.assert_close(together[member], single, atol=1e-4, rtol=1e-3)
            assert not torch.equal(together[member], before[member])


def test_members_start_and_stay_apart_and_are_less_sure_where_there_are_no_data():
    rng = np.random.default_rng(0)
    memory = Memory(Form((3,)), 2, 5, rng)
    observations = rng.uniform(-1, 1, (200, 3))
    memory.add(observations, np.stack([observations[:, 0], 4 + 3 * observations[:, 1]], 1), np.zeros(200, int))
    policy = ExplicitPolicy(ExplicitConfig(width=32, optimisation=Optimisation(batch=64, learning_rate=3e-3)), SIZES, 0)
    policy.fit_normalisation(memory)
    loss = policy.learn(memory, 300)
    known, unknown = policy.uncertainty(observations), policy.uncertainty(observations + np.array([8, 0, -8]))
    assert policy.learn(memory, 50) < loss
    assert np.quantile(unknown, 0.1) > 3 * np.quantile(known, 0.9)
    np.testing.assert_allclose(policy.act(observations)[:, 1], 4 + 3 * observations[:, 1], atol=1.0)


def test_the_published_hyper_parameters():
    config = ExplicitConfig()
    assert (config.members, config.width, config.depth) == (5, 256, 2)
    assert config.optimisation.batch == 512


@pytest.mark.parametrize("members", [1, 3])
def test_one_member_is_never_unsure(members):
    policy = ExplicitPolicy(ExplicitConfig(members=members, width=4), SIZES, seed=0)
    assert (policy.uncertainty(np.ones((2, 3))) > 0).all() == (members > 1)
