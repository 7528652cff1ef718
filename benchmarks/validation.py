"""Variants of the default (components, search) compared by nested validation: no node outside of the labelled set is looked at.

A labelled set is a stratified share of the nodes, drawn by seed. Two thirds of it are to learn and choose the penalties on
(a third of them chooses; with ``--folds`` five folds do, as in a fit without validation rows), the last third compares the
variants; labels of all other nodes are never read. Components do not depend on labels and are computed once for each graph.
A variant's gain is the mean over graphs of its paired differences from the default list for few labels, each graph counting
once; its error is that of this mean over the seeds. The score is the accuracy in percent, and the average precision where one
of two classes is rare (Reddit).

    python benchmarks/validation.py [--graphs cora,squirrel] [--shares 5,48] [--variants default,hop] [--folds]
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from records import ROOT, read, write

from slimg import Graph
from slimg.components import PropagatedFeatures, Structure, Target, compute_components, default_components
from slimg.components.component import Component
from slimg.components.row_scaling import unit_rows
from slimg.engine.memory import MemoryEngine
from slimg.graph.splits import stratified
from slimg.learn import path, search
from slimg.learn.objective import METRICS, Labelled

DATA = Path(os.environ.get("SLIMG_DATA", "../shared/data"))
SEEDS = {"cora": 10, "citeseer": 10, "chameleon": 10, "squirrel": 8, "actor": 6, "reddit": 4}
"""Seeds at shares up to 10 %; three for the other graphs, and fewer for larger shares, whose errors are smaller."""
DEFAULT = tuple(each.name for each in default_components())
WIDE = 512
BASE = "few labels"
"""The variant that the others are compared with: the default list for few labels, whatever their number."""


class Variant(NamedTuple):
    """Names of blocks (`blocks_of`; none: the default for the number of labels), options of the search, and constants."""

    blocks: tuple[str, ...] = DEFAULT
    options: Mapping[str, Any] = MappingProxyType({})
    constants: tuple[Any, dict[str, Any]] | None = None


VARIANTS = {
    "few labels": Variant(),
    "by labels": Variant(()),
    "hop": Variant((*DEFAULT, "A_row^1 X")),
    "own scale": Variant((*DEFAULT, "X raw")),
    "both": Variant((*DEFAULT, "A_row^1 X", "X raw")),
    "U 128": Variant(("U 128", *DEFAULT[1:])),
    "U 256": Variant(("U 256", *DEFAULT[1:])),
    "U 512": Variant(("U 512", *DEFAULT[1:])),
    "U 64 and 512": Variant((*DEFAULT, "U 512")),
    "U 256 and hop": Variant(("U 256", *DEFAULT[1:], "A_row^1 X")),
    "U 512 and hop": Variant(("U 512", *DEFAULT[1:], "A_row^1 X")),
    "rank 512": Variant(("U", *(f"{name} 512" for name in DEFAULT[1:]))),
    "all 512": Variant(("U 512", *(f"{name} 512" for name in DEFAULT[1:]), "A_row^1 X")),
    "mean of 1": Variant(options={"average": 1}),
    "mean of 5": Variant(options={"average": 5}),
    "mean of 7": Variant(options={"average": 7}),
    "no λ₁ of 1e-4": Variant(constants=(path, {"PATH_L1": (0.0, 1e-3)})),
    "weaker pairs": Variant(constants=(path, {"PATH_SHARES": (0.4, 0.1, 0.02, 0.005)})),
    "weaker joint pairs": Variant(constants=(path, {"JOINT_SHARES": (0.4, 0.2, 0.1, 0.05, 0.01)})),
    "reach 1": Variant(constants=(search, {"REACH": 1.0})),
    "reach 3": Variant(constants=(search, {"REACH": 3.0})),
}


def main() -> None:
    options = _arguments()
    block = "folds" if options.folds else "rows"
    results = read("validation").get(block, {})
    for name in options.graphs:
        graph = load(name)
        named = [VARIANTS[each].blocks or (*DEFAULT, "A_row^1 X", f"U {WIDE}") for each in options.variants]
        blocks = blocks_of(graph, set().union(*named))
        for share in options.shares:
            record = results.setdefault(name, {}).setdefault(f"{share:g} %", {})
            compare(graph, blocks, share, _seeds(name, share, options.seeds), options.variants, options.folds, record)
            figures = "  ".join(f"{each} {np.mean(record[each]['scores']):.2f}" for each in options.variants)
            print(f"{name:<10} {share:g} %  {figures}", flush=True)
        recorded = read("validation")
        results = recorded.get(block, {}) | {name: results[name]}
        write("validation", recorded | {"protocol": __doc__.split("\n\n")[1], block: results})
    print(table(results))


def compare(
    graph: Graph, blocks: dict[str, Any], share: float, seeds: int, variants: list[str], folds: bool, record: dict[str, Any]
) -> None:
    """Scores of each variant on the last third of each labelled set, and CPU seconds of the search."""
    known = share / 100
    for seed in range(seeds):
        split = stratified(graph, (known * 2 / 3, known / 3, 1 - known), seed)
        train, val = split.train, None
        if not folds:
            train, val = _thirds(graph, split.train, seed)
        for name in variants:
            entry = record.setdefault(name, {"scores": [], "cpu_seconds": []})
            if len(entry["scores"]) > seed:
                continue
            begun = time.process_time()
            entry["scores"].append(round(100 * score(graph, blocks, VARIANTS[name], train, val, split.val), 3))
            entry["cpu_seconds"].append(round(time.process_time() - begun, 2))


def _thirds(graph: Graph, rows: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two thirds and one third of the rows, by class where each class has rows enough."""
    order = np.random.default_rng(seed).permutation(rows)
    order = order[np.argsort(graph.codes[order], kind="stable")]
    chosen = np.arange(len(order)) % 3 == 2
    return np.sort(order[~chosen]), np.sort(order[chosen])


