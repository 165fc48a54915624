"""The timestep of section 3, in histories worked out by hand: a scripted world, a scripted policy, scripted people."""

from dataclasses import fields
from typing import ClassVar

import numpy as np
import pytest
from gymnasium import spaces

from iifl import metrics
from iifl.allocation.priority import Constraint, Order, UncertaintyConstraint
from iifl.assembly import make_rules
from iifl.config import FleetConfig, LearningConfig, RunConfig
from iifl.loop import Fleet, Lesson, Rules
from iifl.memory import Memory
from iifl.records import NOBODY, Decision, Form, Situation, Timestep
from iifl.tasks.fleet import FleetTask

OWN, THRESHOLD = -0.5, 0.5


class ScriptedWorld(FleetTask):
    """`fails` and `succeeds` hold (robot, episode) → the clock at which it happens; s = (robot, episode, clock)."""

    episode_steps = 6
    fails: ClassVar[dict[tuple[int, int], int]] = {}
    succeeds: ClassVar[dict[tuple[int, int], int]] = {}

    def __init__(self, robots: int, fails=None, succeeds=None) -> None:
        self.failures, self.goals = fails or {}, succeeds or {}
        self.moves: list[np.ndarray] = []
        super().__init__(robots, spaces.Box(-1e3, 1e3, (3,), np.float32), spaces.Box(-1, 1, (1,), np.float32))

    def _reset_robots(self, robots, uniforms) -> None:
        pass

    def _advance(self, robots, actions) -> None:
        moved = np.full(self.num_envs, np.nan)  # an idle robot does not move
        moved[robots] = actions[:, 0]
        self.moves.append(moved)

    def _observe(self):
        return np.stack([np.arange(self.num_envs), self.episode, self.clock], axis=1).astype(np.float32)

    def _due(self, script) -> np.ndarray:
        clock = [script.get((robot, int(episode)), -1) for robot, episode in enumerate(self.episode)]
        return self.clock + 1 == clock

    def _judge(self, actions):
        reached = self._due(self.goals)
        return np.where(reached, 10.0, 1.0), self._due(self.failures), reached

    def world_state(self):
        return {}

    def load_world_state(self, state) -> None:
        pass


class ScriptedPolicy:
    """Proposes OWN everywhere; `doubts` holds (robot, timestep) → uncertainty, 0 elsewhere."""

    def __init__(self, doubts=None) -> None:
        self.doubts, self.timestep, self.lessons = doubts or {}, 0, []

    def decide(self, observations) -> Decision:
        unsure = [self.doubts.get((robot, self.timestep), 0.0) for robot in range(len(observations))]
        self.timestep += 1
        return Decision(np.full((len(observations), 1), OWN, np.float32), np.array(unsure))

    def learn(self, memory: Memory, steps: int) -> float:
        self.lessons.append((self.timestep, memory.size, steps))
        return 0.0

    def state_dict(self):
        return {"timestep": np.array(self.timestep)}

    def load_state_dict(self, state) -> None:
        self.timestep = int(state["timestep"])


class ScriptedPeople:
    """Human m always does (m + 1) / 10."""

    def __init__(self, humans: int) -> None:
        self.humans, self.begun = humans, []

    def begin(self, robots) -> None:
        self.begun.append(robots.tolist())

    def act(self, humans, robots, observations, task):
        np.testing.assert_array_equal(observations[:, 0], robots)
        return ((humans[:, None] + 1) / 10).astype(np.float32)

    def state_dict(self):
        return {}

    def load_state_dict(self, state) -> None:
        pass


class AttentivePeople(ScriptedPeople):
    """They note what they see and do, in its order."""

    def __init__(self, humans: int) -> None:
        super().__init__(humans)
        self.seen: list[Situation | str] = []

    def attend(self, situation, task) -> None:
        self.seen.append(situation)

    def act(self, humans, robots, observations, task):
        self.seen.append(f"act {robots.tolist()}")
        return super().act(humans, robots, observations, task)


