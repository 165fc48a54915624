"""The navigation maze: its floor plan, its walls, its wind and its goal. Numbers are those of the class."""

import numpy as np
import pytest

from iifl.tasks.navigation import Navigation

MIDDLE_OF_WIND = sum(Navigation.wind_x) // 2


def at(*poses: tuple[float, float], wind: float = 0.75) -> Navigation:
    """A robot in the first timestep of its episode at each of these poses."""
    task = Navigation(len(poses), wind=wind)
    task.reset()
    task.load_world_state({"pose": np.array(poses, float)})
    return task


def moved(task: Navigation, *actions: tuple[float, float]) -> list[list[float]]:
    task.step(np.array(actions, np.float32))
    return np.round(task.pose, 6).tolist()


def test_the_floor_plan_by_its_picture():
    """One row of the picture for each height; # wall, . free."""
    c = Navigation
    room, corridor = c.room_length, c.length - c.room_length
    before, obstacle = c.obstacle_x[0], c.obstacle_x[1] - c.obstacle_x[0] + 1
    after = room - before - obstacle
    free = c(1).free
    for y in range(-c.half_height, c.half_height + 1):
        blocked = abs(y) <= c.obstacle_half_height
        expected = "." * before + ("#" if blocked else ".") * obstacle + "." * after
        expected += ("." if abs(y) <= c.corridor_half_height else "#") * corridor
        assert "".join(".#"[not cell] for cell in free[:, y + c.half_height]) == expected, f"y = {y}"


def test_both_ways_round_are_equally_long():
    c = Navigation
    np.testing.assert_array_equal(c(1).free, c(1).free[:, ::-1])
    assert c.half_height - c.obstacle_half_height == 3  # cells between the obstacle and the outer wall
    assert c.branch_y == (c.half_height + c.obstacle_half_height + 1) / 2  # the middle of them
    distances = distances_to_goal()
    assert distances[c.fork_x, c.half_height + 1] == distances[c.fork_x, c.half_height - 1]


def distances_to_goal() -> np.ndarray:
    """King's moves from each cell to the goal's column, by breadth-first search; −1 for walls and cells cut off."""
    free = Navigation(1).free
    distances = np.full(free.shape, -1)
    front = {(Navigation.goal_x, y) for y in range(free.shape[1]) if free[Navigation.goal_x, y]}
    for distance in range(free.size):
        for cell in front:
            distances[cell] = distance
        neighbours = {(x + i, y + j) for x, y in front for i in (-1, 0, 1) for j in (-1, 0, 1)}
        front = {
            (x, y)
            for x, y in neighbours
            if 0 <= x < free.shape[0] and 0 <= y < free.shape[1] and free[x, y] and distances[x, y] < 0
        }
    return distances


def test_every_free_cell_leads_to_the_goal_in_time():
    free, distances = Navigation(1).free, distances_to_goal()
    assert ((distances >= 0) == free).all()
    assert distances.max() < Navigation.episode_steps / 1.2


def test_the_obstacle_separates_the_ways_and_the_corridor_joins_them():
    free, middle = Navigation(1).free, Navigation.half_height
    for x in range(*Navigation.obstacle_x):
        assert not free[x, middle]
        assert free[x, 0]
        assert free[x, -1]
    assert free[Navigation.obstacle_x[1] + 1 :, middle].all()
    assert Navigation.room_length < Navigation.wind_x[0] < Navigation.wind_x[1] < Navigation.goal_x


def test_robots_see_their_cell_and_never_the_pose_in_it():
    """A cell is the square around integer coordinates, its lower edge included."""
    task = at((0.49, -0.5), (-0.5, 0.5), (1.5, 1.49))
    assert task._observe().tolist() == [[0, 0], [0, 1], [2, 1]]


def test_free_moves_go_where_they_say():
    task = at((0, 0), (1.2, -0.3))
    assert moved(task, (1, -0.5), (0.25, 1)) == [[1, -0.5], [1.45, 0.7]]


