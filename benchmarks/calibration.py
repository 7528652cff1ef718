"""Calibration error and coverage of prediction sets on the nodes that were not labelled.

    SLIMG_DATA=… python benchmarks/calibration.py [--seeds 5] [--graphs pubmed computers …]

5 % of the nodes are labelled, at random; Reddit 20 % (its rare class is a few percent). Columns: expected calibration
error of the probabilities without and with the temperature, the same of each class and their mean, coverage and mean size of
90 % sets, for class-conditional sets the coverage of the rarest class, and the accuracy of the more certain half.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from records import read, write

from slimg import Graph, SlimG
from slimg.inference.predictions import Calibration, abstention_curve, calibration_error
from slimg.lab import datasets
from slimg.lab.bench.store import environment
from slimg.learn.objective import softmax

GRAPHS = ("cora", "citeseer", "pubmed", "photo", "computers", "chameleon", "squirrel", "actor", "reddit")
COVERAGE = 0.9


def graph_of(name: str) -> Graph:
    """A published graph; Reddit is the one of fraud detection, an npz of x, edges and y."""
    if name != "reddit":
        return datasets.load(name)
    with np.load(Path(os.environ["SLIMG_DATA"], "reddit", "reddit.npz")) as file:
        edges = file["edges"] if file["edges"].shape[1] == 2 else file["edges"].T
        return Graph.from_edges(edges, np.arange(len(file["y"])), labels=file["y"], features=file["x"])


def measure(graph: Graph, share: float, seed: int) -> dict[str, Any]:
    """Measures of one split."""
    rng = np.random.default_rng(seed)
    rows = graph.labelled
    train = np.sort(rng.choice(rows, round(share * len(rows)), replace=False))
    model = SlimG().fit(graph, train=train)
    rest = np.setdiff1d(rows, train)
    code_of = {value: code for code, value in enumerate(model.classes_.tolist())}
    codes = np.array([code_of.get(value, -1) for value in graph.classes[graph.codes[rest]].tolist()])
    rest, codes = rest[codes >= 0], codes[codes >= 0]
    sets, own = model.predict_set(COVERAGE)[rest], model.predict_set(COVERAGE, class_conditional=True)[rest]
    rare = np.bincount(codes).argmin()
    chances = model.predict_proba()[rest]
    test = Calibration(1.0, model.decision_function()[rest] / model.temperature_, codes)
    return {
        "commit": environment()["commit"],
        "accuracy": float((chances.argmax(axis=1) == codes).mean()),
        "accuracy of the more certain half": abstention_curve(chances, codes)["accuracy"][4],
        "temperature": model.temperature_,
        "error without": calibration_error(softmax(model.decision_function())[rest], codes),
        "error": calibration_error(chances, codes),
        "mean error of a class": float(test.class_errors.mean()),
        "error of each class": test.class_errors.round(4).tolist(),
        "coverage": float(sets[np.arange(len(rest)), codes].mean()),
        "size": float(sets.sum(axis=1).mean()),
        "coverage of the rarest class": float(own[codes == rare, rare].mean()),
        "held-out labels of the rarest class": int(np.count_nonzero(model.calibration_.codes == rare)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--graphs", nargs="+", default=GRAPHS)
    args = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = read("calibration").get("graphs", {})
    for name in args.graphs:
        graph = graph_of(name)
        share = 0.2 if name == "reddit" else 0.05
        found[name] = [measure(graph, share, seed) for seed in range(args.seeds)]
        means = {key: round(float(np.mean([each[key] for each in found[name]])), 3)
                 for key, value in found[name][0].items()
                 if isinstance(value, (int, float))}
        print(name, means, flush=True)
        write("calibration", {"protocol": __doc__.split("\n\n")[2], "graphs": found})


if __name__ == "__main__":
    main()
