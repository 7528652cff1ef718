"""Estimates beside what happened: memory and time of the whole fit in memory, one graph per call.

    for name in arxiv pokec products; do python benchmarks/scale/estimates.py /data/$name; done

``slimg estimate`` is run as a person would, with the sizes alone, in a process of its own and before the fit; then the fit
(the default path of penalties, 2.5 % to learn from and 2.5 % to choose by, predictions of all nodes) in another. The record
is kept in benchmarks/results/scale.json under "estimates".
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import records
from scale import rivals

from slimg import SlimG
from slimg.io.disk import open_graph
from slimg.lab.bench.store import peak_memory


def main() -> None:
    options = _options()
    if options.run:
        print(json.dumps(fitted(options.graph)))
        return
    load, graph = os.getloadavg()[0], open_graph(options.graph)
    labelled = sum(len(rivals.split_of(graph)[part]) for part in ("train", "val"))
    counts = {"nodes": graph.n, "edges": graph.edges, "features": graph.d, "classes": len(graph.classes)}
    words = [word for name, number in {**counts, "labelled": labelled}.items() for word in (f"--{name}", str(number))]
    told = _output([sys.executable, "-m", "slimg", "estimate", *words, "--json"])["engines"]["memory"]
    kept = records.read("scale").get("estimates", {}).get(options.graph.name)
    found = kept["found"] if options.again else _output([sys.executable, __file__, str(options.graph), "--run"])
    record = {
        "graph": str(graph),
        "estimate": told,
        "found": found,
        "memory, estimate / found": told["memory"] / found["memory"],
        "time, estimate / found": told["seconds"] / found["seconds"],
        "load average before": load,
        "commit": records.environment()["commit"],
        "commit of the fit": (kept["commit"] if options.again else records.environment()["commit"]),
    }
    print(json.dumps(record, indent=1))
    if options.write:
        before = records.read("scale")
        records.write("scale", {**before, "estimates": {**before.get("estimates", {}), options.graph.name: record}})


def fitted(folder: Path) -> dict[str, Any]:
    """Seconds and bytes of a fit and predictions of all nodes in this process."""
    graph = open_graph(folder)
    rows = rivals.split_of(graph)
    begun = time.perf_counter()
    model = SlimG().fit(graph, train=rows["train"], val=rows["val"])
    model.predict()
    return {"seconds": time.perf_counter() - begun, "memory": peak_memory(), "stages": model.seconds_, "rank": model.rank_}


def _output(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path, help="folder of a graph on disk")
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--again", action="store_true", help="estimate anew, beside a fit that was measured before")
    parser.add_argument("--no-write", dest="write", action="store_false")
    return parser.parse_args()


if __name__ == "__main__":
    main()
