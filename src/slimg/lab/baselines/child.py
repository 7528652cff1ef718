"""The process that `slimg.lab.baselines.limited.run` starts: ``python -m slimg.lab.baselines.child FOLDER``.

It unpacks the task, fits, predicts, and replies with stages and peak memory, or with the reason why not.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from slimg.errors import InputError
from slimg.graph import Graph
from slimg.graph.columns import show
from slimg.lab.baselines import models, parcel
from slimg.lab.baselines.base import best_of
from slimg.lab.baselines.watched import end_with_parent, ran_out_of_memory, reason
from slimg.lab.user_code import load_object

FEATURE_STAGES = ("total", "propagation", "features")
"""What estimators call the time before learning, the most comprehensive first."""


def main(folder: Path) -> int:
    """Work on the task of a folder; every failure becomes a reply."""
    answer: dict[str, Any] = {}
    answers = None
    try:
        task = parcel.unpack(folder)
        answer["memory_before"] = memory("VmRSS")
        answers = _checked(_answers(task, answer), task.graph)
    except Exception as error:  # a model may fail in any way
        answer |= {"reason": reason(error), "no_memory": ran_out_of_memory(error)}
    answer["peak_memory"] = memory("VmHWM")
    parcel.reply(folder, answer, None if "reason" in answer else answers)
    return 0


def memory(kind: str) -> int | None:
    """Bytes of this process in memory now (VmRSS) or at most so far (VmHWM); None where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{kind}:")), None)


def _answers(task: parcel.Task, answer: dict[str, Any]) -> Any:
    """Fit and predict; stages and settings go into the answer."""
    make = load_object(task.model) if ":" in task.model else partial(models.get, task.model)
    begun = time.perf_counter()
    estimator = make(**task.params)
    estimator.fit(task.graph, train=task.train, val=task.val)
    fitted = time.perf_counter()
    answers = estimator.predict()
    prediction = time.perf_counter() - fitted
    selection = list(getattr(estimator, "selection_", []))
    chosen = selection[best_of(selection)] if selection else None
    answer |= {"chosen": _plain(chosen), "selection": _plain(selection)}
    told = getattr(estimator, "seconds_", {"learning": fitted - begun})
    answer["seconds"] = {**_stages(told, chosen), "prediction": prediction}
    return answers


def _checked(answers: Any, graph: Graph) -> np.ndarray:
    """n classes that exist."""
    found = np.asarray(answers)
    if found.shape != (graph.n,):
        shape = f"an array of shape {found.shape}" if found.ndim != 1 else f"{len(found):,} answers"
        raise InputError(f"predict() gave {shape} for {graph.n:,} nodes: one class per node is needed")
    strange = found[~np.isin(found, graph.classes)]
    if len(strange):
        raise InputError(f"predict() gave classes that the labels it was given do not have: {show(strange)}")
    return found


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


if __name__ == "__main__":
    end_with_parent()
    sys.exit(main(Path(sys.argv[1])))
