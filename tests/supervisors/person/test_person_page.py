"""A person at the page, as a person is: a browser, a mouse, a keyboard, and the run in a terminal.

The world (`table.py`) has a picture of 100 pixels to the metre, and pushes of up to 0.5 m along each axis.
"""

import json
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from person_checks import BLOCK_PUSH, FAILED, NEEDS, PATIENCE, Page, Terminal, arguments, start_browser, wait_for
from table import ENTRIES

from iifl.cli import main
from iifl.records import NOBODY
from iifl.runs.journal import Journal
from iifl.tasks.block_push import BlockPush


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = start_browser(tmp_path_factory.mktemp("browser"))
    yield driver
    driver.quit()


@pytest.fixture(autouse=True)
def _nothing_is_left_running():
    yield
    Terminal.end_all()


def journal(out: Path):
    with Journal.open(out / "journal.sqlite", read_only=True) as book:
        return book.read(), book.transitions()


def meant(pixels: list[tuple[float, float]], cubes: np.ndarray) -> np.ndarray:
    """The actions that clicks mean, worked out from the cubes that were seen: 0.5 m is a whole action."""
    x, y = np.array(pixels).T
    way = np.stack([(x - 120) / 100, (100 - y) / 100], axis=1) - cubes
    return way / 0.5 / np.maximum(1, np.abs(way / 0.5).max(axis=1, keepdims=True))  # too long ones keep their direction


