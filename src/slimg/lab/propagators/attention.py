"""Attention networks: only partially linear, since their operators look at X through weight vectors w.

    GAT      Π_{k=1}^K [diag(X w_{k,1}) Ã + Ã diag(X w_{k,2})] X,   Ã = A + I      Veličković et al., ICLR 2018
    DA-GNN   Σ_{k=0}^K diag(Ã_sym^k X w) Ã_sym^k X                                 Liu et al., KDD 2020

The first factor of Π stands on the left, so layer K is applied first. Vectors that are not given are drawn from
N(0, 1/d) with ``random_state``: a fixed random attention, which a note on the result tells.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.lab.propagators.expressions import At_sym, Attention, Expression, Gated, chain, summation
from slimg.lab.propagators.registry import FREE, Propagator, count, register


@register("gat", title="GAT", reference="Veličković et al., Graph Attention Networks, ICLR 2018")
@dataclass(frozen=True)
class GAT(Propagator):
    """Π_{k=1}^K [diag(X w_{k,1}) Ã + Ã diag(X w_{k,2})] X; w: K × 2 × d."""

    K: int = count(2)
    w: Any = field(default=None, metadata=FREE)
    random_state: int = field(default=0, metadata=FREE)

    def formula(self) -> Expression:
        return chain(1, self.K, Attention)

    def vectors(self, layer: Any, d: int) -> Array:
        """w_{k,1} and w_{k,2} of layer k (d × 2)."""
        return _weights(self, (self.K, 2, d))[layer - 1].T

    def notes(self) -> tuple[str, ...]:
        return _note(self)


@register("dagnn", title="DA-GNN", reference="Liu et al., Towards Deeper Graph Neural Networks, KDD 2020")
@dataclass(frozen=True)
class DAGNN(Propagator):
    """Σ_{k=0}^K diag(Ã_sym^k X w) Ã_sym^k X; w: d."""

    K: int = count(10)
    w: Any = field(default=None, metadata=FREE)
    random_state: int = field(default=0, metadata=FREE)

    def formula(self) -> Expression:
        return summation(0, self.K, lambda k: Gated(At_sym**k))

    def vectors(self, layer: Any, d: int) -> Array:
        """w (d × 1)."""
        return _weights(self, (d,))[:, None]

    def notes(self) -> tuple[str, ...]:
        return _note(self)


def _weights(propagator: GAT | DAGNN, shape: tuple[int, ...]) -> Array:
    if propagator.w is None:
        return np.random.default_rng(propagator.random_state).standard_normal(shape) / np.sqrt(shape[-1])
    given = np.asarray(propagator.w, float)
    if given.shape != shape:
        needed = " × ".join(map(str, shape))
        raise InputError(f"{propagator.name}: w must be an array of {needed} numbers, not of shape {given.shape}")
    return given


def _note(propagator: GAT | DAGNN) -> tuple[str, ...]:
    if propagator.w is not None:
        return ()
    seed = f"random_state = {propagator.random_state}"
    return (f"{propagator.title}: weight vectors w were not given and are random ({seed}).",)
