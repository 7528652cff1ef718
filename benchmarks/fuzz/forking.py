"""DuckDB files read without a new Python for each: attached to one database, or in forked processes.

    python -m benchmarks.fuzz.forking SOCKET      serves requests of the file descriptor SOCKET

A new process imports for 400 ms of processor time. A forked one takes 45 ms: 15 make a database and its functions, 10 read, 20
copy and end the process. ``Forked`` stands for `subprocess.Popen` in `slimg.io.databases`: the same script answers in a process
of its own with its own standard input, output and error, so that a file that ends it ends nothing else, under the limits of
the process that asks.

``Attached`` stands for `slimg.io.databases._DuckdbProcess` and takes 1 to 4 ms: the file is attached to a database of this
process, which is made again when DuckDB calls it invalid. Queries, arrow streams and what becomes of errors are those of
slimg. A file that ends this process has to be read again by a process of its own.
"""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from slimg.io import databases

LIMITS = resource.RLIMIT_DATA, resource.RLIMIT_CORE


class Forked:
    """A process that runs ``words``, a Python script and its arguments; one at a time."""

    server: socket.socket | None = None

    def __init__(self, words: list[str], **pipes: Any):
        if Forked.server is None:
            Forked.server, theirs = socket.socketpair()
            serve = [sys.executable, "-m", "benchmarks.fuzz.forking", str(theirs.fileno())]
            subprocess.Popen(serve, pass_fds=[theirs.fileno()])
            theirs.close()
        (given, to), (out, told), (error, said) = os.pipe(), os.pipe(), os.pipe()
        request = json.dumps([words[1:], [resource.getrlimit(limit) for limit in LIMITS]]).encode()
        socket.send_fds(Forked.server, [request], [given, told, said])
        for end in (given, told, said):
            os.close(end)
        self.stdin, self.stdout, self.stderr = os.fdopen(to, "wb"), os.fdopen(out, "rb"), os.fdopen(error, "rb")
        self.pid = int(Forked.server.recv(64))
        self.returncode: int | None = None

    def kill(self) -> None:
        """End the process, which is not waited for before `communicate`."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def communicate(self) -> tuple[bytes, bytes]:
        """What it wrote, after it has ended."""
        if self.returncode is not None:
            return b"", b""
        assert Forked.server is not None
        self.stdin.close()
        found = self.stdout.read(), self.stderr.read()
        Forked.server.send(b"ended?")
        self.returncode = int(Forked.server.recv(64))
        self.stdout.close()
        self.stderr.close()
        return found


class Attached(databases._DuckdbProcess):
    """A file that is attached to a database of this process."""

    connection: Any = None
    attached = False

    def __init__(self, path: Path):
        self.path, self.size = path, path.stat().st_size

    def select(self, query: str) -> Any:
        """Rows of a query, by way of an arrow stream."""
        import duckdb
        import pyarrow as pa

        try:
            if Attached.connection is None:
                Attached.connection = duckdb.connect(":memory:")
            if not self.attached:
                Attached.connection.execute(f"ATTACH '{self.path}' AS shop (READ_ONLY)")
                self.attached = True
                Attached.connection.execute("USE shop")
            found, told = Attached.connection.sql(query).fetch_arrow_reader(100_000), io.BytesIO()
            with pa.ipc.new_stream(told, found.schema) as stream:
                for batch in found:
                    stream.write_batch(batch)
        except BaseException as error:
            text = str(error)[:2000] or type(error).__name__
            self.process = SimpleNamespace(communicate=lambda: (b"", text.encode()), returncode=1)
            self._check()
            raise self._reason() from None
        with pa.ipc.open_stream(told.getvalue()) as stream:
            return stream.read_all()

    def close(self) -> None:
        """Detach the file."""
        if self.attached:
            try:
                Attached.connection.execute("USE memory")
                Attached.connection.execute("DETACH shop")
            except Exception:
                self._renew()

    def _check(self) -> None:
        """Make another database if DuckDB answers nothing any more, in words that may be no UTF-8."""
        try:
            Attached.connection.execute("SELECT 1").fetchall()
        except Exception:
            self._renew()

    def _renew(self) -> None:
        """The next file is attached to another database."""
        self.attached, connection, Attached.connection = False, Attached.connection, None
        if connection is not None:
            connection.close()


def serve(asked: socket.socket) -> None:
    """Fork a process for each request; its exit code follows when it is asked for."""
    import duckdb  # noqa: F401
    import pyarrow as pa

    pa.ipc  # noqa: B018
    while True:
        request, ends, _, _ = socket.recv_fds(asked, 1 << 16, 3)
        if not request:
            return
        pid = os.fork()
        if not pid:
            _run(*json.loads(request), ends)
        for end in ends:
            os.close(end)
        asked.send(str(pid).encode())
        asked.recv(64)
        asked.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())


def _run(words: list[str], limits: list[list[int]], ends: list[int]) -> None:
    """What the forked process does; it never returns."""
    import runpy

    for number, end in enumerate(ends):
        os.dup2(end, number)
        os.close(end)
    os.closerange(3, 64)
    for limit, (soft, hard) in zip(LIMITS, limits, strict=True):
        resource.setrlimit(limit, (soft, hard))
    sys.argv = words
    sys.path.insert(0, os.path.dirname(words[0]))
    try:
        runpy.run_path(words[0], run_name="__main__")
    finally:
        os._exit(1)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
