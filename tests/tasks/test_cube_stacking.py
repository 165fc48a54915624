"""The stacking world against values worked out by hand, and its controller against closed forms and MuJoCo's own."""

from math import cos, pi, sin, sqrt, tanh

import mujoco
import numpy as np
import pytest
from scipy import stats
from scipy.spatial.transform import Rotation

from iifl.supervisors.cube_stacking import CubeStackingSupervisors
from iifl.tasks.cube_stacking import APART, HOME, TORQUE_LIMITS, CubeStacking, first_apart

# The arm with its forearm level and its hand straight down. From base to hand: up 0.333 + 0.316 to the elbow, which
# is 0.0825 ahead; there the forearm's offset of 0.0825 points up and its 0.384 ahead; then 0.088 ahead and down
# 0.107 + 0.1034. The base is at (-0.45, 0, 1.125).
LEVEL = [0, 0, 0, -pi / 2, 0, pi / 2, pi / 4]
LEVEL_HAND = np.array([-0.45 + 0.0825 + 0.384 + 0.088, 0.0, 1.125 + 0.333 + 0.316 + 0.0825 - 0.107 - 0.1034])
UPRIGHT = [1.0, 0.0, 0.0, 0.0]


def sensed(world: CubeStacking) -> np.ndarray:
    """The observations after the state was written by hand."""
    world.load_state_dict(world.state_dict())
    return world.observation


def posed(cube_a, cube_b) -> CubeStacking:
    """One arm with its forearm level and the cubes at these places."""
    world = CubeStacking(1, threads=1)
    world.reset()
    world.qpos[0] = [*LEVEL, 0.04, 0.04, *cube_a, *UPRIGHT, *cube_b, *UPRIGHT]
    sensed(world)
    return world


def test_the_observation_of_a_known_pose():
    world = posed([0.1, 0.2, 1.05], [-0.1, 0.1, 1.06])
    world.qpos[0, 7:9] = [0.03, 0.01]
    world.qpos[0, 12:16] = [cos(0.2), 0, 0, sin(0.2)]  # cube A turned by 0.4 rad; w x y z
    expected = [
        [0, 0, sin(0.2), cos(0.2)],
        [0.1, 0.2, 1.05],
        [-0.2, -0.1, 0.01],
        LEVEL_HAND,
        [1, 0, 0, 0],
        [0.03, 0.01],
    ]
    np.testing.assert_allclose(sensed(world)[0], np.concatenate(expected), atol=1e-6)


def test_the_reward_of_a_cube_between_the_open_fingers():
    """The fingers are 0.04 from the middle; cube B is straight below by 0.06 + 0.05."""
    world = posed(LEVEL_HAND, LEVEL_HAND - [0, 0, 0.11])
    rewards, failed, reached = world._judge(np.zeros((1, 7)))
    near, aligned = 1 - tanh(10 * 0.08 / 3), 1 - tanh(10 * 0.05)
    assert rewards[0] == pytest.approx(0.1 * near + 1.5 + 2 * aligned, abs=1e-5)
    assert not failed[0]
    assert not reached[0]


def test_the_reward_of_a_cube_on_the_table_is_the_distance_term_alone():
    world = posed([LEVEL_HAND[0], 0.0, 1.05], [0.2, 0.2, 1.06])
    hand = LEVEL_HAND[2] - 1.05
    near = 1 - tanh(10 * (hand + 2 * sqrt(hand**2 + 0.04**2)) / 3)
    assert world._judge(np.zeros((1, 7)))[0][0] == pytest.approx(0.1 * near, abs=1e-7)


def test_a_cube_counts_as_lifted_four_centimetres_above_its_edge():
    for height, lifted in ((1.025 + 0.05 + 0.0401, True), (1.025 + 0.05 + 0.0399, False)):
        world = posed([0.1, 0.0, height], [-0.2, -0.2, 1.06])
        assert (world._judge(np.zeros((1, 7)))[0][0] > 1.5) == lifted


