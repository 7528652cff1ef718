"""Which candidate to take: the best validation accuracy; among equals the least validation loss, then the fewest weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.learn.loss import log_loss
from slimg.learn.path import Pair
from slimg.learn.solver import Solution


@dataclass
class Record:
    """What is known of a candidate; with folds, means over them (the gap is the largest)."""

    l1: float
    group: float
    joint: bool
    val_accuracy: float
    val_loss: float
    dual_gap: float
    zero_components: tuple[str, ...]
    nonzero: float
    converged: bool
    seconds: float
    apart: dict[str, float] | None = None
    """λ of each component learned apart (`learn.apart`), the others being zero; ``group`` is then the largest of them."""

    @property
    def pair(self) -> Pair:
        return Pair(self.l1, self.group, self.joint)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def validate(pair: Pair, solution: Solution, names: Sequence[str], group_of: Array, rows: Array, codes: Array) -> Record:
    """Score a solution on validation rows; a code of −1 is a class that training did not see: always wrong."""
    scores = solution.scores(rows)
    accuracy = float((scores.argmax(axis=1) == codes).mean())
    zero = tuple(name for which, name in enumerate(names) if not solution.weights[group_of == which].any())
    nonzero = float(np.count_nonzero(solution.weights))
    loss = log_loss(scores, codes)
    return Record(*pair, accuracy, loss, solution.gap, zero, nonzero, solution.converged, solution.seconds)


def merge(records: Sequence[Record]) -> Record:
    """One record from those of the folds; a component counts as zero if it is zero in every fold."""
    first = records[0]
    zero = [name for name in first.zero_components if all(name in record.zero_components for record in records)]
    return replace(
        first,
        val_accuracy=float(np.mean([r.val_accuracy for r in records])),
        val_loss=float(np.mean([r.val_loss for r in records])),
        dual_gap=max(r.dual_gap for r in records),
        zero_components=tuple(zero),
        nonzero=float(np.mean([r.nonzero for r in records])),
        converged=all(r.converged for r in records),
        seconds=sum(r.seconds for r in records),
    )


def describe(record: Mapping[str, Any], written: Callable[[str], str] = str) -> str:
    """A candidate in words, from its record as a dict; ``written`` gives the name of a component as it is to be read."""
    if record["apart"]:
        parts = ", ".join(f"{written(name)} (λ = {penalty:.3g})" for name, penalty in record["apart"].items())
        return f"{parts}, learned apart and added" if len(record["apart"]) > 1 else f"{parts} alone"
    return f"λ₁ = {record['l1']:g}, λ₂ = {record['group']:.3g}{', one joint group' if record['joint'] else ''}"


APART = "learned apart"
"""The series of candidates that differ in more than one penalty: points without a line."""


def series_of(records: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    """(λ₂, validation accuracy) of records as dicts, by what their line in a figure is called."""
    series: dict[str, list[tuple[float, float]]] = {}
    for record in sorted(records, key=lambda each: (bool(each["apart"]), each["joint"], each["l1"], each["group"])):
        name = APART if record["apart"] else "one joint group" if record["joint"] else f"λ₁ = {record['l1']:g}"
        series.setdefault(name, []).append((record["group"], record["val_accuracy"]))
    return series


def best(records: Sequence[Record]) -> int:
    """The position of the record to take."""
    order = [(-round(r.val_accuracy, 12), r.val_loss, r.nonzero) for r in records]
    return min(range(len(records)), key=order.__getitem__)
