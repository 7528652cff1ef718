"""X: the features of a node, and what all components made of features share.

    b_i = Σ_j Opʰ_ij x_j        s_i = (b_i − μ) Cᵀ        p_i = s_i / ‖s_i‖

x is a row of X, prepared (`slimg.components.row_scaling`); Op is an operator over A and h a number of hops, none for X
itself; μ (d) and C (k × d) are the mean and the directions of the PCA g. Without PCA, μ = 0 and C = I. A weight W
(k × c) is one of features, β = Cᵀ W (d × c), so that a score is

    p_i W = (b_i − μ) β / ‖s_i‖                         a share for each feature
          = Σ_j Opʰ_ij (x_j − μ) β / ‖s_i‖ + rest       a share for each node; rest is what the weights of paths lack to one

A_row^h X and Ã_sym^h X: the features of the neighbourhood.

    A_row = D⁻¹ A                        the mean over neighbours; h hops away
    Ã_sym = D̃^-½ (A + I) D̃^-½            smoothed within h hops, the node itself included

Both are applied as passes over A (`slimg.linalg.operators`); no power of A is formed.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array, identity

from slimg.components.component import (
    PAPER_RANK,
    Attribution,
    Component,
    Context,
    Cost,
    Rank,
    Target,
    check_rank,
    check_whole,
)
from slimg.components.row_scaling import NORMALIZATIONS, Preparation, dense_rows, prepared_rows
from slimg.engine.base import Array, RowMatrix
from slimg.errors import InputError, choices
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph
from slimg.linalg.operators import Operator, Steps, operator, steps
from slimg.linalg.pca import PCA, Chain

if TYPE_CHECKING:
    from slimg.components.estimate import Sizes


FEW = 4
"""Times by which nodes outnumber the rows they are gathered for, before features are gathered first and projected then."""


class FeatureState(NamedTuple):
    """The fitted PCA (None: features as they are), and how rows of X are prepared."""

    pca: PCA | None
    preparation: Preparation

    @property
    def shift(self) -> Array | float:
        """μ Cᵀ."""
        pca = self.pca
        return 0.0 if pca is None else np.asarray(pca.components, np.float64) @ pca.mean

    def prepared(self, graph: Graph, rows: Array) -> Any:
        """Rows of X as they enter propagation, float64, sparse if X is and stays so."""
        return prepared_rows(graph.features[rows], self.preparation).astype(np.float64)  # type: ignore[index]

    def projected(self, prepared: Any) -> Array:
        """(b − μ) Cᵀ."""
        if self.pca is None:
            return dense_rows(prepared)
        return prepared @ np.asarray(self.pca.components, np.float64).T - self.shift

    def loadings(self, weights: Array) -> tuple[Array, Array]:
        """μ (d) and β = Cᵀ W (d × c)."""
        wide = weights.astype(np.float64)
        if self.pca is None:
            return np.zeros(len(wide)), wide
        return np.asarray(self.pca.mean, np.float64), np.asarray(self.pca.components, np.float64).T @ wide


@dataclass(frozen=True, kw_only=True)
class FeatureComponent(Component):
    """Base of components made of features: g(Opʰ X).

    `slimg.components.compute` hands them Opʰ X, so that hops which several components need are computed once.

    Parameters
    ----------
    rank : int or EnergyRank, default=EnergyRank()
        The number of columns of g, or the rule that decides it.
    pca : bool, default=True
        False keeps the features themselves, with rows of length one.
    normalize : "auto", "row", "standard" or None, default="auto"
        "row" divides each row of X by its sum, after subtracting its minimum where X has negative entries; "standard" gives
        each column mean 0 and variance 1; None takes X as it is. "auto" takes "row" for counts and bags of words,
        "standard" for measured numbers.
    """

    rank: Rank = PAPER_RANK
    pca: bool = True
    normalize: str | None = "auto"

    needs_features: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_rank(self.rank)
        if self.normalize not in NORMALIZATIONS:
            raise choices("normalize", self.normalize, [str(each) for each in NORMALIZATIONS])
        if not isinstance(self.pca, (bool, np.bool_)):
            raise InputError(f"pca must be True or False, not {self.pca!r}")

    @property
    @abstractmethod
    def hops(self) -> int:
        """How often the operator is applied; 0 for the features of the node itself."""

    @abstractmethod
    def operator(self, adjacency: Adjacency) -> Operator | None:
        """Make the operator over a graph's A.

        Parameters
        ----------
        adjacency : Adjacency
            A.

        Returns
        -------
        Operator or None
            None without hops.
        """

    @property
    def reach(self) -> int:
        """The number of hops."""
        return self.hops

    def compute(self, context: Context) -> tuple[Any, RowMatrix]:
        """Not called: the rows are computed by `slimg.components.compute`, which shares hops among components."""
        raise InputError(f"{self.name} is computed with slimg.components.compute_components")

    def project(self, state: FeatureState, target: Target) -> Array:
        """Compute (Opʰ x − μ) Cᵀ of the nodes, touching only their neighbourhood."""
        graph, rows, _ = target
        way = self._steps(graph, rows)
        if way is None:
            return state.projected(state.prepared(graph, rows))
        far = state.prepared(graph, way.reached)
        if FEW * len(rows) < len(way.reached):
            return state.projected(way.apply(far))
        return way.apply(state.projected(far) + state.shift) - state.shift

    def loadings(self, state: FeatureState, weights: Array) -> Array:
        """Compute β = Cᵀ W."""
        return state.loadings(weights)[1]

    def attribute(self, state: FeatureState, weights: Array, target: Target) -> list[Attribution]:
        """Attribute scores to the d features, and to the nodes within the hops."""
        way = self._steps(target.graph, target.rows)
        paths = csr_array(identity(len(target.rows), format="csr")) if way is None else way.paths()
        reached = target.rows if way is None else way.reached
        prepared = state.prepared(target.graph, reached)
        values = dense_rows(paths @ prepared)
        mean, beta = state.loadings(weights)
        centred = values - mean
        raw = centred if state.pca is None else centred @ np.asarray(state.pca.components, np.float64).T
        lengths = np.sqrt(np.einsum("ij,ij->i", raw, raw))
        own = prepared @ beta - mean @ beta
        found = []
        for k, length in enumerate(lengths):
            part, scale = slice(paths.indptr[k], paths.indptr[k + 1]), 1 / length if length > 0 else 0.0
            places, strength = paths.indices[part], paths.data[part]
            features = centred[k][:, None] * beta * scale
            sources = strength[:, None] * own[places] * scale
            found.append(
                Attribution(
                    features.sum(axis=0), float(length), reached[places], strength, sources, features, values[k], mean
                )
            )
        return found

    def neighbour_scores(self, state: FeatureState, weights: Array, target: Target) -> tuple[Array, Array]:
        """What the first step of each path carries: Op_ij (Opʰ⁻¹ (x − μ) β)_j."""
        graph, rows, _ = target
        way = self._steps(graph, rows)
        if way is None:
            return super().neighbour_scores(state, weights, target)
        mean, beta = state.loadings(weights[:, None])
        far = state.prepared(graph, way.reached) @ beta - mean @ beta
        tail = Steps(way.matrices[1:], way.reached).apply(far)[:, 0]
        near = steps(self._applied(graph), rows, 1).reached
        return near, way.matrices[0].toarray()[0] * tail

    def cost(self, sizes: Sizes) -> Cost:
        """A Gram matrix of the features and their product with the directions."""
        n, d = sizes.nodes, sizes.features
        r = min(d, sizes.rank(self.rank)) if self.pca else d
        moved = 4 * n * (4 * d + 2 * r) + 16 * sizes.edges
        return Cost(columns=r, held=r, working=d, single=n * d * r, double=n * d * d if self.pca else 0, moved=moved)

    def to_arrays(self, state: FeatureState) -> dict[str, Array]:
        """Mean (d), directions (k × d), singular values (k), and whether the minimum of a row is subtracted."""
        _, shifted, mean, scale = state.preparation
        kept = {"shifted": np.array(shifted)}
        if mean is not None and scale is not None:
            kept |= {"column_mean": mean, "column_scale": scale}
        if state.pca is None:
            return kept
        pca = {name: np.asarray(getattr(state.pca, name)) for name in ("mean", "components", "singular_values")}
        return kept | pca

    def from_arrays(self, arrays: dict[str, Array]) -> FeatureState:
        """The state of a model file."""
        pca = PCA(arrays["mean"], arrays["components"], arrays["singular_values"]) if self.pca else None
        decided = "standard" if "column_mean" in arrays else "row" if self.normalize == "auto" else self.normalize
        columns = arrays.get("column_mean"), arrays.get("column_scale")
        return FeatureState(pca, Preparation(decided, bool(arrays["shifted"]), *columns))

    def _steps(self, graph: Graph, rows: Array) -> Steps | None:
        return steps(self._applied(graph), rows, self.hops) if self.hops else None

    def _applied(self, graph: Graph) -> Operator:
        found = self.operator(graph.adjacency)
        assert found is not None
        return found


@dataclass(frozen=True, kw_only=True)
class Features(FeatureComponent):
    """The features of the node itself: g(X).

    Parameters
    ----------
    rank : int or EnergyRank, default=EnergyRank()
        The number of columns of g, or the rule that decides it.
    pca : bool, default=True
        False keeps the features themselves, with rows of length one.
    normalize : "auto", "row", "standard" or None, default="auto"
        "row" divides each row of X by its sum, after subtracting its minimum where X has negative entries; "standard" gives
        each column mean 0 and variance 1; None takes X as it is. "auto" takes "row" for counts and bags of words,
        "standard" for measured numbers.

    Examples
    --------
    >>> from slimg.components import Features
    >>> Features().name, Features().formula, Features(pca=False).formula
    ('X', 'g(X)', 'X')
    """

    name: ClassVar[str] = "X"
    title: ClassVar[str] = "its own features"
    short_title: ClassVar[str] = "own features"
    hops: ClassVar[int] = 0

    @property
    def formula(self) -> str:
        """``g(X)``."""
        return "g(X)" if self.pca else "X"

    def operator(self, adjacency: Adjacency) -> None:
        """None."""
        return None


class AsIs:
    """A plan like that of a PCA, for a component without one: the rows themselves."""

    def __init__(self, engine: Any, source: RowMatrix | Chain, expected_rank: int | None, overwrite_input: bool = False):
        self._engine, self._source, self._overwrite_input = engine, source, overwrite_input

    def solve(self, rank: int, then: Any) -> tuple[None, RowMatrix]:
        """No state, and the rows with ``then`` applied."""
        source = self._source
        if isinstance(source, Chain):
            source = source.times(self._engine, np.eye(source.shape[1], dtype=np.float32))
        overwrite = self._overwrite_input
        return None, self._engine.map_rows(lambda block: then(dense_rows(block)), source, overwrite_input=overwrite)


OPERATORS = {"row": "A_row", "sym": "Ã_sym"}
FUSED = 1.6
"""Cost of the first hops of two operators in one pass, as a number of passes."""
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, kw_only=True)
class PropagatedFeatures(FeatureComponent):
    """The features of the neighbourhood: g(A_row^h X) or g(Ã_sym^h X).

    Parameters
    ----------
    rank : int or EnergyRank, default=EnergyRank()
        The number of columns of g, or the rule that decides it.
    pca : bool, default=True
        False keeps the propagated features themselves, with rows of length one.
    normalize : "auto", "row", "standard" or None, default="auto"
        "row" divides each row of X by its sum, after subtracting its minimum where X has negative entries; "standard" gives
        each column mean 0 and variance 1; None takes X as it is. "auto" takes "row" for counts and bags of words,
        "standard" for measured numbers.
    kind : "row" or "sym", default="row"
        "row" takes the mean over neighbours, A_row; "sym" smooths over the neighbourhood with the node itself, Ã_sym.
    steps : int, default=2
        The number of hops h.

    Examples
    --------
    >>> from slimg.components import PropagatedFeatures
    >>> PropagatedFeatures(kind="sym", steps=3).name
    'A_sym^3 X'
    >>> PropagatedFeatures().title
    'the mean features of nodes 2 steps away'
    """

    kind: str = "row"
    steps: int = 2

    needs_edges: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in OPERATORS:
            raise choices("kind", self.kind, list(OPERATORS))
        check_whole(self.steps, "steps", " of hops")

    @property
    def name(self) -> str:
        """``A_row^2 X`` or ``A_sym^2 X``, with the number of hops."""
        return f"A_{self.kind}^{self.steps} X"

    @property
    def formula(self) -> str:
        """``g(A_row² X)`` or ``g(Ã_sym² X)``, with the number of hops."""
        power = "" if self.steps == 1 else str(self.steps).translate(SUPERSCRIPTS)
        plain = f"{OPERATORS[self.kind]}{power} X"
        return f"g({plain})" if self.pca else plain

    @property
    def title(self) -> str:
        """The component in words."""
        away = "one step" if self.steps == 1 else f"{self.steps} steps"
        if self.kind == "row":
            return f"the mean features of nodes {away} away"
        return f"the features within {away}, its own included"

    @property
    def short_title(self) -> str:
        """The title in two or three words."""
        return "nodes further away" if self.kind == "row" else "neighbourhood"

    @property
    def hops(self) -> int:
        """The number of hops."""
        return self.steps

    def operator(self, adjacency: Adjacency) -> Operator:
        """A_row or Ã_sym of a graph."""
        return operator(OPERATORS[self.kind], adjacency)

    def cost(self, sizes: Sizes) -> Cost:
        """That of a component of features, and passes of d columns over A, the first of them shared by two operators."""
        return replace(super().cost(sizes), passes=self.steps - 1 + FUSED / 2, pass_width=sizes.features)
