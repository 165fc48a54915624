"""Pictures of a fleet: who is in charge is seen from the border."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from iifl.records import NOBODY, Timestep
from iifl.tasks.reacher import Reacher
from iifl.watch import BLUE, BORDER, GREEN, GREY, ORANGE, RED, Camera, save_film, watch_expert, watch_fleet


@pytest.fixture
def camera():
    task = Reacher(4)
    task.reset()
    try:
        camera = Camera(task, range(4), columns=3, width=64, height=48)
    except Exception as error:  # any driver has its own error
        pytest.skip(f"this machine cannot draw: {error}")
    yield camera
    camera.close()


def test_borders_say_who_is_in_charge(camera):
    camera.task.failed[[1, 3]], camera.task.success[2] = True, True
    picture = camera.shoot(helped=np.array([True, True, False, False]))
    height, width = 48 + 2 * BORDER, 64 + 2 * BORDER
    assert picture.shape == (2 * height, 3 * width, 3)
    corners = [tuple(picture[row * height, column * width]) for row in range(2) for column in range(3)]
    assert corners == [BLUE, ORANGE, GREEN, RED, (255, 255, 255), (255, 255, 255)]


def test_a_robot_that_moved_looks_different(camera):
    before = camera.shoot()
    camera.task.qpos[:, 0] = 1.0
    after = camera.shoot()
    assert (
        before[BORDER : 48 + BORDER, BORDER : 64 + BORDER] != after[BORDER : 48 + BORDER, BORDER : 64 + BORDER]
    ).any()
    np.testing.assert_array_equal(before[0], after[0])  # the border


def test_without_a_screen_mujoco_is_told_to_draw_without_one():
    bare = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "MUJOCO_GL")}
    told = "import os, iifl; print(os.environ.get('MUJOCO_GL'))"
    found = subprocess.run([sys.executable, "-c", told], env=bare, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ("egl" if sys.platform == "linux" else "None")


def test_films_have_all_their_pictures(tmp_path):
    pictures = [np.full((20, 30, 3), shade, np.uint8) for shade in (0, 100, 200)]
    save_film(pictures, tmp_path / "film.webp", 0.05)
    assert Image.open(tmp_path / "film.webp").n_frames == 3
    save_film(pictures, tmp_path / "sheet.png", 0.05, columns=2)
    sheet = np.asarray(Image.open(tmp_path / "sheet.png"))
    assert sheet.shape == (40, 60, 3)
    assert [int(sheet[y, x, 0]) for y, x in ((5, 5), (5, 45), (25, 5), (25, 45))] == [0, 100, 200, 255]


def test_another_kind_of_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match="avi: a film is"):
        save_film([np.zeros((2, 2, 3), np.uint8)], tmp_path / "film.avi", 0.1)


def test_a_world_without_bodies_cannot_be_filmed():
    with pytest.raises(ValueError, match="Navigation is not a MuJoCo world"):
        watch_expert("navigation", Path("film.webp"), robots=1, steps=1, every=1)


def test_a_fleet_at_work_is_filmed_with_the_people_who_help(camera, tmp_path):
    class Work:
        task = Reacher(2)

        def advance(self):
            self.task.step(np.zeros((2, 2), np.float32))
            none = np.zeros(2)
            return Timestep(np.array([0, NOBODY]), none, none, none, none, none, none, none), None

    Work.task.reset()
    watch_fleet(Work(), tmp_path / "film.png", robots=6, steps=5, every=2)
    sheet = np.asarray(Image.open(tmp_path / "film.png"))
    first, second = sheet[0, 0], sheet[0, 320 + 2 * BORDER]
    assert (tuple(first), tuple(second)) == (BLUE, GREY)
