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

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from slimg.engine.base import Array, Engine, RowMatrix
from slimg.lab.propagators.expressions import (
    Attention,
    Chain,
    Diffused,
    Exponential,
    Expression,
    Gated,
    Hop,
    Identity,
    Inverse,
    Power,
    Scaled,
    Series,
    Structure,
    Sum,
    operators_of,
    parts_of,
)

INTERVALS = {"A_row": (-1.0, 1.0), "A_sym": (-1.0, 1.0), "Ã_row": (-1.0, 1.0), "Ã_sym": (-1.0, 1.0), "L": (0.0, 2.0)}
"""Where the eigenvalues of an operator lie, on every graph."""
SYMMETRIC = ("A", "A_sym", "Ã_sym", "L")
NEGLIGIBLE = 1e-9
CANCELLATION = 8.0
"""Σ|c_k| of a sum over powers may exceed the largest |f| by this factor: three of float32's 24 bits."""
TOGETHER = 4
"""Terms of a recurrence that are added to the sums in one pass."""
MOST_NODES = 1 << 12

Hops = Callable[[RowMatrix], RowMatrix]


def response(expression: Expression, eigenvalues: Array) -> Array | None:
    """E(λ) for eigenvalues λ of its operator; None for forms that are no function of one operator.

    Diffused is read without its threshold, and with its degrees as those of a regular graph.
    """
    if isinstance(expression, Attention | Gated | Structure) or len(operators_of(expression)) > 1:
        return None
    if isinstance(expression, Identity):
        return np.ones_like(eigenvalues)
    if isinstance(expression, Hop):
        return np.array(eigenvalues)
    inner = [response(part, eigenvalues) for part in parts_of(expression)]
    known = [part for part in inner if part is not None]
    return _combined(expression, known, eigenvalues) if len(known) == len(inner) else None


def _combined(expression: Expression, inner: list[Array], eigenvalues: Array) -> Array:
    match expression:
        case Scaled(number=number):
            return float(number) * inner[0]
        case Sum() | Series():
            return np.sum(inner, axis=0) if inner else np.zeros_like(eigenvalues)
        case Chain():
            return np.prod(inner, axis=0) if inner else np.ones_like(eigenvalues)
        case Power(exponent=exponent):
            return inner[0] ** int(exponent)
        case Inverse():
            return 1 / inner[0]
        case Exponential():
            return np.exp(inner[0])
        case Diffused(base=base):
            return (inner[0] + 1) / (_known(response(base, np.ones(1))) + 1)
        case _:
            return inner[0]


def coefficients(expression: Expression) -> Array | None:
    """c with E = Σ_k c_k Sᵏ for a polynomial in one operator S, None for other forms."""
    if len(operators_of(expression)) > 1:
        return None
    match expression:
        case Identity():
            return np.ones(1)
        case Hop():
            return np.array([0.0, 1.0])
        case Scaled(number=number, base=base):
            inner = coefficients(base)
            return None if inner is None else float(number) * inner
        case Power(base=base, exponent=exponent):
            inner = coefficients(base)
            return None if inner is None else _power(inner, int(exponent))
        case Sum() | Series():
            terms = [coefficients(term) for term in parts_of(expression)]
            known = [term for term in terms if term is not None]
            return _added(known) if len(known) == len(terms) else None
    return None


def _added(terms: list[Array]) -> Array:
    total = np.zeros(max((len(term) for term in terms), default=1))
    for term in terms:
        total[: len(term)] += term
    return total


def _power(base: Array, exponent: int) -> Array:
    """By repeated squaring; coefficients that overflow are left infinite for the caller to see."""
    result = np.ones(1)
    with np.errstate(over="ignore", invalid="ignore"):
        while exponent:
            if exponent & 1:
                result = np.convolve(result, base)
            base, exponent = (np.convolve(base, base) if exponent > 1 else base), exponent >> 1
    return result


def _known(values: Array | None) -> Array:
    assert values is not None
    return values


def functions_of(
    engine: Engine,
    name: str,
    hop: Hops,
    expressions: Sequence[Expression],
    x: RowMatrix,
    pick: Hops = lambda row_matrix: row_matrix,
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
