"""Derived propagators among the registered ones: polynomials in operators as formulas of `slimg.lab.propagators`.

    Σ_w c_w S₁^k₁ S₂^k₂ …   ↦   Σ c_w · Π (hops)

From there on a derived propagator is like any other: it runs on every engine, has a size that is checked, and can be
learned on by name.
"""

from __future__ import annotations

from collections.abc import Sequence

from slimg.errors import InputError
from slimg.lab.gnnexp.algebra import Polynomial, Symbol, Word
from slimg.lab.gnnexp.symbols import Operator
from slimg.lab.propagators import registry
from slimg.lab.propagators.expressions import Concatenation, Expression, Hop, chain, identity
from slimg.linalg.operators import OPERATORS


def concatenation(blocks: Sequence[Polynomial]) -> Concatenation:
    """E₁ X ‖ E₂ X ‖ … for these polynomials."""
    return Concatenation(tuple(_expression(block) for block in blocks))


def register(name: str, blocks: Sequence[Polynomial], title: str) -> registry.Propagator:
    """Make the propagator of these blocks known by name, and return it."""
    formula = concatenation(blocks)
    registry.register(name, title=title)(lambda: formula)
    return registry.get(name)


def _expression(polynomial: Polynomial) -> Expression:
    terms = [_term(word) if share == 1 else float(share) * _term(word) for word, share in polynomial.items()]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _term(word: Word) -> Expression:
    factors = [_hop(symbol) if power == 1 else _hop(symbol) ** power for symbol, power in word.factors]
    if len(factors) > 1:
        return chain(1, len(factors), lambda place: factors[place - 1])
    return factors[0] if factors else identity


def _hop(symbol: Symbol) -> Expression:
    if isinstance(symbol, Operator) and symbol.graph == "A" and symbol.text in OPERATORS:
        return Hop(symbol.text)
    raise InputError(
        f"the operator {symbol.text} is not one of {', '.join(OPERATORS)}, which engines can apply: call the propagator"
        " on A and X instead"
    )
