"""A derived propagator by an engine: passes over A in float32, as everywhere in the library.

word S₁^k₁ S₂^k₂ … X  =  one pass of the engine for each operator, from the right; shared suffixes once
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from slimg.engine.base import Engine, Tall
from slimg.errors import InputError
from slimg.gnnexp.algebra import Polynomial, Symbol
from slimg.gnnexp.evaluate import TWO_HOP, evaluate, symbols_of, two_hop_neighbours, weighted_sum
from slimg.gnnexp.symbols import Operator
from slimg.graph.adjacency import Adjacency
from slimg.linalg import operators
from slimg.linalg.operators import OPERATORS


def talls(blocks: Sequence[Polynomial], graph: Any, engine: Engine) -> list[Tall]:
    """p_b X as talls of the engine; X as the graph holds it."""
    if graph.features is None:
        raise InputError("a propagator needs features X: this graph has none")
    letters = {symbol.graph for symbol in symbols_of(blocks) if isinstance(symbol, Operator)}
    graphs = {letter: _adjacency(letter, graph.adjacency) for letter in letters}
    passes = {symbol: _pass(symbol, graphs) for symbol in symbols_of(blocks)}

    def apply(symbol: Symbol, tall: Tall) -> Tall:
        return passes[symbol].apply(engine, tall)

    def combine(shares: Sequence[float], arrays: Sequence[Tall]) -> Tall:
        return engine.map_rows(lambda *rows: weighted_sum(shares, rows), *arrays)

    features = engine.tall(graph.features)
    return evaluate(blocks, engine.map_rows(_dense, features), apply, combine)


def _pass(symbol: Symbol, graphs: dict[str, Adjacency]) -> operators.Operator:
    """The operator of `linalg` a symbol stands for; column normalisation is the transpose of row normalisation."""
    if isinstance(symbol, Operator):
        name = Operator("A", symbol.loops, symbol.left, symbol.right).text
        if name in OPERATORS:
            return operators.operator(name, graphs[symbol.graph])
        if name.endswith("_col"):
            return operators.operator(name.replace("_col", "_row"), graphs[symbol.graph]).transposed
    raise InputError(f"engines have no pass for the operator {symbol.text}: call the propagator on A and X instead")


def _adjacency(letter: str, adjacency: Adjacency) -> Adjacency:
    if letter == "B":
        return Adjacency(adjacency.indptr, adjacency.indices)
    if letter == TWO_HOP:
        return Adjacency.from_scipy(two_hop_neighbours(adjacency.to_scipy()))[0]
    if letter != "A":
        raise InputError(f"this propagator uses a further graph {letter}, which a Graph does not hold")
    return adjacency


def _dense(block: Any) -> np.ndarray:
    return block.toarray() if sparse.issparse(block) else block
