import json
import sqlite3
import time

import numpy as np
import pytest

from iifl.records import Form
from iifl.runs.files import StorageError
from iifl.runs.journal import Journal

ROBOTS, OBSERVATION, ACTION = 13, 5, 3


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite"


@pytest.fixture
def filled(path, make_step):
    """A closed journal of 40 timesteps."""
    with Journal.create(path, ROBOTS, Form((OBSERVATION,)), ACTION) as journal:
        for t in range(40):
            journal.append(t, *make_step(t))
    return path


def test_what_was_appended_is_read_by_the_writer_and_after_closing(path, make_step, holds_steps):
    with Journal.create(path, ROBOTS, Form((OBSERVATION,)), ACTION) as journal:
        assert {name: column.shape for name, column in journal.read().items()}["rewards"] == (0, ROBOTS)
        for t in range(7):
            journal.append(t, *make_step(t))
            holds_steps(journal)
    with Journal.open(path) as journal:
        journal.append(7, *make_step(7))
    with Journal.open(path, read_only=True) as journal:
        assert len(journal) == 8
        assert journal.layout.robots == ROBOTS
        holds_steps(journal)
        assert [column.dtype for column in journal.transitions()] == [np.float32, np.float32, np.int64]


def test_a_closed_journal_is_one_ordinary_file(filled):
    assert list(filled.parent.iterdir()) == [filled]
    Journal.open(filled, read_only=True).close()
    assert list(filled.parent.iterdir()) == [filled]
    assert filled.read_bytes()[18:20] == b"\1\1"  # not in WAL mode: readable where nothing can be written


def test_only_the_next_timestep_can_be_appended(path, make_step, holds_steps):
    with Journal.create(path, ROBOTS, Form((OBSERVATION,)), ACTION) as journal:
        journal.append(0, *make_step(0))
        for wrong in (0, 2, -1):
            with pytest.raises(ValueError, match=f"timestep {wrong} cannot be appended .* the next one is 1"):
                journal.append(wrong, *make_step(1))
        journal.append(1, *make_step(1))
        holds_steps(journal)
        assert len(journal) == 2


def test_truncating_forgets_the_end_and_no_more(filled, make_step, holds_steps):
    with Journal.open(filled) as journal:
        journal.truncate(40)
        assert len(journal) == 40
        journal.truncate(5)
        assert len(journal) == 5
        holds_steps(journal)
        journal.append(5, *make_step(5))
    with Journal.open(filled) as journal:
        assert len(journal) == 6
        holds_steps(journal)
        with pytest.raises(StorageError, match="holds 6 timesteps, the checkpoint is of timestep 7"):
            journal.truncate(7)


def test_a_reader_sees_a_true_beginning_while_the_writer_goes_on(path, make_step, holds_steps):
    with Journal.create(path, ROBOTS, Form((OBSERVATION,)), ACTION) as journal:
        for t in range(4):
            journal.append(t, *make_step(t))
        with Journal.open(path, read_only=True) as reader:
            journal.append(4, *make_step(4))
            assert len(reader) == 4
            holds_steps(reader)
            with pytest.raises(
                StorageError, match=r"journal\.sqlite: cannot write: the file or its file system is read"
            ):
                reader.append(4, *make_step(4))
            journal.close()  # while it is being read
    with Journal.open(path) as journal:
        assert len(journal) == 5
        holds_steps(journal)


def test_a_second_writer_is_found_out(path, make_step, holds_steps):
    with Journal.create(path, ROBOTS, Form((OBSERVATION,)), ACTION) as journal, Journal.open(path) as other:
        journal.append(0, *make_step(0))
        with pytest.raises(StorageError, match="another process has written to it"):
            other.append(0, *make_step(1))
        journal.append(1, *make_step(1))
        holds_steps(journal)


def test_creating_over_a_file_and_opening_none_are_refused(tmp_path, path, filled):
    before = filled.read_bytes()
    with pytest.raises(StorageError, match=r"journal\.sqlite: is there already"):
        Journal.create(path, ROBOTS, Form((OBSERVATION,)), ACTION)
    assert filled.read_bytes() == before
    with pytest.raises(StorageError, match=r"other\.sqlite: cannot open: it is missing"):
        Journal.open(tmp_path / "other.sqlite")
    with pytest.raises(StorageError, match=r"no/journal\.sqlite: cannot create"):
        Journal.create(tmp_path / "no" / "journal.sqlite", ROBOTS, Form((OBSERVATION,)), ACTION)


def test_names_that_mean_something_in_a_uri(tmp_path, make_step, holds_steps):
    path = tmp_path / "100% #1?mode=memory.sqlite"
    with Journal.create(path, ROBOTS, Form((OBSERVATION,)), ACTION) as journal:
        journal.append(0, *make_step(0))
    assert path.exists()
    with Journal.open(path) as journal:
        assert len(journal) == 1
        holds_steps(journal)


def read_all(path):
    with Journal.open(path, read_only=True) as journal:
        return [column.tobytes() for column in [*journal.read().values(), *journal.transitions()]]


def test_a_flipped_byte_anywhere_is_found_or_changes_nothing(filled):
    rng = np.random.default_rng(0)
    whole, right = filled.read_bytes(), read_all(filled)
    found = 0
    for place in rng.choice(len(whole), 400, replace=False):
        damaged = bytearray(whole)
        damaged[place] ^= rng.integers(1, 256)
        filled.write_bytes(damaged)
        try:
            assert read_all(filled) == right, f"byte {place} changed the result silently"
        except StorageError as error:
            assert str(filled) in str(error)
            found += 1
        for beside in ("-wal", "-shm", "-journal"):
            filled.with_name(filled.name + beside).unlink(missing_ok=True)
    assert found > 200  # the rest is unused space


