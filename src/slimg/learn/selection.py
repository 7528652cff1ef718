"""Which pair to take: the best validation accuracy; among equals the least validation loss, then the fewest weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.learn.path import Pair
from slimg.learn.solver import Solution


@dataclass
class Record:
    """What is known of a pair; with folds, means over them (the gap is the largest)."""

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

    @property
    def pair(self) -> Pair:
        return Pair(self.l1, self.group, self.joint)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def validate(pair: Pair, solution: Solution, names: Sequence[str], group_of: Array, rows: Array, codes: Array) -> Record:
    """Score a solution on validation rows; a code of −1 is a class that training did not see: always wrong."""
    scores = solution.scores(rows)
    scores -= scores.max(axis=1, keepdims=True)
    accuracy = float((scores.argmax(axis=1) == codes).mean())
    seen = np.flatnonzero(codes >= 0)
    likelihood = np.log(np.exp(scores[seen]).sum(axis=1, dtype=np.float64)) - scores[seen, codes[seen]]
    zero = tuple(name for which, name in enumerate(names) if not solution.weights[group_of == which].any())
    nonzero = float(np.count_nonzero(solution.weights))
    loss = float(likelihood.mean()) if len(seen) else np.inf
    return Record(*pair, accuracy, loss, solution.gap, zero, nonzero, solution.converged, solution.seconds)


def merge(records: Sequence[Record]) -> Record:
    """One record from those of the folds; a component counts as zero if it is zero in every fold."""
    first = records[0]
    zero = [name for name in first.zero_components if all(name in record.zero_components for record in records)]
    mean = {key: float(np.mean([getattr(r, key) for r in records])) for key in ("val_accuracy", "val_loss", "nonzero")}
    return Record(
        first.l1,
        first.group,
        first.joint,
        dual_gap=max(r.dual_gap for r in records),
        zero_components=tuple(zero),
        converged=all(r.converged for r in records),
        seconds=sum(r.seconds for r in records),
        **mean,
    )


def best(records: Sequence[Record]) -> int:
    """The position of the record to take."""
    order = [(-round(r.val_accuracy, 12), r.val_loss, r.nonzero) for r in records]
    return min(range(len(records)), key=order.__getitem__)
