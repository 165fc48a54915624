"""Result folders → one HTML page that needs nothing else: readable on a phone, on a screen and in print."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from iifl.report.claims import Outcome, Verdict, judge_all
from iifl.report.images import image
from iifl.report.markup import Markup, element, text
from iifl.report.results import FIGURE_ENDINGS, Results, load_results
from iifl.report.story import Claim, FigureNote
from iifl.report.strict import ReportError
from iifl.report.tables import STATISTICS, Table, tables_of, to_html

_PAPER = "“IIFL: Implicit Interactive Fleet Learning from Heterogeneous Human Supervisors”, CoRL 2023"
_TITLE_OF_MANY = "Implicit interactive fleet learning: our results beside the paper’s"
_HOW_TO_READ = (
    "In brackets: the 95 % interval. Means over seeds have a bootstrap interval; success rates have Wilson’s, over all "
    "trials, widened where the seeds differ by more. "
)
_FEW_SEEDS = "With so few seeds the bootstrap tends to be too narrow: take these intervals as a lower bound. "
_ONE_SEED = "A mean from a single seed has no interval. "
_PAPER_SPREAD = "The paper’s numbers are given as mean ± standard deviation. "
_ENOUGH_SEEDS = 10


def build_report(folders: Sequence[Path], out: Path) -> Path:
    """Write the page about all experiments in `folders` to the file `out`."""
    everything = load_results(folders)
    if len(everything) == 1:
        title = everything[0].story.title
        body = _experiment(everything[0], judge_all(everything[0]), level=1)
    else:
        title, body = _TITLE_OF_MANY, _many(everything)
    package = files("iifl.report")
    page = Template(package.joinpath("page.html").read_text(encoding="utf-8")).substitute(
        title=text(title), style=package.joinpath("page.css").read_text(encoding="utf-8"), body=body
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page, encoding="utf-8")
    return out


def _many(everything: Sequence[Results]) -> Markup:
    judged = [judge_all(results) for results in everything]
    entries, articles = [], []
    for number, (results, verdicts) in enumerate(zip(everything, judged, strict=True), start=1):
        name = f"experiment-{number}"
        link = element("a", f"{results.story.title} ({results.scale})", href=f"#{name}")
        entries.append(element("li", link, element("span", _count_text(_outcomes(verdicts)))))
        articles.append(element("article", _experiment(results, verdicts, level=2), id=name))
    verdict = _verdict_text([outcome for verdicts in judged for outcome in _outcomes(verdicts)])
    lead = f"{len(everything)} experiments, measured anew and set beside {_PAPER}. {verdict}"
    return _join(
        element("header", element("h1", _TITLE_OF_MANY), element("p", lead, class_="lead")),
        element("nav", element("ul", *entries, class_="contents"), aria_label="Experiments"),
        *articles,
    )


def _experiment(results: Results, verdicts: Sequence[Verdict], level: int) -> Markup:
    story = results.story
    heading = f"h{level + 1}"
    origin = " · ".join(filter(None, [story.reference, f"experiment {results.experiment}", f"scale {results.scale}"]))
    parts = [
        element("p", origin, class_="origin"),
        element(f"h{level}", story.title),
        element("p", story.summary, class_="lead"),
    ]
    if verdicts:
        parts.append(element("p", _verdict_text(_outcomes(verdicts))))
    sections: dict[str, Iterable[Markup]] = {
        "Results": _tables(results),
        "The paper’s claims": _claims(results, verdicts),
        "Figures": _figures(results),
        "What differs from the paper, and why": _differences(results),
        "Settings": _definitions(story.settings),
        "Run it again": [element("pre", element("code", "\n".join(story.commands)))] if story.commands else [],
        "Made with": [part for manifest in results.manifests for part in _definitions(_flat(manifest))],
    }
    for title, content in sections.items():
        inside = list(content)
        if inside:
            parts.append(element("section", element(heading, title), *inside))
    return _join(*parts)


def _tables(results: Results) -> list[Markup]:
    tables = tables_of(results)
    means, quartiles = ([table for table in tables if table.statistic == name] for name in STATISTICS)
    parts = [_scrollable(to_html(table), table.caption) for table in means]
    if quartiles:
        folded = [_scrollable(to_html(table), table.caption) for table in quartiles]
        summary = element("summary", "Interquartile means, which one outlying seed hardly moves")
        parts.append(element("details", summary, *folded))
    return [*parts, element("p", _how_to_read(tables), class_="note")]


def _how_to_read(tables: Sequence[Table]) -> str:
    seeds = [row.seeds for table in tables for row in table.rows]
    note = _HOW_TO_READ if max(seeds) > 1 else ""
    note += _ONE_SEED if min(seeds) == 1 else ""
    note += _FEW_SEEDS if 1 < max(seeds) < _ENOUGH_SEEDS else ""
    return note + (_PAPER_SPREAD if any(any(table.with_paper) for table in tables) else "")


def _claims(results: Results, verdicts: Sequence[Verdict]) -> list[Markup]:
    """One entry per claim, with what was measured in every group of rows that it is about."""
    items = []
    for claim, some in _by_claim(verdicts).items():
        outcomes = [verdict.outcome for verdict in some]
        worst = _worst(some)
        agreed = f"{_MARKS[worst]} {worst.capitalize()}"
        mixed = f"{_MARKS[worst]} Confirmed in {outcomes.count('confirmed')} of {len(outcomes)}"
        measured = [element("p", _measured(results, verdict), class_="measured") for verdict in some]
        heading = element("p", agreed if len(set(outcomes)) == 1 else mixed, class_="verdict")
        items.append(element("li", heading, element("p", claim.text), *measured, class_=worst.replace(" ", "-")))
    return [element("ul", *items, class_="claims")] if items else []


def _measured(results: Results, verdict: Verdict) -> str:
    numbers = ". ".join(filter(None, (verdict.measured, verdict.caveat))) + "."
    if len(results.groups) == 1:
        return numbers
    names = filter(None, (verdict.task, verdict.supervisors))
    return f"{_MARKS[verdict.outcome]} {', '.join(map(results.story.label, names))}: {numbers}"


_MARKS = {"confirmed": "✓", "not measured": "–", "not confirmed": "✗"}  # from best to worst


def _by_claim(verdicts: Sequence[Verdict]) -> dict[Claim, list[Verdict]]:
    found: dict[Claim, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.claim, []).append(verdict)
    return found


def _worst(verdicts: Sequence[Verdict]) -> Outcome:
    return max((verdict.outcome for verdict in verdicts), key=list(_MARKS).index)


def _outcomes(verdicts: Sequence[Verdict]) -> list[Outcome]:
    """What became of each claim: of several worlds the worst, so that confirmed means confirmed in all."""
    return [_worst(some) for some in _by_claim(verdicts).values()]


def _figures(results: Results) -> list[Markup]:
    told = list(results.story.figures)
    names = dict.fromkeys(
        path.stem for folder in results.folders for path in sorted(folder.iterdir()) if path.suffix in FIGURE_ENDINGS
    )
    for name in names:
        if name not in [note.file for note in told]:
            caption = name.replace("_", " ").replace("-", " ").capitalize()
            told.append(FigureNote(name, caption, f"Figure: {caption}"))
    parts = []
    for number, note in enumerate(told, start=1):
        path = results.figure(note.file)
        if path is None:
            where = " or ".join(str(folder) for folder in results.folders)
            raise ReportError(f"{where}: there is no {note.file}.svg or {note.file}.png, which the report names")
        named = note.caption.startswith("Figure")  # by the paper's number
        caption = element(
            "figcaption", *([] if named else [element("b", f"Figure {number}."), text(" ")]), note.caption
        )
        picture = _scrollable(image(path, note.description), f"Figure {number}")
        parts.append(element("figure", picture, caption))
    return parts


def _differences(results: Results) -> list[Markup]:
    items = [
        element(
            "li",
            element("p", element("b", item.here), f" The paper: {item.paper}"),
            element("p", item.why, class_="note"),
        )
        for item in results.story.differences
    ]
    return [element("ul", *items, class_="differences")] if items else []


def _definitions(entries: Mapping[str, str]) -> list[Markup]:
    pairs = [element("dt", name) + element("dd", value) for name, value in entries.items()]
    return [element("dl", *map(Markup, pairs))] if pairs else []


def _flat(data: Any, name: str = "") -> dict[str, str]:
    """Nested JSON as one level of names and texts."""
    if isinstance(data, dict):
        inner = {f"{name}.{key}".lstrip("."): value for key, value in data.items()}
        return {key: value for outer, below in inner.items() for key, value in _flat(below, outer).items()}
    if isinstance(data, list):
        return {name: ", ".join(map(str, data))}
    return {name or "manifest": str(data)}


def _verdict_text(outcomes: Sequence[Outcome]) -> str:
    """How many of the claims hold, in one sentence."""
    total = len(outcomes)
    if not outcomes:
        return "No claim of the paper is tested here."
    if outcomes.count("confirmed") == total:
        return "The claim tested here is confirmed." if total == 1 else f"All {total} tested claims are confirmed."
    return f"Of {total} tested claim{'' if total == 1 else 's'}: {_count_text(outcomes)}."


def _count_text(outcomes: Sequence[Outcome]) -> str:
    counts = Counter(outcomes)
    named = [f"{counts[name]} {name}" for name in ("confirmed", "not confirmed", "not measured") if counts[name]]
    return ", ".join(named) or "no claims"


def _scrollable(content: Markup, name: str) -> Markup:
    """Content that may be wider than a phone: it scrolls on its own, with the keyboard too."""
    return element("div", content, class_="scroll", tabindex="0", role="region", aria_label=name)


def _join(*parts: Markup) -> Markup:
    return Markup("\n".join(parts))
