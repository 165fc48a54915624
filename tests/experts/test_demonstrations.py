"""Demonstrations on disk: whole episodes, in order, with the columns of LeRobotDataset v3."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from iifl.cli import main
from iifl.experts.demonstrations import (
    COLUMNS,
    MOST_ATTEMPTS,
    DemonstrationError,
    Demonstrations,
    record_demonstrations,
)
from iifl.supervisors.reacher import ReacherSupervisors
from iifl.tasks.reacher import Reacher


class Clumsy(Reacher):
    """Robot 1 fails in its third step, for as many episodes as `falls` says."""

    falls = 1

    def _judge(self, actions):
        rewards, failed, reached = super()._judge(actions)
        failed[1] |= self.clock[1] == 2 and self.episode[1] < self.falls
        return rewards, failed, reached


def demonstrations(task: Reacher) -> Demonstrations:
    crowd = ReacherSupervisors(2, task.num_envs, np.random.default_rng(0))
    return record_demonstrations(task, crowd, task.timestep)


def test_every_episode_is_whole_and_in_order():
    found = demonstrations(Reacher(5, seed=1))
    assert found.observations.shape[1:] == (8,)
    assert found.actions.shape[1:] == (2,)
    for episode in range(5):
        rows = found.episodes == episode
        length = rows.sum()
        assert (np.flatnonzero(rows) == np.flatnonzero(rows)[0] + np.arange(length)).all()
        assert found.frames[rows].tolist() == list(range(length))
        assert found.done[rows].tolist() == [False] * (length - 1) + [True]
        assert found.success[rows][-1]
        assert set(found.humans[rows]) == {episode % 2}
    np.testing.assert_allclose(found.timestamps, found.frames * 0.02, atol=1e-6)


def test_replaying_the_actions_gives_the_observations_and_rewards_again():
    found = demonstrations(Reacher(3, seed=4))
    world = Reacher(3, seed=4)
    observations, _ = world.reset()
    rows = found.episodes == 1
    others = np.zeros((3, 2), np.float32)
    for seen, action, reward in zip(found.observations[rows], found.actions[rows], found.rewards[rows], strict=True):
        np.testing.assert_array_equal(observations[1], seen)
        others[1] = action
        observations, rewards, *_ = world.step(others)
        assert rewards[1] == pytest.approx(reward, rel=1e-6)


def test_the_file_has_the_documented_columns_and_reads_back_the_same(tmp_path):
    found = demonstrations(Reacher(3, seed=2))
    path = tmp_path / "demonstrations.parquet"
    found.save(path, "reacher", 2)
    table = pq.read_table(path)
    assert table.column_names == [
        "observation.state",
        "action",
        "episode_index",
        "frame_index",
        "timestamp",
        "next.reward",
        "next.done",
        "next.success",
        "human",
    ]
    assert table.schema.metadata[b"world"] == b"reacher"
    again = Demonstrations.load(path)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
        assert getattr(again, name).dtype == getattr(found, name).dtype


def test_images_come_back_as_images(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (5, 4, 6, 3)).astype(np.uint8)
    row = np.zeros(5, np.float32)
    found = Demonstrations(images, np.zeros((5, 2), np.float32), *(row,) * 7)
    found.save(tmp_path / "images.parquet", "world", 0)
    again = Demonstrations.load(tmp_path / "images.parquet").observations
    assert again.dtype == np.uint8
    np.testing.assert_array_equal(again, images)


def test_the_same_seed_makes_the_same_bytes_and_another_does_not(tmp_path):
    def written(name: str, seed: int) -> bytes:
        demonstrations(Reacher(2, seed=seed)).save(tmp_path / name, "reacher", 0)
        return (tmp_path / name).read_bytes()

    assert written("a", 5) == written("b", 5)
    assert written("c", 6) != written("a", 5)


def test_a_failed_episode_is_begun_again_and_left_out():
    found, whole = demonstrations(Clumsy(3, seed=1)), demonstrations(Reacher(3, seed=1))
    assert found.frames[found.episodes == 1].tolist() == list(range((found.episodes == 1).sum()))
    assert found.done.sum() == 3
    first = whole.observations[(whole.episodes == 1) & (whole.frames == 0)]
    again = found.observations[(found.episodes == 1) & (found.frames == 0)]
    assert not np.array_equal(first, again)  # another episode, with another target
    for name in ("observations", "actions"):
        np.testing.assert_array_equal(
            getattr(found, name)[found.episodes == 0], getattr(whole, name)[whole.episodes == 0]
        )


def test_an_expert_that_never_finishes_is_an_error():
    task = Clumsy(2)
    task.falls = 10**9
    with pytest.raises(DemonstrationError, match=f"robot 1 failed in {MOST_ATTEMPTS} episodes"):
        demonstrations(task)


def test_a_missing_column_is_named(tmp_path):
    path = tmp_path / "demonstrations.parquet"
    demonstrations(Reacher(1)).save(path, "reacher", 0)
    pq.write_table(pq.read_table(path).drop_columns(["next.reward"]), path)
    with pytest.raises(DemonstrationError, match=r"next\.reward"):
        Demonstrations.load(path)


def test_the_command_writes_the_same_file_again(tmp_path):
    def written(name: str) -> bytes:
        options = ["reacher", "--episodes", "4", "--humans", "2", "--seed", "3", "--out", str(tmp_path / name)]
        assert main(["demonstrate", *options]) == 0
        return (tmp_path / name).read_bytes()

    assert written("a.parquet") == written("b.parquet")
    found = Demonstrations.load(tmp_path / "a.parquet")
    assert found.done.sum() == 4
    assert set(found.humans) == {0, 1}


def test_every_kind_of_people_gives_its_first_transitions():
    """Five robots with two humans, each of a kind of its own."""
    found = demonstrations(Reacher(5, seed=1))
    kept = found.first_of_each(np.array([0, 1]), 20)
    for human in (0, 1):
        rows, everything = kept.humans == human, found.humans == human
        assert rows.sum() == 20
        np.testing.assert_array_equal(kept.observations[rows], found.observations[everything][:20])
    together = found.first_of_each(np.array([0, 0]), 30)
    np.testing.assert_array_equal(together.actions, found.actions[:30])


def test_a_kind_of_people_that_did_not_demonstrate_enough_is_named():
    with pytest.raises(DemonstrationError, match=r"kind 1 of people demonstrated for \d+ timesteps, not 100000"):
        demonstrations(Reacher(2, seed=1)).first_of_each(np.array([1, 1]), 100_000)


def test_the_command_keeps_the_first_transitions_of_the_kinds_of_people(tmp_path):
    path = tmp_path / "stacking.parquet"
    options = ["cube_stacking", "--episodes", "2", "--humans", "2", "--supervisor", "two-kinds", "--transitions", "40"]
    assert main(["demonstrate", *options, "--out", str(path)]) == 0
    assert np.bincount(Demonstrations.load(path).humans).tolist() == [40, 40]
