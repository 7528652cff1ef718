"""Propagators in writing: formulas printed by the code that computes them, in LaTeX and in unicode.

    derived      ‖ₖ₌₀⁶ Ã_symᵏ X ‖ (0.9 Ã_sym⁸ + 0.1 Ã_sym⁷) X       polynomials in operators, from `linearize`
    registered   ‖ₖ₌₀ᴷ⁻² Ã_symᵏ X ‖ [(1 − α) Ã_symᴷ + α Ã_symᴷ⁻¹] X   expressions of `slimg.lab.propagators`

Runs of four or more consecutive powers of one operator are written as one concatenation over k. Polynomials of more than
eight words are shortened in the middle: the blocks themselves hold every coefficient. Operators are written as in
`slimg.lab.gnnexp.algebra`; L = D^-½ (D − A) D^-½ is that of the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence

from slimg.lab.gnnexp.algebra import NORMALISATIONS, Operator, Polynomial, Symbol
from slimg.lab.gnnexp.notation import (
    ATOM,
    CONCATENATION,
    FEATURES,
    IDENTITY,
    PRODUCT,
    SUM,
    Scalar,
    as_scalar,
    plain,
    power,
)
from slimg.lab.propagators.expressions import (
    Attention,
    Chain,
    Concatenation,
    Diffused,
    Exponential,
    Expression,
    Gated,
    Hop,
    Identity,
    Inverse,
    Over,
    Power,
    Reduced,
    Scaled,
    Series,
    Structure,
    Sum,
)
from slimg.lab.propagators.registry import Propagator

Formula = Concatenation | Expression
_RUN = 4
_MANY = 3


# derived propagators: polynomials in operators ----------------------------------------------------------------------


def propagator_latex(blocks: Sequence[Polynomial], base: str = FEATURES) -> str:
    """The concatenation of polynomials, each times ``base``.

    Returns
    -------
    str
        In LaTeX; 0 without blocks.
    """
    written, place = [], 0
    while place < len(blocks):
        symbol, first, last = _run(blocks[place:])
        if symbol is not None and last - first + 1 >= _RUN:
            written.append(rf"\Big\Vert_{{k={first}}}^{{{last}}} {power(symbol.latex, 'k')} {base}")
            place += last - first + 1
        else:
            written.append(_block_latex(blocks[place], base))
            place += 1
    return CONCATENATION.join(written) or "0"


def propagator_text(blocks: Sequence[Polynomial], base: str = FEATURES) -> str:
    """`propagator_latex` in unicode."""
    return plain(propagator_latex(blocks, base))


def block_text(polynomial: Polynomial, base: str = FEATURES) -> str:
    """One block, such as Ã_sym² X, in unicode."""
    return plain(_block_latex(polynomial, base))


def _block_latex(polynomial: Polynomial, base: str) -> str:
    words = polynomial.words
    if len(words) == 1 and polynomial.coefficient(words[0]) == 1:
        return f"{words[0].latex} {base}" if words[0].factors else base
    return f"({polynomial.latex}) {base}"


def _run(blocks: Sequence[Polynomial]) -> tuple[Symbol | None, int, int]:
    """The operator and the range of powers of the longest run of single powers at the start."""
    symbol: Symbol | None = None
    powers: list[int] = []
    for block in blocks:
        single = _single_power(block)
        if single is None or (powers and single[1] != powers[-1] + 1) or (symbol and single[0] not in (None, symbol)):
            break
        symbol = symbol or single[0]
        powers.append(single[1])
    return (symbol, powers[0], powers[-1]) if powers else (None, 0, 0)


def _single_power(block: Polynomial) -> tuple[Symbol | None, int] | None:
    """(S, k) when the block is S^k, (None, 0) for I, None otherwise."""
    words = block.words
    if len(words) != 1 or block.coefficient(words[0]) != 1 or len(words[0].factors) > 1:
        return None
    return words[0].factors[0] if words[0].factors else (None, 0)


# registered propagators: expressions --------------------------------------------------------------------------------


def symbolic(kind: type[Propagator]) -> Propagator:
    """A propagator to be printed only: each hyperparameter is a symbol."""
    return kind(**{name: Scalar.named(name) for name in kind.hyperparameters()})


def latex(formula: Formula) -> str:
    """P(A, X) in LaTeX, followed by the definitions of the matrices it names.

    Returns
    -------
    str
    """
    blocks = [block for part in parts(formula) for block in _few(part)]
    found = [expression for block in blocks for expression in inside(block)]
    definitions = [_definition(expression) for expression in found if isinstance(expression, Diffused)]
    return ", ".join([CONCATENATION.join(map(_part, blocks)), *dict.fromkeys(definitions)])


def text(formula: Formula) -> str:
    """`latex` in unicode."""
    return plain(latex(formula))


def parts(formula: Formula) -> tuple[Expression | Over, ...]:
    """The blocks, those over an index as one."""
    return formula.parts if isinstance(formula, Concatenation) else (formula,)


def inside(part: Expression | Over) -> list[Expression]:
    """All expressions in a formula that is only to be printed: an index is a symbol."""
    if isinstance(part, Over):
        return inside(body(part))
    if isinstance(part, Series | Chain):
        return [part, *inside(part.over)]
    below = list(part.terms) if isinstance(part, Sum) else [b for b in [getattr(part, "base", None)] if b is not None]
    return [part, *(each for base in below for each in inside(base))]


def body(over: Over) -> Expression:
    """The expression of an index, with the index as a symbol."""
    return over.body(Scalar.named(over.symbol))


def operator_symbol(name: str) -> Operator:
    """The symbol of an operator of `slimg.linalg.operators`."""
    letter, _, norm = name.partition("_")
    return Operator("A", Operator().loops + (letter != "A"), *NORMALISATIONS[norm or "none"])


def _few(part: Expression | Over) -> list[Expression | Over]:
    """The blocks of an index with known values one by one, if they are few or the index is no exponent."""
    if not isinstance(part, Over) or isinstance(part.first, Scalar) or isinstance(part.last, Scalar):
        return [part]
    return list(part) if part.last - part.first < _MANY or part.symbol != "k" else [part]


def _part(part: Expression | Over) -> str:
    return " ".join([_over(r"\Big\Vert", part), _block(body(part))]) if isinstance(part, Over) else _block(part)


def _block(expression: Expression) -> str:
    if isinstance(expression, Structure):
        return r"\mathbf{U}"
    if isinstance(expression, Reduced):
        return f"g({_block(expression.base)})"
    if isinstance(expression, Identity) or (isinstance(expression, Power) and expression.exponent == 0):
        return FEATURES
    return f"{_bracketed(expression, PRODUCT)} {FEATURES}"


def _write(expression: Expression) -> tuple[str, int]:
    """The expression and what its outermost operation is."""
    match expression:
        case Identity():
            return IDENTITY, ATOM
        case Hop(name=name):
            return r"\mathbf{L}" if name == "L" else operator_symbol(name).latex, ATOM
        case Scaled() | Sum():
            return _sum(expression)
        case Power(base=base, exponent=exponent):
            return power(_bracketed(base, ATOM), as_scalar(exponent).latex), ATOM
        case Inverse(base=base):
            return power(_bracketed(base, ATOM), "-1"), ATOM
        case Exponential(base=base):
            return rf"\exp({_write(base)[0]})", ATOM
        case Series(over=over) | Chain(over=over):
            sign = r"\sum" if isinstance(expression, Series) else r"\prod"
            return f"{_over(sign, over)} {_bracketed(body(over), PRODUCT)}", PRODUCT
        case Diffused():
            return r"\tilde{\mathbf{S}}_{\mathrm{sym}}", ATOM
        case Attention(layer=layer):
            loops, layer = operator_symbol("Ã").latex, as_scalar(layer).latex
            first, second = (rf"\mathrm{{diag}}({FEATURES} \mathbf{{w}}_{{{layer},{side}}})" for side in (1, 2))
            return f"[{first} {loops} + {loops} {second}]", ATOM
        case Gated(base=base):
            written = _bracketed(base, ATOM)
            return rf"\mathrm{{diag}}({written} {FEATURES} \mathbf{{w}}) {written}", PRODUCT
    raise AssertionError(f"{type(expression).__name__} is only written as a block")


def _definition(diffused: Diffused) -> str:
    return rf"\mathbf{{S}} = \mathrm{{sparse}}_{{{as_scalar(diffused.threshold).latex}}}({_write(diffused.base)[0]})"


def _sum(expression: Expression) -> tuple[str, int]:
    terms = expression.terms if isinstance(expression, Sum) else (expression,)
    (sign, written), *rest = map(_term, terms)
    written = f"-{written}" if sign == "-" else written
    return " ".join([written, *(f"{sign} {term}" for sign, term in rest)]), SUM if rest else PRODUCT


def _term(term: Expression) -> tuple[str, str]:
    """Sign and size of one term of a sum; a factor that is a sum or a quotient is in brackets."""
    sign, factors = "+", []
    while isinstance(term, Scaled):
        number = as_scalar(term.number)
        if number.latex.startswith("-"):
            sign, number = "+" if sign == "-" else "-", Scalar(number.latex[1:], number.rank)
        if number.latex != "1":
            factors.append(f"({number.latex})" if number.rank == SUM or "/" in number.latex else number.latex)
        term = term.base
    return sign, " ".join([*factors, _bracketed(term, PRODUCT)])


def _bracketed(expression: Expression, rank: int) -> str:
    written, own = _write(expression)
    if own >= rank:
        return written
    return f"[{written}]" if "(" in written else f"({written})"


def _over(sign: str, over: Over) -> str:
    return rf"{sign}_{{{over.symbol}={as_scalar(over.first).latex}}}^{{{as_scalar(over.last).latex}}}"
