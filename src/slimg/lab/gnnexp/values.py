"""What a network computes, once activations are the identity: abstract values at nodes, at edges, and of weights.

Node values

    H = Σ_t p_t · X · M_t  +  Σ_s q_s · 1 · r_s            p, q: polynomials in operators; M, r: products of weights

A product γ₁γ₂… W₁W₂… has scalars, which commute, and matrices, which do not; it is known by the names of its factors,
so two terms with the same product merge into (p + p')·X·M. The columns of H lie in the span of {p_t X} and {q_s 1}
whatever the weights, and that span is what `Value.blocks` returns. A network with a residual at each of K layers has 2^K
products. Beyond `MAX_TERMS` a value is rewritten exactly over the basis b of its polynomials, p_t = Σ_b c_tb b:

    Σ_t p_t X M_t = Σ_b b X N_b,      N_b = Σ_t c_tb M_t

where each N_b counts from then on as one weight.

Edge values: an edge j → i of the graph with loops, M = A + s·I, carries

    weight    w_ij = d̃_i^left · M_ij · d̃_j^right          so that Σ_j w_ij h_j = (D̃^left M D̃^right H)_i
    message   m_ij = w_ij · h_j

Degrees are powers of d̃; the product of a degree read at the source (j), one read at the target (i) and a weight is a
weight again. This is enough to follow `gcn_norm` as well as the normalisation users write by hand.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from slimg.errors import InputError
from slimg.lab.gnnexp import algebra
from slimg.lab.gnnexp.algebra import IDENTITY, NORMALISATIONS, Number, Polynomial, coordinates, rational, scaled, span_basis

FEATURES = "X"
ONES = "1"
MAX_TERMS = 256
TWO_HOP = "A2"
"""Letter of the graph of strict two-hop neighbours."""


@dataclass(frozen=True)
class Product:
    """γ₁γ₂… W₁W₂… by name; the empty product is the identity."""

    scalars: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()


Terms = Mapping[tuple[str, Product], Polynomial]


class Value(algebra.Combination):
    """Features of all nodes: the sum of the module docstring, (base, product) ↦ polynomial, with base X or 1."""

    def __init__(self, terms: Terms):
        super().__init__(terms)
        self.terms: dict[Any, Any] = self.terms if len(self.terms) <= MAX_TERMS else _rewritten(self.terms)

    @classmethod
    def features(cls) -> Value:
        """X."""
        return cls({(FEATURES, Product()): IDENTITY})

    @classmethod
    def row(cls, name: str, size: Number = 1) -> Value:
        """size · 1 · r: the same row r, known by its name, at every node."""
        return cls({(ONES, Product(factors=(name,))): Polynomial.constant(size)})

    def __rmatmul__(self, operator: Polynomial) -> Value:
        """Message passing: operator @ value."""
        passed = {key: operator * polynomial for key, polynomial in self.terms.items()}
        return Value({(base, m): p.on_ones() if base == ONES else p for (base, m), p in passed.items()})

    def times(self, weight: str) -> Value:
        """A linear layer: value · W, with W known by its name."""
        return Value({(b, Product(m.scalars, (*m.factors, weight))): p for (b, m), p in self.terms.items()})

    def scaled(self, scalar: str) -> Value:
        """γ · value for a learned scalar, known by its name."""
        return Value({(b, Product(tuple(sorted((*m.scalars, scalar))), m.factors)): p for (b, m), p in self.terms.items()})

    def mapped(self, change: Callable[[Value], Value]) -> Value:
        """The changed value."""
        return change(self)

    def blocks(self, base: str = FEATURES) -> tuple[Polynomial, ...]:
        """A basis of the span of the polynomials on one base."""
        return span_basis(polynomial for (at, _), polynomial in self.terms.items() if at == base)

    @property
    def is_features(self) -> bool:
        """Whether it is X·W plus a constant row, without message passing."""
        return not any(polynomial.symbols for polynomial in self.terms.values())

    def __repr__(self) -> str:
        parts = [f"({p!r})·{base}·{'·'.join((*m.scalars, *m.factors)) or 'I'}" for (base, m), p in self.terms.items()]
        return " + ".join(parts) or "0"


ZERO = Value({})


def total(values: Iterable[Value]) -> Value:
    """The sum of several values."""
    return sum(values, start=ZERO)


def joined(values: Sequence[Value], name: str) -> Value:
    """[H₁ ‖ H₂ ‖ …] = Σ_i H_i E_i, where the fixed matrix E_i puts columns at the i-th place of this concatenation."""
    return total(value.times(f"{name}[{place}]") for place, value in enumerate(values))


def _rewritten(terms: Terms) -> dict[tuple[str, Product], Polynomial]:
    """Σ_b b · base · N_b for each base; N_b keeps its name when it is a single product."""
    result: dict[tuple[str, Product], Polynomial] = {}
    for base in (FEATURES, ONES):
        products = {product: p for (at, product), p in terms.items() if at == base}
        basis = span_basis(products.values())
        shares = {product: coordinates(p, basis) for product, p in products.items()}
        for place, block in enumerate(basis):
            mixture = {product: share[place] for product, share in shares.items() if share[place]}
            if len(mixture) == 1:
                (product, share), *_ = mixture.items()
                result[base, product] = result.get((base, product), Polynomial()) + block * share
            else:
                result[base, Product(factors=(_mixture_name(mixture),))] = block
    return result


def _mixture_name(mixture: Mapping[Product, Fraction]) -> str:
    """A name that equal sums of products share."""
    described = sorted(f"{share}*{product.scalars}{product.factors}" for product, share in mixture.items())
    return "mixture:" + hashlib.blake2b("\n".join(described).encode(), digest_size=12).hexdigest()


# values along edges -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Edges:
    """An `edge_index` or an adjacency matrix.

    Attributes
    ----------
    graph : str
        Letter of the graph.
    pattern : str
        Letter of its 0/1 pattern: that of the graph itself unless the network is also given weights.
    loops : Fraction
        Strength of the self-loops.
    hops : int
        2 reads a graph of two-hop neighbours as the square of the operator of the graph itself.
    ready : Polynomial, optional
        The operator an argument was declared to be, if any: a matrix that is normalised already.
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
            advice = "build it with normalize=False, or pass it the original edges"
            raise InputError(f"a layer normalises a graph that is normalised already: {advice}")
        letter = self.pattern if given is None else self.graph
        return EdgeWeights(replace(self.with_loops(loops), graph=letter), *NORMALISATIONS[norm])

    def with_loops(self, loops: Number) -> Edges:
        """The same edges with loops of this strength, unless they have loops already."""
        return self if self.loops else replace(self, loops=rational(loops))


