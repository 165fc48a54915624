"""The policy in plain arrays against torch, and the experts that ship."""

import json

import numpy as np
import pytest
import torch

from iifl.experts.cards import SUCCESS_SHARE, WEIGHTS, success_return
from iifl.experts.evaluate import evaluate_expert
from iifl.experts.expert import Expert
from iifl.registry import TASKS
from iifl.supervisors.experts import AntExperts

SHIPPED = ("ball_balance", "ant", "anymal")


@pytest.fixture
def network() -> torch.nn.Sequential:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(5, 16), torch.nn.ELU(), torch.nn.Linear(16, 8), torch.nn.ELU(), torch.nn.Linear(8, 2)
    )


@pytest.fixture
def expert(network) -> Expert:
    linears = [layer for layer in network if isinstance(layer, torch.nn.Linear)]
    return Expert(
        mean=np.linspace(-1, 1, 5, dtype=np.float32),
        std=np.linspace(0.5, 2, 5, dtype=np.float32),
        weights=tuple(layer.weight.detach().numpy() for layer in linears),
        biases=tuple(layer.bias.detach().numpy() for layer in linears),
    )


def test_the_expert_acts_as_the_network_it_was_trained_as(network, expert):
    observations = np.random.default_rng(0).normal(size=(50, 5)).astype(np.float32)
    with torch.no_grad():
        expected = network(torch.from_numpy((observations - expert.mean) / expert.std)).clamp(-1, 1).numpy()
    np.testing.assert_allclose(expert.act(observations), expected, atol=1e-5)


def test_actions_stay_in_the_box_and_are_single_precision(expert):
    actions = expert.act(np.full((3, 5), 1e9, np.float32))
    assert actions.dtype == np.float32
    assert (np.abs(actions) <= 1).all()


def test_an_expert_read_back_is_the_same(expert, tmp_path):
    expert.save(tmp_path / "expert.safetensors")
    again = Expert.load(tmp_path / "expert.safetensors")
    observations = np.random.default_rng(1).normal(size=(20, 5)).astype(np.float32)
    np.testing.assert_array_equal(again.act(observations), expert.act(observations))


def test_a_world_without_an_expert_says_so():
    with pytest.raises(FileNotFoundError, match="no trained expert for 'juggling'"):
        Expert.of("juggling")
    assert success_return("juggling") is None


@pytest.mark.parametrize("world", SHIPPED)
def test_a_shipped_expert_is_small_and_its_card_sets_the_bar_of_success(world):
    assert (WEIGHTS / f"{world}.safetensors").stat().st_size < 1_000_000
    card = json.loads((WEIGHTS / f"{world}.json").read_text())
    assert card["evaluation"]["episodes"] >= 200
    assert {"steps", "seconds", "command"} <= card["training"].keys()
    kind = TASKS.load(world)
    assert kind.success_return == pytest.approx(SUCCESS_SHARE * card["evaluation"]["mean_return"])


@pytest.mark.parametrize("world", SHIPPED)
def test_a_shipped_expert_fits_its_world(world):
    task = TASKS.load(world)(3)
    observations, _ = task.reset()
    actions = Expert.of(world).act(observations)
    assert actions in task.action_space


def test_the_crowd_of_experts_acts_like_the_expert_whoever_helps():
    observations = np.random.default_rng(0).normal(size=(4, 60)).astype(np.float32)
    crowd = AntExperts(3, 10, np.random.default_rng(0))
    robots = np.array([1, 4, 5, 9])
    crowd.begin(robots)
    expected = Expert.of("ant").act(observations)
    for humans in (np.array([0, 1, 2, 0]), np.array([2, 2, 2, 2])):
        np.testing.assert_array_equal(crowd.act(humans, robots, observations, None), expected)


@pytest.mark.slow
@pytest.mark.parametrize("world", SHIPPED)
def test_a_shipped_expert_meets_its_bars_over_200_fresh_episodes(world):
    result = evaluate_expert(world, Expert.of(world), episodes=200)
    assert result.failure_rate <= 0.05
    if world == "ant":
        assert result.measures["speed_m_s"] >= 4.0
    if world == "anymal":
        assert result.measures["linear_velocity_error_m_s"] <= 0.3
        assert result.measures["yaw_rate_error_rad_s"] <= 0.3