def test_a_flipped_byte_within_a_row_is_always_found(filled):
    whole = filled.read_bytes()
    with sqlite3.connect(filled) as connection:
        blobs = [blob for row in connection.execute("SELECT fleet, transitions FROM timesteps") for blob in row]
    connection.close()
    for blob in filter(None, blobs):
        place = whole.index(blob[:64])
        for offset in (0, min(len(blob), 64) - 1):
            damaged = bytearray(whole)
            damaged[place + offset] ^= 0x10
            filled.write_bytes(damaged)
            with pytest.raises(StorageError, match=r"journal\.sqlite: timestep \d+ is damaged"):
                Journal.open(filled)
            assert not filled.with_name(filled.name + "-wal").exists()


def test_a_truncated_journal_is_found(filled):
    whole = filled.read_bytes()
    rng = np.random.default_rng(1)
    for length in [0, 1, 99, 100, 4096, len(whole) - 1, *rng.integers(0, len(whole), 60)]:
        filled.write_bytes(whole[:length])
        with pytest.raises(StorageError, match=r"journal\.sqlite: "):
            Journal.open(filled)
        with pytest.raises(StorageError, match=r"journal\.sqlite: "):
            Journal.open(filled, read_only=True)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DELETE FROM timesteps WHERE t = 5", "timestep 5 is damaged"),
        ("DELETE FROM timesteps WHERE t >= 30", "has lost timesteps"),
        ("DELETE FROM timesteps", "has lost timesteps"),
        ("UPDATE timesteps SET t = 50 WHERE t = 39", "lost timesteps|timestep 39 is damaged"),
        ("UPDATE timesteps SET fleet = (SELECT fleet FROM timesteps WHERE t = 3) WHERE t = 4", "timestep 4 is damaged"),
        ("UPDATE timesteps SET fleet = 'text' WHERE t = 4", "timestep 4 is damaged"),
        ("UPDATE header SET value = '3' WHERE key = 'length'", "the header is damaged"),
        ("DELETE FROM header WHERE key = 'layout'", "the header is damaged"),
        ("DROP TABLE timesteps", "damaged"),
        ("DROP TABLE header", "damaged"),
    ],
)
def test_missing_and_exchanged_pieces_are_found(filled, sql, message):
    with sqlite3.connect(filled) as connection:
        connection.execute(sql)
    connection.close()
    with pytest.raises(StorageError, match=message):
        Journal.open(filled)


def test_a_journal_of_another_version_is_read_but_not_gone_on_with(filled, monkeypatch):
    right = read_all(filled)
    monkeypatch.setattr("iifl.runs.journal.COLUMNS", {"human_of": "<i4"})
    assert read_all(filled) == right
    with pytest.raises(StorageError, match="another version"):
        Journal.open(filled)


def test_a_full_database_loses_nothing_and_goes_on_when_there_is_room(path, make_step, holds_steps):
    with Journal.create(path, ROBOTS, Form((OBSERVATION,)), ACTION) as journal:
        journal._connection.execute("PRAGMA max_page_count = 8")
        with pytest.raises(StorageError, match=r"journal\.sqlite: cannot write: the disk is full: free some space"):
            for t in range(1000):
                journal.append(t, *make_step(t))
        full = len(journal)
        assert 0 < full < 1000
        holds_steps(journal)
        journal._connection.execute("PRAGMA max_page_count = 10000")
        journal.append(full, *make_step(full))
        holds_steps(journal)


def test_the_size_of_a_long_run(tmp_path, make_step):
    """500 of 10,000 timesteps of 100 robots, ten of them taught at each (60 + 8 numbers): far below 500 MB in all."""
    path = tmp_path / "journal.sqlite"
    step = make_step(10, robots=100, observation=60, action=8, taught=10)
    assert len(step[3]) == 10
    sizes = []
    with Journal.create(path, 100, Form((60,)), 8) as journal:
        for t in range(500):
            journal.append(t, *step)
            if t in (99, 499):
                journal._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                sizes.append(path.stat().st_size)
    per_step = (sizes[1] - sizes[0]) / 400
    assert 10_000 * per_step < 100e6


@pytest.mark.slow
def test_a_long_run_opens_and_reads_in_two_seconds(tmp_path, make_step):
    path = tmp_path / "journal.sqlite"
    step = make_step(10, robots=100, observation=60, action=8, taught=10)
    with Journal.create(path, 100, Form((60,)), 8) as journal:
        for t in range(10_000):
            journal.append(t, *step)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 500e6
    start = time.perf_counter()
    with Journal.open(path) as journal:
        assert journal.read()["rewards"].shape == (10_000, 100)
        assert time.perf_counter() - start < 2


def test_the_header_says_how_the_rows_are_laid_out(filled):
    with sqlite3.connect(filled) as connection:
        (text,) = connection.execute("SELECT value FROM header WHERE key = 'layout'").fetchone()
    connection.close()
    layout = json.loads(text)
    assert (layout["robots"], layout["observation"]["shape"], layout["action_size"]) == (ROBOTS, [OBSERVATION], ACTION)
    assert layout["columns"]["uncertainty"] == "<f8"


def test_closing_twice_is_harmless_and_a_closed_journal_is_not_a_damaged_one(path, make_step):
    journal = Journal.create(path, ROBOTS, Form((OBSERVATION,)), ACTION)
    journal.close()
    journal.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        journal.append(0, *make_step(0))
