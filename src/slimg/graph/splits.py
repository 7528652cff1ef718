"""Splits of the labelled nodes: rows to train, validate and test on.

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
from slimg.graph.checks import labelled_rows
from slimg.graph.columns import number_of, show
from slimg.graph.graph import Graph

REAL = (0.025, 0.025, 0.95)
SYNTHETIC = (0.6, 0.2, 0.2)


@dataclass(frozen=True, eq=False)
class Split:
    """Disjoint rows to train, validate and test on.

    Parameters
    ----------
    train, val, test : int arrays
        Row numbers of labelled nodes.

    Raises
    ------
    InputError
        If a row is in two of them.

    Examples
    --------
    >>> import numpy as np
    >>> Split(np.array([0, 3]), np.array([1]), np.array([2, 4, 5]))
    Split(train=2, val=1, test=3)
    """

    train: np.ndarray
    val: np.ndarray
    test: np.ndarray

    def __post_init__(self) -> None:
        for name in ("train", "val", "test"):
            rows = getattr(self, name)
            if not isinstance(rows, np.ndarray) or rows.ndim != 1 or (len(rows) and rows.dtype.kind not in "iu"):
                raise InputError(f"{name} must be a vector of row numbers, not {type(rows).__name__}: use splits.given")
        together = np.concatenate([self.train, self.val, self.test])
        rows, counts = np.unique(together, return_counts=True)
        if len(rows) < len(together):
            raise InputError(f"train, val and test must not overlap, but share row {show(rows[counts > 1])}")

    def __repr__(self) -> str:
        return f"Split(train={len(self.train):,}, val={len(self.val):,}, test={len(self.test):,})"


def stratified(graph: Graph, fractions: tuple[float, float, float] = REAL, random_state: int = 0) -> Split:
    """Split the labelled nodes at random, with the same proportions of each class in all parts (the paper's protocol).

    Parameters
    ----------
    graph : Graph
        A graph with labels.
    fractions : tuple of 3 floats, default=(0.025, 0.025, 0.95)
        Fractions of the labelled nodes to train, validate and test on; they sum to 1.
    random_state : int, default=0
        Seed of the random numbers.

    Returns
    -------
    Split

    Raises
    ------
    InputError
        If a class is too small to be divided.

    Examples
    --------
    >>> from slimg import Graph
    >>> graph = Graph.from_edges([(k, k + 1) for k in range(99)], labels=["a", "b"] * 50)
    >>> stratified(graph, (0.6, 0.2, 0.2))
    Split(train=60, val=20, test=20)
    """
    train, val, test = _fractions(fractions)
    rows = _labelled(graph)
    rest, judged = _halves(graph, rows, test, random_state)
    # rounding keeps 0.025 / 0.05 and the like exact, so that the number of rows is the recorded one
    learned, selected = _halves(graph, rest, round(val / (train + val), 12), random_state)
    return Split(learned, selected, judged)


def per_class(graph: Graph, train: int = 20, val: int = 30, random_state: int = 0) -> Split:
    """Draw a fixed number of nodes of each class at random.

    Parameters
    ----------
    graph : Graph
        A graph with labels.
    train : int, default=20
        Nodes of each class to train on.
    val : int, default=30
        Nodes of each class to validate on; all other labelled nodes are to test on.
    random_state : int, default=0
        Seed of the random numbers.

    Returns
    -------
    Split

    Raises
    ------
    InputError
        If a class has fewer labelled nodes.

    Examples
    --------
    >>> from slimg import Graph
    >>> graph = Graph.from_edges([(k, k + 1) for k in range(99)], labels=["a", "b"] * 50)
    >>> per_class(graph, train=5, val=10)
    Split(train=10, val=20, test=70)
    """
    if not (isinstance(train, int) and isinstance(val, int) and train >= 1 and val >= 0):
        raise InputError(f"per_class needs whole numbers train ≥ 1 and val ≥ 0 of each class, not {train!r} and {val!r}")
    rng = np.random.default_rng(random_state)
    rows = _labelled(graph)
    learned, selected, judged = [], [], []
    for code in range(len(graph.classes)):
        mine = rows[graph.codes[rows] == code]
        if len(mine) < train + val:
            raise InputError(
                f"class {show(graph.classes[[code]])} has {number_of(len(mine), 'labelled node')}, but train + val needs"
                f" {train} + {val} of each class: choose smaller numbers or drop the class"
            )
        mine = rng.permutation(mine)
        learned.append(mine[:train])
        selected.append(mine[train : train + val])
        judged.append(mine[train + val :])
    return Split(*(np.sort(np.concatenate(part)) for part in (learned, selected, judged)))


def public(graph: Graph, number: int | None = None) -> Split:
    """Return the split that was published with a dataset.

    Parameters
    ----------
    graph : Graph
        A graph with labels.
        With the masks ``train``, ``val`` and ``test``, or ``train_k``, ``val_k`` and ``test_k``.
    number : int, default=None
        k, where there are several splits.

    Returns
    -------
    Split

    Raises
    ------
    InputError
        If the graph has no such masks, or a masked node has no label.

    Examples
    --------
    >>> from slimg import Graph
    >>> masks = {"train": [True, False, False], "val": [False, True, False], "test": [False, False, True]}
    >>> public(Graph.from_arrays(None, [[1], [2], [3]], labels=[0, 1, 0], masks=masks))
    Split(train=1, val=1, test=1)
    """
    names = [part if number is None else f"{part}_{number}" for part in ("train", "val", "test")]
    absent = [name for name in names if name not in graph.masks]
    if absent:
        has = ", ".join(graph.masks) or "none"
        raise InputError(f"the graph has no mask {show(absent)}: its masks are {has}")
    return given(graph, *(graph.masks[name] for name in names))


def given(graph: Graph, train: Any, val: Any = None, test: Any = None) -> Split:
    """Make a split of chosen rows.

    Parameters
    ----------
    graph : Graph
        A graph with labels.
    train : int or bool array-like
        Row numbers or mask of labelled nodes.
    val : int or bool array-like, default=None
        None for no rows.
    test : int or bool array-like, default=None
        By default every other labelled node.

    Returns
    -------
    Split

    Raises
    ------
    InputError
        If a row does not exist, has no label, or is in two parts.

    Examples
    --------
    >>> from slimg import Graph
    >>> given(Graph.from_edges([(0, 1), (1, 2)], labels=["a", "b", "a"]), train=[0, 1])
    Split(train=2, val=0, test=1)
    """
    learned = labelled_rows(graph, train, "train", empty=True)
    selected = labelled_rows(graph, [] if val is None else val, "val", empty=True)
    others = np.setdiff1d(graph.labelled, np.concatenate([learned, selected]))
    return Split(learned, selected, others if test is None else labelled_rows(graph, test, "test", empty=True))


def _labelled(graph: Graph) -> np.ndarray:
    rows = graph.labelled
    if len(rows) == 0:
        raise InputError("a split needs labels, but the graph has none")
    return rows


def _fractions(fractions: tuple[float, float, float]) -> tuple[float, float, float]:
    try:
        train, val, test = (float(part) for part in fractions)
    except (TypeError, ValueError):
        train = val = test = 0.0
    if min(train, val, test) <= 0 or abs(train + val + test - 1) > 1e-9:
        raise InputError(f"fractions must be three positive numbers (train, val, test) that sum to 1, not {fractions!r}")
    return train, val, test


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
