"""Whether the rows confirm a claim, in plain words and with the measured numbers."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from iifl.report.results import Group, Results
from iifl.report.statistics import Estimate, difference
from iifl.report.story import Claim, Metric, Story

Outcome = Literal["confirmed", "not confirmed", "not measured"]

_RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "at least": operator.ge,
    "at most": operator.le,
    "more than": operator.gt,
    "less than": operator.lt,
}


@dataclass(frozen=True)
class Verdict:
    """What became of a claim in one group of rows."""

    claim: Claim
    task: str
    supervisors: str
    outcome: Outcome
    measured: str
    """The measured numbers behind the outcome, or what is missing."""
    caveat: str = ""
    """Why the outcome is not certain."""


def judge_all(results: Results) -> list[Verdict]:
    """Every claim of the story, in every group of rows that it is about."""
    verdicts = []
    for claim in results.story.claims:
        groups = [group for group in results.groups if group.has(claim.task, claim.supervisors)]
        verdicts += [judge(claim, group, results.story) for group in groups]
        if not groups:
            missing = f"No rows for {claim.task or 'any task'} with {claim.supervisors or 'any supervisors'}"
            verdicts.append(Verdict(claim, claim.task or "", claim.supervisors or "", "not measured", missing))
    return verdicts


def judge(claim: Claim, group: Group, story: Story) -> Verdict:
    """One claim on one group of rows: the means decide, and the caveat says when the interval does not agree."""
    metric = next(metric for metric in story.metrics if metric.name == claim.metric)
    estimates = {name: group.estimate(name, metric) for name in (claim.algorithm, *claim.against)}
    missing = [story.label(name) for name, estimate in estimates.items() if estimate is None]
    if missing:
        text = f"No measurement of “{metric.title}” for {', '.join(missing)}"
        return Verdict(claim, group.task, group.supervisors, "not measured", text)
    known = {name: estimate for name, estimate in estimates.items() if estimate is not None}
    ours = known[claim.algorithm]
    unit = shown_unit(metric)
    measured = f"{story.label(claim.algorithm)} {shown(ours, metric)}{unit}"
    if claim.bound is not None:
        bound = Estimate(claim.bound, claim.bound, claim.bound, ours.n)
        measured += f"; tested: {claim.relation} {shown(bound, metric).value_text()}{unit}"
    else:
        rival = _hardest(claim, known)
        bound = known[rival].times(claim.factor)
        measured += f", {story.label(rival)} {shown(known[rival], metric)}{unit}"
        times = "" if claim.factor == 1 else f"{claim.factor:g} × "
        measured += f"; tested: {claim.relation} {times}{story.label(rival)}"
    outcome: Outcome = "confirmed" if _RELATIONS[claim.relation](ours.value, bound.value) else "not confirmed"
    return Verdict(claim, group.task, group.supervisors, outcome, measured, _caveat(difference(ours, bound)))


def _hardest(claim: Claim, known: dict[str, Estimate]) -> str:
    """Of the algorithms to compare with, the one whose mean decides whether the claim holds against all."""
    hardest = max if claim.relation in ("at least", "more than") else min
    return hardest(claim.against, key=lambda name: known[name].value)


def shown(estimate: Estimate, metric: Metric) -> Estimate:
    """The estimate in the unit that readers see: rates in percent."""
    return estimate.times(100.0) if metric.trials else estimate


def shown_unit(metric: Metric) -> str:
    """That unit, as it stands after a number."""
    unit = "%" if metric.trials else metric.unit
    return f" {unit}" if unit else ""


def _caveat(gap: Estimate) -> str:
    if gap.n == 1:
        return "One seed does not settle it"
    if gap.low is not None and gap.high is not None and gap.low < 0 < gap.high:
        return f"{gap.n} seeds do not settle it: the 95 % interval of the difference includes 0"
    return ""