def make_fleet(
    robots: int,
    humans: int,
    *,
    order: Order | None = None,
    stay: int = 1,
    reset: int = 3,
    update_every: int = 0,
    steps: int = 0,
    seed: int = 0,
    doubts=None,
    **world,
) -> Fleet:
    rng = np.random.default_rng(seed)
    rules = Rules(stay, reset, update_every, steps)
    order = order or UncertaintyConstraint(THRESHOLD)
    task, policy, people = ScriptedWorld(robots, **world), ScriptedPolicy(doubts), ScriptedPeople(humans)
    return Fleet(task, policy, people, order, Memory(Form((3,)), 1, 2, rng), rules, rng)


def watch(fleet: Fleet, timesteps: int) -> tuple[Timestep, list[Lesson]]:
    """The history of the next timesteps (T, N), and the lesson of each."""
    steps, lessons = zip(*(fleet.advance() for _ in range(timesteps)), strict=True)
    return metrics.stack(steps), list(lessons)


def column(history: Timestep, name: str, robot: int = 0) -> list[int]:
    return getattr(history, name)[:, robot].astype(int).tolist()


def moves(fleet: Fleet, robot: int = 0) -> list[float]:
    """What the robot did in each timestep; NaN where it was idle."""
    return [round(float(moved[robot]), 6) for moved in fleet.task.moves]


def same(first: list[float], second: list[float]) -> bool:
    return np.array_equal(first, second, equal_nan=True)


nan = float("nan")


def test_a_failed_robot_without_a_human_waits():
    fleet = make_fleet(2, 0, order=Constraint(), fails={(0, 0): 2})
    history, _ = watch(fleet, 6)
    assert column(history, "failed") == [0, 0, 1, 1, 1, 1]
    assert column(history, "hard_reset") == [0] * 6
    assert column(history, "ended") == [0] * 6
    assert history.rewards[:, 0].tolist() == [1, 1, 0, 0, 0, 0]
    assert same(moves(fleet, 0), [OWN, OWN, nan, nan, nan, nan])
    assert same(moves(fleet, 1), [OWN] * 6)
    assert fleet.task.clock[0] == 2


def test_a_hard_reset_takes_its_time_and_a_new_episode_starts_after_it():
    fleet = make_fleet(2, 1, order=Constraint(), reset=3, fails={(0, 0): 2})
    history, _ = watch(fleet, 7)
    assert column(history, "human_of") == [NOBODY, NOBODY, 0, 0, 0, NOBODY, NOBODY]
    assert column(history, "failed") == [0, 0, 1, 1, 1, 0, 0]
    assert column(history, "hard_reset") == [0, 0, 0, 0, 1, 0, 0]
    assert same(moves(fleet), [OWN, OWN, nan, nan, nan, OWN, OWN])
    assert (fleet.task.episode[0], fleet.task.clock[0]) == (1, 2)
    assert fleet.supervisors.begun[0] == [0, 1]
    assert fleet.supervisors.begun[5] == [0]  # after the fifth timestep, that of the reset


def test_a_human_with_time_left_after_the_reset_teaches():
    """t_T = 5, t_R = 3: two timesteps are left, and the robot does what the human does."""
    fleet = make_fleet(2, 1, stay=5, reset=3, fails={(0, 0): 2})
    history, lessons = watch(fleet, 8)
    assert column(history, "human_of") == [NOBODY, NOBODY, 0, 0, 0, 0, 0, NOBODY]
    assert column(history, "taught") == [0, 0, 0, 0, 0, 1, 1, 0]
    assert same(moves(fleet), [OWN, OWN, nan, nan, nan, 0.1, 0.1, OWN])
    assert [len(lesson.actions) for lesson in lessons] == [0, 0, 0, 0, 0, 1, 1, 0]
    assert fleet.memory.observations.tolist() == [[0, 1, 0], [0, 1, 1]]
    assert fleet.memory.actions.tolist() == [[np.float32(0.1)]] * 2
    assert fleet.human_actions == 5


