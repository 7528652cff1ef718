"""Accuracy of the paper's linear models (LR, three kernels, SGC, DGC, S²GC, G²CN) on eight real graphs, beside its table.

Protocol: 2.5 / 2.5 / 95 % stratified, seeds 0 … 4; the grid of the paper's last table, chosen by validation accuracy; L-BFGS
stopped early (`slimg.learn.early_stopping`); rows of X divided by their sum, as the paper says, or raw. One record per
dataset, model, preparation of X and seed; an interrupted run, or one out of `--minutes`, continues when started again.

    python benchmarks/linear.py [--datasets cora,photo] [--models sgc,dgc] [--features row,raw] [--seeds 5] [--minutes 9]
    python benchmarks/linear.py --datasets "" prints the tables of what is recorded

The model `diff_entries` takes exp of each stored entry of −L/2 instead of the matrix: it tests an explanation of the paper's
figures for the diffusion kernel, see docs/deviations.md.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from records import read, shared, write

from slimg.engine import Scaling
from slimg.graph import Adjacency
from slimg.graph.splits import REAL, stratified
from slimg.lab import datasets
from slimg.lab.baselines.linear_gnn import LinearGNN
from slimg.lab.propagators.registry import Propagator, kind_of, register

DATASETS = ("cora", "citeseer", "pubmed", "computers", "photo", "chameleon", "squirrel", "actor")
MODELS = ("lr", "reg_kernel", "diff_kernel", "rw_kernel", "sgc", "dgc", "s2gc", "g2cn")
PAPER_DATASETS = {"citeseer": "CiteSeer", "pubmed": "PubMed"}
PAPER_MODELS = {"s2gc": "S2GC", "g2cn": "G2CN", "diff_entries": "Diff. Kernel"}
Records = list[dict[str, Any]]


@register("diff_entries", title="Diff. Kernel by entries")
@dataclass(frozen=True)
class DiffusionOfEntries(Propagator):
    """(e^-½ I + exp∘(A_sym/2) on the edges) X."""

    def columns(self, graph: Any, engine: Any, x: Any) -> dict[str, Any]:
        adjacency = graph.adjacency
        scale = np.maximum(adjacency.degree(), 1) ** -0.5
        near = scale[np.repeat(np.arange(adjacency.n), np.diff(adjacency.indptr))] * scale[adjacency.indices]
        weights = np.exp(near / 2).astype(np.float32)
        matrix = Adjacency(adjacency.indptr, adjacency.indices, weights)
        return {"P": engine.products(matrix, x, [Scaling(None, None, float(np.exp(-0.5)))])[0]}


def main() -> None:
    options = _arguments()
    records: Records = read("linear").get("records", [])
    end = time.monotonic() + 60 * options.minutes
    for features in options.features:
        for dataset in options.datasets:
            for model in options.models:
                done = {r["seed"] for r in _of(records, dataset, model, features)}
                seeds = [seed for seed in range(options.seeds) if seed not in done]
                if seeds and time.monotonic() < end:
                    records += run(dataset, model, features, seeds)
                    write("linear", {"protocol": __doc__.split("\n\n")[1], "records": records})
                    print(f"{features} {dataset:<10} {model:<12} {cell(records, dataset, model, features)}", flush=True)
    for features in dict.fromkeys(r["features"] for r in records):
        print(f"\nX: {features}\n\n{table(records, features)}")


def run(dataset: str, name: str, features: str, seeds: list[int]) -> Records:
    """One model on one graph: each setting is propagated once, each seed learns with all of them."""
    graph = datasets.load(dataset)
    model = LinearGNN(name, normalize_features="row" if features == "row" else None)
    begun = time.perf_counter()
    propagated = model.propagate(graph)
    propagation = time.perf_counter() - begun
    records = []
    for seed in seeds:
        split = stratified(graph, REAL, seed)
        model.fit(graph, train=split.train, val=split.val, propagated=propagated)
        chosen = max(model.selection_, key=lambda each: (each["val_accuracy"], -each["val_loss"]))
        accuracy = 100 * float((model.predict() == graph.labels)[split.test].mean())
        record: dict[str, Any] = {"dataset": dataset, "model": name, "features": features, "seed": seed}
        record["accuracy"] = round(accuracy, 3)
        record["chosen"] = {key: value for key, value in chosen.items() if key != "seconds"}
        record["seconds"] = {"propagation": round(propagation, 2), "learning": round(model.seconds_["learning"], 2)}
        records.append(record)
    return records


def cell(records: Records, dataset: str, model: str, features: str) -> str:
    """Mean ± deviation, the paper's, and a mark where the means are more than two of the paper's deviations apart."""
    ours = [r["accuracy"] for r in _of(records, dataset, model, features)]
    if not ours:
        return ""
    mean, std = float(np.mean(ours)), float(np.std(ours))
    paper = shared("tables.json").get("real_world", {}).get(PAPER_MODELS.get(model, kind_of(model).title), {})
    theirs = paper.get(PAPER_DATASETS.get(dataset, dataset.capitalize()))
    if theirs is None:
        return f"{mean:.1f} ± {std:.1f}"
    mark = "" if abs(mean - theirs[0]) <= 2 * theirs[1] else " ▲" if mean > theirs[0] else " ▼"
    return f"{mean:.1f} ± {std:.1f} ({theirs[0]} ± {theirs[1]}){mark}"


def table(records: Records, features: str) -> str:
    """Markdown: ours (the paper's); ▲ and ▼ mark means outside of the paper's mean ± two standard deviations."""
    lines = ["| model | " + " | ".join(DATASETS) + " |", "|---" * (len(DATASETS) + 1) + "|"]
    for model in (*MODELS, "diff_entries"):
        cells = [cell(records, dataset, model, features) for dataset in DATASETS]
        if any(cells):
            lines.append(f"| {kind_of(model).title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _of(records: Records, dataset: str, model: str, features: str) -> Records:
    return [r for r in records if (r["dataset"], r["model"], r["features"]) == (dataset, model, features)]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--datasets", type=lambda text: text.split(",") if text else [], default=list(DATASETS))
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS))
    parser.add_argument("--features", type=lambda text: text.split(","), default=["row"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing new after this long")
    return parser.parse_args()


if __name__ == "__main__":
    main()
