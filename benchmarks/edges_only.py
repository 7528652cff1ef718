"""Graphs without their features: U alone against U and U[Ã_sym], the default, by nested validation.

A labelled set is a stratified share of the nodes, drawn by seed: two thirds of it to learn and choose on (five folds), the last
third to compare; labels of all other nodes are never read. Accuracy in percent, mean over the seeds, and the mean of the paired
differences with its standard error.

    python benchmarks/edges_only.py [--graphs cora,citeseer] [--shares 5,10,48] [--seeds 4]
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from records import write

from slimg import SlimG
from slimg.components import Structure, default_components
from slimg.graph.splits import stratified
from slimg.lab.datasets import load

GRAPHS = ("cora", "citeseer", "chameleon", "squirrel", "actor", "photo")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graphs", type=lambda text: text.split(","), default=GRAPHS)
    parser.add_argument("--shares", type=lambda text: [float(each) for each in text.split(",")], default=[5, 10, 48])
    parser.add_argument("--seeds", type=int, default=4)
    options = parser.parse_args()
    results: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name in options.graphs:
        graph = replace(load(name), features=None, feature_names=None)
        for share in options.shares:
            found = [scores(graph, share / 100, seed) for seed in range(options.seeds)]
            alone, both = np.transpose(found)
            gain, error = (both - alone).mean(), (both - alone).std() / np.sqrt(max(len(both) - 1, 1))
            means = f"U {alone.mean():.1f}  with U[Ã_sym] {both.mean():.1f}"
            print(f"{name:<10} {share:g} %  {means}  {gain:+.1f} ± {error:.1f}", flush=True)
            results.setdefault(name, {})[f"{share:g} %"] = {"U": alone.round(2).tolist(), "both": both.round(2).tolist()}
    write("edges_only", {"protocol": __doc__.split("\n\n")[1], "results": results})


def scores(graph, known: float, seed: int) -> list[float]:
    """Accuracy of U alone and of the default on the last third of a labelled set."""
    split = stratified(graph, (known * 2 / 3, known / 3, 1 - known), seed)
    structures = [each for each in default_components(len(split.train), graph.n, 0) if isinstance(each, Structure)]
    labels = np.asarray(graph.labels)
    models = (SlimG(components=each).fit(graph, train=split.train) for each in (structures[:1], structures))
    return [100 * float((model.predict() == labels)[split.val].mean()) for model in models]


if __name__ == "__main__":
    main()
