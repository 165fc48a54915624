"""Tidy rows → one table, and its three renderings: the terminal (rich), Markdown and HTML.

Rows are algorithms, columns are metrics, a cell is our estimate with the paper's number beside it.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from rich.table import Table as RichTable
from rich.text import Text

from iifl.report.claims import shown, shown_unit
from iifl.report.markup import Markup, element, text
from iifl.report.results import Group, Results
from iifl.report.statistics import (
    SEEDS_FOR_QUARTILES,
    Estimate,
    decimals,
    deviation,
    interquartile_mean_estimate,
    number_text,
)
from iifl.report.story import Metric, PaperNumber, Story

Statistic = Literal["mean", "interquartile mean"]
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)

Form = Literal["interval", "deviation"]
"""How a cell shows its spread: "784 [680, 890]", or the paper's "784 ± 122"."""

NO_VALUE = "–"


@dataclass(frozen=True)
class Cell:
    """What was measured and what the paper reports, in the unit of the column; None where there is no number."""

    estimate: Estimate | None
    deviation: float | None
    paper: PaperNumber | None

    def measured_text(self, form: Form = "interval") -> str:
        """Our number with its spread."""
        if self.estimate is None:
            return NO_VALUE
        if form == "interval" or self.deviation is None:
            return str(self.estimate)
        return _plus_minus(self.estimate.value, self.deviation, decimals(self.estimate.value, self.deviation))

    def paper_text(self) -> str:
        """The paper's number, with the digits that the paper gives; empty where there is none."""
        if self.paper is None:
            return ""
        spread = 0.0 if self.paper.deviation is None else self.paper.deviation
        places = max(_given_decimals(self.paper.value), _given_decimals(spread))
        return _plus_minus(self.paper.value, self.paper.deviation, places)


@dataclass(frozen=True)
class TableRow:
    """One algorithm."""

    algorithm: str
    label: str
    seeds: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """One task under one kind of supervision."""

    caption: str
    statistic: Statistic
    columns: tuple[Metric, ...]
    rows: tuple[TableRow, ...]

    @property
    def titles(self) -> list[str]:
        """The head of each column: title, unit, and which way is better."""
        return [f"{metric.title}{_unit(metric)}{_ARROWS[metric.better]}" for metric in self.columns]

    @property
    def with_paper(self) -> list[bool]:
        """For each column, whether the paper has a number in it."""
        return [any(row.cells[i].paper for row in self.rows) for i in range(len(self.columns))]


def make_table(group: Group, story: Story, statistic: Statistic = "mean") -> Table:
    """The table of one group of rows; columns that no algorithm has a value for are left out."""
    measured = {row.metric for row in group.rows}
    columns = tuple(metric for metric in story.metrics if metric.name in measured)
    rows = []
    for algorithm in group.algorithms(story.algorithms):
        cells = tuple(_cell(group, story, algorithm, metric, statistic) for metric in columns)
        seeds = len({row.seed for row in group.rows if row.algorithm == algorithm})
        rows.append(TableRow(algorithm, story.label(algorithm), seeds, cells))
    words = [story.label(name) for name in (group.task, group.supervisors) if name]
    return Table(f"{', '.join(words)}: {statistic} over seeds", statistic, columns, tuple(rows))


def tables_of(results: Results) -> list[Table]:
    """The means of every group, and the interquartile means where there are seeds enough for them to differ."""
    tables = [make_table(group, results.story) for group in results.groups]
    for group, table in zip(results.groups, tuple(tables), strict=True):
        if min(row.seeds for row in table.rows) >= SEEDS_FOR_QUARTILES:
            tables.append(make_table(group, results.story, "interquartile mean"))
    return tables


def to_rich(table: Table, form: Form = "interval") -> RichTable:
    """For the terminal: one column per algorithm, the paper's number below ours, so that it fits the usual width."""
    rich = RichTable(title=table.caption, title_justify="left", header_style="bold")
    rich.add_column("Algorithm")
    for row in table.rows:
        rich.add_column(Text(row.label), justify="right")
    rich.add_row("Seeds", *(str(row.seeds) for row in table.rows))
    for i, (title, paper) in enumerate(zip(table.titles, table.with_paper, strict=True)):
        cells = [row.cells[i] for row in table.rows]
        rich.add_row(Text(title), *(Text(cell.measured_text(form)) for cell in cells))
        if paper:
            rich.add_row("  paper", *(Text(cell.paper_text() or NO_VALUE) for cell in cells), style="dim")
    return rich


