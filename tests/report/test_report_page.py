"""The page: well formed, whole in itself, safe from what it is given, and right in what it says."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from iifl.report.figures import save_figure
from iifl.report.page import build_report
from iifl.report.results import Row, write_summary
from iifl.report.story import Claim, Difference, FigureNote, Metric, Story, write_story
from iifl.report.strict import ReportError

HOSTILE = "<script>alert(1)</script>\"'&<img src=x onerror=alert(1)>"
VOID = {"meta", "img", "br", "hr"}


class _Page(HTMLParser):
    """Checks that elements nest, and keeps tags, attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        assert len(attrs) == len(dict(attrs)), f"{tag} has an attribute twice"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def _page(*folders: Path) -> _Page:
    out = build_report(folders, folders[0].parent / "out" / "report.html")
    return _Page(out.read_text(encoding="utf-8"))


def test_the_page_says_what_the_files_say(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"versions": {"torch": "2.13.0"}, "threads": 2}')
    text = _page(folder).text
    for part in (
        "Figure 1 · experiment maze · scale smoke",
        "Of 2 tested claims: 1 confirmed, 1 not confirmed.",
        "✓ Confirmed IIFL arrives. IIFL 98.3 [96.2, 100.0] %; tested: at least 95 %",
        "✗ Not confirmed IIFL asks for less. IIFL 2,169 [1,988, 2,409], IBC 1,250 [1,190, 1,310]; tested: less",
        "T = 2,000. The paper: T = 10,000. It fits a small machine.",
        "Robots N 100",
        "iifl reproduce maze",
        "versions.torch 2.13.0 threads 2",
    ):
        assert part in text


def test_the_page_needs_nothing_else(folder: Path, story: Story, figure_note: FigureNote) -> None:
    save_figure(Figure(figsize=(4, 3)), folder / "final")
    write_story(folder, replace(story, figures=(figure_note,)))
    page = _page(folder)
    addresses = [a[name] for _, a in page.elements for name in ("src", "href", "action", "data", "srcset") if name in a]
    assert addresses
    assert all(address is not None and address.startswith(("data:image/", "#")) for address in addresses)
    assert not {tag for tag, _ in page.elements} & {"script", "link", "iframe", "object", "embed", "form"}
    style = files("iifl.report").joinpath("page.css").read_text()
    assert "url(" not in style
    assert "@import" not in style


def test_figures_are_shown_with_caption_and_description(folder: Path, story: Story, figure_note: FigureNote) -> None:
    save_figure(Figure(figsize=(4, 2)), folder / "final")
    save_figure(Figure(figsize=(3, 3)), folder / "another_view")
    (folder / "another_view.svg").unlink()
    write_story(folder, replace(story, figures=(figure_note,)))
    page = _page(folder)
    images = page.all("img")
    assert [image["alt"] for image in images] == ["A description.", "Figure: Another view"]
    assert [(image["width"], image["height"], image["class"]) for image in images] == [
        ("384", "192", "wide"),
        ("300", "300", ""),
    ]
    assert [str(image["src"])[:18] for image in images] == ["data:image/svg+xml", "data:image/png;bas"]
    assert "Figure 1. A caption." in page.text
    assert "Figure 2. Another view" in page.text


def test_a_figure_that_is_not_there_or_broken_is_named(folder: Path, story: Story, figure_note: FigureNote) -> None:
    write_story(folder, replace(story, figures=(figure_note,)))
    with pytest.raises(ReportError, match=r"no final.svg or final.png"):
        _page(folder)
    for name, content in (("final.svg", b"<svg"), ("final.svg", b"<svg/>"), ("final.png", b"GIF89a")):
        path = folder / name
        path.write_bytes(content)
        with pytest.raises(ReportError, match=f"{name}: not a readable figure"):
            _page(folder)
        path.unlink()


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "manifest.json").write_text('{"<script>": ["<b>", "</pre>"]}')
    write_summary(folder, [Row(HOSTILE, HOSTILE, HOSTILE, HOSTILE, 0, HOSTILE, "m", 1.0)])
    story = Story(
        HOSTILE,
        HOSTILE,
        (Metric("m", HOSTILE, unit=HOSTILE),),
        reference=HOSTILE,
        claims=(Claim(HOSTILE, "m", HOSTILE, "at least", 1.0),),
        settings={HOSTILE: HOSTILE},
        differences=(Difference(HOSTILE, HOSTILE, HOSTILE),),
        commands=(HOSTILE, "</code></pre>"),
        figures=(FigureNote("f", HOSTILE, HOSTILE),),
    )
    save_figure(Figure(), folder / "f")
    write_story(folder, story)
    for page in (_page(folder), _page(folder, *_with_another(folder))):
        tags = {tag for tag, _ in page.elements}
        assert not tags & {"script"}
        assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
        assert len(page.all("img")) == 1
        assert page.all("img")[0]["alt"] == HOSTILE
        assert page.text.count("<script>alert(1)</script>") >= 12


