r"""Formulas in writing: LaTeX, its translation to unicode, and symbols that record the arithmetic done with them.

Everything here is written once, in LaTeX; `plain` translates it:

    {\tilde{\mathbf{A}}_{\mathrm{sym}}}^{K-1} \mathbf{X}        Ã_symᴷ⁻¹ X

A `Scalar` is a hyperparameter or index in a printed formula. A formula computes with the numbers it is given, so
computing it with scalars prints it:

    Scalar.named("T") / Scalar.named("K")        T/K
    1 - Scalar.named("alpha")                    1 − α
    Scalar.named("K") - 2 - 0 + 1                K − 1         sums of one symbol and whole numbers are simplified
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

GREEK = {"alpha": "α", "epsilon": "ε", "sigma": "σ", "theta": "θ"}
IDENTITY, FEATURES, CONCATENATION = r"\mathbf{I}", r"\mathbf{X}", r" \,\Vert\, "
SUM, PRODUCT, ATOM = range(3)
"""What the outermost operation of a formula is: those of lower rank need brackets inside those of higher rank."""
_SUPERSCRIPTS = dict(zip("0123456789+−kKNpiT", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵏᴷᴺᵖⁱᵀ", strict=True))
_SUBSCRIPTS = dict(zip("0123456789+−=ki", "₀₁₂₃₄₅₆₇₈₉₊₋₌ₖᵢ", strict=True))
_SIGNS = {r"\,\Vert\,": "‖", r"\Big\Vert": "‖", r"\sum": "Σ", r"\prod": "Π", r"\exp": "exp", r" \cdot ": "·"}
_SIGNS |= {r"\cdots": "…", " / ": "/", "-": "−"} | {f"\\{name}": letter for name, letter in GREEK.items()}


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
        if self.linear and isinstance(other, int):
            factor, name, offset = self.linear
            return _linear(factor, name, offset + other)
        return _sum(self, as_scalar(other), "+")

    def __radd__(self, other: Any) -> Scalar:
        return self + other if self.linear and isinstance(other, int) else _sum(as_scalar(other), self, "+")

    def __sub__(self, other: Any) -> Scalar:
        if isinstance(other, Scalar) and self.linear and other.linear and self.linear[1] == other.linear[1]:
            return _linear(self.linear[0] - other.linear[0], self.linear[1], self.linear[2] - other.linear[2])
        return self + -other if self.linear and isinstance(other, int) else _sum(self, as_scalar(other), "-")

    def __rsub__(self, other: Any) -> Scalar:
        return _sum(as_scalar(other), self, "-")

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
    return Scalar(f"{number:g}", ATOM if number >= 0 else PRODUCT)


def _linear(factor: int, name: str, offset: int) -> Scalar:
    """factor · name + offset, simplified."""
    if factor == 0:
        return as_scalar(offset)
    latex = ("" if factor == 1 else f"{factor}") + Scalar.named(name).latex
    if offset == 0:
        return Scalar(latex, ATOM if factor == 1 else PRODUCT, (factor, name, 0))
    return Scalar(f"{latex} {'+' if offset > 0 else '-'} {abs(offset)}", SUM, (factor, name, offset))


def _sum(left: Scalar, right: Scalar, sign: str) -> Scalar:
    return Scalar(f"{left.latex} {sign} {right.inside(SUM if sign == '+' else PRODUCT)}", SUM)


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
