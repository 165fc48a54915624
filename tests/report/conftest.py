"""Made-up results, for these tests only."""

from pathlib import Path

import pytest

from iifl.report.results import Row, write_summary
from iifl.report.story import Claim, Difference, FigureNote, Metric, PaperNumber, Story, write_story

SUCCESS = {"bc": (0.0, 0.01, 0.0), "ibc": (0.02, 0.05, 0.03), "iifl": (0.97, 1.0, 0.98)}
ACTIONS = {"ibc": (1250.0, 1310.5, 1190.25), "iifl": (2111.0, 2409.0, 1987.5)}


@pytest.fixture
def rows() -> list[Row]:
    made = []
    for algorithm, rates in SUCCESS.items():
        for seed, rate in enumerate(rates):
            made.append(_row(algorithm, seed, "success_rate", rate))
            made.append(_row(algorithm, seed, "trials", 100))
    for algorithm, values in ACTIONS.items():
        made += [_row(algorithm, seed, "human_actions", value) for seed, value in enumerate(values)]
    return made


@pytest.fixture
def story() -> Story:
    return Story(
        title="A maze",
        summary="One paragraph.",
        metrics=(
            Metric("success_rate", "Success", "higher", trials="trials"),
            Metric("human_actions", "Human actions", "lower"),
        ),
        reference="Figure 1",
        algorithms=("bc", "ibc", "iifl"),
        labels={"maze": "Maze"},
        paper=(PaperNumber("success_rate", "iifl", 1.0), PaperNumber("human_actions", "iifl", 2000.5, 12.25)),
        claims=(
            Claim("IIFL arrives.", "success_rate", "iifl", "at least", 0.95),
            Claim("IIFL asks for less.", "human_actions", "iifl", "less than", against=("ibc",)),
        ),
        settings={"Robots N": "100"},
        differences=(Difference("T = 10,000.", "T = 2,000.", "It fits a small machine."),),
        commands=("iifl reproduce maze",),
    )


@pytest.fixture
def folder(tmp_path: Path, rows: list[Row], story: Story) -> Path:
    path = tmp_path / "maze"
    path.mkdir()
    write_summary(path, rows)
    write_story(path, story)
    return path


@pytest.fixture
def figure_note() -> FigureNote:
    return FigureNote("final", "A caption.", "A description.")


def _row(algorithm: str, seed: int, metric: str, value: float) -> Row:
    return Row("maze", "maze", algorithm, "scripted", seed, "smoke", metric, value)
