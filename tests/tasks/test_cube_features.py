"""What a policy may see of the stacking world: the same for scenes that are the same to the work, and its symmetry."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from iifl.supervisors.cube_stacking import CubeStackingSupervisors
from iifl.tasks.cube_features import BASE, features, turned
from iifl.tasks.cube_stacking import CUBE_A, CUBE_B, CubeStacking

OFF, REST = slice(0, 3), slice(12, 15)  # of the features


@pytest.fixture(scope="module")
def scenes() -> tuple[CubeStacking, np.ndarray, np.ndarray]:
    """Arms in the middle of their work, what was seen of them, and what people would do."""
    robots = np.arange(8)
    world, people = CubeStacking(8, seed=5, threads=1), CubeStackingSupervisors(8, 8)
    observations, _ = world.reset()
    for _ in range(60):
        actions = people.act(robots, robots, observations, world)
        observations, *_ = world.step(actions)
    return world, observations, people.act(robots, robots, observations, world)


def test_ways_are_from_the_hand_to_cube_a_and_from_its_place_on_b_to_b(scenes):
    _, seen, _ = scenes
    found = features(seen)
    np.testing.assert_allclose(found[:, OFF], seen[:, 4:7] - seen[:, 10:13], atol=1e-6)
    np.testing.assert_allclose(found[:, REST], seen[:, 7:10] + [0, 0, 0.06], atol=1e-6)


def test_neither_the_sign_of_a_quaternion_nor_a_quarter_turn_of_the_cube_shows():
    """Of a cube that is level; one in the hand is not quite."""
    seen, _ = CubeStacking(8, seed=6, threads=1).reset()
    other = seen.copy()
    other[:, 13:17] *= -1
    quarter = Rotation.from_euler("z", 90, degrees=True)
    other[:, 0:4] = (Rotation.from_quat(seen[:, 0:4]) * quarter).as_quat()
    np.testing.assert_allclose(features(other), features(seen), atol=1e-3)


def test_an_eighth_turn_of_the_cube_shows(scenes):
    _, seen, _ = scenes
    other = seen.copy()
    other[:, 0:4] = (Rotation.from_quat(seen[:, 0:4]) * Rotation.from_euler("z", 45, degrees=True)).as_quat()
    assert (np.abs(features(other) - features(seen)).max(axis=1) > 0.5).all()


def test_millimetres_show_at_contact():
    seen = np.zeros((2, 19), np.float32)
    seen[:, [3, 16]] = 1.0
    seen[:, 4:7] = [[0.0, 0.0, 0.004], [0.0, 0.0, 0.006]]
    assert np.abs(np.diff(features(seen), axis=0)).max() > 0.3


def test_a_turn_about_the_base_is_that_of_scipy(scenes):
    _, seen, actions = scenes
    turns = np.linspace(0.0, 0.9, 8)
    there, moves = turned(seen, actions, turns)
    turn = Rotation.from_rotvec(2 * np.pi * turns[:, None] * [0, 0, 1])
    for place in (4, 10):
        expected = turn.apply(seen[:, place : place + 3] - BASE) + BASE
        np.testing.assert_allclose(there[:, place : place + 3], expected, atol=1e-6)
    np.testing.assert_allclose(there[:, 7:10], turn.apply(seen[:, 7:10]), atol=1e-6)
    for quaternion in (0, 13):
        found = Rotation.from_quat(there[:, quaternion : quaternion + 4])
        expected = turn * Rotation.from_quat(seen[:, quaternion : quaternion + 4])
        assert (found.inv() * expected).magnitude().max() < 1e-5
    np.testing.assert_allclose(moves[:, :3], turn.apply(actions[:, :3]), atol=1e-6)
    np.testing.assert_allclose(moves[:, 3:6], turn.apply(actions[:, 3:6]), atol=1e-6)
    np.testing.assert_array_equal(there[:, 17:], seen[:, 17:])
    np.testing.assert_array_equal(moves[:, 6], actions[:, 6])


def test_the_arm_does_in_a_turned_scene_what_it_did_turned():
    """Joint 1 and the cubes are turned about the base by hand; 20 steps of turned actions end in the turned scene."""
    turn = 0.11
    world, rng = CubeStacking(2, seed=5, threads=1), np.random.default_rng(0)
    world.reset()
    world.qpos[1], world.qvel[1] = world.qpos[0], world.qvel[0]
    rotation = Rotation.from_euler("z", 2 * np.pi * turn)
    world.qpos[1, 0] += 2 * np.pi * turn
    for cube in (CUBE_A, CUBE_B):
        pose = world.qpos[1, cube]
        pose[:3] = rotation.apply(pose[:3] - BASE) + BASE
        pose[3:] = (rotation * Rotation.from_quat(pose[[4, 5, 6, 3]])).as_quat()[[3, 0, 1, 2]]
    world.load_state_dict(world.state_dict())
    world.control.home = np.tile(world.control.home, (2, 1))
    world.control.home[1, 0] += 2 * np.pi * turn  # what draws the arm home is turned as well
    for _ in range(20):
        action = np.array([[*rng.uniform(-0.2, 0.2, 6), 1.0]], np.float32)
        _, other = turned(world.observation[:1], action, np.array([turn]))
        observations = world.step(np.concatenate([action, other]))[0]
    expected, _ = turned(observations[:1], action, np.array([turn]))
    sign = np.sign(np.sum(expected[:, 13:17] * observations[1:, 13:17]))
    expected[:, 13:17] *= sign
    np.testing.assert_allclose(observations[1:], expected, atol=2e-4)
