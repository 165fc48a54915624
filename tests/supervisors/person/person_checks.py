"""A person for tests: a run at a terminal, and a browser that is driven by mouse and keys."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

TABLE = Path(__file__).with_name("table.py")
PATIENCE = 60.0  # s, on a machine that has other things to do
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=1100,900", "--no-first-run", "--disable-quic")
QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync")  # nothing but our page
NEEDS, FAILED = "a robot needs you", "a robot has failed"
ROBOTS = {NEEDS: [f"Robot {i} needs you" for i in range(4)], FAILED: [f"Robot {i} has failed" for i in range(4)]}
"""What a headline says of one robot or another."""
SMALL = {
    "task": "table",
    "supervisor": "me",
    "fleet.robots": 4,
    "fleet.humans": 1,
    "fleet.timesteps": 7,
    "fleet.minimum-intervention": 7,  # nobody but the first robot is helped
    "fleet.reset-steps": 2,
    "learning.demonstrations": 2,
    "learning.pretraining-steps": 2,
    "learning.update-every": 3,
    "learning.steps-per-timestep": 1,
    "allocation.threshold": 0,  # every robot wants help
    "policy.width": 8,
    "policy.correction-width": 8,
}
BLOCK_PUSH = {
    "task": "block-push",
    "learning__pairs": 8,
    "learning__augmentation": 2,
    "policy__width": 16,
    "policy__correction_width": 16,
}


def wait_for(condition, what: str):
    """What the condition gives, once that is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")


def arguments(out: Path, **options) -> list[str]:
    """Of a small run: the options of `SMALL`, and others in their place (`fleet__robots` for `fleet.robots`)."""
    given = SMALL | {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    return ["run", "--out", str(out), *(word for name, value in given.items() for word in (f"--{name}", str(value)))]


class Terminal:
    """A run that somebody has started in a terminal."""

    started: ClassVar[list["Terminal"]] = []

    def __init__(self, out: Path, program: tuple[str, ...] = (str(TABLE),), **options) -> None:
        self.out, self.log = out, out.with_suffix(f".{time.monotonic_ns()}.txt")
        command = [sys.executable, *program, *arguments(out, **options), "--no-browser"]
        with self.log.open("w") as log:
            one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=one_thread)
        self.started.append(self)

    def addresses(self, pages: int = 1) -> list[str]:
        def printed():
            assert self.process.poll() is None, self.log.read_text()
            found = re.findall(r"^[\w ]+: (http://\S+/)$", self.log.read_text(), re.MULTILINE)
            return found if len(found) == pages else None

        return wait_for(printed, "the addresses")

    @classmethod
    def end_all(cls) -> None:
        """Leave nothing running behind, whatever a test has come to."""
        while cls.started:
            cls.started.pop().end(signal.SIGKILL)

    def end(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)


class Page:
    """One page, as its person sees and uses it."""

    def __init__(self, driver: webdriver.Chrome, address: str) -> None:
        self.driver = driver
        driver.switch_to.new_window("tab")
        self.window = driver.current_window_handle
        driver.get(address)
        self.watch_clicks()

    def watch_clicks(self) -> None:
        """Keep where the last click was in the window of the browser, as the browser tells it."""
        self.driver.execute_script("addEventListener('pointerup', (e) => { window.last = [e.clientX, e.clientY]; })")

    def click_whatever_appears(self) -> None:
        """From now on to the next reload, click at the middle of every new picture the moment it is there."""
        self.driver.execute_script("""
            const image = document.getElementById("picture");
            new MutationObserver(() => {
                const box = image.getBoundingClientRect();
                const at = { bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
                for (const kind of ["pointerdown", "pointerup"]) image.dispatchEvent(new PointerEvent(kind, at));
            }).observe(image, { attributeFilter: ["src"] });
        """)

    def find(self, name: str):
        return self.driver.find_element(By.ID, name)

    def text(self, name: str) -> str:
        return self.driver.execute_script("return document.getElementById(arguments[0]).textContent", name)

    def sees(self, headline: str, timestep: str = "") -> None:
        """Wait until this is what the page says."""

        def said() -> bool:
            pale = "pale" in (self.find("main").get_attribute("class") or "")
            there = not timestep or self.text("progress").startswith(f"timestep {timestep} ")
            return there and not pale and self.text("headline") in ROBOTS.get(headline, (headline,))

        try:
            wait_for(said, f"'{headline}', timestep {timestep}")
        except AssertionError as error:
            page = {name: self.text(name) for name in ("headline", "advice", "progress", "notice", "given")}
            raise AssertionError(f"{error}; the page says {page}") from None
        time.sleep(0.36)  # as long as a person needs to look, and the page to take a click for meant

    def ticket(self) -> int:
        return int(self.find("picture").get_attribute("src").rsplit("/", 1)[1])

    def over(self, x: float, y: float) -> ActionChains:
        """The mouse over this pixel of the picture."""
        picture = self.find("picture")
        scale = picture.rect["width"] / self.driver.execute_script("return arguments[0].naturalWidth", picture)
        height = picture.rect["height"]
        return ActionChains(self.driver, duration=0).move_to_element_with_offset(
            picture, round(x * scale - picture.rect["width"] / 2), round(y * scale - height / 2)
        )

    def click(self, x: float, y: float) -> tuple[float, float]:
        """Click at about this pixel of the picture, and say at which it was."""
        self.over(x, y).click().perform()
        return self.clicked()

    def clicked(self) -> tuple[float, float]:
        """The pixel of the picture where the last click was."""
        script = """
            const image = document.getElementById("picture"), box = image.getBoundingClientRect();
            return [box.left, box.top, box.width, box.height, image.naturalWidth, image.naturalHeight, ...window.last]
        """
        left, top, width, height, columns, rows, x, y = self.driver.execute_script(script)
        return (x - left) / width * columns, (y - top) / height * rows

    def press(self, key: str) -> None:
        ActionChains(self.driver).send_keys(key).perform()

    def post(self, what: str, message: str) -> tuple[int, str]:
        """What a page that is behind the times would send."""
        script = """
            const [what, body, done] = arguments;
            fetch(what, {method: "POST", body}).then(async (r) => done([r.status, await r.text()]));
        """
        return tuple(self.driver.execute_async_script(script, what, message))


def start_browser(folder: Path) -> webdriver.Chrome:
    """A browser with nothing in it, or skip the test where there is none."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("no browser to drive: `apt-get install chromium chromium-driver`, as .ci/run does")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, *QUIET, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    os.environ.setdefault("SE_OFFLINE", "true")
    return webdriver.Chrome(options, Service(driver))
