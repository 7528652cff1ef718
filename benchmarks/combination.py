"""Where SlimG loses accuracy when its components are learned together: the path beside sums of components learned alone.

Per split, test accuracy in percent of: the pair that the default path chooses on validation rows; its best pair on the
test rows (no rule can do better); no penalties, stopped early; each component alone (ridge, the best of 0.4, 0.1 and 0.02
of its λ_max on validation rows); the sum of the log-probabilities of these four; the same with four weights ≥ 0 fitted to
the validation rows.

    python benchmarks/combination.py [semantic-homophily cora …]        other graphs of an earlier run are kept
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
from records import RESULTS, write
from scipy.optimize import minimize

from slimg import SlimG
from slimg.components import Components, paper_components
from slimg.graph import Graph, Split
from slimg.graph.splits import REAL, SYNTHETIC, stratified
from slimg.lab import datasets, sanity
from slimg.learn.objective import Labelled
from slimg.learn.path import Pair, best, default_pairs, solve_path, validate

GRAPHS = ["semantic-homophily", "semantic-heterophily", "semantic-uniform", "random-homophily", "cora", "chameleon", "photo"]
SHARES = (0.4, 0.1, 0.02)
SEEDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("graphs", nargs="*", default=GRAPHS)
    kept = RESULTS / "combination.json"
    lines = json.loads(kept.read_text())["lines"] if kept.exists() else []
    for name in parser.parse_args().graphs:
        made = "-" in name
        graph = sanity.make(*name.split("-")).graph if made else datasets.load(name)
        model = SlimG(components=paper_components(normalize=None if made else "row"))
        parts = model.propagate(graph)
        found = []
        for seed in range(SEEDS):
            split = stratified(graph, SYNTHETIC if made else REAL, seed)
            stopped = model.set_params(grid="unpenalized").fit(graph, train=split.train, val=split.val, propagated=parts)
            early = 100 * float((stopped.predict() == graph.labels)[split.test].mean())
            found.append({**together(graph, parts, split), "without penalties": early, **apart(graph, parts, split)})
        means = {key: round(float(np.mean([each[key] for each in found])), 1) for key in found[0]}
        lines = [each for each in lines if each["graph"] != name] + [{"graph": name, "means": means, "splits": found}]
        print(name, means, flush=True)
        write("combination", {"protocol": __doc__.split("\n\n")[1], "lines": lines})


def together(graph: Graph, parts: Components, split: Split) -> dict[str, float]:
    """The default path on all components."""
    labelled = _labelled(graph, parts, split, list(parts.widths))
    problem, names = labelled.problem(), list(parts.widths)
    records, tests = [], []
    for pair, solution in solve_path(problem, default_pairs(problem), 1e-4, 200):
        on_val, on_test = (
            validate(pair, solution, names, labelled.group_of, parts.labelled_rows(rows), graph.codes[rows])
            for rows in (split.val, split.test)
        )
        records.append(on_val)
        tests.append(100 * on_test.val_accuracy)
    return {"chosen pair": tests[best(records)], "best pair on test": max(tests)}


def apart(graph: Graph, parts: Components, split: Split) -> dict[str, float]:
    """Each component alone, and sums of the four."""
    val, test = graph.codes[split.val], graph.codes[split.test]
    on_val, on_test, told = [], [], {}
    for name in parts.widths:
        one, other = _alone(graph, parts, split, name)
        on_val.append(one)
        on_test.append(other)
        told[f"{name} alone"] = _right(other, test)

    def loss(weights: np.ndarray) -> float:
        scores = _log_p(np.tensordot(weights, on_val, 1))
        return float(-scores[np.arange(len(val)), val].mean())

    weights = minimize(loss, np.ones(len(on_val)), bounds=[(0, None)] * len(on_val)).x
    return {**told, "sum": _right(sum(on_test), test), "weighted sum": _right(np.tensordot(weights, on_test, 1), test)}


def _alone(graph: Graph, parts: Components, split: Split, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of validation and test rows, from the share that is best on validation."""
    problem = _labelled(graph, parts, split, [name]).problem()
    largest = problem.penalty(0.0, 0.0).lambda_max(problem.gradient_at_zero())
    tried = []
    for _, solution in solve_path(problem, [Pair(0.0, largest * share, True) for share in SHARES], 1e-4, 200):
        on_val, on_test = (
            _log_p(parts.labelled_rows(rows)[:, parts.groups[name]] @ solution.weights + solution.intercept)
            for rows in (split.val, split.test)
        )
        codes = graph.codes[split.val]
        tried.append((-_right(on_val, codes), float(-on_val[np.arange(len(codes)), codes].mean()), on_val, on_test))
    return min(tried, key=lambda each: each[:2])[2:]


def _labelled(graph: Graph, parts: Components, split: Split, names: list[str]) -> Labelled:
    matrix = np.hstack([parts.labelled_rows(split.train)[:, parts.groups[name]] for name in names])
    widths = {name: parts.widths[name] for name in names}
    ones = np.ones(len(split.train))
    return Labelled(np.ascontiguousarray(matrix), graph.codes[split.train], len(graph.classes), ones, widths, parts.engine)


def _log_p(scores: np.ndarray) -> np.ndarray:
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def _right(scores: Any, codes: np.ndarray) -> float:
    return 100 * float((scores.argmax(axis=1) == codes).mean())


if __name__ == "__main__":
    main()
