"""The checks of the energy package against closed forms, as functions: `test_planted_bugs` shows that each can fail.

Statistical checks draw from fixed seeds. Their tolerances are at least four standard deviations of the estimate, so a
fresh seed would raise a false alarm less than once in ten thousand.
"""

import math

import pytest
import torch
from scipy import stats
from torch import Generator, Tensor

from iifl.energy import (
    AnnealedSampling,
    Box,
    Constant,
    Langevin,
    MetropolisLangevin,
    divergence,
    langevin,
    log_partition,
    losses,
    published_sampler,
)
from iifl.energy.function import Energy

FALSE_ALARM = 1e-4


def seeded(seed: int = 0) -> Generator:
    return torch.Generator().manual_seed(seed)


def gaussian(mean: Tensor, covariance: Tensor) -> Energy:
    precision = torch.linalg.inv(covariance)
    return lambda a: 0.5 * torch.einsum("...i,ij,...j->...", a - mean, precision, a - mean)


def gaussian_pair(size: int, separation: float, spread: float = 1.0) -> tuple[tuple[Tensor, Tensor], ...]:
    """Means and covariances: a standard Gaussian, and one `separation` away with axes `spread` times as wide or narrow.

    The second is turned by a random rotation, so that its covariance is full.
    """
    direction = torch.ones(size, dtype=torch.double) / math.sqrt(size)
    rotation = torch.linalg.qr(torch.randn(size, size, generator=seeded(size), dtype=torch.double))[0]
    scales = torch.tensor([spread ** (2 * (-1) ** axis) for axis in range(size)], dtype=torch.double)
    eye = torch.eye(size, dtype=torch.double)
    return (0 * direction, eye), (separation * direction, rotation @ torch.diag(scales) @ rotation.T)


def closed_form(mean_1: Tensor, covariance_1: Tensor, mean_2: Tensor, covariance_2: Tensor) -> float:
    """J = ½[tr(Σ₂⁻¹Σ₁ + Σ₁⁻¹Σ₂) − 2d + Δμᵀ(Σ₁⁻¹ + Σ₂⁻¹)Δμ]."""
    inverse_1, inverse_2 = torch.linalg.inv(covariance_1), torch.linalg.inv(covariance_2)
    apart = mean_1 - mean_2
    traces = torch.trace(inverse_2 @ covariance_1 + inverse_1 @ covariance_2)
    return 0.5 * float(traces - 2 * len(apart) + apart @ (inverse_1 + inverse_2) @ apart)


def check_jeffreys_of_exact_samples(
    size: int = 3, separation: float = 2.0, spread: float = 1.3, temperature: float = 1.0
) -> None:
    """Identity 1 on exact samples of two Gaussians, in any dimension: within 2 %, and 0.02 where it is 0."""
    models = gaussian_pair(size, separation, spread)
    energies = [gaussian(mean, covariance) for mean, covariance in models]
    generator = seeded(1)
    samples = []
    for mean, covariance in models:
        noise = torch.randn(50_000, size, generator=generator, dtype=torch.double)
        # At temperature T a Gaussian energy has the covariance T·Σ. Mirrored pairs cancel the noise of odd terms.
        noise = torch.cat([noise, -noise]) * math.sqrt(temperature)
        samples.append(mean + noise @ torch.linalg.cholesky(covariance).T)
    crossed = torch.stack([torch.stack([energy(s) for s in samples]) for energy in energies])
    scaled = [value for mean, covariance in models for value in (mean, temperature * covariance)]
    expected = closed_form(*scaled)
    estimate = divergence.jeffreys(crossed, temperature=temperature)
    zero = 0.02 if expected == 0 else 0
    assert float(estimate) == pytest.approx(expected, rel=0.02, abs=zero)
    # From 5,000 samples of each model, whose relative error is about √(2/10,000) = 1.4 %.
    estimate = divergence.pooled_jeffreys(crossed[..., :5000], temperature=temperature)
    assert float(estimate) == pytest.approx(expected, rel=0.06, abs=zero)


def check_langevin_variance(temperature: float = 0.7) -> None:
    """For E = a²/(2σ²) a step is a' = (1 − ε/σ²)a + √(2εT)ξ, so its stationary variance v solves

    v = (1 − ε/σ²)² v + 2εT, that is v = σ²T / (1 − ε/(2σ²)): too wide by a factor that tells the step size.
    """
    variance, step = 1.5, 0.6
    start = torch.zeros(40_000, 1, dtype=torch.double)
    box = Box.unbounded(1, torch.double)
    sampler = Langevin(iterations=40, schedule=Constant(step))
    samples = sampler(
        lambda a: a.square().sum(-1) / (2 * variance), start, box, generator=seeded(2), temperature=temperature
    )
    expected = variance * temperature / (1 - step / (2 * variance))
    # The standard deviation of a Gaussian's estimated variance is v·√(2/n): 0.7 % here.
    assert float(samples.actions.var()) == pytest.approx(expected, rel=0.03)
    assert float(samples.actions.mean()) == pytest.approx(0, abs=4 * math.sqrt(expected / 40_000))


