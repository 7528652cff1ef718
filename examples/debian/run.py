"""Predict the section of Debian packages from 5 % of the labels: `python -m examples.debian.run`.

    load → hide 95 % of the labels → baselines and SlimG → accuracy on the hidden labels → predictions.csv
"""

import argparse
import csv
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from examples.debian.baselines import BASELINES
from examples.debian.load import load
from slimg import Graph, SlimG
from slimg.graph.splits import stratified

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

Scores = dict[str, list[float]]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Predict the section of Debian packages from 5 % of the labels.")
    parser.add_argument("--seeds", type=int, default=1, help="number of splits, seeded 0, 1, … (default: 1)")
    parser.add_argument("--out", type=Path, default=Path("out/debian"), help="folder for predictions.csv")
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error(f"--seeds must be at least 1, not {options.seeds}")
    console = Console()
    graph = load()
    console.print(f"Debian packages: {graph}\n", highlight=False, soft_wrap=True)
    with console.status("fitting"):
        scores, model, labelled = compare(graph, options.seeds)
    console.print(accuracy_table(scores, graph.n, len(labelled)), "", weight_table(model), "", highlight=False)
    frame = predictions(graph, model, labelled)
    path = write_csv(frame, options.out / "predictions.csv")
    console.print(f"Wrote a prediction for each of {len(frame):,} packages to {path}", highlight=False)


def compare(graph: Graph, seeds: int) -> tuple[Scores, SlimG, np.ndarray]:
    """Accuracy on the hidden labels by method and seed; of seed 0, SlimG's model and the labelled rows."""
    scores: Scores = {name: [] for name in (*BASELINES, "SlimG")}
    fitted = []
    for seed in range(seeds):
        split = stratified(graph, (0.025, 0.025, 0.95), random_state=seed)
        labelled = np.sort(np.concatenate([split.train, split.val]))
        visible = graph.keeping_labels(labelled)
        model = SlimG(random_state=seed).fit(visible)
        fitted.append((model, labelled))
        found = {name: visible.classes[baseline(visible, seed)] for name, baseline in BASELINES.items()}
        found["SlimG"] = model.predict()
        for name, labels in found.items():
            scores[name].append(float(np.mean(labels[split.test] == graph.labels[split.test])))
    return scores, *fitted[0]


def accuracy_table(scores: Scores, packages: int, labelled: int) -> Table:
    seeds = len(scores["SlimG"])
    splits = "split of seed 0" if seeds == 1 else f"mean ± sd over splits of seeds 0 to {seeds - 1}"
    table = Table(title=f"Section known for {labelled} of {packages:,} packages\n(5 %, stratified; {splits})")
    table.add_column("method")
    table.add_column("accuracy on the other 95 %", justify="right")
    best = max(np.mean(values) for values in scores.values())
    for name, values in scores.items():
        spread = f" ± {100 * np.std(values, ddof=1):.1f}" if seeds > 1 else ""
        table.add_row(name, f"{100 * np.mean(values):.1f}{spread}", style="bold" if np.mean(values) == best else None)
    return table


def weight_table(model: SlimG) -> Table:
    """‖W_g‖_F of each component of P(A, X), and its share of their sum."""
    norms = model.component_weights()
    total = sum(norms.values()) or 1.0
    table = Table(title="What SlimG used (seed 0)")
    table.add_column("component")
    table.add_column("‖W‖", justify="right")
    table.add_column("share", justify="right")
    for name, norm in norms.items():
        table.add_row(name, *(("0", "not used") if norm == 0 else (f"{norm:.1f}", f"{norm / total:.0%}")))
    return table


def predictions(graph: Graph, model: SlimG, labelled: np.ndarray) -> pd.DataFrame:
    known = np.zeros(graph.n, bool)
    known[labelled] = True
    return pd.DataFrame(
        {
            "name": graph.ids,
            "section": graph.labels,
            "labelled": np.where(known, "yes", "no"),
            "prediction": model.predict(),
            "probability": model.predict_proba().max(axis=1).round(4),
        }
    )


def write_csv(frame: pd.DataFrame, path: Path) -> Path:
    """Write the whole file or none of it; text that a spreadsheet would run as a formula gets a leading quote."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            frame.map(_inert).to_csv(file, index=False, quoting=csv.QUOTE_NONNUMERIC)
        os.chmod(draft, 0o644)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
    return path


def _inert(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


if __name__ == "__main__":
    main()
