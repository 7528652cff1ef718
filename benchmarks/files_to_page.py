"""From files to the page: how long `slimg fit` takes, and how large what it writes is.

The command is run as a user types it, in a process of its own, after one run that is not counted (compiled kernels are
cached by the first). debian: the example's two files, 5 % of the labels (seed 0). generated: 100,000 nodes of five classes
in CSV files, ids of 24 characters, a text and two numbers each, 400,000 edges of which 60 % stay in a class, 2 % labelled.
million csv, million parquet: the files of reading.py, one million nodes and ten million edges, run once, beside arrow's own
reading of them and matching of ids just before and just after; ratios are of wall time (to the mean of the two) and of
processor time, the peak is resident memory of the whole process.

    python benchmarks/files_to_page.py [--cases debian,generated,million csv,million parquet] [--repeats 3]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import reading
from records import read, write

sys.path.insert(0, str(Path(__file__).parents[1]))

from examples.debian.load import HERE, load
from examples.debian.run import known
from slimg.graph.splits import stratified

NODES, EDGES, LABELLED = 100_000, 400_000, 0.02
WORDS = [row.split() for row in ("cat dog bird", "car bus train", "tea milk juice", "oak elm ash", "sun rain fog")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=lambda text: text.split(","), default=["debian", "generated"])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    results = read("files_to_page").get("results", {})
    for name in options.cases:
        if name.startswith("million"):
            results[name] = million(name.split()[1])
            write("files_to_page", {"protocol": __doc__.split("\n\n")[1], "results": results})
            print(name, json.dumps(results[name], indent=1), flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            words = {"debian": debian, "generated": generated}[name](Path(folder))
            runs = [fit(Path(folder), words) for _ in range(options.repeats + 1)][1:]
        best = min(runs, key=lambda each: each["seconds_in_all"])
        results[name] = {**best, "seconds_of_all_runs": [each["seconds_in_all"] for each in runs]}
        write("files_to_page", {"protocol": __doc__.split("\n\n")[1], "results": results})
        print(name, json.dumps(results[name], indent=1), flush=True)


def fit(folder: Path, words: list[str]) -> dict[str, Any]:
    """Run the command; seconds of the whole process and of its stages, megabytes of its files."""
    command = [sys.executable, "-m", "slimg", "fit", *words, "--out", str(folder / "out"), "--force", "--json"]
    begun = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - begun
    said = json.loads(done.stdout)
    return {
        "seconds_in_all": round(seconds, 1),
        "seconds": {stage: round(value, 2) for stage, value in said["seconds"].items()},
        "megabytes": {path.name: round(path.stat().st_size / 1e6, 2) for path in sorted((folder / "out").iterdir())},
        **{what: said[what] for what in ("nodes", "edges", "features", "labelled", "accuracy")},
    }


def million(ending: str) -> dict[str, Any]:
    """The whole command beside arrow's reading and matching."""
    with tempfile.TemporaryDirectory() as name:
        folder, load = Path(name), os.getloadavg()[0]
        reading.generate(1_000_000, 10_000_000, folder)
        arrow = [measured([sys.executable, reading.__file__, "--measure", "arrow", ending, name], folder)]
        words = ["--edges", f"edges.{ending}", "--nodes", f"nodes.{ending}", "--label", "label", "--out", "out", "--json"]
        fit = measured([sys.executable, "-m", "slimg", "fit", *words], folder)
        arrow.append(measured([sys.executable, reading.__file__, "--measure", "arrow", ending, name], folder))
    own = {key: sum(each[key] for each in arrow) / 2 for key in ("seconds", "processor_seconds")}
    said = fit.pop("printed")
    return {
        **{key: round(value, 2) for key, value in fit.items()},
        "stages": {stage: round(value, 1) for stage, value in said["seconds"].items()},
        "arrow": [{key: round(each[key], 2) for key in ("seconds", "processor_seconds")} for each in arrow],
        "ratio": round(fit["seconds"] / own["seconds"], 1),
        "ratio_of_processor_time": round(fit["processor_seconds"] / own["processor_seconds"], 1),
        "load_average_before": round(load, 1),
    }


def measured(command: list[str], folder: Path) -> dict[str, Any]:
    begun = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as process:
        printed = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    seconds, processor = time.perf_counter() - begun, used.ru_utime + used.ru_stime
    peak = used.ru_maxrss * 1024 / 1e9
    return {"seconds": seconds, "processor_seconds": processor, "peak_gigabytes": peak, "printed": json.loads(printed)}


def debian(folder: Path) -> list[str]:
    graph = load()
    packages = pd.read_parquet(HERE / "packages.parquet")
    labelled = known(stratified(graph, (0.025, 0.025, 0.95), random_state=0))
    packages.loc[np.setdiff1d(np.arange(len(packages)), labelled), "section"] = None
    packages.to_parquet(folder / "packages.parquet")
    return ["--edges", str(HERE / "relations.parquet"), "--relation", "relation", "--directed", "--nodes", "packages.parquet",
            "--id", "name", "--label", "section"]  # fmt: skip


def generated(folder: Path) -> list[str]:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, len(WORDS), NODES)
    ids = np.array([f"{value:016x}-{row:07}" for row, value in enumerate(rng.integers(0, 2**62, NODES))])
    said = np.where(rng.random((NODES, 4)) < 0.5, kind[:, None], rng.integers(0, len(WORDS), (NODES, 4)))
    words = np.array(WORDS)[said, rng.integers(0, 3, (NODES, 4))]
    labels = np.where(rng.random(NODES) < LABELLED, [f"kind {code}" for code in kind], "")
    nodes = {"id": ids, "kind": labels, "text": [" ".join(row) for row in words]}
    numbers = {"age": np.round(40 + 5 * kind + 12 * rng.standard_normal(NODES)), "size": rng.random(NODES).round(3)}
    pd.DataFrame({**nodes, **numbers}).to_csv(folder / "nodes.csv", index=False)
    order = np.argsort(kind, kind="stable")
    starts = np.searchsorted(kind[order], np.arange(len(WORDS) + 1))
    first = rng.integers(0, NODES, EDGES)
    alike = order[(starts[kind[first]] + rng.random(EDGES) * np.diff(starts)[kind[first]]).astype(int)]
    second = np.where(rng.random(EDGES) < 0.6, alike, rng.integers(0, NODES, EDGES))
    pd.DataFrame({"source": ids[first], "target": ids[second]}).to_csv(folder / "edges.csv", index=False)
    return ["--edges", "edges.csv", "--nodes", "nodes.csv", "--id", "id", "--label", "kind"]


if __name__ == "__main__":
    main()