@pytest.mark.parametrize(
    ("pose", "action"),
    [
        ((0, 0), (-0.6, 0)),  # the outer wall
        ((0, Navigation.half_height), (0, 1)),
        ((0, -Navigation.half_height), (0, -0.6)),
        ((Navigation.obstacle_x[0] - 1, 0), (1, 0)),  # the obstacle's face
        ((Navigation.obstacle_x[0], Navigation.obstacle_half_height + 1), (0, -1)),  # and its roof
        ((Navigation.room_length, Navigation.corridor_half_height), (0, 1)),  # the corridor's wall
        ((Navigation.room_length - 1, Navigation.corridor_half_height + 1), (1, 0)),  # the room's end beside it
        ((Navigation.goal_x, 3), (1, 0)),  # the end of the maze
    ],
)
def test_a_move_into_a_wall_is_blocked_and_no_failure(pose, action):
    task = at(pose, wind=0.0)
    assert moved(task, action) == [[float(pose[0]), float(pose[1])]]
    assert not task.failed.any()
    assert task.running.all()
    assert task.clock.tolist() == [1]


def test_a_blocked_move_is_blocked_along_both_axes():
    """There is no sliding along walls: the robot stays where it is."""
    task = at((1.0, Navigation.half_height), wind=0.0)
    assert moved(task, (0.5, 1)) == [[1.0, float(Navigation.half_height)]]


def test_the_wind_is_in_its_segment_alone_and_three_quarters_upwards():
    first, last = Navigation.wind_x
    columns = [first - 1, first, MIDDLE_OF_WIND, last, last + 1]
    task = at(*((x, -1.0) for x in columns))
    after = moved(task, *[(0, -0.1)] * 5)
    assert after == [[x, pytest.approx(y)] for x, y in zip(columns, [-1.1, -0.35, -0.35, -0.35, -1.1], strict=True)]


def test_the_wind_blows_where_a_move_begins():
    first, last = Navigation.wind_x
    assert moved(at((first - 1, 0)), (1, 0)) == [[first, 0]]
    assert moved(at((last, 0)), (1, 0)) == [[last + 1, 0.75]]


def test_in_still_air_there_is_no_wind_and_demonstrations_have_still_air():
    assert Navigation.demonstration_options == {"wind": 0.0}
    assert Navigation(1).wind == 0.75
    assert moved(at((MIDDLE_OF_WIND, 0), wind=0.0), (1, 0)) == [[MIDDLE_OF_WIND + 1, 0]]


def test_a_robot_that_does_not_steer_against_the_wind_is_stopped_by_the_wall():
    task = at((Navigation.wind_x[0], 0))
    for _ in range(20):
        task.step(np.array([[1, 0]], np.float32))
    assert task.cell[0, 1] == Navigation.corridor_half_height
    assert task.cell[0, 0] < Navigation.wind_x[1]
    assert not task.success.any()


def test_the_goal_is_the_end_of_the_middle_of_the_corridor():
    x = Navigation.goal_x
    task = at((x - 1, 0), (x - 1, 1), (x - 1, -1), (x - 1, 2), (x - 1, -2), (x - 2, 0))
    _, rewards, terminated, truncated, info = task.step(np.tile(np.array([1, 0], np.float32), (6, 1)))
    assert info["success"].tolist() == [True, True, True, False, False, False]
    assert rewards.tolist() == [1, 1, 1, 0, 0, 0]
    assert terminated.tolist() == info["success"].tolist()
    assert not truncated.any()


def test_episodes_start_around_the_middle_of_the_start_cell():
    task = Navigation(500, seed=3)
    observations, _ = task.reset()
    assert (observations == (task.fork_x, 0)).all()
    assert (abs(task.pose - (task.fork_x, 0)) <= 0.1 + 1e-12).all()
    assert (task.pose.std(0) > 0.05).all()  # 0.2 / √12 = 0.058
    first = task.pose.copy()
    task.reset()
    assert not np.equal(task.pose, first).any()


def test_the_state_of_the_world_is_taken_back():
    task, other = at((3, 8.25), (30.5, 0)), Navigation(2, seed=9)
    other.reset()
    other.load_state_dict(task.state_dict())
    actions = ((0.5, 0.25), (1, -1))
    assert moved(task, *actions) == moved(other, *actions)
