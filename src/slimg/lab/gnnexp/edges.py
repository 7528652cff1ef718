"""The graph side of a network: edges, weights on them, degrees, and messages along them.

An edge j → i of the graph with loops, M = A + s·I, carries

    weight    w_ij = d̃_i^left · M_ij · d̃_j^right          so that Σ_j w_ij h_j = (D̃^left M D̃^right H)_i
    message   m_ij = w_ij · h_j

Degrees are powers of d̃; the product of a degree read at the source (j), one read at the target (i) and a weight is a
weight again. This is enough to follow `gcn_norm` as well as the normalisation users write by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from slimg.errors import InputError
from slimg.lab.gnnexp.algebra import Number, Polynomial, rational
from slimg.lab.gnnexp.symbols import NORMALISATIONS, scaled
from slimg.lab.gnnexp.terms import Value

End = Literal["source", "target"]


def loop_strength(add_self_loops: bool, improved: bool, weights: EdgeWeights | None) -> int:
    """s of A + s·I in `gcn_norm`; ``improved`` loops count twice only where edges have weights, as in the library."""
    return (2 if improved and weights is not None else 1) if add_self_loops else 0


@dataclass(frozen=True)
class Edges:
    """An `edge_index` or an adjacency matrix.

    ``pattern`` is the letter of its 0/1 pattern: that of the graph itself unless the network is also given weights.
    ``hops`` = 2 reads a graph of two-hop neighbours as the square of the operator of the graph itself.
    ``ready`` is the operator an argument was declared to be, if any: a matrix that is normalised already.
    """

    graph: str = "A"
    pattern: str = "A"
    loops: Fraction = Fraction(0)
    hops: int = 1
    ready: Polynomial | None = None

    def operator(self, norm: str = "none", loops: Number = 0, weights: EdgeWeights | None = None) -> Polynomial:
        """The operator a layer makes of these edges: with loops where there are none yet, normalised."""
        return self.weights(norm, loops, weights).operator

    def weights(self, norm: str = "none", loops: Number = 0, given: EdgeWeights | None = None) -> EdgeWeights:
        """Weights of these edges after adding loops and normalising."""
        if self.ready is not None or (given is not None and given.normalised):
            if norm == "none" and not loops:
                return EdgeWeights(self) if given is None else given
            raise InputError(
                "a layer normalises a graph that is normalised already: build it with normalize=False, or hand it the"
                " plain edges"
            )
        left, right = NORMALISATIONS[norm]
        letter = self.pattern if given is None else self.graph
        return EdgeWeights(replace(self.with_loops(loops), graph=letter), left, right)

    def with_loops(self, loops: Number) -> Edges:
        """The same edges with loops of this strength, unless they have loops already."""
        return self if self.loops else replace(self, loops=rational(loops))

    def end(self, end: End) -> EdgeEnd:
        """The nodes at one end of each edge."""
        return EdgeEnd(self, end)


@dataclass(frozen=True)
class EdgeEnd:
    """Row 0 (sources) or row 1 (targets) of an `edge_index`."""

    edges: Edges
    end: End


@dataclass(frozen=True)
class Degree:
    """d̃^power of each node."""

    edges: Edges
    power: Fraction = Fraction(1)

    def raised(self, power: Number) -> Degree:
        """(d̃^p)^power."""
        return replace(self, power=self.power * rational(power))

    def at(self, end: EdgeEnd) -> EdgeWeights:
        """Read at one end of each edge."""
        zero = Fraction(0)
        left, right = (self.power, zero) if end.end == "target" else (zero, self.power)
        return EdgeWeights(replace(self.edges, graph=self.edges.pattern), left, right, ones=True)


@dataclass(frozen=True)
class EdgeWeights:
    """w_ij of the module's text; ``ones`` while it is a product of degrees that has not met M_ij."""

    edges: Edges
    left: Fraction = Fraction(0)
    right: Fraction = Fraction(0)
    ones: bool = False

    @property
    def normalised(self) -> bool:
        """Whether degrees are in it."""
        return bool(self.left or self.right)

    @property
    def operator(self) -> Polynomial:
        """D̃^left M D̃^right."""
        if self.edges.ready is not None:
            return self.edges.ready
        return scaled(self.edges.graph, self.edges.loops, self.left, self.right) ** self.edges.hops

    def times(self, other: EdgeWeights) -> EdgeWeights:
        """The product of two weights, edge by edge; refused when both hold the values of the graph."""
        if not (self.ones or other.ones):
            raise InputError("the product of two edge weights is not an operator of the graph: normalise once")
        kept = other if self.ones else self
        return EdgeWeights(kept.edges, self.left + other.left, self.right + other.right, self.ones and other.ones)


@dataclass(frozen=True)
class Messages:
    """Σ of w_ij · h_j along each edge: pairs of a weight (None: not weighted) and what the source sends."""

    parts: tuple[tuple[EdgeWeights | None, Value], ...]

    def mapped(self, change: Callable[[Value], Value]) -> Messages:
        """The same messages with every value changed."""
        return Messages(tuple((weight, change(value)) for weight, value in self.parts))

    def weighted(self, weights: EdgeWeights) -> Messages:
        """Each message times the weight of its edge."""
        return Messages(tuple((weights if w is None else w.times(weights), value) for w, value in self.parts))

    def __add__(self, other: Messages) -> Messages:
        return Messages(self.parts + other.parts)
