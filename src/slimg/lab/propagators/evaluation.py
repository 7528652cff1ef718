"""Expressions on row matrices: E X by an engine, without forming E.

Functions of one operator are sums over its recurrence, which all blocks in that operator share; inverses are solved by
conjugate gradients and diffusions are sparse matrices; all other forms are applied from the inside out.

M⁻¹ B for a symmetric positive definite M that is only ever applied: conjugate gradients, all columns side by side.

    x₀ = 0, r₀ = p₀ = b;     α = r·r / p·Mp,     x ← x + αp,     r ← r − αMp,     β = r₊·r₊ / r·r,     p ← r + βp

Each column of B (n × k) has its own α and β, and one application of M serves all of them. At the end the residual
b − Mx is computed afresh: what the recurrence believes is no proof.

Personalised PageRank that stays sparse.

    S = f(Ã_sym),  kept: entries S_ij ≥ ε             f(λ) = α / (1 − (1 − α) λ)

A block of columns of S is f(Ã_sym) times columns of the identity (some thirty hops),
exact to float32. S is symmetric, so its columns are its rows; only entries from ε on are kept, and n × `COLUMNS` is all
that is ever dense. The work is O(n · nnz), as that of any method that decides every entry of S.

The size of S is estimated from a sample of its columns before the work begins.

Expressions in one operator are functions of its eigenvalues,

    response       E(λ)
    coefficients   c with E = Σ_k c_k Sᵏ, for polynomials

and times a row matrix they are sums over a recurrence. For an operator S with eigenvalues in [a, b],

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
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse

from slimg.engine.base import Array, Engine, RowMatrix, Scaling
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError, TooLarge
from slimg.graph.adjacency import Adjacency
from slimg.lab.propagators import expressions as ex
from slimg.lab.propagators.expressions import Expression, operators_of, parts_of, walk
from slimg.linalg.operators import operator
from slimg.system import available_memory

TOLERANCE = 1e-7
"""Residual of the recurrence at which a column is finished, relative to its right-hand side."""
ACCEPTED = 1e-5
"""Residual that float32 must reach, computed afresh."""
MOST_ITERATIONS = 1000
COLUMNS = 1 << 9
SAMPLE = 1 << 5
ENTRY_BYTES = 8
Vectors = Callable[[Any, int], Array]
"""(layer or None, d) ↦ the weight vectors of an attention, one column each."""
_OTHERWISE = {ex.Inverse, ex.Diffused, ex.Attention, ex.Gated, ex.Chain}
"""Forms that are applied, not summed."""


class Evaluation:
    """The expressions of one graph and one X (n × d)."""

    def __init__(self, engine: Engine, adjacency: Adjacency, x: RowMatrix, vectors: Vectors | None = None):
        self.engine, self.adjacency, self.x, self._vectors = engine, adjacency, x, vectors
        self._operator = cache(lambda name: operator(name, adjacency))
        self._diffused = cache(lambda node: operator("Ã_sym", diffused(engine, adjacency, node.base, node.threshold)))

    def columns(self, expressions: Sequence[Expression], rows: Array | None = None) -> list[RowMatrix]:
        """E X for each expression, or only these rows of it; expressions in the same operator share its recurrence."""
        pick = partial(pick_rows, self.engine, rows=rows)
        results: dict[int, RowMatrix] = {}
        shared: dict[str, list[int]] = {}
        for place, expression in enumerate(expressions):
            name = _function_of(expression)
            if name is None:
                results[place] = pick(self.apply(expression, self.x))
            else:
                shared.setdefault(name, []).append(place)
        for name, places in shared.items():
            summed = self._functions(name, [expressions[place] for place in places], self.x, pick)
            results |= zip(places, summed, strict=True)
        return [results[place] for place in range(len(expressions))]

    def apply(self, expression: Expression, row_matrix: RowMatrix) -> RowMatrix:
        """E times a row matrix."""
        name = _function_of(expression)
        if name is not None and not isinstance(expression, ex.Hop):
            return self._functions(name, [expression], row_matrix, lambda each: each)[0]
        match expression:
            case ex.Identity():
                return row_matrix
            case ex.Hop(name=name):
                return self._hop(name, row_matrix)
            case ex.Scaled(number=number, base=base):
                return combination(self.engine, [float(number)], [self.apply(base, row_matrix)])
            case ex.Sum() | ex.Series():
                terms = [self.apply(part, row_matrix) for part in parts_of(expression)]
                return combination(self.engine, [1.0] * len(terms), terms)
            case ex.Power(base=base, exponent=exponent):
                return self._repeated([base] * int(exponent), row_matrix)
            case ex.Chain():
                return self._repeated(parts_of(expression)[::-1], row_matrix)
            case ex.Inverse(base=base):
                _check_symmetric(base)
                return solve(self.engine, lambda given: self.apply(base, given), row_matrix)
            case ex.Diffused():
                return self._diffused(expression).apply(self.engine, row_matrix)
            case ex.Attention(layer=layer):
                return self._attention(layer, row_matrix)
            case ex.Gated(base=base):
                vector = self._weights(None)
                return self.engine.map_rows(lambda rows: rows * (rows @ vector), self.apply(base, row_matrix))
        raise InputError(f"the form {type(expression).__name__} has no computation by itself: override `columns`")

    def _functions(self, name: str, expressions: list[Expression], row_matrix: RowMatrix, pick: Hops) -> list[RowMatrix]:
        return functions_of(self.engine, name, lambda given: self._hop(name, given), expressions, row_matrix, pick)

    def _hop(self, name: str, row_matrix: RowMatrix) -> RowMatrix:
        if name != "L":
            return self._operator(name).apply(self.engine, row_matrix)
        hop = self._hop("A_sym", row_matrix)
        return self.engine.map_rows(lambda own, near, linked: linked * own - near, row_matrix, hop, self._linked)

    @cached_property
    def _linked(self) -> RowMatrix:
        """1 for nodes with edges, 0 for isolated ones, on which L is zero (n × 1)."""
        return self.engine.row_matrix((np.diff(self.adjacency.indptr) > 0)[:, None])

    def _repeated(self, factors: list[Expression], row_matrix: RowMatrix) -> RowMatrix:
        for factor in factors:
            row_matrix = self.apply(factor, row_matrix)
        return row_matrix

    def _attention(self, layer: Any, row_matrix: RowMatrix) -> RowMatrix:
        scores = self.engine.to_array(self.engine.combine(self.x, self._weights(layer)))
        receiver, sender = (np.ascontiguousarray(column) for column in scores.T)
        scalings = [Scaling(None, receiver, 1.0), Scaling(sender, None, 1.0)]
        return combination(self.engine, [1.0, 1.0], self.engine.products(self._operator("A").matrix, row_matrix, scalings))

    def _weights(self, layer: Any) -> Array:
        if self._vectors is None:
            raise InputError("this propagator attends to X and needs weight vectors: define its method `vectors`")
        return self._vectors(layer, self.x.shape[1]).astype(np.float32)


def pick_rows(engine: Engine, row_matrix: RowMatrix, rows: Array | None) -> RowMatrix:
    """These rows of a row matrix, or all of it."""
    return row_matrix if rows is None else engine.row_matrix(engine.rows(row_matrix, rows))


def _function_of(expression: Expression) -> str | None:
    """The operator of an expression that is a sum over its recurrence, else None."""
    names, kinds = operators_of(expression), {type(part) for part in walk(expression)}
    if len(names) != 1:
        return None
    (name,) = names
    if coefficients(expression) is not None:
        return name
    if name not in INTERVALS or ex.Exponential not in kinds or kinds & _OTHERWISE:
        return None
    _check_symmetric(expression)
    return name


def _check_symmetric(expression: Expression) -> None:
    odd = sorted(operators_of(expression) - set(SYMMETRIC))
    if odd:
        needed = ", ".join(SYMMETRIC)
        raise InputError(f"inverses and exponentials need a symmetric operator ({needed}), not {', '.join(odd)}")


# inverses and diffusions --------------------------------------------------------------------------------------------


def solve(
    engine: Engine, apply: Hops, right: RowMatrix, tolerance: float = TOLERANCE, most_iterations: int = MOST_ITERATIONS
) -> RowMatrix:
    """x with apply(x) = right, column by column."""
    size = _squares(engine, right)
    left = size > 0
    x: RowMatrix | None = None
    residual = direction = right
    squares, iterations = size, 0
    while iterations < most_iterations and np.any(squares > tolerance**2 * size):
        iterations += 1
        image = apply(direction)
        step = _ratio(squares, engine.sum_rows(_products, direction, image), left)
        x = _plus(engine, x, step, direction)
        residual = _plus(engine, residual, -step, image)
        before, squares = squares, _squares(engine, residual)
        direction = _plus(engine, residual, _ratio(squares, before, left), direction)
    if x is None:
        return right  # all zeros
    rest = engine.sum_rows(lambda b, image: _products(b - image, b - image), right, apply(x))
    worst = float(np.sqrt(np.max(rest / np.where(size > 0, size, 1))))
    if not worst <= ACCEPTED:
        reached = f"relative residual {worst:.1e} after {iterations} of at most {most_iterations} iterations"
        advice = "a larger alpha or a smaller sigma makes the system easier"
        raise InputError(f"conjugate gradients did not converge: {reached}, {ACCEPTED:.0e} needed; {advice}")
    return x


def _plus(engine: Engine, row_matrix: RowMatrix | None, factors: Array, other: RowMatrix) -> RowMatrix:
    """row matrix + factors ⊙ other, one factor per column; None counts as zero."""
    if row_matrix is None:
        return engine.map_rows(lambda b: factors * b, other)
    return engine.map_rows(lambda a, b: a + factors * b, row_matrix, other)


def _squares(engine: Engine, row_matrix: RowMatrix) -> Array:
    return engine.sum_rows(lambda rows: _products(rows, rows), row_matrix)


def _products(a: Array, b: Array) -> Array:
    """Σ over rows of a ⊙ b, in float64."""
    return np.einsum("ij,ij->j", a, b, dtype=np.float64)


def _ratio(above: Array, below: Array, where: Array) -> Array:
    return np.divide(above, below, out=np.zeros_like(above), where=where & (below > 0)).astype(np.float32)


def diffused(engine: Engine, adjacency: Adjacency, function: Expression, threshold: float) -> Adjacency:
    """S as CSR with weights, its diagonal included; ``function`` is f as an expression in Ã_sym."""
    n = adjacency.n
    sample = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64))
    per_row = _rows(engine, adjacency, function, threshold, sample).nnz / len(sample)
    check_size(engine, int(2 * n * per_row * ENTRY_BYTES), f"a diffusion with about {per_row:,.0f} entries per node")
    starts = range(0, n, COLUMNS)
    parts = [_rows(engine, adjacency, function, threshold, np.arange(s, min(s + COLUMNS, n))) for s in starts]
    whole = sparse.vstack(parts, format="csr")
    return Adjacency(whole.indptr.astype(np.int64), whole.indices.astype(adjacency.indices.dtype), whole.data)


def _rows(engine: Engine, adjacency: Adjacency, function: Expression, threshold: float, nodes: Array) -> sparse.csr_array:
    """These rows of S."""
    units = np.zeros((adjacency.n, len(nodes)), np.float32)
    units[nodes, np.arange(len(nodes))] = 1
    hops = operator(ex.At_sym.name, adjacency)
    x = engine.row_matrix(units)
    (columns,) = functions_of(engine, ex.At_sym.name, lambda row_matrix: hops.apply(engine, row_matrix), [function], x)
    dense = engine.to_array(columns).T
    return sparse.csr_array(np.where(dense >= threshold, dense, np.float32(0)))


def check_size(engine: Engine, needed: int, what: str) -> None:
    """Refuse what an engine that keeps its row matrices in memory cannot hold; ``needed`` in bytes."""
    free = available_memory()
    if isinstance(engine, MemoryEngine) and free is not None and needed > free:
        sizes = f"{needed / 2**30:,.1f} GiB of memory and {free / 2**30:,.1f} GiB are free"
        advice = "ask for fewer hops or columns, or use an engine that keeps its arrays in files"
        raise TooLarge(f"{what} needs {sizes}: {advice}")


def two_hop_neighbours(adjacency: sparse.csr_array) -> sparse.csr_array:
    """The pairs of nodes at distance exactly two.

    Returns
    -------
    scipy.sparse.csr_array of shape (n, n)
        With entries 0 and 1.
    """
    pattern = sparse.csr_array(adjacency != 0, dtype=float)
    near = pattern + sparse.eye_array(pattern.shape[0], format="csr")
    return sparse.csr_array((pattern @ pattern > 0) > (near > 0), dtype=float)


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
