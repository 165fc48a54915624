"""The check of the uncertainty: the correlations of known numbers, two members of five, and one robot's way."""

from dataclasses import replace

import numpy as np
import pytest

from iifl.experiments import uncertainty
from iifl.policies.implicit import ImplicitConfig, ImplicitPolicy
from iifl.policies.learner import Optimisation
from iifl.records import Decision
from iifl.run import silent


def test_correlations_of_known_numbers():
    distance = np.array([1.0, 2.0, 3.0, 4.0])
    found = uncertainty.correlations(distance**2, distance)
    assert found["pearson"] == pytest.approx(25 / np.sqrt(5 * 129))  # covariance 25, squares of deviations 5 and 129
    assert found["pearson_root"] == pytest.approx(1)
    assert found["rank"] == pytest.approx(1)
    assert found["deviation"] == pytest.approx(np.sqrt(129 / 4) / 16)
    assert uncertainty.correlations(distance[::-1], distance)["rank"] == pytest.approx(-1)


@pytest.fixture(scope="module")
def config():
    small = ImplicitConfig(
        members=5,
        width=16,
        correction_width=8,
        counter_examples=4,
        draws=20,
        optimisation=Optimisation(batch=32, learning_rate=3e-3),
    )
    config = uncertainty.configuration("ball_balance", 0, "smoke")
    learning = replace(config.learning, demonstrations=1, pretraining_steps=20)
    return replace(config, policy=small, learning=learning)


def test_the_first_members_are_those_of_the_larger_ensemble():
    sizes = uncertainty.sizes_of(uncertainty.make_task("ball_balance", 1, 0))
    five = ImplicitPolicy(ImplicitConfig(members=5, width=8, components=2), sizes, seed=3)
    five.normalisation.mean.fill_(0.5)
    two = uncertainty.first_members(five, 2, seed=0)
    observations = np.random.default_rng(0).normal(size=(4, five.normalisation.mean.numel()))
    actions = np.zeros((4, 6, sizes.action))
    np.testing.assert_array_equal(two.energies(observations, actions), five.energies(observations, actions)[:2])


def test_a_visit_is_made_once_and_read_afterwards(config, tmp_path, monkeypatch):
    monkeypatch.setattr(uncertainty, "TIMESTEPS", 25)
    path = tmp_path / "visit.json"
    visit = uncertainty._visit(config, path, False, silent)
    assert {name: len(visit[name]) for name in ("distance", "n2", "n5")} == {"distance": 25, "n2": 25, "n5": 25}
    assert min(min(visit[name]) for name in ("distance", "n2", "n5")) >= 0
    monkeypatch.setattr(uncertainty, "pretrain", None)  # nothing is trained again
    assert uncertainty._visit(config, path, False, silent) == visit


def test_the_distance_is_that_of_the_robots_action_from_the_experts(config, monkeypatch):
    """A robot that does what the expert does is at distance 0."""
    monkeypatch.setattr(uncertainty, "TIMESTEPS", 5)

    sizes = uncertainty.sizes_of(uncertainty.make_task("ball_balance", 1, 0))

    class Same:
        normalisation = ImplicitPolicy(config.policy, sizes, 0).normalisation

        def decide(self, observations):
            expert = uncertainty.make_supervisors("ball_balance", 1, 1, np.random.default_rng(0))
            actions = expert.act(np.zeros(1, int), np.zeros(1, int), observations, None)
            return Decision(actions - self.off * np.sign(actions), np.ones(1))

        off = 0.0

    robot = Same()
    assert uncertainty._along_the_way(config, {"n2": robot})["distance"] == [0.0] * 5
    robot.off = np.float32(0.01)
    expected = 0.01 * np.sqrt(robot.normalisation.half_range.square().reciprocal().sum().item())
    np.testing.assert_allclose(uncertainty._along_the_way(config, {"n2": robot})["distance"][0], expected, rtol=1e-3)
