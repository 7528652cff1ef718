"""One model, one split, in a process of its own with a limit on memory and on time.

    run("gcn", {"random_state": 0}, graph, split, memory=8 << 30, seconds=3600)  →  Outcome

The child (`slimg.baselines.child`) is given edges, features, the labels of train and val and no others. It is watched from
here: every 20 ms its resident memory and its age are read, and it is ended as soon as one is above its limit. Address space
(RLIMIT_AS) is not limited: threads and mapped files take much of it without taking memory. Whatever happens to the child is
a record; the process that called survives. If that process dies, the child ends too.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from slimg.baselines import parcel
from slimg.errors import InputError
from slimg.graph import Graph, Split

PROC = Path("/proc")
LOOK_EVERY = 0.02
Status = Literal["done", "O.O.M.", "timeout", "failed"]
Limit = Literal["memory", "time"]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of a run.

    Attributes
    ----------
    status : "done"; "O.O.M." (above the memory limit, or the system had no more); "timeout"; or "failed"
    predictions : one class per node, in graph order, of the labels' own type; None unless done
    seconds : features (what is computed before learning), tuning (learning with every setting of the grid), training (of
        which: the chosen setting alone, as the paper reports it), prediction; and total, from the start of the process to
        its end. A stage that the model does not tell apart is absent.
    peak_memory : bytes resident at most, with interpreter and libraries; ``memory_before``: of which before fit
    reason : one sentence, unless done
    selection : one record per setting tried (its values, val_accuracy, val_loss, epoch, seconds); ``chosen`` is one of them
    """

    status: Status
    predictions: np.ndarray | None = field(repr=False)
    seconds: dict[str, float]
    peak_memory: int | None
    memory_before: int | None = None
    reason: str | None = None
    chosen: dict[str, Any] | None = None
    selection: list[dict[str, Any]] = field(default_factory=list, repr=False)

    @property
    def done(self) -> bool:
        return self.status == "done"

    def record(self) -> dict[str, Any]:
        """Everything but the predictions, as JSON has it."""
        return {name: value for name, value in self.__dict__.items() if name != "predictions"}


def run(
    model: str,
    params: dict[str, Any],
    graph: Graph,
    split: Split,
    *,
    memory: int | None = None,
    seconds: float | None = None,
    threads: int | None = None,
) -> Outcome:
    """Fit on train and val of a split, predict every node, in a child process.

    Parameters
    ----------
    model : a name of `slimg.baselines.models.names`, or FILE.py:NAME, a function or class that makes an object with
        fit(graph, train=, val=) and predict(), such as one of these; labels are numbers in the child
    params : of the model, ``random_state`` among them; numbers, texts, lists and mappings of these
    memory : bytes that may be resident at most, libraries included (about 0.3 GB with torch)
    seconds : wall time at most, the start of the process (about 2 s) included
    threads : of the child; None leaves the environment's setting

    Wrong input for the run itself (an unknown model or parameter) is an outcome too: status "failed".
    """
    _check(memory, seconds, threads)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="slimg-run-") as name:
        folder = Path(name)
        parcel.pack(folder, model, params, graph, split)
        end = _watched(folder, memory, seconds, threads)
        answer, answers = parcel.replied(folder)
        said = (folder / "stderr").read_text(errors="replace")
    end.seconds = time.monotonic() - begun
    return _outcome(end, answer, answers, said, graph, memory, seconds)


@dataclass
class _End:
    """How a child ended."""

    code: int
    peak: int | None
    ended_for: Limit | None
    seconds: float = 0.0


def _watched(folder: Path, memory: int | None, seconds: float | None, threads: int | None) -> _End:
    """Start the child, look at it until it ends, and end it when it must."""
    environment = dict(os.environ)
    if threads is not None:
        environment |= dict.fromkeys(THREADS, str(threads))
    command = [sys.executable, "-m", "slimg.baselines.child", str(folder)]
    with (folder / "stderr").open("wb") as stderr:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,  # never written to: that it closes tells the child that its parent is gone
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env=environment,
            start_new_session=True,
        )
    begun, peak = time.monotonic(), None
    reason: Limit | None = None
    try:
        while child.poll() is None:
            now = resident(child.pid)
            peak = max(peak or 0, now) if now else peak
            if memory is not None and now and now > memory:
                reason = "memory"
            elif seconds is not None and time.monotonic() - begun > seconds:
                reason = "time"
            if reason:
                break
            try:
                child.wait(LOOK_EVERY)
            except subprocess.TimeoutExpired:
                continue
    finally:  # also when this process is interrupted
        _end(child)
    return _End(child.returncode, peak, reason)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the child and whatever it started; nothing if both are gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stdin:
        child.stdin.close()


def _outcome(
    end: _End,
    answer: dict[str, Any] | None,
    answers: np.ndarray | None,
    said: str,
    graph: Graph,
    memory: int | None,
    seconds: float | None,
) -> Outcome:
    answer = answer or {}
    peak = max(end.peak or 0, answer.get("peak_memory") or 0) or None
    spent = {**answer.get("seconds", {}), "total": end.seconds}
    before = answer.get("memory_before")
    if end.ended_for == "time":
        return Outcome("timeout", None, spent, peak, before, f"no answer within {seconds:g} s")
    if end.ended_for == "memory" or (memory is not None and peak and peak > memory):
        return Outcome("O.O.M.", None, spent, peak, before, f"more than {memory / 2**30:.2f} GiB were needed")  # type: ignore[operator]
    if answer.get("no_memory"):
        return Outcome("O.O.M.", None, spent, peak, before, answer["reason"])
    if not answer and end.code == -signal.SIGKILL:
        return Outcome("O.O.M.", None, spent, peak, before, "the system ended the process, as it does when memory runs out")
    if "reason" in answer or answers is None:
        return Outcome("failed", None, spent, peak, before, answer.get("reason") or _crash(end.code, said))
    chosen, selection = answer["chosen"], answer["selection"]
    return Outcome("done", graph.classes[answers], spent, peak, before, None, chosen, selection)


def _crash(code: int, said: str) -> str:
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    last = said.strip().splitlines()[-1:] or ["it said nothing"]
    return f"the process {how} without an answer: {last[0]}"


def resident(pid: int) -> int | None:
    """Bytes of a process that are in memory now; None if it is gone or the system does not say."""
    try:
        return int((PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return None


def _check(memory: int | None, seconds: float | None, threads: int | None) -> None:
    for name, value in (("memory", memory), ("seconds", seconds), ("threads", threads)):
        if value is not None and not (isinstance(value, int | float | np.number) and value > 0):
            raise InputError(f"{name} must be None or a number above 0, not {value!r}")
    if memory is not None and resident(os.getpid()) is None:
        raise InputError(f"a memory limit needs {PROC}, which this system has not: run without memory=")
