"""Chameleon and Squirrel with the direction of their links, over the same links taken as undirected, in one run.

2.5 / 2.5 / 95 % stratified, five seeds; and the first five masks of the publisher's files (48 / 32 / 20 %). Test accuracies in
percent. Both fits are the default; validation rows choose the penalties.

With --nested no test label is read: a third of the training rows (of 2.5 %: each third of all labelled rows in turn) is held
out and predicted by ridge regression, whose penalty is chosen by leave-one-out on the others, while the columns of paths and of
the structure along directions vary (`VARIANTS`).

    python benchmarks/directed.py [--nested] [--graphs chameleon squirrel] [--shares "2.5 %" "48 %"]
"""

from __future__ import annotations

import argparse
import json
import os
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from records import read, write

from slimg import Graph, SlimG
from slimg.components import DEFAULT_COMPONENTS, PathFeatures, Structure, compute_components
from slimg.graph.splits import REAL, stratified

DATA = Path(os.environ.get("SLIMG_DATA", "../shared/data")) / "directed"
PROTOCOL = {"protocol": __doc__.split("\n\n    ")[0].split("\n\n", 1)[1]}
PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
VARIANTS = {
    "no paths": (0, 0),
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
    parser.add_argument("--shares", nargs="+", default=["2.5 %", "48 %"])
    options = parser.parse_args()
    record = read("directed")
    for name in options.graphs:
        file = np.load(DATA / f"{name}_directed.npz")
        labels, pairs = file["node_labels"], {"source": file["edges"][:, 0], "target": file["edges"][:, 1]}
        nodes, rest = np.arange(len(labels)), {"features": file["node_features"], "labels": labels}
        ways = {"undirected": None, "directed": True}
        graphs = {way: Graph.from_edges(pairs, nodes, directed=kept, **rest) for way, kept in ways.items()}
        parts = protocols(file, graphs["directed"], options.nested)
        if options.nested:
            record.setdefault("nested", {})[name] = nested(graphs["directed"], labels, parts)
        for share in () if options.nested else options.shares:
            found = {way: accuracies(graph, parts[share]) for way, graph in graphs.items()}
            means = {way: round(float(np.mean(each)), 2) for way, each in found.items()}
            gain = round(means["directed"] - means["undirected"], 2)
            record.setdefault("results", {}).setdefault(name, {})[share] = {**found, "means": means, "gain": gain}
            print(name, share, json.dumps(means), gain, flush=True)
            write("directed", record | PROTOCOL)
        write("directed", record | PROTOCOL)


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


def accuracies(graph: Graph, parts: Parts) -> list[float]:
    """Percent of right predictions of a default fit on the last rows of each part."""
    found, truth = [], np.asarray(graph.labels)
    for train, val, rest in parts:
        predicted = SlimG(random_state=0).fit(graph, train=train, val=val).predict()
        found.append(round(100 * float((predicted[rest] == truth[rest]).mean()), 2))
        print(" ", found[-1], flush=True)
    return found


def nested(graph: Graph, labels: np.ndarray, parts: dict[str, Parts]) -> dict[str, dict[str, float]]:
    """Percent of right predictions of ridge regression on held-out labelled rows, by share of labels and variant."""
    steps = ("edges →", "edges ←")
    found: dict[str, dict[str, float]] = {share: {} for share in parts}
    for variant, (path_rank, structure_rank) in VARIANTS.items():
        paths = [PathFeatures(path=path, rank=path_rank) for path in [*product(steps), *product(steps, steps)] if path_rank]
        structures = [Structure(rank=structure_rank, step=step) for step in steps if structure_rank]
        blocks = compute_components(graph, components=[*DEFAULT_COMPONENTS, *paths, *structures]).blocks
        rows = np.hstack([np.asarray(block) for block in blocks.values()])
        for share, listed in parts.items():
            right = [ridge(rows, labels, np.r_[train, val] if share == "2.5 %" else train, rest) for train, val, rest in listed]
            found[share][variant] = round(100 * float(np.mean(right)), 2)
            print(variant, share, found[share][variant], flush=True)
    return found


def ridge(rows: np.ndarray, labels: np.ndarray, known: np.ndarray, rest: np.ndarray) -> float:
    """Share of right predictions of ridge regression onto the classes, by the kernel of the known rows."""
    targets = np.eye(labels.max() + 1)[labels[known]]
    mean, prior = rows[known].mean(axis=0), targets.mean(axis=0)
    values, vectors = np.linalg.eigh((rows[known] - mean) @ (rows[known] - mean).T)
    values, turned = np.maximum(values, 0), vectors.T @ (targets - prior)
    right = []
    for penalty in np.array(PENALTIES) * values.mean():
        smooth = vectors * (values / (values + penalty))
        leverage = np.einsum("ij,ij->i", smooth, vectors)[:, None]
        held_out = prior + (smooth @ turned - leverage * (targets - prior)) / (1 - leverage)
        right.append((held_out.argmax(axis=1) == labels[known]).mean())
    best = PENALTIES[int(np.argmax(right))] * values.mean()
    weights = (rows[known] - mean).T @ (vectors @ (turned / (values + best)[:, None]))
    return float((((rows[rest] - mean) @ weights + prior).argmax(axis=1) == labels[rest]).mean())


if __name__ == "__main__":
    main()
