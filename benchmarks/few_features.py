"""Accuracy on generated graphs with 0, 1, 2, 3 and 8 numeric features: adding a feature must not cost what the edges know.

2,000 nodes in three classes, mean degree 8, homophily 0.8, 10 % of the labels; the first feature has means -1.5, 0, 1.5 by
class and variance 1, the others little information.

    python benchmarks/few_features.py [--seeds 6]
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.sparse as sp
from records import write

from slimg import Graph, SlimG

NODES, CLASSES, DEGREE, HOMOPHILY, LABELS = 2000, 3, 8, 0.8, 200
FEATURES = (0, 1, 2, 3, 8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=6)
    seeds = range(parser.parse_args().seeds)
    found = {str(count): [accuracy(count, seed) for seed in seeds] for count in FEATURES}
    for count, each in found.items():
        print(f"{count} features: {np.mean(each):.1f} ± {np.std(each):.1f}", flush=True)
    write("few_features", {"protocol": __doc__.split("\n\n")[1], "accuracy": found})


def accuracy(features: int, seed: int) -> float:
    """Percent of the unlabelled nodes."""
    graph, labels = generated(features, seed)
    known = np.random.default_rng(seed + 100).choice(NODES, LABELS, replace=False)
    rest = np.setdiff1d(np.arange(NODES), known)
    return 100 * float((SlimG().fit(graph, train=known).predict() == labels)[rest].mean())


def generated(features: int, seed: int) -> tuple[Graph, np.ndarray]:
    """A graph whose edges are the same however many features it has."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, NODES)
    members = [np.flatnonzero(labels == code) for code in range(CLASSES)]
    others = [np.flatnonzero(labels != code) for code in range(CLASSES)]
    ends = rng.integers(0, NODES, NODES * DEGREE // 2)
    alike = rng.random(len(ends)) < HOMOPHILY
    pools = [(members if same else others)[labels[end]] for end, same in zip(ends, alike, strict=True)]
    far = np.array([rng.choice(pool) for pool in pools])
    edges = sp.coo_array((np.ones(len(ends), np.float32), (ends, far)), (NODES, NODES))
    x = None
    if features:
        x = rng.standard_normal((NODES, features))
        x[:, 0] += 1.5 * (labels - 1)
        x[:, 1:] += 0.5 * rng.standard_normal((CLASSES, features - 1))[labels]
    return Graph.from_arrays(edges, features=x, labels=labels, duplicates="max"), labels


if __name__ == "__main__":
    main()
