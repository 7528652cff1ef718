"""What the reduction of X keeps: Σσ² of each component of features over that of the exact PCA of F X, 256 columns.

Ways to choose V: `X` from X alone with 320 columns, `2r` from X alone with 576, `joint` the default (X and ÃX, 320 columns).

    python benchmarks/reduction.py [--datasets cora,photo]
"""

from __future__ import annotations

import argparse

import numpy as np
from records import read, write

from slimg.components import DEFAULT_COMPONENTS
from slimg.components.row_scaling import prepare_features
from slimg.engine import MemoryEngine
from slimg.lab import datasets
from slimg.linalg import leading_directions, operator

DATASETS, RANK = ("cora", "citeseer", "pubmed", "photo", "chameleon"), 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--datasets", type=lambda text: text.split(","), default=list(DATASETS))
    found = read("reduction").get("kept", {})
    for name in parser.parse_args().datasets:
        found[name] = kept(name)
        for way, shares in found[name].items():
            print(f"{name:<10} {way:<6}", *(f"{part} {share:.3f}" for part, share in shares.items()), flush=True)
    write("reduction", {"protocol": __doc__.split("\n    python")[0], "kept": found})


def kept(name: str) -> dict[str, dict[str, float]]:
    graph, engine = datasets.load(name), MemoryEngine()
    x = prepare_features(engine, graph.features, "auto")
    smoothing = operator("Ã_sym", graph.adjacency)
    widths = {"X": (320, None), "2r": (576, None), "joint": (320, smoothing)}
    starts = {way: engine.combine(x, leading_directions(engine, x, width, op)) for way, (width, op) in widths.items()}
    found: dict[str, dict[str, float]] = {way: {} for way in widths}
    for component in DEFAULT_COMPONENTS[1:]:
        exact = energy(propagated(engine, graph, component, engine.row_matrix(engine.to_array(x))))
        for way, start in starts.items():
            found[way][component.name] = round(energy(propagated(engine, graph, component, start)) / exact, 4)
    return found


def propagated(engine: MemoryEngine, graph: object, component: object, x: np.ndarray) -> np.ndarray:
    made = component.operator(graph.adjacency)  # type: ignore[attr-defined]
    return x if made is None else made.series(engine, x, component.coefficients)  # type: ignore[attr-defined]


def energy(rows: np.ndarray) -> float:
    """Σσ² of the leading columns of the centred rows, by numpy."""
    centred = rows - rows.mean(axis=0)
    return float(np.linalg.eigvalsh((centred.T @ centred).astype(np.float64))[-RANK:].sum())


if __name__ == "__main__":
    main()