def _with_another(folder: Path) -> Iterator[Path]:
    other = folder.parent / "other"
    other.mkdir(exist_ok=True)
    write_summary(other, [Row("other", "t", "a", "s", 0, "cpu", "m", 1.0)])
    yield other


def test_dollar_signs_are_no_placeholders(folder: Path, story: Story) -> None:
    write_story(folder, replace(story, title="$body costs ${style}", summary="$$5"))
    text = _page(folder).text
    assert "$body costs ${style}" in text
    assert "$$5" in text


def test_many_experiments_have_a_contents_list_that_leads_to_them(folder: Path) -> None:
    page = _page(folder, *_with_another(folder))
    targets = [attributes["id"] for attributes in page.all("article")]
    assert [attributes["href"] for attributes in page.all("a")] == [f"#{target}" for target in targets]
    assert "A maze (smoke) 1 confirmed, 1 not confirmed Other (cpu) no claims" in page.text
    assert len(page.all("h1")) == 1


def test_one_claim_about_many_tasks_tells_each(folder: Path, rows: list[Row]) -> None:
    other = [
        replace(row, task="park", value=row.value / 2 if row.metric == "success_rate" else row.value) for row in rows
    ]
    other = [row for row in other if row.metric != "trials"]
    other += [replace(row, task="park", value=200.0) for row in rows if row.metric == "trials"]
    write_summary(folder, [*rows, *other])
    text = _page(folder).text
    assert "Of 2 tested claims: 2 not confirmed." in text
    assert "✗ Confirmed in 1 of 2 IIFL arrives. ✓ Maze, scripted: IIFL 98.3 [96.2, 100.0] %" in text
    assert "✗ park, scripted: IIFL 49" in text


def test_rows_alone_make_a_page(tmp_path: Path, rows: list[Row]) -> None:
    write_summary(tmp_path, rows)
    text = _page(tmp_path).text
    assert "All metrics of 'maze', as measured." in text
    assert "No claim" not in text


def test_seeds_are_spoken_of_honestly(tmp_path: Path, rows: list[Row]) -> None:
    write_summary(tmp_path, [row for row in rows if row.seed == 0])
    one = _page(tmp_path).text
    assert "single seed has no interval" in one
    assert "tends to be too narrow" not in one
    write_summary(tmp_path, rows)
    three = _page(tmp_path).text
    assert "tends to be too narrow" in three
    assert "single seed" not in three


def test_the_same_files_give_the_same_page(folder: Path) -> None:
    first = build_report([folder], folder / "a.html").read_bytes()
    assert build_report([folder], folder / "b.html").read_bytes() == first


def test_text_is_large_enough_and_stands_out() -> None:
    """At least 16 px on a screen; at least 4.5:1 (WCAG AA) for every colour of text, by day, by night and in print."""
    style = files("iifl.report").joinpath("page.css").read_text()
    screen, _, _ = style.partition("@media print")
    assert min(map(int, re.findall(r"(?:font:|font-size:) ?(\d+)px", screen))) >= 16
    palettes = [dict(re.findall(r"--(\w+): (#\w+);", block)) for block in re.findall(r":root \{(.*?)\}", style, re.S)]
    assert len(palettes) == 3
    for palette in palettes:
        for name in ("ink", "quiet", "yes", "no"):
            for ground in ("paper", "soft"):
                assert _contrast(palette[name], palette[ground]) >= 4.5, (name, ground)


def _contrast(first: str, second: str) -> float:
    def luminance(colour: str) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)
