"""The whole fit at the size of ogbn-products, in memory, beside SGC: ratios, peak memory and accuracies of one run.

    python benchmarks/scale/generate.py products /data/products
    python benchmarks/scale/products.py /data/products            # --grid paper for the paper's twelve pairs (the default)

Each contender runs in a process of its own, so that peaks are its own; they take turns ``--repeat`` times and the best time
of each counts. What is compared by itself, our components beside SGC's products, takes ``--turns`` more turns without the
learning, and the best of all turns counts: on a machine of the cloud a single turn may be off by a quarter. Before each turn
10 GiB are touched and given back: such a machine pays for memory that nobody held lately, several times what it costs
afterwards. Hosts that take idle memory back within seconds make it dear again, most of all for the contender that needs more
of it. SGC's products go through torch's CSR, its learning through scikit-learn (`rivals.py`). The record, with all turns, is
in results/scale.json under "products".
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import records
from scale import rivals

from slimg import SlimG
from slimg.components.compute import compute_components
from slimg.io.disk import open_graph

TOUCHED = 10 << 27
"""Numbers of eight bytes."""


def main() -> None:
    options = _options()
    if options.run:
        print(json.dumps((PARTS if options.part else CONTENDERS)[options.run](options)))
        return
    load = os.getloadavg()[0]  # of the work of others: times of a busy machine are not the program's alone
    turns: dict[str, list[dict[str, Any]]] = {name: [] for name in CONTENDERS}
    for part in [True] * options.turns + [False] * options.repeat:
        for name in PARTS if part else CONTENDERS:
            _touch_memory()
            turns[name].append(_child(name, part, options))
            print(name, json.dumps(turns[name][-1]), flush=True)
    found = {name: _best(mine) for name, mine in turns.items()}
    record = {
        "load average before": load,
        "graph": str(open_graph(options.graph)),
        "grid": options.grid,
        **found,
        "ratios": _ratios(found),
    }
    print(json.dumps(record["ratios"], indent=1))
    if options.write:
        records.write("scale", {**records.read("scale"), "products": record})


def _best(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """The turn with the best whole time, the best time of each part of which a ratio is made, and the times of all turns."""
    best = min((turn for turn in turns if "seconds" in turn), key=lambda turn: turn["seconds"])
    timed = [part for part in ("seconds", "components", "products") if part in best]
    least = {part: min(turn[part] for turn in turns if part in turn) for part in timed}
    times = [{part: round(turn[part], 2) for part in timed if part in turn} for turn in turns]
    return {**best, **least, "turns": times}


def _touch_memory() -> None:
    """Make the system hold memory for the next process; where there is less of it, nothing is lost."""
    subprocess.run([sys.executable, "-c", f"import numpy; numpy.ones({TOUCHED})"], capture_output=True, check=False)


def _slimg(options: argparse.Namespace) -> dict[str, Any]:
    graph = open_graph(options.graph)
    graph.features.sum()  # both read the files once before the clock starts
    rows = rivals.split_of(graph)
    begun = time.perf_counter()
    model = SlimG(grid=options.grid).fit(graph, train=rows["train"], val=rows["val"])
    predicted = model.predict()
    seconds = time.perf_counter() - begun
    accuracy = float(np.mean(predicted[rows["test"]] == graph.labels[rows["test"]]))
    chosen = model.chosen_
    parts = model.seconds_
    return {"seconds": seconds, "components": parts["total"], "stages": parts, "accuracy": accuracy, "peak": _peak(),
            "selected pair": {"l1": model.l1_, "group": model.group_, "seconds": parts["total"] + chosen["seconds"]},
            "rank": model.rank_, "zero": list(model.zero_components_)}  # fmt: skip


def _components(options: argparse.Namespace) -> dict[str, Any]:
    graph = open_graph(options.graph)
    graph.features.sum()
    return {"components": compute_components(graph).seconds["total"]}


def _products(options: argparse.Namespace) -> dict[str, Any]:
    graph = open_graph(options.graph)
    return {"products": rivals.sgc_features(graph, rivals.prepared(graph))[1]}


def _sgc(options: argparse.Namespace) -> dict[str, Any]:
    graph = open_graph(options.graph)
    rows = rivals.split_of(graph)
    x = rivals.prepared(graph)
    run = rivals.sgc(graph, x, rows)
    return {
        "seconds": run.propagation + run.learning,
        "products": run.propagation,
        "accuracy": run.accuracy,
        "peak": _peak(),
    }


def _lr(options: argparse.Namespace) -> dict[str, Any]:
    graph = open_graph(options.graph)
    run = rivals.logistic(graph, rivals.prepared(graph), rivals.split_of(graph))
    return {"seconds": run.learning, "accuracy": run.accuracy, "peak": _peak()}


CONTENDERS = {"slimg": _slimg, "sgc": _sgc, "lr": _lr}
PARTS = {"slimg": _components, "sgc": _products}


def _ratios(found: dict[str, dict[str, Any]]) -> dict[str, float]:
    slimg, sgc = found["slimg"], found["sgc"]
    return {
        "components / two products of SGC": slimg["components"] / sgc["products"],
        "whole fit / whole SGC": slimg["seconds"] / sgc["seconds"],
        "selected pair alone / whole SGC": slimg["selected pair"]["seconds"] / sgc["seconds"],
        "peak GiB": slimg["peak"] / 2**30,
        "accuracy above SGC": slimg["accuracy"] - sgc["accuracy"],
    }


def _child(name: str, part: bool, options: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, __file__, str(options.graph), "--grid", options.grid, "--run", name, *["--part"] * part]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path, help="folder made by generate.py")
    parser.add_argument("--grid", default="paper", choices=["paper", "path"])
    parser.add_argument("--repeat", type=int, default=1, help="turns of the whole")
    parser.add_argument("--turns", type=int, default=4, help="turns of components and products alone, beforehand")
    parser.add_argument("--run", choices=["slimg", "sgc", "lr"], help=argparse.SUPPRESS)
    parser.add_argument("--part", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--no-write", dest="write", action="store_false")
    return parser.parse_args()


if __name__ == "__main__":
    main()
