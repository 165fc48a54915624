"""One table, three renderings: all of them show the numbers of the rows."""

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from iifl.report.results import Results, Row, load_results, write_summary
from iifl.report.story import Metric, PaperNumber, Story
from iifl.report.tables import Cell, Table, make_table, tables_of, to_html, to_markdown, to_rich


@pytest.fixture
def results(folder: Path) -> Results:
    return load_results([folder])[0]


@pytest.fixture
def table(results: Results) -> Table:
    return tables_of(results)[0]


class _Cells(HTMLParser):
    """The texts of a table's cells, row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.scopes: list[str | None] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self._inside = True
            self.rows[-1].append("")
            if tag == "th":
                self.scopes.append(dict(attrs).get("scope"))

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag not in ("th", "td")

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.rows[-1][-1] += data + " "


def _numbers(text: str) -> list[float]:
    found = re.findall(r"−?[\d,]*\.?\d+", text)
    return [float(number.replace(",", "").replace("−", "-")) for number in found]


def test_html_shows_the_means_and_intervals_of_the_rows(table: Table, rows: list[Row]) -> None:
    parser = _Cells()
    parser.feed(to_html(table))
    head, *body = parser.rows
    assert [cell.strip() for cell in head] == [
        "Algorithm",
        "Success (%)\N{NO-BREAK SPACE}↑",
        "Human actions\N{NO-BREAK SPACE}↓",
    ]
    assert parser.scopes == ["col"] * 3 + ["row"] * 3
    for line, algorithm in zip(body, ("bc", "ibc", "iifl"), strict=True):
        assert line[0].startswith(algorithm.upper())
        for text, metric, scale in zip(line[1:], ("success_rate", "human_actions"), (100.0, 1.0), strict=True):
            values = [scale * row.value for row in rows if (row.algorithm, row.metric) == (algorithm, metric)]
            numbers = _numbers(text.partition("paper")[0])
            if not values:
                assert text.strip().startswith("–")
                continue
            mean, low, high = numbers
            assert mean == pytest.approx(np.mean(values), abs=0.2 * (high - low))
            assert low <= min(values) + 0.5
            assert high >= max(values) - 0.5
    assert _numbers(body[2][1].partition("paper")[2]) == [100.0]
    assert _numbers(body[2][2].partition("paper")[2]) == [2000.5, 12.25]


def test_markdown_and_terminal_show_the_same_numbers(table: Table) -> None:
    lines = [line.strip("| ").split(" | ") for line in to_markdown(table).splitlines() if line.startswith("|")]
    assert lines[0] == [
        "Algorithm",
        "Seeds",
        "Success (%)\N{NO-BREAK SPACE}↑",
        "paper",
        "Human actions\N{NO-BREAK SPACE}↓",
        "paper",
    ]
    console = Console(width=200, record=True, quiet=False, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    console.print(to_rich(table))
    terminal = [line for line in console.export_text().splitlines() if line.startswith("│")]
    found = [[cell.strip() for cell in line.strip("│").split("│")] for line in terminal]
    assert found == [list(column) for column in zip(lines[0], *lines[2:], strict=True)][1:]
    assert lines[4] == ["IIFL", "3", "98.3 [96.2, 100.0]", "100", "2,169 [1,988, 2,409]", "2,000.50 ± 12.25"]


def test_the_papers_form(table: Table) -> None:
    iifl = table.rows[2].cells[1]
    assert iifl.measured_text("deviation") == "2,169 ± 177"
    assert "| 2,169 ± 177 | 2,000.50 ± 12.25 |" in to_markdown(table, "deviation")


def test_columns_without_a_number_of_the_paper_do_not_mention_it(results: Results) -> None:
    story = Story("t", "s", results.story.metrics, paper=(PaperNumber("success_rate", "iifl", 1.0),))
    assert make_table(results.groups[0], story).with_paper == [True, False]


def test_paper_numbers_go_to_their_task_only(results: Results) -> None:
    story = Story("t", "s", results.story.metrics, paper=(PaperNumber("success_rate", "iifl", 1.0, task="other"),))
    assert make_table(results.groups[0], story).with_paper == [False, False]


def test_paper_numbers_keep_their_digits() -> None:
    shown = [
        Cell(None, None, PaperNumber("m", "a", value, spread)).paper_text()
        for value, spread in ((784.26, 122.41), (7.0, 2.2), (0.0, 0.0), (100.0, None), (0.0385, 0.0205))
    ]
    assert shown == ["784.26 ± 122.41", "7.0 ± 2.2", "0 ± 0", "100", "0.0385 ± 0.0205"]


def test_four_seeds_add_the_interquartile_mean(tmp_path: Path) -> None:
    values = (1.0, 2.0, 4.0, 1000.0)
    write_summary(tmp_path, [Row("e", "t", "a", "s", seed, "cpu", "m", value) for seed, value in enumerate(values)])
    mean, quartiles = tables_of(load_results([tmp_path])[0])
    assert [table.rows[0].cells[0].estimate.value for table in (mean, quartiles)] == [251.75, 3.0]  # type: ignore[union-attr]


def test_markdown_cannot_be_broken_by_names() -> None:
    rows = (Row("e", "t|<b>", "a|*b*\nc", "s", 0, "cpu", "m", 1.0),)
    results = Results("e", "cpu", rows, Story("t", "s", (Metric("m", "M|N"),)), (), ())
    text = to_markdown(tables_of(results)[0])
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 3
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {4}
    assert "<b>" not in text.replace("\\<b\\>", "")
