"""Polynomials in graph operators, and a basis of what they span.

With operators S₁, S₂, … (matrices n × n that need not commute),

    word         w = S₁^k₁ S₂^k₂ …                  the empty word is I
    polynomial   p = Σ_w c_w w,      c_w ∈ ℚ
    span         {p₁, …, p_m} ↦ the reduced row echelon form of the matrix (c_w) with rows p and columns w

Columns run from the longest word to the shortest. In that form a word that lies in the span stands alone, so a sum such
as (1 − α)S^K + αS^(K−1) stays together exactly when its parts cannot be had separately. The form does not depend on the
order or the scale of the polynomials: two sets span the same space if and only if their bases are equal.

Coefficients are rational, so that Chebyshev polynomials of high order reduce without rounding. Those that come from a
user's floating point carry an error of a few units in the last place; a difference that cancels to less than 10⁻¹³ of
its parts is therefore zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Protocol

from slimg.errors import InputError

_CANCELLED = Fraction(1, 10**13)
_PLAIN_DENOMINATOR = 10**6
Number = int | float | Fraction


class Symbol(Protocol):
    """An operator as the algebra sees it: hashable, with a name in two notations. Its text determines it."""

    @property
    def text(self) -> str:
        """In unicode."""

    @property
    def latex(self) -> str:
        """In LaTeX."""


@dataclass(frozen=True)
class Word:
    """A product of operators, applied to X from the right; equal neighbours are powers: ((S, 2), (T, 1)) is S²T."""

    factors: tuple[tuple[Symbol, int], ...] = ()

    @property
    def degree(self) -> int:
        """Number of operators, with repetition."""
        return sum(power for _, power in self.factors)

    @property
    def rank(self) -> tuple:
        """Sort key: by degree, then by name."""
        return self.degree, tuple((symbol.text, power) for symbol, power in self.factors)

    def __mul__(self, other: Word) -> Word:
        left, right = self.factors, other.factors
        if left and right and left[-1][0] == right[0][0]:
            joint = (left[-1][0], left[-1][1] + right[0][1])
            return Word((*left[:-1], joint, *right[1:]))
        return Word(left + right)

    def split(self) -> tuple[Symbol, Word]:
        """The operator applied last, and the word before it."""
        (symbol, power), *rest = self.factors
        return symbol, Word(((symbol, power - 1), *rest) if power > 1 else tuple(rest))

    def without_last(self) -> Word:
        """The word without the operator that is applied first (the rightmost)."""
        *rest, (symbol, power) = self.factors
        return Word((*rest, (symbol, power - 1)) if power > 1 else tuple(rest))


class Polynomial:
    """Σ c_w w over words; immutable. Products keep the order of their factors."""

    __slots__ = ("_terms",)

    def __init__(self, terms: Mapping[Word, Fraction] | None = None):
        self._terms = {word: value for word, value in (terms or {}).items() if value}

    @classmethod
    def of(cls, symbol: Symbol) -> Polynomial:
        """The operator itself."""
        return cls({Word(((symbol, 1),)): Fraction(1)})

    @classmethod
    def constant(cls, number: Number) -> Polynomial:
        """number · I."""
        return cls({Word(): rational(number)})

    @property
    def words(self) -> list[Word]:
        """Words with a coefficient, from the shortest to the longest."""
        return sorted(self._terms, key=lambda word: word.rank)

    @property
    def leading(self) -> Word:
        """The longest word."""
        return max(self._terms, key=lambda word: word.rank)

    @property
    def symbols(self) -> set[Symbol]:
        """The operators that occur."""
        return {symbol for word in self._terms for symbol, _ in word.factors}

    def coefficient(self, word: Word) -> Fraction:
        """c_w, zero for a word that does not occur."""
        return self._terms.get(word, Fraction(0))

    def items(self) -> Iterator[tuple[Word, Fraction]]:
        """Words and coefficients, from the shortest word to the longest."""
        return ((word, self._terms[word]) for word in self.words)

    def __add__(self, other: Polynomial) -> Polynomial:
        total = dict(self._terms)
        for word, value in other._terms.items():
            total[word] = _sum(total.get(word, Fraction(0)), value)
        return Polynomial(total)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other * -1

    def __mul__(self, other: Polynomial | Number) -> Polynomial:
        if not isinstance(other, Polynomial):
            factor = rational(other)
            return Polynomial({word: value * factor for word, value in self._terms.items()})
        total: dict[Word, Fraction] = {}
        for left, a in self._terms.items():
            for right, b in other._terms.items():
                word = left * right
                total[word] = _sum(total.get(word, Fraction(0)), a * b)
        return Polynomial(total)

    __rmul__ = __mul__

    def __pow__(self, power: int) -> Polynomial:
        result = IDENTITY
        for _ in range(power):
            result = self * result
        return result

    def __bool__(self) -> bool:
        return bool(self._terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self._terms == other._terms

    def __hash__(self) -> int:
        return hash(frozenset(self._terms.items()))

    def __repr__(self) -> str:
        from slimg.lab.gnnexp.formula import polynomial_text

        return polynomial_text(self)


IDENTITY = Polynomial({Word(): Fraction(1)})


def span_basis(polynomials: Iterable[Polynomial]) -> tuple[Polynomial, ...]:
    """The basis of the module's text, from the shortest leading word to the longest, each `balanced`."""
    rows: dict[Word, Polynomial] = {}
    for polynomial in polynomials:
        rest = _reduced(polynomial, rows)
        if not rest:
            continue
        pivot = rest.leading
        rest = rest * (1 / rest.coefficient(pivot))
        for other, row in rows.items():
            if row.coefficient(pivot):
                rows[other] = row - rest * row.coefficient(pivot)
        rows[pivot] = rest
    return tuple(balanced(rows[pivot]) for pivot in sorted(rows, key=lambda word: word.rank))