def test_people_of_flesh_and_blood_see_what_is_to_do_before_they_act_and_change_nothing_by_it():
    """t_T = 5, t_R = 3: robot 0 is reset in timesteps 2 to 4 and taught in 5 and 6, when it is sure of itself again."""
    events = {"stay": 5, "reset": 3, "fails": {(0, 0): 2}, "doubts": {(1, 7): 0.7}}
    plain, fleet = make_fleet(2, 1, **events), make_fleet(2, 1, **events)
    fleet.supervisors = people = AttentivePeople(1)
    (expected, _), (history, _) = watch(plain, 9), watch(fleet, 9)
    for field in fields(Timestep):
        np.testing.assert_array_equal(getattr(history, field.name), getattr(expected, field.name))
    situations, acts = people.seen[::2], people.seen[1::2]
    assert [situation.timestep for situation in situations] == list(range(9))
    np.testing.assert_array_equal([situation.human_of for situation in situations], history.human_of)
    np.testing.assert_array_equal([situation.uncertainty for situation in situations], history.uncertainty)
    assert acts == ["act []"] * 5 + ["act [0]"] * 2 + ["act [1]"] * 2
    assert [situation.asked.tolist() for situation in situations] == [
        *[[False, False]] * 5,
        *[[True, False]] * 2,
        *[[False, True]] * 2,
    ]
    assert np.argwhere([situation.resets for situation in situations]).tolist() == [[2, 0]]  # it begins once
    wanting = np.argwhere([situation.wants for situation in situations]).tolist()
    assert wanting == [[2, 0], [3, 0], [4, 0], [7, 1]]  # in 5, 6 and 8 the human only stays


def test_with_the_order_c_nobody_teaches():
    """The same history, but the human who has time left only stands by."""
    fleet = make_fleet(2, 1, order=Constraint(), stay=5, reset=3, fails={(0, 0): 2}, doubts={(1, 0): 9.0})
    history, _ = watch(fleet, 8)
    assert column(history, "human_of") == [NOBODY, NOBODY, 0, 0, 0, 0, 0, NOBODY]
    assert not history.taught.any()
    assert same(moves(fleet), [OWN, OWN, nan, nan, nan, OWN, OWN, OWN])
    assert fleet.memory.size == 0
    assert fleet.human_actions == 5


def test_a_hard_reset_is_finished_whoever_else_needs_help():
    """t_T = 1, but nobody leaves in the middle of a reset; the one who is more unsure waits."""
    doubts = {(1, t): 9.0 for t in range(2, 9)}
    history, _ = watch(make_fleet(2, 1, reset=4, fails={(0, 0): 1}, doubts=doubts), 7)
    assert column(history, "human_of", 0) == [NOBODY, 0, 0, 0, 0, NOBODY, NOBODY]
    assert column(history, "human_of", 1) == [NOBODY] * 5 + [0, 0]
    assert column(history, "hard_reset", 0) == [0, 0, 0, 0, 1, 0, 0]


def test_a_human_stays_for_the_minimum_intervention_and_the_data_are_theirs():
    """Robot 1 doubts once; robot 2 doubts more from then on, and gets the human when the time is over."""
    doubts = {(1, 1): 0.7, **{(2, t): 5.0 for t in (2, 3, 4)}}
    fleet = make_fleet(3, 1, stay=3, doubts=doubts)
    history, lessons = watch(fleet, 8)
    assert column(history, "human_of", 0) == [NOBODY] * 8
    assert column(history, "human_of", 1) == [NOBODY, 0, 0, 0, NOBODY, NOBODY, NOBODY, NOBODY]
    assert column(history, "human_of", 2) == [NOBODY] * 4 + [0, 0, 0, NOBODY]
    np.testing.assert_array_equal(history.taught, history.human_of != NOBODY)
    expected = [[1, 0, 1], [1, 0, 2], [1, 0, 3], [2, 0, 4], [2, 0, 5], [2, 1, 0]]  # the episode ends in between
    assert fleet.memory.observations.tolist() == expected
    assert np.concatenate([lesson.observations for lesson in lessons]).tolist() == expected
    assert fleet.memory.humans.tolist() == [0] * 6
    assert same(moves(fleet, 1), [OWN, 0.1, 0.1, 0.1, OWN, OWN, OWN, OWN])


def test_the_threshold_counts_at_equality_and_nothing_below_it():
    history, _ = watch(make_fleet(2, 1, doubts={(0, 0): THRESHOLD, (1, 1): np.nextafter(THRESHOLD, 0)}), 2)
    assert column(history, "human_of", 0) == [0, NOBODY]
    assert column(history, "human_of", 1) == [NOBODY, NOBODY]


