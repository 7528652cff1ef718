"""A web server on 127.0.0.1 that does what it is told to do wrong."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FaultyServer:
    """Serves ``files`` (path → bytes). ``faults`` (path → list) are used up one per request, then all is well.

    A fault is ``("cut", k)``: close after k bytes; ``("status", code)``; ``("html",)``; ``("stall", seconds)``.
    """

    def __init__(self, files):
        self.files = dict(files)
        self.faults = {}
        self.requests = []
        self.tags = True
        self.ranges = True
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(owner):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                path = self.path.lstrip("/")
                requested = self.headers.get("Range")
                owner.requests.append((path, requested))
                faults = owner.faults.get(path, [])
                fault = faults.pop(0) if faults else ("none",)
                if fault[0] == "status":
                    return self.send_error(fault[1])
                if path not in owner.files:
                    return self.send_error(404)
                if fault[0] == "stall":
                    owner.closing.wait(fault[1])
                    return None
                self.answer(owner.files[path], requested, fault)

            def answer(self, data, requested, fault):
                tag = f'"{hash(data):x}"'
                start = int(re.match(r"bytes=(\d+)-", requested)[1]) if requested and owner.ranges else 0
                if start and self.headers.get("If-Range", tag) != tag:
                    start = 0
                if start and start >= len(data):
                    return self.send_error(416)
                body = data[start:]
                self.send_response(206 if start else 200)
                self.send_header("Content-Type", "text/html" if fault[0] == "html" else "application/octet-stream")
                self.send_header("Content-Length", str(len(body)))
                if owner.tags:
                    self.send_header("ETag", tag)
                if start:
                    self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
                self.end_headers()
                self.wfile.write(body[: fault[1]] if fault[0] == "cut" else body)

            def log_message(self, *_):
                """Say nothing: the tests look at ``requests``."""

        return Handler
