"""A fleet that sees images, from the world to the disk and back: bytes stay bytes, a state goes on to the same bits."""

from dataclasses import fields

import numpy as np
import pytest
from gymnasium import spaces

from iifl.allocation.priority import ConstraintUncertaintyRisk, UncertaintyConstraint
from iifl.allocation.risk import RiskConfig, RiskCritic
from iifl.augmentation import Augmentation
from iifl.encoders import EncoderConfig
from iifl.experts.demonstrations import record_pairs
from iifl.loop import Fleet, Rules
from iifl.memory import Memory
from iifl.policies.explicit import ExplicitConfig, ExplicitPolicy
from iifl.policies.implicit import ImplicitConfig, ImplicitPolicy
from iifl.policies.learner import Optimisation, Sizes
from iifl.records import Form
from iifl.runs.checkpoint import Checkpoints
from iifl.runs.journal import Journal
from iifl.tasks.fleet import FleetTask

FORM, N = Form((8, 8, 3), "|u1"), 3


class Lamp(FleetTask):
    """A bright column whose place is the state; the action moves it: a success on the right, a failure on the left."""

    episode_steps = 30
    reset_draws = 1

    def __init__(self, robots: int, seed: int = 0) -> None:
        image, action = spaces.Box(0, 255, FORM.shape, np.uint8), spaces.Box(-1, 1, (1,), np.float32)
        self.place = np.zeros(robots)
        super().__init__(robots, image, action, seed)

    def _reset_robots(self, robots, uniforms) -> None:
        self.place[robots] = 2 + 3 * uniforms[:, 0]

    def _advance(self, robots, actions) -> None:
        self.place[robots] += actions[:, 0]

    def _observe(self):
        bright = 1 - np.abs(np.arange(8) - self.place[:, None]).clip(0, 1)
        return np.broadcast_to((255 * bright)[:, None, :, None], (self.num_envs, *FORM.shape)).astype(np.uint8)

    def _judge(self, actions):
        reached = self.place >= 6
        return reached.astype(float), self.place < 1, reached

    def world_state(self):
        return {"place": self.place.copy()}

    def load_world_state(self, state) -> None:
        self.place[:] = state["place"]


class People:
    """They push it to the right, human m by (m + 1) / 2; where `wrong`, to the left."""

    def __init__(self, humans: int, *, wrong: bool = False) -> None:
        self.humans, self.wrong = humans, wrong

    def begin(self, robots) -> None:
        pass

    def act(self, humans, robots, observations, task):
        assert observations.shape == (len(robots), *FORM.shape)
        return ((humans[:, None] + 1) / 2).astype(np.float32) * (-1 if self.wrong else 1)

    def state_dict(self):
        return {}

    def load_state_dict(self, state) -> None:
        pass


def build(seed: int, *, explicit: bool = False, risk: bool = False) -> Fleet:
    """A fleet that asks everywhere and learns at every fourth timestep, pretrained on a few pairs."""
    rng = np.random.default_rng(seed)
    sizes = Sizes(FORM, -np.ones(1, np.float32), np.ones(1, np.float32))
    light, eyes = Optimisation(batch=8, learning_rate=1e-3), EncoderConfig(channels=4)
    policy = (
        ExplicitPolicy(ExplicitConfig(members=2, width=8, encoder=eyes, optimisation=light), sizes, seed)
        if explicit
        else ImplicitPolicy(ImplicitConfig(width=8, components=2, encoder=eyes, optimisation=light), sizes, seed)
    )
    memory = Memory(FORM, 1, 2, rng, Augmentation(3))
    memory.add(*record_pairs(Lamp(2, seed=50), People(2), 10))
    policy.fit_normalisation(memory)
    critic = RiskCritic(FORM, 1, RiskConfig(hidden=8, batch=8, capacity=500), seed) if risk else None
    order = ConstraintUncertaintyRisk(0.0, 0.5) if risk else UncertaintyConstraint(0.0)
    return Fleet(Lamp(N, seed), policy, People(2), order, memory, Rules(2, 2, 4, 2), rng, critic)


