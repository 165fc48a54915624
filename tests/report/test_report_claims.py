"""Verdicts: the means decide, missing data is said, and an undecided comparison is called so."""

import pytest

from iifl.report.claims import Outcome, judge, judge_all
from iifl.report.results import Group, Results, Row
from iifl.report.story import Claim, Metric, Story

VALUES = {"a": (10.0, 12.0, 14.0), "b": (1.0, 2.0, 3.0), "c": (9.0, 12.0, 13.5), "one": (20.0,)}
STORY = Story("t", "s", (Metric("m", "Measure"),), labels={"a": "Alpha"})


def _group(task: str = "t") -> Group:
    rows = [
        Row("e", task, name, "s", i, "cpu", "m", v) for name, values in VALUES.items() for i, v in enumerate(values)
    ]
    return Group(task, "s", tuple(rows))


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        (Claim("", "m", "a", "at least", 12.0), "confirmed"),
        (Claim("", "m", "a", "more than", 12.0), "not confirmed"),
        (Claim("", "m", "a", "at most", 12.0), "confirmed"),
        (Claim("", "m", "a", "less than", 12.0), "not confirmed"),
        (Claim("", "m", "a", "more than", against=("b", "c")), "confirmed"),
        (Claim("", "m", "a", "more than", against=("b", "one")), "not confirmed"),
        (Claim("", "m", "b", "less than", against=("a", "c", "one")), "confirmed"),
        (Claim("", "m", "c", "less than", against=("one", "b")), "not confirmed"),
        (Claim("", "m", "a", "at least", against=("b",), factor=6.0), "confirmed"),
        (Claim("", "m", "a", "at least", against=("b",), factor=6.1), "not confirmed"),
        (Claim("", "m", "a", "at least", against=("b", "absent")), "not measured"),
        (Claim("", "m", "absent", "at least", 0.0), "not measured"),
    ],
)
def test_outcomes(claim: Claim, outcome: Outcome) -> None:
    assert judge(claim, _group(), STORY).outcome == outcome


def test_a_verdict_carries_the_measured_numbers() -> None:
    verdict = judge(Claim("", "m", "a", "at least", against=("b",), factor=4.5), _group(), STORY)
    assert verdict.measured == "Alpha 12.0 [10.0, 14.0], b 2.0 [1.0, 3.0]; tested: at least 4.5 × b"
    assert verdict.caveat  # 12 − 9 with intervals of ± 2 and ± 4.5


def test_a_clear_difference_has_no_caveat() -> None:
    assert judge(Claim("", "m", "a", "more than", against=("b",)), _group(), STORY).caveat == ""


def test_an_unclear_difference_is_called_so() -> None:
    verdict = judge(Claim("", "m", "a", "more than", against=("c",)), _group(), STORY)
    assert verdict.outcome == "confirmed"
    assert "3 seeds do not settle it" in verdict.caveat


def test_one_seed_settles_nothing() -> None:
    assert "One seed" in judge(Claim("", "m", "one", "more than", against=("b",)), _group(), STORY).caveat


def test_missing_data_is_named() -> None:
    verdict = judge(Claim("", "m", "a", "at least", against=("absent",)), _group(), STORY)
    assert verdict.measured == "No measurement of “Measure” for absent"


def test_a_claim_is_judged_where_it_is_about() -> None:
    claims = (Claim("all", "m", "a", "at least", 1.0), Claim("u", "m", "a", "at least", 1.0, task="u"))
    claims += (Claim("v", "m", "a", "at least", 1.0, task="v"),)
    story = Story("t", "s", STORY.metrics, claims=claims)
    results = Results("e", "cpu", _group("t").rows + _group("u").rows, story, (), ())
    found = [(verdict.claim.text, verdict.task, verdict.outcome) for verdict in judge_all(results)]
    assert found == [
        ("all", "t", "confirmed"),
        ("all", "u", "confirmed"),
        ("u", "u", "confirmed"),
        ("v", "v", "not measured"),
    ]


def test_rates_are_judged_as_fractions_and_told_in_percent() -> None:
    story = Story("t", "s", (Metric("rate", "Success", trials="n"),))
    rows = [Row("e", "t", "a", "s", 0, "cpu", "rate", 0.96), Row("e", "t", "a", "s", 0, "cpu", "n", 100)]
    verdict = judge(Claim("", "rate", "a", "at least", 0.95), Group("t", "s", tuple(rows)), story)
    assert verdict.outcome == "confirmed"
    assert verdict.measured == "a 96 [90, 98] %; tested: at least 95 %"
