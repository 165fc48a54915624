"""Block pushing against values worked out by hand: what the camera shows, what a push does, how episodes begin."""

import os
import subprocess
import sys
from math import cos, pi, sin, tan

import mujoco
import numpy as np
import pytest
from scipy import stats

from iifl.tasks.block_push import BlockPush
from iifl.tasks.overhead import NoGraphicsError, Scene

FREE = [0.13, -0.05]  # beside the obstacle, in the middle of the way


def placed(cubes, yaws=0.0, goals=(-0.13, 0.05)) -> BlockPush:
    """Workspaces with cubes at rest at these places, and the goals where no push reaches them."""
    cubes = np.atleast_2d(cubes)
    world = BlockPush(len(cubes), threads=1)
    world.reset()
    yaws = np.broadcast_to(yaws, len(cubes))
    flat = np.zeros(len(cubes))
    world.qpos[:, :7] = np.column_stack([cubes, flat + 0.02, np.cos(yaws / 2), flat, flat, np.sin(yaws / 2)])
    world.goal[:] = goals
    world.looks[:] = 0.0
    return world


def pushed(world: BlockPush, *metres) -> np.ndarray:
    """How far the cubes move when they are pushed along these vectors."""
    before = world.cube.copy()
    world.step((np.atleast_2d(metres) / 0.1).astype(np.float32))
    return world.cube - before


def yaw_of(world: BlockPush) -> np.ndarray:
    return 2 * np.arctan2(world.qpos[:, 6], world.qpos[:, 3])


def centre_of(image: np.ndarray, channel: int) -> np.ndarray:
    """(column, row) of the middle of what has this colour, in pixels from the upper left corner of the image."""
    others = np.delete(image.astype(int), channel, axis=2).max(axis=2)
    row, column = np.nonzero(image[:, :, channel] > 1.5 * others)
    return np.array([column.mean() + 0.5, row.mean() + 0.5])


# The camera -------------------------------------------------------------------------------------------------------


def test_the_camera_shows_the_cube_where_the_mapping_says():
    """A pinhole 1.5 m up that sees 18 degrees: 256 pixels / (1.48 m · tan 9°) = 1092.1 pixels per metre."""
    world = placed([[0.1, -0.05], [-0.13, 0.13], [0.0, 0.12]], yaws=0.4)
    scale = 256 / (1.48 * tan(pi * 9 / 180))
    expected = np.array([[256 + 0.1 * scale, 256 + 0.05 * scale], [256 - 0.13 * scale, 256 - 0.13 * scale]])
    np.testing.assert_allclose(world.table_to_pixel(world.cube)[:2], expected, atol=0.01)
    views = world.camera_images(np.arange(3))
    assert (views.shape, views.dtype) == ((3, 512, 512, 3), np.uint8)
    found = np.array([centre_of(view, 2) for view in views])
    np.testing.assert_allclose(found, world.table_to_pixel(world.cube), atol=3.0)  # 2.6 mm: its top is nearer
    small = np.array([centre_of(image, 2) for image in world.reset(options={"reset_mask": np.zeros(3, bool)})[0]])
    np.testing.assert_allclose(small, found / 8, atol=0.5)


def test_the_goal_is_seen_where_it_is():
    world = placed([FREE], goals=(-0.1, 0.12))
    found = centre_of(world.camera_images(np.array([0]))[0], 1)
    assert np.linalg.norm(world.pixel_to_table(found) - [-0.1, 0.12]) < 0.003


def test_pixels_and_the_table_are_each_others_inverse():
    world = placed([FREE])
    points = np.random.default_rng(0).uniform(-0.2, 0.2, (2, 5, 2))
    np.testing.assert_allclose(world.pixel_to_table(world.table_to_pixel(points)), points, atol=1e-12)


def test_a_click_is_pushed_to():
    """What a person does: the pixel of a point, the action towards it, and the cube is there."""
    world = placed([FREE])
    point = world.pixel_to_table(world.table_to_pixel(np.array([0.13, 0.04])))
    world.step(world.action_towards(0, point)[None])
    np.testing.assert_allclose(world.cube[0], [0.13, 0.04], atol=0.003)


def test_the_longest_push_keeps_its_direction():
    world = placed([[0.13, -0.13], [0.0, 0.13]])
    actions = world.action_towards(np.arange(2), np.array([[0.07, 0.17], [0.03, 0.11]]))
    np.testing.assert_allclose(actions, [[-0.2, 1.0], [0.3, -0.2]], atol=1e-6)


