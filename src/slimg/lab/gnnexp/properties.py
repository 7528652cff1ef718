"""What a propagator is like, read off its formula.

    self-loops     fixed: an operator with loops (Ã, or L, whose diagonal is 1); tuned: I next to an operator in a sum with a
                   hyperparameter; none: neither
    dynamic        the operators look at X
    heterophily    even powers: a square of an operator without loops, written into the formula
                   separate weights: a block for each power
                   weak self-loops: operators without loops, or an I with a hyperparameter of its own
    combination    one block is a sum, several are a concatenation
    pain points    1 fails a sanity scenario (`slimg.lab.gnnexp.survival`)      2 every block looks at X
                   3 concatenates without reducing                          4 has hyperparameters

The type is the file the propagator lives in: linear, decoupled, coupled, attention, kernels, or one of the user's own.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from slimg.lab.gnnexp.scalars import Scalar, as_scalar
from slimg.lab.gnnexp.survival import survival
from slimg.lab.gnnexp.writing import inside, latex, parts, symbolic, text
from slimg.lab.propagators.expressions import (
    Attention,
    Expression,
    Gated,
    Hop,
    Identity,
    Over,
    Power,
    Reduced,
    Scaled,
    Structure,
    Sum,
)
from slimg.lab.propagators.registry import FAMILIES, Propagator, get, kind_of

EVEN, SEPARATE, WEAK = "even powers", "separate weights", "weak self-loops"
PAIN_POINTS = (
    "lack of robustness",
    "vulnerability to noisy features",
    "efficiency and effectiveness",
    "many hyperparameters",
)


@dataclass(frozen=True)
class Properties:
    """One row of the table; ``pain_points`` are counted from 1, ``survives`` is None where the filter does not tell."""

    name: str
    title: str
    type: str
    formula: str
    latex: str
    reference: str
    self_loops: str
    dynamic: bool
    heterophily: tuple[str, ...]
    normalisation: tuple[str, ...]
    combination: str
    hyperparameters: tuple[str, ...]
    columns: str
    pain_points: tuple[int, ...]
    survives: dict[str, bool | None]

    def as_dict(self) -> dict[str, Any]:
        """For JSON and tables."""
        return asdict(self)


def properties(name: str, **hyperparameters: Any) -> Properties:
    """All that the formula of a registered propagator tells; survival depends on the values of hyperparameters."""
    kind, propagator = kind_of(name), get(name, **hyperparameters)
    formula = symbolic(kind).formula()
    found = [part for block in parts(formula) for part in inside(block)]
    survives = survival(propagator)
    concatenated = len(parts(formula)) > 1 or isinstance(parts(formula)[0], Over)
    return Properties(
        name=name,
        title=kind.title,
        type=_type(kind),
        formula=text(formula),
        latex=latex(formula),
        reference=kind.reference,
        self_loops=_self_loops(found),
        dynamic=_dynamic(found),
        heterophily=_ideas(found, parts(formula)),
        normalisation=_normalisations(found),
        combination="concatenation" if concatenated else "sum",
        hyperparameters=tuple(kind.hyperparameters()),
        columns=_columns(parts(formula)),
        pain_points=_pain_points(found, survives, concatenated, kind),
        survives=survives,
    )


def _type(kind: type[Propagator]) -> str:
    family = kind.__module__.rpartition(".")[2]
    if not kind.__module__.startswith("slimg.lab.propagators.") or family not in FAMILIES:
        return "own"
    return {"kernels": "kernel", "slim": "SlimG"}.get(family, family)


def _self_loops(found: list[Expression]) -> str:
    fixed = _dynamic(found) or any(name.startswith("Ã") or name == "L" for name in _operators(found))
    tuned = any(_mixes(part) for part in found)
    return " and ".join([word for word, true in (("fixed", fixed), ("tuned", tuned)) if true]) or "none"


def _ideas(found: list[Expression], blocks: tuple[Expression | Over, ...]) -> tuple[str, ...]:
    bare = [name for name in _operators(found) if not name.startswith("Ã") and name != "L"]
    squares = [part for part in found if isinstance(part, Power) and isinstance(part.exponent, int)]
    even = any(part.exponent % 2 == 0 and _operators(inside(part)) <= set(bare) for part in squares)
    separate = any(isinstance(block, Over) and _is_power(block.body(Scalar.named(block.symbol))) for block in blocks)
    own_share = any(_own_share(part) for part in found)
    return tuple(idea for idea, true in ((EVEN, even), (SEPARATE, separate), (WEAK, bool(bare) or own_share)) if true)


def _normalisations(found: list[Expression]) -> tuple[str, ...]:
    norms = {"sym" if name == "L" else name.partition("_")[2] or "none" for name in _operators(found)}
    return tuple(sorted(norms | ({"none"} if any(isinstance(part, Attention) for part in found) else set())))


def _columns(blocks: tuple[Expression | Over, ...]) -> str:
    """How many columns P has: a multiple of d, or of r for blocks that were reduced."""
    total: Any = 0
    reduced = any(isinstance(part, Reduced | Structure) for part in blocks)
    for block in blocks:
        total = total + (block.last - block.first + 1 if isinstance(block, Over) else 1)
    number = as_scalar(total)
    letter = "r" if reduced else "d"
    return letter if number.text == "1" else f"({number.text}) {letter}" if " " in number.text else f"{number.text} {letter}"


def _pain_points(
    found: list[Expression], survives: dict[str, bool | None], concatenated: bool, kind: type[Propagator]
) -> tuple[int, ...]:
    structure = any(isinstance(part, Structure) for part in found)
    reduced = any(isinstance(part, Reduced) for part in found)
    points = (False in survives.values(), not structure, concatenated and not reduced, bool(kind.hyperparameters()))
    return tuple(number for number, true in enumerate(points, 1) if true)


def _operators(found: list[Expression]) -> set[str]:
    return {part.name for part in found if isinstance(part, Hop)}


def _dynamic(found: list[Expression]) -> bool:
    return any(isinstance(part, Attention | Gated) for part in found)


def _mixes(part: Expression) -> bool:
    """A sum of I and an operator with a hyperparameter in it."""
    if not isinstance(part, Sum):
        return False
    plain = [_stripped(term) for term in part.terms]
    shares = [number for term in part.terms for number in _shares(term)]
    return (
        any(isinstance(term, Identity) for term in plain)
        and any(_operators(inside(term)) for term in plain)
        and any(isinstance(number, Scalar) for number in shares)
    )


def _own_share(part: Expression) -> bool:
    """An I with a hyperparameter of its own."""
    return isinstance(part, Scaled) and isinstance(_stripped(part), Identity) and any(
        isinstance(number, Scalar) for number in _shares(part)
    )


def _shares(term: Expression) -> list[Any]:
    return [term.number, *_shares(term.base)] if isinstance(term, Scaled) else []


def _stripped(term: Expression) -> Expression:
    return _stripped(term.base) if isinstance(term, Scaled) else term


def _is_power(block: Expression) -> bool:
    return isinstance(block, Power) and isinstance(block.base, Hop)
