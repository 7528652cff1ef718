"""Which labels are learned from, which select, which judge.

The paper's protocol for the m labelled nodes, fractions (train, val, test), stratified by class, one seed s:

    rest, test  = train_test_split(rows, test_size=test,                stratify=y,       random_state=s)
    train, val  = train_test_split(rest, test_size=val / (train + val), stratify=y[rest], random_state=s)

with scikit-learn's `train_test_split`; (2.5 %, 2.5 %, 95 %) on real graphs, (60 %, 20 %, 20 %) on synthetic ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slimg.errors import InputError
from slimg.graph.checks import as_rows
from slimg.graph.columns import number_of, show
from slimg.graph.graph import Graph

REAL = (0.025, 0.025, 0.95)
SYNTHETIC = (0.6, 0.2, 0.2)


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers (int64) of the nodes to learn from, to select on and to judge by; disjoint."""

    train: np.ndarray
    val: np.ndarray
    test: np.ndarray

    def __post_init__(self) -> None:
        together = np.concatenate([self.train, self.val, self.test])
        rows, counts = np.unique(together, return_counts=True)
        if len(rows) < len(together):
            raise InputError(f"train, val and test must not overlap, but share row {show(rows[counts > 1])}")

    def __repr__(self) -> str:
        return f"Split(train={len(self.train):,}, val={len(self.val):,}, test={len(self.test):,})"


def stratified(graph: Graph, fractions: tuple[float, float, float] = REAL, random_state: int = 0) -> Split:
    """The paper's protocol: each class in the same proportions in train, val and test."""
    train, val, test = _fractions(fractions)
    rows = _labelled(graph)
    rest, judged = _halves(graph, rows, test, random_state)
    # rounding keeps 0.025 / 0.05 and the like exact, so that the number of rows is the recorded one
    learned, selected = _halves(graph, rest, round(val / (train + val), 12), random_state)
    return Split(learned, selected, judged)


def per_class(graph: Graph, train: int = 20, val: int = 30, random_state: int = 0) -> Split:
    """``train`` nodes of each class to learn from, ``val`` of each to select on, the rest to judge by."""
    if train < 1 or val < 0:
        raise InputError(f"per_class needs train ≥ 1 and val ≥ 0 nodes of each class, not {train} and {val}")
    rng = np.random.default_rng(random_state)
    rows = _labelled(graph)
    learned, selected, judged = [], [], []
    for code in range(len(graph.classes)):
        mine = rows[graph.codes[rows] == code]
        if len(mine) < train + val:
            raise InputError(
                f"class {show(graph.classes[[code]])} has {number_of(len(mine), 'labelled node')}, but {train} + {val}"
                " of each class were asked for: ask for fewer or drop the class"
            )
        mine = rng.permutation(mine)
        learned.append(mine[:train])
        selected.append(mine[train : train + val])
        judged.append(mine[train + val :])
    return Split(*(np.sort(np.concatenate(part)) for part in (learned, selected, judged)))


def public(graph: Graph, number: int | None = None) -> Split:
    """The split published with a dataset: masks ``train``, ``val``, ``test``, or number k: ``train_k``, ``val_k``, …"""
    names = [part if number is None else f"{part}_{number}" for part in ("train", "val", "test")]
    absent = [name for name in names if name not in graph.masks]
    if absent:
        has = ", ".join(graph.masks) or "none"
        raise InputError(f"the graph has no mask {show(absent)}: its masks are {has}")
    return given(graph, *(graph.masks[name] for name in names))


def given(graph: Graph, train: Any, val: Any = None, test: Any = None) -> Split:
    """A split by the user: row numbers or boolean masks; ``test`` is by default every other labelled node."""
    empty = np.empty(0, np.int64)
    learned = as_rows(train, graph.n, "train")
    selected = empty if val is None else as_rows(val, graph.n, "val")
    if test is None:
        rest = graph.codes >= 0
        rest[learned] = rest[selected] = False
        judged = np.flatnonzero(rest)
    else:
        judged = as_rows(test, graph.n, "test")
    for name, rows in (("train", learned), ("val", selected), ("test", judged)):
        bare = rows[graph.codes[rows] < 0]
        if len(bare):
            raise InputError(f"{name} has {number_of(len(bare), 'row')} without a label: {show(bare)}")
    return Split(learned, selected, judged)


def _labelled(graph: Graph) -> np.ndarray:
    rows = graph.labelled
    if len(rows) == 0:
        raise InputError("a split needs labels, but the graph has none")
    return rows


def _fractions(fractions: tuple[float, float, float]) -> tuple[float, float, float]:
    parts = tuple(float(part) for part in fractions)
    if len(parts) != 3 or min(parts) <= 0 or abs(sum(parts) - 1) > 1e-9:
        raise InputError(f"fractions must be three positive numbers (train, val, test) that sum to 1, not {fractions}")
    return parts


def _halves(graph: Graph, rows: np.ndarray, share: float, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """Split rows in two, stratified; the second part holds ``share`` of them."""
    from sklearn.model_selection import train_test_split

    codes = graph.codes[rows]
    counts = np.bincount(codes, minlength=len(graph.classes))
    rare = np.flatnonzero(counts == 1)
    if len(rare):
        raise InputError(
            f"class {show(graph.classes[rare])} is left with one node, so that it cannot be divided in proportion:"
            " drop the class, use larger fractions, or splits.per_class"
        )
    try:
        first, second = train_test_split(rows, test_size=share, stratify=codes, random_state=random_state)
    except ValueError:
        present = number_of(int(np.count_nonzero(counts)), "class", "classes")
        raise InputError(
            f"{number_of(len(rows), 'labelled node')} of {present} cannot be divided with {share:.1%} in one part"
            " and each class in both: use larger fractions, or splits.per_class"
        ) from None
    return first, second
