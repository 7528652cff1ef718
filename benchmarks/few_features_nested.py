"""Rows of unit length or soft, and ranges of the neighbourhood, on graphs with few features, by nested validation.

Of each graph 30 % of the nodes are a pool; 5 % are drawn from it to learn from (five folds choose), the rest of the pool
compares; labels of other nodes are not read. Accuracy, average precision where one of two classes is rare. Gains are paired;
the error of a mean over graphs is that over the draws.

    unit        rows of features of unit length, no ranges of the neighbourhood (the default before)
    soft        soft rows
    default     soft rows, and degrees and means over neighbours in ranges where the labels call for it (`screen_neighbours`)

    minesweeper, few 1, few 3, payments    of `generated.py`, `few_features.py` with so many features, `tests/payments.py`
    workers     heavy-tailed degrees; ten numbers, of which some count above a threshold, as a mean over neighbours does
    amounts     accounts of which 3 % are frauds: amounts in the middle, more edges, edges to young accounts
    airports    four classes by activity, of which the degree says most; five numbers that say little; "bare" without them
    places      coordinates; classes are cells of thirty sites; the four nearest places are neighbours
    gaussian    classes of different mean and spread in twelve numbers; homophily
    linear      log-odds that are linear in ten numbers and their means over neighbours

    python benchmarks/few_features_nested.py [--graphs airports,places] [--draws 3]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import few_features
import numpy as np
import scipy.sparse as sp
from generated import minesweeper
from records import ROOT, read, write

from slimg import Graph, SlimG
from slimg.learn.objective import METRICS, default_scoring

sys.path.insert(0, str(ROOT / "tests"))
from payments import payments

POOL, SHARE = 0.3, 0.05
AROUND = "bins(A_row X)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graphs", type=lambda text: text.split(","), default=list(GRAPHS))
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    for name in options.graphs:
        found = compare(GRAPHS[name](), options.draws)
        results = read("few_features_nested").get("results", {}) | {name: found}
        write("few_features_nested", {"protocol": __doc__.split("\n\n")[1], "results": results})
        print(f"{name:<12}", "  ".join(f"{variant} {np.mean(each):.2f}" for variant, each in found.items()), flush=True)
    print(table(results))


def compare(graph: Graph, draws: int) -> dict[str, list[float]]:
    """Score of each variant by draw."""
    found: dict[str, list[float]] = {"unit": [], "soft": [], "default": []}
    pool = np.random.default_rng(99).permutation(graph.n)[: int(POOL * graph.n)]
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(pool)
        known, rest = np.split(order, [int(SHARE * graph.n)])
        known = np.sort(known)
        parts = SlimG().propagate(graph, train=known)
        components = [each.component for name, each in parts.fitted.items() if name != AROUND]
        unit = [replace(each, soft=False) if getattr(each, "soft", False) else each for each in components]
        codes, metric = graph.codes[rest], METRICS[default_scoring(graph.codes[known])]
        for variant, listed in (("unit", unit), ("soft", components), ("default", None)):
            fits_parts = listed is None or (listed is components and AROUND not in parts.fitted)
            model = SlimG(components=listed).fit(graph, train=known, propagated=parts if fits_parts else None)
            scores = model.decision_function()[rest]
            found[variant].append(round(100 * float(metric(codes, scores)), 3))
    return found


def _graph(ends: np.ndarray, features: np.ndarray | None, labels: np.ndarray) -> Graph:
    edges = sp.coo_array((np.ones(ends.shape[1], np.float32), tuple(ends)), (len(labels),) * 2)
    x = None if features is None else features.astype(np.float32)
    return Graph.from_arrays(edges, features=x, labels=labels, duplicates="max")


def workers(n: int = 8_000, seed: int = 0) -> Graph:
    rng, tasks = np.random.default_rng(seed), 600
    risk, active, place = rng.standard_normal(n), np.exp(rng.standard_normal(n)), rng.standard_normal(tasks)
    members: list[list[int]] = [[] for _ in range(tasks)]
    for i in range(n):
        likely = np.exp(-np.square(place - risk[i]) / 1.2)
        for task in rng.choice(tasks, min(int(4 * active[i]) + 1, 60), p=likely / likely.sum()):
            members[task].append(i)
    pairs = [np.stack([np.repeat(each, 5), rng.choice(each, 5 * len(each))]) for each in map(np.unique, members) if len(each) > 1]
    ends = np.hstack(pairs)
    a = sp.coo_array((np.ones(ends.shape[1]), tuple(ends)), (n, n)).tocsr()
    a = a + a.T
    degree = np.asarray(a.sum(axis=1)).ravel()
    approved, skipped = rng.beta(5, 1.5 + np.exp(0.5 * risk)), rng.beta(1 + np.exp(0.4 * risk), 8)
    age, expired = rng.gamma(3, 10, n), np.where(rng.random(n) < 0.5, 0, rng.beta(1.2, 10, n))
    around = np.asarray(a @ approved) / np.maximum(degree, 1)
    score = 0.8 * risk + (skipped > 0.25) + 1.2 * (approved < 0.5) + (np.abs(np.log1p(degree) - 4) < 0.5) + 0.8 * (age < 12)
    score += (around < np.quantile(around, 0.3)) + rng.logistic(0, 0.8, n)
    kinds = np.eye(4)[rng.integers(0, 4, n)]
    features = np.column_stack([age, approved, skipped, expired, active, 1 - approved, kinds])
    return _graph(ends, features, (score > np.quantile(score, 0.78)).astype(int))


def amounts(n: int = 6_000, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    fraud = rng.random(n) < 0.03
    amount = np.where(fraud, rng.normal(5, 0.3, n), rng.normal(4.5, 1.3, n))
    age = rng.exponential(np.where(fraud & (rng.random(n) < 0.6), 30, 400))
    hour = np.where(fraud & (rng.random(n) < 0.5), rng.normal(3, 1.5, n), rng.normal(14, 5, n)) % 24
    source = np.repeat(np.arange(n), rng.poisson(np.where(fraud, 9, 4) * np.exp(rng.normal(0, 0.4, n))))
    target = rng.integers(0, n, len(source))
    chosen = fraud[source] & (rng.random(len(source)) < 0.3)
    target[chosen] = rng.choice(np.argsort(age)[: n // 10], chosen.sum())
    return _graph(
        np.stack([source, target]), np.column_stack([np.exp(amount), age, hour, rng.standard_normal((n, 3))]), fraud * 1
    )


def airports(n: int = 4_000, seed: int = 0, features: bool = True) -> Graph:
    rng = np.random.default_rng(seed)
    size = np.exp(rng.normal(0, 1.2, n))
    ends = rng.choice(n, (2, 6 * n), p=size / size.sum())
    activity = np.log(size) + rng.normal(0, 0.4, n)
    x = np.column_stack([rng.standard_normal((n, 4)), activity + rng.normal(0, 3, n)]) if features else None
    return _graph(ends, x, np.digitize(activity, np.quantile(activity, [0.25, 0.5, 0.75])))


def places(n: int = 6_000, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    where, sites, kind = rng.random((n, 2)), rng.random((30, 2)), rng.integers(0, 6, 30)
    labels = kind[np.square(where[:, None] - sites).sum(axis=2).argmin(axis=1)]
    labels = np.where(rng.random(n) < 0.1, rng.integers(0, 6, n), labels)
    near = [np.argsort(np.square(part[:, None] - where).sum(axis=2), axis=1)[:, 1:5] for part in np.array_split(where, 10)]
    ends = np.stack([np.repeat(np.arange(n), 4), np.vstack(near).ravel()])
    return _graph(ends, np.column_stack([where, rng.standard_normal((n, 2)) + 0.3 * labels[:, None]]), labels)


def gaussian(n: int = 6_000, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, n)
    x = 0.5 * rng.standard_normal((4, 12))[labels] + rng.standard_normal((n, 12)) * np.array([0.6, 1, 1.5, 2.2])[labels][:, None]
    members, ends = [np.flatnonzero(labels == code) for code in range(4)], rng.integers(0, n, (2, 3 * n))
    alike = np.array([rng.choice(members[code]) for code in labels[ends[0]]])
    return _graph(np.stack([ends[0], np.where(rng.random(3 * n) < 0.6, alike, ends[1])]), x, labels)


def linear(n: int = 6_000, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    x, ends = rng.standard_normal((n, 10)), rng.integers(0, n, (2, 4 * n))
    a = sp.coo_array((np.ones(4 * n), tuple(ends)), (n, n)).tocsr()
    a = a + a.T
    means = (a @ x) / np.maximum(np.asarray(a.sum(axis=1)).reshape(-1, 1), 1)
    odds = x @ rng.standard_normal((10, 3)) + 2 * means @ rng.standard_normal((10, 3)) + rng.gumbel(0, 1.5, (n, 3))
    return _graph(ends, x, odds.argmax(axis=1))


def _few(features: int) -> Graph:
    return few_features.generated(features, 11)[0]


def _payments() -> Graph:
    return payments(7, True, n=6_000, labelled=1.0)


GRAPHS: dict[str, Callable[[], Graph]] = {
    "minesweeper": minesweeper,
    "few 1": partial(_few, 1),
    "few 3": partial(_few, 3),
    "payments": _payments,
    "workers": workers,
    "amounts": amounts,
    "airports": airports,
    "bare": partial(airports, features=False),
    "places": places,
    "gaussian": gaussian,
    "linear": linear,
}


def table(results: dict[str, Any]) -> str:
    """Markdown: scores by graph, and the mean gains over "unit"."""
    lines = ["| graph | unit | soft | default |", "|---|---|---|---|"]
    lines += [f"| {name} | {' | '.join(f'{np.mean(each):.1f}' for each in found.values())} |" for name, found in results.items()]
    for variant in ("soft", "default"):
        gains = [np.subtract(found[variant], found["unit"]) for found in results.values()]
        error = np.sqrt(sum(each.var(ddof=1) / len(each) for each in gains)) / len(gains)
        lines.append(f"{variant}: {np.mean([each.mean() for each in gains]):+.2f} ± {error:.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
