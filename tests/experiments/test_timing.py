"""The table of computation times: what is measured, what is left out, and the time of one model."""

import pytest
from rich.console import Console

from iifl.experiments import timing
from iifl.report.results import read_summary
from iifl.report.story import read_story


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    out = tmp_path_factory.mktemp("timing")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "REPETITIONS", {"smoke": 2})
        page = timing.reproduce(out, "smoke", Console(quiet=True))
    assert page.exists()
    return read_summary(out / "summary.json"), read_story(out / "report.json")


def test_smoke_leaves_out_what_takes_minutes(rows):
    assert {row.algorithm for row in rows[0]} == {"ifl", "iifl", "iifl-5"}
    assert len(rows[0]) == 3 * 4 * 2
    assert all(row.value > 0 for row in rows[0])


def test_the_time_of_one_model_is_its_share(rows):
    values = {(row.algorithm, row.metric, row.seed): row.value for row in rows[0]}
    for algorithm, members in (("ifl", 5), ("iifl", 2), ("iifl-5", 5)):
        whole = values[algorithm, "training", 0]
        assert values[algorithm, "training_per_model", 0] == pytest.approx(whole / members)


def test_the_papers_numbers_are_beside_ours(rows):
    paper = {(number.algorithm, number.metric): number.value for number in rows[1].paper}
    assert paper["ifl", "uncertainty"] == 0.0029
    assert paper["published", "inference"] == 0.494
    assert paper["published-5", "uncertainty"] == 2.599
    assert paper["annealed", "uncertainty"] == 7.10


def test_the_slow_ones_are_scaled_to_the_whole_fleet(monkeypatch, tmp_path):
    """A case that takes one second for 10 robots counts as ten for 100; training does not depend on robots."""
    monkeypatch.setattr(timing, "_fast", dict)
    cases = {("published", "training"): lambda: None, ("published", "inference"): lambda: None}
    monkeypatch.setattr(timing, "_slow", lambda robots: cases)
    monkeypatch.setattr(timing, "seconds", lambda case: 1.0)
    timing.reproduce(tmp_path, "cpu", Console(quiet=True))
    values = {(row.metric, row.seed): row.value for row in read_summary(tmp_path / "summary.json")}
    assert values["training", 0] == 1
    assert values["training_per_model", 0] == 0.5
    assert values["inference", 1] == 10
