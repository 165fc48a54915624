"""Anymal's layout, reward and body against values worked out by hand."""

from math import exp, sqrt

import mujoco
import numpy as np
import pytest

from iifl.tasks.anymal import DEFAULT_JOINTS, Anymal


@pytest.fixture
def posed() -> Anymal:
    """Turned a quarter to the left, moving, commanded."""
    world = Anymal(2)
    world.reset()
    world.qpos[0, 3:7] = [sqrt(0.5), 0, 0, sqrt(0.5)]
    world.qpos[0, 7:] = DEFAULT_JOINTS + 0.1
    world.qvel[0] = [1, 2, 3, 0.4, 0.8, 1.2, *np.arange(12)]
    world.commands[0] = [1.5, -0.5, 0.8]
    world.last_actions[0] = np.linspace(-1, 1, 12)
    world.sensors[0] = 0
    world.load_state_dict(world.state_dict())
    return world


def test_the_observation_of_a_known_pose(posed):
    expected = [
        [4, -2, 6],  # twice the velocity; the world's y is ahead, and its x is to the right
        [0.1, 0.2, 0.3],
        [0, 0, -1],
        [3, -1, 0.2],
        [0.1] * 12,
        0.05 * np.arange(12),
        np.linspace(-1, 1, 12),
    ]
    np.testing.assert_allclose(posed.observation[0], np.concatenate(expected), atol=1e-6)


def test_gravity_is_seen_from_a_pitched_base():
    world = Anymal(1)
    world.reset()
    world.qpos[0, 3:7] = [np.cos(0.15), 0, np.sin(0.15), 0]  # nose down by 0.3 rad
    world.load_state_dict(world.state_dict())
    np.testing.assert_allclose(world.observation[0, 6:9], [np.sin(0.3), 0, -np.cos(0.3)], atol=1e-6)


def test_the_reward_of_a_known_state(posed):
    posed.sensors[0, :12] = 20.0
    rewards, failed, _ = posed._judge(np.zeros((2, 12), np.float32))
    # moves at (2, -1) m/s and 1.2 rad/s where (1.5, -0.5) and 0.8 are wanted
    per_second = exp(-(0.25 + 0.25) / 0.25) + 0.5 * exp(-0.16 / 0.25) - 2.5e-5 * 12 * 400
    assert rewards[0] == pytest.approx(0.02 * per_second, abs=1e-7)
    assert not failed[0]
    posed.sensors[0, :12] = 80.0
    assert posed._judge(np.zeros((2, 12), np.float32))[0][0] == 0.0  # never below zero


@pytest.mark.parametrize(("force", "failed"), [(0.9, False), (1.1, True)])
def test_a_touch_of_more_than_one_newton_is_a_failure(posed, force, failed):
    posed.sensors[0, 12 + 5] = force
    assert posed._judge(np.zeros((2, 12), np.float32))[1][0] == failed


def test_a_base_on_the_ground_fails_and_feet_do_not():
    world = Anymal(2)
    world.reset()
    world.qpos[0, 3:7] = [0, 1, 0, 0]  # on its back
    world.qpos[0, 2] = 0.2
    for _ in range(40):
        *_, info = world.step(np.zeros((2, 12), np.float32))
    assert info["failed"].tolist() == [True, False]


def test_the_standing_robot_is_symmetric_with_its_feet_under_its_hips():
    world = Anymal(1)
    data = mujoco.MjData(world.model)
    data.qpos[7:] = DEFAULT_JOINTS
    mujoco.mj_forward(world.model, data)
    feet = np.array([data.geom(f"{leg}_FOOT").xpos for leg in ("LF", "RF", "LH", "RH")])
    np.testing.assert_allclose(feet, feet[0] * [[1, 1, 1], [1, -1, 1], [-1, 1, 1], [-1, -1, 1]], atol=1e-4)
    assert 0.05 < feet[0, 2] < 0.15
    assert world.model.body_mass.sum() == pytest.approx(19.2035 + 4 * (2.781 + 3.071 + 0.58842))


def test_torques_follow_the_gains_and_stop_at_the_limit():
    world = Anymal(1)
    world.reset()
    world.qpos[0, 2] = 5.0  # in the air
    world.qpos[0, 7:], world.qvel[0] = DEFAULT_JOINTS, 0
    world.ctrl[0] = DEFAULT_JOINTS
    world.ctrl[0, 1] += 0.5
    world.ctrl[0, 2] += 2.0
    world.batch.forward()
    torques = world.batch.bind("qfrc_actuator")
    world.batch.forward()
    np.testing.assert_allclose(torques[0, 6:], [0, 0.5 * 85, 80, *[0] * 9], atol=1e-9)


def test_starts_and_commands_are_as_stated():
    world = Anymal(500)
    world.reset(seed=1)
    ratio = world.qpos[:, 7:] / DEFAULT_JOINTS
    assert ratio.min() == pytest.approx(0.5, abs=0.01)
    assert ratio.max() == pytest.approx(1.5, abs=0.01)
    assert np.abs(world.qvel[:, 6:]).max() == pytest.approx(0.1, abs=0.001)
    np.testing.assert_allclose(np.abs(world.commands).max(axis=0), [2, 1, 1], rtol=0.02)
    np.testing.assert_allclose(world.commands.mean(axis=0), 0, atol=0.15)
    assert (world.qpos[:, 2] == 0.62).all()
