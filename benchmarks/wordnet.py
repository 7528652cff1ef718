"""WordNet from its two tables in one command: all links merged, and one component for each path along relations.

5 % of the nodes (drawn by seed) keep their label, `lexname`; the features are the words of `gloss`. For each seed and both
ways `slimg fit` runs in a process of its own, one after the other, and its predictions of the other nodes are compared with
the truth. Seconds are those of the whole command (files to page), its stages, and CPU seconds; the ratio of typed to merged
is what counts on a busy machine.

With --explanations the typed command runs for the first seed alone; the scores of 1,000 nodes are explained from its model file,
and for each the parts, and the features and neighbours of each part, are added up and compared with the scores. The fit is kept
in --folder, if one is given, and taken from there the next time.

With --fit the merged links are read and fitted in this process, without files and page: its peak after each stage.

    python benchmarks/wordnet.py [--seeds 3] [--explanations [--folder DIR]] [--fit]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from records import read, write
from speed import peak_bytes

DATA = Path(os.environ.get("SLIMG_DATA", "../shared/data")) / "wordnet"
LIMIT = 1e-4
"""What parts of an explanation may lack to a score."""
WAYS = {"merged": ["--no-directed"], "typed": ["--relation", "relation", "--directed"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--explanations", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    if options.fit:
        return write("wordnet", {**read("wordnet"), "fit alone": fit_alone()})
    nodes = pd.read_csv(DATA / "nodes.csv.gz", keep_default_na=False)
    runs: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        for seed in range(1 if options.explanations else options.seeds):
            known = np.random.default_rng(seed).random(len(nodes)) < 0.05
            masked = folder / "nodes.csv.gz"
            nodes.assign(lexname=nodes.lexname.where(known, "")).to_csv(masked, index=False)
            if options.explanations:
                model = folder / "typed" / "model.slimg"
                if not model.exists():
                    run(masked, nodes, known, WAYS["typed"], folder / "typed")
                found = explanations(_model(model))
                print(json.dumps(found, indent=1))
                return write("wordnet", {**read("wordnet"), "explanations": found})
            for way, given in WAYS.items():
                runs[way].append(run(masked, nodes, known, given, folder / f"{way}{seed}"))
                print(way, seed, {key: value for key, value in runs[way][-1].items() if key != "zero"}, flush=True)
            write("wordnet", {**read("wordnet"), "protocol": __doc__.split("\n\n")[1], "runs": runs, **summary(runs)})
    print(json.dumps(summary(runs), indent=1))


def run(masked: Path, nodes: pd.DataFrame, known: np.ndarray, options: list[str], out: Path) -> dict[str, Any]:
    """One command: its accuracy on the nodes without a label, seconds, peak, and what its components came to."""
    command = [sys.executable, "-m", "slimg", "fit", "--edges", str(DATA / "edges.csv.gz"), "--nodes", str(masked)]
    command += ["--label", "lexname", "--features", "gloss", "--out", str(out), *options]
    begun = time.perf_counter()
    with (out.with_suffix(".txt")).open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(out.with_suffix(".txt").read_text())
    seconds = time.perf_counter() - begun
    (path,) = out.glob("predictions.*")
    table = (pd.read_parquet if path.suffix == ".parquet" else pd.read_csv)(path).set_index("synset").loc[nodes.synset]
    model = _model(out / "model.slimg")
    return {
        "accuracy": round(100 * float((table.prediction.to_numpy() == nodes.lexname.to_numpy())[~known].mean()), 2),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "stages": {key: round(value, 1) for key, value in model.seconds_.items() if key in ("screening", "total", "learning")},
        "peak_gb": round(usage.ru_maxrss / 1e6, 2),
        "columns": sum(len(each) for each in model.coef_.values()),
        "gap": float(f"{model.dual_gap_:.1e}"),
        "count": [name for name in model.coef_ if name not in model.zero_components_],
        "zero": list(model.zero_components_),
    }


def fit_alone(seed: int = 0) -> dict[str, Any]:
    """`slimg.read` and `SlimG().fit` with 5 % labels: peak in GB after each, CPU seconds, accuracy on the other nodes."""
    import slimg
    from slimg import SlimG

    begun, peaks = time.process_time(), {"import": peak_bytes() / 1e9}
    tables = {"edges": DATA / "edges.csv.gz", "nodes": DATA / "nodes.csv.gz"}
    graph = slimg.read(**tables, label="lexname", features=["gloss"], directed=False)
    peaks["read"] = peak_bytes() / 1e9
    known = np.random.default_rng(seed).random(graph.n) < 0.05
    model = SlimG().fit(graph, train=known)
    peaks["fit"] = peak_bytes() / 1e9
    right = model.predict() == graph.labels
    found = {"peak_gb": {stage: round(each, 2) for stage, each in peaks.items()}, "labels": int(known.sum())}
    found |= {"cpu_seconds": round(time.process_time() - begun, 1), "accuracy": round(100 * float(right[~known].mean()), 2)}
    print(json.dumps(found, indent=1))
    return found


def explanations(model: Any, count: int = 1_000) -> dict[str, Any]:
    """The largest differences between scores and the sums of their parts, and between parts and what they are made of.

    Parts are computed in float64 for the node alone, the scores by the fit in float32: that difference is listed with its
    median over nodes; ``rounding`` of an explanation is the same difference, so that with it the sum is exact.
    """
    graph = model.fitted_graph_.graph
    rows = np.sort(np.random.default_rng(0).choice(graph.n, count, replace=False))
    scores, worst = model.decision_function()[rows], {"parts": 0.0, "features": 0.0, "neighbours": 0.0, "rounding": 0.0}
    each_node = []
    for row, expected in zip(rows, scores, strict=True):
        found = model.explain(graph.ids[row], graph)
        sums = {"parts": [(found.bias + sum(part.scores for part in found.parts), expected)], "features": [], "neighbours": []}
        for part in found.parts:
            if part.features is not None:
                sums["features"].append((part.features.sum(axis=0), part.scores))
            if len(part.source_scores):
                sums["neighbours"].append((part.source_scores.sum(axis=0) + rest(model, part), part.scores))
        for key, pairs in sums.items():
            worst[key] = max([worst[key], *(float(np.abs(one - other).max()) for one, other in pairs)])
        each_node.append(float(np.abs(sums["parts"][0][0] - expected).max()))
        worst["rounding"] = max(worst["rounding"], float(np.abs(found.rounding).max()))
    spread = {"median": float(np.median(each_node)), "p99": float(np.quantile(each_node, 0.99)), "limit": LIMIT}
    size = float(np.abs(scores).max())
    return {"nodes": count, "components": len(model.coef_), "largest_difference": worst, "parts": spread, "largest_score": size}


def rest(model: Any, part: Any) -> Any:
    """What the weights of paths lack to one, Σ_s Opʰ_is − 1 times the average node: for features, by its formula."""
    if part.features is None or not part.length:
        return part.source_rest
    mean, beta = model.scorer_.components[part.name].state.loadings(model.coef_[part.name])
    return (part.source_weights.sum() - 1) * (mean @ beta) / part.length


def _model(path: Path) -> Any:
    from slimg import SlimG

    return SlimG.load(path)


def summary(runs: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Means over the seeds, and what typed costs beside merged."""
    keys = ("accuracy", "seconds", "cpu_seconds", "peak_gb")
    means = {way: {key: round(float(np.mean([each[key] for each in listed])), 2) for key in keys} for way, listed in runs.items()}
    ratios = {key: round(means["typed"][key] / means["merged"][key], 2) for key in keys[1:3]}
    return {"means": means, "typed over merged": ratios}


if __name__ == "__main__":
    main()