@pytest.mark.parametrize(
    ("off", "stacked"),
    [
        ([0, 0, 0], True),
        ([0.019, 0, 0], True),
        ([0.021, 0, 0], False),
        ([0.015, 0.015, 0], False),
        ([0, 0, 0.019], True),
        ([0, 0, 0.021], False),
        ([0, 0, -0.021], False),
    ],
)
def test_stacked_is_aligned_and_level(off, stacked):
    world = posed(np.add([0.1, 0.2, 1.12], off), [0.1, 0.2, 1.06])
    rewards, _, reached = world._judge(np.zeros((1, 7)))
    assert reached[0] == stacked
    assert (rewards[0] == 16.0) == stacked


@pytest.mark.parametrize(("away", "stacked"), [(0.041, True), (0.039, False)])
def test_stacked_needs_the_hand_to_let_go(away, stacked):
    world = posed(LEVEL_HAND - [0, 0, away], LEVEL_HAND - [0, 0, away + 0.06])
    assert world._judge(np.zeros((1, 7)))[2][0] == stacked


def test_a_success_ends_the_episode():
    world = posed([0.1, 0.2, 1.12], [0.1, 0.2, 1.06])
    _, rewards, terminated, truncated, info = world.step(np.zeros((1, 7)))
    assert (rewards[0], terminated[0], truncated[0], info["success"][0]) == (16.0, True, False, True)


def test_resets_are_where_they_should_be():
    world = CubeStacking(500, seed=2, threads=1)
    world.reset()
    joints, a, b = world.qpos[:, :7], world.qpos[:, 9:16], world.qpos[:, 16:23]
    assert (np.abs(joints - HOME) <= 0.25).all()
    assert (np.abs(np.concatenate([a[:, :2], b[:, :2]])) <= 0.25).all()
    assert (np.linalg.norm(a[:, :2] - b[:, :2], axis=1) >= 0.12 * sqrt(2)).all()
    np.testing.assert_allclose(a[:, 2], 1.05)
    np.testing.assert_allclose(b[:, 2], 1.06)
    # Uniform: each test would fail a right world once in 1000 seeds.
    for draws, half in ((a[:, 0], 0.25), (a[:, 1], 0.25), (2 * np.arctan2(a[:, 6], a[:, 3]), 0.785)):
        assert stats.kstest(draws, "uniform", (-half, 2 * half)).pvalue > 1e-3


def test_cube_b_takes_the_first_place_that_is_far_enough():
    rng = np.random.default_rng(0)
    a, candidates = rng.uniform(-0.25, 0.25, (200, 2)), rng.uniform(-0.25, 0.25, (200, 4, 2))
    for place, start, choices in zip(first_apart(a, candidates), a, candidates, strict=True):
        gaps = [float(np.hypot(*(choice - start))) for choice in choices]
        far = [choice for choice, gap in zip(choices, gaps, strict=True) if gap >= APART]
        np.testing.assert_array_equal(place, far[0] if far else choices[int(np.argmax(gaps))])


# The controller ---------------------------------------------------------------------------------------------------


def scattered(robots: int) -> CubeStacking:
    """Arms in random postures, moving, the cubes out of the way."""
    world, rng = CubeStacking(robots, threads=1), np.random.default_rng(1)
    world.reset()
    world.qpos[:, :7] = rng.uniform(world.lower, world.upper, (robots, 7))
    world.qvel[:, :7] = rng.normal(size=(robots, 7))
    sensed(world)
    return world


def test_jacobian_and_mass_matrix_are_mujocos():
    world = scattered(5)
    jacobians, masses = world.control.jacobian(np.arange(5)), world.control.mass_matrix(np.arange(5))
    model, site = world.model, world.model.site("grip").id
    for robot in range(5):
        data = world.batch.get_data(robot)
        mujoco.mj_forward(model, data)
        linear, angular, full = (np.zeros(shape) for shape in ((3, model.nv), (3, model.nv), (model.nv, model.nv)))
        mujoco.mj_jacSite(model, data, linear, angular, site)
        mujoco.mj_fullM(model, data, full)
        np.testing.assert_allclose(jacobians[robot], np.vstack([linear, angular])[:, :7], atol=1e-12)
        np.testing.assert_allclose(masses[robot], full[:7, :7], atol=1e-12)


