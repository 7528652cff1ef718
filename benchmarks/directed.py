"""Chameleon and Squirrel with the direction of their links, over the same links taken as undirected, in one run.

2.5 / 2.5 / 95 % stratified, five seeds; and the first five masks of the publisher's files (48 / 32 / 20 %). Test accuracies in
percent. Both fits are the default; validation rows choose the penalties.

With --nested no test label is read: one third of the training rows (of 2.5 %: each third of all labelled rows in turn) is held
out and measured, and the columns of paths and of the structure along directions are varied (`VARIANTS`).

    python benchmarks/directed.py [--nested] [--graphs chameleon squirrel]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from records import read, write

from slimg import Graph, SlimG
from slimg.components import DEFAULT_COMPONENTS, PathFeatures, Structure
from slimg.graph.splits import REAL, stratified

DATA = Path(os.environ.get("SLIMG_DATA", "../shared/data")) / "directed"
VARIANTS = {
    "paths of 64": (64, 0),
    "paths of 256": (256, 0),
    "and structure of 64": (256, 64),
    "and structure of 512": (256, 512),
}
"""Columns of each path, and of the structure along each direction."""

Parts = list[tuple[np.ndarray, np.ndarray, np.ndarray]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nested", action="store_true")
    parser.add_argument("--graphs", nargs="+", default=["chameleon", "squirrel"])
    options = parser.parse_args()
    key = "nested" if options.nested else "results"
    record = read("directed")
    for name in options.graphs:
        file = np.load(DATA / f"{name}_directed.npz")
        labels, pairs = file["node_labels"], {"source": file["edges"][:, 0], "target": file["edges"][:, 1]}
        nodes, rest = np.arange(len(labels)), {"features": file["node_features"], "labels": labels}
        ways = {"undirected": None, "directed": True}
        graphs = {way: Graph.from_edges(pairs, nodes, directed=kept, **rest) for way, kept in ways.items()}
        for share, parts in protocols(file, graphs["directed"], options.nested).items():
            found = {way: accuracies(graph, SlimG(random_state=0), parts) for way, graph in graphs.items()}
            for variant in VARIANTS if options.nested else ():
                found[variant] = accuracies(graphs["directed"], model_of(*VARIANTS[variant]), parts)
            means = {way: round(float(np.mean(each)), 2) for way, each in found.items()}
            gain = round(means["directed"] - means["undirected"], 2)
            record.setdefault(key, {}).setdefault(name, {})[share] = {**found, "means": means, "gain": gain}
            print(name, share, json.dumps(means), gain, flush=True)
            write("directed", {**record, "protocol": __doc__.split("\n\n    ")[0].split("\n\n", 1)[1]})


def protocols(file: Any, graph: Graph, nested: bool) -> dict[str, Parts]:
    """Rows to learn from, to choose penalties by and to measure on: by share of labels, one triple for each repetition."""
    seeds = [stratified(graph, REAL, seed) for seed in range(5)]
    masks: Parts = [tuple(np.flatnonzero(file[f"{part}_masks"][k]) for part in ("train", "val", "test")) for k in range(5)]  # type: ignore[misc]
    if not nested:
        return {"2.5 %": [(split.train, split.val, split.test) for split in seeds], "48 %": masks}
    few: Parts = []
    for (seed, split), third in product(enumerate(seeds), range(3)):
        rows = np.random.default_rng(seed).permutation(np.concatenate([split.train, split.val]))
        known = np.delete(rows, np.s_[third::3])
        few.append((known[::2], known[1::2], rows[third::3]))
    order = [np.random.default_rng(k).permutation(train) for k, (train, _, _) in enumerate(masks)]
    many = [(rows[len(rows) // 3 :], val, rows[: len(rows) // 3]) for rows, (_, val, _) in zip(order, masks, strict=True)]
    return {"2.5 %": few, "48 %": many}


def model_of(path_rank: int, structure_rank: int) -> SlimG:
    """All paths of one and two steps, and the structure along both directions, beside the default list."""
    steps = ("edges →", "edges ←")
    paths = [PathFeatures(path=path, rank=path_rank) for path in [*product(steps), *product(steps, steps)]]
    structures = [Structure(rank=structure_rank, step=step) for step in steps if structure_rank]
    return SlimG(random_state=0, components=[*DEFAULT_COMPONENTS, *paths, *structures])


def accuracies(graph: Graph, model: SlimG, parts: Parts) -> list[float]:
    """Percent of right predictions on the last rows of each part."""
    found, begun = [], time.process_time()
    truth = np.asarray(graph.labels)
    for train, val, rest in parts:
        predicted = model.fit(graph, train=train, val=val).predict()
        found.append(round(100 * float((predicted[rest] == truth[rest]).mean()), 2))
    print(f"  {np.mean(found):.2f}  {time.process_time() - begun:.0f} s", flush=True)
    return found


if __name__ == "__main__":
    main()
