"""The desk and the answers: who is asked, who has answered, and what of it is there after a kill."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from table import Table

from iifl.records import NOBODY, Situation
from iifl.supervisors.person.answers import Answers
from iifl.supervisors.person.desk import Answer, Desk, Refused, Stale, Ticket
from iifl.supervisors.person.people import People
from iifl.supervisors.person.reach import Reach


def ticket(number: int = 1, human: int = 0, *, reset: bool = False, checksum: int = 7) -> Ticket:
    reach = Reach((10, 10), (5.0, 5.0), (0.0, 0.0, 10.0, 10.0))
    seen = {"wants": True, "uncertainty": 0.5, "rank": 1, "instruction": "", "picture": b"png", "checksum": checksum}
    meaning = lambda x, y: np.array([x, y], np.float32)  # noqa: E731
    return Ticket(number, timestep=3, human=human, robot=2, reset=reset, reach=reach, meaning=meaning, **seen)


def asking(desk: Desk, *tickets: Ticket) -> tuple[threading.Thread, list[Answer]]:
    """The fleet asks in a thread of its own, and its answers come into the list."""
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.extend(desk.ask(tickets, {})), daemon=True)
    thread.start()
    while desk.state((tickets[0].human,), -1, 0)["ticket"] is None:
        pass
    return thread, answers


def test_the_fleet_waits_for_everybody_who_is_asked():
    kept = []
    desk = Desk(2, kept.append)
    fleet, answers = asking(desk, ticket(1, 0), ticket(2, 1, reset=True))
    desk.hard_reset((1,), 2)
    assert desk.state((1,), -1, 0)["ticket"] is None
    assert desk.state((1,), -1, 0)["others"]
    fleet.join(0.05)
    assert fleet.is_alive()
    desk.push((0,), 1, 4.0, 6.0)
    fleet.join()
    assert answers == kept
    assert [answer.ticket.number for answer in answers] == [2, 1]
    assert answers[0].action is None
    assert answers[1].action.tolist() == [4.0, 6.0]
    assert desk.state((0,), -1, 0)["pushes"] == 1
    assert desk.state((1,), -1, 0)["resets"] == 1


def test_one_person_may_be_everybody_and_sees_one_robot_after_the_other():
    desk, everybody = Desk(3, lambda answer: None), (0, 1, 2)
    fleet, answers = asking(desk, ticket(1, 1), ticket(2, 2, reset=True))
    assert desk.state(everybody, -1, 0)["ticket"]["number"] == 1
    assert desk.state((0,), -1, 0)["ticket"] is None
    desk.push(everybody, 1, 1, 1)
    assert desk.state(everybody, -1, 0)["ticket"]["number"] == 2
    desk.hard_reset(everybody, 2)
    fleet.join()
    assert [answer.ticket.human for answer in answers] == [1, 2]
    shown = desk.state(everybody, -1, 0)
    assert (shown["pushes"], shown["resets"]) == (1, 1)


def test_an_answer_counts_once_and_only_for_its_own_ticket():
    kept = []
    desk = Desk(2, kept.append)
    fleet, _ = asking(desk, ticket(5, 0))
    for human, number in ((0, 4), (0, 6), (1, 5)):
        with pytest.raises(Stale):
            desk.push((human,), number, 1, 1)
    with pytest.raises(Refused, match="has not failed"):
        desk.hard_reset((0,), 5)
    desk.push((0,), 5, 1, 1)
    with pytest.raises(Stale):
        desk.push((0,), 5, 2, 2)
    fleet.join()
    assert [answer.pixel for answer in kept] == [(1, 1)]


def test_who_is_in_the_middle_of_a_reset_is_told_so_and_asked_for_nothing():
    desk = Desk(2, lambda answer: None)
    assert desk.ask([], {1: 2}) == []
    assert [desk.state((human,), -1, 0)["resetting"] for human in (0, 1)] == [None, 2]
    assert desk.ask([], {}) == []
    assert desk.state((1,), -1, 0)["resetting"] is None


@pytest.mark.parametrize(("finished", "word"), [(True, "finished"), (False, "stopped")])
def test_the_end_of_a_run_waits_for_a_page_that_has_long_waited_for_news(finished, word):
    desk, heard = Desk(2, lambda answer: None), []
    page = threading.Thread(target=lambda: heard.append(desk.state((1,), 0)), daemon=True)
    page.start()
    while (1,) not in desk._seen:
        pass
    desk._seen[1,] = (desk._seen[1,][0] - 10, desk._seen[1,][1])  # 10 s ago
    desk.end(finished=finished)
    assert desk._seen[1,][1] == desk._version
    page.join()
    assert [news["end"] for news in heard] == [word]


def test_an_answer_that_cannot_be_written_down_is_not_taken():
    def full(answer):
        raise OSError(28, "No space left on device")

    desk = Desk(1, full)
    asking(desk, ticket(1))
    with pytest.raises(OSError, match="No space"):
        desk.push((0,), 1, 1, 1)
    assert desk.state((0,), -1, 0)["ticket"]["number"] == 1


def test_answers_are_recalled_to_the_last_bit_for_the_picture_they_were_given_for(tmp_path):
    path, action = tmp_path / "answers.jsonl", np.array([0.1, -1 / 3], np.float32)
    answers = Answers(path)
    answers.keep(Answer(ticket(), action, (3.25, 4.5), 1.5))
    answers.keep(Answer(ticket(2, 1, reset=True), None, None, 0.5))
    with path.open("ab") as file:
        file.write(b'{"timestep": 4, "hum')  # killed in the middle of a line
    again = Answers(path)
    assert list(again.given()) == [(0, False), (1, True)]
    assert again.recall(ticket(9)).action.tobytes() == action.tobytes()
    assert again.recall(ticket(9, 1, reset=True)).action is None
    for other in (ticket(9, reset=True), ticket(9, 1), ticket(9, checksum=8), replace(ticket(9), timestep=4)):
        assert again.recall(other) is None
    again.keep(Answer(ticket(9, checksum=8), -action, (0.0, 0.0), 1.0))
    third = Answers(path)
    assert third.recall(ticket(checksum=8)).action.tobytes() == (-action).tobytes()
    assert third.recall(ticket()).action.tobytes() == action.tobytes()


@pytest.mark.parametrize("line", ["{", '{"timestep": 1}', "3", '{"timestep": "x"}'])
def test_a_damaged_line_is_told_with_its_number(tmp_path, line):
    path = tmp_path / "answers.jsonl"
    Answers(path).keep(Answer(ticket(), None, None, 1.0))
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(ValueError, match=r"answers.jsonl, line 2: is damaged .* delete the line"):
        Answers(path)


def test_without_a_page_nobody_is_waited_for():
    nobody, none = np.array([0, NOBODY]), np.zeros(2, bool)
    situation = Situation(0, nobody, np.array([True, False]), none, none, np.zeros(2))
    with pytest.raises(RuntimeError, match="nobody has opened the pages"):
        People(1, 2).attend(situation, Table(2))


def test_the_reach_of_a_robot_in_its_picture():
    """The cube at (0.25, −0.5) m: pixel (145, 150); pushes of up to 0.5 m are 50 pixels."""
    table = Table(2)
    table.cube[1] = [0.25, -0.5]
    reach = Reach.of(table, 1, 240, 200)
    assert reach == Reach((240, 200), (145.0, 150.0), (95.0, 100.0, 195.0, 200.0))
