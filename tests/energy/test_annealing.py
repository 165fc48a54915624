import math

import energy_checks as checks
import pytest
import torch

from iifl.energy import Box, log_partition, quadrature
from iifl.energy.annealing import systematic_resample


def test_partition_functions_in_closed_form() -> None:
    checks.check_annealed_partition()


def test_far_modes_keep_their_masses() -> None:
    checks.check_annealed_masses()


def test_partition_functions_of_many_energies_at_once() -> None:
    """Leading axes are independent: log Z of Gaussians with variances 0.1 and 1, at two sizes of constant."""
    variances = torch.tensor([0.1, 1.0], dtype=torch.double).view(2, 1, 1)
    constants = torch.tensor([0.0, 500.0], dtype=torch.double).view(1, 2, 1)
    box = Box.of([-7.0, -7.0], [7.0, 7.0], torch.double)
    estimate = log_partition(
        lambda a: 0.5 * a.square().sum(-1) / variances + constants, box, (2, 2, 1000), generator=checks.seeded(1)
    )
    expected = torch.log(2 * math.pi * variances[..., 0]) - constants[..., 0]
    torch.testing.assert_close(estimate, expected.expand(2, 2), atol=0.05, rtol=0)


def test_resampling_by_hand() -> None:
    """Weights ½, 0, ¼, ¼ of four: whatever the offset, the first counts twice and the second never."""
    weights = torch.tensor([0.5, 0.0, 0.25, 0.25]).log()
    for seed in range(5):
        assert systematic_resample(weights, checks.seeded(seed)).tolist() == [0, 0, 2, 3]


def test_quadrature_of_gaussians() -> None:
    """Against closed forms in one and two dimensions, at a temperature other than 1."""
    for size in (1, 2):
        box = Box.of([-9.0] * size, [9.0] * size)
        models = checks.gaussian_pair(size, 1.5, 1.2)
        energies = [checks.gaussian(*model) for model in models]
        expected = checks.closed_form(models[0][0], 0.7 * models[0][1], models[1][0], 0.7 * models[1][1])
        assert float(quadrature.jeffreys(energies, box, temperature=0.7)) == pytest.approx(expected, rel=1e-6)
        log_z = 0.5 * float(torch.logdet(2 * math.pi * 0.7 * models[1][1]))
        assert float(quadrature.log_partition(energies[1], box, temperature=0.7)) == pytest.approx(log_z, abs=1e-6)


def test_quadrature_refuses_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="bounded"):
        quadrature.grid(Box.unbounded(1))
    with pytest.raises(ValueError, match="too many"):
        quadrature.grid(Box.of([0.0] * 5, [1.0] * 5))
