import math

import energy_checks as checks
import pytest
import torch

from iifl.energy import Box


def test_a_box_by_hand() -> None:
    box = Box.of([-1.0, 0.0], [1.0, 4.0])
    assert box.center.tolist() == [0.0, 2.0]
    assert box.half_range.tolist() == [1.0, 2.0]
    assert box.log_volume == pytest.approx(math.log(8))
    assert box.to_unit(torch.tensor([1.0, 1.0])).tolist() == [1.0, -0.5]
    assert box.from_unit(torch.tensor([1.0, -0.5])).tolist() == [1.0, 1.0]
    assert box.clip(torch.tensor([3.0, -1.0])).tolist() == [1.0, 0.0]
    assert box.contains(torch.tensor([[0.0, 4.0], [0.0, 4.1]])).tolist() == [True, False]


def test_uniform_actions_fill_the_box() -> None:
    box = Box.of([-1.0, 0.0], [1.0, 4.0])
    actions = box.uniform((3, 5000), checks.seeded())
    assert actions.shape == (3, 5000, 2)
    assert bool(box.contains(actions).all())
    assert actions.mean((0, 1)).tolist() == pytest.approx([0.0, 2.0], abs=0.05)
    assert actions.var((0, 1)).tolist() == pytest.approx([4 / 12, 16 / 12], rel=0.05)


def test_an_infinite_bound_keeps_its_unit() -> None:
    box = Box.of([-math.inf, 0.0], [math.inf, 4.0])
    assert not box.bounded
    assert box.to_unit(torch.tensor([7.0, 4.0])).tolist() == [7.0, 1.0]
    with pytest.raises(ValueError, match="unbounded"):
        box.uniform((2,), checks.seeded())


def test_impossible_bounds_are_refused() -> None:
    with pytest.raises(ValueError, match="below"):
        Box.of([1.0], [1.0])
    with pytest.raises(ValueError, match="shape"):
        Box(torch.zeros(2), torch.ones(3))
