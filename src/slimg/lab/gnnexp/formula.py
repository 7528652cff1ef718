"""Propagators in writing.

    polynomial   0.9 Ã_sym⁸ + 0.1 Ã_sym⁷
    propagator   ‖ₖ₌₀⁶ Ã_symᵏ X ‖ (0.9 Ã_sym⁸ + 0.1 Ã_sym⁷) X

Runs of four or more consecutive powers of one operator are written as one concatenation over k, and polynomials of more
than eight words are shortened in the middle: the blocks themselves hold every coefficient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from slimg.lab.gnnexp.algebra import Polynomial, Symbol, Word

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SUBSCRIPTS = str.maketrans("0123456789-", "₀₁₂₃₄₅₆₇₈₉₋")
_RUN = 4
_LONG = 8


def polynomial_text(polynomial: Polynomial) -> str:
    """A polynomial in unicode."""
    return _polynomial(polynomial, UNICODE)


def polynomial_latex(polynomial: Polynomial) -> str:
    """A polynomial in LaTeX."""
    return _polynomial(polynomial, LATEX)


def block_text(polynomial: Polynomial, base: str = "X") -> str:
    """One block, such as Ã_sym² X."""
    return _block(polynomial, UNICODE, base)


def propagator_text(blocks: Sequence[Polynomial], base: str = "X") -> str:
    """The concatenation of all blocks in unicode; 0 without blocks."""
    return _propagator(blocks, UNICODE, base)


def propagator_latex(blocks: Sequence[Polynomial], base: str = r"\mathbf{X}") -> str:
    """The concatenation of all blocks in LaTeX; 0 without blocks."""
    return _propagator(blocks, LATEX, base)


@dataclass(frozen=True)
class _Notation:
    """How one notation writes the parts of a formula."""

    latex: bool
    identity: str
    concatenation: str
    dots: str

    def symbol(self, symbol: Symbol) -> str:
        return symbol.latex if self.latex else symbol.text

    def power(self, symbol: Symbol, power: int | str) -> str:
        name = self.symbol(symbol)
        if power == 1:
            return name
        if self.latex:
            return f"{{{name}}}^{{{power}}}"
        return f"{name}ᵏ" if power == "k" else f"{name}{str(power).translate(_SUPERSCRIPTS)}"

    def concatenation_over(self, first: int, last: int) -> str:
        if self.latex:
            return rf"\Big\Vert_{{k={first}}}^{{{last}}} "
        return f"‖ₖ₌{str(first).translate(_SUBSCRIPTS)}{str(last).translate(_SUPERSCRIPTS)} "


UNICODE = _Notation(False, "I", " ‖ ", "…")
LATEX = _Notation(True, r"\mathbf{I}", r" \,\Vert\, ", r"\cdots")


def _propagator(blocks: Sequence[Polynomial], notation: _Notation, base: str) -> str:
    parts, place = [], 0
    while place < len(blocks):
        symbol, first, last = _run(blocks, place)
        if symbol is not None and last - first + 1 >= _RUN:
            parts.append(f"{notation.concatenation_over(first, last)}{notation.power(symbol, 'k')} {base}")
            place += last - first + 1
        else:
            parts.append(_block(blocks[place], notation, base))
            place += 1
    return notation.concatenation.join(parts) or "0"


def _run(blocks: Sequence[Polynomial], start: int) -> tuple[Symbol | None, int, int]:
    """The operator and the range of powers of the longest run of single powers from ``start``."""
    symbol: Symbol | None = None
    powers: list[int] = []
    for block in blocks[start:]:
        power = _single_power(block)
        if power is None or (powers and power[1] != powers[-1] + 1):
            break
        if power[0] is not None:
            if symbol is not None and power[0] != symbol:
                break
            symbol = power[0]
        powers.append(power[1])
    return (symbol, powers[0], powers[-1]) if powers else (None, 0, 0)


def _single_power(block: Polynomial) -> tuple[Symbol | None, int] | None:
    """(S, k) when the block is S^k, (None, 0) for I, None otherwise."""
    words = block.words
    if len(words) != 1 or block.coefficient(words[0]) != 1 or len(words[0].factors) > 1:
        return None
    return words[0].factors[0] if words[0].factors else (None, 0)


def _block(polynomial: Polynomial, notation: _Notation, base: str) -> str:
    words = polynomial.words
    if len(words) == 1 and polynomial.coefficient(words[0]) == 1:
        return base if not words[0].factors else f"{_word(words[0], notation)} {base}"
    return f"({_polynomial(polynomial, notation)}) {base}"


def _polynomial(polynomial: Polynomial, notation: _Notation) -> str:
    terms = [_term(word, value, notation) for word, value in sorted(polynomial.items(), key=_from_longest)]
    if not terms:
        return "0"
    if len(terms) > _LONG:
        terms = [*terms[:3], f"+ {notation.dots}", *terms[-3:]]
    text = " ".join(terms)
    return text.removeprefix("+ ") if text.startswith("+") else text.replace(" ", "", 1)


def _from_longest(item: tuple[Word, Fraction]) -> tuple:
    return -item[0].degree, item[0].rank


def _term(word: Word, value: Fraction, notation: _Notation) -> str:
    sign = "-" if value < 0 and notation.latex else "−" if value < 0 else "+"
    size = "" if abs(value) == 1 else f"{_decimal(abs(value), notation)} "
    return f"{sign} {size}{_word(word, notation)}"


def _decimal(value: Fraction, notation: _Notation) -> str:
    """Four significant digits."""
    digits = f"{float(value):.4g}"
    if "e" not in digits:
        return digits
    mantissa, exponent = digits.split("e")
    if notation.latex:
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
    return f"{mantissa}·10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def _word(word: Word, notation: _Notation) -> str:
    if not word.factors:
        return notation.identity
    return " ".join(notation.power(symbol, power) for symbol, power in word.factors)
