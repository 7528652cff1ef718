"""Where trees are better, and where not: SlimG, a random forest and boosted trees on measured numbers.

Reddit: 10,984 users and threads, 64 measured numbers, 3.3 % banned; 5 % of the labels (stratified), average precision on the
other 95 %, five seeds. YelpChi: 67,395 reviews, 13.2 % filtered as fake, their 38,063 users and 201 products as three tables of
nodes with a number each, read by `slimg.read`, and two directed relations; 5 % of the reviews labelled, average precision on the
others, five seeds. Interaction (generated): 4,000 nodes of two classes, two uniform numbers, the class is whether exactly one
of them is above its median, one label in ten wrong; 16,000 random edges that say nothing; 10 % of the labels, accuracy on the
others. Trees are scikit-learn's at their defaults (300 trees in the forest), on X and the mean of X over the neighbours.

    python benchmarks/trees.py [--seeds 5] [--only yelpchi]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from records import ROOT, read, write
from scipy.sparse import issparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split

import slimg
from slimg import Graph, SlimG

DATA = Path(os.environ.get("SLIMG_DATA") or ROOT.parent / "shared" / "data")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", choices=list(CASES), nargs="+", default=list(CASES))
    options = parser.parse_args()
    found = read("trees")
    for name in options.only:
        graph, *how = CASES[name]
        found[name] = compare(graph(), *how, options.seeds)
        write("trees", {**found, "protocol": __doc__.split("\n\n")[1]})


def reddit() -> Graph:
    raw = np.load(DATA / "reddit" / "reddit.npz")
    return Graph.from_edges(raw["edges"], np.arange(len(raw["y"])), features=raw["x"], labels=(raw["y"] > 0).astype(int))


def yelpchi() -> Graph:
    folder = DATA / "yelpchi"
    users, reviews, products = (pd.read_csv(folder / f"priors_{k}.csv.gz") for k in range(3))
    table = pd.read_csv(folder / "reviews.csv.gz").assign(
        key=lambda each: each.user.astype(str) + " " + each["product"].astype(str)
    )
    reviews["fake"] = reviews.key.map(table.set_index("key").label.eq(-1).astype(int))
    edges = {name: table.rename(columns={"key": "source", end: "target"})[["source", "target"]]
             for name, end in {"by": "user", "about": "product"}.items()}  # fmt: skip
    nodes = {"reviews": reviews, "users": users, "products": products}
    return slimg.read(edges, nodes, id="key", label="fake", directed=True)


def interaction(n: int = 4000) -> Graph:
    rng = np.random.default_rng(0)
    x = rng.random((n, 2)).astype(np.float32)
    labels = ((x[:, 0] > 0.5) != (x[:, 1] > 0.5)) ^ (rng.random(n) < 0.1)
    return Graph.from_edges(rng.integers(0, n, (4 * n, 2)), np.arange(n), features=x, labels=labels.astype(int))


def compare(graph: Graph, share: float, metric: str, seeds: int) -> dict[str, Any]:
    """The metric of each model on the nodes whose label is hidden, by seed."""
    nodes, a = graph.labelled, graph.adjacency.to_scipy()
    x = np.asarray(graph.features.toarray() if issparse(graph.features) else graph.features)
    y = np.zeros(graph.n, int)
    y[nodes] = np.asarray(graph.labels)[nodes].astype(int)
    table = np.hstack([x, np.asarray((a @ x) / np.maximum(a.sum(axis=1), 1).reshape(-1, 1))])
    scores: dict[str, list[float]] = {"SlimG": [], "random forest": [], "boosted trees": []}
    for seed in range(seeds):
        known, rest = train_test_split(nodes, train_size=share, stratify=y[nodes], random_state=seed)
        chances = {"SlimG": SlimG(random_state=seed, scoring=metric).fit(graph.mask_labels(known)).predict_proba()[rest, 1]}
        trees = {"random forest": RandomForestClassifier(300, random_state=seed),
                 "boosted trees": HistGradientBoostingClassifier(random_state=seed)}  # fmt: skip
        for name, each in trees.items():
            chances[name] = each.fit(table[known], y[known]).predict_proba(table[rest])[:, 1]
        for name, chance in chances.items():
            is_right = (chance > 0.5) == y[rest]
            scores[name].append(float(is_right.mean() if metric == "accuracy" else average_precision_score(y[rest], chance)))
        print(metric, seed, {name: round(values[-1], 4) for name, values in scores.items()}, flush=True)
    return {"metric": metric, "scores": scores, "mean": {name: float(np.mean(values)) for name, values in scores.items()}}


CASES: dict[str, tuple[Callable[[], Graph], float, str]] = {
    "reddit": (reddit, 0.05, "average_precision"),
    "yelpchi": (yelpchi, 0.05, "average_precision"),
    "interaction": (interaction, 0.1, "accuracy"),
}

if __name__ == "__main__":
    main()
