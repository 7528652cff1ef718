"""Answers over HTTP, to the browser of the person who started it and to nobody else.

    http://127.0.0.1:PORT/TOKEN/NAME        TOKEN: 192 random bits, made at each start

Every request needs the token, or it gets 401 and an empty body; then a Host and, if there is one, an Origin of this server,
so that no other web page can ask; and a POST needs JSON of at most `MOST_BYTES`. Names are looked up in a table: no part of
an address becomes a path. Nothing is written to the disk. Responses close the connection, may not be stored or framed, and
have a content security policy that allows the server's own script and style alone.
"""

from __future__ import annotations

import errno
import hmac
import json
import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from threading import Lock
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from slimg.errors import InputError
from slimg.report.answers import Answers, Question
from slimg.report.page import _asset, as_json, templates
from slimg.report.record import json_values

HOST, PAGE = "127.0.0.1", "report.html"
MOST_BYTES = 8 << 20
"""The longest body of a request."""
SECONDS = 30
"""How long a client may be silent."""
SELF = ("script-src", "style-src", "connect-src")
POLICY = "; ".join(["default-src 'none'", *(f"{kind} 'self'" for kind in SELF),
                    *(f"{kind} 'none'" for kind in ("base-uri", "form-action", "frame-ancestors"))])  # fmt: skip
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
           "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin"}  # fmt: skip
HTML, JSON, CSV = "text/html; charset=utf-8", "application/json", "text/csv; charset=utf-8"

Table = Mapping[str, Callable[[Answers, Question], Any]]
GET: Table = {"search": Answers.search, "node": Answers.node, "predictions": Answers.predictions,
              "predictions.csv": Answers.predictions_csv}  # fmt: skip
POST: Table = {"what-if": Answers.what_if, "new-rows": Answers.new_rows}


class Server(ThreadingMixIn, TCPServer):
    """A server on the loopback address; `serve_forever` runs it, `server_close` ends it.

    Parameters
    ----------
    answers : Answers
        Who answers; one question at a time.
    record : dict
        What is known of the fit, for the headings.
    page : bytes
        The finished page of the fit.
    port : int, default=0
        The port; 0 takes a free one.

    Raises
    ------
    InputError
        If the port is in use or not allowed.
    """

    daemon_threads = True
    allow_reuse_address = os.name == "posix"  # elsewhere it would share a port that is in use
    request_queue_size = 64

    def __init__(self, answers: Answers, record: Mapping[str, Any], page: bytes, port: int = 0) -> None:
        self.answers: Answers = answers
        self.token: str = secrets.token_urlsafe(24)
        self.lock = Lock()
        read, held = record["read"], record["held_out"]
        shown = {"title": read.get("title") or "Nodes of a graph", "read": read, "held_out": held, "classes": record["classes"]}
        index = templates().get_template("open.html").render(**shown, data=as_json(answers.start()))
        style = _asset("page.css") + _asset("open.css")
        self.files: dict[str, tuple[bytes, str]] = {
            "": (index.encode(), HTML), PAGE: (page, HTML),
            "open.js": (_asset("open.js").encode(), "text/javascript; charset=utf-8"), "open.css": (style.encode(), "text/css"),
        }  # fmt: skip
        try:
            super().__init__((HOST, port), Handler)
        except (OSError, OverflowError) as error:
            what = "is in use" if getattr(error, "errno", 0) == errno.EADDRINUSE else f"cannot be used ({error})"
            raise InputError(f"port {port} {what}: choose another with --port, or leave it out for a free one") from None
        names = [f"{name}:{self.server_address[1]}".removesuffix(":80") for name in (HOST, "localhost")]
        self.hosts: list[str] = names
        self.origins: list[str] = [f"http://{name}" for name in names]
        self.address: str = f"http://{names[0]}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Pass over clients that went away; errors of answers are told to those who asked."""


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    timeout: ClassVar[int] = SECONDS
    server_version: str = "slimg"
    sys_version: str = ""
    name: str = ""
    query: str
    length: int
    body: bytes

    def parse_request(self) -> bool:
        """Read line and headers, and let through who has the token and asks this server; all others have their answer."""
        if not super().parse_request():
            return False
        length = self.headers.get("Content-Length", "0")
        self.length = int(length) if length.isascii() and length.isdigit() and len(length) < 16 else MOST_BYTES + 1
        self.body = self.rfile.read(self.length) if self.length <= MOST_BYTES else b""
        token, _, rest = self.path.removeprefix("/").partition("/")
        self.name, _, self.query = rest.partition("?")
        if not hmac.compare_digest(token.encode(errors="replace"), self.server.token.encode()):
            return self._send(401)
        hosts, origin = self.headers.get_all("Host", []), self.headers.get("Origin")
        if len(hosts) != 1 or hosts[0] not in self.server.hosts or origin not in (None, *self.server.origins):
            return self._refuse(403, f"this server answers pages of {self.server.origins[0]} only: use the address it printed")
        return True

    def do_GET(self) -> None:
        """Files of the page, and questions whose parts are in the address."""
        if self.name in self.server.files:
            self._send(200, *self.server.files[self.name])
        else:
            self._answer(GET, lambda: dict(parse_qsl(self.query)))

    def do_POST(self) -> None:
        """Questions whose parts are JSON in the body."""
        self._answer(POST, self._from_body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses, an unknown method or a broken request, in a few words."""
        self._refuse(405, f"the method {self.command[:20]} is not used here") if code == 501 else self._send(code)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: addresses hold the token."""

    def _answer(self, table: Table, read: Callable[[], Question]) -> None:
        try:
            if self.name not in table:
                raise InputError("there is no such address here")
            question = read()
            with self.server.lock:
                found = table[self.name](self.server.answers, question)
            body = found if isinstance(found, bytes) else json.dumps(json_values(found), ensure_ascii=False).encode()
        except InputError as error:
            self._refuse(400 if self.name in table else 404, str(error))
        except Exception as error:  # a defect: the page says so, and the server goes on
            self._refuse(500, f"internal error ({type(error).__name__}: {error}), which is a defect of slimg")
        else:
            self._send(200, body, CSV if isinstance(found, bytes) else JSON)

    def _from_body(self) -> Question:
        if self.headers.get_content_type() != "application/json" or "Transfer-Encoding" in self.headers:
            raise InputError("a question is sent as application/json, with its length")
        if self.length > MOST_BYTES:
            raise InputError(f"a question may have {MOST_BYTES >> 20} MB at most: use slimg predict for more")
        with suppress(ValueError, RecursionError):
            question = json.loads(self.body)
            json.dumps(question, ensure_ascii=False).encode()  # an error for halves of characters
            if isinstance(question, dict):
                return question
        raise InputError("the question is not a JSON object")

    def _refuse(self, status: int, sentence: str) -> bool:
        return self._send(status, json.dumps({"error": sentence}).encode(), JSON)

    def _send(self, status: int, body: bytes = b"", kind: str = "text/plain") -> bool:
        """Send a response; False, since nothing is left to do."""
        self.close_connection, self.request_version = True, "HTTP/1.0"  # not 0.9, which has no status
        self.send_response(status)
        policy = "frame-ancestors 'none'" if self.name == PAGE else POLICY  # the finished page names a policy of its own
        own = {"Content-Type": kind, "Content-Length": str(len(body)), "Content-Security-Policy": policy}
        for name, value in {**own, **HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        return False
