"""Figures show the numbers they are given, in colours that readers can tell apart, in bytes that do not change."""

from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from iifl.report.curves import Curve, read_curves, write_curves
from iifl.report.figures import COLOURS, curves_over_time, final_metrics, save_figure, style
from iifl.report.results import load_results
from iifl.report.story import Metric, Story
from iifl.report.strict import ReportError
from iifl.report.tables import tables_of

STORY = Story("t", "s", (Metric("successes", "Successes"), Metric("rohe", "ROHE")), algorithms=("bc", "iifl"))
T = np.arange(0, 50, 10)


def _curves() -> list[Curve]:
    rng = np.random.default_rng(5)
    return [
        Curve(task, algorithm, metric, (0, 1, 2), T, rng.random((3, len(T))))
        for task in ("ant", "maze")
        for algorithm in ("iifl", "bc")
        for metric in ("successes", "rohe")
    ]


def test_curves_are_read_back(tmp_path: Path) -> None:
    written = _curves()
    read = read_curves(write_curves(tmp_path, "e", written))
    assert [(c.task, c.algorithm, c.metric, c.seeds) for c in read] == [
        (c.task, c.algorithm, c.metric, c.seeds) for c in written
    ]
    for before, after in zip(written, read, strict=True):
        np.testing.assert_array_equal(after.t, before.t)
        np.testing.assert_array_equal(after.values, before.values)


def test_bad_curves_are_named(tmp_path: Path) -> None:
    path = write_curves(tmp_path, "e", _curves())
    table = pq.read_table(path)
    pq.write_table(table.slice(1), path)
    with pytest.raises(ReportError, match=r"curves.parquet: the seeds of successes of iifl on ant .* same times"):
        read_curves(path)
    path.write_bytes(b"PAR1 not quite")
    with pytest.raises(ReportError, match=r"curves.parquet: not readable"):
        read_curves(path)
    pq.write_table(pa.table({"t": [1]}), path)
    with pytest.raises(ReportError, match=r"curves.parquet: .*columns"):
        read_curves(path)
    with pytest.raises(ValueError, match=r"values must have shape \(2, 5\)"):
        Curve("t", "a", "m", (0, 1), T, np.zeros((5, 2)))


def test_lines_are_means_and_shading_one_standard_deviation() -> None:
    curves = _curves()
    figure = curves_over_time(curves, STORY)
    assert [axes.get_title() for axes in figure.axes[:2]] == ["ant", "maze"]
    panel = figure.axes[0]  # successes of ant; the story's order: bc, then iifl
    for line, shade, algorithm in zip(panel.lines, panel.collections, ("bc", "iifl"), strict=True):
        (curve,) = (c for c in curves if (c.task, c.metric, c.algorithm) == ("ant", "successes", algorithm))
        assert line.get_label() == algorithm.upper()
        np.testing.assert_allclose(line.get_ydata(), curve.values.mean(axis=0))
        edge = shade.get_paths()[0].vertices[1 : 1 + len(T), 1]
        np.testing.assert_allclose(edge, curve.values.mean(axis=0) - curve.values.std(axis=0))


def test_nothing_to_draw_is_an_error() -> None:
    with pytest.raises(ValueError, match="no curve of a metric"):
        curves_over_time(_curves(), Story("t", "s", (Metric("m", "M"),)))


def test_dots_are_the_cells_of_the_table(folder: Path) -> None:
    table = tables_of(load_results([folder])[0])[0]
    figure = final_metrics(table)
    for column, axes in enumerate(figure.axes):
        measured = {int(line.get_ydata()[0]): line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"}
        expected = {y: row.cells[column].estimate for y, row in enumerate(table.rows)}
        assert measured == {y: estimate.value for y, estimate in expected.items() if estimate is not None}


def test_the_same_figure_has_the_same_bytes(tmp_path: Path) -> None:
    first = [path.read_bytes() for path in save_figure(curves_over_time(_curves()[:2], STORY), tmp_path / "a.svg")]
    again = [path.read_bytes() for path in save_figure(curves_over_time(_curves()[:2], STORY), tmp_path / "b")]
    assert first == again
    assert b"<dc:date>" not in first[0]


def test_the_style_stays_inside(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    with style():
        save_figure(Figure(), tmp_path / "x")
    assert dict(mpl.rcParams) == before


# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
_VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def _linear(colour: str) -> np.ndarray:
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _lab(linear: np.ndarray) -> np.ndarray:
    xyz = _TO_XYZ @ np.clip(linear, 0, 1) / _TO_XYZ.sum(axis=1)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("vision", _VISION)
def test_colours_are_told_apart(vision: str) -> None:
    """Every pair is at least 20 apart in CIELAB, where about 2 is just noticeable, in each kind of colour vision."""
    seen = {name: _lab(np.asarray(_VISION[vision]) @ _linear(colour)) for name, colour in COLOURS.items()}
    apart = {pair: np.linalg.norm(seen[pair[0]] - seen[pair[1]]) for pair in combinations(seen, 2)}
    assert min(apart.values()) > 20, min(apart, key=apart.__getitem__)


@pytest.mark.parametrize("algorithm", COLOURS)
def test_colours_stand_out_on_white(algorithm: str) -> None:
    """WCAG 2.2 asks for a contrast of 3:1 for graphics."""
    luminance = float(_TO_XYZ[1] @ _linear(COLOURS[algorithm]))
    assert 1.05 / (luminance + 0.05) >= 3.0
