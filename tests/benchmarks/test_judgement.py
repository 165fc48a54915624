"""The benchmark of the judgement: its gold is the exact divergence, and it would see a policy that judges wrongly."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from iifl.benchmarks import judgement
from iifl.benchmarks.gold import Effort, gold_divergence
from iifl.energy.samplers import log_importance_weights
from iifl.policies import implicit
from iifl.policies.implicit import ImplicitConfig, ImplicitPolicy
from iifl.policies.learner import Optimisation, Sizes
from iifl.presets import preset
from iifl.records import Form

LITTLE = Effort(chains=64, iterations=20, burn_in=40, starts=64)


@pytest.fixture(scope="module")
def reacher():
    """A small policy of the reacher, and states that it meets."""
    config = preset("reacher", "iifl")
    small = ImplicitConfig(
        width=32, correction_width=16, components=4, counter_examples=4, optimisation=Optimisation(64, 3e-3)
    )
    config = replace(config, policy=small, learning=replace(config.learning, pretraining_steps=200))
    policy = judgement.offline_policy(config)
    return policy, judgement.visited_states(config, policy, 60)


def figures(policy, states) -> dict[str, float]:
    rows = judgement._rows("reacher", judgement.judge(policy, states, LITTLE), 0.0)
    return {row.name.removeprefix("reacher: "): row.ratio for row in rows}


def test_a_right_policy_is_seen_to_be_right(reacher):
    found = figures(*reacher)
    assert found["uncertainty, same order as gold"] > 0.95
    assert found["uncertainty, same order in two golds"] > 0.95
    assert found["uncertainty, same 10 of 100"] >= 0.8
    assert found["uncertainty, fast / gold"] == pytest.approx(1, abs=0.05)
    assert found["action no higher than published"] > 0.9


@pytest.mark.filterwarnings("ignore:An input array is constant")
def test_weights_of_the_wrong_sign_are_seen(reacher, monkeypatch):
    monkeypatch.setattr(implicit, "log_importance_weights", lambda e, q: log_importance_weights(-e, q))
    found = figures(*reacher)
    assert abs(found["uncertainty, fast / gold"] - 1) > 0.2


def test_weights_that_forget_the_proposal_are_seen(reacher, monkeypatch):
    monkeypatch.setattr(implicit, "log_importance_weights", lambda e, q: log_importance_weights(e))
    found = figures(*reacher)
    assert abs(found["uncertainty, fast / gold"] - 1) > 0.2


def test_an_action_that_is_not_the_lowest_is_seen(reacher, monkeypatch):
    monkeypatch.setattr(implicit, "_lowest", lambda candidates, energies: candidates[:, :1])
    assert figures(*reacher)["action no higher than published"] < 0.3


def test_visited_states_are_distinct_and_of_the_world(reacher):
    _, states = reacher
    assert states.shape == (60, 8)
    assert len(np.unique(states, axis=0)) == 60
    np.testing.assert_allclose((states[:, :4] ** 2).reshape(-1, 2, 2).sum(1), 1, rtol=1e-4)  # cosines and sines


def test_gold_is_the_divergence_in_closed_form():
    """Untrained members whose proposals are single Gaussians far from the walls, and f = 0: J of two Gaussians."""
    sizes = Sizes(Form((1,)), -np.ones(2, np.float32), np.ones(2, np.float32))
    policy = ImplicitPolicy(ImplicitConfig(width=4, components=1), sizes, seed=0)
    means, raw_widths = torch.tensor([[0.1, -0.2], [0.0, 0.1]]), torch.tensor([[-1.5, -2.0], [-2.5, -1.0]])
    network = policy.model.proposal_network
    with torch.no_grad():
        network.weights[-1].zero_()
        network.biases[-1].copy_(torch.cat([torch.zeros(2, 1), torch.atanh(means), raw_widths], 1).unsqueeze(1))
        energy = policy.model.at(torch.zeros(10, 1))
    widths = energy.proposal.widths[:, 0, 0]
    difference, variances = means[0] - means[1], widths.square()
    exact = 0.5 * (
        variances[0] / variances[1]
        + variances[1] / variances[0]
        - 2
        + difference.square() * (1 / variances[0] + 1 / variances[1])
    )
    found = gold_divergence(energy, Effort(chains=256), torch.Generator().manual_seed(0))
    assert found.mean().item() == pytest.approx(exact.sum().item(), rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("world", judgement.WORLDS)
def test_the_bars_of_the_judgement(world):
    """1,000 states (or all that a world has): minutes for each world."""
    found = {row.name.removeprefix(f"{world}: "): row for row in judgement.judgement_of(preset(world, "iifl"))}
    assert found["uncertainty, same order as gold"].ratio >= 0.95
    assert found["uncertainty, same 10 of 100"].ratio >= 0.9
    assert found["action no higher than published"].ratio >= 0.5
