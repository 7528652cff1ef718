"""A child process under watch: the one home of limits on memory and time, of who ends whom, and of what counts as O.O.M.

    parent   `Watched` starts it, looks at its resident memory and age, and ends it as soon as one is above its limit
    child    `end_with_parent`: when the parent is gone, so is the child; `reason`, `ran_out_of_memory`: what an error says

Address space (RLIMIT_AS) is not limited: threads and mapped files take much of it without taking memory. A child leads a
process group of its own, so that whatever it started ends with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Literal

from slimg.errors import SlimgError

PROC = Path("/proc")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""What libraries read the number of threads from."""
LOOK_EVERY = 0.02
Limit = Literal["memory", "time"]


class Watched:
    """A child process with limits.

    Parameters
    ----------
    command : and further arguments of `subprocess.Popen`; standard input is a pipe whose end tells the child that its
        parent is gone
    memory : bytes that may be resident at most
    seconds : of wall time at most
    threads : that its libraries may take; None leaves the environment's setting

    Attributes
    ----------
    process : the `subprocess.Popen`
    peak : most bytes seen resident, None if the system does not say
    above : the limit for which it was ended, None while it was not
    """

    def __init__(
        self,
        command: list[str],
        memory: int | None = None,
        seconds: float | None = None,
        threads: int | None = None,
        **arguments: Any,
    ):
        self.memory, self.seconds = memory, seconds
        self.peak: int | None = None
        self.above: Limit | None = None
        environment = None if threads is None else {**os.environ, **dict.fromkeys(THREADS, str(threads))}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, start_new_session=True, env=environment, **arguments
        )
        self.begun = time.monotonic()

    def look(self) -> bool:
        """Whether it runs on; above a limit it is ended."""
        if self.process.poll() is not None:
            return False
        now = resident(self.process.pid) or 0
        self.peak = max(self.peak or 0, now) or None
        if self.memory is not None and now > self.memory:
            self.above = "memory"
        elif self.seconds is not None and time.monotonic() - self.begun > self.seconds:
            self.above = "time"
        if self.above:
            self.kill()
        return not self.above

    def wait(self) -> None:
        """Look at it until it ends, and end it when it must."""
        try:
            while self.look():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(LOOK_EVERY)
        finally:  # also when this process is interrupted
            self.end()

    def kill(self) -> None:
        """End it and whatever it started; nothing if both are gone."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill it, wait until it is gone, and close its input."""
        self.kill()
        self.process.wait()
        if self.process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()

    def lacked_memory(self) -> str | None:
        """One sentence if it ended for want of memory: above its limit, or ended by the system; None otherwise."""
        if self.above == "memory" and self.memory is not None:
            return above_limit(self.memory)
        if self.above is None and self.process.returncode == -signal.SIGKILL:
            return "the system ended the process, as it does when memory runs out"
        return None


def above_limit(memory: int) -> str:
    """The sentence on a process that took more than it may."""
    return f"more than {memory / 2**30:.2f} GiB were needed"


def resident(pid: int) -> int | None:
    """Bytes of a process that are in memory now; None if it is gone or the system does not say."""
    try:
        return int((PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return None


def end_with_parent() -> None:
    """In the child: from now on the end of standard input ends this process and whatever it started."""
    threading.Thread(target=_end_at_end_of_input, daemon=True).start()


def reason(error: BaseException) -> str:
    """One sentence; slimg's own errors are that already."""
    first = str(error).strip().split("\n")[0]
    kind = "" if isinstance(error, SlimgError) else type(error).__name__
    return ": ".join(part for part in (kind, first) if part)


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether memory is what lacked: Python's error, slimg's refusal of what is too large, or torch's words."""
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)


def _end_at_end_of_input() -> None:
    while os.read(0, 4096):  # not sys.stdin, whose lock would be held when the interpreter ends
        pass
    os.killpg(0, signal.SIGKILL)
