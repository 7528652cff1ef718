"""The whole fit of a graph on disk and predictions of all its nodes, under a budget of memory, in this process.

    python benchmarks/scale/mapped.py /data/huge --memory 6GB --folder /data/work --write huge
    python benchmarks/scale/mapped.py /data/products --engine memory

With ``--folder`` a killed run goes on when it is started again (`kills.py` does that). The last line is JSON: seconds of the
stages, the highest resident memory and the most bytes of work files, accuracy on nodes that were not labelled, and a digest
of each component and of the predictions, by which runs are compared to the bit. ``--write NAME`` keeps it in
benchmarks/results/scale.json under "mapped".
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import records
from pyarrow import parquet

from slimg import SlimG
from slimg.components.compute import Components
from slimg.engine.base import Engine
from slimg.engine.mapped import MappedEngine
from slimg.engine.memory import MemoryEngine
from slimg.io.disk import open_graph
from slimg.lab.bench.store import peak_memory

ROWS = 1 << 16
LABELLED = 50_000
"""Nodes to learn from, and as many to choose the penalties by."""


def main() -> None:
    options, begun = _options(), time.perf_counter()
    load = os.getloadavg()[0]
    engine: Any = MemoryEngine() if options.engine == "memory" else MappedEngine(options.memory, options.folder)
    disk = None if options.engine == "memory" else Disk(engine._work.path)
    graph = open_graph(options.graph)
    chosen = np.random.default_rng(0).choice(graph.n, min(2 * LABELLED, graph.n // 10), replace=False)
    train, val = np.split(chosen, 2)
    model = SlimG(engine=engine, grid="paper", verbose=options.verbose).fit(graph, train=train, val=val)
    seconds = {**model.seconds_, "before predictions": time.perf_counter() - begun}
    place = model.write_predictions(options.graph.with_name(f"{options.graph.name}-predictions-{os.getpid()}"))
    seconds["all"] = time.perf_counter() - begun
    record = {
        "graph": repr(graph),
        "engine": options.engine,
        "memory": options.memory,
        "rank": model.rank_,
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
        "peak": peak_memory(),
        "disk": disk.most if disk else 0,
        "load average before": load,
        **judged(place, graph.labels, chosen),
        "digests": {**digests(engine, model.components_), "predictions": digest_of_files(place)},
        "commit": records.environment()["commit"],
    }
    shutil.rmtree(place)
    del model
    if disk:
        engine.close()
    print(json.dumps(record))
    if options.write:
        kept = records.read("scale")
        records.write("scale", {**kept, "mapped": {**kept.get("mapped", {}), options.write: record}})


class Disk:
    """The most bytes that a folder held, looked at twice a second."""

    def __init__(self, folder: Path):
        self.most = 0
        threading.Thread(target=self._watch, args=(folder,), daemon=True).start()

    def _watch(self, folder: Path) -> None:
        while folder.exists():
            with suppress(FileNotFoundError):  # removed between the two
                self.most = max(self.most, sum(512 * entry.stat().st_blocks for entry in os.scandir(folder)))
            time.sleep(0.5)


def judged(place: Path, labels: np.ndarray, labelled: np.ndarray) -> dict[str, float]:
    """Accuracy of the written predictions on nodes without a label, read file by file, and files."""
    hidden, start, right = np.ones(len(labels), bool), 0, 0
    hidden[labelled] = False
    files = sorted(place.iterdir())
    for file in files:
        predicted = parquet.read_table(file, columns=["prediction"]).column(0).to_numpy()
        rows = slice(start, start + len(predicted))
        right += int(np.count_nonzero((predicted == labels[rows]) & hidden[rows]))
        start += len(predicted)
    return {"accuracy": right / int(hidden.sum()), "files": len(files)}


def digests(engine: Engine, parts: Components) -> dict[str, str]:
    """A digest of every component, read in runs of rows."""
    found = {}
    for name, block in parts.blocks.items():
        digest = hashlib.blake2b(digest_size=8)
        for start in range(0, block.shape[0], ROWS):
            rows = engine.rows(block, np.arange(start, min(start + ROWS, block.shape[0])))
            digest.update(np.ascontiguousarray(rows).tobytes())
        found[name] = digest.hexdigest()
    return found


def digest_of_files(place: Path) -> str:
    """A digest of the columns of all files, whatever rows each has."""
    digests = {}
    for file in sorted(place.iterdir()):
        table = parquet.read_table(file)
        for name in table.column_names:
            digests.setdefault(name, hashlib.blake2b(digest_size=8)).update(table.column(name).to_numpy().tobytes())
    return "-".join(digest.hexdigest()[:6] for digest in digests.values())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path, help="folder of a graph on disk")
    parser.add_argument("--engine", choices=["mapped", "memory"], default="mapped")
    parser.add_argument("--memory", default="6GB")
    parser.add_argument("--folder", type=Path, help="where work files go")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--write", metavar="NAME", help="keep the record under this name")
    return parser.parse_args()


if __name__ == "__main__":
    main()
