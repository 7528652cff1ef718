"""Expressions on talls: E X by an engine, without forming E.

Functions of one operator are sums over its recurrence, which all blocks in that operator share
(`slimg.propagate.recurrence`); inverses are solved by conjugate gradients (`slimg.propagate.inverse`); diffusions are
sparse matrices (`slimg.propagate.diffusion`); all other forms are applied from the inside out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from slimg.engine.base import Array, Engine, Scaling, Tall
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.linalg.operators import operator
from slimg.propagate.diffusion import diffused
from slimg.propagate.expressions import (
    Attention,
    Chain,
    Diffused,
    Exponential,
    Expression,
    Gated,
    Hop,
    Identity,
    Inverse,
    Power,
    Scaled,
    Series,
    Sum,
    operators_of,
    parts_of,
    walk,
)
from slimg.propagate.inverse import solve
from slimg.propagate.recurrence import combination, functions_of
from slimg.propagate.spectrum import INTERVALS, SYMMETRIC, coefficients

Vectors = Callable[[Any, int], Array]
"""(layer or None, d) ↦ the weight vectors of an attention, one column each."""


class Evaluation:
    """The expressions of one graph and one X (n × d)."""

    def __init__(self, engine: Engine, adjacency: Adjacency, x: Tall, vectors: Vectors | None = None):
        self.engine, self.adjacency, self.x = engine, adjacency, x
        self._vectors = vectors
        self._operator = cache(lambda name: operator(name, adjacency))
        self._diffused = cache(lambda node: operator("Ã_sym", diffused(engine, adjacency, node.base, node.threshold)))

    def columns(self, expressions: Sequence[Expression], rows: Array | None = None) -> list[Tall]:
        """E X for each expression, or only these rows of it; expressions in the same operator share its recurrence."""
        pick = self._pick(rows)
        results: dict[int, Tall] = {}
        shared: dict[str, list[int]] = {}
        for place, expression in enumerate(expressions):
            name = _function_of(expression)
            if name is None:
                results[place] = pick(self.apply(expression, self.x))
            else:
                shared.setdefault(name, []).append(place)
        for name, places in shared.items():
            summed = self._functions(name, [expressions[place] for place in places], self.x, pick)
            results |= zip(places, summed, strict=True)
        return [results[place] for place in range(len(expressions))]

    def apply(self, expression: Expression, tall: Tall) -> Tall:
        """E times a tall."""
        name = _function_of(expression)
        if name is not None and not isinstance(expression, Hop):
            return self._functions(name, [expression], tall, lambda each: each)[0]
        match expression:
            case Identity():
                return tall
            case Hop(name=name):
                return self._hop(name, tall)
            case Scaled(number=number, base=base):
                return combination(self.engine, [float(number)], [self.apply(base, tall)])
            case Sum() | Series():
                terms = [self.apply(part, tall) for part in parts_of(expression)]
                return combination(self.engine, [1.0] * len(terms), terms)
            case Power(base=base, exponent=exponent):
                return self._repeated([base] * int(exponent), tall)
            case Chain():
                return self._repeated(parts_of(expression)[::-1], tall)
            case Inverse(base=base):
                _check_symmetric(base)
                return solve(self.engine, lambda given: self.apply(base, given), tall)
            case Diffused():
                return self._diffused(expression).apply(self.engine, tall)
            case Attention(layer=layer):
                return self._attention(layer, tall)
            case Gated(base=base):
                return self._gated(self.apply(base, tall))
        raise InputError(f"the form {type(expression).__name__} has no computation by itself: override `columns`")

    def _functions(
        self, name: str, expressions: list[Expression], tall: Tall, pick: Callable[[Tall], Tall]
    ) -> list[Tall]:
        return functions_of(self.engine, name, lambda given: self._hop(name, given), expressions, tall, pick)

    def _hop(self, name: str, tall: Tall) -> Tall:
        if name != "L":
            return self._operator(name).apply(self.engine, tall)
        hop = self._hop("A_sym", tall)
        return self.engine.map_rows(lambda own, near, linked: linked * own - near, tall, hop, self._linked)

    @cached_property
    def _linked(self) -> Tall:
        """1 for nodes with edges, 0 for isolated ones, on which L is zero (n × 1)."""
        return self.engine.tall((np.diff(self.adjacency.indptr) > 0)[:, None])

    def _repeated(self, factors: list[Expression], tall: Tall) -> Tall:
        for factor in factors:
            tall = self.apply(factor, tall)
        return tall

    def _attention(self, layer: Any, tall: Tall) -> Tall:
        scores = self.engine.to_array(self.engine.combine(self.x, self._weights(layer)))
        receiver, sender = (np.ascontiguousarray(column) for column in scores.T)
        scalings = [Scaling(None, receiver, 1.0), Scaling(sender, None, 1.0)]
        return combination(self.engine, [1.0, 1.0], self.engine.products(self._operator("A").matrix, tall, scalings))

    def _gated(self, tall: Tall) -> Tall:
        vector = self._weights(None)
        return self.engine.map_rows(lambda rows: rows * (rows @ vector), tall)

    def _weights(self, layer: Any) -> Array:
        if self._vectors is None:
            raise InputError("this propagator attends to X and needs weight vectors: define its method `vectors`")
        return self._vectors(layer, self.x.shape[1]).astype(np.float32)

    def _pick(self, rows: Array | None) -> Callable[[Tall], Tall]:
        if rows is None:
            return lambda tall: tall
        return lambda tall: self.engine.tall(self.engine.rows(tall, rows))


def _function_of(expression: Expression) -> str | None:
    """The operator of an expression that is a sum over its recurrence, else None."""
    names = operators_of(expression)
    special = any(isinstance(part, Inverse | Diffused | Attention | Gated | Chain) for part in walk(expression))
    if special or len(names) != 1:
        return None
    (name,) = names
    if coefficients(expression) is not None:
        return name
    if name in INTERVALS and any(isinstance(part, Exponential) for part in walk(expression)):
        _check_symmetric(expression)
        return name
    return None


def _check_symmetric(expression: Expression) -> None:
    odd = sorted(operators_of(expression) - set(SYMMETRIC))
    if odd:
        raise InputError(
            f"inverses and exponentials need a symmetric operator ({', '.join(SYMMETRIC)}), not {', '.join(odd)}"
        )
