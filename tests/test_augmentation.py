"""Each augmentation against numbers worked out by hand, and all of them together: ranges, randomness, order."""

import math

import numpy as np
import pytest
import torch

from iifl import augmentation
from iifl.augmentation import (
    Augmentation,
    add,
    altered,
    gamma_contrast,
    gaussian_blur,
    gaussian_noise,
    linear_contrast,
    saturation,
)
from iifl.checks import ConfigError
from iifl.memory import Memory
from iifl.records import Form


def pixels(*colours) -> torch.Tensor:
    """One image of one row (1, 1, W, 3)."""
    return torch.tensor([[colours]], dtype=torch.float32)


def amount(*values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32).view(1, 1, 1, -1)


def test_linear_contrast_is_about_the_middle_grey():
    image = pixels([127, 227, 27], [255, 0, 128])
    expected = pixels([127, 242, 12], [255, 0, 128.15])  # 127 + 1.15 · ±100, clipped at 255 and 0
    torch.testing.assert_close(linear_contrast(image, amount(1.15)), expected)
    torch.testing.assert_close(linear_contrast(image, amount(0.85))[0, 0, 0], torch.tensor([127.0, 212.0, 42.0]))


def test_add_moves_each_colour_by_its_own_amount_and_stays_in_range():
    moved = add(pixels([100, 100, 100], [250, 3, 0]), amount(10, -10, 2.5))
    torch.testing.assert_close(moved, pixels([110, 90, 102.5], [255, 0, 2.5]))


def test_gamma_leaves_black_and_white_and_bends_what_is_between():
    bent = gamma_contrast(pixels([0, 255, 63.75]), amount(0.5))
    torch.testing.assert_close(bent, pixels([0, 255, 127.5]))  # (1/4)^½ = ½
    torch.testing.assert_close(gamma_contrast(pixels([0, 255, 127.5]), amount(2)), pixels([0, 255, 63.75]))


def test_blur_spreads_a_point_by_the_gaussian_and_keeps_its_sum():
    image = torch.zeros(1, 5, 5, 3)
    image[0, 2, 2] = 100
    side = math.exp(-0.5 / 0.3**2)  # 0.003866 of the middle
    blurred = gaussian_blur(image, amount(0.3))[0, :, :, 0]
    middle = 100 / (1 + 2 * side) ** 2
    assert blurred[2, 2] == pytest.approx(middle, rel=1e-5)
    assert blurred[2, 1] == pytest.approx(middle * side, rel=1e-5)
    assert blurred[1, 2] == pytest.approx(middle * side, rel=1e-5)
    assert blurred[1, 1] == pytest.approx(middle * side**2, rel=1e-5)
    assert blurred.sum() == pytest.approx(100, rel=1e-5)
    assert blurred[0].abs().max() == 0


def test_blur_of_nothing_and_at_an_edge():
    image = pixels([10, 20, 30], [200, 100, 0], [60, 60, 60])
    torch.testing.assert_close(gaussian_blur(image, amount(0.0)), image)
    torch.testing.assert_close(
        gaussian_blur(torch.full((1, 4, 4, 3), 77.0), amount(0.3)), torch.full((1, 4, 4, 3), 77.0)
    )


def test_saturation_is_that_of_hsv():
    """V = 200, S = 1 − 100/200; a factor of 1.5 makes S = 0.75, so the least colour becomes 50."""
    torch.testing.assert_close(saturation(pixels([200, 150, 100]), amount(1.5)), pixels([200, 125, 50]))
    torch.testing.assert_close(saturation(pixels([200, 150, 100]), amount(0)), pixels([200, 200, 200]))
    torch.testing.assert_close(saturation(pixels([80, 80, 80], [0, 0, 0]), amount(2)), pixels([80, 80, 80], [0, 0, 0]))


def test_saturation_ends_at_one_and_keeps_the_hue():
    """S = 0.8 can grow by 1.25 at most: the least colour is then 0, and the middle one halfway as before."""
    torch.testing.assert_close(saturation(pixels([200, 120, 40]), amount(2)), pixels([200, 100, 0]))


