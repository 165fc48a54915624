"""The pages of the people, served on this machine alone by the standard library.

Each person has an address with a token that cannot be guessed; whatever does not name it is not found. Requests must be
for this very machine by name (a foreign Host is how a page from elsewhere would reach in), and pages may load nothing
from elsewhere, so they work offline.
"""

import json
import math
import secrets
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from iifl.supervisors.person.desk import Desk, People, Refused, Stale

LONGEST_REQUEST = 1000  # bytes
HOSTS = ("127.0.0.1", "localhost")
STATIC = {
    "": ("page.html", "text/html; charset=utf-8"),
    "page.css": ("page.css", "text/css; charset=utf-8"),
    "page.js": ("page.js", "text/javascript; charset=utf-8"),
}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Server:
    """A page for each of the people at a desk, and one for whoever is all of them, until it is closed."""

    def __init__(self, desk: Desk, humans: int) -> None:
        pages: dict[str, People] = {f"Person {human + 1}": (human,) for human in range(humans)}
        if humans > 1:
            pages = {f"All {humans} people": tuple(range(humans)), **pages}
        tokens = {name: secrets.token_urlsafe(24) for name in pages}
        page_of = {tokens[name]: (name if humans > 1 else "", people) for name, people in pages.items()}
        self._server = _Quiet((HOSTS[0], 0), type("Handler", (_Handler,), {"desk": desk, "page_of": page_of}))
        port = self._server.server_address[1]
        self.addresses = {name: f"http://{HOSTS[0]}:{port}/{token}/" for name, token in tokens.items()}
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()


class _Quiet(ThreadingHTTPServer):
    """A page that is closed in the middle of an answer is nothing to talk about."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tell of an error, unless it is that nobody is there any more."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One request of one page."""

    protocol_version = "HTTP/1.1"
    desk: ClassVar[Desk]
    page_of: ClassVar[dict[str, tuple[str, People]]]  # token → its name, if it needs one, and its people

    def do_GET(self) -> None:
        """The page, its picture, or what is new."""
        page, rest = self._caller()
        if page is None:
            return
        who, people = page
        parts = urlsplit(rest)
        if parts.path in STATIC:
            name, kind = STATIC[parts.path]
            self._send(HTTPStatus.OK, (files(__package__) / name).read_bytes(), kind)
        elif parts.path == "state":
            seen = parse_qs(parts.query).get("seen", ["-1"])[0]
            if not seen.removeprefix("-").isdecimal():
                self._refuse(HTTPStatus.BAD_REQUEST, "seen must be a whole number")
                return
            self._send_json(HTTPStatus.OK, self.desk.state(people, int(seen)) | {"who": who})
        elif parts.path.startswith("picture/") and parts.path.removeprefix("picture/").isdecimal():
            self._answer(lambda: self.desk.picture(people, int(parts.path.removeprefix("picture/"))))
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here")

    def do_POST(self) -> None:
        """A click, or the button."""
        page, rest = self._caller()
        if page is None:
            return
        _, people = page
        try:
            said = self._read_json()
            number = _whole(said, "ticket")
            if rest == "push":
                x, y = _number(said, "x"), _number(said, "y")
                self._answer(lambda: self.desk.push(people, number, x, y))
            elif rest == "reset":
                self._answer(lambda: self.desk.hard_reset(people, number))
            else:
                self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here")
        except ValueError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))

    def _caller(self) -> tuple[tuple[str, People] | None, str]:
        """Which page asks, and for what; None when the request was refused."""
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        token, slash, rest = self.path.removeprefix("/").partition("/")
        if host not in HOSTS:
            self._refuse(HTTPStatus.FORBIDDEN, "this page is for this machine alone")
        elif not slash or token not in self.page_of:
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here")
        else:
            return self.page_of[token], rest
        return None, ""

    def _read_json(self) -> dict[str, Any]:
        """The body of the request."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LONGEST_REQUEST:
            raise ValueError(f"a request has at most {LONGEST_REQUEST} bytes, and says how many")
        said = json.loads(self.rfile.read(int(length)))
        if not isinstance(said, dict):
            raise ValueError("a request is a JSON object")
        return said

    def _answer(self, do: Callable[[], bytes | None]) -> None:
        """Do it, and send the picture that comes of it, or word that it is done; or say why it cannot be done."""
        try:
            picture = do()
        except Stale as error:
            self._refuse(HTTPStatus.CONFLICT, str(error))
        except Refused as error:
            self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        except OSError as error:
            self._refuse(HTTPStatus.INSUFFICIENT_STORAGE, f"The answer could not be written down: {error.strerror}.")
        else:
            if picture is None:
                self._send_json(HTTPStatus.OK, {})
            else:
                self._send(HTTPStatus.OK, picture, "image/png")

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self.close_connection = True  # what else was sent with the request is not read
        self._send_json(status, {"error": why})

    def _send_json(self, status: HTTPStatus, value: dict[str, Any]) -> None:
        self._send(status, json.dumps(value).encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        """Nobody need know what serves."""
        return "iifl"

    def log_message(self, *_: Any) -> None:
        """Requests are no news."""


def _whole(said: dict[str, Any], name: str) -> int:
    value = said.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number, not {value!r}")
    return value


def _number(said: dict[str, Any], name: str) -> float:
    value = said.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, not {value!r}")
    return float(value)
