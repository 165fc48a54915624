"""The published implicit policy: its hyper-parameters, the member that acts, and the samples it is trained against."""

import numpy as np
import pytest
import torch

from iifl.energy.box import Box
from iifl.energy.quadrature import jeffreys
from iifl.energy.samplers import Langevin
from iifl.energy.schedules import PolynomialDecay
from iifl.memory import Memory
from iifl.policies.langevin import LangevinConfig, LangevinPolicy, small_langevin
from iifl.policies.learner import Optimisation, Sizes
from iifl.records import Form

SIZES = Sizes(Form((2,)), -np.ones(1, np.float32), np.ones(1, np.float32))
TINY = LangevinConfig(
    width=16, depth=2, iterations=15, draws=32, optimisation=Optimisation(batch=32, learning_rate=3e-3)
)


def test_the_defaults_are_the_papers_table():
    """Table "Implicit model hyperparameters", and n = 2 models of section 4.3."""
    config, optimisation = LangevinConfig(), LangevinConfig().optimisation
    assert config.members == 2
    assert (config.width, config.depth) == (256, 6)
    assert config.counter_examples == 8
    assert config.iterations == 100
    assert config.draws == 512
    assert optimisation.batch == 512
    assert (optimisation.learning_rate, optimisation.decay, optimisation.decay_every) == (5e-4, 0.99, 100)


def test_the_sampler_is_the_published_one():
    """λ from 0.1 to 1e-5 as a polynomial of degree 2, noise 0.33, each update at most 0.1 of half the action range."""
    published = Langevin(TINY.iterations, PolynomialDecay(0.1, 1e-5, 2), noise=0.33, max_update=0.1)
    assert LangevinPolicy(TINY, SIZES, seed=0).sampler == published


def test_a_small_preset_differs_in_size_alone():
    small, paper = small_langevin(), LangevinConfig()
    assert (small.kind, small.members, small.counter_examples) == (paper.kind, paper.members, paper.counter_examples)
    assert small.width < paper.width
    assert small.iterations < paper.iterations


class Valley(torch.nn.Module):
    """E_i(a) = depth · |a − center_i| for two members, whatever the state."""

    def __init__(self, centers, depth: float) -> None:
        super().__init__()
        self.centers, self.depth = torch.tensor(centers).view(-1, 1, 1), depth

    def at(self, states):
        outer = self

        class At:
            from_state = torch.zeros(len(outer.centers), len(states), 1)

            def only(self, member):
                return Valley(outer.centers[member].tolist(), outer.depth).at(states)

            def __call__(self, actions):
                return outer.depth * (actions[..., 0] - outer.centers).abs()

            def value_and_grad(self, actions):
                energies = self(actions)
                return energies, outer.depth * torch.sign(actions - outer.centers.unsqueeze(-1))

        return At()


def test_the_robots_act_with_the_first_model():
    policy = LangevinPolicy(TINY, SIZES, seed=0)
    policy.model = Valley([0.6, -0.4], depth=2.0)
    np.testing.assert_allclose(policy.act(np.zeros((3, 2))), np.full((3, 1), 0.6), atol=0.05)


def test_the_uncertainty_is_larger_where_the_models_differ_more():
    near, far = LangevinPolicy(TINY, SIZES, seed=0), LangevinPolicy(TINY, SIZES, seed=0)
    near.model, far.model = Valley([0.1, 0.0], 2.0), Valley([0.6, -0.4], 2.0)
    assert far.uncertainty(np.zeros((20, 2))).mean() > 3 * near.uncertainty(np.zeros((20, 2))).mean()


def test_the_uncertainty_of_long_chains_is_the_divergence_of_the_colder_densities():
    """The chains settle at temperature T = 0.33² = 0.109, so the estimate is T times the Jeffreys divergence at T.

    Long chains stop short of it since the step falls to 1e-5 before the walls of the valleys are equally tried: within
    a quarter.
    """
    config = LangevinConfig(width=8, depth=1, iterations=400, draws=2000)
    policy = LangevinPolicy(config, SIZES, seed=0)
    policy.model = Valley([0.3, -0.2], 0.5)
    box = Box.of([-1.0], [1.0], torch.float32)
    energies = [lambda a, c=c: 0.5 * (a[..., 0] - c).abs() for c in (0.3, -0.2)]
    exact = 0.109 * float(jeffreys(energies, box, points=800, temperature=0.109))
    assert policy.uncertainty(np.zeros((8, 2))).mean() == pytest.approx(exact, rel=0.25)


def test_training_makes_the_humans_action_the_likelier_one():
    rng = np.random.default_rng(0)
    memory = Memory(Form((2,)), 1, 2, rng)
    observations = rng.normal(size=(100, 2))
    memory.add(observations, np.tanh(observations[:, :1]), np.zeros(100, int))
    policy = LangevinPolicy(TINY, SIZES, seed=0)
    policy.fit_normalisation(memory)

    def error() -> float:
        return float(abs(policy.act(observations) - memory.actions).mean())

    before = error()
    policy.learn(memory, 80)
    assert error() < 0.7 * before
