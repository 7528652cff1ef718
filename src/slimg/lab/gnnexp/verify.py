"""The lemmas, checked: does P contain the network, and does it still when a block is taken away?

For each lemma, graph and draw of weights, with r the relative residual of `slimg.lab.gnnexp.residual`,

    containment   r(all blocks, output)                 ≤ 10⁻⁸ where the paper claims equality
    tightness     min over blocks b of r(all but b, output)   ≥ 10⁻⁶: no block is there for nothing

A row of a single block is tight when the output is not zero. Lemmas that are not exact come with their residual.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from slimg.engine.blas import one_thread
from slimg.lab.gnnexp.graphs import Case, cases
from slimg.lab.gnnexp.lemmas import LEMMAS, Blocks, Claim, Lemma, get
from slimg.lab.gnnexp.residual import residual

CONTAINED = 1e-8
TIGHT = 1e-6


@dataclass(frozen=True)
class Record:
    """One lemma over all graphs.

    ``residual`` and ``smallest_residual`` are the largest and the smallest of containment; ``tightness`` is the
    smallest residual that the removal of one block leaves.
    """

    lemma: str
    formula: str
    claim: Claim
    graphs: int
    residual: float
    smallest_residual: float
    tightness: float
    seconds: float

    @property
    def holds(self) -> bool:
        """Exact and partial forms: contained everywhere and tight everywhere. Inexact ones: not contained anywhere."""
        if self.claim == "inexact":
            return self.smallest_residual > CONTAINED
        return self.residual <= CONTAINED and self.tightness >= TIGHT

    def as_dict(self) -> dict[str, Any]:
        """For JSON and tables."""
        return asdict(self) | {"holds": self.holds}

    def __str__(self) -> str:
        verdict = {"exact": "holds", "partial": "holds as a partial form", "inexact": "is not exact"}[self.claim]
        verdict = verdict if self.holds else "FAILS"
        return (
            f"{self.lemma}: {verdict}; residual {self.smallest_residual:.1e} to {self.residual:.1e} on {self.graphs}"
            f" graphs, at least {self.tightness:.1e} without one block"
        )


def verify(lemmas: Collection[str] | None = None, random_state: int = 0) -> list[Record]:
    """Check these lemmas (all of them by default) on every kind of graph; see `slimg.lab.gnnexp.graphs`."""
    chosen = [get(name) for name in (LEMMAS if lemmas is None else lemmas)]
    graphs = list(cases(random_state))
    with one_thread():  # the matrices are small: threads would wait for each other, and change the last bits
        return [_record(lemma, graphs, random_state) for lemma in chosen]


def _record(lemma: Lemma, graphs: list[Case], random_state: int) -> Record:
    start = time.perf_counter()
    contained, tight = [], []
    for place, case in enumerate(graphs):
        output, blocks = lemma.prove(case.a, case.x, np.random.default_rng([random_state, 1, place]))
        contained.append(_residual_on(blocks, output))
        tight += [_residual_on({k: v for k, v in blocks.items() if k != name}, output) for name in blocks]
    seconds = time.perf_counter() - start
    return Record(
        lemma.name, lemma.formula, lemma.claim, len(graphs), max(contained), min(contained), min(tight), seconds
    )


def _residual_on(blocks: Blocks, output: np.ndarray) -> float:
    """1 when there is no block left."""
    return residual(np.hstack(list(blocks.values())), output) if blocks else 1.0