def score(
    graph: Graph, blocks: dict[str, Any], variant: Variant, train: np.ndarray, val: np.ndarray | None, rest: np.ndarray
) -> float:
    """Fit on the rows to learn from, and score the rows that are left of the labelled set."""
    present, codes = np.unique(graph.codes[train], return_inverse=True)
    code_of = np.full(len(graph.classes) + 1, -1)
    code_of[present] = np.arange(len(present))
    taken = _taken(blocks, variant.blocks, len(train))
    widths = {name: block.shape[1] for name, block in taken.items()}
    rows, others = (np.hstack([block[index] for block in taken.values()]) for index in (train, rest))
    validation = None
    if val is not None:
        validation = np.hstack([block[val] for block in taken.values()]), code_of[graph.codes[val]]
    labelled = Labelled(rows, codes, len(present), np.ones(len(train)), widths, MemoryEngine())
    module, values = variant.constants or (None, {})
    context: AbstractContextManager[Any] = nullcontext() if module is None else patch.multiple(module, **values)
    with context:
        found = search.search(search.SearchConfig(**variant.options), labelled, validation)
    return METRICS[found.scoring](code_of[graph.codes[rest]], found.solution.scores(others))


def _taken(blocks: dict[str, Any], names: tuple[str, ...], labels: int) -> dict[str, Any]:
    """Blocks by name; without names those of the default for a number of labels, U being the leading columns of a wide one."""
    if names:
        return {name: blocks[name] for name in names}
    structure, *others = default_components(labels)
    leading = unit_rows(np.ascontiguousarray(blocks[f"U {WIDE}"][:, : structure.rank]))
    return {"U": leading} | {each.name: blocks[each.name] for each in others if each.name in blocks}


def blocks_of(graph: Graph, wanted: set[str]) -> dict[str, Any]:
    """Name → rows (n × k). ``U 256`` has other columns of U; ``… 512`` another rank; ``X raw`` rows at their own scale."""
    found: dict[str, Any] = {}
    listed: list[Component] = [*default_components(), PropagatedFeatures(steps=1)]
    parts = compute_components(graph, components=[each for each in listed if each.name in wanted or each.name in ("U", "X")])
    found |= dict(parts.blocks)
    if "X raw" in wanted and "X" in parts.fitted:
        fitted = parts.fitted["X"]
        raw = np.vstack([fitted.component.project(fitted.state, Target(graph, some)) for some in _pieces(graph.n)])
        found["X raw"] = (raw / np.sqrt(np.einsum("ij,ij->", raw, raw) / len(raw))).astype(np.float32)
    columns = {f"U {k}": k for k in (128, 256, WIDE) if f"U {k}" in wanted}
    if columns:
        wide = compute_components(graph, components=[Structure(rank=max(columns.values()))]).blocks["U"]
        found |= {name: unit_rows(np.ascontiguousarray(wide[:, :k])) for name, k in columns.items()}
    if f"X {WIDE}" in wanted:
        many = [_with_rank(each) for each in default_components()[1:]]
        wider = compute_components(graph, components=many).blocks
        found |= {f"{name} {WIDE}": block for name, block in wider.items()}
    return found


