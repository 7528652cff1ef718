"""Operators of a graph as symbols, polynomials in them, and a basis of what polynomials span.

    Operator    D̃^left (A + s·I) D̃^right       D̃ = diag((A + s·I)·1); negative powers of 0 are 0
                A_row = (−1, 0)   A_sym = (−½, −½)   A_col = (0, −1);   with s = 1: Ã_row, Ã_sym, Ã_col
    Laplacian   D − A
    Attention   diag(X w₁)(A + s·I) + (A + s·I) diag(X w₂)      w₁, w₂: free vectors of one layer and head

The letter names the graph: A for the first one, B for the 0/1 pattern of a weighted A, A₂ for a second graph. With
operators S₁, S₂, … (matrices n × n that need not commute),

    word         w = S₁^k₁ S₂^k₂ …                  the empty word is I
    polynomial   p = Σ_w c_w w,      c_w ∈ ℚ
    span         {p₁, …, p_m} ↦ the reduced row echelon form of the matrix (c_w) with rows p and columns w

Columns run from the longest word to the shortest. In that form a word that lies in the span is a row of its own, so a sum
such as (1 − α)S^K + αS^(K−1) is kept as one row exactly when its terms do not lie in the span. The form does not depend
on the order or the scale of the polynomials: two sets span the same space if and only if their bases are equal.

Coefficients are rational, so that Chebyshev polynomials of high order reduce without rounding. Those that come from a
user's floating point carry an error of a few units in the last place; a difference that cancels to less than 10⁻¹³ of
its parts is therefore zero.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from numbers import Rational
from typing import Any, Self

from slimg.errors import InputError, check_names

HALF = Fraction(1, 2)
_ZERO, _ONE = Fraction(0), Fraction(1)
NORMALISATIONS = {"none": (_ZERO, _ZERO), "row": (-_ONE, _ZERO), "sym": (-HALF, -HALF), "col": (_ZERO, -_ONE)}
_NAMES = {powers: name for name, powers in NORMALISATIONS.items()}
_CANCELLED = Fraction(1, 10**13)
_PLAIN_DENOMINATOR = 10**6
_LONG = 8
"""Polynomials of more words are shortened in the middle when they are printed."""
GREEK = {"alpha": "α", "epsilon": "ε", "sigma": "σ", "theta": "θ"}
_SUPERSCRIPTS = dict(zip("0123456789+−kKNpiT", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵏᴷᴺᵖⁱᵀ", strict=True))
_SUBSCRIPTS = dict(zip("0123456789+−=ki", "₀₁₂₃₄₅₆₇₈₉₊₋₌ₖᵢ", strict=True))
_SIGNS = {r"\,\Vert\,": "‖", r"\Big\Vert": "‖", r"\sum": "Σ", r"\prod": "Π", r"\exp": "exp", r" \cdot ": "·"}
_SIGNS |= {r"\cdots": "…", " / ": "/", "-": "−"} | {f"\\{name}": letter for name, letter in GREEK.items()}
Number = int | float | Fraction


@dataclass(frozen=True)
class Symbol:
    """An operator of a graph; its text identifies it."""

    @property
    def latex(self) -> str:
        """The operator in LaTeX."""
        raise NotImplementedError

    @cached_property
    def text(self) -> str:
        """The operator in unicode."""
        return plain(self.latex)

    @property
    def keeps_ones(self) -> bool:
        """Whether it maps the vector of ones to itself on every graph."""
        return False


@dataclass(frozen=True)
class Operator(Symbol):
    """D̃^left (A + loops·I) D̃^right over the graph with this letter."""

    graph: str = "A"
    loops: Fraction = Fraction(0)
    left: Fraction = Fraction(0)
    right: Fraction = Fraction(0)

    @property
    def latex(self) -> str:
        letter = rf"\mathbf{{{self.graph[0]}}}"
        if self.loops:
            letter = rf"\tilde{{{letter}}}"
        name = _NAMES.get((self.left, self.right))
        if name is None:
            return rf"(\mathbf{{D}}^{{{self.left}}} {letter} \mathbf{{D}}^{{{self.right}}})"
        below = [self.graph[1:]] if self.graph[1:] else []
        below += [rf"\mathrm{{{name}}}"] if name != "none" else []
        below += [] if self.loops in (0, 1) else [rf"{float(self.loops):g}\mathbf{{I}}"]
        return letter + (rf"_{{{','.join(below)}}}" if below else "")

    @property
    def keeps_ones(self) -> bool:
        return self.loops > 0 and (self.left, self.right) == NORMALISATIONS["row"]


@dataclass(frozen=True)
class Laplacian(Symbol):
    """D − A."""

    graph: str = "A"

    @property
    def latex(self) -> str:
        return r"\mathbf{L}" if self.graph == "A" else rf"\mathbf{{L}}({Operator(self.graph).latex})"


@dataclass(frozen=True)
class Attention(Symbol):
    """diag(X w₁) M + M diag(X w₂) with M = A + loops·I, for one attention layer and head, both counted from 1."""

    layer: int | str
    head: int = 1
    heads: int = 1
    graph: str = "A"
    loops: Fraction = Fraction(1)

    @property
    def vectors(self) -> tuple[str, str]:
        """Names of its two weight vectors: receiver's and sender's."""
        place = f"{self.layer}" if self.heads == 1 else f"{self.layer},{self.head}"
        return f"w_{{{place},1}}", f"w_{{{place},2}}"

    @property
    def latex(self) -> str:
        matrix = Operator(self.graph, self.loops).latex
        first, second = (rf"\mathrm{{diag}}(\mathbf{{X}} \mathbf{{w}}{name[1:]})" for name in self.vectors)
        return f"[{first} {matrix} + {matrix} {second}]"


@dataclass(frozen=True)
class Word:
    """A product of operators, applied to X from the right; equal neighbours are powers: ((S, 2), (T, 1)) is S²T."""

    factors: tuple[tuple[Symbol, int], ...] = ()

    @property
    def degree(self) -> int:
        """Number of operators, with repetition."""
        return sum(power for _, power in self.factors)

    @property
    def rank(self) -> tuple[Any, ...]:
        """Sort key: by degree, then by name."""
        return self.degree, tuple((symbol.text, power) for symbol, power in self.factors)

    @property
    def latex(self) -> str:
        """The product in LaTeX."""
        return " ".join(power(symbol.latex, str(exponent)) for symbol, exponent in self.factors) or r"\mathbf{I}"

    def __mul__(self, other: Word) -> Word:
        left, right = self.factors, other.factors
        if left and right and left[-1][0] == right[0][0]:
            joint = (left[-1][0], left[-1][1] + right[0][1])
            return Word((*left[:-1], joint, *right[1:]))
        return Word(left + right)

    def steps(self) -> Iterator[tuple[Symbol, Word]]:
        """The operators in the order in which they are applied, each with the word up to it."""
        word = Word()
        for symbol, power in reversed(self.factors):
            for _ in range(power):
                word = Word(((symbol, 1),)) * word
                yield symbol, word


class Combination:
    """Σ coefficient · key, immutable; terms whose coefficient is zero are left out."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Any, Any] | None = None):
        self.terms: dict[Any, Any] = {key: value for key, value in (terms or {}).items() if value}

    def __add__(self, other: Self) -> Self:
        total = dict(self.terms)
        for key, value in other.terms.items():
            total[key] = _sum(total[key], value) if key in total else value
        return type(self)(total)

    def __sub__(self, other: Self) -> Self:
        return self + other * -1

    def __mul__(self, number: Any) -> Self:
        return type(self)({key: value * number for key, value in self.terms.items()})

    __rmul__ = __mul__

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Combination) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))


