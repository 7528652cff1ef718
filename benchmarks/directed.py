"""Chameleon and Squirrel with the direction of their links, over the same links taken as undirected, in one run.

2.5 / 2.5 / 95 % stratified, five seeds; and the first five masks of the publisher's files (48 / 32 / 20 %). Test accuracies in
percent. Both fits are the default; validation rows choose the penalties.

    python benchmarks/directed.py
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
from records import write

from slimg import Graph, SlimG
from slimg.graph.splits import REAL, stratified

DATA = Path(os.environ.get("SLIMG_DATA", "../shared/data")) / "directed"


def accuracies(graph: Graph, truth: np.ndarray, parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> list[float]:
    found = []
    for train, val, test in parts:
        model = SlimG(random_state=0).fit(graph, train=train, val=val)
        found.append(round(100 * float((model.predict()[test] == truth[test]).mean()), 2))
    return found


def main() -> None:
    results: dict[str, dict[str, dict[str, object]]] = {}
    for name in ("chameleon", "squirrel"):
        file = np.load(DATA / f"{name}_directed.npz")
        labels, pairs = file["node_labels"], {"source": file["edges"][:, 0], "target": file["edges"][:, 1]}
        nodes = np.arange(len(labels))
        graphs = {
            way: Graph.from_edges(pairs, nodes, features=file["node_features"], labels=labels, directed=way == "directed" or None)
            for way in ("undirected", "directed")
        }
        seeds = [stratified(graphs["directed"], REAL, seed) for seed in range(5)]
        masks = [tuple(np.flatnonzero(file[f"{part}_masks"][k]) for part in ("train", "val", "test")) for k in range(5)]
        protocols = {"2.5 %": [(split.train, split.val, split.test) for split in seeds], "48 %": masks}
        results[name] = {}
        for share, parts in protocols.items():
            found = {way: accuracies(graph, labels, parts) for way, graph in graphs.items()}
            gain = round(float(np.mean(found["directed"]) - np.mean(found["undirected"])), 2)
            means = {way: round(float(np.mean(each)), 2) for way, each in found.items()}
            results[name][share] = {**found, "means": means, "gain": gain}
            print(name, share, json.dumps(results[name][share]["means"]), gain, flush=True)
    write("directed", {"protocol": __doc__.split("\n\n")[1], "results": results})


if __name__ == "__main__":
    main()