def _with_rank(component: Component) -> Component:
    return type(component)(**{**component.options(), "rank": WIDE})


def _pieces(n: int) -> list[np.ndarray]:
    return np.array_split(np.arange(n), max(1, n // 5_000))


def load(name: str) -> Graph:
    """One of the eight graphs and Cornell5, or Reddit, Debian and WordNet with all links merged."""
    from slimg.lab import datasets

    return OTHERS[name]() if name in OTHERS else datasets.load(name)


def _reddit() -> Graph:
    file = np.load(DATA / "reddit" / "reddit.npz")
    pairs = {"source": file["edges"][:, 0], "target": file["edges"][:, 1]}
    return Graph.from_edges(pairs, np.arange(len(file["y"])), features=file["x"], labels=file["y"])


def _debian() -> Graph:
    import sys

    sys.path.insert(0, str(ROOT))
    from examples.debian.load import load as load_debian

    return load_debian(merged=True)


def _wordnet() -> Graph:
    import slimg

    folder = DATA / "wordnet"
    return slimg.read(
        edges=folder / "edges.csv.gz", nodes=folder / "nodes.csv.gz", label="lexname", features=["gloss"], directed=False
    )


OTHERS: dict[str, Callable[[], Graph]] = {"reddit": _reddit, "debian": _debian, "wordnet": _wordnet}
EIGHT = ("cora", "citeseer", "pubmed", "computers", "photo", "chameleon", "squirrel", "actor")


def table(results: dict[str, Any]) -> str:
    """Markdown: the mean gain of each variant over the default with its error, by share and over all, and CPU ratios."""
    shares = list(dict.fromkeys(share for graph in results.values() for share in graph))
    variants = list(dict.fromkeys(name for graph in results.values() for share in graph.values() for name in share))
    lines = [f"| variant | {' | '.join(shares)} | all | CPU |", "|---" * (len(shares) + 3) + "|"]
    for name in variants:
        if name == BASE:
            continue
        cells = [gain([graph.get(share, {}) for graph in results.values()], name) for share in shares]
        every = gain([share for graph in results.values() for share in graph.values()], name)
        lines.append(f"| {name} | {' | '.join([*cells, every])} | {_cpu_ratio(results, name):.2f} |")
    return "\n".join(lines)


def gain(entries: list[dict[str, Any]], name: str) -> str:
    """Mean paired difference from the default over entries that have both, ± its standard error."""
    means, variances = [], []
    for entry in entries:
        if name not in entry or BASE not in entry:
            continue
        count = min(len(entry[each]["scores"]) for each in (name, BASE))
        differences = np.subtract(entry[name]["scores"][:count], entry[BASE]["scores"][:count])
        means.append(differences.mean())
        variances.append(differences.var(ddof=1) / count if count > 1 else np.nan)
    if not means:
        return ""
    return f"{np.mean(means):+.2f} ± {np.sqrt(np.nansum(variances)) / len(means):.2f}"


def _cpu_ratio(results: dict[str, Any], name: str) -> float:
    both = [entry for graph in results.values() for entry in graph.values() if name in entry and BASE in entry]
    ours, base = (sum(np.mean(entry[each]["cpu_seconds"]) for entry in both) for each in (name, BASE))
    return ours / base if both else np.nan


def _seeds(name: str, share: float, given: int | None) -> int:
    most = SEEDS.get(name, 3)
    return given or (most if share <= 10 else max(2, most // 3))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graphs", type=lambda text: text.split(","), default=[*EIGHT, "cornell5", "reddit", "debian"])
    parser.add_argument("--shares", type=lambda text: [float(each) for each in text.split(",")], default=[5.0, 10.0, 20.0, 48.0])
    parser.add_argument("--variants", type=lambda text: text.split(","), default=list(VARIANTS))
    parser.add_argument("--seeds", type=int, default=None)
    parser.add_argument("--folds", action="store_true", help="choose by five folds")
    return parser.parse_args()


if __name__ == "__main__":
    main()
