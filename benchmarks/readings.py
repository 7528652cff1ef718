"""Which reading of the linear baselines gives the paper's figures: preparation of X × propagator, learned as published.

The paper's linear baselines have no published program; that of SlimG trains `torch.nn.Linear` by PyTorch's L-BFGS as its
defaults are (no line search, float32, 20 steps an epoch), 100 epochs, patience 5 on validation accuracy, the untrained layer
counting as epoch 0. Here the columns P(A, X) go to such a loop, with the grid of the paper's last table and wd in {0, 5e-4},
chosen by validation accuracy. X is taken `raw`, with rows divided by their `sum` (sums below 1 count as 1, as in PyTorch
Geometric 1.x), or with rows of `unit` length. Beside the paper's propagators: `diff_entries`, the exponential E of each
stored entry of -L/2; `diff_entries_row` and `diff_entries_sym`, E divided by its row sums, or by their roots on both sides;
`diff_dense`, the exponential of every entry, so that exp(0) = 1 stands between all other pairs of nodes; and `diff_sqrt2`,
exp(-L): sigma = sqrt(2).

    python benchmarks/readings.py [--cases semantic-uniform,cora] [--models g2cn] [--features raw] [--seeds 5] [--minutes 9]
    python benchmarks/readings.py --cases "" prints the tables of what is recorded

One record per case, model, preparation and seed; an interrupted run continues when started again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any, ClassVar

import linear
import numpy as np
import torch
from records import read, shared, write

from slimg.components.row_scaling import dense_rows
from slimg.engine import MemoryEngine
from slimg.graph import Graph
from slimg.graph.splits import REAL, SYNTHETIC, Split, stratified
from slimg.lab import datasets, sanity
from slimg.lab.baselines.linear_gnn import WEIGHT_DECAYS
from slimg.lab.propagators import get
from slimg.lab.propagators.registry import Propagator, kind_of, register, together
from slimg.lab.sanity.case import CASES, parts
from slimg.learn.early_stopping import EPOCHS, PATIENCE

READINGS = dict.fromkeys(("diff_entries", "diff_entries_row", "diff_entries_sym", "diff_dense", "diff_sqrt2"), "diff_kernel")
"""Model in whose place a reading stands."""
MODELS = (*linear.MODELS, *READINGS)
FEATURES = ("raw", "sum", "unit")
Records = list[dict[str, Any]]


@register("diff_dense", title="Diff. Kernel by all entries")
@dataclass(frozen=True)
class DiffusionOfAllEntries(linear.DiffusionOfEntries):
    """exp∘(−L/2) X with exp(0) = 1 between nodes that are not neighbours."""

    def columns(self, graph: Any, engine: Any, x: Any) -> dict[str, Any]:
        stored = engine.to_array(super().columns(graph, engine, x)["P"])
        values = engine.to_array(x)
        pattern = graph.adjacency.to_scipy() @ values + values
        return {"P": engine.row_matrix((stored - pattern + values.sum(axis=0, dtype=np.float64)).astype(np.float32))}


@register("diff_entries_row", title="Diff. Kernel by entries, rows of sum 1")
@dataclass(frozen=True)
class RowDiffusionOfEntries(linear.DiffusionOfEntries):
    """R⁻¹ E X: E as in diff_entries, R its row sums."""

    left: ClassVar = -1.0
    right: ClassVar = 0.0

    def columns(self, graph: Any, engine: Any, x: Any) -> dict[str, Any]:
        ones = engine.row_matrix(np.ones((graph.n, 1), np.float32))
        sums = engine.to_array(super().columns(graph, engine, ones)["P"])
        stored = super().columns(graph, engine, engine.row_matrix(engine.to_array(x) * sums**self.right))["P"]
        return {"P": engine.row_matrix(engine.to_array(stored) * sums**self.left)}


@register("diff_entries_sym", title="Diff. Kernel by entries, scaled on both sides")
@dataclass(frozen=True)
class SymmetricDiffusionOfEntries(RowDiffusionOfEntries):
    """R^-½ E R^-½ X."""

    left: ClassVar = -0.5
    right: ClassVar = -0.5


def main() -> None:
    options = _arguments()
    records: Records = read("readings").get("records", [])
    end = time.monotonic() + 60 * options.minutes
    for features, case, model in product(options.features, options.cases, options.models):
        done = {r["seed"] for r in _of(records, case, model, features)}
        seeds = [seed for seed in range(options.seeds) if seed not in done]
        if seeds and time.monotonic() < end:
            records += run(case, model, features, seeds)
            write("readings", {"protocol": __doc__.split("\n\n")[1], "records": records})
            print(f"{features:<5}{case:<24}{model:<13}{cell(records, case, model, features)}", flush=True)
    for cases in (list(CASES), list(linear.DATASETS)):
        print(f"\n{table(records, cases)}")


def run(case: str, model: str, features: str, seeds: list[int]) -> Records:
    """One model on one graph: each setting is propagated once, each seed learns with all of them."""
    graph = prepared(case, features)
    settings = list(_settings(model))
    propagated = together(settings, graph, MemoryEngine(), normalize_features=None)
    columns = [torch.as_tensor(each.labelled_rows(np.arange(graph.n)), dtype=torch.float32) for each in propagated]
    codes = torch.as_tensor(graph.codes).long()
    records: Records = []
    for seed in seeds:
        split = stratified(graph, SYNTHETIC if case in CASES else REAL, seed)
        tried = [
            {**learned(x, codes, split, wd, seed), "wd": wd, **_values(setting)}
            for (setting, x), wd in product(zip(settings, columns, strict=True), WEIGHT_DECAYS)
        ]
        best = max(tried, key=lambda each: each["validation"])
        records.append({"case": case, "model": model, "features": features, "seed": seed, **best})
    return records


def learned(x: torch.Tensor, codes: torch.Tensor, split: Split, wd: float, seed: int) -> dict[str, Any]:
    """Accuracies in percent of the first epoch with the best validation accuracy; epoch 0 is the untrained layer."""
    rows = {name: x[torch.as_tensor(getattr(split, name))] for name in ("train", "val", "test")}
    right = {name: codes[torch.as_tensor(getattr(split, name))] for name in rows}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layer = torch.nn.Linear(x.shape[1], int(codes.max()) + 1)
    optimiser = torch.optim.LBFGS(layer.parameters())

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        squares = torch.stack([each.square().sum() for each in layer.parameters()]).sum()
        value = torch.nn.functional.cross_entropy(layer(rows["train"]), right["train"]) + wd / 2 * squares
        value.backward()
        return value

    def accuracy(name: str) -> float:
        with torch.no_grad():
            return 100 * float((layer(rows[name]).argmax(dim=1) == right[name]).double().mean())

    kept = {"validation": accuracy("val"), "accuracy": accuracy("test"), "epoch": 0}
    for epoch in range(1, EPOCHS + 1):
        optimiser.step(loss)
        validation = accuracy("val")
        if validation > kept["validation"]:
            kept = {"validation": validation, "accuracy": accuracy("test"), "epoch": epoch}
        elif epoch >= kept["epoch"] + PATIENCE:
            break
    return {name: round(value, 3) for name, value in kept.items()}


@cache
def prepared(case: str, features: str) -> Graph:
    graph = _loaded(case)
    x = dense_rows(graph.features)
    if features == "sum":
        x = x / np.maximum(x.sum(axis=1, keepdims=True), 1)
    if features == "unit":
        length = np.linalg.norm(x, axis=1, keepdims=True)
        x = x / np.where(length > 0, length, 1)
    return replace(graph, features=x.astype(np.float32), feature_names=None)


@cache
def _loaded(case: str) -> Graph:
    return sanity.make(*parts(case)).graph if case in CASES else datasets.load(case)


def _settings(model: str) -> Iterator[Propagator]:
    if model == "diff_sqrt2":
        yield get("diff_kernel", sigma=2**0.5)
        return
    grid = kind_of(model).grid
    for values in product(*grid.values()):
        yield get(model, **dict(zip(grid, values, strict=True)))


def _values(setting: Propagator) -> dict[str, Any]:
    return {name: getattr(setting, name) for name in type(setting).grid}


def paper(case: str, model: str) -> list[float]:
    """The paper's mean and standard deviation."""
    kind = READINGS.get(model, model)
    title = linear.PAPER_MODELS.get(kind, kind_of(kind).title)
    if case in CASES:
        return shared("tables.json")["sanity_checks"][title][case]
    return shared("tables.json")["real_world"][title][linear.PAPER_DATASETS.get(case, case.capitalize())]


