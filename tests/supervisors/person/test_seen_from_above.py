"""Every world that people of flesh and blood can supervise: what is clicked in its picture is what is done."""

import numpy as np
import pytest
from table import Table

from iifl.registry import SUPERVISORS, TASKS
from iifl.supervisors.person.people import People
from iifl.supervisors.person.reach import Reach

PEOPLE = [name for name in SUPERVISORS.names() if SUPERVISORS.load(name) is People]
WORLDS = {"table": Table, **{name.split("/")[0]: TASKS.load(name.split("/")[0]) for name in PEOPLE}}


@pytest.fixture(params=sorted(WORLDS), scope="module")
def world(request):
    task = WORLDS[request.param](3, seed=1)
    task.reset()
    return task


def test_block_pushing_is_among_them():
    assert "block_push" in WORLDS


def test_pictures_are_alike_and_only_of_the_robots_that_are_asked_for(world):
    try:
        every, one = world.camera_images(np.arange(3)), world.camera_images(np.array([2]))
    except RuntimeError as error:
        pytest.skip(f"this machine cannot draw: {error}")
    assert every.dtype == np.uint8
    assert every.shape[0] == 3
    assert every.shape[3] == 3
    np.testing.assert_array_equal(every[2], one[0])
    assert world.instruction.endswith(".")


def test_a_pixel_is_a_point_of_the_table_and_back(world):
    low, high = world.table_bounds
    points = np.random.default_rng(0).uniform(low, high, (50, 2))
    np.testing.assert_allclose(world.pixel_to_table(world.table_to_pixel(points)), points, atol=1e-9)
    corners = world.table_to_pixel(np.stack([low, high]))
    assert corners[0, 0] < corners[1, 0]  # to the right and
    assert corners[0, 1] > corners[1, 1]  # upwards, in the picture as on the table


def test_an_action_ends_where_it_was_to_end_or_on_the_way_there(world):
    rng, box = np.random.default_rng(1), world.single_action_space
    for robot in range(3):
        actions = rng.uniform(box.low, box.high, (20, 2)).astype(np.float32)
        for action in actions:
            end = world.action_end(robot, action)
            np.testing.assert_allclose(world.action_towards(robot, end), action, atol=1e-5)
        begin = world.action_end(robot, np.zeros(2))
        far = world.action_towards(robot, begin + np.array([8.0, 2.0]))
        np.testing.assert_allclose(far, [box.high[0], box.high[0] / 4], rtol=1e-5)


def test_the_reach_in_the_picture_is_that_of_the_actions(world):
    width, height = 512, 512
    for robot in range(3):
        reach = Reach.of(world, robot, width, height)
        left, top, right, bottom = reach.box
        corner = world.pixel_to_table(np.array([right, top]))
        np.testing.assert_allclose(world.action_towards(robot, corner), [1.0, 1.0], atol=1e-5)
        np.testing.assert_allclose(((left + right) / 2, (top + bottom) / 2), reach.origin)
