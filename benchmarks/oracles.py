"""Objectives of the solver beside those of adelie (λ₁ = 0) and of scikit-learn's SAGA (λ₂ = 0), on the rows of real graphs.

    F(W, b) = (1/m) Σ_i CE(y_i, softmax(Wᵀp_i + b)) + λ₁ ‖W‖₁ + λ₂ Σ_g ‖W_g‖_F

P is SlimG's four components at the training rows of the 2.5 % split with seed 0, in float64. Ours is solved to a duality gap
of 1e-7 of the loss at W = 0. Theirs run until they stop or reach the most iterations given; F is then evaluated at their
weights. adelie is given each group in the coordinates of its rows' span (exact without an ℓ₁ part: neither the loss nor the
norm of a group sees a rotation), since it decomposes matrices of the size of a group.

    python benchmarks/oracles.py [--datasets cora,pubmed]        continues where it was interrupted
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from scipy.special import logsumexp

Array = np.ndarray
ADELIE = {"cora": (0.1, 0.05, 0.03), "pubmed": (0.1, 0.05)}
SAGA = {"cora": (3e-2, 1e-2, 5e-3), "pubmed": (1e-2, 1e-3)}
TOL = 1e-7


def main() -> None:
    from records import read, write

    lines: list[dict[str, Any]] = read("oracles").get("comparisons", [])
    for dataset in _arguments().datasets:
        pairs = [("adelie", 0.0, group) for group in ADELIE[dataset]] + [("SAGA", l1, 0.0) for l1 in SAGA[dataset]]
        done = {(each["oracle"], each["l1"], each["group"]) for each in lines if each["dataset"] == dataset}
        matrix, codes, widths = labelled_rows(dataset)
        print(f"{dataset}: {matrix.shape[0]} rows, {matrix.shape[1]} columns, {codes.max() + 1} classes", flush=True)
        for pair in [each for each in pairs if each not in done]:
            line = compare(*pair, matrix, codes, widths)
            lines.append({"dataset": dataset, **line})
            write("oracles", {"what": __doc__.split("\n\n")[0], "tol": TOL, "comparisons": lines})
            print("  {oracle:<7} λ₁ {l1:<6g} λ₂ {group:<5g} ours {ours:.9f} theirs {theirs:.9f}"
                  " relative {relative:+.1e}  gap {gap:.0e}  {seconds:.2f} s and {their_seconds:.0f} s".format(**line),
                  flush=True)  # fmt: skip


def compare(oracle: str, l1: float, group: float, matrix: Array, codes: Array, widths: list[int]) -> dict[str, Any]:
    """One pair; ``relative`` is how far their objective is above ours."""
    from slimg.engine.memory import MemoryEngine
    from slimg.learn.objective import Problem
    from slimg.learn.solver import solve

    group_of = np.repeat(np.arange(len(widths)), widths)
    problem = Problem.build(matrix, codes, int(codes.max()) + 1, group_of, MemoryEngine())
    ours = solve(problem, l1, group, tol=TOL, max_iter=500)
    begun = time.perf_counter()
    theirs = adelie_point(matrix, codes, widths, group) if oracle == "adelie" else saga_point(matrix, codes, l1)
    seconds = time.perf_counter() - begun
    value = objective(matrix, codes, group_of, *theirs, l1, group)
    mine = objective(matrix, codes, group_of, ours.weights, ours.intercept, l1, group)
    figures = {"ours": mine, "theirs": value, "relative": value / mine - 1, "gap": ours.gap}
    return {"oracle": oracle, "l1": l1, "group": group, **figures, "seconds": ours.seconds, "their_seconds": seconds}


def objective(
    matrix: Array, codes: Array, group_of: Array, weights: Array, intercept: Array, l1: float, group: float
) -> float:
    """F at any point, by its definition."""
    scores = matrix @ weights + intercept
    loss = (logsumexp(scores, axis=1) - scores[np.arange(len(codes)), codes]).mean()
    norms = [np.linalg.norm(weights[group_of == which]) for which in range(group_of.max() + 1)]
    return float(loss + l1 * np.abs(weights).sum() + group * sum(norms))


def adelie_point(matrix: Array, codes: Array, widths: list[int], group: float, tol: float = 1e-10) -> tuple[Array, Array]:
    """W and b of adelie's group lasso. Its multinomial loss is divided by the number of classes, so λ is too."""
    import adelie

    classes = int(codes.max()) + 1
    blocks = np.split(matrix, np.cumsum(widths)[:-1], axis=1)
    bases = [np.linalg.qr(block.T)[0] if block.shape[1] > len(block) else np.eye(block.shape[1]) for block in blocks]
    turned = [block @ basis for block, basis in zip(blocks, bases, strict=True)]
    starts = np.cumsum([0, *(block.shape[1] for block in turned)])[:-1]
    state = adelie.grpnet(
        np.asfortranarray(np.hstack(turned)),
        adelie.glm.multinomial(np.eye(classes)[codes]),
        groups=starts,
        penalty=np.ones(len(widths)),
        lmda_path=np.array([group / classes]),
        early_exit=False,
        tol=tol,
        irls_tol=tol,
        n_threads=2,
        progress_bar=False,
    )
    inside = np.split(state.betas.toarray().reshape(-1, classes), starts[1:])
    return np.vstack([basis @ part for basis, part in zip(bases, inside, strict=True)]), state.intercepts[0]


def saga_point(matrix: Array, codes: Array, l1: float, tol: float = 1e-9, max_iter: int = 20_000) -> tuple[Array, Array]:
    """W and b of scikit-learn's SAGA with an ℓ₁ penalty; its loss is a sum over rows times C."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(
        l1_ratio=1, solver="saga", C=1 / (l1 * len(codes)), tol=tol, max_iter=max_iter, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(matrix, codes)
    weights, intercept = model.coef_.T, model.intercept_
    if weights.shape[1] == 1:
        weights, intercept = np.hstack([-weights / 2, weights / 2]), np.hstack([-intercept / 2, intercept / 2])
    return weights, intercept


def labelled_rows(dataset: str) -> tuple[Array, Array, list[int]]:
    """P at the training rows (m × p, float64), their labels' codes, and the components' widths."""
    from slimg.components.compute import compute_components
    from slimg.graph.splits import REAL, stratified
    from slimg.lab import datasets

    graph = datasets.load(dataset)
    train = stratified(graph, REAL, 0).train
    parts = compute_components(graph)
    return parts.labelled_rows(train).astype(np.float64), graph.codes[train], list(parts.widths.values())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,pubmed", type=lambda names: names.split(","))
    return parser.parse_args()


if __name__ == "__main__":
    main()
