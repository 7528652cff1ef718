"""Draw the picture of README: mean accuracy over the eight graphs against seconds of a whole fit, from records.

    python tools/accuracy_plot.py          # docs/accuracy.svg

A model of the experiment `rivals` is drawn if `benchmarks/results/records.jsonl` has it on all eight graphs (2.5 / 2.5 / 95 %
splits). Of its records those that ``slimg bench rivals`` made come first, whose seconds are the processor's; others have
seconds of the clock. Seconds are those of features, the whole search and prediction, the median over splits, the mean over
graphs. SlimG's default is in the records of `rivals`, or in `benchmarks/results/accuracy.json`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from slimg.lab.bench.figures import Measured, accuracy_against_time
from slimg.lab.bench.store import Store

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
TITLES = {"lr": "logistic regression", "sgc": "SGC", "dgc": "DGC", "s2gc": "S²GC", "g2cn": "G²CN", "glr": "GLR", "gcn": "GCN",
          "label_propagation": "label propagation", "correct_and_smooth": "Correct & Smooth", "graphany": "GraphAny basis",
          "trees": "boosted trees", "gcn_tuned": "GCN, tuned", "appnp": "APPNP"}  # fmt: skip
"""Models of the experiment `rivals`."""
GRAPHS = ("cora", "citeseer", "pubmed", "computers", "photo", "chameleon", "squirrel", "actor")
STAGES = ("features", "tuning", "prediction")


def main() -> None:
    models, reduced = defaultdict[str, dict[str, list[dict[str, Any]]]](lambda: defaultdict(list)), set[str]()
    for record in Store(RESULTS / "records.jsonl").records.values():  # the last one of each cell
        name = _title(record.get("model", {}))
        if name and record.get("split") == [0.025, 0.025, 0.95] and record.get("status") == "ok" and "name" in record["data"]:
            models[name][record["data"]["name"]].append(record)
    measured = []
    for name, by_graph in models.items():
        if set(GRAPHS) <= set(by_graph):
            kept = {graph: _latest(by_graph[graph]) for graph in GRAPHS}
            reduced |= {name} if any("reduced" in each.get("protocol", "") for each in kept["cora"]) else set()
            accuracy = np.mean([np.mean([each["accuracy"] for each in kept[graph]]) for graph in GRAPHS])
            seconds = np.mean([np.median([_seconds(each) for each in kept[graph]]) for graph in GRAPHS])
            measured.append(Measured(name + ("*" if name in reduced else ""), float(accuracy), float(seconds), None))
    if not any(each.title == "SlimG" for each in measured):
        own = json.loads((RESULTS / "accuracy.json").read_text(encoding="utf-8"))["results"]
        found = [(own[graph]["path"]["mean"] / 100, own[graph]["path"]["feature_seconds"] + own[graph]["path"]["seconds"])
                 for graph in GRAPHS]  # fmt: skip
        measured.append(Measured("SlimG", *(float(mean) for mean in np.mean(found, axis=0)), None))
    title = "Mean of eight graphs, 2.5 % of the labels" + ("\n* networks: 1 to 4 settings, 1 to 3 splits" if reduced else "")
    print(accuracy_against_time(ROOT / "docs" / "accuracy.svg", measured, title, "features, search and prediction, on two cores"))
    for each in sorted(measured, key=lambda each: -(each.accuracy or 0)):
        print(f"{each.title:22} {100 * (each.accuracy or 0):5.1f} % {each.seconds:8.2f} s")


def _title(model: dict[str, Any]) -> str | None:
    """What a model is called in the picture, None if it is not in it."""
    if model == {"kind": "slimg", "components": "default"}:
        return "SlimG"
    if model == {"kind": "slimg", "grid": "paper"}:
        return "SlimG as in the paper"
    plain = set(model) <= {"kind", "grid", "epochs", "patience"} or model.get("kind") == "trees"
    return TITLES.get(str(model.get("kind"))) if plain else None


def _latest(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of `rivals`, which have seconds of the processor, else all."""
    return [each for each in records if "processor" in each] or records


def _seconds(record: dict[str, Any]) -> float:
    return float(record.get("processor") or sum(record["seconds"].get(stage, 0.0) for stage in STAGES))


if __name__ == "__main__":
    main()
