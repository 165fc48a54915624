"""Encoders: vectors pass as they are, images become the features that the weights say, once for each state."""

import numpy as np
import pytest
import torch

from iifl.checks import ConfigError
from iifl.encoders import EncoderConfig, ImageEncoder, Standardisation, make_encoder
from iifl.memory import Memory
from iifl.policies.explicit import ExplicitConfig
from iifl.policies.implicit import ImplicitConfig
from iifl.policies.langevin import LangevinConfig
from iifl.policies.learner import Sizes
from iifl.records import Form
from iifl.registry import POLICIES

IMAGE = Form((16, 24, 3), "|u1")
POLICY_CONFIGS = (
    ExplicitConfig(members=3, width=8),
    ImplicitConfig(members=3, width=8, draws=30),
    LangevinConfig(members=3, width=8, depth=2, iterations=5, draws=30),
)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def by_hand(members: int) -> ImageEncoder:
    """Member m's map c is the mean of colour c over each patch, times m + 1."""
    encoder = ImageEncoder(IMAGE, members, EncoderConfig(channels=3), generator())
    of_patches, of_neighbours = (
        weight.data.zero_().view(members, 3, 3, *weight.shape[2:]) for weight in encoder.weights
    )
    for member in range(members):
        for colour in range(3):
            of_patches[member, colour, colour] = (member + 1) / 16
            of_neighbours[member, colour, colour, 1, 1] = 1
    return encoder


def block_means(images: np.ndarray) -> np.ndarray:
    """The mean over each 8 × 8 block, by colours, rows and columns: (B, 3 · 2 · 3)."""
    blocks = images.reshape(len(images), 2, 8, 3, 8, 3).mean((2, 4))
    return blocks.transpose(0, 3, 1, 2).reshape(len(images), -1)


def test_vectors_are_their_own_features_and_cost_no_random_number():
    rng, untouched = generator(), generator().get_state()
    encoder = make_encoder(Form((5,)), 2, EncoderConfig(), rng)
    vectors = torch.randn(2, 7, 5, generator=generator())
    assert encoder.features == 5
    assert encoder(vectors) is vectors
    assert list(encoder.parameters()) == []
    assert torch.equal(rng.get_state(), untouched)


def test_features_of_images_by_hand_for_all_members_at_once():
    images = np.random.default_rng(0).random((4, *IMAGE.shape), np.float32)
    features = by_hand(2)(torch.from_numpy(images)).detach().numpy()
    assert features.shape == (2, 4, 3 * 2 * 3)
    np.testing.assert_allclose(features[0], block_means(images), rtol=1e-5)
    np.testing.assert_allclose(features[1], 2 * block_means(images), rtol=1e-5)


def test_each_member_may_have_a_batch_of_its_own():
    images = np.random.default_rng(1).random((2, 4, *IMAGE.shape), np.float32)
    features = by_hand(2)(torch.from_numpy(images)).detach().numpy()
    np.testing.assert_allclose(features[0], block_means(images[0]), rtol=1e-5)
    np.testing.assert_allclose(features[1], 2 * block_means(images[1]), rtol=1e-5)


def test_a_second_convolution_sees_the_neighbouring_patches():
    encoder = by_hand(1)
    encoder.weights[1].data[0, 0] = 0
    encoder.weights[1].data[0, 1, 1, 0] = 1  # the first map: what the patch to the left has of the second colour
    images = torch.zeros(1, *IMAGE.shape)
    images[0, 0:4, 4:8, 1] = 1  # the second patch of the first row, so the third one sees it
    first_map = encoder(images)[0, 0].view(3, 2, 3)[0]
    torch.testing.assert_close(first_map, torch.tensor([[0, 0.25, 0], [0, 0, 0]]))


def test_members_begin_with_weights_of_their_own():
    weights = ImageEncoder(IMAGE, 2, EncoderConfig(), generator()).weights[0].data.view(2, -1)
    assert not torch.equal(weights[0], weights[1])
    assert weights.std() == pytest.approx((2 / 48) ** 0.5, rel=0.1)  # He: 4 · 4 · 3 inputs


@pytest.mark.parametrize("config", POLICY_CONFIGS, ids=lambda config: config.kind)
def test_an_image_is_encoded_once_and_not_once_for_each_action(config):
    sizes = Sizes(IMAGE, -np.ones(2, np.float32), np.ones(2, np.float32))
    policy = POLICIES.load(config.kind)(config, sizes, 0, "cpu")
    seen = []
    policy.encoder.register_forward_hook(lambda _, inputs, features: seen.append((inputs[0].shape, features.shape)))
    policy.decide(np.zeros((5, *IMAGE.shape), np.uint8))
    assert seen == [((5, *IMAGE.shape), (3, 5, policy.encoder.features))]
    memory = Memory(IMAGE, 2, 3, np.random.default_rng(0))
    images = np.random.default_rng(0).integers(0, 256, (4, *IMAGE.shape)).astype(np.uint8)
    memory.add(images, np.full((4, 2), 0.5), np.zeros(4, int))
    seen.clear()
    before = [weight.detach().clone() for weight in policy.encoder.parameters()]
    policy.learn(memory, 1)
    batch = config.optimisation.batch
    assert seen == [((3, batch, *IMAGE.shape), (3, batch, policy.encoder.features))]
    assert any(not torch.equal(weight, old) for weight, old in zip(policy.encoder.parameters(), before, strict=True))


def test_colours_are_standardised_each_over_all_pixels_of_all_images():
    images = np.random.default_rng(2).integers(0, 256, (20, *IMAGE.shape)).astype(np.uint8)
    images[..., 1] = images[..., 1] // 4 + 100
    images[..., 2] = 7  # a constant colour is only shifted
    standardise = Standardisation(IMAGE)
    standardise.fit(torch.from_numpy(images))
    found = standardise(torch.from_numpy(images)).numpy()
    np.testing.assert_allclose(found[..., :2].mean((0, 1, 2)), 0, atol=1e-4)
    np.testing.assert_allclose(found[..., :2].std((0, 1, 2)), 1, rtol=1e-4)
    assert (found[..., 2] == 0).all()
    expected = images[3, 5, 7, 1] - images[..., 1].mean()
    assert found[3, 5, 7, 1] == pytest.approx(expected / images[..., 1].std(), rel=1e-3)


def test_images_that_are_too_small_are_refused():
    with pytest.raises(ConfigError, match="images of 7 × 32 are too small"):
        ImageEncoder(Form((7, 32, 3), "|u1"), 1, EncoderConfig(), generator())
