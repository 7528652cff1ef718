"""`slimg open` as a process of its own, and requests to it with the standard library alone."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from urllib.parse import urlencode, urlsplit

SOURCE = Path(__file__).resolve().parents[1] / "src"


class Served:
    """A server of a folder of `slimg fit`."""

    def __init__(self, folder, *options):
        path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "slimg", "open", str(folder), "--no-browser", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path},
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a shell in the background ignores it
        )  # fmt: skip
        first = self.process.stdout.readline()
        found = re.search(r"http://\S+/", first)
        assert found, (first, self.process.stderr.read())
        self.address = found.group()
        parts = urlsplit(self.address)
        self.port, self.token = parts.port, parts.path.strip("/")

    def ask(self, name, body=None, **query):
        """Status and answer of one question."""
        status, _, answer = self.request("GET" if body is None else "POST", name, body, **query)
        return status, json.loads(answer)

    def request(self, method, name, body=None, headers=None, token=None, **query):
        """Status, headers and bytes of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        path = f"/{self.token if token is None else token}/{name}{'?' + urlencode(query) if query else ''}"
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        kind = {"Content-Type": "application/json"} if data is not None else {}
        connection.request(method, path, data, {**kind, **(headers or {})})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), content

    def send(self, data):
        """Bytes that come back for bytes that are sent."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            found = b""
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                while more := connection.recv(1 << 16):
                    found += more
            except ConnectionError:
                pass
            return found

    def stop(self):
        """Exit code, output and errors after Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        output, errors = self.process.communicate(timeout=20)
        return self.process.returncode, output, errors
