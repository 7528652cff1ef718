"""Ways to make one model of the candidates of a search, compared by nested validation on the same fits.

Of each published graph one labelled set is opened, a fifth of its nodes (three fifths of the graphs of `generated.py`); labels of
the other nodes are never read. Within it rows to learn from and rows to choose on are drawn by seed, 2.5 and 2.5 % of the nodes
(at most 400 and 400) or 8 and 4 % (at most 1,200 and 600), and up to 2,500 of the others compare. All candidates are solved once,
to a gap of 1e-3, also on five folds of the rows to learn from; what follows only adds up their scores:

    best three       the mean of the three with the best accuracy (the default before), or of another number
    by loss          the same in the order of the loss, each candidate at the scale of its own least loss
    picks            the best, then each time the candidate with which the mean has the least loss; all at their own scales
    unscaled picks   the same without scales
    weights          non-negative weights of all candidates with the least loss (convex)
    … / folds        chosen by the folds in the place of the rows to choose on; … / both: by both
    few              the pairs with λ₁ ∈ {0, 1e-3}, joint ones at 0.2 and 0.05, one share of λ_max for separate components

A gain is the mean over graphs of the mean paired difference from "best three", its error that of this mean over the draws.

    python benchmarks/selection.py [--graphs cora,sentence] [--shares 2.5,8] [--draws 4] [--kept FOLDER]
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from generated import GENERATED
from records import read, write
from scipy.optimize import minimize
from validation import load

from slimg import Graph
from slimg.components import compute_components, default_components
from slimg.engine.memory import MemoryEngine
from slimg.graph.splits import stratified
from slimg.learn import path
from slimg.learn.objective import METRICS, Labelled, default_scoring, log_loss, stratified_folds
from slimg.learn.path import Pair, largest_penalty, rounded, solve_path, warm_start_groups
from slimg.learn.search import SCALES

DRAWS = {"cora": 9, "citeseer": 9, "chameleon": 9, "squirrel": 9, "actor": 3}
SMALL = ("cora", "citeseer", "chameleon", "squirrel", "actor", "photo", "pubmed", "debian", "reddit", "cornell5")
POOL, MOST = 0.2, 2_500
SIZES = {2.5: ((0.025, 400), (0.025, 400)), 8.0: ((0.08, 1_200), (0.04, 600))}
L1, SHARES, JOINT, SEPARATE = (0.0, 1e-4, 1e-3), (0.4, 0.1, 0.02), (0.4, 0.2, 0.1, 0.05), (0.2, 0.1, 0.05)
Scores = dict[Any, np.ndarray]
BASE = "best three"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graphs", type=lambda text: text.split(","), default=[*SMALL, *GENERATED])
    parser.add_argument("--shares", type=lambda text: [float(each) for each in text.split(",")], default=[2.5, 8.0])
    parser.add_argument("--draws", type=int, default=None)
    parser.add_argument("--kept", type=Path, default=None, help="a folder that keeps the scores of the candidates")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for name in options.graphs:
        for share in options.shares:
            draws = options.draws or DRAWS.get(name, 3)
            records = [each for each in records_of(name, share, draws, options.kept) if each is not None]
            scores = {rule: [round(float(fn(each)), 3) for each in records] for rule, fn in RULES.items()}
            found.setdefault(f"{share:g} %", {})[name] = scores
            means = "  ".join(f"{rule} {np.mean(each):.2f}" for rule, each in scores.items())
            print(f"{name:<12}{share:g} %  {means}", flush=True)
    recorded = read("selection").get("results", {})
    results = {share: recorded.get(share, {}) | found.get(share, {}) for share in {**recorded, **found}}
    write("selection", {"protocol": __doc__.split("\n\n")[1], "results": results})
    print(table(results))


def records_of(name: str, share: float, draws: int, kept: Path | None) -> list[dict[str, Any]]:
    """What `solved` gives for each draw, from files that an earlier run kept where there are any."""
    files = [None if kept is None else kept / f"{name}-{share:g}-{seed}.pkl" for seed in range(draws)]
    if all(file is not None and file.exists() for file in files):
        return [pickle.loads(file.read_bytes()) for file in files if file is not None]
    graph = GENERATED[name]() if name in GENERATED else load(name)
    labels = len(rows_of(graph, name, share, 0)[0])
    blocks = compute_components(graph, components=default_components(labels, graph.n, graph.d)).blocks
    found = [solved(graph, blocks, rows_of(graph, name, share, seed)) for seed in range(draws)]
    for file, record in zip(files, found, strict=True):
        if file is not None:
            file.write_bytes(pickle.dumps(record))
    return found


def rows_of(graph: Graph, name: str, share: float, seed: int) -> tuple[np.ndarray, ...]:
    """Rows to learn from, to choose on and to compare on."""
    opened = 0.6 if name in GENERATED else POOL
    pool, rng = stratified(graph, (opened, (1 - opened) / 2, (1 - opened) / 2), 0).train, np.random.default_rng(1000 + seed)
    m, k = (max(40, min(most, round(part * graph.n))) for part, most in SIZES[share])
    order = rng.permutation(len(pool))
    order = order[np.argsort(graph.codes[pool][order], kind="stable")]
    drawn = rng.permutation(pool[order[np.unique(np.linspace(0, len(pool) - 1, m + k).astype(int))]])
    drawn = drawn[np.argsort(graph.codes[drawn], kind="stable")]
    choose = np.zeros(len(drawn), bool)
    choose[np.floor((np.arange(k) + 0.5) * len(drawn) / k).astype(int)] = True
    rest = rng.permutation(np.setdiff1d(pool, drawn))[:MOST]
    return np.sort(drawn[~choose]), np.sort(drawn[choose]), np.sort(rest)


def solved(graph: Graph, blocks: dict[str, Any], rows: tuple[np.ndarray, ...]) -> dict[str, Any]:
    """Scores of every candidate on the rows to choose and to compare on, and by folds on those to learn from."""
    train, val, rest = rows
    present, codes = np.unique(graph.codes[train], return_inverse=True)
    code_of = np.full(len(graph.classes) + 1, -1)
    code_of[present] = np.arange(len(present))
    learned, others = (np.hstack([block[each] for block in blocks.values()]) for each in (train, np.concatenate([val, rest])))
    widths = {name: block.shape[1] for name, block in blocks.items()}
    labelled = Labelled(learned, codes, len(present), np.ones(len(train)), widths, MemoryEngine())
    pairs, alone = _candidates(labelled)
    fold_of, cv = np.full(len(train), -1), dict[Any, np.ndarray]()
    for fold, (fit, check) in enumerate(stratified_folds(codes, 5, 0)):
        fold_of[check] = fold
        part = Labelled(learned[fit], codes[fit], len(present), np.ones(len(fit)), widths, MemoryEngine())
        for key, scores in _scores(part, learned[check], pairs, alone).items():
            cv.setdefault(key, np.full((len(train), len(present)), np.nan, np.float32))[check] = scores
    return {
        "full": _scores(labelled, others, pairs, alone), "cv": cv, "fold_of": fold_of, "tcodes": codes, "nval": len(val),
        "vcodes": code_of[graph.codes[val]], "rcodes": code_of[graph.codes[rest]], "log_shares": labelled.log_shares(),
        "scoring": default_scoring(codes),
    }  # fmt: skip


def _candidates(labelled: Labelled) -> tuple[dict[Pair, Any], dict[str, dict[Pair, float]]]:
    problem = labelled.problem()
    gradient = problem.gradient_at_zero()
    most = {l1: problem.penalty(l1, 0.0).lambda_max(gradient) for l1 in L1}
    pairs = {Pair(l1, rounded(most[l1] * share)): ("path", l1, share) for l1 in L1 for share in SHARES if most[l1] > 0}
    joint = path._joint(problem).penalty(0.0, 0.0).lambda_max(gradient)
    pairs |= {Pair(0.0, rounded(joint * share), True): ("joint", 0.0, share) for share in JOINT}
    largest = {name: largest_penalty(labelled, name) for name in labelled.widths}
    alone = {name: {Pair(0.0, rounded(each * share), True): share for share in SEPARATE} for name, each in largest.items()}
    return pairs, alone


def _scores(labelled: Labelled, rows: np.ndarray, pairs: dict[Pair, Any], alone: dict[str, dict[Pair, float]]) -> Scores:
    problem, found = labelled.problem(), dict[Any, np.ndarray]()
    for group in warm_start_groups(path._ordered(pairs)):
        found |= {pairs[pair]: each.scores(rows) for pair, each in solve_path(problem, group, 1e-3, 200, exact_zeros=False)}
    for name, tried in alone.items():
        own, columns = labelled.only(name).problem(), np.ascontiguousarray(rows[:, labelled.columns(name)])
        for pair, each in solve_path(own, path._ordered(tried), 1e-3, 200, exact_zeros=False):
            found["sep", name, tried[pair]] = each.scores(columns)
    return found


def taken(record: dict[str, Any], by: str, few: bool) -> tuple[Scores, Scores, np.ndarray]:
    """Scores of the candidates on the rows that choose and on those that compare, and the codes of the former."""
    held, k = record["fold_of"] >= 0, record["nval"]
    codes = {"rows": [record["vcodes"]], "folds": [record["tcodes"][held]]}
    codes["both"] = codes["rows"] + codes["folds"]
    pairs = [("path", l1, share) for l1 in (L1[::2] if few else L1) for share in SHARES]
    pairs += [("joint", 0.0, share) for share in (JOINT[1::2] if few else JOINT)]
    keys = [key for key in record["full"] if key in pairs or key[0] == "sep"]
    parts = {"rows": lambda key: [record["full"][key][:k]], "folds": lambda key: [record["cv"][key][held]]}
    parts["both"] = lambda key: parts["rows"](key) + parts["folds"](key)
    chosen, codes = {key: np.concatenate(parts[by](key)) for key in keys}, np.concatenate(codes[by])
    others = {key: record["full"][key][k:] for key in keys}
    tried = (0.1,) if few else (0.2, 0.05)
    names = list(dict.fromkeys(key[1] for key in keys if key[0] == "sep"))
    best = [min((log_loss(chosen["sep", name, share], codes), name, share) for share in tried) for name in names]
    order, shift = [("sep", *each[1:]) for each in sorted(best)], record["log_shares"] - record["log_shares"].mean()
    sums = []
    for scores in (chosen, others):
        first = {("sum", j): sum(scores[key] for key in order[:j]) - (j - 1) * shift for j in range(1, len(order) + 1)}
        sums.append({key: scores[key] for key in pairs if key in scores} | first)
    return sums[0], sums[1], codes


def scale_of(scores: np.ndarray, codes: np.ndarray) -> float:
    return min(SCALES, key=lambda scale: log_loss(np.float32(scale) * scores, codes))


def best_few(record: dict[str, Any], count: int = 3, by: str = "rows", loss: bool = False) -> float:
    chosen, others, codes = taken(record, by, False)
    scales = {key: scale_of(each, codes) if loss else 1.0 for key, each in chosen.items()}
    order = sorted(chosen, key=lambda key: _order(record, chosen[key] * np.float32(scales[key]), codes, loss))
    right = {key: (chosen[key].argmax(axis=1) == codes).astype(float) for key in order}
    behind = {key: right[order[0]] - right[key] for key in order}
    near = [key for key, each in behind.items() if each.mean() <= 2 * np.sqrt(each.var() / max(len(each) - 1, 1))]
    return _score(record, sum(others[key] for key in near[:count]))


def picks(record: dict[str, Any], count: int = 5, by: str = "rows", scaled: bool = True, few: bool = False) -> float:
    chosen, others, codes = taken(record, by, few)
    scales = {key: np.float32(scale_of(each, codes) if scaled else 1.0) for key, each in chosen.items()}
    order = sorted(chosen, key=lambda key: _order(record, chosen[key], codes, False))
    picked, total = [order[0]], scales[order[0]] * chosen[order[0]]
    for k in range(2, count + 1):
        picked.append(min(order, key=lambda key: log_loss((total + scales[key] * chosen[key]) / k, codes)))
        total = total + scales[picked[-1]] * chosen[picked[-1]]
    return _score(record, sum(scales[key] * others[key] for key in picked))


def weights(record: dict[str, Any], by: str = "rows") -> float:
    chosen, others, codes = taken(record, by, False)
    counted, keys = codes >= 0, list(chosen)
    own = codes[counted]
    scores = np.stack([chosen[key][counted] - chosen[key][counted].mean(axis=1, keepdims=True) for key in keys]).astype(float)
    spread = scores.std(axis=(1, 2)) + 1e-9
    scores /= spread[:, None, None]
    correct = scores[:, np.arange(len(own)), own].mean(axis=1)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        total = np.tensordot(w, scores, 1)
        chances = np.exp(total - total.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        value = -np.log(np.maximum(chances[np.arange(len(own)), own], 1e-300)).mean()
        return float(value), np.einsum("knc,nc->k", scores, chances) / len(own) - correct

    start = np.full(len(keys), 1 / len(keys))
    found = minimize(loss, start, jac=True, bounds=[(0, None)] * len(keys), method="L-BFGS-B", options={"maxiter": 100}).x
    return _score(record, sum(each * others[key] for each, key in zip(found / spread, keys, strict=True)))


def _order(record: dict[str, Any], scores: np.ndarray, codes: np.ndarray, loss: bool) -> tuple[float, ...]:
    least = log_loss(scores, codes)
    return (least,) if loss else (-round(METRICS[record["scoring"]](codes, scores), 12), least)


def _score(record: dict[str, Any], scores: np.ndarray) -> float:
    return 100 * METRICS[record["scoring"]](record["rcodes"], scores)


RULES: dict[str, Callable[[dict[str, Any]], float]] = {
    BASE: best_few,
    "best one": partial(best_few, count=1),
    "best five": partial(best_few, count=5),
    "best seven": partial(best_few, count=7),
    "by loss, best three": partial(best_few, loss=True),
    "five picks": picks,
    "ten picks": partial(picks, count=10),
    "five unscaled picks": partial(picks, scaled=False),
    "weights": weights,
    "five picks / both": partial(picks, by="both"),
    "best three / folds": partial(best_few, by="folds"),
    "five picks / folds": partial(picks, by="folds"),
    "five picks, few": partial(picks, few=True),
    "five picks, few / folds": partial(picks, few=True, by="folds"),
    "five picks, few / both": partial(picks, few=True, by="both"),
}


def table(results: dict[str, Any]) -> str:
    """Markdown: the gain of each rule over "best three" by share, and the number of graphs."""
    lines = ["| rule | " + " | ".join(f"{share}, {len(each)} graphs" for share, each in results.items()) + " |"]
    lines.append("|---" * (len(results) + 1) + "|")
    for rule in RULES:
        cells = []
        for graphs in results.values():
            gains = [np.subtract(each[rule], each[BASE]) for each in graphs.values()]
            error = np.sqrt(sum(each.var(ddof=1) / len(each) for each in gains)) / len(gains)
            cells.append(f"{np.mean([each.mean() for each in gains]):+.2f} ± {error:.2f}")
        lines.append(f"| {rule} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
