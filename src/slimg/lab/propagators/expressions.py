"""Propagators as formulas: one expression that is computed, drawn and printed.

    P(A, X) = E₁ X ‖ E₂ X ‖ …

An expression E is built from the identity and the operators of a graph by sums, numbers, powers, Σ, Π, inverses, exp
and the few further forms of the paper's table. It is never multiplied out to an n × n matrix. Its readings:

    on row matrices, by an engine                  `slimg.lab.propagators.evaluation`
    on an eigenvalue λ, as a polynomial     `slimg.lab.propagators.evaluation`
    in writing                              `slimg.lab.gnnexp.table`

Numbers are opaque here: a hyperparameter may stand for itself, so that formulas are printed by the code that computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Number = Any
"""A number, or a symbol that stands for one."""


@dataclass(frozen=True)
class Expression:
    """A linear map of the rows of X; the members below are its forms."""

    def __add__(self, other: Expression) -> Expression:
        return Sum((*_terms(self), *_terms(other)))

    def __sub__(self, other: Expression) -> Expression:
        return Sum((*_terms(self), *(Scaled(-1, term) for term in _terms(other))))

    def __rmul__(self, number: Number) -> Expression:
        return Scaled(number, self)

    def __pow__(self, exponent: Number) -> Expression:
        return Power(self, exponent)


class Identity(Expression):
    """I."""


@dataclass(frozen=True)
class Hop(Expression):
    """An operator of the graph, by its name in `slimg.linalg.operators`, or L = D^-½ (D − A) D^-½."""

    name: str


@dataclass(frozen=True)
class Scaled(Expression):
    """number · E."""

    number: Number
    base: Expression


@dataclass(frozen=True)
class Sum(Expression):
    """E₁ + E₂ + …"""

    terms: tuple[Expression, ...]


@dataclass(frozen=True)
class Power(Expression):
    """E^exponent."""

    base: Expression
    exponent: Number


@dataclass(frozen=True)
class _Function(Expression):
    """A function of one expression."""

    base: Expression


class Inverse(_Function):
    """E⁻¹ of a symmetric positive definite E."""


class Exponential(_Function):
    """exp(E)."""


class Gated(_Function):
    """diag(E X w) E."""


class Reduced(_Function):
    """g(E X): principal components, rows of length one."""


@dataclass(frozen=True)
class Over:
    """An expression for each index from first to last; ``symbol`` is how the index is written."""

    symbol: str
    first: Number
    last: Number
    body: Callable[[Number], Expression]

    def __iter__(self) -> Iterator[Expression]:
        return (self.body(index) for index in range(int(self.first), int(self.last) + 1))


@dataclass(frozen=True)
class Series(Expression):
    """Σ over an index."""

    over: Over


@dataclass(frozen=True)
class Chain(Expression):
    """Π over an index: the first factor stands on the left, so the last one is applied first."""

    over: Over


@dataclass(frozen=True)
class Diffused(Expression):
    """S̃_sym = D̃^-½ (S + I) D̃^-½, kept as a sparse matrix: S are the entries of personalised PageRank,
    α (I − (1 − α) Ã_sym)⁻¹, that are at least ``threshold``."""

    alpha: Number
    threshold: Number

    @property
    def base(self) -> Expression:
        """What is thresholded."""
        return self.alpha * Inverse(identity - (1 - self.alpha) * At_sym)


@dataclass(frozen=True)
class Attention(Expression):
    """diag(X w₁) Ã + Ã diag(X w₂) with Ã = A + I; the vectors are those of this layer."""

    layer: Number


class Structure(Expression):
    """U: the singular vectors of A; a block that does not look at X."""


@dataclass(frozen=True)
class Concatenation:
    """E₁ X ‖ E₂ X ‖ …: each part is one block, or one for each value of an index."""

    parts: tuple[Expression | Over, ...]

    def __iter__(self) -> Iterator[Expression]:
        for part in self.parts:
            if isinstance(part, Over):
                yield from part
            else:
                yield part


identity: Identity = Identity()
A_row: Hop = Hop("A_row")
A_sym: Hop = Hop("A_sym")
At_sym: Hop = Hop("Ã_sym")
L: Hop = Hop("L")


def summation(first: Number, last: Number, body: Callable[[Number], Expression], symbol: str = "k") -> Series:
    """Σ_{symbol=first}^{last} body(symbol)."""
    return Series(Over(symbol, first, last, body))


def chain(first: Number, last: Number, body: Callable[[Number], Expression], symbol: str = "k") -> Chain:
    """Π_{symbol=first}^{last} body(symbol)."""
    return Chain(Over(symbol, first, last, body))


def blocks(*parts: Expression | Over) -> Concatenation:
    """The concatenation of these parts."""
    return Concatenation(parts)


def each(first: Number, last: Number, body: Callable[[Number], Expression], symbol: str = "k") -> Over:
    """One block for each value of the index."""
    return Over(symbol, first, last, body)


def parts_of(expression: Expression, bodies: Callable[[Over], list[Expression]] = list) -> list[Expression]:
    """The expressions directly inside; an index takes each of its values, or what ``bodies`` gives for it."""
    if isinstance(expression, Sum):
        return list(expression.terms)
    if isinstance(expression, Series | Chain):
        return bodies(expression.over)
    base = getattr(expression, "base", None)
    return [] if base is None else [base]


def walk(expression: Expression, bodies: Callable[[Over], list[Expression]] = list) -> Iterator[Expression]:
    """The expression and all that are inside, as in `parts_of`."""
    yield expression
    for part in parts_of(expression, bodies):
        yield from walk(part, bodies)


def operators_of(expression: Expression) -> set[str]:
    """Names of the operators that occur."""
    return {part.name for part in walk(expression) if isinstance(part, Hop)}


def _terms(expression: Expression) -> tuple[Expression, ...]:
    return expression.terms if isinstance(expression, Sum) else (expression,)
