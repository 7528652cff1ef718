"""Predict the section of Debian packages from 5 % of the labels: `python -m examples.debian.run`.

    hide 95 % of the sections → `slimg fit` on the two files → predictions, model and page in one folder
    simple methods, and SlimG without relations, on the same labels → accuracy of all on the hidden sections
    weights of the components → which relations tell the section
"""

import argparse
import json
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from examples.debian.baselines import BASELINES
from examples.debian.load import HERE, load
from slimg import Graph, SlimG, cli
from slimg.graph.splits import Split, stratified
from slimg.io.write import write_table

Scores = dict[str, list[float]]
Part = dict[str, Any]
MERGED = "SlimG, dependencies merged and undirected"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Predict the section of Debian packages from 5 % of the labels.")
    parser.add_argument("--seeds", type=int, default=1, help="number of splits, seeded 0, 1, … (default: 1)")
    parser.add_argument("--out", type=Path, default=Path("out/debian"), help="folder for predictions, model and page")
    parser.add_argument("--data", type=Path, default=HERE, help="folder of packages.parquet and relations.parquet")
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error(f"--seeds must be at least 1, not {options.seeds}")
    console = Console()
    graph, merged = load(options.data), load(options.data, merged=True)
    splits = [stratified(graph, (0.025, 0.025, 0.95), random_state=seed) for seed in range(options.seeds)]
    labelled = known(splits[0])
    fit_files(options.data, options.out, labelled, console)
    with console.status("comparing with simple methods"):
        scores = compare(graph, merged, splits, predictions(options.out))
    record = json.loads((options.out / "record.json").read_text(encoding="utf-8"))
    parts = record["model"]["overview"]["components"]
    for table in (accuracy_table(scores, graph.n, len(labelled)), weight_table(parts), relation_table(parts, graph)):
        console.print("", table, highlight=False)
    console.print()
    page = (options.out / "report.html").resolve()
    console.print(f"The page: {page.as_uri()}", f"Open it with: xdg-open {shlex.quote(str(page))}", sep="\n",
                  highlight=False, soft_wrap=True)  # fmt: skip


def known(split: Split) -> np.ndarray:
    """Rows whose section is not hidden."""
    return np.sort(np.concatenate([split.train, split.val]))


def fit_files(data: Path, out: Path, labelled: np.ndarray, console: Console) -> None:
    """Write the packages with all but these sections hidden, and run the command that a user would type."""
    packages = pd.read_parquet(data / "packages.parquet")
    hidden = np.setdiff1d(np.arange(len(packages)), labelled)
    packages.loc[hidden, "section"] = None
    nodes = write_table(packages, out / "packages.parquet")
    words = ["fit", "--edges", str(data / "relations.parquet"), "--relation", "relation", "--directed", "--nodes", str(nodes),
             "--id", "name", "--label", "section", "--out", str(out), "--title", "Sections of Debian packages",
             "--force"]  # fmt: skip
    console.print(f"$ slimg {shlex.join(words)}\n", highlight=False, soft_wrap=True)
    code = cli.main(words)
    if code:
        raise SystemExit(code)


def predictions(out: Path) -> np.ndarray:
    return pd.read_parquet(out / "predictions.parquet")["prediction"].to_numpy(object)


def compare(graph: Graph, merged: Graph, splits: list[Split], first: np.ndarray) -> Scores:
    """Accuracy on the hidden labels by method and seed; ``first`` are SlimG's predictions on the first split."""
    scores: Scores = {name: [] for name in (*BASELINES, MERGED, "SlimG")}
    assert graph.labels is not None  # the table of packages has a column of sections
    for seed, split in enumerate(splits):
        visible, plain = graph.mask_labels(known(split)), merged.mask_labels(known(split))
        found = {name: visible.classes[baseline(visible, seed)] for name, baseline in BASELINES.items()}
        found[MERGED] = SlimG(random_state=seed).fit(plain).predict()
        found["SlimG"] = first if seed == 0 else SlimG(random_state=seed).fit(visible).predict()
        for name, labels in found.items():
            scores[name].append(float(np.mean(labels[split.test] == graph.labels[split.test])))
    return scores


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


def weight_table(parts: list[Part]) -> Table:
    """‖W_g‖_F of each component of P(A, X), and its share of their sum."""
    table = Table(title="What SlimG used (seed 0)")
    table.add_column("component")
    table.add_column("‖W‖", justify="right")
    table.add_column("share", justify="right")
    for part in parts:
        used = ("0", "not used") if part["removed"] else (f"{part['norm']:.1f}", f"{part['share']:.0%}")
        table.add_row(f"{part['name']}: {part['title']}", *used)
    return table


def relation_table(parts: list[Part], graph: Graph) -> Table:
    """For each relation: edges, the share of them within one section, and the weight of the paths that follow it."""
    table = Table(title="Which relations tell the section (seed 0)")
    table.add_column("relation")
    for name in ("edges", "within one section", "weight of its paths"):
        table.add_column(name, justify="right")
    for relation in graph.relations:
        ends = relation.out.to_scipy().tocoo().coords
        alike = np.mean(graph.codes[ends[0]] == graph.codes[ends[1]])
        share = sum(part["share"] for part in parts if relation.name in follows(part["name"]))
        table.add_row(relation.name, f"{len(ends[0]):,}", f"{alike:.0%}", f"{share:.1%}" if share else "not used")
    return table


def follows(component: str) -> set[str]:
    """Names of the relations in the name of a component: `Depends ← Suggests → X` follows Depends and Suggests."""
    words = component.split()
    return {name for name, arrow in pairwise(words) if arrow in ("→", "←")}


if __name__ == "__main__":
    main()
