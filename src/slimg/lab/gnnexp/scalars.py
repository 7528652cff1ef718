"""Numbers that stand for themselves: hyperparameters and indices in a printed formula.

    Scalar.named("T") / Scalar.named("K")        T/K
    1 - Scalar.named("alpha")                    1 − α
    Scalar.named("K") - 2 - 0 + 1                K − 1         sums of one symbol and whole numbers are kept simple

A formula computes with whatever numbers it is given, so giving it these makes it write itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

GREEK = {"alpha": "α", "epsilon": "ε", "sigma": "σ", "theta": "θ"}
_HIGH = dict(zip("0123456789+−kKNpiT", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵏᴷᴺᵖⁱᵀ", strict=True))
_LOW = dict(zip("0123456789+−=ki", "₀₁₂₃₄₅₆₇₈₉₊₋₌ₖᵢ", strict=True))
SUM, PRODUCT, ATOM = range(3)


def high(text: str) -> str:
    """An exponent in unicode: ᴷ⁻¹, or ^(…) for what has no small letters."""
    return _small(text, _HIGH, "^")


def low(text: str) -> str:
    """An index in unicode: ₖ₌₀."""
    return _small(text, _LOW, "_")


@dataclass(frozen=True)
class Scalar:
    """A number in writing; ``rank`` says what its outermost operation is.

    ``linear`` is (c, symbol, o) when it is c·symbol + o with whole numbers c and o.
    """

    text: str
    latex: str
    rank: int = ATOM
    linear: tuple[int, str, int] | None = None

    @classmethod
    def named(cls, name: str) -> Scalar:
        """A symbol; the names of Greek letters become the letters."""
        return cls(GREEK.get(name, name), f"\\{name}" if name in GREEK else name, ATOM, (1, name, 0))

    def at(self, index: Any) -> Scalar:
        """The symbol with an index, as T_i."""
        index = as_scalar(index)
        return Scalar(self.text + low(index.text), f"{self.latex}_{{{index.latex}}}")

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
        return self + -other if self.linear and isinstance(other, int) else _sum(self, as_scalar(other), "−")

    def __rsub__(self, other: Any) -> Scalar:
        return _sum(as_scalar(other), self, "−")

    def __mul__(self, other: Any) -> Scalar:
        if self.linear and isinstance(other, int):
            factor, name, offset = self.linear
            return _linear(other * factor, name, other * offset)
        if not isinstance(other, int | float | Scalar):
            return NotImplemented
        right = as_scalar(other)
        return Scalar(_product(self, right, False), _product(self, right, True), PRODUCT)

    def __rmul__(self, other: Any) -> Scalar:
        if self.linear and isinstance(other, int):
            return self * other
        return as_scalar(other) * self if isinstance(other, int | float) else NotImplemented

    def __truediv__(self, other: Any) -> Scalar:
        right = as_scalar(other)
        text = f"{self._inside(PRODUCT)}/{right._inside(ATOM)}"
        return Scalar(text, f"{self._inside(PRODUCT, True)} / {right._inside(ATOM, True)}", PRODUCT)

    def __pow__(self, exponent: Any) -> Scalar:
        given = as_scalar(exponent)
        return Scalar(self._inside(ATOM) + high(given.text), f"{self._inside(ATOM, True)}^{{{given.latex}}}")

    def __rpow__(self, base: Any) -> Scalar:
        return as_scalar(base) ** self

    def __neg__(self) -> Scalar:
        return Scalar(f"−{self._inside(PRODUCT)}", f"-{self._inside(PRODUCT, True)}", PRODUCT)

    def _inside(self, rank: int, latex: bool = False) -> str:
        """In brackets when its own operation binds less than ``rank``."""
        text = self.latex if latex else self.text
        return text if self.rank >= rank else f"({text})"


def as_scalar(number: Any) -> Scalar:
    """A number or symbol in writing."""
    if isinstance(number, Scalar):
        return number
    digits = f"{number:g}"
    return Scalar(digits.replace("-", "−"), digits, ATOM if number >= 0 else PRODUCT)


def _linear(factor: int, name: str, offset: int) -> Scalar:
    """factor · name + offset, as simple as it is."""
    if factor == 0:
        return as_scalar(offset)
    symbol = Scalar.named(name)
    many = "" if factor == 1 else f"{factor}"
    if offset == 0:
        return Scalar(many + symbol.text, many + symbol.latex, ATOM if factor == 1 else PRODUCT, (factor, name, 0))
    sign, size = ("+", offset) if offset > 0 else ("−", -offset)
    latex = f"{many}{symbol.latex} {'+' if offset > 0 else '-'} {size}"
    return Scalar(f"{many}{symbol.text} {sign} {size}", latex, SUM, (factor, name, offset))


def _sum(left: Scalar, right: Scalar, sign: str) -> Scalar:
    bound = right.rank if sign == "+" else PRODUCT
    text = f"{left.text} {sign} {right._inside(bound)}"
    return Scalar(text, f"{left.latex} {sign.replace('−', '-')} {right._inside(bound, True)}", SUM)


def _product(left: Scalar, right: Scalar, latex: bool) -> str:
    """Side by side, with a dot between digits."""
    first, second = left._inside(PRODUCT, latex), right._inside(PRODUCT, latex)
    dot = r" \cdot " if latex else "·"
    return f"{first}{dot if second[0].isdigit() else ' '}{second}"


def _small(text: str, letters: dict[str, str], mark: str) -> str:
    compact = text.replace(" ", "")
    if all(letter in letters for letter in compact):
        return "".join(letters[letter] for letter in compact)
    return f"{mark}({text})" if len(compact) > 1 else f"{mark}{text}"
