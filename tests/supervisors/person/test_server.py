"""The server lets in whoever knows the address, on this machine, and nobody else."""

import http.client
import json
import time

import numpy as np
import pytest

from iifl.supervisors.person.desk import Desk
from iifl.supervisors.person.server import LONGEST_REQUEST, Server


@pytest.fixture
def desk():
    return Desk(2, lambda answer: None)


@pytest.fixture
def server(desk):
    server = Server(desk, 2)
    yield server
    server.close()


def request(address: str, *, method="GET", rest="", body=None, **headers) -> tuple[int, http.client.HTTPMessage, bytes]:
    host, path = address.removeprefix("http://").split("/", 1)
    connection = http.client.HTTPConnection(host, timeout=10)
    connection.request(method, f"/{path}{rest}", body, {k.replace("_", "-"): v for k, v in headers.items()})
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    return reply.status, reply.headers, content


def test_every_page_has_an_address_that_cannot_be_guessed(server):
    tokens = {address.split("/")[3] for address in server.addresses.values()}
    assert len(tokens) == 3
    assert min(map(len, tokens)) >= 32
    assert list(server.addresses) == ["All 2 people", "Person 1", "Person 2"]
    for who, address in server.addresses.items():
        assert address.startswith("http://127.0.0.1:")
        assert json.loads(request(address, rest="state")[2])["who"] == who


def test_one_person_alone_has_one_page(desk):
    server = Server(desk, 1)
    assert list(server.addresses) == ["Person 1"]
    assert json.loads(request(server.addresses["Person 1"], rest="state")[2])["who"] == ""
    server.close()


def test_the_page_is_all_there_and_loads_nothing_from_elsewhere(server):
    status, headers, page = request(server.addresses["Person 1"])
    assert status == 200
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert headers["Referrer-Policy"] == "no-referrer"
    for name in ("page.css", "page.js"):
        assert name.encode() in page
        status, _, content = request(server.addresses["Person 1"], rest=name)
        assert status == 200
        page += content
    assert b"//" not in page.replace(b"// ", b"")  # no address of another machine


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_foreign_host_is_refused(server, host):
    for method in ("GET", "POST"):
        assert request(server.addresses["Person 1"], method=method, Host=host)[0] == 403
    assert (
        request(server.addresses["Person 1"], Host="localhost:99")[0] == 200
    )  # as through a tunnel from another machine


@pytest.mark.parametrize("end", ["", "x/", "x/state", "../etc/passwd", "page.css"])
def test_without_the_token_nothing_is_found(server, end):
    root = server.addresses["Person 1"].rsplit("/", 2)[0] + "/"
    for method in ("GET", "POST"):
        assert request(root, rest=end, method=method)[0] == 404
    assert request(server.addresses["Person 1"][:-1])[0] == 404  # its own files would not be found from there


@pytest.mark.parametrize("rest", ["other", "picture/", "picture/x", "picture/../page.js", "../page.js"])
def test_with_the_token_there_is_only_the_page(server, rest):
    assert request(server.addresses["Person 1"], rest=rest)[0] == 404
    assert request(server.addresses["Person 1"], rest="picture/1")[0] == 409
    assert request(server.addresses["Person 1"], rest="state?seen=x")[0] == 400
    assert request(server.addresses["Person 1"], rest="elsewhere", method="POST", body='{"ticket": 1}')[0] == 404


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("[1]", "a JSON object"),
        ("{", "Expecting"),
        ('{"x": 1, "y": 1}', "ticket must be a whole number"),
        ('{"ticket": 1.5, "x": 1, "y": 1}', "ticket must be a whole number"),
        ('{"ticket": 1, "x": "1", "y": 1}', "x must be a finite number"),
        ('{"ticket": 1, "x": 1, "y": NaN}', "y must be a finite number"),
        ('{"ticket": 1, "x": 1e999, "y": 1}', "x must be a finite number"),
        (" " * (LONGEST_REQUEST + 1), "at most"),
    ],
)
def test_nonsense_is_refused_with_the_reason(server, body, reason):
    status, _, content = request(server.addresses["Person 1"], method="POST", rest="push", body=body)
    assert status == 400
    assert reason in json.loads(content)["error"]


def test_news_come_when_they_happen(server, desk):
    version = json.loads(request(server.addresses["Person 1"], rest="state")[2])["version"]
    began = time.monotonic()
    desk.tell("calibrate", 1, 4)
    news = json.loads(request(server.addresses["Person 1"], rest=f"state?seen={version}")[2])
    assert news["stage"] == {"name": "calibrate", "done": 1, "total": 4}
    assert time.monotonic() - began < 5
    assert news["version"] > version


def test_when_nobody_is_needed_the_fleet_is_not_held_up(desk):
    """A thousand timesteps with nothing for anybody to do, pages or none, take no time to speak of."""
    began = time.perf_counter()
    for t in range(1000):
        assert desk.ask([], {}) == []
        desk.tell("fleet at work", t, 1000)
    assert time.perf_counter() - began < 0.1
    assert np.isclose(desk.state((0,), -1, 0)["stage"]["done"], 999)