def test_each_human_acts_for_their_own_robot():
    fleet = make_fleet(4, 3, doubts={(r, t): 1.0 for r in range(3) for t in range(5)})
    history, lessons = watch(fleet, 5)
    for t, lesson in enumerate(lessons):
        robots = lesson.observations[:, 0].astype(int)
        assert robots.tolist() == [0, 1, 2]
        np.testing.assert_array_equal(lesson.humans, history.human_of[t, robots])
        np.testing.assert_allclose(lesson.actions[:, 0], (lesson.humans + 1) / 10, rtol=1e-6)
        np.testing.assert_allclose(fleet.task.moves[t][robots], lesson.actions[:, 0])
    assert sorted(lessons[0].humans) == [0, 1, 2]


def test_success_and_the_end_of_time_are_reset_for_free():
    fleet = make_fleet(2, 1, succeeds={(0, 0): 2, (0, 1): 6})
    history, _ = watch(fleet, 13)
    assert column(history, "success", 0) == [0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]  # the second at the last moment
    assert column(history, "ended", 0) == column(history, "success", 0)
    assert column(history, "success", 1) == [0] * 13
    assert column(history, "ended", 1) == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0]
    assert fleet.task.episode.tolist() == [2, 2]
    assert fleet.task.clock.tolist() == [5, 1]
    assert not (history.human_of != NOBODY).any()
    assert not (history.failed | history.hard_reset).any()
    assert not np.isnan(fleet.task.moves).any()  # and no timestep is lost


def test_a_failure_in_the_last_timestep_of_an_episode_is_no_free_reset():
    history, _ = watch(make_fleet(2, 1, order=Constraint(), reset=2, fails={(0, 0): 6}), 9)
    assert column(history, "ended") == [0] * 9
    assert column(history, "failed") == [0, 0, 0, 0, 0, 0, 1, 1, 0]
    assert column(history, "hard_reset") == [0, 0, 0, 0, 0, 0, 0, 1, 0]


def test_the_policy_learns_at_multiples_of_the_interval_from_all_data_so_far():
    fleet = make_fleet(2, 1, update_every=3, steps=7, doubts={(0, t): 1.0 for t in range(1, 11)})
    watch(fleet, 10)
    assert fleet.policy.lessons == [(3, 2, 7), (6, 5, 7), (9, 8, 7)]  # after timesteps 3, 6, 9; taught from the second


def test_without_data_and_without_an_interval_nothing_is_learned():
    undoubting, frozen = make_fleet(2, 1, update_every=2, steps=5), make_fleet(2, 1, doubts={(0, 0): 1.0})
    watch(undoubting, 6)
    watch(frozen, 6)
    assert undoubting.policy.lessons == []
    assert frozen.policy.lessons == []
    assert frozen.memory.size == 1


def test_every_interval_has_the_same_budget_of_gradient_steps():
    """Published: 2 gradient steps per timestep for explicit policies, 2000 per 1000 timesteps for implicit ones."""
    timesteps = 120
    for update_every in (1, 10, 60):
        fleet = make_fleet(2, 1, doubts={(0, 0): 1.0})
        fleet.rules = make_rules(RunConfig(learning=LearningConfig(update_every=update_every)))
        watch(fleet, timesteps)
        assert [t for t, *_ in fleet.policy.lessons] == list(range(update_every, timesteps + 1, update_every))
        assert sum(steps for *_, steps in fleet.policy.lessons) == 2 * timesteps
    assert make_rules(RunConfig(learning=LearningConfig(update_every=1))).gradient_steps == 2
    assert make_rules(RunConfig(learning=LearningConfig(update_every=1000))).gradient_steps == 2000


def test_the_rules_are_those_of_the_configuration():
    fleet = FleetConfig(robots=9, humans=2, minimum_intervention=3, reset_steps=4)
    rules = make_rules(RunConfig(fleet=fleet, learning=LearningConfig(update_every=50, steps_per_timestep=3)))
    assert rules == Rules(minimum_intervention=3, reset_steps=4, update_every=50, gradient_steps=150)
    assert make_rules(RunConfig(learning=LearningConfig(update_every=0))).update_every == 0