@pytest.mark.parametrize(("explicit", "risk"), [(False, False), (True, False), (True, True)])
def test_a_fleet_goes_on_from_its_checkpoint_to_the_same_bits(tmp_path, explicit, risk):
    first, second = build(0, explicit=explicit, risk=risk), build(9, explicit=explicit, risk=risk)
    for _ in range(6):
        first.advance()
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(6, first.state_dict(), {})
    second.load_state_dict(checkpoints.load_latest().state)
    for _ in range(7):  # the policies learn in the next one but one
        (one, taught), (other, learned) = first.advance(), second.advance()
        for record, again in ((one, other), (taught, learned)):
            for field in fields(record):
                np.testing.assert_array_equal(getattr(record, field.name), getattr(again, field.name))
    ends = first.state_dict(), second.state_dict()
    assert ends[0].keys() == ends[1].keys()
    for name, value in ends[0].items():
        assert np.array_equal(np.asarray(value), np.asarray(ends[1][name])), name
    assert first.memory.observations.dtype == np.uint8
    assert first.memory.size == 3 * (10 + 13 * 2)  # two people teach in every timestep, and no robot fails


def test_the_journal_keeps_what_was_taught_as_bytes(tmp_path):
    fleet = build(1)
    before = fleet.memory.size
    with Journal.create(tmp_path / "journal.sqlite", N, FORM, 1) as journal:
        lessons = []
        for t in range(5):
            timestep, lesson = fleet.advance()
            journal.append(t, timestep, lesson.observations, lesson.actions, lesson.humans)
            lessons.append(lesson)
    with Journal.open(tmp_path / "journal.sqlite", read_only=True) as journal:
        observations, actions, humans = journal.transitions()
    assert observations.dtype == np.uint8
    np.testing.assert_array_equal(observations, np.concatenate([lesson.observations for lesson in lessons]))
    np.testing.assert_array_equal(actions, np.concatenate([lesson.actions for lesson in lessons]))
    np.testing.assert_array_equal(humans, np.concatenate([lesson.humans for lesson in lessons]))
    originals = fleet.memory.observations[before : before + len(lessons[0].humans)]
    np.testing.assert_array_equal(originals, lessons[0].observations)  # the journal has no copies


def test_a_number_with_a_fraction_is_no_byte():
    memory = Memory(FORM, 1, 2, np.random.default_rng(0))
    with pytest.raises(TypeError, match="same_kind"):
        memory.add(np.full((1, *FORM.shape), 0.5), np.zeros((1, 1)), np.zeros(1, int))
    assert memory.size == 0


def test_pairs_are_as_many_as_asked_for_from_both_people_in_episode_after_episode():
    observations, actions, humans = record_pairs(Lamp(2), People(2), 21)
    assert observations.shape == (21, *FORM.shape)
    assert observations.dtype == np.uint8
    assert actions.shape == (21, 1)
    np.testing.assert_array_equal(actions[:, 0], (humans + 1) / 2)
    assert set(np.bincount(humans)) == {10, 11}
    place = observations[:, 0, :, 0].astype(float) @ np.arange(8) / observations[:, 0, :, 0].sum(1)
    restarts = (np.diff(place[humans == 1]) < 0).sum()
    assert restarts >= 1  # after a success the next episode


def test_pairs_leave_out_what_led_into_a_failure_and_give_up_on_people_who_always_fail():
    left = People(1, wrong=True)
    _, actions, _ = record_pairs(Lamp(1), left, 8)
    assert len(actions) == 8
    fails_at_once = Lamp(1)
    fails_at_once._judge = lambda actions: (np.zeros(1), np.ones(1, bool), np.zeros(1, bool))
    with pytest.raises(ValueError, match="people gave 0 of 3 examples in 60 timesteps"):
        record_pairs(fails_at_once, left, 3)
