"""SlimG's own propagator in the registry.

    U ‖ g(X) ‖ g(A_row² X) ‖ g(Ã_sym² X)

It has no hyperparameters; `slimg.components` computes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from slimg.components.compute import Components, compute_components, paper_components
from slimg.engine.base import Engine
from slimg.graph.graph import Graph
from slimg.lab.propagators.expressions import A_row, At_sym, Concatenation, Reduced, Structure, blocks, identity
from slimg.lab.propagators.registry import FREE, Propagator, register


@register(
    "slimg",
    title="SlimG",
    reference="Yoo et al., Less is More: SlimG for Accurate, Robust, and Interpretable Graph Mining, KDD 2023",
)
@dataclass(frozen=True)
class Slim(Propagator):
    """U ‖ g(X) ‖ g(A_row² X) ‖ g(Ã_sym² X)."""

    random_state: int = field(default=0, metadata=FREE)

    def formula(self) -> Concatenation:
        return blocks(Structure(), Reduced(identity), Reduced(A_row**2), Reduced(At_sym**2))

    def __call__(self, graph: Graph, engine: Engine | None = None, *, normalize: str | None = "row") -> Components:
        components = paper_components(normalize=normalize)
        return compute_components(graph, engine, components=components, random_state=self.random_state)
