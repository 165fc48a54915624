"""What all policies share: normalisation, the schedule of the learning rate, and errors that say what is wrong."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from iifl.encoders import VectorEncoder
from iifl.memory import Memory
from iifl.policies.learner import Learner, Normalisation, Optimisation, Sizes
from iifl.records import Decision, Form

SIZES = Sizes(Form((3,)), np.array([-1.0, 0.0, 5.0], np.float32), np.array([1.0, 10.0, 6.0], np.float32))


class Point(Learner):
    """One number for each of two members, pulled towards the target that the test sets."""

    target = 1.0

    def __init__(self, optimisation: Optimisation) -> None:
        model = nn.Module()
        model.value = nn.Parameter(torch.zeros(2))
        super().__init__(VectorEncoder(SIZES.observation), model, SIZES, optimisation, seed=0, device="cpu")

    def decide(self, observations) -> Decision:
        states = self._states(observations)
        return Decision(self._world_actions(torch.full((len(states), 3), 2.0)), np.zeros(len(states)))

    def _losses(self, states: Tensor, actions: Tensor) -> Tensor:
        return (self.model.value - self.target).abs()


def memory_of(observations=None) -> Memory:
    memory = Memory(Form((3,)), 3, 2, np.random.default_rng(0))
    observations = np.zeros((4, 3)) if observations is None else observations
    memory.add(observations, np.tile([0.0, 5.0, 5.5], (len(observations), 1)), np.zeros(len(observations), int))
    return memory


def test_actions_come_back_from_the_unit_box_and_its_corners_are_the_bounds():
    normalisation = Normalisation(SIZES)
    generator = torch.Generator().manual_seed(0)
    scaled = torch.rand(4, 50, 3, generator=generator) * 2 - 1
    torch.testing.assert_close(normalisation.scaled(normalisation.unscaled(scaled)), scaled, atol=1e-5, rtol=0)
    torch.testing.assert_close(normalisation.unscaled(torch.ones(3)), torch.tensor([1.0, 10.0, 6.0]))
    torch.testing.assert_close(normalisation.unscaled(-torch.ones(3)), torch.tensor([-1.0, 0.0, 5.0]))


def test_the_demonstrations_have_mean_zero_and_standard_deviation_one():
    observations = np.random.default_rng(0).normal([5, -3, 7], [2, 0.1, 0], (500, 3))
    learner = Point(Optimisation())
    learner.fit_normalisation(memory_of(observations))
    states = learner._states(observations)
    torch.testing.assert_close(states.mean(0), torch.zeros(3), atol=1e-3, rtol=0)
    torch.testing.assert_close(states.std(0, correction=0), torch.tensor([1.0, 1.0, 0.0]), atol=1e-3, rtol=0)
    np.testing.assert_allclose(learner.normalisation.std[2], 1)  # a constant column is only shifted


@pytest.mark.parametrize("high", [[1.0, 0.0, 6.0], [1.0, np.inf, 6.0], [1.0, np.nan, 6.0]])
def test_a_box_without_inside_is_refused(high):
    with pytest.raises(ValueError, match="action box must be finite and not empty"):
        Normalisation(Sizes(Form((3,)), SIZES.action_low, np.array(high, np.float32)))


def test_actions_outside_are_clipped_to_the_box():
    np.testing.assert_array_equal(Point(Optimisation()).act(np.zeros((2, 3))), np.tile(SIZES.action_high, (2, 1)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_observation_is_an_error_that_names_the_robot(bad):
    observations = np.zeros((5, 3))
    observations[3, 1] = bad
    with pytest.raises(ValueError, match=r"robot 3: its observation holds NaN or infinity"):
        Point(Optimisation()).act(observations)


def test_the_learning_rate_falls_at_every_hundredth_gradient_step():
    """Adam's step on a constant gradient is the learning rate itself, so the way gone is the sum of the schedule."""
    learner = Point(Optimisation(learning_rate=1e-3, decay=0.5, decay_every=3))
    learner.target = 100.0
    gone = []
    for _ in range(8):
        learner.learn(memory_of(), 1)
        gone.append(float(learner.model.value[0].detach()))
    expected = np.cumsum([1e-3] * 3 + [0.5e-3] * 3 + [0.25e-3] * 2)
    np.testing.assert_allclose(gone, expected, rtol=1e-4)


def test_learn_returns_the_mean_loss_of_its_steps_and_members():
    learner = Point(Optimisation(learning_rate=0.25, decay=1.0))
    assert learner.learn(memory_of(), 2) == pytest.approx((1 + 0.75) / 2, rel=1e-4)
    assert learner.gradient_steps == 2
    assert learner.learn(memory_of(), 0) == 0.0


def test_a_loss_that_is_no_number_stops_the_run():
    learner = Point(Optimisation())
    learner.target = float("nan")
    with pytest.raises(FloatingPointError, match=r"loss became nan within 1 gradient steps"):
        learner.learn(memory_of(), 1)


def test_a_fresh_state_takes_the_moments_of_the_optimiser_back_too():
    learner, memory = Point(Optimisation(learning_rate=0.1)), memory_of()
    fresh = learner.state_dict()
    learner.learn(memory, 3)
    first = learner.state_dict()
    learner.load_state_dict(fresh)
    learner.learn(memory, 3)
    for name, value in learner.state_dict().items():
        assert torch.equal(value, first[name]), name


class Watching(Point):
    """Remembers what it was given to learn from."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(Optimisation(batch=200))
        self.sizes, self.normalisation = sizes, Normalisation(sizes)
        self.seen: list[tuple[Tensor, Tensor]] = []

    def _losses(self, states: Tensor, actions: Tensor) -> Tensor:
        self.seen.append((states, actions))
        return super()._losses(states, actions)


def test_a_policy_sees_the_features_of_its_world_alone():
    """Here they are the sum of the observation."""
    learner = Watching(replace(SIZES, features=lambda seen: seen.sum(1, keepdims=True)))
    observations = np.random.default_rng(0).normal(size=(50, 3))
    memory = memory_of(observations)
    learner.fit_normalisation(memory)
    learner.learn(memory, 1)
    sums = observations.sum(1)
    expected = (sums - sums.mean()) / sums.std()
    np.testing.assert_allclose(learner._states(observations)[:, 0], expected, atol=1e-4)
    assert learner.seen[0][0].shape == (2, 200, 1)
    assert set(learner.seen[0][0].unique().numpy().round(3)) <= set(expected.astype(np.float32).round(3))


def test_a_policy_learns_from_turned_transitions():
    """The symmetry here: the observation grows by as much as the first action, uniformly in [0, 1)."""

    def turned(observations, actions, turns):
        return observations + turns[:, None], actions + turns[:, None] * np.array([1, 0, 0], np.float32)

    learner = Watching(replace(SIZES, turned=turned))
    learner.learn(memory_of(), 1)
    states, actions = learner.seen[0]
    torch.testing.assert_close(states[..., 0], actions[..., 0], atol=1e-5, rtol=0)
    for quantile in (0.25, 0.5, 0.75):
        assert float(actions[..., 0].quantile(quantile)) == pytest.approx(quantile, abs=0.12)
