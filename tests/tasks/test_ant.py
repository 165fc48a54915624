"""The ant's layout, reward and body against values worked out by hand."""

from math import pi, sqrt

import mujoco
import numpy as np
import pytest

from iifl.tasks.ant import Ant
from iifl.tasks.mujoco_fleet import DivergedError


def refreshed(ant: Ant) -> np.ndarray:
    """The observations after the state was written by hand."""
    ant.load_state_dict(ant.state_dict())
    return ant.observation


@pytest.fixture
def posed() -> Ant:
    """Half a metre up, turned a quarter to the left, moving; hips at 20 degrees, ankles at 65."""
    ant = Ant(2)
    ant.reset()
    ant.qpos[0, :7] = [0.05, 0.0, 0.5, sqrt(0.5), 0, 0, sqrt(0.5)]
    ant.qpos[0, 7::2], ant.qpos[0, 8::2] = np.radians(20), np.radians(65)
    ant.qvel[0] = [1, 2, 3, 0.1, 0.2, 0.3, *np.arange(8)]
    ant.last_actions[0] = np.linspace(-1, 1, 8)
    ant.sensors[0] = np.arange(24)
    return ant


def test_the_observation_of_a_known_pose(posed):
    observation = refreshed(posed)[0]
    expected = [
        [0.5],  # height
        [2, -1, 3],  # the world's y is ahead, and its x is to the right
        [0.1, 0.2, 0.3],  # MuJoCo keeps angular velocity in the body's frame
        [pi / 2, 0, -pi / 2],  # yaw, roll, angle to the target
        [1, 0],  # upright; the target is to the side
        [0.5, 0] * 4,  # 20 of 40 degrees; the middle of 30 and 100
        0.2 * np.arange(8),
        0.1 * np.arange(24),
        np.linspace(-1, 1, 8),
    ]
    np.testing.assert_allclose(observation, np.concatenate(expected), atol=1e-5)


def test_roll_and_up_projection_of_an_ant_on_its_side():
    ant = Ant(1)
    ant.reset()
    ant.qpos[0, 3:7] = [np.cos(pi / 6), np.sin(pi / 6), 0, 0]  # 60 degrees about x
    observation = refreshed(ant)[0]
    np.testing.assert_allclose(observation[7:12], [0, pi / 3, 0, 0.5, 1], atol=1e-6)


def test_angles_are_continuous_where_the_ant_runs_straight():
    ant = Ant(2)
    ant.reset()
    ant.qpos[:, 3:7] = [[np.cos(0.01), 0, 0, np.sin(0.01)], [np.cos(0.01), 0, 0, -np.sin(0.01)]]
    np.testing.assert_allclose(refreshed(ant)[:, 7], [0.02, -0.02], atol=1e-6)


def test_the_reward_of_a_known_step(posed):
    posed.distance[0] = 1000.0  # before the step; now 999.95
    posed.qpos[0, 8] = np.radians(99.9)  # one joint at its upper limit
    refreshed(posed)
    actions = np.full((2, 8), 0.5, np.float32)
    rewards, failed, _ = posed._judge(actions)
    progress = 0.05 * 60
    effort = 0.005 * 8 * 0.25 + 0.05 * 0.5 * 0.2 * sum(range(8))
    assert rewards[0] == pytest.approx(progress + 0.5 + 0.0 + 0.1 - effort - 0.1, abs=1e-4)
    assert not failed[0]


@pytest.mark.parametrize(("angle", "heading"), [(0.0, 0.5), (0.5, 0.5), (1.2, 0.5 * np.cos(1.2) / 0.8)])
def test_the_heading_term_is_full_up_to_a_projection_of_eight_tenths(angle, heading):
    ant = Ant(1)
    ant.reset()
    ant.qpos[0, 3:7] = [np.cos(angle / 2), 0, 0, np.sin(angle / 2)]
    refreshed(ant)
    rewards, *_ = ant._judge(np.zeros((1, 8), np.float32))
    assert rewards[0] == pytest.approx(0.5 + heading + 0.1, abs=1e-5)


def test_a_fallen_ant_has_failed_and_earns_minus_two():
    ant = Ant(2)
    ant.reset()
    ant.qpos[0, 2] = 0.2
    _, rewards, terminated, _, info = ant.step(np.zeros((2, 8), np.float32))
    assert rewards[0] == -2.0
    assert info["failed"].tolist() == [True, False]
    assert terminated.tolist() == [True, False]


def test_the_body_weighs_what_its_shapes_and_density_say():
    def capsule(length: float) -> float:
        return pi * 0.08**2 * length + 4 / 3 * pi * 0.08**3

    volume = 4 / 3 * pi * 0.25**3 + 8 * capsule(0.2 * sqrt(2)) + 4 * capsule(0.4 * sqrt(2))
    assert Ant(1).model.body_mass.sum() == pytest.approx(5 * volume, rel=1e-6)


def test_all_feet_point_down_and_outwards_at_the_start():
    ant = Ant(1)
    ant.reset()
    ant.qpos[0, 7:] = ant.start
    data = ant.batch.get_data(0)
    mujoco.mj_forward(ant.model, data)
    directions = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    for leg, direction in zip(("front_left", "front_right", "back_left", "back_right"), directions, strict=True):
        ankle = data.body(f"{leg}_foot")
        shin = ankle.xipos - ankle.xpos  # to the middle of the lower leg
        assert np.sign(ankle.xpos[:2]).tolist() == list(direction)
        assert shin[2] == pytest.approx(-0.2 * sqrt(2) * np.sin(np.radians(30)), abs=1e-6)


def test_starts_are_within_the_stated_spread_and_the_limits():
    ant = Ant(200)
    ant.reset(seed=1)
    joints, velocities = ant.qpos[:, 7:], ant.qvel[:, 6:]
    assert np.abs(joints[:, ::2]).max() == pytest.approx(0.2, abs=0.01)
    assert joints[:, 1::2].min() == pytest.approx(np.radians(30))
    assert joints[:, 1::2].max() == pytest.approx(np.radians(30) + 0.2, abs=0.01)
    assert np.abs(velocities).max() == pytest.approx(0.1, abs=0.005)
    assert not ant.qvel[:, :6].any()


def test_a_full_action_is_the_full_torque_of_the_motor():
    ant = Ant(1)
    ant.reset()
    torques = ant.batch.bind("qfrc_actuator")
    ant.step(np.ones((1, 8), np.float32))
    np.testing.assert_allclose(torques[0, 6:], 15.0)


def test_physics_that_diverged_is_an_error_naming_the_robot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log where it is
    ant = Ant(3)
    ant.reset()
    ant.qvel[1] = 1e12
    with pytest.raises(DivergedError, match="robot 1"):
        ant.step(np.zeros((3, 8), np.float32))
