from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from iifl.records import Form, Timestep
from iifl.runs.layout import COLUMNS, FLAGS, JournalLayout, checksum

INTEGERS = ("int8", "int16", "int32", "int64")
FLOATS = ("float16", "float32", "float64")


def test_every_field_of_a_timestep_is_kept():
    assert list(COLUMNS) == [field.name for field in fields(Timestep)]


@st.composite
def timesteps(draw):
    robots = draw(st.integers(1, 40))

    def column(name: str) -> np.ndarray:
        if COLUMNS[name] == FLAGS:
            return draw(hnp.arrays(bool, robots))
        kinds = INTEGERS if COLUMNS[name] == "<i4" else FLOATS
        dtype = np.dtype(draw(st.sampled_from(kinds)))
        within = {"min_value": -(2**31), "max_value": 2**31 - 1} if dtype == np.int64 else {}
        return draw(hnp.arrays(dtype, robots, elements=hnp.from_dtype(dtype, **within)))

    return Timestep(**{name: column(name) for name in COLUMNS})


@given(st.lists(timesteps(), min_size=1, max_size=3))
def test_timesteps_come_back_exactly(steps):
    robots = len(steps[0].taught)
    steps = [step for step in steps if len(step.taught) == robots]
    layout = JournalLayout(robots, Form((1,)), 1)
    columns = layout.decode_timesteps([layout.encode_timestep(step) for step in steps])
    assert list(columns) == list(COLUMNS)
    for name, column in columns.items():
        np.testing.assert_array_equal(column, [getattr(step, name) for step in steps])
        assert column.dtype.kind == getattr(steps[0], name).dtype.kind


@given(st.lists(st.integers(0, 5), max_size=4), st.integers(1, 6), st.integers(1, 4), st.randoms(use_true_random=False))
def test_transitions_come_back_exactly(counts, observation, action, random):
    rng = np.random.default_rng(random.getrandbits(32))
    layout = JournalLayout(3, Form((observation,)), action)
    given_steps = [
        (
            rng.normal(size=(k, observation)).astype(np.float32),
            rng.normal(size=(k, action)).astype(np.float32),
            rng.integers(0, 9, k),
        )
        for k in counts
    ]
    back = layout.decode_transitions([layout.encode_transitions(*step) for step in given_steps])
    for part, shape in enumerate([(observation,), (action,), ()]):
        expected = np.concatenate([np.empty((0, *shape)), *(step[part] for step in given_steps)])
        assert back[part].shape == expected.shape
        np.testing.assert_array_equal(back[part], expected)


def test_flags_are_packed():
    layout = JournalLayout(100, Form((1,)), 1)
    step = Timestep(*(np.zeros(100, bool if kind == FLAGS else kind) for kind in COLUMNS.values()))
    assert len(layout.encode_timestep(step)) == 100 * (4 + 8 + 8) + 5 * 13


def test_what_cannot_be_kept_exactly_is_an_error_that_names_it(make_step):
    timestep, observations, actions, humans = make_step(4)
    layout = JournalLayout(13, Form((5,)), 3)
    wrong = {
        "human_of": (timestep.human_of + 2**31, ValueError, "human_of holds an integer that does not fit int32"),
        "rewards": (timestep.rewards.astype(np.longdouble), TypeError, "rewards of dtype .* cannot be kept exactly"),
        "taught": (timestep.taught.astype(np.int64), TypeError, "taught must be boolean"),
        "failed": (timestep.failed[:5], ValueError, r"failed has shape \(5,\); the journal is of 13 robots"),
    }
    for name, (value, kind, message) in wrong.items():
        with pytest.raises(kind, match=message):
            layout.encode_timestep(replace(timestep, **{name: value}))
    with pytest.raises(ValueError, match=r"actions has shape \(4, 2\), expected \(4, 3\)"):
        layout.encode_transitions(observations, actions[:, :2], humans)
    with pytest.raises(ValueError, match=r"observations has shape \(3, 5\), expected \(4, 5\)"):
        layout.encode_transitions(observations[:3], actions, humans)
    with pytest.raises(TypeError, match="humans of dtype float64"):
        layout.encode_transitions(observations, actions, humans + 0.5)
    with pytest.raises(ValueError, match="at least one of robots"):
        JournalLayout(0, Form((5,)), 3)


@given(st.binary(min_size=1, max_size=64), st.binary(max_size=64), st.data())
def test_the_checksum_sees_every_changed_byte_and_every_moved_border(fleet, transitions, data):
    right = checksum(3, fleet, transitions)
    whole = bytearray(fleet + transitions)
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    assert checksum(3, bytes(whole[: len(fleet)]), bytes(whole[len(fleet) :])) != right
    assert checksum(4, fleet, transitions) != right
    assert checksum(3, fleet[:-1], fleet[-1:] + transitions) != right
