"""One model, one split, in a process of its own with a limit on memory and on time.

    run("gcn", {"random_state": 0}, graph, split, memory=8 << 30, seconds=3600)  →  Outcome

The child (`slimg.lab.baselines.child`) is given edges, features, the labels of train and val and no others, and is watched
(`slimg.lab.baselines.watched`). Whatever happens to it is a record; the process that called survives.
"""

from __future__ import annotations

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

from slimg.errors import InputError
from slimg.graph import Graph, Split
from slimg.lab.baselines import parcel
from slimg.lab.baselines.watched import Watched, above_limit, resident

Status = Literal["done", "O.O.M.", "timeout", "failed"]


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
    model : a name of `slimg.lab.baselines.models.names`, or FILE.py:NAME, a function or class that makes an object with
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
        child = _watched(folder, memory, seconds, threads)
        answer, answers = parcel.replied(folder)
        said = (folder / "stderr").read_text(errors="replace")
    return _outcome(child, time.monotonic() - begun, answer, answers, said, graph)


def _watched(folder: Path, memory: int | None, seconds: float | None, threads: int | None) -> Watched:
    """The child, which has ended."""
    command = [sys.executable, "-m", "slimg.lab.baselines.child", str(folder)]
    with (folder / "stderr").open("wb") as stderr:
        child = Watched(command, memory, seconds, threads, stdout=subprocess.DEVNULL, stderr=stderr)
    child.wait()
    return child


def _outcome(
    child: Watched, total: float, answer: dict[str, Any] | None, answers: np.ndarray | None, said: str, graph: Graph
) -> Outcome:
    silent, answer = answer is None, answer or {}
    peak = max(child.peak or 0, answer.get("peak_memory") or 0) or None
    spent = {**answer.get("seconds", {}), "total": total}
    before = answer.get("memory_before")
    if child.above == "time":
        return Outcome("timeout", None, spent, peak, before, f"no answer within {child.seconds:g} s")
    if child.memory is not None and peak and peak > child.memory:
        return Outcome("O.O.M.", None, spent, peak, before, above_limit(child.memory))
    if answer.get("no_memory"):
        return Outcome("O.O.M.", None, spent, peak, before, answer["reason"])
    if silent and (lacked := child.lacked_memory()):
        return Outcome("O.O.M.", None, spent, peak, before, lacked)
    if "reason" in answer or answers is None:
        reason = answer.get("reason") or _crash(child.process.returncode, said)
        return Outcome("failed", None, spent, peak, before, reason)
    chosen, selection = answer["chosen"], answer["selection"]
    return Outcome("done", graph.classes[answers], spent, peak, before, None, chosen, selection)


def _crash(code: int, said: str) -> str:
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    last = said.strip().splitlines()[-1:] or ["it said nothing"]
    return f"the process {how} without an answer: {last[0]}"


def _check(memory: int | None, seconds: float | None, threads: int | None) -> None:
    for name, value in (("memory", memory), ("seconds", seconds), ("threads", threads)):
        if value is not None and not (isinstance(value, int | float | np.number) and value > 0):
            raise InputError(f"{name} must be None or a number above 0, not {value!r}")
    if memory is not None and resident(os.getpid()) is None:
        raise InputError("a memory limit needs /proc, which this system has not: run without memory=")