def test_the_metrics_of_a_history_worked_out_by_hand():
    """Robot 0 fails after 2 timesteps, is reset in 3 and taught for 2; robot 1 succeeds; robot 2 runs out of time.

    Timestep      0  1  2  3  4  5  6  7
    human of 0    .  .  0  0  0  0  0  .     5 human actions, 2 switches, 3 idle, 1 hard reset
    success of 1  .  .  .  x  .  .  .  x
    """
    fleet = make_fleet(3, 1, stay=5, reset=3, fails={(0, 0): 2}, succeeds={(1, 0): 4, (1, 1): 4})
    history, _ = watch(fleet, 8)
    final = metrics.final(history, humans=1, episode_steps=6)
    assert final["successes"] == 2
    assert final["hard_resets"] == 1
    assert final["idle"] == 3
    assert final["human_actions"] == fleet.human_actions == 5
    assert final["switches"] == 2
    earned = 5 + (6 + 20) + 8  # robot 0 is idle for 3 of 8 timesteps
    assert final["reward"] == earned
    assert final["average_reward"] == pytest.approx(earned * 6 / (3 * 8))
    assert final["rohe_total_success"] == pytest.approx(2 / (1 + 5))
    assert final["rohe_paper_success"] == pytest.approx(1 / 3 * (2 / 3) / (1 + 5))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("teaches", [True, False])
def test_every_robot_obeys_the_rules_in_random_histories(seed, teaches):
    """Who helps whom is taken from the history; all the rest must follow from it, robot by robot."""
    rng, robots, timesteps, reset = np.random.default_rng(seed), 7, 80, int(seed % 4 + 1)
    events = [(int(r), int(e), int(rng.integers(1, 9))) for r in range(robots) for e in range(80)]
    script = {"fails": {(r, e): c for r, e, c in events if c < 6}, "succeeds": {(r, e): c for r, e, c in events[::3]}}
    doubts = {(r, t): rng.random() ** 3 for r in range(robots) for t in range(timesteps)}
    order = UncertaintyConstraint(THRESHOLD) if teaches else Constraint()
    fleet = make_fleet(robots, 3, order=order, stay=2, reset=reset, seed=seed, doubts=doubts, **script)
    history, lessons = watch(fleet, timesteps)

    assert history.hard_reset.any()
    assert history.taught.any() == teaches
    for robot in range(robots):
        failed, done, helper = False, 0, NOBODY
        for t in range(timesteps):
            assert history.failed[t, robot] == failed
            human = history.human_of[t, robot]
            helped = human != NOBODY
            assert history.taught[t, robot] == (helped and not failed and teaches)
            expected = nan if failed else (human + 1) / 10 if history.taught[t, robot] else OWN
            assert same([fleet.task.moves[t][robot]], [np.float32(expected)])
            if done:
                assert human == helper, "somebody else, or nobody, in the middle of a hard reset"
            done, helper = (done + 1, human) if failed and helped else (done, helper)
            assert history.hard_reset[t, robot] == (done == reset)
            if done == reset:
                failed, done = False, 0
            following = t + 1 < timesteps and history.failed[t + 1, robot]
            failed = failed or bool(following)
    for t, lesson in enumerate(lessons):
        np.testing.assert_array_equal(lesson.observations[:, 0], np.flatnonzero(history.taught[t]))
        humans = history.human_of[t][history.human_of[t] != NOBODY]
        assert len(set(humans)) == len(humans)


def test_a_saved_state_does_not_change_when_the_fleet_goes_on():
    def fleet() -> Fleet:
        return make_fleet(2, 1, order=Constraint(), reset=4, fails={(0, 0): 1})

    first, second = fleet(), fleet()
    watch(first, 3)  # in the middle of a hard reset
    saved = first.state_dict()
    expected, _ = watch(first, 4)
    second.load_state_dict(saved)
    np.testing.assert_array_equal(watch(second, 4)[0].hard_reset, expected.hard_reset)
    third = fleet()
    third.load_state_dict(saved)  # nor when the one that loaded it does
    np.testing.assert_array_equal(watch(third, 4)[0].hard_reset, expected.hard_reset)
