"""Each bug that this kind of code is known for, planted: the very checks of the other tests must reject it.

A reader can also edit the source: the formulas are one small function each in `langevin`, `losses` and `divergence`.
"""

from collections.abc import Callable

import energy_checks as checks
import pytest
from torch import Tensor

from iifl.energy import divergence, langevin, losses

SAMPLER_CHECKS = [
    checks.check_langevin_variance,
    checks.check_metropolis_keeps_gaussian,
    checks.check_metropolis_keeps_bimodal,
]


def rejects(check: Callable[[], None]) -> None:
    with pytest.raises(AssertionError):
        check()


@pytest.mark.parametrize("check", SAMPLER_CHECKS)
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda step, temperature: step * temperature, id="ε for √2ε"),
        pytest.param(lambda step, temperature: (step * temperature) ** 0.5, id="no 2 in √2ε"),
    ],
)
def test_wrong_noise(
    monkeypatch: pytest.MonkeyPatch, wrong: Callable[[float, float], float], check: Callable[[], None]
) -> None:
    monkeypatch.setattr(langevin, "noise_deviation", wrong)
    rejects(check)


@pytest.mark.parametrize("check", SAMPLER_CHECKS[:2])  # those at a temperature other than 1
def test_no_temperature_in_the_noise(monkeypatch: pytest.MonkeyPatch, check: Callable[[], None]) -> None:
    monkeypatch.setattr(langevin, "noise_deviation", lambda step, temperature: (2 * step) ** 0.5)
    rejects(check)


def uphill(gradients: Tensor, step: float) -> Tensor:
    return step * gradients


def test_flipped_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(langevin, "drift", uphill)
    rejects(checks.check_gradient_direction)
    rejects(checks.check_langevin_variance)
    rejects(checks.check_metropolis_keeps_gaussian)  # the rule still holds, but next to nothing is accepted
    rejects(lambda: checks.check_published_iteration(monkeypatch))


@pytest.mark.parametrize("check", SAMPLER_CHECKS[1:])
def test_missing_half_in_the_proposal_density(monkeypatch: pytest.MonkeyPatch, check: Callable[[], None]) -> None:
    right = langevin.log_transition
    monkeypatch.setattr(langevin, "log_transition", lambda *arguments: 2 * right(*arguments))
    rejects(check)


@pytest.mark.parametrize("check", [*SAMPLER_CHECKS[1:], checks.check_metropolis_keeps_box])
def test_dropped_proposal_ratio(monkeypatch: pytest.MonkeyPatch, check: Callable[[], None]) -> None:
    monkeypatch.setattr(langevin, "log_transition", lambda to, *_: to.sum(-1) * 0)
    rejects(check)


def test_proposals_outside_the_box_clipped_instead_of_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    clip = langevin.Landscape.clip

    class Everywhere(langevin.Landscape):
        def clip(self, unit: Tensor) -> Tensor:
            unit.copy_(clip(self, unit))
            return unit

    monkeypatch.setattr(langevin.Landscape, "clip", Everywhere.clip)
    rejects(checks.check_metropolis_keeps_box)


def test_missing_half_in_the_closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    right = checks.closed_form
    monkeypatch.setattr(checks, "closed_form", lambda *arguments: 2 * right(*arguments))
    rejects(checks.check_jeffreys_of_exact_samples)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda means, T: (means + means.transpose(0, 1)) / T, id="own energies forgotten"),
        pytest.param(lambda means, T: (means - means.diagonal().unsqueeze(0)) / T, id="one direction only"),
        pytest.param(lambda means, T: divergence_of(means) * T, id="times T instead of over T"),
    ],
)
def test_wrong_identity(monkeypatch: pytest.MonkeyPatch, wrong: Callable[[Tensor, float], Tensor]) -> None:
    monkeypatch.setattr(divergence, "_pairwise", wrong)
    rejects(lambda: checks.check_jeffreys_of_exact_samples(temperature=0.5))


divergence_of = lambda means, right=divergence._pairwise: right(means, 1.0)  # noqa: E731


@pytest.mark.parametrize("check", [checks.check_ranking_nce_by_hand, checks.check_ranking_nce_recovers_truth])
def test_missing_proposal_in_ranking_nce(monkeypatch: pytest.MonkeyPatch, check: Callable[[], None]) -> None:
    monkeypatch.setattr(losses, "ranking_logits", lambda energies, log_proposal=0.0: -energies)
    rejects(check)


def test_partition_function_with_wrong_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(langevin, "log_transition", lambda to, *_: to.sum(-1) * 0)
    rejects(checks.check_annealed_partition)