class Polynomial(Combination):
    """Σ c_w w over words. Products keep the order of their factors."""

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
        return sorted(self.terms, key=lambda word: word.rank)

    @property
    def leading(self) -> Word:
        """The longest word."""
        return max(self.terms, key=lambda word: word.rank)

    @property
    def symbols(self) -> set[Symbol]:
        """The operators that occur."""
        return {symbol for word in self.terms for symbol, _ in word.factors}

    def coefficient(self, word: Word) -> Fraction:
        """c_w, zero for a word that does not occur."""
        return self.terms.get(word, Fraction(0))

    def items(self) -> Iterator[tuple[Word, Fraction]]:
        """Words and coefficients, from the shortest word to the longest."""
        return ((word, self.terms[word]) for word in self.words)

    def on_ones(self) -> Polynomial:
        """The same on the vector of ones: rightmost operators that map it to itself are left out."""
        total = Polynomial()
        for word, value in self.items():
            factors = list(word.factors)
            while factors and factors[-1][0].keeps_ones:
                factors.pop()
            total = total + Polynomial({Word(tuple(factors)): value})
        return total

    def __mul__(self, other: Any) -> Polynomial:
        if not isinstance(other, Polynomial):
            return super().__mul__(rational(other))
        total: dict[Word, Fraction] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                word = left * right
                total[word] = _sum(total.get(word, Fraction(0)), a * b)
        return Polynomial(total)

    __rmul__ = __mul__

    def __pow__(self, power: int) -> Polynomial:
        result = IDENTITY
        for _ in range(power):
            result = self * result
        return result

    @property
    def latex(self) -> str:
        """The sum in LaTeX, from the longest word to the shortest, with four significant digits."""
        ordered = sorted(self.terms.items(), key=lambda item: (-item[0].degree, item[0].rank))
        terms = [_term(word, value) for word, value in ordered]
        return joined(terms if len(terms) <= _LONG else [*terms[:3], ("+", r"\cdots"), *terms[-3:]]) if terms else "0"

    def __repr__(self) -> str:
        return plain(self.latex)


IDENTITY = Polynomial({Word(): Fraction(1)})


