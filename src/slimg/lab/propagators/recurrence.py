"""Functions of one operator times a row matrix, as sums over a recurrence.

For an operator S with eigenvalues in [a, b],

    powers      Σ_k c_k Sᵏ X                                      H ← S H
    Chebyshev   Σ_k c_k T_k(Z) X,  Z = (2S − (a + b)I)/(b − a)    H₊ ← 2 Z H − H₋

Powers are used where Σ|c_k| is not much larger than |f|, so that no digits cancel; otherwise Chebyshev polynomials,
whose coefficients are read off f at the Chebyshev nodes. Both sums end where the rest is `NEGLIGIBLE`: the 200 steps of
[(1 − T/K) I + (T/K) Ã_sym]²⁰⁰ take 25 hops. Several functions of S share one recurrence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from slimg.engine.base import Array, Engine, RowMatrix
from slimg.lab.propagators.expressions import Expression
from slimg.lab.propagators.spectrum import INTERVALS, SYMMETRIC, coefficients, response

NEGLIGIBLE = 1e-9
CANCELLATION = 8.0
"""Σ|c_k| of a sum over powers may exceed the largest |f| by this factor: three of float32's 24 bits."""
TOGETHER = 4
"""Terms of a recurrence that are added to the sums in one pass."""
MOST_NODES = 1 << 12

Hops = Callable[[RowMatrix], RowMatrix]


def functions_of(
    engine: Engine, name: str, hop: Hops, expressions: Sequence[Expression], x: RowMatrix, pick: Hops = lambda row_matrix: row_matrix
) -> list[RowMatrix]:
    """f X for functions f of the operator ``name``, which ``hop`` applies; ``pick`` selects what is to be kept."""
    in_powers = [stable_powers(name, expression) for expression in expressions]
    known = [shares for shares in in_powers if shares is not None]
    if len(known) == len(expressions):
        return _sums(engine, known, _powers(hop, x), pick)
    shares = [chebyshev_coefficients(name, expression) for expression in expressions]
    return _sums(engine, shares, _chebyshev(engine, name, hop, x), pick)


def combination(engine: Engine, shares: Sequence[float], row_matrices: Sequence[RowMatrix]) -> RowMatrix:
    """Σ share · row matrix, in order."""
    if list(shares) == [1.0]:
        return row_matrices[0]
    numbers = [np.float32(share) for share in shares]

    def combined(*rows: Array) -> Array:
        result = numbers[0] * rows[0]
        for number, block in zip(numbers[1:], rows[1:], strict=True):
            result += number * block
        return result

    return engine.map_rows(combined, *row_matrices)


def stable_powers(name: str, expression: Expression) -> Array | None:
    """Coefficients over powers, without a negligible end; None if the expression has none or digits would cancel."""
    shares = coefficients(expression)
    if shares is None or not np.isfinite(shares).all():
        return None
    if name not in INTERVALS:
        return np.trim_zeros(shares, "b")
    low, high = INTERVALS[name]
    sizes = np.abs(shares) * max(abs(low), abs(high)) ** np.arange(len(shares))
    largest = np.abs(_values(expression, np.linspace(low, high, 1001))).max()
    if name in SYMMETRIC and sizes.sum() > CANCELLATION * largest:
        return None
    return shares[: _significant(sizes)]


def chebyshev_coefficients(name: str, expression: Expression) -> Array:
    """c with f ≈ Σ_k c_k T_k on the operator's interval, up to a negligible rest."""
    low, high = INTERVALS[name]
    count = 32
    while True:
        angles = np.pi * (np.arange(count) + 0.5) / count
        values = _values(expression, (high - low) / 2 * np.cos(angles) + (high + low) / 2)
        shares = 2 / count * np.cos(np.outer(np.arange(count), angles)) @ values
        shares[0] /= 2
        kept = _significant(np.abs(shares))
        if kept <= count // 2 or count >= MOST_NODES:
            return shares[:kept]
        count *= 2


def _powers(hop: Hops, row_matrix: RowMatrix) -> Iterator[RowMatrix]:
    while True:
        yield row_matrix
        row_matrix = hop(row_matrix)


def _chebyshev(engine: Engine, name: str, hop: Hops, row_matrix: RowMatrix) -> Iterator[RowMatrix]:
    low, high = INTERVALS[name]
    scale, shift = 2 / (high - low), (high + low) / (high - low)
    yield row_matrix
    before, current = row_matrix, combination(engine, [scale, -shift], [hop(row_matrix), row_matrix])
    while True:
        yield current
        following = combination(engine, [2 * scale, -2 * shift, -1], [hop(current), current, before])
        before, current = current, following


def _sums(engine: Engine, shares: Sequence[Array], sequence: Iterator[RowMatrix], pick: Hops) -> list[RowMatrix]:
    """Σ_k shares[i][k] H_k for each i. A sum of a single H_k is that row matrix itself."""
    totals: list[RowMatrix] = [None] * len(shares)
    waiting: list[list[tuple[float, RowMatrix]]] = [[] for _ in shares]
    for step in range(max(len(share) for share in shares)):
        row_matrix = pick(next(sequence))
        for place, share in enumerate(shares):
            if step < len(share) and (share[step] != 0 or len(share) == 1):
                waiting[place].append((float(share[step]), row_matrix))
            if waiting[place] and (len(waiting[place]) == TOGETHER or step == len(share) - 1):
                terms = waiting[place] if totals[place] is None else [(1.0, totals[place]), *waiting[place]]
                totals[place] = combination(engine, *zip(*terms, strict=True))
                waiting[place] = []
        del row_matrix
    return totals


def _significant(sizes: Array) -> int:
    """Terms to keep: what follows adds up to a negligible share of all."""
    rest = np.append(np.cumsum(sizes[::-1])[::-1], 0.0)
    return max(1, int(np.argmax(rest <= NEGLIGIBLE * max(rest[0], np.finfo(float).tiny))))


def _values(expression: Expression, eigenvalues: Array) -> Array:
    values = response(expression, eigenvalues)
    assert values is not None  # only functions of one operator come here
    return values
