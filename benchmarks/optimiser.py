"""Why some linear models do better here than in the paper's sanity checks: the same columns, two optimisers.

Columns P(A, X) of G²CN (each T of its grid) and of the diffusion kernel, exact and with the exponential taken of each
stored entry, go to a linear layer trained by PyTorch's L-BFGS as its defaults are (no line search, float32, 100 epochs of 20
steps, patience 5 on validation accuracy) and to the one of `slimg.learn.early_stopping` (line search, float64).

    python benchmarks/optimiser.py [--seeds 2]
"""

from __future__ import annotations

import argparse
from typing import Any

import linear  # registers diff_entries  # noqa: F401
import numpy as np
import torch
from records import shared, write

from slimg import sanity
from slimg.graph.splits import SYNTHETIC, stratified
from slimg.learn.early_stopping import EPOCHS, PATIENCE, fit_stopped
from slimg.propagate import get

CASES = [
    *(("semantic", "uniform"), ("random", "homophily"), ("random", "heterophily"), ("structural", "homophily")),
    *(("structural", "heterophily"), ("semantic", "homophily"), ("semantic", "heterophily")),
]
MODELS: list[tuple[str, dict[str, Any]]] = [
    *(("g2cn", {"T": T}) for T in get("g2cn").grid["T"]),
    *(("diff_kernel", {}), ("diff_entries", {})),
]
PAPER = {"g2cn": "G2CN", "diff_kernel": "Diff. Kernel", "diff_entries": "Diff. Kernel"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=2)
    seeds = range(parser.parse_args().seeds)
    paper, lines = shared("tables.json")["sanity_checks"], []
    for case in CASES:
        graph = sanity.make(*case).graph
        for name, values in MODELS:
            columns = get(name, **values)(graph, normalize=None).labelled_rows(np.arange(graph.n))
            line = {"case": "-".join(case), "model": name, **values, "paper": paper[PAPER[name]]["-".join(case)]}
            for optimiser, train in (("torch", by_torch), ("slimg", by_slimg)):
                accuracies = [train(columns, graph.codes, stratified(graph, SYNTHETIC, seed), seed) for seed in seeds]
                line[optimiser] = [round(100 * each, 1) for each in accuracies]
            lines.append(line)
            print(line, flush=True)
            write("optimiser", {"protocol": __doc__.split("\n\n")[1], "lines": lines})


def by_torch(columns: np.ndarray, codes: np.ndarray, split: Any, seed: int) -> float:
    """Test accuracy of the epoch with the best validation accuracy."""
    x, y = torch.as_tensor(columns), torch.as_tensor(codes).long()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layer = torch.nn.Linear(x.shape[1], int(codes.max()) + 1)
    optimiser = torch.optim.LBFGS(layer.parameters())

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        value = torch.nn.functional.cross_entropy(layer(x[split.train]), y[split.train])
        value.backward()
        return value

    best, kept, waited = -1.0, 0.0, 0
    for _ in range(EPOCHS):
        optimiser.step(loss)
        with torch.no_grad():
            right = (layer(x).argmax(dim=1) == y).double()
        validation = float(right[split.val].mean())
        waited += 1
        if validation > best:
            best, kept, waited = validation, float(right[split.test].mean()), 0
        if waited == PATIENCE:
            break
    return kept


def by_slimg(columns: np.ndarray, codes: np.ndarray, split: Any, seed: int) -> float:
    rows = columns.astype(np.float64)
    classes = int(codes.max()) + 1
    found = fit_stopped(rows[split.train], codes[split.train], classes, validation=(rows[split.val], codes[split.val]))
    return float(((rows[split.test] @ found.weights + found.intercept).argmax(axis=1) == codes[split.test]).mean())


if __name__ == "__main__":
    main()
