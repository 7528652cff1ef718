"""How long `slimg open` takes to answer: one process serves a fit, another asks one question after the other.

    python benchmarks/open_latency.py [--debian DIR] [--wordnet DIR] [--questions 50]

A folder that `slimg fit` wrote may be named; else it is made: the Debian packages of examples/debian with 5 % of the sections
known (`examples.debian.run`), and WordNet as one undirected graph with 5 % of the lexicographers' files known (columns words
and gloss, read as text; SLIMG_DATA). Questions are about random nodes (seed 0), the node of most edges among them. Recorded:
milliseconds from the request to the last byte of the answer, median, 95th percentile and maximum, and those of the hub; and
the processor time of the server for a question, which depends less on what else the machine does (its load is recorded).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from records import ROOT, SHARED, write

from slimg import SlimG, cli

sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tests"))

from examples.debian.run import main as run_debian
from served import Served

LIMITS = {"debian": 200, "wordnet": 1000}
"""Milliseconds that an answer may take."""


def fit_debian(folder: Path) -> Path:
    run_debian(["--out", str(folder)])
    return folder


def fit_wordnet(folder: Path) -> Path:
    data = Path(os.environ.get("SLIMG_DATA") or SHARED / "data") / "wordnet"
    nodes = pd.read_csv(data / "nodes.csv.gz", keep_default_na=False)
    nodes.loc[np.random.default_rng(0).random(len(nodes)) >= 0.05, "lexname"] = ""
    folder.mkdir(parents=True)
    nodes.to_csv(folder / "nodes.csv", index=False)
    files = ["--edges", str(data / "edges.csv.gz"), "--nodes", str(folder / "nodes.csv"), "--no-directed"]
    columns = ["--id", "synset", "--label", "lexname", "--text", "words,gloss", "--ignore", "pos"]
    assert cli.main(["fit", *files, *columns, "--out", str(folder / "out"), "--json"]) == 0
    return folder / "out"


def questions(model: SlimG, column: str, value: str, new: str, count: int) -> dict[str, list[tuple[str, Any, dict[str, str]]]]:
    """Kind of question → name, body and query of each; the first is about the hub."""
    graph, rng = model.fitted_graph_.graph, np.random.default_rng(0)
    degree = np.diff(graph.adjacency.indptr)
    rows = [int(degree.argmax()), *rng.choice(np.flatnonzero(degree > 0), count - 1, replace=False).tolist()]
    ids, key = [str(name) for name in graph.ids], next(iter(graph.directions()), "") if graph.relations else ""
    by = [graph.relations[0].name] if graph.relations else []
    near = {row: ids[int(graph.adjacency.neighbours(row)[0])] for row in rows}
    far = {row: ids[int(np.setdiff1d(np.arange(99), [*graph.adjacency.neighbours(row), row])[0])]
           if degree[row] < 99 else ids[int(np.setdiff1d(np.arange(graph.n), [*graph.adjacency.neighbours(row), row])[0])]
           for row in rows}  # fmt: skip
    return {
        "search": [("search", None, {"text": ids[row][: 2 + len(ids[row]) // 2]}) for row in rows],
        "an id that does not exist": [("node", None, {"id": ids[row][:-1] + "~"}) for row in rows],
        "explanation": [("node", None, {"id": ids[row]}) for row in rows],
        "what if, an edge less": [("what-if", {"id": ids[row], "without": [[near[row], ""]]}, {}) for row in rows],
        "what if, an edge more": [("what-if", {"id": ids[row], "with": [[far[row], key, ""]]}, {}) for row in rows],
        "what if, another value": [("what-if", {"id": ids[row], "values": [[column, value]]}, {}) for row in rows],
        "predictions, a page": [("predictions", None, {"text": ids[row][:2], "order": "-margin"}) for row in rows],
        "predictions, CSV of a class": [("predictions.csv", None, {"class": str(name)}) for name in model.classes_[:count]],
        "new row": [("new-rows", {"nodes": new, "edges": ",".join([ids[row], *by, "new~"]) + "\n"}, {}) for row in rows],
    }


def processor_time(server: Served) -> float:
    """Milliseconds of processor time that the server has used; not a number where the system does not tell."""
    path = Path(f"/proc/{server.process.pid}/stat")
    if not path.exists():
        return float("nan")
    used = path.read_text().rsplit(")", 1)[1].split()[11:13]
    return 1000 * sum(map(int, used)) / os.sysconf("SC_CLK_TCK")


def measure(folder: Path, column: str, value: str, new: str, ends: tuple[str, str], count: int) -> dict[str, Any]:
    model = SlimG.load(folder / "model.slimg")
    typed = ["relation"] if model.fitted_graph_.graph.relations else []
    edges = ",".join([ends[0], *typed, ends[1]]) + "\n"
    begun = time.perf_counter()
    server = Served(folder)
    found: dict[str, Any] = {"start, s": round(time.perf_counter() - begun, 2)}
    for kind, asked in questions(model, column, value, new, count).items():
        milliseconds, before = [], processor_time(server)
        for name, body, query in asked:
            if name == "new-rows":
                body = {**body, "edges": edges + body["edges"]}
            begun = time.perf_counter()
            status, _, _ = server.request("GET" if body is None else "POST", name, body, **query)
            milliseconds.append(1000 * (time.perf_counter() - begun))
            assert status == (400 if kind.startswith("an id") else 200), (kind, body, query, status)
        found[kind] = {
            "median": round(float(np.median(milliseconds)), 1), "p95": round(float(np.quantile(milliseconds, 0.95)), 1),
            "most": round(max(milliseconds), 1), "hub": round(milliseconds[0], 1), "questions": len(milliseconds),
            "processor, mean": round((processor_time(server) - before) / len(milliseconds), 1),
        }  # fmt: skip
        print(f"{folder.name:10} {kind:28} {found[kind]}", flush=True)
    code, _, errors = server.stop()
    assert (code, errors) == (0, "")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--debian", type=Path, help="folder of a fit")
    parser.add_argument("--wordnet", type=Path, help="folder of a fit")
    parser.add_argument("--questions", type=int, default=50)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        debian = args.debian or fit_debian(Path(temporary) / "debian")
        wordnet = args.wordnet or fit_wordnet(Path(temporary) / "wordnet")
        load = os.getloadavg()[0]
        package = 'name,maintainer,words\nnew~,Debian Games Team,"game, chess"\n'
        synset = "synset,words,gloss,pos\nnew~,sea_cow,a large animal that lives in the sea,n\n"
        found = {
            "debian": measure(debian, "maintainer", "Debian Games Team", package, ("package", "other"), args.questions),
            "wordnet": measure(wordnet, "gloss", "a large sea animal", synset, ("source", "target"), args.questions),
        }
        loads = [round(load, 1), round(os.getloadavg()[0], 1)]
    write("open_latency", {"milliseconds": found, "limits": LIMITS, "load of the machine, before and after": loads})


if __name__ == "__main__":
    main()
