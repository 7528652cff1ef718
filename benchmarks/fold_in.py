"""How far is folding new nodes in from fitting again?

A tenth of the nodes (random, seeds 0 …) is hidden with all their edges; SlimG is fitted on the rest with the paper's share
of labels (5 %, none of them hidden), then the whole graph is given to `predict`. A refit sees the whole graph with
the same labels. Compared is the accuracy on the hidden nodes.

    python benchmarks/fold_in.py [--datasets pubmed,photo] [--seeds 3]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from records import read, write

from slimg import SlimG
from slimg.graph.splits import REAL, stratified
from slimg.lab import datasets

HIDDEN = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--datasets", type=lambda text: text.split(","), default=["pubmed", "photo", "cora"])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    results = read("fold_in").get("results", {})
    for name in options.datasets:
        runs = [run(datasets.load(name), seed) for seed in range(options.seeds)]
        difference = [each["folded"] - each["refitted"] for each in runs]
        results[name] = {"runs": runs, "mean_difference": round(float(np.mean(difference)), 2)}
        write("fold_in", {"protocol": __doc__.split("\n\n")[1], "hidden": HIDDEN, "results": results})
        print(f"{name:<8} folded in minus refitted: {results[name]['mean_difference']:+.2f} points", runs, flush=True)


def run(graph: Any, seed: int) -> dict[str, Any]:
    hidden = np.zeros(graph.n, bool)
    hidden[np.random.default_rng(seed).choice(graph.n, round(HIDDEN * graph.n), replace=False)] = True
    split = stratified(graph, REAL, seed)
    labelled = np.concatenate([split.train, split.val])
    visible = graph.mask_labels(labelled[~hidden[labelled]])
    model = SlimG(random_state=seed).fit(visible.subgraph(~hidden))
    begun = time.perf_counter()
    folded = model.fold_in(visible)
    seconds = time.perf_counter() - begun
    begun = time.perf_counter()
    refitted = SlimG(random_state=seed).fit(visible)
    again = time.perf_counter() - begun

    def accuracy(predicted: Any) -> float:
        return round(100 * float((predicted == graph.labels)[hidden].mean()), 2)

    return {
        "folded": accuracy(folded.predict()),
        "refitted": accuracy(refitted.predict()),
        "agreement": round(100 * float((folded.predict() == refitted.predict()).mean()), 2),
        "touched": len(folded.touched),
        "nodes": graph.n,
        "seconds_fold_in": round(seconds, 2),
        "seconds_refit": round(again, 2),
    }


if __name__ == "__main__":
    main()
