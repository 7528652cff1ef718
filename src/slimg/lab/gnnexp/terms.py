"""What a network computes at its nodes, once activations are the identity.

    H = Σ_t p_t · X · M_t  +  Σ_s q_s · 1 · r_s            p, q: polynomials in operators; M, r: products of weights

A product γ₁γ₂… W₁W₂… has scalars, which commute, and matrices, which do not; it is known by the names of its factors,
so two terms with the same product merge into (p + p')·X·M. The columns of H lie in the span of {p_t X} and {q_s 1}
whatever the weights, and that span is what `blocks` returns.

A network with a residual at each of K layers has 2^K products. Beyond `MAX_TERMS` a value is rewritten exactly over the
basis b of its polynomials, p_t = Σ_b c_tb b:

    Σ_t p_t X M_t = Σ_b b X N_b,      N_b = Σ_t c_tb M_t

where each N_b counts from then on as one weight.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from slimg.lab.gnnexp.algebra import IDENTITY, Number, Polynomial, Word, coordinates, span_basis

FEATURES = "X"
ONES = "1"
MAX_TERMS = 256


@dataclass(frozen=True)
class Product:
    """γ₁γ₂… W₁W₂… by name; the empty product is the identity."""

    scalars: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()

    def times(self, weight: str) -> Product:
        """The product with one more matrix on its right."""
        return Product(self.scalars, (*self.factors, weight))

    def scaled(self, scalar: str) -> Product:
        """The product with one more scalar."""
        return Product(tuple(sorted((*self.scalars, scalar))), self.factors)


Terms = Mapping[tuple[str, Product], Polynomial]


class Value:
    """The sum of the module's text: (base, product) ↦ polynomial, with base X or 1. Immutable."""

    __slots__ = ("terms",)

    def __init__(self, terms: Terms):
        kept = {key: polynomial for key, polynomial in terms.items() if polynomial}
        self.terms: Terms = kept if len(kept) <= MAX_TERMS else _rewritten(kept)

    @classmethod
    def features(cls) -> Value:
        """X."""
        return cls({(FEATURES, Product()): IDENTITY})

    @classmethod
    def row(cls, name: str, size: Number = 1) -> Value:
        """size · 1 · r: the same row r, known by its name, at every node."""
        return cls({(ONES, Product(factors=(name,))): Polynomial.constant(size)})

    def __add__(self, other: Value) -> Value:
        total = dict(self.terms)
        for key, polynomial in other.terms.items():
            total[key] = total[key] + polynomial if key in total else polynomial
        return Value(total)

    def __sub__(self, other: Value) -> Value:
        return self + other * -1

    def __mul__(self, number: Number) -> Value:
        return Value({key: polynomial * number for key, polynomial in self.terms.items()})

    __rmul__ = __mul__

    def __rmatmul__(self, operator: Polynomial) -> Value:
        """Message passing: operator @ value."""
        return Value({(base, product): _on_base(operator * p, base) for (base, product), p in self.terms.items()})

    def times(self, weight: str) -> Value:
        """A linear layer: value · W, with W known by its name."""
        return Value({(base, product.times(weight)): p for (base, product), p in self.terms.items()})

    def scaled(self, scalar: str) -> Value:
        """γ · value for a learned scalar, known by its name."""
        return Value({(base, product.scaled(scalar)): p for (base, product), p in self.terms.items()})

    def blocks(self, base: str = FEATURES) -> tuple[Polynomial, ...]:
        """A basis of the span of the polynomials on one base."""
        return span_basis(polynomial for (at, _), polynomial in self.terms.items() if at == base)

    @property
    def is_features(self) -> bool:
        """Whether it is X·W plus a constant row, without message passing."""
        return all(set(polynomial.words) == {Word()} for polynomial in self.terms.values())

    def __repr__(self) -> str:
        parts = [
            f"({p!r})·{base}·{'·'.join((*product.scalars, *product.factors)) or 'I'}"
            for (base, product), p in self.terms.items()
        ]
        return " + ".join(parts) or "0"


ZERO = Value({})


def concatenated(values: Sequence[Value], name: str) -> Value:
    """[H₁ ‖ H₂ ‖ …] = Σ_i H_i E_i, where the fixed matrix E_i puts columns at the i-th place of this concatenation."""
    return total(value.times(f"{name}[{place}]") for place, value in enumerate(values))


def total(values: Iterable[Value]) -> Value:
    """The sum of several values."""
    result = ZERO
    for value in values:
        result = result + value
    return result


def _on_base(polynomial: Polynomial, base: str) -> Polynomial:
    """The polynomial with rightmost operators that map 1 to itself left out, when it acts on 1."""
    if base != ONES:
        return polynomial
    shortened: dict[Word, Fraction] = {}
    for word, value in polynomial.items():
        while word.factors and getattr(word.factors[-1][0], "keeps_ones", False):
            word = word.without_last()
        shortened[word] = shortened.get(word, Fraction(0)) + value
    return Polynomial(shortened)


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
