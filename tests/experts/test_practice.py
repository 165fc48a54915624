import numpy as np

from iifl.experts.practice import HardThrows
from iifl.tasks.ball_balance import BallBalance


def test_practice_throws_are_harder_and_none_is_outside_the_world():
    def throws(kind):
        world = kind(2000)
        world.reset(seed=1)
        distance = np.hypot(*world.qpos[:, 13:15].T)
        return distance, np.hypot(*world.qvel[:, 12:14].T)

    (far, fast), (distance, speed) = throws(HardThrows), throws(BallBalance)
    assert far.max() <= 0.5
    assert (fast <= 5 * (far - 0.001) / 0.499 + 1e-9).all()
    # the means of a share √u and of √u · √v, where the world has u and u · v
    np.testing.assert_allclose([far.mean(), distance.mean()], [0.001 + 0.499 * 2 / 3, 0.001 + 0.499 / 2], atol=0.012)
    np.testing.assert_allclose([fast.mean(), speed.mean()], [5 * 4 / 9, 5 / 4], atol=0.12)
