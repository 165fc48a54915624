"""Training learns, and goes on from its checkpoint as if it had never stopped."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from iifl.experts.adapter import TrainingFleet
from iifl.experts.evaluate import evaluate_expert
from iifl.experts.expert import Expert
from iifl.experts.settings import TrainingSettings
from iifl.experts.train import train_expert
from iifl.tasks.reacher import Reacher

TINY = TrainingSettings(steps=4 * 8 * 16, robots=16, horizon=8, minibatch=64, epochs=2, hidden=(16,))


def arrays(expert: Expert) -> list[np.ndarray]:
    return [expert.mean, expert.std, *expert.weights, *expert.biases]


def test_a_training_that_was_stopped_ends_in_the_same_expert(tmp_path):
    straight = train_expert("reacher", tmp_path / "a", settings=TINY, threads=1)
    train_expert("reacher", tmp_path / "b", settings=TINY, steps=2 * 8 * 16, threads=1)
    resumed = train_expert("reacher", tmp_path / "b", settings=TINY, threads=1)
    for one, other in zip(arrays(straight), arrays(resumed), strict=True):
        np.testing.assert_array_equal(one, other)

    def columns(folder: str) -> list[list[str]]:
        rows = [line.split(",") for line in (tmp_path / folder / "curve.csv").read_text().splitlines()]
        return [row[:1] + row[2:] for row in rows]  # all but the time

    assert columns("a") == columns("b")


def test_a_checkpoint_of_other_settings_is_not_mixed_in(tmp_path):
    train_expert("reacher", tmp_path, settings=TINY, threads=1)
    with pytest.raises(ValueError, match="other settings \\(discount\\)"):
        train_expert("reacher", tmp_path, settings=replace(TINY, discount=0.9, steps=10_000), threads=1)


def test_training_learns_to_reach(tmp_path):
    settings = TrainingSettings(steps=150_000, robots=64, horizon=24, minibatch=512, hidden=(32, 32), reward_scale=0.3)
    trained = train_expert("reacher", tmp_path, settings=settings, threads=1)
    untrained = Expert(
        trained.mean, trained.std, tuple(0 * w for w in trained.weights), tuple(0 * b for b in trained.biases)
    )
    before, after = (evaluate_expert("reacher", expert, 100, threads=1).mean_return for expert in (untrained, trained))
    assert after > before / 2  # both are minus the metres to the target, summed over the episode


def test_robots_are_reset_when_their_episode_is_over_and_their_last_observation_is_kept():
    task = Reacher(4, seed=0)
    fleet = TrainingFleet(task, reward_scale=0.5)
    fleet.reset()
    assert task.clock.tolist() == [0, 37, 75, 112]  # spread over the episode
    task.clock[:] = [0, 149, 0, 0]
    fleet.step_async(np.full((4, 2), 0.1, np.float32))
    _, rewards, over, notes = fleet.step_wait()
    assert over.tolist() == [False, True, False, False]
    assert task.clock.tolist() == [1, 0, 1, 1]
    assert notes[1]["TimeLimit.truncated"] is True
    assert notes[1]["terminal_observation"].shape == (8,)
    assert "terminal_observation" not in notes[0]
    np.testing.assert_allclose(rewards[0], -0.5 * np.hypot(*task.to_target()[0]), rtol=1e-6)
    assert len(fleet.finished) == 1


def test_training_episodes_can_be_cut_short():
    task = Reacher(2, seed=0)
    fleet = TrainingFleet(task, reward_scale=1.0, episode_steps=10)
    fleet.reset()
    assert task.clock.tolist() == [0, 5]
    for step in range(5):
        fleet.step_async(np.zeros((2, 2), np.float32))
        _, _, over, notes = fleet.step_wait()
        assert over.tolist() == [False, step == 4]
    assert notes[1]["TimeLimit.truncated"] is True
    assert task.clock.tolist() == [5, 0]


def test_a_world_without_settings_is_named(tmp_path):
    with pytest.raises(ValueError, match="did you mean 'ant'"):
        train_expert("ants", tmp_path)
