"""The people who stack: each kind of them succeeds in its own way, alone, after another, and after a slip."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iifl.experiments.grasps import grasping
from iifl.supervisors.cube_scene import (
    SHOULDER,
    WRIST_LIMIT,
    approach,
    feasible_turn,
    look,
    nearest_face,
    out_of_the_way,
)
from iifl.supervisors.cube_stacking import GRASP_YAWS, CubeStackingSupervisors, Stage, next_stage
from iifl.tasks.cube_stacking import CubeStacking

angles = st.floats(-6.0, 6.0)


@pytest.mark.parametrize(
    ("humans", "kinds", "sizes"), [(10, 4, [3, 2, 3, 2]), (10, 2, [5, 5]), (4, 4, [1] * 4), (0, 4, [])]
)
def test_groups_are_as_equal_as_can_be(humans, kinds, sizes):
    assert np.bincount(CubeStackingSupervisors(humans, 1, kinds=kinds).kind_of).tolist() == sizes


@pytest.mark.parametrize("kinds", [0, 5])
def test_kinds_that_nobody_knows_are_an_error(kinds):
    with pytest.raises(ValueError, match=f"not {kinds}"):
        CubeStackingSupervisors(10, 1, kinds=kinds)


@given(angles, angles)
def test_the_nearest_face_is_a_quarter_turn_away_at_most_half(yaw, to):
    face = float(nearest_face(np.array([yaw]), np.array([to]))[0])
    assert abs(face - to) <= np.pi / 4 + 1e-9
    quarters = (face - yaw) / (np.pi / 2)
    assert quarters == pytest.approx(round(quarters), abs=1e-9)


@given(angles, st.floats(-2.8, 2.8))
def test_a_turn_ends_where_joint_7_can_be(turn, wrist):
    """It is the same turn, modulo a full one, unless the whole of it is out of reach: then what is left is small."""
    way = float(feasible_turn(np.array([turn]), np.array([wrist]))[0])
    assert abs(wrist - way) <= WRIST_LIMIT + 1e-9
    rest = (turn - way + np.pi) % (2 * np.pi) - np.pi
    assert abs(rest) <= np.pi - WRIST_LIMIT + 1e-9


@pytest.mark.parametrize(
    ("yaw", "to_b", "quarters"),
    [
        (0.0, [0.0, 0.09, 0.0], 1),  # B lies where a finger would come down
        (0.0, [0.09, 0.0, 0.0], 0),  # B lies between the fingers' sides
        (0.0, [0.0, 0.2, 0.0], 0),  # B is far
        (np.pi / 2, [0.09, 0.0, 0.0], 1),
    ],
)
def test_fingers_keep_out_of_the_way_of_cube_b(yaw, to_b, quarters):
    chosen = out_of_the_way(np.array([yaw]), np.array([to_b]))
    assert chosen[0] == pytest.approx(yaw + quarters * np.pi / 2)


def test_the_gripper_tilts_as_far_as_a_folded_arm_needs():
    """With joint 4 at its stop, the sides of 0.316 and 0.384 (each with an offset of 0.0825) end 0.202 apart."""
    upper, fore = np.hypot(0.316, 0.0825), np.hypot(0.384, 0.0825)
    angle = np.pi + np.arctan2(0.0825, 0.316) + np.arctan2(0.0825, 0.384) - 3.0718
    nearest = np.sqrt(upper**2 + fore**2 - 2 * upper * fore * np.cos(angle))
    x, y, z = np.meshgrid(np.linspace(-0.25, 0.25, 41), np.linspace(-0.25, 0.25, 41), [1.05, 1.12, 1.15, 1.21])
    hand = np.column_stack([x.ravel(), y.ravel(), z.ravel()])  # grasping, placing, above A, above B
    pointing = approach(hand)
    radial = (hand - SHOULDER) * [1, 1, 0]
    radial /= np.linalg.norm(radial, axis=1, keepdims=True)
    inwards = -np.einsum("ni,ni->n", pointing, radial)[:, None]  # sine of the tilt
    back = pointing[:, 2:] * radial + inwards * [0, 0, 1]  # the wrist is 0.088 back from the flange
    wrist = hand - (0.107 + 0.1034) * pointing + 0.088 * back
    np.testing.assert_allclose(np.linalg.norm(pointing, axis=1), 1.0)
    assert (np.linalg.norm(wrist - SHOULDER, axis=1) > nearest).all()
    assert (inwards[hand[:, 2] == 1.05] == 0).all()  # a cube is always grasped from straight above
    assert (inwards[:, 0] > 0).mean() < 0.1


def fleet(robots: int, seed: int = 0) -> tuple[CubeStacking, np.ndarray]:
    world = CubeStacking(robots, seed=seed, threads=1)
    return world, world.reset()[0]


def alone(world: CubeStacking, observations: np.ndarray, humans: np.ndarray, people: CubeStackingSupervisors) -> None:
    """Each robot with the same human to the end of its episode."""
    robots = np.arange(world.num_envs)
    while world.running.any():
        observations = world.step(people.act(humans, robots, observations, world))[0]


def test_each_kind_takes_another_face_of_the_same_cube():
    """Four robots that began in one and the same state hold their cubes at the four yaws of the paper."""
    world = grasping(seed=3)
    scene = look(world.observation, np.arange(4), world)
    assert scene.held.all()
    yaws = scene.yaw - nearest_face(scene.cube_yaw)
    off = (yaws - GRASP_YAWS + np.pi) % (2 * np.pi) - np.pi
    assert np.abs(off).max() < 0.1


def test_every_kind_stacks():
    """People who succeed in 95 % of episodes have fewer than 19 successes in 24 with one seed in 1000."""
    world, observations = fleet(24, seed=10)
    alone(world, observations, np.arange(24) % 4, CubeStackingSupervisors(4, 24))
    assert world.success.sum() >= 19


def test_a_second_person_finishes_what_another_began():
    """After 20 to 170 steps, in every stage, another kind of person takes over."""
    robots, ids = 16, np.arange(16)
    world, observations = fleet(robots, seed=11)
    people, left = CubeStackingSupervisors(4, robots), 20 + 150 * ids // robots
    stages = set()
    while world.running.any():
        now = int(world.clock.max())
        humans = (ids + (now >= left)) % 4
        stages |= set(people.state_dict()["stage"][left == now].tolist())
        observations = world.step(people.act(humans, ids, observations, world))[0]
    assert len(stages) >= 4
    assert world.success.sum() >= robots - 2


def grasped(robots: int, seed: int) -> tuple[CubeStacking, np.ndarray, CubeStackingSupervisors]:
    """A world just as its first robot is carrying its cube to B, the others somewhere before or after."""
    world, observations = fleet(robots, seed)
    people, ids = CubeStackingSupervisors(4, robots), np.arange(robots)
    while people.state_dict()["stage"][0] != Stage.ABOVE_B:
        observations = world.step(people.act(np.zeros(robots, int), ids, observations, world))[0]
    return world, observations, people


def test_a_cube_in_the_gripper_is_carried_on():
    world, observations, people = grasped(1, seed=12)
    yaw = look(observations, np.array([0]), world).yaw[0]
    while world.running.any():
        observations = world.step(people.act(np.array([2]), np.array([0]), observations, world))[0]
        assert people.state_dict()["stage"][0] >= Stage.LIFT
    assert world.success[0]
    assert abs(look(observations, np.array([0]), world).yaw[0] - yaw) < 0.3  # nobody turned it round


def test_a_cube_that_slips_is_fetched_again():
    world, observations, people = grasped(1, seed=13)
    robot, seen = np.array([0]), []
    for step in range(300):
        actions = people.act(np.array([0]), robot, observations, world)
        seen.append(int(people.state_dict()["stage"][0]))
        if step < 15:
            actions[:, 6] = 1.0  # the gripper opens by itself
        observations = world.step(actions)[0]
        if not world.running.any():
            break
    assert world.success[0]
    assert (Stage.ABOVE_B, Stage.ABOVE_A) in pairwise(seen)


def test_a_person_who_comes_back_looks_again():
    """The same human, after the robot was on its own for a while: the stage is inferred, not remembered."""
    world, observations, people = grasped(1, seed=12)
    for _ in range(30):
        observations = world.step(np.array([[0, 0, 0, 0, 0, 0, 1]], np.float32))[0]
    people.act(np.array([0]), np.array([0]), observations, world)
    assert people.state_dict()["stage"][0] == Stage.ABOVE_A


def test_a_saved_crowd_goes_on_the_same():
    world, observations, people = grasped(2, seed=12)
    twin, ids = CubeStackingSupervisors(4, 2), np.arange(2)
    twin.load_state_dict(people.state_dict())
    for _ in range(5):
        actions = people.act(np.zeros(2, int), ids, observations, world)
        np.testing.assert_array_equal(actions, twin.act(np.zeros(2, int), ids, observations, world))
        observations = world.step(actions)[0]


def test_a_stage_ends_when_it_is_done():
    """A hand at rest exactly above cube A goes on to rotate, and there waits for the turn."""
    world, observations = fleet(1, seed=12)
    scene = look(observations, np.array([0]), world)
    still = replace(scene, hand=scene.cube + np.array([0, 0, 0.1]), tilt=np.zeros((1, 3)), inclination=np.zeros(1))
    assert next_stage(np.array([Stage.ABOVE_A]), still, np.array([1.0]))[0] == Stage.ROTATE
    assert next_stage(np.array([Stage.ROTATE]), still, np.array([1.0]))[0] == Stage.ROTATE
    assert next_stage(np.array([Stage.ROTATE]), still, np.array([0.0]))[0] == Stage.DESCEND


@pytest.mark.slow
@pytest.mark.parametrize("kind", range(4))
@pytest.mark.timeout(900)
def test_each_kind_alone_stacks_in_95_of_100_fresh_episodes(kind):
    world, observations = fleet(200, seed=100 + kind)
    alone(world, observations, np.full(200, kind), CubeStackingSupervisors(4, 200))
    assert world.success.mean() >= 0.95
