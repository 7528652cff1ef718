"""The process that `slimg.baselines.limited.run` starts: ``python -m slimg.baselines.child FOLDER``.

It unpacks the task, fits, predicts, and replies with stages and peak memory, or with the reason why not.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from slimg.baselines import models, parcel
from slimg.baselines.base import best_of
from slimg.errors import SlimgError
from slimg.sanity.contender import as_contender
from slimg.sanity.judge import accuracy
from slimg.user_code import load_object

FEATURE_STAGES = ("total", "propagation", "features")
"""What estimators call the time before learning, the most comprehensive first."""


def main(folder: Path) -> int:
    """Work on the task of a folder; every failure becomes a reply."""
    answer: dict[str, Any] = {}
    answers = None
    try:
        task = parcel.unpack(folder)
        answer["memory_before"] = memory("VmRSS")
        work = _with_own_model if ":" in task.model else _with_estimator
        answers = work(task, answer)
        accuracy(answers, task.graph, task.train)  # refuses answers that are not n known classes
    except MemoryError as error:
        answer |= {"reason": reason(error), "no_memory": True}
    except Exception as error:
        answer |= {"reason": reason(error), "no_memory": "can't allocate memory" in str(error)}  # as torch says it
    answer["peak_memory"] = memory("VmHWM")
    parcel.reply(folder, answer, None if "reason" in answer else answers)
    return 0


def reason(error: Exception) -> str:
    """One sentence; slimg's own errors are that already."""
    first = str(error).strip().split("\n")[0]
    kind = "" if isinstance(error, SlimgError) else type(error).__name__
    return ": ".join(part for part in (kind, first) if part)


def memory(kind: str) -> int | None:
    """Bytes of this process in memory now (VmRSS) or at most so far (VmHWM); None where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{kind}:")), None)


def _with_estimator(task: parcel.Task, answer: dict[str, Any]) -> np.ndarray:
    estimator = models.get(task.model, **task.params)
    estimator.fit(task.graph, train=task.train, val=task.val)
    begun = time.perf_counter()
    answers = estimator.predict()
    prediction = time.perf_counter() - begun
    selection = list(getattr(estimator, "selection_", []))
    chosen = selection[best_of(selection)] if selection else None
    answer |= {"chosen": _plain(chosen), "selection": _plain(selection)}
    answer["seconds"] = {**_stages(estimator.seconds_, chosen), "prediction": prediction}
    return answers


def _with_own_model(task: parcel.Task, answer: dict[str, Any]) -> np.ndarray:
    given = load_object(task.model)
    options = dict(task.params)
    seed = options.pop("random_state", 0)
    contender = as_contender(partial(given, **options) if options else given, task.model)
    begun = time.perf_counter()
    respond = contender.begin(task.graph.with_labels(None))
    ready = time.perf_counter()
    val = np.empty(0, np.int64) if task.val is None else task.val
    answers = respond(task.graph, task.train, val, seed)
    answer["seconds"] = {"features": ready - begun, "training": time.perf_counter() - ready}
    answer |= {"chosen": None, "selection": []}
    return answers


def _stages(seconds: dict[str, float], chosen: dict[str, Any] | None) -> dict[str, float]:
    found = {"features": next((seconds[name] for name in FEATURE_STAGES if name in seconds), 0.0)}
    found["tuning"] = seconds.get("learning", 0.0)
    found["training"] = chosen.get("seconds", found["tuning"]) if chosen else found["tuning"]
    return found


def _plain(value: Any) -> Any:
    """Numbers of numpy as those of Python, for JSON."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _end_with_parent() -> None:
    """The parent never writes: standard input closes when it dies."""
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.exit(main(Path(sys.argv[1])))
