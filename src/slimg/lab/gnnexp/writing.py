"""Registered propagators in writing: their formulas, printed by the code that computes them.

    symbolic(kind)   the propagator with each hyperparameter standing for itself
    text, latex      P(A, X) of its formula

Operators are written as in `slimg.lab.gnnexp.symbols`; L = D^-½ (D − A) D^-½ is that of the kernels.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from slimg.lab.gnnexp.formula import LATEX, UNICODE
from slimg.lab.gnnexp.scalars import ATOM, PRODUCT, SUM, Scalar, as_scalar, high, low
from slimg.lab.gnnexp.symbols import NORMALISATIONS, Operator
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
_MANY = 3


def symbolic(kind: type[Propagator]) -> Propagator:
    """The propagator of which each hyperparameter stands for itself; it is only to be written."""
    return kind(**{name: Scalar.named(name) for name in kind.hyperparameters()})


def text(formula: Formula) -> str:
    """P(A, X) in unicode."""
    return _Writer(False).propagator(formula)


def latex(formula: Formula) -> str:
    """P(A, X) in LaTeX."""
    return _Writer(True).propagator(formula)


def parts(formula: Formula) -> tuple[Expression | Over, ...]:
    """The blocks, those over an index as one."""
    return formula.parts if isinstance(formula, Concatenation) else (formula,)


def inside(part: Expression | Over) -> list[Expression]:
    """All expressions in a formula that is only to be written: an index stands for itself."""
    if isinstance(part, Over):
        return inside(part.body(Scalar.named(part.symbol)))
    if isinstance(part, Series | Chain):
        return [part, *inside(part.over)]
    below = list(part.terms) if isinstance(part, Sum) else [b for b in [getattr(part, "base", None)] if b is not None]
    return [part, *(each for base in below for each in inside(base))]


def operator_symbol(name: str) -> Operator:
    """The symbol of an operator of `slimg.linalg.operators`."""
    letter, _, norm = name.partition("_")
    return Operator("A", Operator().loops + (letter != "A"), *NORMALISATIONS[norm or "none"])


@dataclass
class _Writer:
    """One notation; ``definitions`` collects what a formula names, to be told behind it."""

    in_latex: bool
    definitions: list[str] = field(default_factory=list)

    def propagator(self, formula: Formula) -> str:
        notation = LATEX if self.in_latex else UNICODE
        written = notation.concatenation.join(self._part(part) for each in parts(formula) for part in _few(each))
        return ", ".join([written, *dict.fromkeys(self.definitions)])

    def _part(self, part: Expression | Over) -> str:
        if isinstance(part, Over):
            sign = r"\Big\Vert" if self.in_latex else "‖"
            return f"{self._over(sign, part)} {self._block(part.body(Scalar.named(part.symbol)))}"
        return self._block(part)

    def _block(self, expression: Expression) -> str:
        features = r"\mathbf{X}" if self.in_latex else "X"
        if isinstance(expression, Structure):
            return r"\mathbf{U}" if self.in_latex else "U"
        if isinstance(expression, Reduced):
            return f"g({self._block(expression.base)})"
        if isinstance(expression, Identity) or (isinstance(expression, Power) and expression.exponent == 0):
            return features
        return f"{self._bracketed(expression, PRODUCT)} {features}"

    def _write(self, expression: Expression) -> tuple[str, int]:
        """The expression and what its outermost operation is."""
        match expression:
            case Identity():
                return (LATEX if self.in_latex else UNICODE).identity, ATOM
            case Hop(name=name):
                return self._hop(name), ATOM
            case Scaled() | Sum():
                return self._sum(expression)
            case Power(base=base, exponent=exponent):
                return self._power(self._bracketed(base, ATOM), as_scalar(exponent)), ATOM
            case Inverse(base=base):
                return self._power(self._bracketed(base, ATOM), as_scalar(-1)), ATOM
            case Exponential(base=base):
                return rf"\exp({self._write(base)[0]})" if self.in_latex else f"exp({self._write(base)[0]})", ATOM
            case Series(over=over) | Chain(over=over):
                sign = {Series: ("Σ", r"\sum"), Chain: ("Π", r"\prod")}[type(expression)][self.in_latex]
                body = self._bracketed(over.body(Scalar.named(over.symbol)), PRODUCT)
                return f"{self._over(sign, over)} {body}", PRODUCT
            case Diffused():
                return self._diffused(expression), ATOM
            case Attention(layer=layer):
                return self._attention(as_scalar(layer)), ATOM
            case Gated(base=base):
                return self._gated(self._bracketed(base, ATOM)), PRODUCT
        raise AssertionError(f"{type(expression).__name__} is only written as a block")

    def _sum(self, expression: Expression) -> tuple[str, int]:
        terms = expression.terms if isinstance(expression, Sum) else (expression,)
        written = ""
        for place, term in enumerate(terms):
            sign, body = self._term(term)
            minus = "-" if self.in_latex else "−"
            if place == 0:
                written = (minus if sign < 0 else "") + body
            else:
                written += f" {minus if sign < 0 else '+'} {body}"
        return written, SUM if len(terms) > 1 else PRODUCT

    def _term(self, term: Expression) -> tuple[int, str]:
        """Sign and size of one term of a sum."""
        sign, factors = 1, []
        while isinstance(term, Scaled):
            number = as_scalar(term.number)
            if number.text.startswith("−"):
                sign, number = -sign, Scalar(number.text[1:], number.latex[1:], number.rank)
            if number.text != "1":
                factors.append(number)
            term = term.base
        shown = [self._factor(number) for number in factors]
        return sign, " ".join([*shown, self._bracketed(term, PRODUCT)])

    def _factor(self, number: Scalar) -> str:
        """A number before an operator, in brackets if it is a sum or a quotient."""
        written = number.latex if self.in_latex else number.text
        return f"({written})" if number.rank == SUM or "/" in number.text else written

    def _bracketed(self, expression: Expression, rank: int) -> str:
        written, own = self._write(expression)
        if own >= rank:
            return written
        return f"[{written}]" if "(" in written else f"({written})"

    def _power(self, base: str, exponent: Scalar) -> str:
        if exponent.text == "1":
            return base
        return f"{{{base}}}^{{{exponent.latex}}}" if self.in_latex else base + high(exponent.text)

    def _over(self, sign: str, over: Over) -> str:
        first, last = as_scalar(over.first), as_scalar(over.last)
        if self.in_latex:
            return rf"{sign}_{{{over.symbol}={first.latex}}}^{{{last.latex}}}"
        return f"{sign}{low(f'{over.symbol}={first.text}')}{high(last.text)}"

    def _hop(self, name: str) -> str:
        if name == "L":
            return r"\mathbf{L}" if self.in_latex else "L"
        symbol = operator_symbol(name)
        return symbol.latex if self.in_latex else symbol.text

    def _diffused(self, node: Diffused) -> str:
        threshold, base = as_scalar(node.threshold), self._write(node.base)[0]
        if self.in_latex:
            self.definitions.append(rf"\mathbf{{S}} = \mathrm{{sparse}}_{{{threshold.latex}}}({base})")
            return r"\tilde{\mathbf{S}}_{\mathrm{sym}}"
        self.definitions.append(f"S = sparse_{threshold.text}({base})")
        return "S̃_sym"

    def _attention(self, layer: Scalar) -> str:
        loops = operator_symbol("Ã")
        if self.in_latex:
            first, second = (rf"\mathrm{{diag}}(\mathbf{{X}} \mathbf{{w}}_{{{layer.latex},{side}}})" for side in (1, 2))
            return rf"[{first} {loops.latex} + {loops.latex} {second}]"
        first, second = (f"diag(X w{low(layer.text)}{low(str(side))})" for side in (1, 2))
        return f"[{first} {loops.text} + {loops.text} {second}]"

    def _gated(self, base: str) -> str:
        if self.in_latex:
            return rf"\mathrm{{diag}}({base} \mathbf{{X}} \mathbf{{w}}) {base}"
        return f"diag({base} X w) {base}"


def _few(part: Expression | Over) -> list[Expression | Over]:
    """The blocks of an index with known values one by one, if they are few or the index is no exponent."""
    if not isinstance(part, Over) or isinstance(part.first, Scalar) or isinstance(part.last, Scalar):
        return [part]
    return list(part) if part.last - part.first < _MANY or part.symbol != "k" else [part]