def test_policies_see_the_light_and_the_camera_of_their_episode_and_people_the_calibrated_camera():
    world = placed([FREE, FREE, FREE])
    world.looks[1, :6] = 1.0
    world.looks[2, 8] = -1.0
    images, views = world._observe(), world.camera_images(np.arange(3))
    assert np.abs(centre_of(images[1], 2) - centre_of(images[0], 2)).max() > 0.3  # pixels of 7 mm
    np.testing.assert_array_equal(views[1], views[0])
    table = np.s_[:, 20, 8]
    assert images[table][2].mean() == pytest.approx(0.9 * images[table][0].mean(), abs=2)
    assert views[2].mean() < 0.95 * views[0].mean()


def test_only_what_has_changed_is_drawn_again(monkeypatch):
    world = placed([FREE] * 4)
    world._observe()
    drawn, draw = [], Scene.draw
    monkeypatch.setattr(Scene, "draw", lambda self, cubes, *rest: drawn.append(len(cubes)) or draw(self, cubes, *rest))
    world.truncated[:] = [True, False, True, False]
    seen, *_ = world.step(np.full((4, 2), 0.4, np.float32))
    world.reset(options={"reset_mask": np.zeros(4, bool)})
    assert drawn == [2]
    world._shown[:] = np.nan
    np.testing.assert_array_equal(world._observe(), seen)  # all of it drawn again
    assert drawn == [2, 4]


def test_without_a_driver_the_error_names_the_packages(monkeypatch):
    def broken(*_):
        raise AttributeError("'NoneType' object has no attribute 'eglQueryString'")

    monkeypatch.setattr(mujoco, "Renderer", broken)
    with pytest.raises(NoGraphicsError, match=r"eglQueryString.*libegl1.*libosmesa6"):
        Scene(64, fine=False)


BARE = """
import ctypes
load = ctypes.CDLL.__init__
def bare(self, name, *rest, **more):
    if any(library in str(name) for library in ("EGL", "OSMesa")):
        raise OSError(f"{name}: cannot open shared object file")
    load(self, name, *rest, **more)
ctypes.CDLL.__init__ = bare
from iifl.tasks.block_push import BlockPush  # and with it all of MuJoCo
for _ in range(2):
    try:
        BlockPush(1).reset()
    except RuntimeError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere MuJoCo has its own ways to draw")
def test_on_a_machine_without_graphics_worlds_can_be_imported_and_the_error_names_the_packages():
    environment = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "MUJOCO_GL")}
    said = subprocess.run([sys.executable, "-c", BARE], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.count("apt install libegl1") == 2


# The push ---------------------------------------------------------------------------------------------------------


def test_a_push_brings_the_cube_where_it_was_commanded():
    moved = pushed(placed([FREE, FREE, [0.0, 0.13]]), [0.0, 0.1], [0.0, 0.03], [-0.1, 0.0])
    np.testing.assert_allclose(moved, [[0.0, 0.1], [0.0, 0.03], [-0.1, 0.0]], atol=0.003)


def test_a_push_of_no_length_does_nothing():
    np.testing.assert_allclose(pushed(placed([FREE]), [0.0, 0.0]), 0.0, atol=0.001)


def test_a_slanted_cube_turns_flush_with_the_pusher():
    """A flat pusher meets the leading corner; what torque it has is gone when a side lies flat on it."""
    world = placed([[0.13, -0.08]] * 2, yaws=[0.3, -0.3])
    moved = pushed(world, *[[0.0, 0.1]] * 2)
    np.testing.assert_allclose(yaw_of(world), 0.0, atol=0.02)
    assert moved[0, 0] * moved[1, 0] < 0  # and slips aside on the way, to either side
    np.testing.assert_allclose(moved, [[0.0, 0.1]] * 2, atol=0.015)


def test_it_is_contact_that_moves_the_cube():
    world = placed([FREE])
    world.batch.expand("geom_conaffinity")[0, world.model.geom("pusher").id] = 0
    np.testing.assert_allclose(pushed(world, [0.0, 0.1]), 0.0, atol=1e-4)


def test_the_cube_does_not_run_away_from_the_pusher():
    """At the end it lies on the face, half its edge before the commanded point, and at rest."""
    world = placed([FREE])
    world.step(np.array([[0.0, 1.0]], np.float32))
    assert np.abs(world.qvel[0, :3]).max() < 1e-3
    assert world.cube[0, 1] - FREE[1] < 0.1 + 0.002


# Failure ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cube", "push"),
    [
        ([0.13, 0.0], [0.08, 0.0]),  # the east wall
        ([0.0, 0.13], [0.0, 0.08]),
        ([-0.13, 0.0], [-0.08, 0.0]),
        ([0.0, -0.13], [0.0, -0.08]),
        ([0.13, 0.0], [-0.07, 0.0]),  # the obstacle
        ([0.0, -0.13], [0.0, 0.07]),
    ],
)
def test_a_cube_that_touches_a_wall_or_the_obstacle_has_failed(cube, push):
    short, far = placed([cube]), placed([cube])
    pushed(short, np.multiply(push, 0.5))
    assert short.running[0]
    pushed(far, push)
    assert (far.failed[0], far.success[0]) == (True, False)


def test_a_touch_in_the_middle_of_a_push_is_a_failure():
    """The cube grazes the obstacle's corner, 0.0849 m along the diagonal, and is clear of it before and afterwards."""
    across, start = np.array([-1, 1]) / np.sqrt(2), 0.06 / np.sqrt(2)
    paths = [(distance / np.sqrt(2) + start, distance / np.sqrt(2) - start) for distance in (0.1035, 0.1085)]
    world = placed(paths, yaws=pi / 4)
    assert not world.batch.forward() and (world.batch.sensordata[:, 0] == 0).all()
    pushed(world, *[0.12 * across] * 2)
    world.batch.forward()
    assert (world.batch.sensordata[:, 0] == 0).all()
    assert world.failed.tolist() == [True, False]