def bimodal(a: Tensor) -> Tensor:
    """−log of 0.3·N(−1.5, 0.5²) + 0.7·N(1, 0.4²)."""
    a = a.squeeze(-1)
    return -torch.logaddexp(
        math.log(0.3 / 0.5) - 0.5 * ((a + 1.5) / 0.5).square(), math.log(0.7 / 0.4) - 0.5 * ((a - 1.0) / 0.4).square()
    )


def bimodal_cdf(a: Tensor) -> Tensor:
    return torch.as_tensor(0.3 * stats.norm.cdf(a, -1.5, 0.5) + 0.7 * stats.norm.cdf(a, 1.0, 0.4))


def bimodal_draws(count: int, generator: Generator) -> Tensor:
    left = torch.rand(count, generator=generator, dtype=torch.double) < 0.3
    noise = torch.randn(count, generator=generator, dtype=torch.double)
    return torch.where(left, -1.5 + 0.5 * noise, 1.0 + 0.4 * noise).unsqueeze(-1)


def check_same_law(draws: Tensor, cdf: object) -> None:
    """Kolmogorov and Smirnov's test of independent draws, with the stated false-alarm rate."""
    assert stats.kstest(draws.flatten().numpy(), cdf).pvalue > FALSE_ALARM


def check_metropolis_keeps_gaussian() -> None:
    """Independent chains that begin in exp(−E/T) stay in it, at steps so long that they need the correction."""
    temperature, chains = 0.5, 20_000
    generator = seeded(3)
    start = torch.randn(chains, 1, generator=generator, dtype=torch.double) * math.sqrt(temperature)
    sampler = MetropolisLangevin(iterations=20, burn_in=0, first_step=0.9)
    box = Box.unbounded(1, torch.double)
    samples = sampler(lambda a: 0.5 * a.square().sum(-1), start, box, generator=generator, temperature=temperature)
    check_same_law(samples.actions, stats.norm(scale=math.sqrt(temperature)).cdf)
    assert 0.5 < float(samples.acceptance.mean()) < 0.95


def check_metropolis_keeps_bimodal() -> None:
    """The same for two modes of unequal mass and width."""
    generator = seeded(4)
    sampler = MetropolisLangevin(iterations=20, burn_in=0, first_step=0.15)
    start = bimodal_draws(20_000, generator)
    samples = sampler(bimodal, start, Box.unbounded(1, torch.double), generator=generator)
    check_same_law(samples.actions, lambda a: bimodal_cdf(a).numpy())


def check_metropolis_keeps_box() -> None:
    """The same where most of the mass lies at a wall: E = 3a on [0, 2] at T = 0.5, a truncated exponential."""
    rate, high = 6.0, 2.0
    law = stats.truncexpon(b=high * rate, scale=1 / rate)
    start = torch.as_tensor(law.rvs(20_000, random_state=5)).unsqueeze(-1)
    sampler = MetropolisLangevin(iterations=20, burn_in=0, first_step=0.03)
    samples = sampler(
        lambda a: 3 * a.sum(-1), start, Box.of([0.0], [high], torch.double), generator=seeded(6), temperature=0.5
    )
    check_same_law(samples.actions, law.cdf)


def check_annealed_partition() -> None:
    """log Z within 0.05 nats: Gaussians in a box in 1 and 5 dimensions, and two modes of unequal mass."""
    for size in (1, 5):
        box = Box.of([-6.0] * size, [6.0] * size, torch.double)
        mean, covariance = gaussian_pair(size, 1.0, 1.2)[1]
        estimate = log_partition(gaussian(mean, covariance), box, (1000,), generator=seeded(7), temperature=0.8)
        expected = 0.5 * float(torch.logdet(2 * math.pi * 0.8 * covariance))
        assert float(estimate) == pytest.approx(expected, abs=0.05)
    box = Box.of([-6.0], [6.0], torch.double)
    assert float(log_partition(bimodal, box, (1000,), generator=seeded(8))) == pytest.approx(
        0.5 * math.log(2 * math.pi), abs=0.05
    )


