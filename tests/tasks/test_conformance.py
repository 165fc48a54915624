"""What every registered world must do, whatever it is."""

import gc
import inspect
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from iifl.registry import TASKS
from iifl.tasks.fleet import ActionError, FleetTask

N = 4
every_task = pytest.mark.parametrize("name", TASKS.names())


def make(name: str, robots: int = N, seed: int = 0, **options: int) -> FleetTask:
    task: FleetTask = TASKS.load(name)(robots, seed=seed, **options)
    return task


def legal_actions(task: FleetTask, rng: np.random.Generator) -> np.ndarray:
    box = task.single_action_space
    return rng.uniform(box.low, box.high, (task.num_envs, *box.shape)).astype(np.float32)


def trajectory(task: FleetTask, steps: int = 12, action_seed: int = 0) -> list[np.ndarray]:
    """Everything that the fleet says while it moves at random."""
    rng = np.random.default_rng(action_seed)
    said = []
    for _ in range(steps):
        observations, rewards, terminated, truncated, info = task.step(legal_actions(task, rng))
        said += [observations, rewards, terminated, truncated, info["failed"], info["success"], info["episode_return"]]
    return said


def assert_same(first: list[np.ndarray], second: list[np.ndarray]) -> None:
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def starts_differ(one: FleetTask, other: FleetTask) -> bool:
    """Whether the worlds are in different states (the difference need not be observed yet)."""
    state = other.world_state()
    return any(not np.array_equal(value, state[key]) for key, value in one.world_state().items())


@every_task
def test_shapes_types_and_bounds(name):
    task = make(name)
    observations, info = task.reset()
    assert task.metadata["autoreset_mode"] == AutoresetMode.DISABLED
    assert observations in task.observation_space
    assert observations.dtype == task.single_observation_space.dtype
    for _ in range(5):
        observations, rewards, terminated, truncated, info = task.step(legal_actions(task, np.random.default_rng(0)))
        assert observations in task.observation_space
        assert np.isfinite(observations).all()
        assert rewards.shape == (N,)
        assert np.isfinite(rewards).all()
        for flags in (terminated, truncated, info["failed"], info["success"]):
            assert flags.shape == (N,)
            assert flags.dtype == np.bool_


@every_task
def test_the_seed_decides_everything(name):
    first, second, other = make(name, seed=3), make(name, seed=3), make(name, seed=4)
    start, again, _ = (task.reset()[0] for task in (first, second, other))
    np.testing.assert_array_equal(start, again)
    if first.reset_draws:
        assert starts_differ(first, other)
    assert_same(trajectory(first), trajectory(second))


@every_task
def test_a_seed_given_to_reset_starts_the_whole_fleet_anew(name):
    used, fresh = make(name, seed=1), make(name, seed=9)
    used.reset()
    trajectory(used)
    used.reset(seed=9)
    fresh.reset()
    assert_same(trajectory(used), trajectory(fresh))


@every_task
def test_a_robot_starts_the_same_in_a_fleet_of_any_size(name):
    few, many = make(name, 2, seed=5).reset()[0], make(name, 7, seed=5).reset()[0]
    np.testing.assert_allclose(few, many[:2], rtol=1e-6, atol=1e-7)


@every_task
def test_the_number_of_threads_changes_nothing(name):
    if "threads" not in inspect.signature(TASKS.load(name)).parameters:
        pytest.skip("this world has no threads")
    fleets = [make(name, 5, threads=threads) for threads in (1, 2, 3)]
    for fleet in fleets:
        fleet.reset()
    one, two, three = (trajectory(fleet) for fleet in fleets)
    assert_same(one, two)
    assert_same(one, three)


@every_task
def test_a_reset_of_some_robots_leaves_the_others_bit_identical(name):
    disturbed, left_alone = make(name), make(name)
    for task in (disturbed, left_alone):
        task.reset()
        trajectory(task)
    mask = np.array([False, True, False, True])
    before = left_alone.reset(options={"reset_mask": np.zeros(N, bool)})[0]
    after = disturbed.reset(options={"reset_mask": mask})[0]
    np.testing.assert_array_equal(after[~mask], before[~mask])
    assert disturbed.episode.tolist() == [0, 1, 0, 1]
    for said, expected in zip(trajectory(disturbed), trajectory(left_alone), strict=True):
        np.testing.assert_array_equal(said[~mask], expected[~mask])


