"""Ball Balance's layout, reward and mechanism against values worked out by hand."""

from math import cos, pi, sin, sqrt

import mujoco
import numpy as np
import pytest

from iifl.tasks.ball_balance import BallBalance


def test_the_observation_of_a_known_pose():
    world = BallBalance(1)
    world.reset()
    world.qpos[0, 7:13] = [0.01, 0.1, 0.02, 0.2, 0.03, 0.3]  # upper and lower leg, leg by leg
    world.qvel[0, 6:12] = [1, 0.4, 2, 0.5, 3, 9]
    world.qpos[0, 13:16], world.qvel[0, 12:15] = [0.1, -0.2, 0.9], [-0.5, 0.5, -7]
    # force x y z, torque x y z of the tray on each leg; the tray feels the opposite
    world.sensors[0] = [-20, 0, 0, -1, -2, -3, -40, 0, 0, -4, -5, -6, 200, 0, 0, -7, -8, -9]
    world.load_state_dict(world.state_dict())
    expected = [
        [0.1, 0.2, 0.3],
        [0.4, 0.5, 5],  # 9 is clipped
        [0.1, -0.2, 0.9],
        [-0.5, 0.5, -5],
        [1, 2, -5],  # x forces
        [0.05, 0.2, 0.35],  # x torques
        [0.1, 0.25, 0.4],  # y torques
        [0.15, 0.3, 0.45],  # z torques
    ]
    np.testing.assert_allclose(world.observation[0], np.concatenate(expected), atol=1e-6)


@pytest.mark.parametrize(
    ("ball", "velocity", "reward"),
    [
        ((0, 0, 0.7), (0, 0, 0), 1.0),
        ((0.3, 0, 1.1), (0, 1, 0), 1 / 1.5 / 2),
        ((0, -1, 0.7), (2, 0, 1), 0.5 / (1 + 5**0.5)),
    ],
)
def test_the_reward_of_a_known_state(ball, velocity, reward):
    world = BallBalance(1)
    world.reset()
    world.qpos[0, 13:16], world.qvel[0, 12:15] = ball, velocity
    rewards, failed, _ = world._judge(np.zeros((1, 3), np.float32))
    assert rewards[0] == pytest.approx(reward)
    assert not failed[0]


def test_a_ball_below_two_radii_has_fallen_off():
    world = BallBalance(2)
    world.reset()
    world.qpos[0, 13:16] = [1.0, 0.0, 0.19]
    world.qvel[0, 12:15] = 0
    *_, info = world.step(np.zeros((2, 3), np.float32))
    assert info["failed"].tolist() == [True, False]


def test_the_mechanism_stands_on_its_pinned_feet():
    world = BallBalance(1)
    data = mujoco.MjData(world.model)
    mujoco.mj_forward(world.model, data)
    reach = 0.5 - 0.1
    length = reach - 0.04
    assert data.body("tray").xpos[2] == pytest.approx(length * sqrt(2) + 0.05)
    for leg in range(3):
        lower = data.body(f"lower_leg{leg}")
        foot = lower.xpos + lower.xmat.reshape(3, 3) @ [length / sqrt(2), 0, -length / sqrt(2)]
        angle = 2 * pi * leg / 3
        np.testing.assert_allclose(foot, [reach * cos(angle), reach * sin(angle), 0.02], atol=1e-9)
        inner = reach - length / sqrt(2)
        np.testing.assert_allclose(lower.xpos[:2], [inner * cos(angle), inner * sin(angle)], atol=1e-9)


def test_masses_follow_from_shapes_and_densities():
    model = BallBalance(1).model
    length = 0.36
    leg = 1000 * (pi * 0.02**2 * length + 4 / 3 * pi * 0.02**3)
    assert model.body("tray").mass[0] == pytest.approx(100 * pi * 0.5**2 * 0.02)
    assert model.body("ball").mass[0] == pytest.approx(200 * 4 / 3 * pi * 0.1**3)
    assert model.body("upper_leg1").mass[0] == pytest.approx(leg)
    assert model.body("lower_leg1").mass[0] == pytest.approx(leg)


def test_an_action_moves_the_knees_targets_up_to_their_limits():
    world = BallBalance(1)
    world.reset()
    world.step(np.array([[1, 0.5, -1]], np.float32))
    np.testing.assert_allclose(world.ctrl[0], [0.2, 0.1, -0.2], atol=1e-7)
    for _ in range(10):
        world.step(np.array([[1, 0, -1]], np.float32))
    np.testing.assert_allclose(world.ctrl[0], [pi / 2, 0.1, -70 / 180 * pi], atol=1e-6)


def test_throws_are_as_stated():
    world = BallBalance(500)
    world.reset(seed=1)
    ball, velocity = world.qpos[:, 13:16], world.qvel[:, 12:15]
    distance = np.hypot(*ball[:, :2].T)
    assert 0.001 <= distance.min() < 0.01
    assert 0.49 < distance.max() <= 0.5
    assert 1.0 <= ball[:, 2].min() < 1.01
    assert 1.99 < ball[:, 2].max() <= 2.0
    assert (velocity[:, 2] == -5).all()
    speed = -(velocity[:, :2] * ball[:, :2]).sum(axis=1) / distance  # towards the axis
    fastest = 5 * (distance - 0.001) / 0.499
    np.testing.assert_allclose(np.hypot(*velocity[:, :2].T), speed, atol=1e-9)
    assert (speed <= fastest + 1e-9).all()
    assert (speed / fastest).mean() == pytest.approx(0.5, abs=0.05)


def test_force_sensors_carry_the_tray_and_the_ball():
    """At rest the legs' upward forces add up to the weight of what they carry."""
    world = BallBalance(1)
    world.reset()
    world.qpos[0, 13:16], world.qvel[0, 12:15] = [0, 0, 0.67], 0
    for _ in range(100):
        world.step(np.zeros((1, 3), np.float32))
    carried = world.model.body("tray").mass[0] + world.model.body("ball").mass[0]
    assert -world.sensors[0, [2, 8, 14]].sum() == pytest.approx(carried * 9.81, rel=0.01)


def test_a_tray_that_is_tipped_over_lies_on_the_ground():
    world = BallBalance(1)
    pairs = set()
    for one in range(world.model.ngeom):
        for other in range(world.model.ngeom):
            if world.model.geom_contype[one] & world.model.geom_conaffinity[other]:
                pairs.add(frozenset((world.model.geom(one).name or "leg", world.model.geom(other).name or "leg")))
    expected = [("tray", "ground"), ("ball", "ground"), ("ball", "tray"), ("ball", "leg")]
    assert pairs == {frozenset(pair) for pair in expected}


def test_full_actions_do_not_break_the_mechanism():
    world = BallBalance(8)
    world.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(100):
        world.step(np.sign(rng.uniform(-1, 1, (8, 3))).astype(np.float32))
        world.reset(options={"reset_mask": ~world.running})
    feet = np.abs(world.qpos[:, :3])
    assert feet.max() < 2.0
