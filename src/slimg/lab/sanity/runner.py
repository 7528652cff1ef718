"""Run models on the nine cases.

One graph per case (seed 0); the seeds change the split. A model is given edges, features and the labels of its train and
validation rows, in arrays of its own: test labels are nowhere in what it is given, and no other model sees what it does to
its graph. A model that fails only fails in its own cell.

    accuracy = share of the test rows whose predicted class is their class

A model predicts a class for all n nodes, so that it cannot know which rows are tested.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from slimg.engine import Engine
from slimg.errors import InputError, check_whole_number
from slimg.graph import Adjacency, Graph
from slimg.graph.columns import as_column, codes_of, missing, number_of, show
from slimg.lab.sanity.adapters import ModelAdapter, as_adapters, numbered
from slimg.lab.sanity.case import CASES, SanityCase, make, parts, scaled, select
from slimg.lab.sanity.report import PAPER_NODES, PAPER_SEEDS, PASS, CaseFacts, Cell, SanityReport
from slimg.lab.shared.process import reason

Progress = Callable[[str, str, Cell], None]
SMALL = 1200
"""Nodes of a check that takes seconds and is about as hard as the paper's 6,000."""
LENIENT = 0.75
"""Threshold of a test: below the paper's 80 %, since with few test nodes the accuracy varies by a few percent."""


def check(
    model: Any, cases: Any = "all", *, n: int = PAPER_NODES, seeds: int = PAPER_SEEDS, at_least: float = PASS,
    progress: Progress | None = None, engine: Engine | None = None,
) -> SanityReport:  # fmt: skip
    """Run one model or several on sanity cases.

    Parameters
    ----------
    model : object, callable, str, list or dict
        Object with ``fit`` and ``predict``, function or class that makes one, result of `from_sklearn` or `from_torch`, or
        name of `slimg.lab.baselines`; or a list of these, or a dict from names to them.
    cases : str, SanityCase or iterable of these, default="all"
        "all" (nine), "informative" (seven), "empty" (two), names of cases, or cases drawn by `make`.
    n : int, default=6000
        Nodes of the cases that are drawn here; see `scaled`.
    seeds : int, default=5
        Number of splits.
    at_least : float, default=0.8
        Mean accuracy from which a case is passed.
    progress : callable or None, default=None
        Called with model, case and `Cell` after each cell.
    engine : Engine or None, default=None
        Where the cases are computed; None for memory.

    Returns
    -------
    SanityReport
        Accuracy of each model in each case, and what follows from them.

    Raises
    ------
    InputError
        If a model or a case is unknown, or a number is out of its range.

    Examples
    --------
    >>> from slimg.lab import sanity
    >>> sanity.check("lr", ["semantic-homophily", "random-homophily"], n=240, seeds=2)
    SanityReport(passed: lr 1/2)
    """
    adapters = as_adapters(model)
    check_whole_number(seeds, "seeds", 1)
    if isinstance(at_least, bool) or not isinstance(at_least, int | float) or not 0 < at_least <= 1:
        raise InputError(f"at_least is an accuracy above 0 and at most 1, not {at_least!r}")
    cells, facts = {}, []
    for label, case in _drawn(select(cases), n, engine):
        facts.append(CaseFacts(label, case.helps, case.chance, len(case.split(0).test), case.settings, case.notes))
        for adapter in adapters:
            cell = cells[adapter.name, label] = run_cell(adapter, case, seeds)
            if progress:
                progress(adapter.name, label, cell)
    return SanityReport(tuple(each.name for each in adapters), tuple(facts), seeds, cells, at_least)


def assert_passes(
    model: Any, cases: Any = CASES, *, n: int = SMALL, seeds: int = 2, at_least: float = LENIENT
) -> SanityReport:
    """Run the checks as a test.

    Parameters
    ----------
    model : object, callable, str, list or dict
        As in `check`.
    cases : str, SanityCase or iterable of these, optional
        As in `check`; the seven informative ones by default.
    n : int, default=1200
        Nodes of each case.
    seeds : int, default=2
        Number of splits.
    at_least : float, default=0.75
        Mean accuracy from which a case is passed.

    Returns
    -------
    SanityReport
        The report of models that pass.

    Raises
    ------
    AssertionError
        If a model fails a case; the message has the tables and the verdict.

    Examples
    --------
    >>> from slimg.lab import sanity
    >>> sanity.assert_passes("lr", ["semantic-uniform"], n=240)
    SanityReport(passed: lr 1/1)
    """
    report = check(model, cases, n=n, seeds=seeds, at_least=at_least)
    failing = [name for name in report.models if not report.passes(name)]
    if failing:
        raise AssertionError(f"sanity checks failed by {', '.join(failing)}\n\n{report.to_text(100)}")
    return report


def run_cell(adapter: ModelAdapter, case: SanityCase, seeds: int) -> Cell:
    """Run one model in one case, up to its first failure.

    Returns
    -------
    Cell
        Accuracies over the splits, or the error.
    """
    begun = time.perf_counter()
    adjacency = Adjacency(case.graph.adjacency.indptr.copy(), case.graph.adjacency.indices.copy())
    bare = Graph(adjacency, np.array(case.graph.features))
    found: list[float] = []
    try:
        predict = adapter.prepare(bare)
        for seed in range(seeds):
            split = case.split(seed)
            seen = case.graph.mask_labels(np.concatenate([split.train, split.val]))
            given = bare.with_labels(seen.labels)
            found.append(accuracy(predict(given, split.train.copy(), split.val.copy(), seed), case.graph, split.test))
        return Cell(tuple(found), None, time.perf_counter() - begun)
    except Exception as error:  # a model may fail in any way: its cell has the reason and the run goes on
        split_number = f" (split {len(found)})" if found else ""
        return Cell((), reason(error) + split_number, time.perf_counter() - begun)


def accuracy(predicted: Any, truth: Graph, test: np.ndarray) -> float:
    """Share of the test rows that are predicted right.

    Parameters
    ----------
    predicted : sequence of n classes
        What a model returned.
    truth : Graph
        With all labels.
    test : ndarray of int
        Rows.

    Returns
    -------
    float

    Raises
    ------
    InputError
        If the predictions are not n classes of the graph.
    """
    shape = tuple(getattr(predicted, "shape", ()))
    if len(shape) == 2 and shape[1] > 1:
        raise InputError(f"predict() gave an array of shape {shape}: one class per node is needed, not probabilities")
    column = as_column(predicted, "predict()")
    if len(column) != truth.n:
        raise InputError(f"predict() gave {len(column):,} classes for {truth.n:,} nodes: one class per node is needed")
    absent = int(missing(column).sum())
    if absent:
        raise InputError(f"predict() left {number_of(absent, 'node')} without a class (NaN or None)")
    given, codes = codes_of(column, "predict()")
    place = {value: code for code, value in enumerate(truth.classes.tolist())}
    known = np.array([place.get(value, -1) for value in given.tolist()], np.int64)
    if (known < 0).any():
        raise InputError(f"predict() gave classes that do not exist: {show(given[known < 0])}")
    return float(np.mean(known[codes[test]] == truth.codes[test]))


def _drawn(selected: tuple[str | SanityCase, ...], n: int, engine: Engine | None) -> Iterator[tuple[str, SanityCase]]:
    """Each case under a distinct label, drawn when it is needed and freed after it."""
    labels = numbered([each if isinstance(each, str) else each.name for each in selected])
    for label, each in zip(labels, selected, strict=True):
        yield label, make(*parts(each), **scaled(n), engine=engine) if isinstance(each, str) else each
