"""Propagators in writing: formulas printed by the code that computes them, in LaTeX and in unicode.

    derived      ‖ₖ₌₀⁶ Ã_symᵏ X ‖ (0.9 Ã_sym⁸ + 0.1 Ã_sym⁷) X       polynomials in operators, from `linearize`
    registered   ‖ₖ₌₀ᴷ⁻² Ã_symᵏ X ‖ [(1 − α) Ã_symᴷ + α Ã_symᴷ⁻¹] X   expressions of `slimg.lab.propagators`

Runs of four or more consecutive powers of one operator are written as one concatenation over k. Polynomials of more than
eight words are shortened in the middle: the blocks themselves hold every coefficient. Operators are written as in
`slimg.lab.gnnexp.algebra`; L = D^-½ (D − A) D^-½ is that of the kernels.

A `Scalar` is a hyperparameter or index in a printed formula. A formula computes with the numbers it is given, so
computing it with scalars prints it:

    Scalar.named("T") / Scalar.named("K")        T/K
    1 - Scalar.named("alpha")                    1 − α
    Scalar.named("K") - 2 - 0 + 1                K − 1         sums of one symbol and whole numbers are simplified
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, takewhile
from typing import Any

from slimg.lab.gnnexp.algebra import GREEK, NORMALISATIONS, Attention, Operator, Polynomial, Symbol, joined, plain, power
from slimg.lab.propagators import expressions as ex
from slimg.lab.propagators.registry import Propagator

FEATURES, CONCATENATION = r"\mathbf{X}", r" \,\Vert\, "
SUM, PRODUCT, ATOM = range(3)
"""What the outermost operation of a formula is: those of lower rank need brackets inside those of higher rank."""
_RUN = 4
_MANY = 3


# numbers and hyperparameters ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scalar:
    """A number in writing.

    Attributes
    ----------
    latex : str
        The number in LaTeX.
    rank : int
        What its outermost operation is: SUM, PRODUCT or ATOM.
    linear : tuple of (int, str, int), optional
        (c, symbol, o) when it is c·symbol + o with whole numbers c and o.
    """

    latex: str
    rank: int = ATOM
    linear: tuple[int, str, int] | None = None

    @classmethod
    def named(cls, name: str) -> Scalar:
        """A symbol; the names of Greek letters become the letters."""
        return cls(f"\\{name}" if name in GREEK else name, ATOM, (1, name, 0))

    @property
    def text(self) -> str:
        """The number in unicode."""
        return plain(self.latex)

    def at(self, index: Any) -> Scalar:
        """The symbol with an index, as T_i."""
        return Scalar(f"{self.latex}_{{{as_scalar(index).latex}}}")

    def __add__(self, other: Any) -> Scalar:
        return _sum(self, as_scalar(other), "+")

    def __radd__(self, other: Any) -> Scalar:
        return self + other if self.linear and isinstance(other, int) else as_scalar(other) + self

    def __sub__(self, other: Any) -> Scalar:
        return _sum(self, as_scalar(other), "-")

    def __rsub__(self, other: Any) -> Scalar:
        return as_scalar(other) - self

    def __mul__(self, other: Any) -> Scalar:
        if self.linear and isinstance(other, int):
            factor, name, offset = self.linear
            return _linear(other * factor, name, other * offset)
        if not isinstance(other, int | float | Scalar):
            return NotImplemented
        left, right = self.inside(PRODUCT), as_scalar(other).inside(PRODUCT)
        return Scalar(f"{left} \\cdot {right}" if right[0].isdigit() else f"{left} {right}", PRODUCT)

    def __rmul__(self, other: Any) -> Scalar:
        if self.linear and isinstance(other, int):
            return self * other
        return as_scalar(other) * self if isinstance(other, int | float) else NotImplemented

    def __truediv__(self, other: Any) -> Scalar:
        return Scalar(f"{self.inside(PRODUCT)} / {as_scalar(other).inside(ATOM)}", PRODUCT)

    def __pow__(self, exponent: Any) -> Scalar:
        return Scalar(f"{self.inside(ATOM)}^{{{as_scalar(exponent).latex}}}")

    def __rpow__(self, base: Any) -> Scalar:
        return as_scalar(base) ** self

    def __neg__(self) -> Scalar:
        return Scalar(f"-{self.inside(PRODUCT)}", PRODUCT)

    def inside(self, rank: int) -> str:
        """Its LaTeX, in brackets when its own operation binds less than ``rank``."""
        return self.latex if self.rank >= rank else f"({self.latex})"


def as_scalar(number: Any) -> Scalar:
    """A number or symbol in writing.

    Returns
    -------
    Scalar
        The symbol itself, or the number with up to six significant digits.
    """
    if isinstance(number, Scalar):
        return number
    return Scalar(f"{number:g}", ATOM if number >= 0 else PRODUCT, (0, "", number) if isinstance(number, int) else None)


def _linear(factor: int, name: str, offset: int) -> Scalar:
    """factor · name + offset, simplified."""
    if factor == 0:
        return as_scalar(offset)
    latex = ("" if factor == 1 else f"{factor}") + Scalar.named(name).latex
    if offset == 0:
        return Scalar(latex, ATOM if factor == 1 else PRODUCT, (factor, name, 0))
    return Scalar(f"{latex} {'+' if offset > 0 else '-'} {abs(offset)}", SUM, (factor, name, offset))


def _sum(left: Scalar, right: Scalar, sign: str) -> Scalar:
    if left.linear and right.linear and right.linear[1] in ("", left.linear[1]):
        (factor, name, offset), unit = left.linear, 1 if sign == "+" else -1
        return _linear(factor + unit * right.linear[0], name, offset + unit * right.linear[2])
    return Scalar(f"{left.latex} {sign} {right.inside(SUM if sign == '+' else PRODUCT)}", SUM)


# derived propagators: polynomials in operators ----------------------------------------------------------------------


def propagator_latex(blocks: Sequence[Polynomial], base: str = FEATURES) -> str:
    """The concatenation of polynomials, each times ``base``.

    Returns
    -------
    str
        In LaTeX; 0 without blocks.
    """
    written, rest = [], list(blocks)
    while rest:
        symbol, first, length = _run(rest)
        if symbol is not None and length >= _RUN:
            written.append(rf"\Big\Vert_{{k={first}}}^{{{first + length - 1}}} {power(symbol.latex, 'k')} {base}")
        else:
            length = 1
            written.append(_block_latex(rest[0], base))
        rest = rest[length:]
    return CONCATENATION.join(written) or "0"


def propagator_text(blocks: Sequence[Polynomial], base: str = FEATURES) -> str:
    """`propagator_latex` in unicode."""
    return plain(propagator_latex(blocks, base))


def block_text(polynomial: Polynomial, base: str = FEATURES) -> str:
    """One block, such as Ã_sym² X, in unicode."""
    return plain(_block_latex(polynomial, base))


def _block_latex(polynomial: Polynomial, base: str) -> str:
    word = polynomial.leading
    if polynomial == Polynomial({word: Fraction(1)}):
        return f"{word.latex} {base}" if word.factors else base
    return f"({polynomial.latex}) {base}"


def _run(blocks: Sequence[Polynomial]) -> tuple[Symbol | None, int, int]:
    """S, k and the number of blocks S^k, S^(k+1), … at the start."""
    singles = list(map(_single_power, blocks))
    symbol, first = next((symbol for symbol, _ in singles if symbol), None), singles[0][1]
    run = takewhile(lambda pair: pair[0] == (symbol if pair[1] else None, pair[1]), zip(singles, count(first)))
    return symbol, first, len(list(run))


def _single_power(block: Polynomial) -> tuple[Symbol | None, int]:
    """(S, k) when the block is S^k, (None, 0) for I, (None, -1) otherwise."""
    word = block.leading
    is_power = len(word.factors) <= 1 and block == Polynomial({word: Fraction(1)})
    return (word.factors[0] if word.factors else (None, 0)) if is_power else (None, -1)


# registered propagators: expressions --------------------------------------------------------------------------------


def symbolic(kind: type[Propagator]) -> Propagator:
    """A propagator to be printed only: each hyperparameter is a symbol."""
    return kind(**{name: Scalar.named(name) for name in kind.hyperparameters()})


def latex(formula: ex.Concatenation | ex.Expression) -> str:
    """P(A, X) in LaTeX, followed by the definitions of the matrices it names.

    Returns
    -------
    str
    """
    blocks = [block for part in parts(formula) for block in _few(part)]
    found = [expression for block in blocks for expression in inside(block)]
    definitions = [_definition(expression) for expression in found if isinstance(expression, ex.Diffused)]
    return ", ".join([CONCATENATION.join(map(_part, blocks)), *dict.fromkeys(definitions)])


def text(formula: ex.Concatenation | ex.Expression) -> str:
    """`latex` in unicode."""
    return plain(latex(formula))


def parts(formula: ex.Concatenation | ex.Expression) -> tuple[ex.Expression | ex.Over, ...]:
    """The blocks, those over an index as one."""
    return formula.parts if isinstance(formula, ex.Concatenation) else (formula,)


def inside(part: ex.Expression | ex.Over) -> list[ex.Expression]:
    """All expressions in a formula that is only to be printed: an index is a symbol."""
    return list(ex.walk(body(part) if isinstance(part, ex.Over) else part, lambda over: [body(over)]))


def body(over: ex.Over) -> ex.Expression:
    """The expression of an index, with the index as a symbol."""
    return over.body(Scalar.named(over.symbol))


def operator_symbol(name: str) -> Operator:
    """The symbol of an operator of `slimg.linalg.operators`."""
    letter, _, norm = name.partition("_")
    return Operator("A", Operator().loops + (letter != "A"), *NORMALISATIONS[norm or "none"])


def _few(part: ex.Expression | ex.Over) -> list[ex.Expression | ex.Over]:
    """The blocks of an index with known values one by one, if they are few or the index is no exponent."""
    if not isinstance(part, ex.Over) or isinstance(part.first, Scalar) or isinstance(part.last, Scalar):
        return [part]
    return list(part) if part.last - part.first < _MANY or part.symbol != "k" else [part]


def _part(part: ex.Expression | ex.Over) -> str:
    return " ".join([_over(r"\Big\Vert", part), _block(body(part))]) if isinstance(part, ex.Over) else _block(part)


def _block(expression: ex.Expression) -> str:
    if isinstance(expression, ex.Structure):
        return r"\mathbf{U}"
    if isinstance(expression, ex.Reduced):
        return f"g({_block(expression.base)})"
    if isinstance(expression, ex.Identity) or (isinstance(expression, ex.Power) and expression.exponent == 0):
        return FEATURES
    return f"{_bracketed(expression, PRODUCT)} {FEATURES}"


def _write(expression: ex.Expression) -> tuple[str, int]:
    """The expression and what its outermost operation is."""
    match expression:
        case ex.Identity():
            return r"\mathbf{I}", ATOM
        case ex.Hop(name=name):
            return r"\mathbf{L}" if name == "L" else operator_symbol(name).latex, ATOM
        case ex.Scaled() | ex.Sum():
            terms = expression.terms if isinstance(expression, ex.Sum) else (expression,)
            return joined(list(map(_term, terms))), SUM if len(terms) > 1 else PRODUCT
        case ex.Power(base=base, exponent=exponent):
            return power(_bracketed(base, ATOM), as_scalar(exponent).latex), ATOM
        case ex.Inverse(base=base):
            return power(_bracketed(base, ATOM), "-1"), ATOM
        case ex.Exponential(base=base):
            return rf"\exp({_write(base)[0]})", ATOM
        case ex.Series(over=over) | ex.Chain(over=over):
            sign = r"\sum" if isinstance(expression, ex.Series) else r"\prod"
            return f"{_over(sign, over)} {_bracketed(body(over), PRODUCT)}", PRODUCT
        case ex.Diffused():
            return r"\tilde{\mathbf{S}}_{\mathrm{sym}}", ATOM
        case ex.Attention(layer=layer):
            return Attention(as_scalar(layer).latex).latex, ATOM
        case ex.Gated(base=base):
            written = _bracketed(base, ATOM)
            return rf"\mathrm{{diag}}({written} {FEATURES} \mathbf{{w}}) {written}", PRODUCT
    raise AssertionError(f"{type(expression).__name__} is only written as a block")


def _definition(diffused: ex.Diffused) -> str:
    return rf"\mathbf{{S}} = \mathrm{{sparse}}_{{{as_scalar(diffused.threshold).latex}}}({_write(diffused.base)[0]})"


def _term(term: ex.Expression) -> tuple[str, str]:
    """Sign and size of one term of a sum; a factor that is a sum or a quotient is in brackets."""
    sign, factors = "+", []
    while isinstance(term, ex.Scaled):
        number = as_scalar(term.number)
        if number.latex.startswith("-"):
            sign, number = "+" if sign == "-" else "-", Scalar(number.latex[1:], number.rank)
        if number.latex != "1":
            factors.append(f"({number.latex})" if number.rank == SUM or "/" in number.latex else number.latex)
        term = term.base
    return sign, " ".join([*factors, _bracketed(term, PRODUCT)])


def _bracketed(expression: ex.Expression, rank: int) -> str:
    written, own = _write(expression)
    if own >= rank:
        return written
    return f"[{written}]" if "(" in written else f"({written})"


def _over(sign: str, over: ex.Over) -> str:
    return rf"{sign}_{{{over.symbol}={as_scalar(over.first).latex}}}^{{{as_scalar(over.last).latex}}}"