def test_reaching_the_goal_by_way_of_a_wall_is_no_success():
    world = placed([[0.13, 0.0]], goals=(0.17, 0.0))
    world.step(np.array([[0.9, 0.0]], np.float32))
    assert (world.failed[0], world.success[0], world.episode_return[0]) == (True, False, 0.0)


# Episodes ---------------------------------------------------------------------------------------------------------


def test_the_goal_is_reached_within_its_radius():
    world = placed([FREE] * 2, goals=[[0.13, 0.0885], [0.13, 0.0915]])
    _, rewards, terminated, _, info = world.step(np.array([[0.0, 1.0]] * 2, np.float32))
    assert rewards.tolist() == [1.0, 0.0]
    assert terminated.tolist() == info["success"].tolist() == [True, False]


def test_a_success_leaves_the_cube_where_it_is_and_sets_the_goal_anew():
    world = placed([FREE], goals=[[0.13, 0.05]])
    world.step(np.array([[0.0, 1.0]], np.float32))
    assert world.success[0]
    lies = world.qpos[0, :7].copy()
    world.reset(options={"reset_mask": np.ones(1, bool)})
    np.testing.assert_array_equal(world.qpos[0, :7], lies)
    np.testing.assert_array_equal(world.goal[0], -lies[:2])
    assert world.running[0]


def test_an_episode_out_of_time_leaves_the_cube_where_it_is():
    world = placed([FREE])
    world.clock[:] = 39
    world.step(np.array([[0.0, 0.5]], np.float32))
    lies = world.qpos[0, :7].copy()
    assert world.truncated[0]
    world.reset(options={"reset_mask": np.ones(1, bool)})
    np.testing.assert_array_equal(world.qpos[0, :7], lies)


def test_a_hard_reset_puts_the_cube_on_any_side_of_the_obstacle():
    world = placed([[0.19, 0.0]] * 400)
    world.failed[:] = True
    world.reset(options={"reset_mask": np.ones(400, bool)})
    np.testing.assert_array_equal(world.goal, -world.cube)
    side = np.round(np.arctan2(world.cube[:, 1], world.cube[:, 0]) / (pi / 2)).astype(int) % 4
    # Uniform: each test would fail a right world once in 1000 seeds.
    assert stats.chisquare(np.bincount(side)).pvalue > 1e-3
    turned = [[cos(k * pi / 2), sin(k * pi / 2)] for k in range(4)]
    off = world.cube - 0.13 * np.array(turned)[side]
    for draws, half in ((off[:, 0], 0.02), (off[:, 1], 0.02), (yaw_of(world), 0.2)):
        assert np.abs(draws).max() <= half
        assert stats.kstest(draws, "uniform", (-half, 2 * half)).pvalue > 1e-3
    world.batch.forward()
    assert (world.batch.sensordata == 0).all()
