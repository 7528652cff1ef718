"""New nodes against a fitted graph of a million: seconds, size of the model, and agreement with a refit.

    python benchmarks/new_rows.py [--nodes 1000000] [--edges 5000000] [--new 100]

Nodes of five classes with 30 measured features that hint at the class; 70 % of the edges stay within a class; 1 % of the
nodes have labels. 100 unlabelled nodes are hidden with their edges, the rest is fitted, saved and loaded; then the hidden
nodes and their edges alone are given to the loaded model. A refit sees the whole graph with the same labels. A second set of
new nodes comes from elsewhere: other features, and three times the edges, at random.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from records import write

from slimg import Graph, SlimG

CLASSES, FEATURES, LABELLED = 5, 30, 0.01


def planted(n: int, edges: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Classes (n), pairs of nodes (edges × 2) and features (n × 30)."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(CLASSES, size=n)
    order = np.argsort(codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes))])
    first = rng.integers(n, size=edges)
    own = codes[first]
    alike = order[starts[own] + rng.integers(1 << 40, size=edges) % (starts[own + 1] - starts[own])]
    pairs = np.stack([first, np.where(rng.random(edges) < 0.7, alike, rng.integers(n, size=edges))], axis=1)
    features = rng.normal(size=(n, FEATURES)).astype(np.float32)
    features[np.arange(n), codes] += 0.7
    return codes, pairs, features


def rows_alone(pairs: np.ndarray, features: np.ndarray, hidden: np.ndarray) -> Graph:
    """The hidden nodes, those they are linked with, and the edges of the hidden ones."""
    own = pairs[hidden[pairs].any(axis=1)]
    near = np.unique(np.concatenate([np.flatnonzero(hidden), own.ravel()]))
    known = np.where(hidden[near, None], features[near], 0)
    return Graph.from_edges(own, near, features=known)


def elsewhere(pairs: np.ndarray, n: int, count: int) -> Graph:
    """New nodes with other features and many edges to random nodes."""
    rng = np.random.default_rng(1)
    new = np.arange(n, n + count)
    own = np.stack([np.repeat(new, 30), rng.integers(n, size=30 * count)], axis=1)
    near = np.unique(np.concatenate([new, own.ravel()]))
    return Graph.from_edges(own, near, features=rng.normal(3, 1, size=(len(near), FEATURES)).astype(np.float32))


def timed(function: Any, *arguments: Any) -> tuple[Any, float]:
    begun = time.perf_counter()
    return function(*arguments), round(time.perf_counter() - begun, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, value in (("nodes", 1_000_000), ("edges", 5_000_000), ("new", 100)):
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    codes, pairs, features = planted(args.nodes, args.edges)
    rng = np.random.default_rng(2)
    labels = np.where(rng.random(args.nodes) < LABELLED, codes.astype(float), np.nan)
    hidden = np.zeros(args.nodes, bool)
    hidden[rng.choice(np.flatnonzero(np.isnan(labels)), args.new, replace=False)] = True
    graph = Graph.from_edges(pairs, np.arange(args.nodes), labels=labels, features=features)
    model, fit = timed(SlimG().fit, graph.subgraph(~hidden))
    with tempfile.TemporaryDirectory() as folder:
        path, saved = timed(model.save, Path(folder) / "m.slimg")
        size, without = path.stat().st_size, model.save(Path(folder) / "n.slimg", keep_graph=False).stat().st_size
        loaded, load = timed(SlimG.load, path)
    given = rows_alone(pairs, features, hidden)
    found, seconds = timed(loaded.fold_in, given)
    again, second = timed(loaded.fold_in, given)
    far = loaded.fold_in(elsewhere(pairs, args.nodes, args.new))
    refit, refitted = timed(SlimG().fit, graph)
    own = {value: row for row, value in enumerate(given.ids.tolist())}
    rows = np.flatnonzero(hidden)
    classes = found.predict()[[own[row] for row in rows.tolist()]]
    expected = refit.predict()[rows]
    results = {
        "nodes": args.nodes, "edges": graph.edges, "new": args.new, "components": list(model.scorer_.used),
        "agreement_with_refit": float((classes == expected).mean()),
        "accuracy": float((classes == codes[rows]).mean()), "accuracy_of_refit": float((expected == codes[rows]).mean()),
        "seconds": {"new_rows": seconds, "new_rows_again": second, "load": load, "save": saved, "fit": fit,
                    "refit": refitted},
        "megabytes": {"model": round(size / 1e6, 1), "without_graph": round(without / 1e6, 1)},
        "drift": found.drift._asdict(), "refit_due": found.drift.refit_due,
        "drift_elsewhere": far.drift._asdict(), "refit_due_elsewhere": far.drift.refit_due,
    }  # fmt: skip
    print(results, again.text(), far.text(), sep="\n")
    write("new_rows", {"protocol": __doc__.split("\n\n")[2], "results": results})


if __name__ == "__main__":
    main()
