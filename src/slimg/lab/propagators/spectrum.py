"""Expressions in one operator as functions of its eigenvalues.

    response       E(λ)
    coefficients   c with E = Σ_k c_k Sᵏ, for polynomials
"""

from __future__ import annotations

import numpy as np

from slimg.engine.base import Array
from slimg.lab.propagators.expressions import (
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
    Structure,
    Sum,
    operators_of,
    parts_of,
)

INTERVALS = {"A_row": (-1.0, 1.0), "A_sym": (-1.0, 1.0), "Ã_row": (-1.0, 1.0), "Ã_sym": (-1.0, 1.0), "L": (0.0, 2.0)}
"""Where the eigenvalues of an operator lie, on every graph."""
SYMMETRIC = ("A", "A_sym", "Ã_sym", "L")


def response(expression: Expression, eigenvalues: Array) -> Array | None:
    """E(λ) for eigenvalues λ of its operator; None for forms that are no function of one operator.

    Diffused is read without its threshold, and with its degrees as those of a regular graph.
    """
    if isinstance(expression, Attention | Gated | Structure) or len(operators_of(expression)) > 1:
        return None
    if isinstance(expression, Identity):
        return np.ones_like(eigenvalues)
    if isinstance(expression, Hop):
        return np.array(eigenvalues)
    inner = [response(part, eigenvalues) for part in parts_of(expression)]
    known = [part for part in inner if part is not None]
    return _combined(expression, known, eigenvalues) if len(known) == len(inner) else None


def _combined(expression: Expression, inner: list[Array], eigenvalues: Array) -> Array:
    match expression:
        case Scaled(number=number):
            return float(number) * inner[0]
        case Sum() | Series():
            return np.sum(inner, axis=0) if inner else np.zeros_like(eigenvalues)
        case Chain():
            return np.prod(inner, axis=0) if inner else np.ones_like(eigenvalues)
        case Power(exponent=exponent):
            return inner[0] ** int(exponent)
        case Inverse():
            return 1 / inner[0]
        case Exponential():
            return np.exp(inner[0])
        case Diffused(base=base):
            return (inner[0] + 1) / (_known(response(base, np.ones(1))) + 1)
        case _:
            return inner[0]


def coefficients(expression: Expression) -> Array | None:
    """c with E = Σ_k c_k Sᵏ for a polynomial in one operator S, None for other forms."""
    if len(operators_of(expression)) > 1:
        return None
    match expression:
        case Identity():
            return np.ones(1)
        case Hop():
            return np.array([0.0, 1.0])
        case Scaled(number=number, base=base):
            inner = coefficients(base)
            return None if inner is None else float(number) * inner
        case Power(base=base, exponent=exponent):
            inner = coefficients(base)
            return None if inner is None else _power(inner, int(exponent))
        case Sum() | Series():
            terms = [coefficients(term) for term in parts_of(expression)]
            known = [term for term in terms if term is not None]
            return _added(known) if len(known) == len(terms) else None
    return None


def _added(terms: list[Array]) -> Array:
    total = np.zeros(max((len(term) for term in terms), default=1))
    for term in terms:
        total[: len(term)] += term
    return total


def _power(base: Array, exponent: int) -> Array:
    """By repeated squaring; coefficients that overflow are left infinite for the caller to see."""
    result = np.ones(1)
    with np.errstate(over="ignore", invalid="ignore"):
        while exponent:
            if exponent & 1:
                result = np.convolve(result, base)
            base, exponent = (np.convolve(base, base) if exponent > 1 else base), exponent >> 1
    return result


def _known(values: Array | None) -> Array:
    assert values is not None
    return values