def to_markdown(table: Table, form: Form = "interval") -> str:
    """For results that are committed."""
    head = ["Algorithm", "Seeds"]
    for title, paper in zip(table.titles, table.with_paper, strict=True):
        head += [title, "paper"] if paper else [title]
    lines = [head, [":--", *["--:"] * (len(head) - 1)]]
    for row in table.rows:
        lines.append([row.label, str(row.seeds), *_texts(table, row, form)])
    body = "\n".join("| " + " | ".join(map(_markdown_safe, line)) + " |" for line in lines)
    return f"{_markdown_safe(table.caption)}\n\n{body}\n"


def to_html(table: Table, form: Form = "interval") -> Markup:
    """For the page: one column per metric, the paper's number under ours, so that it fits a phone."""
    head = [element("th", "Algorithm", scope="col")]
    head += [element("th", title, scope="col") for title in table.titles]
    rows = [element("tr", *head)]
    body = []
    for row in table.rows:
        seeds = element("small", f"{row.seeds} seed{'' if row.seeds == 1 else 's'}")
        name = element("th", row.label, text(" "), seeds, scope="row")
        cells = zip(row.cells, table.with_paper, strict=True)
        body.append(element("tr", name, *(_html_cell(cell, paper, form) for cell, paper in cells)))
    caption = element("caption", table.caption)
    return element("table", caption, element("thead", *rows), element("tbody", *body), class_="numbers")


def _cell(group: Group, story: Story, algorithm: str, metric: Metric, statistic: Statistic) -> Cell:
    values = group.values(algorithm, metric.name)
    estimate = group.estimate(algorithm, metric)
    if statistic == "interquartile mean" and values:
        estimate = interquartile_mean_estimate(values)
    scale = 100.0 if metric.trials else 1.0
    spread = deviation(values) if values else None
    return Cell(
        None if estimate is None else shown(estimate, metric),
        None if spread is None else scale * spread,
        _paper_number(group, story, algorithm, metric, scale) if statistic == "mean" else None,
    )


def _paper_number(group: Group, story: Story, algorithm: str, metric: Metric, scale: float) -> PaperNumber | None:
    for number in story.paper:
        if (number.algorithm, number.metric) == (algorithm, metric.name) and group.has(number.task, number.supervisors):
            spread = None if number.deviation is None else round(scale * number.deviation, 9)
            return PaperNumber(metric.name, algorithm, round(scale * number.value, 9), spread)
    return None


def _texts(table: Table, row: TableRow, form: Form) -> list[str]:
    texts = []
    for cell, paper in zip(row.cells, table.with_paper, strict=True):
        texts.append(cell.measured_text(form))
        if paper:
            texts.append(cell.paper_text() or NO_VALUE)
    return texts


def _html_cell(cell: Cell, paper: bool, form: Form) -> Markup:
    ours = cell.measured_text(form)
    number, _, spread = ours.partition(" ")
    parts = [element("span", element("b", number), text(" "), element("span", spread, class_="spread"), class_="ours")]
    if paper:
        parts.append(element("span", f"paper {cell.paper_text() or NO_VALUE}", class_="paper"))
    return element("td", *parts)


_ARROWS = {"higher": "\N{NO-BREAK SPACE}↑", "lower": "\N{NO-BREAK SPACE}↓", "neither": ""}


def _unit(metric: Metric) -> str:
    unit = shown_unit(metric).strip()
    return f" ({unit})" if unit else ""


def _plus_minus(value: float, spread: float | None, places: int) -> str:
    text = number_text(value, places)
    return text if spread is None else f"{text} ± {number_text(spread, places)}"


def _given_decimals(value: float) -> int:
    """The decimals that a number was written with."""
    return len(f"{value:.9f}".rstrip("0").partition(".")[2])


_MARKDOWN_SPECIALS = str.maketrans({special: f"\\{special}" for special in "\\|`*_<>"} | {"\n": " "})


def _markdown_safe(content: str) -> str:
    return content.translate(_MARKDOWN_SPECIALS)
