"""The operators a network can apply to its nodes, as symbols.

    Operator    D̃^left (A + s·I) D̃^right       D̃ = diag((A + s·I)·1); negative powers of 0 are 0
                A_row = (−1, 0)   A_sym = (−½, −½)   A_col = (0, −1);   with s = 1: Ã_row, Ã_sym, Ã_col
    Laplacian   D − A
    Attention   diag(X w₁)(A + s·I) + (A + s·I) diag(X w₂)      w₁, w₂: free vectors of one layer and head

The letter names the graph: A for the first one, B for the 0/1 pattern of a weighted A, A₂ for a second graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from slimg.errors import choices
from slimg.lab.gnnexp.algebra import IDENTITY, Polynomial

HALF = Fraction(1, 2)
NORMALISATIONS: dict[str, tuple[Fraction, Fraction]] = {
    "none": (Fraction(0), Fraction(0)),
    "row": (Fraction(-1), Fraction(0)),
    "sym": (-HALF, -HALF),
    "col": (Fraction(0), Fraction(-1)),
}
_NAMES = {powers: name for name, powers in NORMALISATIONS.items()}
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True)
class Operator:
    """D̃^left (A + loops·I) D̃^right over the graph with this letter."""

    graph: str = "A"
    loops: Fraction = Fraction(0)
    left: Fraction = Fraction(0)
    right: Fraction = Fraction(0)

    @property
    def text(self) -> str:
        letter = self.graph.translate(_SUBSCRIPTS)
        if self.loops:
            letter = f"{letter[0]}\u0303{letter[1:]}" if letter[0] != "A" else f"Ã{letter[1:]}"
        if self.loops not in (0, 1):
            letter += f"[{float(self.loops):g}I]"
        name = _NAMES.get((self.left, self.right))
        if name is None:
            return f"D^({self.left}){letter}D^({self.right})"
        return letter if name == "none" else f"{letter}_{name}"

    @property
    def latex(self) -> str:
        letter, index = self.graph[0], self.graph[1:]
        bold = rf"\mathbf{{{letter}}}"
        if self.loops:
            bold = rf"\tilde{{{bold}}}"
        name = _NAMES.get((self.left, self.right))
        if name is None:
            return rf"\mathbf{{D}}^{{{self.left}}} {bold} \mathbf{{D}}^{{{self.right}}}"
        below = ([index] if index else []) + ([rf"\mathrm{{{name}}}"] if name != "none" else [])
        strength = [] if self.loops in (0, 1) else [rf"{float(self.loops):g}\mathbf{{I}}"]
        below += strength
        return bold + (rf"_{{{','.join(below)}}}" if below else "")

    @property
    def keeps_ones(self) -> bool:
        """Whether it maps the vector of ones to itself on every graph."""
        return self.loops > 0 and (self.left, self.right) == NORMALISATIONS["row"]


@dataclass(frozen=True)
class Laplacian:
    """D − A."""

    graph: str = "A"

    @property
    def text(self) -> str:
        return "L" if self.graph == "A" else f"L({self.graph.translate(_SUBSCRIPTS)})"

    @property
    def latex(self) -> str:
        return r"\mathbf{L}" if self.graph == "A" else rf"\mathbf{{L}}({self.graph})"


@dataclass(frozen=True)
class Attention:
    """diag(X w₁) M + M diag(X w₂) with M = A + loops·I, for one attention layer and head, both counted from 1."""

    layer: int
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
    def text(self) -> str:
        matrix = Operator(self.graph, self.loops).text
        first, second = (_plain(name) for name in self.vectors)
        return f"[diag(X {first}) {matrix} + {matrix} diag(X {second})]"

    @property
    def latex(self) -> str:
        matrix = Operator(self.graph, self.loops).latex
        first, second = (rf"\mathbf{{w}}{name[1:]}" for name in self.vectors)
        return rf"[\mathrm{{diag}}(\mathbf{{X}} {first}) {matrix} + {matrix} \mathrm{{diag}}(\mathbf{{X}} {second})]"


def normalised(graph: str = "A", norm: str = "sym", loops: Fraction | int = 0) -> Polynomial:
    """One normalised operator; without normalisation the loops are taken apart: A + s·I."""
    if norm not in NORMALISATIONS:
        raise choices("normalisation", norm, tuple(NORMALISATIONS))
    return scaled(graph, Fraction(loops), *NORMALISATIONS[norm])


def scaled(graph: str, loops: Fraction, left: Fraction, right: Fraction) -> Polynomial:
    """D̃^left (A + loops·I) D̃^right as a polynomial."""
    if left == right == 0:
        return Polynomial.of(Operator(graph)) + IDENTITY * loops
    return Polynomial.of(Operator(graph, loops, left, right))


def _plain(name: str) -> str:
    """w_{1,2} as w₁₂."""
    return name.replace("_{", "").replace("}", "").replace(",", "").translate(_SUBSCRIPTS)