def check_annealed_masses() -> None:
    """Modes too far apart for any chain to cross keep their masses, 0.3 and 0.7, and their widths."""
    box = Box.of([-40.0], [40.0], torch.double)
    far = 8.0

    def energy(a: Tensor) -> Tensor:
        # The modes of `bimodal`, moved 8 outwards each.
        a = a.squeeze(-1)
        left = math.log(0.3 / 0.5) - 0.5 * ((a + 1.5 + far) / 0.5).square()
        right = math.log(0.7 / 0.4) - 0.5 * ((a - 1.0 - far) / 0.4).square()
        return -torch.logaddexp(left, right)

    start = torch.zeros(8, 4000, 1, dtype=torch.double)
    samples = AnnealedSampling()(energy, start, box, generator=seeded(9))
    shares = samples.mean((samples.actions.squeeze(-1) < 0).double())
    # Eight independent runs of 4000 particles: their mean is good to their own standard error.
    error = float(shares.std()) / math.sqrt(len(shares))
    assert error < 0.01
    assert float(shares.mean()) == pytest.approx(0.3, abs=max(5 * error, 0.005))


def check_ranking_nce_by_hand() -> None:
    """E = 1 against E = 2 with q = ½ and ¼: shares e⁻¹/½ and e⁻²/¼, so the loss is log(1 + 2e⁻¹)."""
    loss = losses.info_nce(
        torch.tensor([1.0]), torch.tensor([[2.0]]), (torch.tensor([0.5]).log(), torch.tensor([[0.25]]).log())
    )
    assert float(loss) == pytest.approx(math.log(1 + 2 * math.exp(-1)), rel=1e-6)


def check_ranking_nce_recovers_truth() -> None:
    """Counter-examples from N(1, 1.5²), not uniform: the best Gaussian energy is still the data's, N(0, 1)."""
    generator = seeded(10)
    data = torch.randn(6_000, generator=generator, dtype=torch.double)
    negatives = 1 + 1.5 * torch.randn(6_000, 8, generator=generator, dtype=torch.double)

    def log_q(a: Tensor) -> Tensor:
        return -0.5 * ((a - 1) / 1.5).square()

    parameters = torch.zeros(2, dtype=torch.double, requires_grad=True)  # mean, log of the precision
    optimiser = torch.optim.LBFGS([parameters], max_iter=12, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()

        def energy(a: Tensor) -> Tensor:
            return 0.5 * (a - parameters[0]).square() * parameters[1].exp()

        loss = losses.info_nce(energy(data), energy(negatives), (log_q(data), log_q(negatives))).mean()
        loss.backward()
        return loss

    optimiser.step(closure)
    mean, log_precision = parameters.tolist()
    # The data alone give the mean to 0.013 and the log precision to 0.018; nine candidates to somewhat less.
    assert mean == pytest.approx(0, abs=0.08)
    assert log_precision == pytest.approx(0, abs=0.12)


def check_gradient_direction() -> None:
    """One noise-free step goes downhill."""
    start = torch.tensor([[2.0]], dtype=torch.double)
    walk = Langevin(iterations=1, schedule=Constant(0.1), noise=0.0)
    end = walk(lambda a: a.square().sum(-1), start, Box.unbounded(1, torch.double), generator=seeded())
    assert end.actions.item() == pytest.approx(2.0 - 0.1 * 4.0)


def check_published_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    """One iteration of the published sampler, worked by hand for E = a² in the box [−2, 2], half range 2.

    In unit coordinates u = a/2 the gradient is 8u, λ = 0.1, and √(2λ)·0.33 = 0.147580.
      u = 0.10, ξ = 0.5:  −0.08 + 0.073790 = −0.006210          → 0.093790 → a = 0.187580
      u = 0.10, ξ = 2.0:  −0.08 + 0.295161 =  0.215161 → 0.1    → 0.2      → a = 0.4
      u = 0.95, ξ = 0.0:  −0.76                        → −0.1   → 0.85     → a = 1.7
      u = 0.95, ξ = 9.0:  −0.76 + 1.328223 =  0.568223 → 0.1    → 1.05 → 1 → a = 2
    """
    noise = torch.tensor([[0.5], [2.0], [0.0], [9.0]], dtype=torch.double)
    monkeypatch.setattr(langevin, "_noise_like", lambda actions, generator: noise)
    start = torch.tensor([[0.2], [0.2], [1.9], [1.9]], dtype=torch.double)
    box = Box.of([-2.0], [2.0], torch.double)
    end = published_sampler(iterations=1)(lambda a: a.square().sum(-1), start, box, generator=seeded())
    assert end.actions.flatten().tolist() == pytest.approx([0.187580, 0.4, 1.7, 2.0], abs=1e-6)
