"""Child processes with a memory limit, as the benchmark harness runs them.

    parent   `MonitoredProcess` starts the child, reads its resident memory and kills it above the limit
    child    `end_with_parent` ends it when the parent is gone; `reason` and `ran_out_of_memory` classify an error

The address space (RLIMIT_AS) is not limited: threads and mapped files take much of it without taking memory. A child leads
a process group of its own, so that whatever it started ends with it.

Objects of a user's own file, by address: ``mine.py:make_model``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from slimg.errors import InputError, SlimgError
from slimg.system import resident

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Environment variables from which libraries read the number of threads."""
POLL_SECONDS = 0.02
"""How often the memory of a child is read."""


class MonitoredProcess:
    """A child process with a memory limit; standard input and output are text pipes (UTF-8).

    Parameters
    ----------
    command : list of str
        The program and its arguments.
    memory : int or None, default=None
        Bytes that may be resident at most; None for no limit.
    threads : int or None, default=None
        Threads that its libraries may use; None leaves the environment as it is.
    stderr : int or None, default=None
        As in `subprocess.Popen`.

    Attributes
    ----------
    process : subprocess.Popen
        The child. The end of its standard input tells it that its parent is gone (see `end_with_parent`).
    exceeded : bool
        Whether it was killed because it used more memory than the limit.
    """

    def __init__(
        self, command: list[str], memory: int | None = None, threads: int | None = None, *, stderr: int | None = None
    ):
        self.memory: int | None = memory
        self.exceeded: bool = False
        environment = None if threads is None else {**os.environ, **dict.fromkeys(THREADS, str(threads))}
        self.process: subprocess.Popen[str] = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
            start_new_session=True, env=environment, encoding="utf-8",
        )  # fmt: skip

    def check(self) -> bool:
        """Return whether it still runs; above the limit it is killed."""
        if self.process.poll() is not None:
            return False
        if self.memory is not None and resident(self.process.pid) > self.memory:
            self.exceeded = True
            self.kill()
        return not self.exceeded

    def kill(self) -> None:
        """Kill it and whatever it started; does nothing if both are gone."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill it, wait until it is gone, and close its input."""
        self.kill()
        self.process.wait()
        if self.process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()

    def out_of_memory(self) -> str | None:
        """Return one sentence if it ended for lack of memory (above its limit, or killed by the system), else None."""
        if self.exceeded and self.memory is not None:
            return f"more than {self.memory / 2**30:.2f} GiB were needed"
        if self.process.returncode == -signal.SIGKILL:
            return "the system ended the process, as it does when memory runs out"
        return None


def end_with_parent() -> None:
    """In the child: from now on the end of standard input ends this process and whatever it started."""
    threading.Thread(target=_end_at_end_of_input, daemon=True).start()


def reason(error: BaseException) -> str:
    """Return an error as one line, with the name of its class unless it is one of slimg's."""
    first = str(error).strip().split("\n")[0]
    kind = "" if isinstance(error, SlimgError) else type(error).__name__
    return ": ".join(part for part in (kind, first) if part)


def ran_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means lack of memory: MemoryError, slimg's `TooLarge`, or torch's message."""
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)


def _end_at_end_of_input() -> None:
    while os.read(0, 4096):  # not sys.stdin, whose lock would be held when the interpreter ends
        pass
    os.killpg(0, signal.SIGKILL)


def load_object(address: str) -> Any:
    """The object that ``FILE.py:NAME`` names; whatever the file does wrong is told in one sentence."""
    path, _, name = address.rpartition(":")
    file = Path(path).expanduser()
    if not path or not name.isidentifier():
        raise InputError(f"{address!r} is no address of an object: FILE.py:NAME is needed, such as mine.py:make_model")
    if not file.is_file():
        raise InputError(f"{address}: there is no file {file}")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise InputError(f"{address}: {file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    folder = str(file.resolve().parent)
    sys.path.insert(0, folder)  # modules beside the file can be imported while it is loaded, as when it is run
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{address}: importing it raised {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)
    if not hasattr(module, name):
        public = [each for each in vars(module) if not each.startswith("_")]
        raise InputError(f"{address}: {file} has no {name}; it has {', '.join(public) or 'nothing'}")
    return getattr(module, name)
