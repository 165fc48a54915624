"""The implicit policy with a learned proposal: two ways stay two ways, doubt is where no data are, and the divergence
that it reports is the one that quadrature gives."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from iifl.energy.box import Box
from iifl.energy.quadrature import grid, log_partition
from iifl.memory import Memory
from iifl.policies.implicit import ImplicitConfig, ImplicitPolicy
from iifl.policies.learner import Optimisation, Sizes
from iifl.records import Form

MODE = 0.7
LIGHT = Optimisation(batch=128, learning_rate=3e-3)


def sizes(actions: int) -> Sizes:
    return Sizes(Form((1,)), -np.ones(actions, np.float32), np.ones(actions, np.float32))


def bimodal_memory(n: int = 400, width: float = 0.08, actions: int = 1) -> Memory:
    """On states in [−1, 1] people go either way, up to ±MODE in every dimension at once, never between."""
    rng = np.random.default_rng(0)
    memory = Memory(Form((1,)), actions, 2, rng)
    side = rng.choice([-1.0, 1.0], (n, 1))
    choices = side * MODE + rng.normal(0, width, (n, actions))
    memory.add(rng.uniform(-1, 1, (n, 1)), choices.clip(-1, 1), np.zeros(n, int))
    return memory


def trained(config: ImplicitConfig, memory: Memory, steps: int, seed: int = 0) -> ImplicitPolicy:
    policy = ImplicitPolicy(config, sizes(memory.actions.shape[1]), seed)
    policy.fit_normalisation(memory)
    policy.learn(memory, steps)
    return policy


@pytest.fixture(scope="module")
def two_ways() -> ImplicitPolicy:
    """The proposal has a component for each way."""
    return trained(
        ImplicitConfig(width=32, components=4, counter_examples=8, draws=32, optimisation=LIGHT), bimodal_memory(), 400
    )


@pytest.fixture(scope="module")
def one_bump() -> ImplicitPolicy:
    """One Gaussian for two ways: its mean is between them, and only f can say so."""
    config = ImplicitConfig(width=32, components=1, counter_examples=16, draws=64, optimisation=LIGHT)
    return trained(config, bimodal_memory(), 200)


def probabilities(policy: ImplicitPolicy, low: float, high: float) -> np.ndarray:
    """The mass that each member gives to actions in [low, high] at the state 0, by quadrature (E,)."""
    with torch.no_grad():
        energy = policy.model.at(policy._states(np.zeros((1, 1))))

        def mass(a: float, b: float) -> torch.Tensor:
            box = Box.of([a], [b], torch.float32)
            return log_partition(lambda nodes: energy(nodes.float().unsqueeze(0)).double()[:, 0], box, points=400)

        return (mass(low, high) - mass(-1, 1)).exp().numpy()


def test_both_ways_are_learned_and_none_between(two_ways):
    for up, down, between in zip(
        probabilities(two_ways, MODE - 0.3, 1),
        probabilities(two_ways, -1, 0.3 - MODE),
        probabilities(two_ways, -0.3, 0.3),
        strict=True,
    ):
        assert 0.2 < up < 0.8
        assert 0.2 < down < 0.8
        assert between < 0.05


def test_actions_are_near_a_way_and_never_their_mean(two_ways):
    states = np.linspace(-0.9, 0.9, 300)[:, None]
    actions = two_ways.act(states)[:, 0]
    assert (abs(abs(actions) - MODE) < 0.25).all()


def test_where_the_proposal_cannot_tell_the_correction_does(one_bump):
    with torch.no_grad():
        proposal = one_bump.model.at(one_bump._states(np.zeros((1, 1)))).proposal
        at = proposal.log_density(torch.tensor([[[0.0], [MODE]]]))[:, 0]
    assert (at[:, 0] > at[:, 1]).all()  # the proposal itself is highest between the ways
    assert (probabilities(one_bump, -0.3, 0.3) < 0.1).all()
    actions = one_bump.act(np.linspace(-0.9, 0.9, 300)[:, None])[:, 0]
    assert (abs(actions) > 0.4).mean() > 0.99


def corrections(policy: ImplicitPolicy) -> np.ndarray:
    """f at 1000 draws from each proposal at the state 0 (E, 1000): what ranking has to tell apart."""
    with torch.no_grad():
        energy = policy.model.at(policy._states(np.zeros((1, 1))))
        return energy.correction(energy.proposal.sample(1000, torch.Generator().manual_seed(0)))[:, 0].numpy()


def test_where_the_proposal_is_right_the_correction_is_flat(one_bump):
    """Data from a Gaussian, which one component expresses: f spreads by half a nat at most, on two ways by more."""
    rng = np.random.default_rng(0)
    memory = Memory(Form((1,)), 1, 2, rng)
    memory.add(rng.uniform(-1, 1, (2000, 1)), rng.normal(0.1, 0.15, (2000, 1)).clip(-1, 1), np.zeros(2000, int))
    config = ImplicitConfig(width=16, components=1, counter_examples=16, draws=32, optimisation=LIGHT)
    policy = trained(config, memory, 750)
    assert (corrections(policy).std(1) < 0.5).all()
    assert (corrections(one_bump).std(1) > 1).all()


def test_the_correction_is_bounded_and_so_are_the_importance_weights(one_bump):
    with torch.no_grad():
        energy = one_bump.model.at(1e3 * torch.randn(50, 1, generator=torch.Generator().manual_seed(0)))
        f = energy.correction(torch.linspace(-1, 1, 50).view(1, 50, 1).expand(50, 50, 1))
    assert f.abs().max() <= one_bump.config.correction


def test_the_policy_is_less_sure_where_there_are_no_data(two_ways):
    known = two_ways.uncertainty(np.linspace(-0.9, 0.9, 100)[:, None])
    unknown = two_ways.uncertainty(np.concatenate([np.linspace(4, 9, 50), np.linspace(-9, -4, 50)])[:, None])
    assert np.median(unknown) > 3 * np.median(known)


@pytest.mark.parametrize(("actions", "points"), [(1, 300), (2, 60)])
def test_the_uncertainty_is_the_jeffreys_divergence_of_the_members(actions, points):
    """With many draws, against quadrature: half of the states within 10 %, and the order of the states kept."""
    config = ImplicitConfig(width=16, components=3, draws=8192, optimisation=LIGHT)
    policy = trained(config, bimodal_memory(120, actions=actions), 60)
    states = np.linspace(-4, 4, 40)[:, None]
    estimate = policy.uncertainty(states)

    nodes, log_weights = grid(Box.of([-1.0] * actions, [1.0] * actions, torch.float32), points)
    with torch.no_grad():
        energy = policy.model.at(policy._states(states))
        energies = energy(nodes.float().expand(len(states), *nodes.shape)).double()  # (E, B, K)
    log_densities = torch.log_softmax(-energies + log_weights, -1)
    (p, q), (log_p, log_q) = log_densities.exp(), log_densities
    exact = ((p - q) * (log_p - log_q)).sum(-1).numpy()

    assert np.median(abs(estimate - exact) / exact) < 0.1
    assert spearmanr(estimate, exact).statistic > 0.95


def test_the_energies_in_the_units_of_the_world_are_those_of_the_model():
    low, high = np.array([0.0], np.float32), np.array([10.0], np.float32)
    policy = ImplicitPolicy(ImplicitConfig(width=8, components=2), Sizes(Form((1,)), low, high), seed=0)
    states = np.array([[0.3], [-2.0]])
    with torch.no_grad():
        expected = policy.model.at(policy._states(states))(torch.tensor([[[-1.0], [0.0]], [[0.5], [1.0]]]))
    np.testing.assert_allclose(
        policy.energies(states, np.array([[[0.0], [5.0]], [[7.5], [10.0]]])), expected, rtol=1e-5
    )


def test_members_learn_from_their_own_bootstraps():
    """Two members with the same weights and opposite data end on opposite sides."""
    memory = Memory(Form((1,)), 1, 2, np.random.default_rng(0))
    memory.add(np.zeros((2, 1)), np.array([[-0.8], [0.8]]), np.zeros(2, int))
    memory._bootstraps[:, :2] = [[0, 0], [1, 1]]
    policy = trained(ImplicitConfig(width=8, components=1, draws=64, optimisation=LIGHT), memory, 150)
    assert (probabilities(policy, -1, 0) > 0.95).tolist() == [True, False]
    assert (probabilities(policy, 0, 1) > 0.95).tolist() == [False, True]


@pytest.mark.parametrize("wrong", [{"members": 1}, {"draws": 1}])
def test_a_policy_that_cannot_be_unsure_is_refused(wrong):
    with pytest.raises(ValueError, match="must be at least 2"):
        ImplicitPolicy(ImplicitConfig(**wrong), sizes(1), seed=0)


def test_the_slope_of_the_energy_is_autograds(one_bump):
    energy = one_bump.model.at(one_bump._states(np.zeros((2, 1))))
    actions = torch.linspace(-0.9, 0.9, 14).view(2, 7, 1).requires_grad_(True)
    energies, gradients = energy.value_and_grad(actions.detach())
    torch.testing.assert_close(energies, energy(actions))
    for member in range(2):
        (expected,) = torch.autograd.grad(energy(actions)[member].sum(), actions)
        torch.testing.assert_close(gradients[member], expected, rtol=1e-3, atol=1e-3)


def test_the_action_has_the_lowest_energy_that_a_grid_finds(one_bump, two_ways):
    """Within 0.02 nats of the best of 4001 actions, where the energy spans more than 3."""
    states = np.linspace(-0.9, 0.9, 40)[:, None]
    grid = np.tile(np.linspace(-1, 1, 4001)[None, :, None], (40, 1, 1))
    for policy in (one_bump, two_ways):
        everywhere = policy.energies(states, grid).mean(0)
        chosen = policy.energies(states, policy.act(states)[:, None]).mean(0)[:, 0]
        assert (everywhere.max(1) - everywhere.min(1) > 3).all()
        assert (chosen - everywhere.min(1)).max() < 0.02


@pytest.mark.parametrize(("blur", "side"), [(0.0, -1), (0.3, 1)])
def test_blurred_it_does_what_more_people_do_rather_than_what_they_do_more_exactly(blur, side):
    """Three in ten people do −0.5 to the digit, the others 0.5 give or take 0.25."""
    rng = np.random.default_rng(0)
    memory = Memory(Form((1,)), 1, 2, rng)
    exact = rng.random((600, 1)) < 0.3
    actions = np.where(exact, -0.5, rng.normal(0.5, 0.25, (600, 1)).clip(-1, 1))
    memory.add(rng.uniform(-1, 1, (600, 1)), actions, np.zeros(600, int))
    config = ImplicitConfig(width=16, components=2, narrowest=0.02, counter_examples=4, draws=16, optimisation=LIGHT)
    policy = trained(replace(config, blur=blur), memory, 400)
    np.testing.assert_allclose(policy.act(np.linspace(-0.8, 0.8, 20)[:, None]), side * 0.5, atol=0.2)
