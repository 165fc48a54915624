"""The reacher's layout and reward worked out by hand, and its people's two ways."""

from math import pi

import numpy as np
import pytest

from iifl.supervisors.reacher import ReacherSupervisors
from iifl.tasks.reacher import Reacher


def at(shoulder: float, elbow: float, target: tuple[float, float]) -> Reacher:
    world = Reacher(1)
    world.reset()
    world.qpos[0], world.qvel[0], world.targets[0] = [shoulder, elbow], [1.0, -0.5], target
    world.load_state_dict(world.state_dict())
    return world


def test_the_observation_of_a_known_pose():
    world = at(pi / 2, -pi / 2, (0.8, 0.6))  # the tip is at (0.5, 0.5)
    np.testing.assert_allclose(world.observation[0], [0, 0, 1, -1, 0.5, -0.25, 0.3, 0.1], atol=1e-6)


@pytest.mark.parametrize(("target", "reached"), [((0.8, 0.9), False), ((0.52, 0.5), True)])
def test_reward_is_minus_the_distance_and_close_is_success(target, reached):
    rewards, failed, success = at(pi / 2, -pi / 2, target)._judge(np.zeros((1, 2), np.float32))
    assert rewards[0] == pytest.approx(-np.hypot(target[0] - 0.5, target[1] - 0.5))
    assert (failed[0], success[0]) == (False, reached)


def test_targets_are_in_the_half_ring_ahead():
    world = Reacher(500)
    world.reset(seed=1)
    radius = np.hypot(*world.targets.T)
    assert (0.3 <= radius.min() < 0.31, 0.89 < radius.max() < 0.9) == (True, True)
    assert (world.targets[:, 0] > 0).all()


def finish(world: Reacher, crowd: ReacherSupervisors, robots: np.ndarray) -> np.ndarray:
    """Let people do whole episodes; how the elbows were bent at the end."""
    observations = world.reset(options={"reset_mask": np.zeros(len(robots), bool)})[0]
    while world.running.any():
        observations, *_ = world.step(crowd.act(robots * 0, robots, observations, world))
    return world.qpos[:, 1]


def test_people_reach_every_target_with_the_elbow_on_either_side_half_of_the_time():
    world, robots = Reacher(400), np.arange(400)
    crowd = ReacherSupervisors(3, 400, np.random.default_rng(0))
    world.reset(seed=2)
    crowd.begin(robots)
    elbows = finish(world, crowd, robots)
    assert world.success.all()
    assert world.clock.max() < 150
    assert abs((elbows > 0).mean() - 0.5) < 0.1  # four standard deviations


def test_a_person_takes_over_an_arm_that_is_bent_the_other_way():
    world, robots = Reacher(2), np.arange(2)
    world.reset(seed=3)
    world.qpos[:, 1] = [1.0, -1.0]
    crowd = ReacherSupervisors(1, 2, np.random.default_rng(0))
    for sides in ([1.0, 1.0], [-1.0, -1.0]):
        crowd.load_state_dict({"side": np.array(sides)})
        start = world.state_dict()
        assert np.sign(finish(world, crowd, robots)).tolist() == [1, -1]
        assert world.success.all()
        world.load_state_dict(start)
