"""Duality gaps of float32 solves on random problems, imbalanced up to 400 : 1, beside the gap of the same point in float64.

    python benchmarks/gaps.py [--problems 1000]

A gap must never be negative, and never below that of float64 by more than rounding. The gaps that the iteration itself
sees, in float32, are recorded beside those that `slimg.learn.solver.solve` reports.
"""

from __future__ import annotations

import argparse

import numpy as np
from records import write

from slimg.engine import MemoryEngine
from slimg.learn import solver
from slimg.learn.objective import Labelled, Problem

PAIRS = [(0.0, 1e-2), (1e-4, 1e-3), (1e-5, 1e-5), (0.0, 1e-3)]
ROUNDING = 1e-6
"""Of a gap, as a share of the loss at zero: products with the rows are taken in float32."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=1000)
    count = parser.parse_args().problems
    rng = np.random.default_rng(0)
    iterated, reported, exact = [], [], []
    for k in range(count):
        problem, pair = draw(rng), PAIRS[k % len(PAIRS)]
        iterated.append(solver._descend(problem, *pair, None, 1e-4, 200).gap)
        solution = solver.solve(problem, *pair)
        reported.append(solution.gap)
        exact.append(gap_in_double(problem, *pair, solution))
    below = np.array(exact) - np.array(reported)
    record = {
        "problems": count,
        "negative in the iteration": int(np.sum(np.array(iterated) < 0)),
        "negative as reported": int(np.sum(np.array(reported) < 0)),
        "below float64 by more than rounding": int(np.sum(below > ROUNDING)),
        "largest difference below float64": float(below.max()),
        "largest gap": float(max(reported)),
    }
    print(record)
    write("gaps", record)


def draw(rng: np.random.Generator) -> Problem:
    """Unit rows of two to four classes, the first up to 400 times as frequent as each other."""
    classes, m, p = int(rng.integers(2, 5)), int(rng.integers(60, 500)), int(rng.integers(5, 60))
    share = np.r_[10 ** rng.uniform(0, np.log10(400)), np.ones(classes - 1)]
    codes = np.r_[np.arange(classes), rng.choice(classes, m - classes, p=share / share.sum())]
    x = rng.standard_normal((m, p)) + 0.7 * rng.standard_normal((classes, p))[codes]
    rows = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    widths = {"first": p // 2, "second": p - p // 2}
    return Labelled(rows, codes, classes, np.full(m, 1 / m), widths, MemoryEngine(threads=1)).problem()


def gap_in_double(problem: Problem, l1: float, group: float, solution: solver.Solution) -> float:
    """The gap of a point with everything in float64."""
    double = problem.in_double()
    weights, penalty, loss = solution.weights.astype(np.float64), double.penalty(l1, group), double.loss
    scores = double.rows.times(weights)
    best = loss.with_intercept(scores, solution.intercept).probabilities
    scale = penalty.feasible_scale(double.rows.transposed_times(loss.residual(best)))
    primal = loss.evaluate(scores, solution.intercept).value + penalty.value(weights)
    return (primal - loss.dual_value(best, scale)) / loss.at_zero()


if __name__ == "__main__":
    main()