def test_torques_are_those_of_the_textbook_formula():
    """τ = JᵀΛ(kp δ − kd v) + (I − JᵀΛJM⁻¹) M n + h, one robot at a time, where no limit is met."""
    world, robots = scattered(4), np.arange(4)
    world.qvel[:, :7] *= 0.1
    sensed(world)
    displacement = np.random.default_rng(2).normal(scale=0.02, size=(4, 6))
    torques = world.control.torques(robots, displacement)
    for i in robots:
        jacobian, mass = world.control.jacobian(robots)[i], world.control.mass_matrix(robots)[i]
        q, velocity = world.qpos[i, :7], world.qvel[i, :7]
        inertia = np.linalg.inv(jacobian @ np.linalg.inv(mass) @ jacobian.T + 1e-3 * np.eye(6))
        task = jacobian.T @ inertia @ (150 * displacement[i] - 2 * sqrt(150) * jacobian @ velocity)
        posture = mass @ (10 * (HOME - q) - 2 * sqrt(10) * velocity)
        free = np.eye(7) - jacobian.T @ inertia @ jacobian @ np.linalg.inv(mass)
        coriolis = (world.batch.qfrc_bias - world.batch.qfrc_gravcomp)[i, :7]
        expected = np.clip(task + free @ posture + coriolis, -TORQUE_LIMITS, TORQUE_LIMITS)
        np.testing.assert_allclose(torques[i], expected, atol=1e-9)


def at_home() -> CubeStacking:
    """One arm at rest in its home posture, the cubes out of the way."""
    world = CubeStacking(1, threads=1)
    world.reset()
    world.qpos[0, :7] = HOME
    world.qpos[0, [9, 10, 16, 17]] = [-0.5, -0.5, -0.5, 0.5]
    sensed(world)
    return world


def test_an_arm_at_home_stays_there():
    world = at_home()
    for _ in range(120):
        world.step(np.zeros((1, 7), np.float32))
    np.testing.assert_allclose(world.qpos[0, :7], HOME, atol=2e-3)


@pytest.mark.parametrize("axis", range(6))
def test_a_step_response_is_that_of_a_critically_damped_mass(axis):
    """Towards a fixed pose the hand moves as ẍ = kp (D − x) − 2√kp ẋ, with ẍ held for a step of 1/60 s."""
    world = at_home()
    world.batch.expand("dof_damping")[:] = 0.0
    start, distance = world.grip_position[0].copy(), np.array([0.05, 0.05, -0.05, 0.1, 0.1, 0.1])[axis]
    forward = world.batch.bind("site_xmat")[:, world.model.site("grip").id].reshape(1, 3, 3)
    sensed(world)
    at_start = forward[0].copy()
    x = v = worst = 0.0
    for _ in range(60):
        action = np.zeros((1, 7), np.float32)
        turned = Rotation.from_matrix(forward[0] @ at_start.T).as_rotvec()
        action[0, :3], action[0, 3:6] = 2 * (start - world.grip_position[0]), -2 * turned
        action[0, axis] += 2 * distance
        acceleration = 150 * (distance - x) - 2 * sqrt(150) * v
        for _ in range(4):
            v += acceleration / 240
            x += v / 240
        world.step(action)
        pose = np.concatenate(
            [world.grip_position[0] - start, Rotation.from_matrix(forward[0] @ at_start.T).as_rotvec()]
        )
        worst = max(worst, abs(pose[axis] - x))
        assert np.abs(np.delete(pose, axis)).max() < 0.05 * abs(distance)
    assert worst < 0.03 * abs(distance)
    assert abs(x - distance) < 0.001 * abs(distance)