def test_what_is_clicked_is_what_the_robot_does_and_nothing_else(tmp_path, browser):
    """Clicks, a click beside the table, late and double clicks, a reload, a failure: T = 7 timesteps."""
    run = Terminal(tmp_path / "run")
    page = Page(browser, run.addresses()[0])
    page.sees(NEEDS, "1")
    robot = int(page.text("headline").split()[1])
    assert "highest of all" in page.text("badge")
    assert not page.find("reset").is_enabled()

    page.over(120, 100).perform()
    assert page.find("arrow").value_of_css_property("visibility") == "visible"
    tip = page.find("head").get_attribute("transform")  # translate(x y) …
    page.click_whatever_appears()  # as the second half of a slow double click would
    clicks = [page.click(120, 100)]
    page.sees(NEEDS, "2")

    first = page.ticket()
    page.click(8, 100)  # in the picture, but beside the table
    wait_for(lambda: "outside the table" in page.text("notice"), "the reason")
    page.press("r")  # the robot has not failed
    page.driver.refresh()
    page.watch_clicks()
    page.sees(NEEDS, "2")
    assert page.ticket() == first
    page.over(140, 90).double_click().perform()
    clicks.append(page.clicked())
    page.sees(NEEDS, "3")
    time.sleep(0.3)
    assert page.text("progress").startswith("timestep 3 ")  # the second click of the two did nothing
    assert page.post("push", json.dumps({"ticket": first, "x": 100, "y": 100}))[0] == 409
    assert page.post("reset", json.dumps({"ticket": page.ticket()}))[0] == 422

    clicks.append(page.click(170, 100))
    page.sees(NEEDS, "4")
    clicks.append(page.click(218, 100))  # 0.98 m from the middle: the cube falls
    page.sees(FAILED, "5")
    page.click(120, 100)
    wait_for(lambda: "can only be reset" in page.text("notice"), "the reason")
    page.find("reset").click()
    page.sees(NEEDS, "7")  # t_R = 2
    assert page.text("given") == "From you so far: 4 moves and 1 hard reset"
    clicks.append(page.click(120, 100))
    page.sees("The run is finished")
    assert run.process.wait(PATIENCE) == 0
    assert page.text("given") == "From you: 5 moves and 1 hard reset"

    history, (cubes, actions, humans) = journal(tmp_path / "run")
    assert [len(actions), *humans] == [5, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(actions, meant(clicks, cubes), atol=1e-5)
    end = cubes[0] + 0.5 * actions[0]  # where the arrow pointed before the first click
    np.testing.assert_allclose(
        [float(word) for word in tip[10 : tip.index(")")].split()], [120, 100] + end * [100, -100], atol=1
    )
    assert np.flatnonzero(history["human_of"][0] != NOBODY).tolist() == [robot]
    assert history["taught"][:, robot].tolist() == [True] * 4 + [False] * 2 + [True]
    assert history["hard_reset"][:, robot].nonzero()[0].tolist() == [5]


def test_block_pushing_by_a_person_goes_on_after_a_kill_and_asks_for_nothing_twice(tmp_path, browser):
    """The command of the documentation; the policy learns at every timestep. What clicks mean is worked out here."""
    options = BLOCK_PUSH | {"fleet__timesteps": 3, "learning__update_every": 1}
    run = Terminal(tmp_path / "run", ("-m", "iifl"), **options)
    page = Page(browser, run.addresses()[0])
    page.sees(NEEDS, "1")
    robot = int(page.text("headline").split()[1])
    world = BlockPush(4, seed=0)
    world.reset()
    per_metre = 512 / (2 * (1.5 - 0.02) * np.tan(np.radians(18 / 2)))  # at the height of the cube's centre
    clicks, expected = [], np.zeros((3, 4, 2), np.float32)
    for t in range(3):
        x, y = world.qpos[robot, :2]
        along = np.array([-y, x]) / np.hypot(x, y)  # past the obstacle
        clicks.append(page.click(*(256 + per_metre * (np.array([x, y]) + 0.03 * along) * [1, -1])))
        target = (np.array(clicks[t]) - 256) / per_metre * [1, -1]
        expected[t, robot] = (target - [x, y]) / 0.1
        world.step(expected[t])
        if t == 1:
            page.sees(NEEDS, "3")
            run.end(signal.SIGKILL)
            page.sees("The program cannot be reached")
            run = Terminal(tmp_path / "run", ("-m", "iifl"), **options)  # from its checkpoint before the first timestep
            page = Page(browser, run.addresses()[0])
        if t < 2:
            page.sees(NEEDS, str(t + 2))
            assert page.text("given") == f"From you so far: {t + 1} move{'s' * t}"
    page.sees("The run is finished")
    assert run.process.wait(PATIENCE) == 0

    history, (images, actions, _) = journal(tmp_path / "run")
    assert history["taught"][:, robot].tolist() == [True] * 3
    assert images.shape == (3, 64, 64, 3)
    np.testing.assert_allclose(actions, expected[:, robot], atol=1e-4)
    answers = [json.loads(line) for line in (tmp_path / "run" / "answers.jsonl").read_text().splitlines()]
    assert [answer["timestep"] for answer in answers] == [0, 1, 2]
    np.testing.assert_allclose([answer["pixel"] for answer in answers], clicks, atol=1e-3)


def test_two_people_have_a_page_each_and_the_fleet_waits_for_both(tmp_path, browser):
    """The run is then stopped from the terminal, which the pages tell."""
    run = Terminal(tmp_path / "run", fleet__humans=2, fleet__minimum_intervention=1, fleet__timesteps=3)
    everybody, *addresses = run.addresses(3)
    first, second = (Page(browser, address) for address in addresses)
    second.sees(NEEDS, "1")
    assert second.text("who") == "Person 2"
    theirs = second.text("headline")
    second.click(120, 100)
    second.sees("No robot needs you now", "1")
    browser.switch_to.window(first.window)
    first.sees(NEEDS, "1")
    assert first.text("headline") != theirs
    first.click(120, 100)
    first.sees(NEEDS, "2")
    alone = Page(browser, everybody)
    alone.sees(NEEDS, "2")
    robots = [alone.text("headline")]
    alone.click(120, 100)
    wait_for(lambda: alone.text("headline") not in robots, "the other robot")
    alone.sees(NEEDS, "2")
    robots.append(alone.text("headline"))
    alone.click(120, 100)
    alone.sees(NEEDS, "3")
    assert alone.text("given") == "From you so far: 4 moves"
    assert run.end(signal.SIGINT) == 130
    for page in (first, second, alone):
        browser.switch_to.window(page.window)
        page.sees("The run was stopped")
    history, (_, _, humans) = journal(tmp_path / "run")
    assert len(history["taught"]) == 2
    assert sorted(humans.tolist()) == [0, 0, 1, 1]


def test_a_fleet_that_needs_nobody_waits_for_nobody(tmp_path, browser, monkeypatch):
    """Only failed robots want help here, and none fails. The run opens its page itself."""
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("DISPLAY", ":0")
    for registry, entries in ENTRIES.items():
        monkeypatch.setattr(registry, "_entries", registry._entries | entries)
    words = arguments(tmp_path / "run", task="meadow", algorithm="ibc", fleet__timesteps=100)
    run = threading.Thread(target=main, args=(words,), daemon=True)
    run.start()
    page = Page(browser, wait_for(lambda: opened and opened[0], "the page"))
    seen = set()
    while page.text("headline") != "The run is finished":
        seen.add((page.text("headline"), page.find("help").is_displayed()))
    assert ("No robot needs you", False) in seen
    assert not any(shown for _, shown in seen)
    assert page.text("given") == ""
    run.join()