@dataclass(frozen=True)
class EdgeEnd:
    """Row 0 (sources) or row 1 (targets) of an `edge_index`."""

    edges: Edges
    end: Literal["source", "target"]


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
        side = {"left" if end.end == "target" else "right": self.power}
        return EdgeWeights(replace(self.edges, graph=self.edges.pattern), ones=True, **side)


@dataclass(frozen=True)
class EdgeWeights:
    """w_ij of the module docstring; ``ones`` while it is a product of degrees without the factor M_ij."""

    edges: Edges
    left: Fraction = Fraction(0)
    right: Fraction = Fraction(0)
    ones: bool = False

    @property
    def normalised(self) -> bool:
        """Whether it has degrees as factors."""
        return bool(self.left or self.right)

    @property
    def operator(self) -> Polynomial:
        """D̃^left M D̃^right."""
        if self.edges.ready is not None:
            return self.edges.ready
        return scaled(self.edges.graph, self.edges.loops, self.left, self.right) ** self.edges.hops

    def times(self, other: EdgeWeights) -> EdgeWeights:
        """The product of two weights, edge by edge; an error when both have the factor M_ij."""
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


# other values -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Weight:
    """A tensor that does not depend on X: a parameter, a buffer, or what was computed from them.

    Its name says how it was computed, so equal names are equal tensors. A fixed tensor is not ``learned``.
    """

    name: str
    tensor: Any
    learned: bool

    @property
    def is_scalar(self) -> bool:
        """Whether it holds one number."""
        return self.tensor.numel() == 1

    @property
    def is_row(self) -> bool:
        """Whether it is one row, the same for every node."""
        return self.tensor.ndim == 1 or (self.tensor.ndim == 2 and self.tensor.shape[0] == 1)

    @property
    def number(self) -> float:
        """The number a scalar holds, as short as its precision allows: 0.1 and not 0.10000000149."""
        return float(str(self.tensor.detach().cpu().numpy().reshape(-1)[0]))


@dataclass(frozen=True)
class Stacked:
    """Values stacked along a new axis."""

    values: tuple[Value, ...]
    axis: int

    def mapped(self, change: Callable[[Value], Value]) -> Stacked:
        """The same stack with every value changed."""
        return Stacked(tuple(change(value) for value in self.values), self.axis)


@dataclass(frozen=True)
class Pieces:
    """The features of a value split into parts; each part is a fixed selection of columns."""

    value: Value
    name: str

    def __getitem__(self, place: int) -> Value:
        return self.value.times(f"{self.name}[{place}]")


@dataclass(frozen=True)
class Opaque:
    """Something that does not depend on X: a size, a type, a device, a mask. Sizes are numbers."""

    name: str
    is_number: bool = False


@dataclass(frozen=True)
class DataObject:
    """A `torch_geometric.data.Data` passed to forward; ``weighted`` when the network reads its edge weights."""

    weighted: bool


Weights = EdgeWeights | None
NODE_VALUES = (Value, Messages, Stacked)
"""What depends on X."""
ABSTRACT = (*NODE_VALUES, Edges, EdgeWeights, EdgeEnd, Degree, Pieces, Opaque, DataObject)
KINDS: dict[type, str] = {
    Value: "features of nodes", Messages: "messages along edges", Stacked: "a stack of features", Weight: "a parameter",
    Edges: "the edges", EdgeWeights: "weights of edges", EdgeEnd: "the ends of edges", Degree: "degrees",
    Opaque: "a size or mask", DataObject: "the data object",
}  # fmt: skip


def kind(x: Any) -> str:
    """What an argument of a call is, in the user's words."""
    return KINDS.get(type(x), f"a {type(x).__name__.lower()}")
