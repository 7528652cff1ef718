"""Products size from Parquet files through `slimg fit`, beside the fit of the same arrays in Python.

    python benchmarks/scale/generate.py products /data/products
    python benchmarks/scale/products_files.py /data/products [--ways arrays,files,budget,killed] [--folder DIR]

The graph becomes two Parquet files: edges once each, nodes with an id, 100 numbers and the class of 5 % of them (stratified).
arrays: the graph on disk is opened and fitted in Python, five folds, predictions of all nodes; files: the whole command, page
and predictions included; budget: the same with ``--memory 3GB``; killed: the same, killed by SIGKILL at three random moments
(seed 0, within the time that budget took) and started again, with the predictions compared to those of budget. Peaks are
resident memory, of the whole process tree where there is a budget. Files and results stay in --folder, if one is given, and
are taken from there the next time; without ways it is only filled. The record is in results/scale.json under "products_files".
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import records

from slimg import SlimG
from slimg.graph.splits import stratified
from slimg.io.disk import open_graph

WAYS = ("arrays", "files", "budget", "killed")
ROWS = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("graph", type=Path)
    parser.add_argument("--ways", type=lambda text: list(filter(None, text.split(","))), default=list(WAYS))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--memory", default="3GB")
    parser.add_argument("--child", action="store_true")
    options = parser.parse_args()
    if options.child:
        return print(json.dumps(arrays(options.graph)))
    found = records.read("scale").get("products_files", {})
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        if not (folder / "edges.parquet").exists():
            write_files(options.graph, folder)
        found |= {"load average before": os.getloadavg()[0], "memory": options.memory}
        words = ["--edges", "edges.parquet", "--nodes", "nodes.parquet", "--id", "id", "--label", "label", "--json"]
        command = [sys.executable, "-m", "slimg", "fit", *words, "--force"]
        for way in options.ways:
            if way == "arrays":
                found[way] = watched([sys.executable, __file__, str(options.graph), "--child"], folder)
            elif way == "killed":
                found[way] = killed([*command, "--memory", options.memory, "--out", way], folder, found["budget"]["seconds"])
                found[way]["same predictions"] = digest(folder / way) == digest(folder / "budget")
            else:
                memory = ["--memory", options.memory] if way == "budget" else []
                found[way] = watched([*command, *memory, "--out", way], folder)
            print(way, json.dumps(found[way]), flush=True)
            records.write("scale", {**records.read("scale"), "products_files": found})


def write_files(graph: Path, folder: Path) -> None:
    """Edges and nodes of a graph on disk as Parquet; features and edges are read some rows at a time."""
    opened = open_graph(graph)
    known, rest = labelled(opened), np.ones(opened.n, bool)
    rest[known] = False
    labels = pa.array([f"class {code}" for code in opened.codes], mask=rest)
    names = [f"f{k}" for k in range(opened.d)]
    numbers = pa.schema([("id", pa.int64()), *((name, pa.float32()) for name in names), ("label", pa.string())])
    with pq.ParquetWriter(folder / "nodes.parquet", numbers) as out:
        for start in range(0, opened.n, ROWS):
            rows = np.asarray(opened.features[start : start + ROWS], np.float32)
            ids = np.arange(start, start + len(rows))
            out.write_table(pa.table([ids, *rows.T, labels.slice(start, len(rows))], schema=numbers))
    ends, a = pa.schema([("source", pa.int64()), ("target", pa.int64())]), opened.adjacency
    with pq.ParquetWriter(folder / "edges.parquet", ends) as out:
        for start in range(0, opened.n, ROWS // 8):
            counts = np.diff(a.indptr[start : start + ROWS // 8 + 1])
            source = np.repeat(np.arange(start, start + len(counts)), counts)
            target = np.asarray(a.indices[a.indptr[start] : a.indptr[start] + counts.sum()])
            once = source < target
            out.write_table(pa.table([source[once], target[once].astype(np.int64)], schema=ends))


def labelled(graph: Any) -> np.ndarray:
    split = stratified(graph, (0.025, 0.025, 0.95), random_state=0)
    return np.sort(np.concatenate([split.train, split.val]))


def arrays(path: Path) -> dict[str, Any]:
    graph = open_graph(path)
    known, begun = labelled(graph), time.perf_counter()
    model = SlimG().fit(graph, train=known)
    right = model.predict() == graph.labels
    rest = np.setdiff1d(np.arange(graph.n), known)
    return {"fit": time.perf_counter() - begun, "stages": model.seconds_, "accuracy": float(right[rest].mean())}


def watched(command: list[str], folder: Path) -> dict[str, Any]:
    """Seconds, and the peak of resident memory over the process and its children, sampled ten times a second."""
    begun, used, peak = time.perf_counter(), processor_seconds(), 0
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            time.sleep(0.1)
        printed = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    said = json.loads(printed)
    kept = {key: said[key] for key in ("fit", "stages", "seconds", "accuracy") if key in said}
    told = {"seconds": time.perf_counter() - begun, "processor_seconds": processor_seconds() - used}
    return {"said": kept, **{name: round(value, 1) for name, value in told.items()}, "peak_gb": round(peak / 1e9, 2)}


def processor_seconds() -> float:
    """Of all processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def resident(session: int) -> int:
    """Bytes of all processes of a session."""
    total = 0
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                fields = (place / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session:
                    total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
            except OSError:
                continue
    return total


def killed(command: list[str], folder: Path, seconds: float) -> dict[str, Any]:
    """Three runs that are killed, and one that ends."""
    moments, chance = [], random.Random(0)
    for _ in range(3):
        moments.append(round(chance.uniform(0.05, 0.8) * seconds, 1))
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, start_new_session=True) as process:
            try:
                process.wait(moments[-1])
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
    return {"killed after": moments, **watched(command, folder)}


def digest(out: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(p for p in out.rglob("*") if p.is_file() and "predictions" in str(p.relative_to(out))):
        found.update(path.read_bytes())
    return found.hexdigest()


if __name__ == "__main__":
    main()
