"""Expressions in one operator as functions of its eigenvalues.

    response       E(λ)
    coefficients   c with E = Σ_k c_k Sᵏ, for polynomials

Functions of one operator times a row matrix, as sums over a recurrence.

For an operator S with eigenvalues in [a, b],

    powers      Σ_k c_k Sᵏ X                                      H ← S H
    Chebyshev   Σ_k c_k T_k(Z) X,  Z = (2S − (a + b)I)/(b − a)    H₊ ← 2 Z H − H₋

Powers are used where Σ|c_k| is not much larger than |f|, so that no digits cancel; otherwise Chebyshev polynomials,
whose coefficients are read off f at the Chebyshev nodes. Both sums end where the rest is `NEGLIGIBLE`: the 200 steps of
[(1 − T/K) I + (T/K) Ã_sym]²⁰⁰ take 25 hops. Several functions of S share one recurrence.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from slimg.engine.base import Array, Engine, RowMatrix
from slimg.lab.propagators import expressions as ex
from slimg.lab.propagators.expressions import Expression, operators_of, parts_of, walk

INTERVALS = {"A_row": (-1.0, 1.0), "A_sym": (-1.0, 1.0), "Ã_row": (-1.0, 1.0), "Ã_sym": (-1.0, 1.0), "L": (0.0, 2.0)}
"""Where the eigenvalues of an operator lie, on every graph."""
SYMMETRIC = ("A", "A_sym", "Ã_sym", "L")
NEGLIGIBLE = 1e-9
CANCELLATION = 8.0
"""Σ|c_k| of a sum over powers may exceed the largest |f| by this factor: three of float32's 24 bits."""
TOGETHER = 4
"""Terms of a recurrence that are added to the sums in one pass."""
MOST_NODES = 1 << 12
_POLYNOMIAL = ex.Identity | ex.Hop | ex.Scaled | ex.Sum | ex.Series | ex.Power

Hops = Callable[[RowMatrix], RowMatrix]


def response(expression: Expression, eigenvalues: Array) -> Array | None:
    """E(λ) for eigenvalues λ of its operator; None for forms that are no function of one operator.

    Diffused is read without its threshold, and with its degrees as those of a regular graph.
    """
    parts = list(walk(expression))
    if any(isinstance(part, ex.Attention | ex.Gated | ex.Structure) for part in parts) or len(operators_of(expression)) > 1:
        return None
    return np.array(_at(expression, eigenvalues))


def coefficients(expression: Expression) -> Array | None:
    """c with E = Σ_k c_k Sᵏ for a polynomial in one operator S, None for other forms."""
    if not all(isinstance(part, _POLYNOMIAL) for part in walk(expression)) or len(operators_of(expression)) > 1:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # coefficients that overflow are left infinite for the caller to see
        return _at(expression, _Coefficients([0, 1])).coef


class _Coefficients(np.polynomial.Polynomial):
    maxpower = sys.maxsize  # type: ignore[assignment]  # numpy's own limit is 100


def _at(expression: Expression, operator: Any) -> Any:
    """E with eigenvalues, or with the polynomial S itself, in the place of its operator."""
    inner = [_at(part, operator) for part in parts_of(expression)]
    match expression:
        case ex.Identity():
            return operator**0
        case ex.Hop():
            return operator
        case ex.Scaled(number=number):
            return float(number) * inner[0]
        case ex.Sum() | ex.Series():
            return sum(inner, start=0 * operator)
        case ex.Chain():
            return math.prod(inner, start=operator**0)
        case ex.Power(exponent=exponent):
            return inner[0] ** int(exponent)
        case ex.Inverse():
            return 1 / inner[0]
        case ex.Exponential():
            return np.exp(inner[0])
        case ex.Diffused(base=base):
            return (inner[0] + 1) / (_at(base, operator**0) + 1)
    return inner[0]


def functions_of(
    engine: Engine, name: str, hop: Hops, expressions: Sequence[Expression], x: RowMatrix, pick: Hops = lambda each: each
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
    largest = np.abs(_at(expression, np.linspace(low, high, 1001))).max()
    if name in SYMMETRIC and sizes.sum() > CANCELLATION * largest:
        return None
    return shares[: _significant(sizes)]


def chebyshev_coefficients(name: str, expression: Expression) -> Array:
    """c with f ≈ Σ_k c_k T_k on the operator's interval, up to a negligible rest."""
    low, high = INTERVALS[name]
    count = 32
    while True:
        angles = np.pi * (np.arange(count) + 0.5) / count
        values = _at(expression, (high - low) / 2 * np.cos(angles) + (high + low) / 2)
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
