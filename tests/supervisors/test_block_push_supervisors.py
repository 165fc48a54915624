"""The people who push: each goes round on their own side where both are equally long, and arrives without a touch."""

from math import cos, sin

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iifl.supervisors.block_push import BlockPushSupervisors, along_lane, on_lane
from iifl.tasks.block_push import BlockPush

LANE = 0.13


def crowd(humans: int = 2) -> BlockPushSupervisors:
    return BlockPushSupervisors(humans, 1, np.random.default_rng(0))


def way(human: int, cube: list[float], goal: list[float]) -> float:
    """How far this human will push, counter-clockwise."""
    return float(crowd().remaining(np.array([human]), np.array([cube]), np.array([goal]), LANE)[0])


@pytest.mark.parametrize(
    ("point", "metres"),
    [
        ([0.13, 0.0], 0.0),
        ([0.13, 0.05], 0.05),
        ([0.13, 0.13], 0.13),
        ([0.0, 0.13], 0.26),
        ([-0.13, 0.0], 0.52),
        ([-0.05, -0.13], 0.73),
        ([0.0, -0.13], 0.78),
        ([0.13, -0.05], 0.99),
        ([0.065, 0.025], 0.05),  # off the middle of the way
    ],
)
def test_the_place_along_the_way(point, metres):
    assert along_lane(np.array([point]), LANE)[0] == pytest.approx(metres)


@given(st.floats(-3.0, 3.0))
def test_places_and_points_are_each_others_inverse(place):
    point = on_lane(np.array([place]), LANE)
    assert np.abs(point).max() == pytest.approx(LANE)
    off = (along_lane(point, LANE)[0] - place + 0.52) % 1.04 - 0.52
    assert off == pytest.approx(0.0, abs=1e-9)


@given(st.floats(0.085, 0.175), st.floats(-3.2, 3.2))
def test_both_ways_to_a_goal_diametrically_opposite_are_equally_long(distance, angle):
    """Human 0 goes clockwise, human 1 counter-clockwise."""
    x, y = distance * cos(angle), distance * sin(angle)
    assert way(0, [x, y], [-x, -y]) == pytest.approx(-0.52)
    assert way(1, [x, y], [-x, -y]) == pytest.approx(0.52)


def test_where_one_way_is_shorter_all_take_it():
    for human in (0, 1):
        assert way(human, [0.13, 0.03], [-0.13, 0.0]) == pytest.approx(0.49)  # the other way is 0.55
        assert way(human, [0.13, -0.03], [-0.13, 0.0]) == pytest.approx(-0.49)
    assert way(0, [0.13, 0.015], [-0.13, 0.0]) == pytest.approx(-0.535)  # 0.03 longer, which nobody sees
    assert way(1, [0.13, 0.015], [-0.13, 0.0]) == pytest.approx(0.505)


def test_humans_take_turns_in_the_side_they_prefer():
    cube, goal = np.tile([0.0, 0.13], (5, 1)), np.tile([0.0, -0.13], (5, 1))
    assert np.sign(crowd(5).remaining(np.arange(5), cube, goal, LANE)).tolist() == [-1, 1, -1, 1, -1]


def work(world: BlockPush, humans: np.ndarray) -> np.ndarray:
    """Everyone to the end of the episode; how far each cube went round the centre, counter-clockwise (rad)."""
    people, turned = crowd(), np.zeros(world.num_envs)
    while world.running.any():
        robots, before = np.flatnonzero(world.running), world.cube.copy()
        actions = np.zeros((world.num_envs, 2), np.float32)
        actions[robots] = people.act(humans[robots], robots, world.observation[robots], world)
        world.step(actions)
        (x, y), (to_x, to_y) = before.T, world.cube.T
        turned += np.arctan2(x * to_y - y * to_x, x * to_x + y * to_y)
    return turned


@pytest.mark.parametrize(("human", "side"), [(0, -1), (1, 1)])
def test_each_human_alone_reaches_the_goal_on_their_own_side_in_95_of_100_episodes(human, side):
    world = BlockPush(200, seed=100 + human)
    world.reset()
    turned = work(world, np.full(200, human))
    assert world.success.mean() >= 0.95
    assert (np.sign(turned[world.success]) == side).all()
    assert world.clock[world.success].max() <= 8  # 0.52 m by pushes of 0.09 m are six


def test_people_go_on_from_one_goal_to_the_next():
    """Five goals in a row, the cube lying as the last push has left it."""
    world = BlockPush(20, seed=3)
    world.reset()
    for _ in range(5):
        work(world, np.arange(20) % 2)
        assert world.success.all()
        world.reset()
    assert world.episode.tolist() == [5] * 20


def test_a_cube_that_was_left_anywhere_is_brought_to_the_goal():
    """At any yaw, 2 mm from a wall or from the obstacle: pushed away from it, and round the nearer side."""
    world = BlockPush(80, seed=4)
    world.reset()
    rng = np.random.default_rng(4)
    yaw = rng.uniform(-np.pi, np.pi, 80)
    extent = 0.02 * (np.abs(np.cos(yaw)) + np.abs(np.sin(yaw))) + 0.002
    distance = np.where(np.arange(80) % 2 == 0, 0.2 - extent, 0.06 + extent)
    world.qpos[:, :2] = on_lane(rng.uniform(0, 1.04, 80), LANE) * (distance / LANE)[:, None]
    world.qpos[:, [3, 6]] = np.column_stack([np.cos(yaw / 2), np.sin(yaw / 2)])
    world.goal[:] = on_lane(rng.uniform(0, 1.04, 80), LANE)
    work(world, np.arange(80) % 2)
    assert world.success.mean() >= 0.9
