"""Result folders: what is written is read back, and what is wrong is named."""

import ast
import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import iifl.report
from iifl.report.results import Row, load_results, read_summary, write_summary
from iifl.report.story import Claim, Metric, PaperNumber, Story, read_story, write_story
from iifl.report.strict import ReportError


def test_what_is_written_is_read_back(folder: Path, rows: list[Row], story: Story) -> None:
    assert list(read_summary(folder / "summary.json")) == rows
    assert read_story(folder / "report.json") == story


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "no such file"),
        ("[{", "not readable as JSON"),
        ("\udcff", "not readable as JSON"),
        ("[]", "at least one row"),
        ("{}", "list of rows"),
        ("[1]", "row 0: must be an object"),
        ('[{"experiment": "x"}]', "row 0: the entry 'task' is missing"),
    ],
)
def test_a_bad_summary_is_named(tmp_path: Path, content: str | None, problem: str) -> None:
    path = tmp_path / "summary.json"
    if content is not None:
        path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(ReportError, match=f"summary.json.*{problem}"):
        read_summary(path)


@pytest.mark.parametrize(
    ("entry", "value", "problem"),
    [
        ("value", "12", "row 0.value: must be a number"),
        ("value", True, "row 0.value: must be a number"),
        ("value", float("nan"), "NaN is not a number"),
        ("seed", 1.5, "row 0.seed: must be a whole number"),
        ("task", None, "row 0.task: must be a string"),
        ("metrik", "x", "unknown entry 'metrik': did you mean 'metric'"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, rows: list[Row], entry: str, value: object, problem: str) -> None:
    path = tmp_path / "summary.json"
    path.write_text(json.dumps([asdict(rows[0]) | {entry: value}]))
    with pytest.raises(ReportError, match=problem):
        read_summary(path)


def test_a_number_measured_twice_is_refused(tmp_path: Path, rows: list[Row]) -> None:
    with pytest.raises(ReportError, match=r"more than one value for success_rate of bc on maze .*seed 0"):
        write_summary(tmp_path, [*rows, replace(rows[0], value=0.5)])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"claims": [{"text": "c", "metric": "m", "algorithm": "a", "relation": "above", "bound": 1}]},
            "relation: 'above'",
        ),
        ({"claims": [{"text": "c", "metric": "m", "algorithm": "a", "relation": "at most"}]}, "either a bound or"),
        ({"claims": [{"text": "c", "metric": "n", "algorithm": "a", "relation": "at most", "bound": 1}]}, "metric 'n'"),
        ({"metrics": [{"name": "m", "title": 3}]}, r"metrics\[0\].title: must be a string"),
        ({"settings": {"N": 100}}, "settings.N: must be a string"),
        ({"figures": [{"file": "../x", "caption": "", "description": ""}]}, "plain file name"),
    ],
)
def test_a_bad_story_is_named(tmp_path: Path, change: dict[str, object], problem: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"title": "t", "summary": "s", "metrics": [{"name": "m", "title": "M"}]} | change))
    with pytest.raises(ReportError, match=f"report.json.*{problem}"):
        read_story(path)


def test_a_claim_needs_one_bound() -> None:
    with pytest.raises(ValueError, match="either"):
        Claim("c", "m", "a", "at least", 1.0, against=("b",))
    with pytest.raises(ValueError, match="did you mean 'successes'"):
        Story("t", "s", (Metric("successes", "S"),), paper=(PaperNumber("succeses", "a", 1),))


def test_folders_of_one_experiment_become_one(tmp_path: Path, rows: list[Row], story: Story) -> None:
    for seed in range(3):
        (tmp_path / str(seed)).mkdir()
        write_summary(tmp_path / str(seed), [row for row in rows if row.seed == seed])
    write_story(tmp_path / "1", story)
    (results,) = load_results([tmp_path])
    assert sorted(results.rows, key=str) == sorted(rows, key=str)
    assert results.story == story
    write_story(tmp_path / "2", replace(story, settings={"Robots N": "4"}))
    with pytest.raises(ReportError, match="differently"):
        load_results([tmp_path])


def test_scales_are_never_mixed(tmp_path: Path, rows: list[Row]) -> None:
    paper = [replace(row, scale="paper") for row in rows]
    with pytest.raises(ReportError, match="one experiment at one scale"):
        write_summary(tmp_path, rows + paper)
        load_results([tmp_path])
    for name, some in (("a", rows), ("b", paper)):
        (tmp_path / name).mkdir()
        write_summary(tmp_path / name, some)
    assert [results.scale for results in load_results([tmp_path / "a", tmp_path / "b"])] == ["smoke", "paper"]


def test_a_folder_without_results_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"neither this folder nor .* summary.json"):
        load_results([tmp_path])
    with pytest.raises(ReportError, match="no result folder given"):
        load_results([])


def test_trials_of_every_seed_are_needed(tmp_path: Path, rows: list[Row], story: Story) -> None:
    write_summary(tmp_path, [row for row in rows if (row.metric, row.seed) != ("trials", 2)])
    write_story(tmp_path, story)
    (results,) = load_results([tmp_path])
    with pytest.raises(ReportError, match=r"success_rate.*seeds \[0, 1, 2\].*'trials' has seeds \[0, 1\]"):
        results.groups[0].estimate("bc", story.metrics[0])


def test_the_report_reads_files_only() -> None:
    """It imports nothing of the project but itself and the registry's hint for mistyped names."""
    for path in Path(iifl.report.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            own = [name for name in modules if name.split(".")[0] == "iifl"]
            assert all(name.startswith("iifl.report") or name == "iifl.registry" for name in own), path
