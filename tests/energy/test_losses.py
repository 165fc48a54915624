import math

import energy_checks as checks
import pytest
import torch

from iifl.energy import gradient_penalty, info_nce


def test_info_nce_by_hand() -> None:
    """Eq. (5): equal energies of 1 + 3 candidates give log 4; E = 0 against log 2 and log 4 gives log(1 + ½ + ¼)."""
    assert info_nce(torch.tensor([5.0]), torch.full((1, 3), 5.0)).tolist() == pytest.approx([math.log(4)])
    negatives = torch.tensor([[math.log(2), math.log(4)]])
    assert info_nce(torch.tensor([0.0]), negatives).tolist() == pytest.approx([math.log(1.75)])


def test_info_nce_pushes_by_the_shares() -> None:
    """∂L/∂E is 1 − share for the human's action and −share for the others."""
    energies = torch.tensor([0.0, math.log(2), math.log(4)], dtype=torch.double, requires_grad=True)
    (gradient,) = torch.autograd.grad(info_nce(energies[0], energies[1:]), energies)
    assert gradient.tolist() == pytest.approx([1 - 4 / 7, -2 / 7, -1 / 7])


def test_info_nce_holds_for_large_energies() -> None:
    assert info_nce(torch.tensor([1e4]), torch.tensor([[-1e4]])).tolist() == pytest.approx([2e4])


def test_a_uniform_proposal_changes_nothing() -> None:
    positive, negatives = torch.randn(4, generator=checks.seeded()), torch.randn(4, 8, generator=checks.seeded(1))
    uniform = (torch.full((4,), -2.0), torch.full((4, 8), -2.0))
    torch.testing.assert_close(info_nce(positive, negatives, uniform), info_nce(positive, negatives))


def test_ranking_nce_by_hand() -> None:
    checks.check_ranking_nce_by_hand()


def test_ranking_nce_recovers_the_truth_from_any_proposal() -> None:
    checks.check_ranking_nce_recovers_truth()


def test_gradient_penalty_by_hand() -> None:
    """Largest components 3, 0.5 and 2 with margin 1: 2² + 0 + 1² = 5."""
    gradients = torch.tensor([[[-3.0, 1.0], [0.5, 0.2], [0.0, 2.0]]])
    assert gradient_penalty(gradients).tolist() == [5.0]
    assert gradient_penalty(gradients, margin=2.5).tolist() == [0.25]


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="one more axis"):
        info_nce(torch.zeros(3), torch.zeros(4, 2))