def normalised(graph: str = "A", norm: str = "sym", loops: Fraction | int = 0) -> Polynomial:
    """One normalised operator, D̃^left (A + loops·I) D̃^right.

    Parameters
    ----------
    graph : str, default="A"
        Letter of the graph.
    norm : {"none", "row", "sym", "col"}, default="sym"
        The normalisation.
    loops : Fraction or int, default=0
        Strength of the self-loops.

    Returns
    -------
    Polynomial
        The operator; A + loops·I without a normalisation.
    """
    check_names("normalisation", [norm], NORMALISATIONS)
    return scaled(graph, Fraction(loops), *NORMALISATIONS[norm])


def scaled(graph: str, loops: Fraction, left: Fraction, right: Fraction) -> Polynomial:
    """D̃^left (A + loops·I) D̃^right as a polynomial."""
    if left == right == 0:
        return Polynomial.of(Operator(graph)) + IDENTITY * loops
    return Polynomial.of(Operator(graph, loops, left, right))


def span_basis(polynomials: Iterable[Polynomial]) -> tuple[Polynomial, ...]:
    """The basis defined in the module docstring.

    Returns
    -------
    tuple of Polynomial
        From the shortest leading word to the longest, each `balanced`.
    """
    rows: dict[Word, Polynomial] = {}
    for polynomial in polynomials:
        rest = polynomial
        for pivot, row in rows.items():  # a row has 1 at its own pivot and 0 at the others'
            rest = rest - row * polynomial.coefficient(pivot)
        if not rest:
            continue
        pivot = rest.leading
        rest = rest * (1 / rest.coefficient(pivot))
        rows = {other: row - rest * row.coefficient(pivot) for other, row in rows.items()} | {pivot: rest}
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


def _term(word: Word, value: Fraction) -> tuple[str, str]:
    """Sign and size of one term, as in ("-", "0.5 A")."""
    digits, _, exponent = f"{float(abs(value)):.4g}".partition("e")
    size = rf"{digits} \cdot 10^{{{int(exponent)}}} " if exponent else f"{digits} "
    return "-" if value < 0 else "+", word.latex if abs(value) == 1 else size + word.latex


def _sum(a: Any, b: Any) -> Any:
    """a + b, zero when two numbers cancel up to rounding."""
    total = a + b
    return Fraction(0) if isinstance(total, Fraction) and abs(total) <= _CANCELLED * max(abs(a), abs(b)) else total


# writing ------------------------------------------------------------------------------------------------------------


def joined(terms: Sequence[tuple[str, str]]) -> str:
    """Terms of a sum, each a sign and what follows it, as one formula."""
    (sign, first), *rest = terms
    return " ".join([f"-{first}" if sign == "-" else first, *(f"{sign} {term}" for sign, term in rest)])


@lru_cache(maxsize=4096)
def plain(latex: str) -> str:
    """The LaTeX of this package in unicode.

    Parameters
    ----------
    latex : str
        A formula made of the signs that this package writes.

    Returns
    -------
    str
        The same formula in unicode.

    Examples
    --------
    >>> plain(r"\\tilde{\\mathbf{A}}_{\\mathrm{sym}}")
    'Ã_sym'
    """
    text = latex
    for sign, letter in _SIGNS.items():
        text = text.replace(sign, letter)
    text = re.sub(r"\\mathbf\{(.)\}", r"\1", text)
    text = re.sub(r"\\tilde\{(.)\}", lambda match: unicodedata.normalize("NFC", match[1] + "\u0303"), text)
    text = re.sub(r"_\{((?:[^{}]|\{\w*\})*)\}", lambda match: _subscript(match[1]), text)
    text = re.sub(r"\\mathrm\{(\w+)\}", r"\1", text)
    text = re.sub(r"\^\{([^{}]*)\}", lambda match: _superscript(match[1]), text)
    return text.replace("{", "").replace("}", "")


def power(base: str, exponent: str) -> str:
    """base^exponent in LaTeX.

    Returns
    -------
    str
        The base itself for the exponent 1.
    """
    return base if exponent == "1" else f"{{{base}}}^{{{exponent}}}"


def _superscript(text: str) -> str:
    """ᴷ⁻¹, or ^(…) for letters without a small form."""
    compact = text.replace(" ", "")
    if all(letter in _SUPERSCRIPTS for letter in compact):
        return "".join(_SUPERSCRIPTS[letter] for letter in compact)
    return f"^({text})" if len(compact) > 1 else f"^{text}"


def _subscript(text: str) -> str:
    """Index, strength of self-loops and name of a normalisation, in this order: ₂[2I]_sym."""
    index = strength = name = ""
    for part in text.split(","):
        if part.startswith(r"\mathrm"):
            name = f"_{part[8:-1]}"
        elif part.endswith("I"):
            strength = f"[{part}]"
        else:
            small = all(letter in _SUBSCRIPTS for letter in part)
            index += "".join(_SUBSCRIPTS[letter] for letter in part) if small else f"_{part}"
    return index + strength + name