def cell(records: Records, case: str, model: str, features: str) -> str:
    """Mean ± deviation, and a mark where the means are more than two of the paper's deviations apart."""
    ours = [r["accuracy"] for r in _of(records, case, model, features)]
    if not ours:
        return "–"
    mean, (theirs, deviation) = float(np.mean(ours)), paper(case, model)
    mark = "" if abs(mean - theirs) <= 2 * deviation else " ▲" if mean > theirs else " ▼"
    return f"{mean:.1f} ± {np.std(ours):.1f}{mark}" + (f" ({len(ours)})" if len(ours) < 5 else "")


def table(records: Records, cases: list[str]) -> str:
    """Markdown: the paper's figures, then ours; ▲ ▼ outside of its mean ± two deviations; (k) if only k splits were run."""
    lines = ["| model, X | " + " | ".join(cases) + " | within |", "|---" * (len(cases) + 2) + "|"]
    for model in MODELS:
        rows = []
        for features in FEATURES:
            cells = [cell(records, case, model, features) for case in cases]
            run_cells = [each for each in cells if each != "–"]
            within = sum("▲" not in each and "▼" not in each for each in run_cells)
            if run_cells:
                rows.append(f"| {model}, {features} | " + " | ".join(cells) + f" | {within} of {len(run_cells)} |")
        if rows and model not in READINGS:
            theirs = ["{} ± {}".format(*paper(case, model)) for case in cases]
            lines.append(f"| **{model}, paper** | " + " | ".join(theirs) + " | |")
        lines += rows
    return "\n".join(lines)


def _of(records: Records, case: str, model: str, features: str) -> Records:
    return [r for r in records if (r["case"], r["model"], r["features"]) == (case, model, features)]


def _arguments() -> argparse.Namespace:
    def listed(text: str) -> list[str]:
        return text.split(",") if text else []

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=listed, default=[*CASES, *linear.DATASETS])
    parser.add_argument("--models", type=listed, default=list(MODELS))
    parser.add_argument("--features", type=listed, default=list(FEATURES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing new after this long")
    return parser.parse_args()


if __name__ == "__main__":
    main()
