"""Check the lemmas on random graphs: P contains the network, and no longer does when a block is removed.

    residual(P, Y) = min_W ‖Y − P W‖_F / ‖Y‖_F

Zero (up to rounding) means that P contains the network for these weights. With n rows this is a statement only when P
has far fewer columns than n, so there must be three rows for each column. For each lemma, graph and draw of weights,

    containment   residual(all blocks, output)                        ≤ 10⁻⁸ where the paper claims equality
    tightness     min over blocks b of residual(all but b, output)    ≥ 10⁻⁶: every block is needed

A row of a single block is tight when the output is not zero. For lemmas that are not exact the residual is reported.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from slimg.engine.blas import one_thread
from slimg.errors import InputError
from slimg.lab.gnnexp.lemmas import LEMMAS, Blocks, Claim, Lemma, get

CONTAINED = 1e-8
TIGHT = 1e-6
ROWS_PER_COLUMN = 3
FEATURES = 4
SIZES = (150, 240)
MEAN_DEGREE = 6


@dataclass(frozen=True)
class Record:
    """The result of one lemma over all graphs.

    Attributes
    ----------
    lemma, formula : str
        Name of the lemma and P(A, X) as the paper has it.
    claim : {"exact", "partial", "inexact"}
        What the lemma states.
    graphs : int
        Number of graphs.
    residual, smallest_residual : float
        Largest and smallest residual of containment.
    tightness : float
        Smallest residual after the removal of one block.
    seconds : float
        Time taken.

    Examples
    --------
    >>> from slimg.lab.gnnexp import verify
    >>> record, = verify(["sgc"])
    >>> record.claim, record.holds
    ('exact', True)
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
        """The record for JSON and tables.

        Returns
        -------
        dict
            The attributes, and whether the lemma holds.
        """
        return asdict(self) | {"holds": self.holds}

    def __str__(self) -> str:
        verdict = {"exact": "holds", "partial": "holds as a partial form", "inexact": "is not exact"}[self.claim]
        verdict = verdict if self.holds else "FAILS"
        residual = f"residual {self.smallest_residual:.1e} to {self.residual:.1e} on {self.graphs} graphs"
        return f"{self.lemma}: {verdict}; {residual}, at least {self.tightness:.1e} without one block"


def verify(lemmas: Collection[str] | None = None, random_state: int = 0) -> list[Record]:
    """Check lemmas of the paper numerically, on every kind of graph in every size.

    Parameters
    ----------
    lemmas : collection of str, optional
        Names of lemmas, such as "sgc"; all of them by default.
    random_state : int, default=0
        Seed of graphs, features and weights.

    Returns
    -------
    list of Record
        One for each lemma, in the given order.

    Raises
    ------
    InputError
        If a lemma is not known.

    Examples
    --------
    >>> from slimg.lab.gnnexp import verify
    >>> [record.holds for record in verify(["lr", "gcn"])]
    [True, True]
    """
    if isinstance(lemmas, str) or not isinstance(random_state, int):
        raise InputError(f"verify takes a list of lemmas and a whole number as seed, not {lemmas!r} and {random_state!r}")
    chosen = [get(name) for name in (LEMMAS if lemmas is None else lemmas)]
    graphs = list(cases(random_state))
    with one_thread():  # the matrices are small: several threads would be slower, and change the last bits
        return [_record(lemma, graphs, random_state) for lemma in chosen]


def _record(lemma: Lemma, graphs: list[Case], random_state: int) -> Record:
    start = time.perf_counter()
    contained, tight = [], []
    for place, case in enumerate(graphs):
        output, blocks = lemma.prove(case.a, case.x, np.random.default_rng([random_state, 1, place]))
        contained.append(_residual_on(blocks, output))
        tight += [_residual_on({k: v for k, v in blocks.items() if k != name}, output) for name in blocks]
    seconds = time.perf_counter() - start
    return Record(lemma.name, lemma.formula, lemma.claim, len(graphs), max(contained), min(contained), min(tight), seconds)


def _residual_on(blocks: Blocks, output: np.ndarray) -> float:
    """1 when there is no block left."""
    return residual(np.hstack(list(blocks.values())), output) if blocks else 1.0


def residual(columns: np.ndarray, output: np.ndarray) -> float:
    """How far the output of a network is from the columns of a propagator.

    Columns are scaled to unit length first, since powers of an operator shrink.

    Parameters
    ----------
    columns : ndarray of shape (n, h)
    output : ndarray of shape (n, c)

    Returns
    -------
    float
        The relative residual of the module docstring, between 0 and 1.
    """
    n, h = columns.shape
    if n < ROWS_PER_COLUMN * h:
        raise InputError(f"a residual on {h} columns needs at least {ROWS_PER_COLUMN * h} rows, not {n}")
    lengths = np.linalg.norm(columns, axis=0)
    basis, sizes, _ = np.linalg.svd(columns[:, lengths > 0] / lengths[lengths > 0], full_matrices=False)
    basis = basis[:, sizes > sizes.max(initial=0.0) * n * np.finfo(float).eps]
    rest = output - basis @ (basis.T @ output)
    return float(np.linalg.norm(rest) / np.linalg.norm(output))


# random graphs --------------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """A graph to prove lemmas on: A (n × n, dense, symmetric, without loops) and X (n × FEATURES)."""

    a: np.ndarray
    x: np.ndarray


def cases(random_state: int = 0) -> Iterator[Case]:
    """Every kind of graph in every size, with Gaussian features."""
    for place, make in enumerate(KINDS.values()):
        for n in SIZES:
            rng = np.random.default_rng([random_state, place, n])
            yield Case(make(n, rng), rng.standard_normal((n, FEATURES)))


def uniform(n: int, rng: np.random.Generator) -> np.ndarray:
    """Every pair with the same probability; the last three nodes are isolated."""
    probability = np.full((n, n), MEAN_DEGREE / n)
    probability[:, -3:] = 0
    return _drawn(probability, rng)


def heterophilous(n: int, rng: np.random.Generator) -> np.ndarray:
    """Four clusters of which two pairs are linked, with a few edges elsewhere."""
    cluster = np.arange(n) % 4
    linked = cluster[:, None] == (cluster ^ 1)[None, :]
    return _drawn(np.where(linked, 4 * 0.8, 4 * 0.2 / 3) * MEAN_DEGREE / n, rng)


def heavy_tailed(n: int, rng: np.random.Generator) -> np.ndarray:
    """Expected degrees that fall as a power: few nodes have many edges."""
    expected = np.arange(1, n + 1) ** -0.5
    probability = np.outer(expected, expected) * MEAN_DEGREE * n / expected.sum() ** 2
    return _drawn(np.minimum(probability, 1), rng)


def several_components(n: int, rng: np.random.Generator) -> np.ndarray:
    """Three parts without an edge between them."""
    part = np.arange(n) % 3
    return _drawn((part[:, None] == part[None, :]) * (3 * MEAN_DEGREE / n), rng)


def weighted(n: int, rng: np.random.Generator) -> np.ndarray:
    """A uniform graph whose edges have weights between ½ and 2."""
    weights = np.triu(rng.uniform(0.5, 2, (n, n)), 1)
    return uniform(n, rng) * (weights + weights.T)


KINDS = {kind.__name__: kind for kind in (uniform, heterophilous, heavy_tailed, several_components, weighted)}


def _drawn(probability: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    upper = np.triu(rng.random(probability.shape) < probability, 1).astype(float)
    return upper + upper.T
