"""Many small fits and predictions in one process: do memory, threads, open files or temporary folders grow?

    python benchmarks/soak.py [--python 1000] [--commands 1000]

A round of Python: a fit of 60 nodes on the engine of memory or (every tenth) of files, predictions, sets, a model file written
and read, a graph that grew. A round of commands: ``slimg fit`` of a small table and ``slimg predict`` with its model, in this
process. Figures are recorded at every tenth of the rounds; the first tenth is for caches and pools to fill.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import records

sys.path.insert(0, str(records.ROOT))

from benchmarks.fuzz.model_file import planted
from slimg import SlimG
from slimg.cli import main as slimg
from slimg.engine.mapped import MappedEngine
from slimg.system import resident


def held() -> dict[str, Any]:
    """What this process holds."""
    gc.collect()
    return {
        "resident MB": round(resident() / 1e6, 1),
        "threads": threading.active_count(),
        "threads of the system": len(os.listdir("/proc/self/task")),
        "open files": len(os.listdir("/proc/self/fd")),
        "temporary files": len(os.listdir(tempfile.gettempdir())),
    }


def python_round(number: int, folder: Path) -> None:
    """Fit, predict, save, load, fold in."""
    graph = planted()
    if number % 10 == 9:
        with MappedEngine("2GB", threads=1) as engine:
            SlimG(grid=[(1e-6, 1e-4)], engine=engine).fit(graph).predict()
        return
    model = SlimG(grid=[(1e-6, 1e-4)]).fit(graph)
    expected = model.predict_proba()
    loaded = SlimG.load(model.save(folder / "model.slimg"))
    assert np.array_equal(loaded.predict_proba(), expected)
    loaded.predict_set(0.8)
    loaded.predict_proba(planted(5))


def command_round(number: int, folder: Path) -> None:
    """Fit and predict, as a user types them."""
    files = ["--edges", str(folder / "edges.csv"), "--nodes", str(folder / "nodes.csv")]
    fit = ["fit", *files, "--label", "label", "--out", str(folder / "out"), "--force", "--json", "--no-measure-fold-in"]
    model = ["--model", str(folder / "out" / "model.slimg"), "--out", str(folder / "predictions.csv"), "--force", "--json"]
    for words in (fit, ["predict", *files, *model]):
        with contextlib.redirect_stdout(io.StringIO()):
            code = slimg(words)
        assert code == 0, words


def soak(rounds: int, what: Any, folder: Path) -> dict[str, Any]:
    """Figures at every tenth of the rounds."""
    found, begun = [], time.perf_counter()
    for number in range(rounds):
        what(number, folder)
        if (number + 1) % max(rounds // 10, 1) == 0:
            found.append({"rounds": number + 1, **held()})
            print(found[-1], flush=True)
    grown = {name: round(found[-1][name] - found[0][name], 1) for name in found[0] if name != "rounds"}
    seconds = round(time.perf_counter() - begun, 1)
    return {"rounds": rounds, "seconds": seconds, "grown since the first tenth": grown, "held": found}


def main() -> None:
    """Run and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=int, default=1000)
    parser.add_argument("--commands", type=int, default=1000)
    args = parser.parse_args()
    told = records.read("soak")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as temporary:
        tempfile.tempdir = temporary
        place = Path(folder)
        n = 60
        rows = "".join(f"{i},{'abc'[i % 3] if i % 2 else ''},{i % 3 + i % 5}\n" for i in range(n))
        (place / "nodes.csv").write_text(f"id,label,x\n{rows}")
        edges = "".join(f"{i},{(i + step) % n}\n" for i in range(n) for step in (3, 7))
        (place / "edges.csv").write_text(f"source,target\n{edges}")
        for name, rounds, what in (("python", args.python, python_round), ("commands", args.commands, command_round)):
            if rounds:
                told[name] = soak(rounds, what, place)
                kept = {each: told[each] for each in ("python", "commands") if each in told}
                records.write("soak", {"protocol": __doc__, **kept})


if __name__ == "__main__":
    main()
