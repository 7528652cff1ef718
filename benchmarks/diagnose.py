"""Does the diagnosis name the right one of the nine synthetic cases, and what does it say of real graphs?

Each case is drawn with the paper's sizes (n = 6,000), 10 % of the labels are shown (stratified), and `Diagnosis.scenario` is
compared with the name of the case, for ten seeds of graph and labels. Real graphs: all labels, and what is known of them.

    python benchmarks/diagnose.py [--seeds 10] [--cases semantic-uniform,…] [--real cora,…]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from records import ROOT, read, write

from slimg import Graph, diagnose
from slimg.graph.splits import stratified
from slimg.lab import datasets
from slimg.lab.sanity.case import CASES, EMPTY, make, parts

SHOWN = (0.05, 0.05, 0.9)
"""Train and validation rows are shown together: 10 %."""
KNOWN = {
    "cora": ("homophily", "semantic"),
    "citeseer": ("homophily", "semantic"),
    "pubmed": ("homophily", "semantic"),
    "photo": ("homophily", "semantic"),
    "chameleon": ("heterophily", "semantic"),
    "squirrel": ("heterophily", "semantic"),
    "actor": ("uniform", "semantic"),
}
"""What the literature says: relation and features."""


def main() -> None:
    options = _arguments()
    recorded = read("diagnose")
    synthetic, real = recorded.get("synthetic", {}), recorded.get("real", {})
    for name in options.cases:
        synthetic[name] = _synthetic(name, options.seeds)
        print(f"{name:<24} {synthetic[name]['right']} of {options.seeds} right", synthetic[name]["others"], flush=True)
        write("diagnose", {"protocol": __doc__.split("\n\n")[1], "synthetic": synthetic, "real": real})
    for name in options.real:
        real[name] = _real(name)
        print(f"{name:<24} {real[name]['scenario']:<22} {' '.join(real[name]['verdict'][:3])}", flush=True)
        write("diagnose", {"protocol": __doc__.split("\n\n")[1], "synthetic": synthetic, "real": real})


def _synthetic(name: str, seeds: int) -> dict[str, Any]:
    said, seconds, restated = [], [], []
    for seed in range(seeds):
        graph = make(*parts(name), seed=seed).graph
        split = stratified(graph, SHOWN, seed)
        begun = time.perf_counter()
        found = diagnose(graph.mask_labels(np.concatenate([split.train, split.val])))
        seconds.append(time.perf_counter() - begun)
        said.append(found.scenario)
        restated.append(found.evidence.restated)
    wrong = [each for each in said if each != name]
    return {
        "right": len(said) - len(wrong),
        "of": seeds,
        "others": wrong,
        "restated": [round(float(np.min(restated)), 3), round(float(np.max(restated)), 3)],
        "seconds": round(float(np.median(seconds)), 1),
    }


def _real(name: str) -> dict[str, Any]:
    found = diagnose(_load(name))
    relation, features = KNOWN.get(name, (None, None))
    return {
        "scenario": found.scenario,
        "expected": None if relation is None else f"{features}-{relation}",
        "verdict": list(found.verdict),
        "advice": list(found.advice),
        "adjusted_homophily": None if found.agreement is None else round(found.agreement.adjusted, 3),
        "alone": {key: round(each.value, 4) for key, each in found.evidence.alone.items()},
        "all": round(found.evidence.all.value, 4),
        "restated": None if found.evidence.restated is None else round(found.evidence.restated, 3),
    }


def _load(name: str) -> Graph:
    if name != "debian":
        return datasets.load(name)
    import sys

    sys.path.insert(0, str(ROOT))
    from examples.debian.load import load

    return load()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--cases", type=lambda text: text.split(",") if text else [], default=[*CASES, *EMPTY])
    parser.add_argument("--real", type=lambda text: text.split(",") if text else [], default=[*KNOWN, "debian"])
    return parser.parse_args()


if __name__ == "__main__":
    main()
