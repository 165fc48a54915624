"""The people of the navigation maze: they arrive from everywhere, by either way, whatever the wind does."""

import numpy as np
import pytest
from scipy.stats import binomtest

from iifl.supervisors.navigation import NavigationSupervisors
from iifl.tasks.navigation import Navigation


def at(poses: np.ndarray, wind: float, seed: int = 0) -> tuple[Navigation, NavigationSupervisors]:
    """A robot in the first timestep of its episode at each of these poses (k, 2), each with a human."""
    robots = len(poses)
    task, people = Navigation(robots, wind=wind), NavigationSupervisors(robots, robots, np.random.default_rng(seed))
    task.reset()
    people.begin(np.arange(robots))
    task.load_world_state({"pose": poses})
    return task, people


def act(task: Navigation, people: NavigationSupervisors) -> np.ndarray:
    everyone = np.arange(task.num_envs)
    return people.act(everyone, everyone, task._observe(), task)


def travel(task: Navigation, people: NavigationSupervisors) -> np.ndarray:
    """The cells that every robot goes through (T, N, 2)."""
    cells = []
    while task.running.any():
        actions = act(task, people)
        assert actions.dtype == np.float32
        assert (abs(actions) <= 1).all()
        task.step(actions)
        cells.append(task.cell)
    return np.stack(cells)


def free_poses() -> np.ndarray:
    """Four poses in every free cell of the maze: its middle and near three of its corners."""
    x, y = np.nonzero(Navigation(1).free)
    middles = np.stack([x, y - Navigation.half_height], axis=1).astype(float)
    return np.concatenate([middles + offset for offset in ([0, 0], [0.49, 0.49], [-0.5, 0.45], [0.4, -0.5])])


@pytest.mark.parametrize("wind", [0.0, 0.75])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_human_takes_the_robot_to_the_goal_from_wherever_it_is(wind, seed):
    poses = free_poses()
    task, people = at(poses, wind, seed)
    travel(task, people)
    lost = poses[~task.success]
    assert not len(lost), f"never arrived from {lost[:5].tolist()}"
    assert task.clock.max() < Navigation.episode_steps


@pytest.mark.parametrize("wind", [0.0, 0.75])
def test_both_ways_are_chosen_about_equally_and_no_move_is_lost_at_a_wall(wind):
    """A binomial test of 600 episodes; false alarm 1e-4 for each wind."""
    robots = 600
    task, people = at(np.tile([Navigation.fork_x, 0.0], (robots, 1)), wind)
    poses = []
    while task.running.any():
        before = task.pose.copy()
        task.step(act(task, people))
        still = (task.pose == before).all(1) & task.running
        assert not still.any()
        poses.append(task.pose.copy())
    over = np.max(poses, axis=0)[:, 1] > Navigation.obstacle_half_height
    under = np.min(poses, axis=0)[:, 1] < -Navigation.obstacle_half_height
    assert (over ^ under).all()
    assert binomtest(int(over.sum()), robots).pvalue > 1e-4


def test_the_way_is_kept_to_the_end_and_tossed_anew_for_a_new_episode():
    people = NavigationSupervisors(1, 50, np.random.default_rng(0))
    people.begin(np.arange(50))
    first = people.state_dict()["side"]
    people.begin(np.arange(10))
    second = people.state_dict()["side"]
    np.testing.assert_array_equal(first[10:], second[10:])
    assert (first[:10] != second[:10]).any()  # equal by chance once in 1024
    assert set(first) == {-1.0, 1.0}


def test_at_the_fork_the_mean_of_both_ways_is_to_stand_still():
    task, people = at(np.tile([float(Navigation.fork_x), 0.0], (2, 1)), wind=0.0)
    people.load_state_dict({"side": np.array([1.0, -1.0]), "lane": np.zeros(2)})
    assert act(task, people).tolist() == [[0, 1], [0, -1]]


def test_a_robot_off_the_middle_line_is_taken_on_along_the_way_it_is_on():
    task, people = at(np.array([[Navigation.fork_x, 3.0], [Navigation.fork_x, -3.0]]), wind=0.0)
    people.load_state_dict(
        {"side": np.array([-1.0, 1.0]), "lane": np.zeros(2)}
    )  # as if they had been sent the other way
    assert act(task, people).tolist() == [[0, 1], [0, -1]]


def test_people_follow_the_middle_of_the_free_path():
    task, people = at(np.tile([Navigation.fork_x, 0.0], (40, 1)), wind=0.0)
    lanes = people.state_dict()["lane"]
    assert set(lanes) == {-1.0, 0.0, 1.0}
    cells = travel(task, people)
    along = (cells[..., 0] >= Navigation.obstacle_x[0]) & (cells[..., 0] <= Navigation.obstacle_x[1])
    assert (abs(cells[..., 1]) == Navigation.branch_y + lanes)[along].all()
    corridor = cells[..., 0] >= Navigation.room_length
    assert (cells[..., 1] == lanes)[corridor].all()


def test_they_know_nothing_of_the_wind():
    """The action is the same with wind and without, and steers back to the lane after a gust."""
    poses = np.array([[x, y] for x in range(*Navigation.wind_x) for y in (-2.3, 0.0, 1.4)])
    actions = [act(*at(poses, wind)) for wind in (0.0, 0.75)]
    np.testing.assert_array_equal(*actions)
    back = at(poses, 0.0)[1].state_dict()["lane"] - poses[:, 1]
    np.testing.assert_allclose(actions[0], np.stack([np.ones(len(poses)), np.clip(back, -1, 1)], 1), rtol=1e-6)


def test_humans_act_for_the_robots_that_they_are_given():
    task, people = at(np.array([[0.0, 0.0], [Navigation.fork_x, 4.0], [Navigation.room_length + 2, 2.0]]), wind=0.0)
    everyone = act(task, people)
    chosen = people.act(np.array([1, 0]), np.array([2, 1]), task._observe()[[2, 1]], task)
    np.testing.assert_array_equal(chosen, everyone[[2, 1]])


def test_the_way_in_mind_is_saved():
    task, people = at(np.zeros((30, 2)), wind=0.0)
    saved = people.state_dict()
    other = NavigationSupervisors(30, 30, np.random.default_rng(7))
    other.load_state_dict(saved)
    task.load_world_state({"pose": np.tile([float(Navigation.fork_x), 0.0], (30, 1))})
    np.testing.assert_array_equal(act(task, people), act(task, other))
    task.load_world_state({"pose": np.tile([Navigation.room_length + 5.0, 2.0], (30, 1))})
    np.testing.assert_array_equal(act(task, people), act(task, other))
    people.begin(np.arange(30))
    for name, value in other.state_dict().items():
        np.testing.assert_array_equal(saved[name], value)  # a copy, which nobody has changed
