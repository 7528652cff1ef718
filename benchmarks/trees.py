"""Where trees are better, and where not: SlimG, a random forest and boosted trees on measured numbers.

Reddit: 10,984 users and threads, 64 measured numbers, 3.3 % banned; 5 % of the labels (stratified), average precision on the
other 95 %, five seeds. Interaction (generated): 4,000 nodes of two classes, two uniform numbers, the class is whether exactly one
of them is above its median, one label in ten wrong; 16,000 random edges that say nothing; 10 % of the labels, accuracy on the
others. Trees are scikit-learn's at their defaults (300 trees in the forest), on X and the mean of X over the neighbours.

    python benchmarks/trees.py [--seeds 5]
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from records import ROOT, write
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split

from slimg import Graph, SlimG


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    found = {"reddit": compare(reddit(), 0.05, "average_precision", seeds)}
    found["interaction"] = compare(interaction(), 0.1, "accuracy", seeds)
    write("trees", {"protocol": __doc__.split("\n\n")[1], **found})


def reddit() -> Graph:
    root = Path(os.environ.get("SLIMG_DATA") or ROOT.parent / "shared" / "data")
    raw = np.load(root / "reddit" / "reddit.npz")
    return Graph.from_edges(raw["edges"], np.arange(len(raw["y"])), features=raw["x"], labels=(raw["y"] > 0).astype(int))


def interaction(n: int = 4000) -> Graph:
    rng = np.random.default_rng(0)
    x = rng.random((n, 2)).astype(np.float32)
    labels = ((x[:, 0] > 0.5) != (x[:, 1] > 0.5)) ^ (rng.random(n) < 0.1)
    return Graph.from_edges(rng.integers(0, n, (4 * n, 2)), np.arange(n), features=x, labels=labels.astype(int))


def compare(graph: Graph, share: float, metric: str, seeds: int) -> dict[str, Any]:
    """The metric of each model on the nodes whose label is hidden, by seed."""
    y, x, a = np.asarray(graph.labels, int), np.asarray(graph.features), graph.adjacency.to_scipy()
    table = np.hstack([x, np.asarray((a @ x) / np.maximum(a.sum(axis=1), 1).reshape(-1, 1))])
    scores: dict[str, list[float]] = {"SlimG": [], "random forest": [], "boosted trees": []}
    for seed in range(seeds):
        known, rest = train_test_split(np.arange(len(y)), train_size=share, stratify=y, random_state=seed)
        chances = {"SlimG": SlimG(random_state=seed).fit(graph.mask_labels(known)).predict_proba()[rest, 1]}
        trees = {"random forest": RandomForestClassifier(300, random_state=seed),
                 "boosted trees": HistGradientBoostingClassifier(random_state=seed)}  # fmt: skip
        for name, each in trees.items():
            chances[name] = each.fit(table[known], y[known]).predict_proba(table[rest])[:, 1]
        for name, chance in chances.items():
            is_right = (chance > 0.5) == y[rest]
            scores[name].append(float(is_right.mean() if metric == "accuracy" else average_precision_score(y[rest], chance)))
        print(metric, seed, {name: round(values[-1], 4) for name, values in scores.items()}, flush=True)
    return {"metric": metric, "scores": scores, "mean": {name: float(np.mean(values)) for name, values in scores.items()}}


if __name__ == "__main__":
    main()
