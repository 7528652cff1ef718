"""What places the nodes of any graph in P(A, X), with PCA and singular vectors held as they were fitted.

    feature components    p_i = s_i / ‖s_i‖,    s_i = (Σ_j Opʰ_ij x_j − μ) Cᵀ          C: k × d and μ: d of the PCA
    U                     p_i = s_i / ‖s_i‖,    s_i = Σ_j A_ij V_j,   V = vectors · sign(eigenvalues)

For the fitted graph the second is U·Σ again, since A q = λ q; for new nodes it folds them in. A node whose V is not known
(it is new) gives nothing to its neighbours' U. Without PCA, C = I and μ = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from slimg.components.components import Components
from slimg.components.features import Preparation, dense_rows, prepared_rows, rounding_of, without_noise
from slimg.components.neighbourhood import gathered, steps
from slimg.engine.base import Array, Engine
from slimg.graph.graph import Graph
from slimg.linalg.operators import operator
from slimg.linalg.pca import PCA
from slimg.linalg.svd import Spectrum

FEW = 4
"""Times by which nodes outnumber the rows they are gathered for, before features are gathered first and projected then."""


class Walk(NamedTuple):
    """Which features a component is made of: those that ``hops`` passes of an operator carry to a node; 0: its own."""

    operator: str
    hops: int

    @classmethod
    def of(cls, name: str) -> Walk | None:
        """The walk of a component's name: ``X``, ``A_row^2 X``, …; None for U."""
        if name == "U":
            return None
        kind, _, hops = name.removesuffix(" X").partition("^")
        return cls("", 0) if name == "X" else cls({"A_row": "A_row", "A_sym": "Ã_sym"}[kind], int(hops))


@dataclass(frozen=True)
class Projector:
    """Fitted states by component, without the rows of P themselves.

    Attributes
    ----------
    states : name → `Spectrum` (of U), `PCA`, or None (features as they are)
    walks : name → `Walk` (operator and hops), None for U
    preparation : how rows of X are prepared
    engine : where the singular vectors live
    """

    states: dict[str, Spectrum | PCA | None]
    walks: dict[str, Walk | None]
    preparation: Preparation
    engine: Engine

    @classmethod
    def of(cls, components: Components) -> Projector:
        """Of fitted components; float32, in which the rows of P were computed."""
        states = {
            name: replace(state, components=np.asarray(state.components, np.float32)) if isinstance(state, PCA) else state
            for name, state in components.states.items()
        }
        walks = {name: Walk.of(name) for name in states}
        return cls(states, walks, components.preparation, components.engine)

    def unscaled(self, name: str, graph: Graph, rows: Array, known: Array | None = None) -> Array:
        """s of the chosen rows (m × width), float64.

        ``known`` has, for each node of the graph, its row in the singular vectors, −1 if it has none; None when the graph
        is the fitted one.
        """
        walk = self.walks[name]
        if walk is None:
            weights = gathered(graph.adjacency, rows)
            reached, place = np.unique(weights.indices, return_inverse=True)
            local = sp.csr_array((weights.data, place, weights.indptr), shape=(len(rows), len(reached)))
            raw = local @ self.right_vectors(reached, known)
            return without_noise(raw, rounding_of(self.spectrum.singular_values))
        if walk.hops == 0:
            return self._projected(name, self.prepared(graph, rows))
        way = steps(operator(walk.operator, graph.adjacency), rows, walk.hops)
        far = self.prepared(graph, way.reached)
        if FEW * len(rows) < len(way.reached):
            return self._projected(name, way.apply(far))
        shift = self._shift(name)
        return way.apply(self._projected(name, far) + shift) - shift

    def rows(self, name: str, graph: Graph, rows: Array, known: Array | None = None) -> tuple[Array, Array]:
        """Rows of P (m × width) and the lengths ‖s‖ (m) that they were divided by, float64."""
        raw = self.unscaled(name, graph, rows, known)
        length = np.sqrt(np.einsum("ij,ij->i", raw, raw))
        return raw / np.where(length > 0, length, 1)[:, None], length

    def prepared(self, graph: Graph, rows: Array) -> Any:
        """Rows of X as they enter propagation, float64, sparse if X is and stays so."""
        block = prepared_rows(graph.features[rows], self.preparation)  # type: ignore[index]
        return block.astype(np.float64)

    def affine(self, name: str, d: int) -> tuple[Array, Array | None]:
        """μ (d) and C (k × d; None for the identity) of a feature component."""
        state = self.states[name]
        if state is None:
            return np.zeros(d), None
        assert isinstance(state, PCA)
        return np.asarray(state.mean, np.float64), state.components

    def right_vectors(self, nodes: Array, known: Array | None) -> Array:
        """V (m × r) of nodes of the graph at hand; zero where it is not known."""
        spectrum = self.spectrum
        places = nodes if known is None else known[nodes]
        there = places >= 0
        out = np.zeros((len(nodes), spectrum.rank))
        if there.any():
            out[there] = self.engine.rows(spectrum.vectors, places[there])
        return out * np.sign(spectrum.eigenvalues)

    @property
    def spectrum(self) -> Spectrum:
        found = next(state for state in self.states.values() if isinstance(state, Spectrum))
        return found

    def _projected(self, name: str, prepared: Any) -> Array:
        """(x − μ) Cᵀ."""
        _, components = self.affine(name, prepared.shape[1])
        if components is None:
            return dense_rows(prepared)
        return prepared @ np.asarray(components, np.float64).T - self._shift(name)

    def _shift(self, name: str) -> Array | float:
        """μ Cᵀ."""
        state = self.states[name]
        return np.asarray(state.components, np.float64) @ state.mean if isinstance(state, PCA) else 0.0