def coordinates(polynomial: Polynomial, basis: tuple[Polynomial, ...]) -> list[Fraction]:
    """c with polynomial = Σ_b c_b · basis_b, for a basis made by `span_basis` whose span holds the polynomial."""
    return [polynomial.coefficient(row.leading) / row.coefficient(row.leading) for row in basis]


def balanced(polynomial: Polynomial) -> Polynomial:
    """The same up to scale: coefficients add to one, as in an average; the leading one is 1 if they nearly cancel."""
    values = [value for _, value in polynomial.items()]
    total = sum(values, Fraction(0))
    if 10 * abs(total) >= sum(abs(value) for value in values):
        return polynomial * (1 / total)
    return polynomial * (1 / polynomial.coefficient(polynomial.leading))


def rational(number: Number) -> Fraction:
    """An exact fraction; a float within rounding of a fraction with a denominator up to a million becomes that one."""
    if isinstance(number, Rational):
        return Fraction(number)
    number = float(number)
    if not math.isfinite(number):
        raise InputError(f"a coefficient of a propagator must be finite, not {number}: check the layer's parameters")
    plain = Fraction(number).limit_denominator(_PLAIN_DENOMINATOR)
    return plain if abs(float(plain) - number) <= 1e-15 * abs(number) else Fraction(number)


def _reduced(polynomial: Polynomial, rows: Mapping[Word, Polynomial]) -> Polynomial:
    """The polynomial minus its part in the span of rows (each with coefficient 1 at its pivot, 0 at the others')."""
    rest = polynomial
    for pivot, row in rows.items():
        value = polynomial.coefficient(pivot)
        if value:
            rest = rest - row * value
    return rest


def _sum(a: Fraction, b: Fraction) -> Fraction:
    """a + b, zero when they cancel up to rounding."""
    total = a + b
    return Fraction(0) if abs(total) <= _CANCELLED * max(abs(a), abs(b)) else total