@every_task
def test_a_new_episode_differs_from_the_last_and_is_the_same_whenever_it_begins(name):
    early, late = make(name), make(name)
    early.reset()
    first = early.world_state()
    late.reset()
    trajectory(late)
    everyone = {"reset_mask": np.ones(N, bool)}
    second = early.reset(options=everyone)[0]
    if early.reset_draws:
        assert any(not np.array_equal(value, first[key]) for key, value in early.world_state().items())
    np.testing.assert_array_equal(second, late.reset(options=everyone)[0])


@every_task
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e3, -1e3])
def test_an_action_that_cannot_be_executed_is_an_error_naming_the_robot(name, bad):
    task = make(name)
    task.reset()
    before = task.state_dict()
    actions = legal_actions(task, np.random.default_rng(0))
    actions[2, -1] = bad
    with pytest.raises(ActionError, match="robot 2"):
        task.step(actions)
    for key, value in task.state_dict().items():
        np.testing.assert_array_equal(value, before[key], err_msg=key)


@every_task
def test_actions_of_a_wrong_shape_are_an_error_that_says_the_shape(name):
    task = make(name)
    task.reset()
    expected = re.escape(str((N, *task.single_action_space.shape)))
    with pytest.raises(ActionError, match=expected):
        task.step(np.zeros((N - 1, *task.single_action_space.shape), np.float32))


@every_task
def test_a_robot_whose_episode_is_over_stays_as_it_is(name):
    task = make(name)
    task.reset()
    task.clock[1] = task.episode_steps - 1  # robot 1 is about to run out of time
    rng = np.random.default_rng(0)
    actions = legal_actions(task, rng)
    actions[1] = 0.0  # it does nothing that could end its episode otherwise
    observations, _, _, truncated, _ = task.step(actions)
    assert truncated.tolist() == [False, True, False, False]
    earned = task.episode_return[1]
    for _ in range(3):
        actions = legal_actions(task, rng)
        actions[1] = np.nan  # an idle robot's action is ignored
        later, rewards, _, truncated, _ = task.step(actions)
        np.testing.assert_array_equal(later[1], observations[1])
        assert rewards[1] == 0.0
        assert truncated[1]
        assert not np.array_equal(later[0], observations[0])
    assert task.episode_return[1] == earned


@every_task
def test_a_saved_state_goes_on_bit_for_bit(name):
    task = make(name, seed=2)
    task.reset()
    trajectory(task)
    task.reset(options={"reset_mask": np.array([True, False, False, False])})
    saved = {key: np.array(value) for key, value in task.state_dict().items()}
    other = make(name, seed=77)
    other.reset()
    trajectory(other, action_seed=5)
    other.load_state_dict(saved)
    nobody = {"reset_mask": np.zeros(N, bool)}
    np.testing.assert_array_equal(task.reset(options=nobody)[0], other.reset(options=nobody)[0])
    assert_same(trajectory(task), trajectory(other))
    everyone = {"reset_mask": np.ones(N, bool)}
    np.testing.assert_array_equal(task.reset(options=everyone)[0], other.reset(options=everyone)[0])


@every_task
def test_what_was_observed_is_not_changed_afterwards(name):
    task = make(name)
    first, _ = task.reset()
    kept = first.copy()
    trajectory(task, steps=2)
    np.testing.assert_array_equal(first, kept)


@every_task
def test_python_memory_is_flat(name):
    task = make(name)
    task.reset()
    trajectory(task, steps=5)
    actions = legal_actions(task, np.random.default_rng(0))
    tracemalloc.start()
    try:
        sizes = []
        for _ in range(3):
            for _ in range(60):
                task.step(actions)
                over = ~task.running
                task.reset(options={"reset_mask": over})
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert sizes[2] - sizes[1] < 20_000


@pytest.mark.slow
@every_task
def test_memory_is_flat_over_ten_thousand_steps(name):
    task = make(name)
    task.reset()
    actions = legal_actions(task, np.random.default_rng(0))

    def resident_megabytes() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20

    for step in range(11_000):
        if step == 1_000:
            start = resident_megabytes()
        task.step(actions)
        task.reset(options={"reset_mask": ~task.running})
    assert resident_megabytes() - start < 8