def test_noise_has_the_deviation_of_each_image():
    grey = torch.full((2, 100, 100, 3), 127.0)
    deviations = torch.tensor([0.0, 3.0]).view(2, 1, 1, 1)
    noise = gaussian_noise(grey, deviations, torch.Generator().manual_seed(0)) - grey
    assert noise[0].abs().max() == 0
    assert noise[1].std() == pytest.approx(3, rel=0.03)  # 30,000 draws: 7 standard errors
    red, green = noise[1, :, :, 0].flatten(), noise[1, :, :, 1].flatten()
    assert abs(np.corrcoef(red, green)[0, 1]) < 0.05  # each colour has its own


def test_the_ranges_are_those_of_the_paper():
    assert augmentation.CONTRAST == (0.85, 1.15)
    assert augmentation.ADDED == (-10, 10)
    assert augmentation.GAMMA == (0.9, 1.1)
    assert augmentation.BLUR == (0, 0.3)
    assert augmentation.SATURATION == (0.95, 1.05)
    assert augmentation.NOISE == (0, 255 / 80)


def test_each_range_is_filled_and_each_image_has_its_own_draws(monkeypatch):
    """What the transformations are asked for, over 2000 images."""
    asked = {}
    for name in ("linear_contrast", "add", "gamma_contrast", "gaussian_blur", "saturation", "gaussian_noise"):

        def recorded(images, values, *rest, name=name):
            asked[name] = values
            return images

        monkeypatch.setattr(augmentation, name, recorded)
    altered(torch.zeros(2000, 1, 1, 3, dtype=torch.uint8), torch.Generator().manual_seed(0))
    ranges = {
        "linear_contrast": augmentation.CONTRAST,
        "add": augmentation.ADDED,
        "gamma_contrast": augmentation.GAMMA,
        "gaussian_blur": augmentation.BLUR,
        "saturation": augmentation.SATURATION,
        "gaussian_noise": augmentation.NOISE,
    }
    assert list(asked) == list(ranges)  # in the order of the paper
    for name, (low, high) in ranges.items():
        values = asked[name]
        assert values.shape == (2000, 1, 1, 3 if name == "add" else 1)
        assert low <= values.min() < low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) < values.max() <= high
        assert values.mean() == pytest.approx((low + high) / 2, abs=0.03 * (high - low))


def some_images(k: int = 6) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (k, 8, 8, 3)).astype(np.uint8)


def test_the_originals_come_first_and_the_copies_differ_from_them_and_each_other():
    images = some_images()
    copies = Augmentation(4)(images, np.random.default_rng(1))
    assert copies.shape == (24, 8, 8, 3)
    assert copies.dtype == np.uint8
    np.testing.assert_array_equal(copies[:6], images)
    for i in range(6):
        assert len({copy.tobytes() for copy in copies[i::6]}) == 4
    distance = np.abs(copies[6:].astype(int) - np.tile(images, (3, 1, 1, 1)))
    # The most that the first three can do to a value is 19.2 + 10 and a gamma of 9.8; the noise is 3.2 at most.
    assert 1 < distance.mean() < 20


def test_the_generator_of_the_run_decides_the_copies():
    images = some_images()
    first, again, other = (Augmentation(3)(images, np.random.default_rng(seed)) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize(
    "wrong", [np.zeros((3, 5), np.float32), np.zeros((3, 8, 8, 3)), np.zeros((3, 8, 8, 1), np.uint8)]
)
def test_what_is_no_image_is_refused(wrong):
    with pytest.raises(ConfigError, match=r"cannot be augmented.*learning\.augmentation"):
        Augmentation(2)(wrong, np.random.default_rng(0))


def test_a_memory_keeps_each_transition_with_its_copies():
    memory = Memory(Form((8, 8, 3), "|u1"), 2, 2, np.random.default_rng(0), Augmentation(10))
    images, actions = some_images(3), np.array([[0, 1], [2, 3], [4, 5]], np.float32)
    memory.add(images, actions, np.array([0, 1, 0]))
    memory.add(images[:1], actions[:1], np.array([1]))
    assert memory.size == 40
    assert memory.bootstraps.shape == (2, 40)
    np.testing.assert_array_equal(memory.actions[:30], np.tile(actions, (10, 1)))
    np.testing.assert_array_equal(memory.actions[30:], np.tile(actions[:1], (10, 1)))
    np.testing.assert_array_equal(memory.humans, [*([0, 1, 0] * 10), *[1] * 10])
    np.testing.assert_array_equal(memory.observations[30], images[0])
    assert (memory.observations[31:] != images[0]).any((1, 2, 3)).all()
