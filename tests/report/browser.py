"""A headless Chromium that is driven over a pipe: real key presses, no server, no further package.

Messages are JSON, each ended by a zero byte: commands go to the browser's file descriptor 3, answers come from 4.
"""

import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

KEYS = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38}


class Browser:
    """One browser and one tab; ``console`` and ``requests`` collect what the page says and asks for."""

    def __init__(self):
        name = next(
            (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
        )
        assert name, "these tests drive a browser: install chromium (make test does so on Debian)"
        self.profile = tempfile.mkdtemp(prefix="slimg-browser")
        to_browser, self.write = map(_high, os.pipe())
        self.read, from_browser = map(_high, os.pipe())
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={self.profile}"]
        quiet = ["--disable-background-networking", "--disable-component-update", "--disable-extensions"]
        command = [
            "bash",
            "-c",
            f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}',
            name,
            *flags,
            *quiet,
            "--remote-debugging-pipe",
        ]
        self.process = subprocess.Popen(
            [*command, "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.buffer, self.session = 0, b"", None
        self.console, self.requests = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def open(self, path: Path, width=1200, height=900, dark=False):
        """Load a file and wait until it is there."""
        self.console.clear()
        self.requests.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        deadline = time.monotonic() + 30
        while self.run("document.readyState") != "complete" and time.monotonic() < deadline:
            time.sleep(0.02)
        return self

    def run(self, code):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=code, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key, shift=False):
        """A key goes down and up."""
        code = KEYS[key]
        named = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **named, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def type(self, text):
        """Each character as a key press."""
        for character in text:
            self.call("Input.dispatchKeyEvent", type="keyDown", text=character, key=character)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=character)

    def screenshot(self, path, full=True):
        import base64

        data = self.call("Page.captureScreenshot", captureBeyondViewport=full)["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def call(self, method, **parameters):
        """One command and its answer; events that come in between are noted."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._note(answer)

    def close(self):
        os.close(self.write)
        self.process.terminate()
        self.process.wait(timeout=20)
        os.close(self.read)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _receive(self):
        deadline = time.monotonic() + 60
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            received = os.read(self.read, 1 << 20)
            assert received, "the browser has gone"
            self.buffer += received
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def _note(self, event):
        method, given = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.console.append(given["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(each.get("value")) for each in given["args"]))
        elif method == "Log.entryAdded":
            self.console.append(given["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.console.append(f"dialog: {given['message']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])


def _high(descriptor):
    """The same pipe under a number that is not in the way of 3 and 4."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(descriptor)
    return moved