def test_commanded_poses_are_reached():
    """Over the table, from home: within 1 mm after two seconds."""
    robots, rng = 16, np.random.default_rng(3)
    world = CubeStacking(robots, threads=1)
    world.reset()
    targets = np.column_stack(
        [rng.uniform(-0.05, 0.25, robots), rng.uniform(-0.25, 0.25, robots), np.full(robots, 1.2)]
    )
    for _ in range(120):
        actions = np.zeros((robots, 7), np.float32)
        actions[:, :3] = np.clip(2 * (targets - world.grip_position), -0.5, 0.5)
        world.step(actions)
    assert np.linalg.norm(world.grip_position - targets, axis=1).max() < 1e-3


def test_the_posture_returns_without_moving_the_hand():
    world = at_home()
    jacobian = world.control.jacobian(np.array([0]))[0]
    free = np.linalg.svd(jacobian)[2][-1]  # the motion of the elbow that leaves the hand alone
    world.qvel[0, :7] = 1.5 * free
    sensed(world)
    hand, away = world.grip_position[0].copy(), []
    for _ in range(240):
        action = np.zeros((1, 7), np.float32)
        action[0, :3] = 2 * (hand - world.grip_position[0])
        world.step(action)
        away.append(abs((world.qpos[0, :7] - HOME) @ free))
        assert np.linalg.norm(world.grip_position[0] - hand) < 2e-3
    assert max(away) > 0.05
    assert away[-1] < 0.1 * max(away)


def test_no_joint_gets_more_than_its_torque():
    world = scattered(20)
    torques = world.control.torques(np.arange(20), np.full((20, 6), 0.5))
    assert (np.abs(torques) <= TORQUE_LIMITS).all()
    assert (np.abs(torques) == TORQUE_LIMITS).any()


# The grip ---------------------------------------------------------------------------------------------------------


def test_the_gripper_opens_from_zero_and_closes_below():
    world = CubeStacking(2, threads=1)
    world.reset()
    world.qpos[:, 7:9] = 0.02
    for _ in range(30):
        observations = world.step(np.array([[0] * 7, [0] * 6 + [-0.01]], np.float32))[0]
    np.testing.assert_allclose(observations[:, 17:], [[0.04, 0.04], [0.0, 0.0]], atol=1e-3)


@pytest.fixture(scope="module")
def holding() -> CubeStacking:
    """Two arms that have lifted their cube."""
    world, robots = CubeStacking(2, seed=1, threads=1), np.arange(2)
    people = CubeStackingSupervisors(2, 2, kinds=1)
    observations, _ = world.reset()
    for _ in range(300):
        if (observations[:, 6] > 1.12).all():
            return world
        actions = people.act(robots, robots, observations, world)
        actions[observations[:, 6] > 1.12, :6] = 0.0  # wait for the other
        observations = world.step(actions)[0]
    raise AssertionError("the cubes were not lifted")


CLOSED = np.array([[0] * 6 + [-1]] * 2, np.float32)


def test_friction_holds_the_cube_and_nothing_else_does(holding):
    """Both arms shake and wait; then one of them loses the friction of its fingers and its cube."""
    in_hand = (holding.qpos[:, 9:12] - holding.grip_position).copy()
    for step in range(90):
        actions = CLOSED.copy()
        actions[:, 0] = 0.15 * np.sign(sin(0.3 * step)) if step < 60 else 0.0
        holding.step(actions)
    np.testing.assert_allclose(holding.qpos[:, 9:12] - holding.grip_position, in_hand, atol=2e-3)
    slippery = [holding.model.geom(name).id for name in ("left pad", "right pad", "cube A")]
    holding.batch.expand("geom_friction")[1, slippery] = [0.001, 0.0, 0.0]
    for _ in range(40):
        holding.step(CLOSED)
    fallen = in_hand[:, 2] - (holding.qpos[:, 11] - holding.grip_position[:, 2])
    assert fallen[0] < 2e-3
    assert fallen[1] > 0.03
