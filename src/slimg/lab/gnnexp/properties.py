"""The properties of a propagator, read off its formula, and the sanity scenarios it should survive, by its filter alone.

    self-loops     fixed: an operator with loops (Ã, or L, whose diagonal is 1); tuned: I next to an operator in a sum with a
                   hyperparameter; none: neither
    dynamic        the operators depend on X
    heterophily    even powers: a square of an operator without loops, written into the formula
                   separate weights: a block for each power
                   weak self-loops: operators without loops, or an I with a hyperparameter of its own
    combination    one block is a sum, several are a concatenation
    pain points    1 fails a sanity scenario                             2 every block depends on X
                   3 concatenates without reducing                       4 has hyperparameters

The type is the family of the propagator: linear, decoupled, coupled, attention, kernel, SlimG, or "own" for a user's.

The graphs of the sanity checks have four clusters and mean degree δ = 33. Up to random fluctuations A_sym then has

    a bulk of eigenvalues on a semicircle of radius ρ = 2/√δ        noise: features of single nodes
    three eigenvalues μ + 1/(δμ) outside of it                      the clusters
        homophily     μ = 0.6/2.2 three times                       (1 inside a cluster, 0.4 elsewhere)
        heterophily   μ = 0.6/2.2 once, −0.6/2.2 twice

and Ã_sym has (δλ + 1)/(δ + 1), L has 1 − λ. For a block with filter f, mean and variance taken over the bulk,

    own    = mean(f)² / var(f)             size of a node's own features over that of the others mixed in
    gain   = |f(cluster)| / √mean(f²)      size of the clusters over that of single nodes, relative to before

    semantic X, uniform A      own ≥ 20          only X helps: it must be preserved
    random X                   a block without X only A helps, and a filter of random X holds almost nothing of it
    structural X               gain ≥ 3/2        X predicts the clusters weakly: they must be raised
    semantic X                 gain ≥ 0.9        X predicts the classes: they must not be lowered

The gain is the best of all blocks, for the cluster (of either sign under heterophily) with the least gain. The three bounds
were set once, from the paper's figures for the linear models; attention has no filter, so only its random cases are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slimg.errors import InputError
from slimg.lab.gnnexp.writing import Scalar, as_scalar, body, inside, latex, parts, symbolic, text
from slimg.lab.propagators import expressions as ex
from slimg.lab.propagators.registry import Propagator, get, kind_of
from slimg.lab.propagators.spectrum import response
from slimg.lab.sanity.case import CASES

EVEN, SEPARATE, WEAK = "even powers", "separate weights", "weak self-loops"
PAINS = ("lack of robustness", "vulnerability to noisy features", "efficiency and effectiveness", "many hyperparameters")
DEGREE = 6000 * 0.01 * (1 + 3 * 0.4) / 4
CLUSTER = 0.6 / 2.2 + 2.2 / 0.6 / DEGREE
OWN, RAISED, KEPT = 20.0, 1.5, 0.9
_ANGLES = np.pi * (np.arange(400) + 0.5) / 400
_BULK, _SHARE = 2 / np.sqrt(DEGREE) * np.cos(_ANGLES), np.sin(_ANGLES) ** 2 / np.sum(np.sin(_ANGLES) ** 2)


@dataclass(frozen=True)
class Properties:
    """One row of the table; ``pain_points`` are counted from 1, ``survives`` is None where the filter does not decide."""

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


def properties(name: str, **hyperparameters: Any) -> Properties:
    """The properties of a registered propagator.

    Parameters
    ----------
    name : str
        Name of the propagator.
    **hyperparameters : Any
        Values of its hyperparameters; survival depends on them.

    Returns
    -------
    Properties
    """
    kind, propagator = kind_of(name), get(name, **hyperparameters)
    formula = symbolic(kind).formula()
    blocks = parts(formula)
    found = [part for block in blocks for part in inside(block)]
    kinds, names = {type(part) for part in found}, _operators(found)
    dynamic, survives = bool(kinds & {ex.Attention, ex.Gated}), survival(propagator)
    concatenated = len(blocks) > 1 or isinstance(blocks[0], ex.Over)
    bare = {each for each in names if not (each.startswith("Ã") or each == "L")}
    self_loops = _true({"fixed": dynamic or bare != names, "tuned": any(_mixes(part) for part in found)})
    repeated = [body(block) for block in blocks if isinstance(block, ex.Over)]
    heterophily = {
        EVEN: any(_is_even(part) and _operators(inside(part)) <= bare for part in found),
        SEPARATE: any(isinstance(power, ex.Power) and isinstance(power.base, ex.Hop) for power in repeated),
        WEAK: bool(bare) or any(_has_own_share(part) for part in found),
    }
    norms = {"sym" if each == "L" else each.partition("_")[2] or "none" for each in names}
    norms |= {"none"} if ex.Attention in kinds else set()
    free, combination = tuple(kind.hyperparameters()), "concatenation" if concatenated else "sum"
    pains = (False in survives.values(), ex.Structure not in kinds, concatenated and ex.Reduced not in kinds, bool(free))
    identified = (name, kind.title, kind.family, text(formula), latex(formula), kind.reference)
    operators = (" and ".join(self_loops) or "none", dynamic, _true(heterophily), tuple(sorted(norms)))
    pain_points = _true(dict(enumerate(pains, 1)))
    return Properties(*identified, *operators, combination, free, _columns(blocks), pain_points, survives)


def _true(facts: dict[Any, bool]) -> tuple[Any, ...]:
    return tuple(fact for fact, holds in facts.items() if holds)


def _columns(blocks: tuple[ex.Expression | ex.Over, ...]) -> str:
    """How many columns P has: a multiple of d, or of r for blocks that were reduced."""
    number = as_scalar(sum(block.last - block.first + 1 if isinstance(block, ex.Over) else 1 for block in blocks)).text
    letter = "r" if any(isinstance(block, ex.Reduced | ex.Structure) for block in blocks) else "d"
    return letter if number == "1" else f"({number}) {letter}" if " " in number else f"{number} {letter}"


def _operators(found: list[ex.Expression]) -> set[str]:
    return {part.name for part in found if isinstance(part, ex.Hop)}


def _mixes(part: ex.Expression) -> bool:
    """A sum of I and an operator with a hyperparameter in it."""
    if not isinstance(part, ex.Sum):
        return False
    terms, factors = zip(*map(_split, part.terms), strict=True)
    return (
        any(isinstance(term, ex.Identity) for term in terms)
        and any(_operators(inside(term)) for term in terms)
        and any(isinstance(number, Scalar) for numbers in factors for number in numbers)
    )


def _has_own_share(part: ex.Expression) -> bool:
    """An I with a hyperparameter of its own."""
    term, factors = _split(part)
    return isinstance(term, ex.Identity) and any(isinstance(number, Scalar) for number in factors)


def _split(term: ex.Expression) -> tuple[ex.Expression, list[Any]]:
    """The term without its factors, and the factors."""
    factors = []
    while isinstance(term, ex.Scaled):
        factors.append(term.number)
        term = term.base
    return term, factors


def _is_even(part: ex.Expression) -> bool:
    return isinstance(part, ex.Power) and isinstance(part.exponent, int) and part.exponent % 2 == 0


# survival -----------------------------------------------------------------------------------------------------------


def survival(propagator: Propagator) -> dict[str, bool | None]:
    """Which sanity scenarios a propagator should survive.

    Returns
    -------
    dict of str to (bool or None)
        By scenario; None where the filter does not decide.
    """
    blocks = list(propagator.blocks().values())
    structure = any(isinstance(block, ex.Structure) for block in blocks)
    filters = [block for block in blocks if not isinstance(block, ex.Structure)]
    known = all(response(block, np.zeros(1)) is not None for block in filters)

    def survives(name: str) -> bool | None:
        if name.startswith("random"):
            return structure
        return _by_filter(name, filters) if known else None

    return {name: survives(name) for name in CASES}


def own(block: ex.Expression) -> float:
    """mean(f)²/var(f) over the bulk; infinite for X itself."""
    values = _filter(block, _BULK)
    mean = float(_SHARE @ values)
    variance = float(_SHARE @ (values - mean) ** 2)
    return mean**2 / variance if variance > 1e-24 * mean**2 else np.inf


def gain(block: ex.Expression, sign: int) -> float:
    """|f(cluster)| relative to the bulk, for the eigenvalue of the clusters with this sign."""
    size = float(np.sqrt(_SHARE @ _filter(block, _BULK) ** 2))
    return float(np.abs(_filter(block, np.array([sign * CLUSTER]))[0])) / size


def _by_filter(name: str, blocks: list[ex.Expression]) -> bool:
    features, structure = name.split("-")
    if structure == "uniform":
        return max(map(own, blocks)) >= OWN
    signs = (1,) if structure == "homophily" else (1, -1)
    weakest = min(max(gain(block, sign) for block in blocks) for sign in signs)
    return weakest >= (RAISED if features == "structural" else KEPT)


def _filter(block: ex.Expression, eigenvalues: np.ndarray) -> np.ndarray:
    """f at eigenvalues of A_sym."""
    name = next(iter(ex.operators_of(block)), "A_sym")
    if name.startswith("Ã"):
        eigenvalues = (DEGREE * eigenvalues + 1) / (DEGREE + 1)
    elif name == "L":
        eigenvalues = 1 - eigenvalues
    values = response(block, eigenvalues)
    if values is None:
        raise InputError("only a function of one operator has a filter: attention and several operators have none")
    return values
