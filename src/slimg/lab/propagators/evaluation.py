"""Expressions on row matrices: E X by an engine, without forming E.

Functions of one operator are sums over its recurrence, which all blocks in that operator share
(`slimg.lab.propagators.spectrum`); inverses are solved by conjugate gradients and diffusions are sparse matrices
(`slimg.lab.propagators.inverse`); all other forms are applied from the inside out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from slimg.engine.base import Array, Engine, RowMatrix, Scaling
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.lab.propagators import expressions as ex
from slimg.lab.propagators.expressions import Expression, operators_of, parts_of, walk
from slimg.lab.propagators.inverse import diffused, solve
from slimg.lab.propagators.spectrum import INTERVALS, SYMMETRIC, Hops, coefficients, combination, functions_of
from slimg.linalg.operators import operator

Vectors = Callable[[Any, int], Array]
"""(layer or None, d) ↦ the weight vectors of an attention, one column each."""
_OTHERWISE = {ex.Inverse, ex.Diffused, ex.Attention, ex.Gated, ex.Chain}
"""Forms that are applied, not summed."""


class Evaluation:
    """The expressions of one graph and one X (n × d)."""

    def __init__(self, engine: Engine, adjacency: Adjacency, x: RowMatrix, vectors: Vectors | None = None):
        self.engine, self.adjacency, self.x, self._vectors = engine, adjacency, x, vectors
        self._operator = cache(lambda name: operator(name, adjacency))
        self._diffused = cache(lambda node: operator("Ã_sym", diffused(engine, adjacency, node.base, node.threshold)))

    def columns(self, expressions: Sequence[Expression], rows: Array | None = None) -> list[RowMatrix]:
        """E X for each expression, or only these rows of it; expressions in the same operator share its recurrence."""
        pick = partial(pick_rows, self.engine, rows=rows)
        results: dict[int, RowMatrix] = {}
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

    def apply(self, expression: Expression, row_matrix: RowMatrix) -> RowMatrix:
        """E times a row matrix."""
        name = _function_of(expression)
        if name is not None and not isinstance(expression, ex.Hop):
            return self._functions(name, [expression], row_matrix, lambda each: each)[0]
        match expression:
            case ex.Identity():
                return row_matrix
            case ex.Hop(name=name):
                return self._hop(name, row_matrix)
            case ex.Scaled(number=number, base=base):
                return combination(self.engine, [float(number)], [self.apply(base, row_matrix)])
            case ex.Sum() | ex.Series():
                terms = [self.apply(part, row_matrix) for part in parts_of(expression)]
                return combination(self.engine, [1.0] * len(terms), terms)
            case ex.Power(base=base, exponent=exponent):
                return self._repeated([base] * int(exponent), row_matrix)
            case ex.Chain():
                return self._repeated(parts_of(expression)[::-1], row_matrix)
            case ex.Inverse(base=base):
                _check_symmetric(base)
                return solve(self.engine, lambda given: self.apply(base, given), row_matrix)
            case ex.Diffused():
                return self._diffused(expression).apply(self.engine, row_matrix)
            case ex.Attention(layer=layer):
                return self._attention(layer, row_matrix)
            case ex.Gated(base=base):
                vector = self._weights(None)
                return self.engine.map_rows(lambda rows: rows * (rows @ vector), self.apply(base, row_matrix))
        raise InputError(f"the form {type(expression).__name__} has no computation by itself: override `columns`")

    def _functions(self, name: str, expressions: list[Expression], row_matrix: RowMatrix, pick: Hops) -> list[RowMatrix]:
        return functions_of(self.engine, name, lambda given: self._hop(name, given), expressions, row_matrix, pick)

    def _hop(self, name: str, row_matrix: RowMatrix) -> RowMatrix:
        if name != "L":
            return self._operator(name).apply(self.engine, row_matrix)
        hop = self._hop("A_sym", row_matrix)
        return self.engine.map_rows(lambda own, near, linked: linked * own - near, row_matrix, hop, self._linked)

    @cached_property
    def _linked(self) -> RowMatrix:
        """1 for nodes with edges, 0 for isolated ones, on which L is zero (n × 1)."""
        return self.engine.row_matrix((np.diff(self.adjacency.indptr) > 0)[:, None])

    def _repeated(self, factors: list[Expression], row_matrix: RowMatrix) -> RowMatrix:
        for factor in factors:
            row_matrix = self.apply(factor, row_matrix)
        return row_matrix

    def _attention(self, layer: Any, row_matrix: RowMatrix) -> RowMatrix:
        scores = self.engine.to_array(self.engine.combine(self.x, self._weights(layer)))
        receiver, sender = (np.ascontiguousarray(column) for column in scores.T)
        scalings = [Scaling(None, receiver, 1.0), Scaling(sender, None, 1.0)]
        return combination(self.engine, [1.0, 1.0], self.engine.products(self._operator("A").matrix, row_matrix, scalings))

    def _weights(self, layer: Any) -> Array:
        if self._vectors is None:
            raise InputError("this propagator attends to X and needs weight vectors: define its method `vectors`")
        return self._vectors(layer, self.x.shape[1]).astype(np.float32)


def pick_rows(engine: Engine, row_matrix: RowMatrix, rows: Array | None) -> RowMatrix:
    """These rows of a row matrix, or all of it."""
    return row_matrix if rows is None else engine.row_matrix(engine.rows(row_matrix, rows))


def _function_of(expression: Expression) -> str | None:
    """The operator of an expression that is a sum over its recurrence, else None."""
    names, kinds = operators_of(expression), {type(part) for part in walk(expression)}
    if len(names) != 1:
        return None
    (name,) = names
    if coefficients(expression) is not None:
        return name
    if name not in INTERVALS or ex.Exponential not in kinds or kinds & _OTHERWISE:
        return None
    _check_symmetric(expression)
    return name


def _check_symmetric(expression: Expression) -> None:
    odd = sorted(operators_of(expression) - set(SYMMETRIC))
    if odd:
        needed = ", ".join(SYMMETRIC)
        raise InputError(f"inverses and exponentials need a symmetric operator ({needed}), not {', '.join(odd)}")
