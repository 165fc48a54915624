"""Pictures of a fleet: who is in charge is seen from the frame and read in its caption."""

import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from iifl.camera import BORDER, STRIP, Camera, State, legend, state_of
from iifl.cli import main
from iifl.records import NOBODY, Timestep
from iifl.tasks.reacher import Reacher
from iifl.watch import save_film, watch_fleet, watch_people

HEIGHT, WIDTH = 48 + STRIP + BORDER, 64 + 2 * BORDER


@pytest.fixture
def camera():
    task = Reacher(5)
    task.reset()
    try:
        camera = Camera(task, 5, columns=3, width=64, height=48)
    except Exception as error:  # any driver has its own error
        pytest.skip(f"this machine cannot draw: {error}")
    yield camera
    camera.close()


def colours(picture: Image.Image, rows: int, columns: int, height: int, width: int) -> list[tuple[int, ...]]:
    """The lower left corners of the frames in a picture."""
    pixels = np.asarray(picture)
    return [tuple(pixels[STRIP + (r + 1) * height - 1, c * width]) for r in range(rows) for c in range(columns)]


def timestep(**given: list[bool] | list[int]) -> Timestep:
    """A timestep of five robots; what is not given did not happen."""
    fields = {name: np.zeros(5, bool) for name in Timestep.__dataclass_fields__}
    return Timestep(**fields | {name: np.array(value) for name, value in given.items()})


def test_what_a_robot_did_follows_from_the_timestep():
    working = timestep(
        human_of=[NOBODY, 3, 2, NOBODY, NOBODY],
        failed=[False, False, True, True, False],
        ended=[False, False, False, False, True],
    )
    found = [state_of(robot, working) for robot in range(5)]
    assert found == [State.ALONE, State.HELPED, State.RESET, State.FAILED, State.OVER]
    won = timestep(human_of=[NOBODY] * 5, ended=[True] * 5, success=[True] * 5)
    assert state_of(0, won) is State.SUCCESS


def test_frames_say_who_is_in_charge(camera):
    states = [State.HELPED, State.RESET, State.SUCCESS, State.FAILED, State.ALONE]
    picture = camera.shoot(states, "a title")
    assert picture.size == (3 * WIDTH, STRIP + 2 * HEIGHT)
    assert colours(picture, 2, 3, HEIGHT, WIDTH) == [*(state.colour for state in states), (255, 255, 255)]


def test_every_state_has_a_colour_of_its_own_in_the_legend():
    pixels = {tuple(pixel) for pixel in np.asarray(legend(1000)).reshape(-1, 3)}
    assert len({state.colour for state in State}) == len(State)
    assert {state.colour for state in State} <= pixels


def test_a_robot_that_moved_looks_different(camera):
    states = [State.ALONE] * 5
    before = np.asarray(camera.shoot(states, ""))
    camera.task.qpos[:, 0] = 1.0
    after = np.asarray(camera.shoot(states, ""))
    assert (before != after).any()
    np.testing.assert_array_equal(before[: 2 * STRIP], after[: 2 * STRIP])  # title and caption


def test_without_a_screen_mujoco_is_told_to_draw_without_one():
    bare = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "MUJOCO_GL")}
    told = "import os, iifl; print(os.environ.get('MUJOCO_GL'))"
    found = subprocess.run([sys.executable, "-c", told], env=bare, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ("egl" if sys.platform == "linux" else "None")


def test_films_have_all_their_pictures_and_a_legend(tmp_path):
    pictures = [Image.new("RGB", (300, 20), (shade, shade, shade)) for shade in (0, 100, 200, 50)]
    save_film(pictures, tmp_path / "film.webp", 0.05)
    film = Image.open(tmp_path / "film.webp")
    assert (film.n_frames, film.size) == (4, (300, 20 + STRIP))
    save_film(pictures, tmp_path / "sheet.png", 0.05)
    sheet = Image.open(tmp_path / "sheet.png")
    width, height = 300 + 2 * BORDER, 20 + 2 * BORDER
    assert sheet.size == (3 * width, 2 * height + STRIP)
    middles = [(column * width + 150, row * height + 15) for row in range(2) for column in range(3)]
    assert [sheet.getpixel(middle)[0] for middle in middles] == [0, 100, 200, 50, 255, 255]


def test_another_kind_of_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match="avi: a film is"):
        watch_people("reacher", tmp_path / "film.avi", robots=1, steps=1, every=1)


def test_a_world_without_bodies_cannot_be_filmed(tmp_path):
    with pytest.raises(ValueError, match="Navigation is not a MuJoCo world"):
        watch_people("navigation", tmp_path / "film.webp", robots=1, steps=1, every=1)


def test_a_fleet_at_work_is_filmed_with_the_people_who_help(camera, tmp_path):
    class Work:
        task = Reacher(2)

        def advance(self):
            self.task.step(np.zeros((2, 2), np.float32))
            return timestep(human_of=[0, NOBODY, 0, 0, 0]), None

    Work.task.reset()
    watch_fleet(Work(), tmp_path / "film.png", robots=6, steps=5, every=5)
    film = Image.open(tmp_path / "film.png")
    picture = film.crop((BORDER, BORDER, *film.size))
    found = colours(picture, 1, 2, 240 + STRIP + BORDER, 320 + 2 * BORDER)
    assert found == [State.HELPED.colour, State.ALONE.colour]


def test_people_are_filmed_until_their_episodes_are_over(camera, tmp_path):
    watch_people("reacher", tmp_path / "film.webp", robots=2, steps=1000, every=10)
    assert 1 < Image.open(tmp_path / "film.webp").n_frames <= Reacher.episode_steps / 10


@pytest.mark.parametrize("wrong", [["--robots", "0"], ["--steps", "0"], ["--every", "0"]])
def test_a_film_of_nothing_is_refused(wrong, capsys):
    with pytest.raises(SystemExit):
        main(["watch", "reacher", *wrong])
    assert f"{wrong[0][2:]} is 0" in capsys.readouterr().err
