"""X: the features of a node, and what all components made of features share.

    b_i = Σ_j F_ij x_j        s_i = (b_i − μ) V Cᵀ        p_i = s_i / ‖s_i‖

x is a row of X, prepared (`slimg.components.row_scaling`); F = Σ_k c_k Opᵏ is a sum of powers of an operator over A, the
identity for X itself. V (d × l, orthonormal) reduces a wide X before it is propagated (`slimg.linalg.svd`), and is the
identity for others; C (r × l) are the directions of the PCA g of F X V. μ (d) is the mean of the rows of F X. Without
PCA, μ = 0 and C = I. Soft rows are divided by √(a ‖s_i‖² + (1 − a) r²), r² the mean of ‖s‖², in the place of ‖s_i‖. A weight
W (r × c) is one of features, β = V Cᵀ W (d × c), so that a score is

    p_i W = (b_i − μ) β / ‖s_i‖                       a share for each feature
          = Σ_j F_ij (x_j − μ) β / ‖s_i‖ + rest       a share for each node; rest is what the weights of paths lack to one

A_row^h X and Ã_sym^h X: the features of the neighbourhood.

    A_row = D⁻¹ A                        the mean over neighbours; h hops away
    Ã_sym = D̃^-½ (A + I) D̃^-½            smoothed within h hops, the node itself included

S X and PPR X: the features of a wide neighbourhood, those of near nodes most (personalised PageRank of X).

    S = α Σ_{k=0..K} (1 − α)ᵏ Ã_symᵏ     a walk that ends with probability α at each of at most K steps
    PPR = p(Ã_sym) ≈ α (I − (1 − α) Ã_sym)⁻¹    all steps, by the polynomial p of K hops that meets it at Chebyshev's zeros

R_a R_b X: the features at the end of a path along relations and directions.

    R_a = D_a⁻¹ A_a                      the mean over what a node points to by relation a ("a →"), or what points to it ("a ←")
    R_a = D_a^-½ A_a D'_a^-½             or a sum in which those that many lead to count less; D' = diag(1ᵀA_a)

A path of one step has the features of these neighbours, a path of two those of their neighbours in turn: "cites →, cites ←"
is who cites what I cite. A node from which no path of this kind leads has a row of zeros.

All are applied as passes over A (`slimg.linalg.operators`), which the components of a list share; no power of A is formed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.polynomial import chebyshev
from scipy.sparse import csr_array, identity, issparse

from slimg.components.component import (
    FEATURE_RANK,
    Attribution,
    Component,
    Context,
    Cost,
    EnergyRank,
    Product,
    Rank,
    Sizes,
    Target,
    check_rank,
    check_steps,
)
from slimg.components.row_scaling import (
    BINS,
    NORMALIZATIONS,
    UNIT,
    Preparation,
    dense_rows,
    lengths_of,
    prepared_rows,
    without_noise,
)
from slimg.engine.base import Array, RowMatrix
from slimg.errors import InputError, check_whole_number, choices
from slimg.graph.adjacency import Adjacency
from slimg.graph.columns import number_of
from slimg.graph.graph import Graph
from slimg.graph.relations import opposite
from slimg.linalg.operators import Operator, Steps, operator, steps
from slimg.linalg.svd import PCA, SWEEPS, reduced_width
from slimg.system import require_unchanged

EXACT_AT_MOST = 4_096
"""Features up to which the paper's rule, whose ranks are large, takes X as it is."""
SHARED = 4
"""Components of the default list that share one reduction of X."""
MOST_STEPS = 1_000
"""Hops of a component: a model file of a stranger may ask for any number."""
PATH_RANK = 64
"""Columns of a path: there may be many paths."""
PIECE = 2_048
"""Rows of V that are multiplied at a time."""
FEW = 4
"""Times by which nodes outnumber the rows they are gathered for, before features are gathered first and projected then."""


@dataclass(frozen=True, eq=False)
class FeatureState:
    """How rows of X are prepared, the fitted PCA (None: features as they are), V (None: the identity), μ, ranges, the length up
    to which a row is only rounding, and how lengths are taken (`row_scaling.lengths_of`)."""

    preparation: Preparation
    pca: PCA | None = None
    basis: Array | None = None
    mean: Array | None = None
    names: tuple[str, ...] | None = None
    floor: float = 0.0
    scaling: tuple[float, float] = UNIT
    _known: dict[str, tuple[Array, Array]] = field(default_factory=dict, repr=False)

    @cached_property
    def shift(self) -> Array | float:
        """μ V Cᵀ."""
        return 0.0 if self.mean is None else self.raw(self.mean[None])[0]

    def prepared(self, graph: Graph, rows: Array) -> Any:
        """Rows of X as they enter propagation, float64, sparse if X is and stays so."""
        require_unchanged(graph.features)
        return prepared_rows(graph.features[rows], self.preparation).astype(np.float64)  # type: ignore[index]

    def raw(self, rows: Any) -> Array:
        """b V Cᵀ."""
        reduced = dense_rows(rows if self.basis is None else _times(rows, self.basis))
        return reduced if self.pca is None else reduced @ self.pca.components.T.astype(np.float64)

    def loadings(self, weights: Array) -> tuple[Array, Array]:
        """μ (d) and β = V Cᵀ W (d × c), which is kept for the last W: a fitted model computes it once."""
        last = self._known.get("loadings")
        if last is None or last[0] is not weights:
            self._known["loadings"] = last = weights, self.beta(weights)  # W and its β in one step, whatever threads do
        return np.zeros(len(last[1])) if self.mean is None else self.mean, last[1]

    def beta(self, weights: Array) -> Array:
        """β = V Cᵀ W."""
        beta = weights.astype(np.float64)
        if self.pca is not None:
            beta = self.pca.components.T.astype(np.float64) @ beta
        return beta if self.basis is None else self.basis.astype(np.float64) @ beta


def _from_sources(rows: Any, mean: Array, strength: Array, beta: Array) -> Array:
    """What nodes contribute: strength ∘ (x − μ) β."""
    return ((rows @ beta - mean @ beta).T * strength).T


def _from_features(centred: Array, scale: float, beta: Array) -> Array:
    """What features contribute: (b − μ) ∘ β / ‖s‖."""
    return (centred * beta.T).T * scale


def _times(rows: Any, basis: Array) -> Array:
    """Rows times V; of sparse rows the features that they have, V in float64 by pieces that stay in the cache."""
    if not issparse(rows):
        return rows @ basis
    used = np.flatnonzero(np.bincount(rows.indices, minlength=len(basis)))
    pieces = (used[k : k + PIECE] for k in range(0, len(used), PIECE))
    return sum((rows[:, each] @ basis[each].astype(np.float64) for each in pieces), np.zeros((rows.shape[0], basis.shape[1])))


@dataclass(frozen=True, kw_only=True)
class FeatureComponent(Component):
    """Base of components made of features: g(F X), F = Σ_k c_k Opᵏ.

    `slimg.components.compute` hands them F X, so that hops which several components need are computed once.

    Parameters
    ----------
    rank : int or EnergyRank, default=256
        The number of columns of g, or the rule that decides it.
    pca : bool, default=True
        False keeps the features themselves, with rows of length one.
    normalize : "auto", "row", "standard", "bins" or None, default="auto"
        "row" divides each row of X by its sum, after subtracting its minimum where X has negative entries; "standard" gives
        each column mean 0 and variance 1; "bins" has a column for each of eight ranges of a number; None takes X as it is.
        "auto" takes "row" for counts and bags of words, with weights of words where some are there more than once, and
        "standard" for measured numbers.
    soft : bool, default=False
        True divides rows by √(0.2 ‖s‖² + 0.8 r²), r² being the mean of ‖s‖², in the place of ‖s‖: those near the mean stay short.
    """

    rank: Rank = FEATURE_RANK
    pca: bool = True
    normalize: str | None = "auto"
    soft: bool = False

    needs_features: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_rank(self.rank)
        if self.normalize not in NORMALIZATIONS:
            raise choices("normalize", self.normalize, [str(each) for each in NORMALIZATIONS])
        if not isinstance(self.pca, (bool, np.bool_)):
            raise InputError(f"pca must be True or False, not {self.pca!r}")
        if not isinstance(self.soft, (bool, np.bool_)) or (self.soft and not self.pca):
            raise InputError(f"soft must be True or False, and False without PCA, not {self.soft!r}")

    @property
    @abstractmethod
    def hops(self) -> int:
        """How often the operator is applied; 0 for the features of the node itself."""

    @property
    def coefficients(self) -> tuple[float, ...]:
        """Weights c_0 … c_h of F = Σ_k c_k Opᵏ; by default F = Opʰ."""
        return (*(0.0,) * self.hops, 1.0)

    def operator(self, adjacency: Adjacency) -> Operator | None:
        """Make the operator over a graph's A.

        Parameters
        ----------
        adjacency : Adjacency
            A.

        Returns
        -------
        Operator or None
            None without hops, and where hops differ (`operators`).
        """
        return None

    def operators(self, graph: Graph) -> tuple[Operator, ...]:
        """Make the operators of all hops.

        Parameters
        ----------
        graph : Graph
            The graph that they are over.

        Returns
        -------
        tuple of Operator
            One for each hop, from the node outwards; by default the same.
        """
        found = self.operator(graph.adjacency)
        return () if found is None else (found,) * self.hops

    @property
    def reach(self) -> int:
        """The number of hops."""
        return self.hops

    @property
    def source(self) -> str:
        """``X``, or ``bins(X)`` for ranges of numbers."""
        return "bins(X)" if self.normalize == "bins" else "X"

    def prepared_width(self, d: int) -> int:
        """The number of columns of X after it is prepared.

        Parameters
        ----------
        d : int
            The number of features.

        Returns
        -------
        int
            d, or 8 d for ranges of numbers.
        """
        return d * BINS if self.normalize == "bins" else d

    def feature_names(self, state: FeatureState) -> tuple[str, ...] | None:
        """The ranges of numbers, or None for the features of the graph."""
        return state.names

    def is_exact(self, d: int) -> bool:
        """Whether X is taken as it is, without a reduction, however wide it is.

        Parameters
        ----------
        d : int
            The number of features.

        Returns
        -------
        bool
            True without PCA, and for the paper's rule up to `EXACT_AT_MOST` features.
        """
        return not self.pca or (isinstance(self.rank, EnergyRank) and self.prepared_width(d) <= EXACT_AT_MOST)

    def width(self, n: int, d: int, rank: int) -> int:
        """The number of columns that are propagated.

        Parameters
        ----------
        n, d : int
            Nodes and features.
        rank : int
            The number of columns that the component's rank stands for.

        Returns
        -------
        int
            d, or the columns of a reduced X.
        """
        exact, d = self.is_exact(d), self.prepared_width(d)
        return d if exact else reduced_width(n, d, rank) or d

    def compute(self, context: Context) -> tuple[Any, RowMatrix]:
        """Not called: the rows are computed by `slimg.components.compute`, which shares hops among components."""
        raise InputError(f"{self.name} is computed with slimg.components.compute_components")

    def project(self, state: FeatureState, target: Target) -> Array:
        """Compute (F x − μ) V Cᵀ of the nodes, touching only their neighbourhood."""
        graph, rows, _ = target
        way = self._steps(graph, rows)
        far = state.prepared(graph, rows if way is None else way.reached)
        if way is None:
            raw = state.raw(far)
        elif FEW * len(rows) < len(way.reached):
            raw = state.raw(way.paths() @ far)
        else:
            raw = way.apply(state.raw(far))
        return without_noise(raw - state.shift, state.floor)

    def lengths(self, state: FeatureState, raw: Array) -> Array:
        """‖s‖, or √(0.2 ‖s‖² + 0.8 r²) of soft rows."""
        return lengths_of(raw, state.scaling)

    def loadings(self, state: FeatureState, weights: Array) -> Array:
        """Compute β = V Cᵀ W."""
        return state.loadings(weights)[1]

    def attribute(self, state: FeatureState, weights: Array, target: Target) -> Iterable[Attribution]:
        """Attribute scores to the d features, and to the nodes within the hops; those of a node are made when it is its turn."""
        way = self._steps(target.graph, target.rows)
        paths = csr_array(identity(len(target.rows), format="csr")) if way is None else way.paths()
        reached = target.rows if way is None else way.reached
        prepared = state.prepared(target.graph, reached)
        around = paths @ prepared
        raw = without_noise(state.raw(around) - state.shift, state.floor)
        lengths = self.lengths(state, raw)
        mean, beta = state.loadings(weights)
        values = dense_rows(around)
        centred = values - mean

        def of_row(k: int) -> Attribution:
            part, length = slice(paths.indptr[k], paths.indptr[k + 1]), float(lengths[k])
            scale = 1 / length if length > 0 else 0.0
            places, strength = paths.indices[part], paths.data[part]
            own = prepared if len(places) == len(reached) else prepared[places]
            by_source = Product(partial(_from_sources, own, mean, strength * scale), beta)
            by_feature = Product(partial(_from_features, centred[k], scale), beta)
            parts = centred[k] @ beta * scale, length, reached[places], strength, by_source, by_feature
            return Attribution(*parts, values[k], mean)

        return map(of_row, range(len(lengths)))

    def neighbour_scores(self, state: FeatureState, weights: Array, target: Target) -> tuple[Array, Array]:
        """What the first step of each path carries: Op_ij (Σ_{k ≥ 1} c_k Opᵏ⁻¹ (x − μ) β)_j."""
        graph, rows, _ = target
        way = self._steps(graph, rows)
        if way is None:
            return super().neighbour_scores(state, weights, target)
        beta = state.beta(weights[:, None])
        far = state.prepared(graph, way.reached) @ beta - (0 if state.mean is None else state.mean @ beta)
        return way.levels[1], way.matrices[0].toarray()[0] * way.tail.apply(far)[:, 0]

    def cost(self, sizes: Sizes) -> Cost:
        """Its share of the reduction of X, passes over A, a Gram matrix, and the product with its directions."""
        n, d, distinct = sizes.nodes, self.prepared_width(sizes.features), sizes.features - sizes.doubled
        width = self.width(n, distinct if sizes.entries is None else sizes.features, sizes.rank(self.rank))
        r = min(width, self.prepared_width(distinct), sizes.rank(self.rank)) if self.pca else d
        reduction = 0 if width in (d, distinct) else (2 * SWEEPS + 1) * sizes.stored_features * width / SHARED
        return Cost(
            columns=r, held=r, working=width, passes=self.hops, pass_width=width, single=n * width * r + reduction,
            double=n * width * width if self.pca else 0, moved=4 * n * (4 * width + 2 * r) + 16 * sizes.edges,
        )  # fmt: skip

    def to_arrays(self, state: FeatureState) -> dict[str, Array]:
        """Mean (d), V (d × l), directions (r × l), singular values (r), and how X is prepared."""
        _, shifted, mean, scale, edges, places, weights = state.preparation
        kept = {"shifted": np.array(shifted)}
        if state.floor:
            kept["floor"] = np.array(state.floor)
        if state.scaling != UNIT:
            kept["scaling"] = np.array(state.scaling)
        if mean is not None and scale is not None:
            kept |= {"column_mean": mean, "column_scale": scale}
        if edges is not None and state.names is not None:
            kept |= {"edges": edges, "names": np.frombuffer("\n".join(state.names).encode(), np.uint8)}
        if places is not None:
            kept["places"] = places
        if weights is not None:
            kept["column_weights"] = weights
        if state.basis is not None:
            kept["basis"] = state.basis
        if state.pca is None or state.mean is None:
            return kept
        pca = {name: np.asarray(getattr(state.pca, name)) for name in ("components", "singular_values")}
        return kept | {"mean": state.mean, **pca}

    def from_arrays(self, arrays: dict[str, Array]) -> FeatureState:
        """The state of a model file."""
        decided = "standard" if "column_mean" in arrays else "row" if self.normalize == "auto" else self.normalize
        columns = arrays.get("column_mean"), arrays.get("column_scale")
        others = (arrays.get(name) for name in ("edges", "places", "column_weights"))
        preparation = Preparation(decided, bool(arrays["shifted"]), *columns, *others)
        text = bytes(arrays["names"]).decode("utf-8", "replace").split("\n") if "names" in arrays else None
        names = None if text is None else tuple(text)
        if (self.normalize == "bins") != (names is not None and len(names) == BINS * len(arrays["edges"])):
            raise InputError(f"{self.name} needs the ends of its ranges and a name for each")
        floor = float(arrays.get("floor", 0.0))
        if not self.pca:
            return FeatureState(preparation, names=names, floor=floor)
        mean, basis = arrays["mean"], arrays.get("basis")
        reduced = mean if basis is None else mean @ basis
        pca = PCA(reduced, arrays["components"], arrays["singular_values"])
        share, added = map(float, arrays.get("scaling", UNIT))
        if ("scaling" in arrays) != self.soft or min(share, added) < 0 or share + added == 0:
            raise InputError(f"{self.name} needs two numbers above zero if its rows are soft, and none otherwise")
        return FeatureState(preparation, pca, basis, mean, names, floor, (share, added))

    def _steps(self, graph: Graph, rows: Array) -> Steps | None:
        return steps(self.operators(graph), rows, self.coefficients) if self.hops else None


@dataclass(frozen=True, kw_only=True)
class Features(FeatureComponent):
    """The features of the node itself: g(X).

    Parameters
    ----------
    rank : int or EnergyRank, default=256
        The number of columns of g, or the rule that decides it.
    pca : bool, default=True
        False keeps the features themselves, with rows of length one.
    normalize : "auto", "row", "standard", "bins" or None, default="auto"
        "row" divides each row of X by its sum, after subtracting its minimum where X has negative entries; "standard" gives
        each column mean 0 and variance 1; "bins" has a column for each of eight ranges of a number; None takes X as it is.
        "auto" takes "row" for counts and bags of words, with weights of words where some are there more than once, and
        "standard" for measured numbers.
    soft : bool, default=False
        True divides rows by √(0.2 ‖s‖² + 0.8 r²), r² being the mean of ‖s‖², in the place of ‖s‖: those near the mean stay short.

    Examples
    --------
    >>> from slimg.components import Features
    >>> Features().name, Features().formula, Features(pca=False).formula
    ('X', 'g(X)', 'X')
    """

    hops: ClassVar[int] = 0

    @property
    def name(self) -> str:
        """``X``, or ``bins(X)``."""
        return self.source

    @property
    def formula(self) -> str:
        """``g(X)``."""
        return f"g({self.source})" if self.pca else self.source

    @property
    def title(self) -> str:
        """The component in words."""
        return "the ranges its own numbers are in" if self.normalize == "bins" else "its own features"

    @property
    def short_title(self) -> str:
        """The title in a few words."""
        return "own ranges" if self.normalize == "bins" else "own features"

OPERATORS = {"row": "A_row", "sym": "Ã_sym"}
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, kw_only=True)
class PropagatedFeatures(FeatureComponent):
    """The features of the neighbourhood: g(A_row^h X) or g(Ã_sym^h X).

    Parameters
    ----------
    rank : int or EnergyRank, default=256
        The number of columns of g, or the rule that decides it.
    pca : bool, default=True
        False keeps the propagated features themselves, with rows of length one.
    normalize : "auto", "row", "standard", "bins" or None, default="auto"
        "row" divides each row of X by its sum, after subtracting its minimum where X has negative entries; "standard" gives
        each column mean 0 and variance 1; "bins" has a column for each of eight ranges of a number; None takes X as it is.
        "auto" takes "row" for counts and bags of words, with weights of words where some are there more than once, and
        "standard" for measured numbers.
    soft : bool, default=False
        True divides rows by √(0.2 ‖s‖² + 0.8 r²), r² being the mean of ‖s‖², in the place of ‖s‖: those near the mean stay short.
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
        check_whole_number(self.steps, "steps", 1, MOST_STEPS)

    @property
    def name(self) -> str:
        """``A_row^2 X`` or ``A_sym^2 X``, with the number of hops."""
        return f"A_{self.kind}^{self.steps} {self.source}"

    @property
    def formula(self) -> str:
        """``g(A_row² X)`` or ``g(Ã_sym² X)``, with the number of hops."""
        power = "" if self.steps == 1 else str(self.steps).translate(SUPERSCRIPTS)
        plain = f"{OPERATORS[self.kind]}{power} {self.source}"
        return f"g({plain})" if self.pca else plain

    @property
    def title(self) -> str:
        """The component in words."""
        away = "one step" if self.steps == 1 else f"{self.steps} steps"
        if self.kind == "row":
            what = "shares of nodes in ranges of numbers," if self.normalize == "bins" else "mean features of nodes"
            return f"the {what} {away} away"
        what = "ranges of numbers" if self.normalize == "bins" else "features"
        return f"the {what} within {away}, its own included"

    @property
    def short_title(self) -> str:
        """The title in a few words."""
        what = "ranges" if self.normalize == "bins" else "features"
        return f"{what} {number_of(self.steps, 'step')} away" if self.kind == "row" else f"smoothed {what}"

    @property
    def hops(self) -> int:
        """The number of hops."""
        return self.steps

    def operator(self, adjacency: Adjacency) -> Operator:
        """A_row or Ã_sym of a graph."""
        return operator(OPERATORS[self.kind], adjacency)


@dataclass(frozen=True, kw_only=True)
class Diffusion(FeatureComponent):
    """The features of a wide neighbourhood: g(α Σ_k (1 − α)ᵏ Ã_symᵏ X).

    On a graph with more than 2²⁶ stored entries of A (twice the edges) it is left out, with a note.

    Parameters
    ----------
    rank : int or EnergyRank, default=256
        The number of columns of g, or the rule that decides it.
    pca : bool, default=True
        False keeps the propagated features themselves, with rows of length one.
    normalize : "auto", "row", "standard", "bins" or None, default="auto"
        "row" divides each row of X by its sum, after subtracting its minimum where X has negative entries; "standard" gives
        each column mean 0 and variance 1; "bins" has a column for each of eight ranges of a number; None takes X as it is.
        "auto" takes "row" for counts and bags of words, with weights of words where some are there more than once, and
        "standard" for measured numbers.
    soft : bool, default=False
        True divides rows by √(0.2 ‖s‖² + 0.8 r²), r² being the mean of ‖s‖², in the place of ‖s‖: those near the mean stay short.
    alpha : float, default=0.1
        Above 0 and below 1; the larger, the nearer.
    steps : int, default=10
        The number of hops K.

    Examples
    --------
    >>> from slimg.components import Diffusion
    >>> Diffusion().name, Diffusion().formula
    ('S^10 X', 'g(S¹⁰ X)')
    >>> Diffusion(alpha=0.25, steps=1).coefficients
    (0.25, 0.1875)
    """

    alpha: float = 0.1
    steps: int = 10

    letter: ClassVar[str] = "S"
    most_steps: ClassVar[int] = MOST_STEPS
    needs_edges: ClassVar[bool] = True
    most_entries: ClassVar[int | None] = 1 << 26

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _is_number(self.alpha) or not 0 < self.alpha < 1:
            raise InputError(f"alpha must be a number above 0 and below 1, not {self.alpha!r}")
        check_whole_number(self.steps, "steps", 0, self.most_steps)

    @property
    def name(self) -> str:
        """``S^10 X``, with the number of hops, and α where it is not the default."""
        return f"{self.letter}{'' if self.alpha == type(self).alpha else f'_{self.alpha:g}'}^{self.steps} {self.source}"

    @property
    def formula(self) -> str:
        """``g(S¹⁰ X)``, with the number of hops."""
        plain = f"{self.letter}{str(self.steps).translate(SUPERSCRIPTS)} {self.source}"
        return f"g({plain})" if self.pca else plain

    @property
    def title(self) -> str:
        """What the component says, in words."""
        return f"the features within {self.steps} steps of it, near ones most"

    @property
    def short_title(self) -> str:
        """The title in a few words."""
        return f"features within {self.steps} steps"

    @property
    def hops(self) -> int:
        """The number of hops."""
        return self.steps

    @property
    def coefficients(self) -> tuple[float, ...]:
        """Weights α (1 − α)ᵏ of the powers."""
        return tuple(self.alpha * (1 - self.alpha) ** k for k in range(self.steps + 1))

    @property
    def tail(self) -> tuple[float, ...]:
        """Weights of the powers in T, with which F = α I + (1 − α) Ã_sym T."""
        return self.coefficients[:-1]

    def operator(self, adjacency: Adjacency) -> Operator:
        """Ã_sym of a graph."""
        return operator("Ã_sym", adjacency)


@dataclass(frozen=True, kw_only=True)
class PageRank(Diffusion):
    """The features by personalised PageRank, in few hops: g(p(Ã_sym) X), p(x) ≈ α / (1 − (1 − α) x).

    α (I − (1 − α) Ã_sym)⁻¹ is the sum S of all powers. The polynomial p of degree ``steps`` that meets it at the zeros of a
    Chebyshev polynomial differs from it by at most 0.06 for α = 0.05 and 10 hops, where the first ten powers lack 0.57.

    Parameters
    ----------
    rank : int or EnergyRank, default=256
        The number of columns of g, or the rule that decides it.
    pca : bool, default=True
        False keeps the propagated features themselves, with rows of length one.
    normalize : "auto", "row", "standard", "bins" or None, default="auto"
        As for `Diffusion`.
    soft : bool, default=False
        As for `Diffusion`.
    alpha : float, default=0.05
        Above 0 and below 1; the larger, the nearer.
    steps : int, default=10
        The number of hops, at most 12: the weights of the powers grow with it, and with them what rounding does.

    Examples
    --------
    >>> from slimg.components import PageRank
    >>> PageRank().name, PageRank().formula
    ('PPR^10 X', 'g(PPR¹⁰ X)')
    >>> round(sum(PageRank(alpha=0.3).coefficients), 3)
    1.0
    """

    alpha: float = 0.05

    letter: ClassVar[str] = "PPR"
    most_steps: ClassVar[int] = 12

    @property
    def coefficients(self) -> tuple[float, ...]:
        """Weights of the powers in p."""
        met: Any = chebyshev.chebinterpolate(lambda x: self.alpha / (1 - (1 - self.alpha) * x), self.steps)
        return tuple(chebyshev.cheb2poly(met).tolist())

    @property
    def tail(self) -> tuple[float, ...]:
        """The same: p(x) is near to α + (1 − α) x p(x), which it would be with all steps."""
        return self.coefficients


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


@dataclass(frozen=True, kw_only=True)
class PathFeatures(FeatureComponent):
    """The features at the end of a path along relations: g(R_a R_b X).

    Parameters
    ----------
    rank : int or EnergyRank, default=64
        The number of columns of g, or the rule that decides it.
    pca : bool, default=True
        False keeps the propagated features themselves, with rows of length one.
    normalize : "auto", "row", "standard", "bins" or None, default="auto"
        "row" divides each row of X by its sum, after subtracting its minimum where X has negative entries; "standard" gives
        each column mean 0 and variance 1; "bins" has a column for each of eight ranges of a number; None takes X as it is.
        "auto" takes "row" for counts and bags of words, with weights of words where some are there more than once, and
        "standard" for measured numbers.
    soft : bool, default=False
        True divides rows by √(0.2 ‖s‖² + 0.8 r²), r² being the mean of ‖s‖², in the place of ‖s‖: those near the mean stay short.
    path : tuple of str
        Steps from the node outwards, as `Graph.directions` names them: ``"cites →"``, ``"cites ←"``, or the name of an
        undirected relation.
    kind : "row" or "sym", default="row"
        "row" takes the mean along each step; "sym" divides by the roots of the degrees at both ends, so that hubs count less.

    Examples
    --------
    >>> from slimg.components import PathFeatures
    >>> component = PathFeatures(path=("cites →", "cites ←"))
    >>> component.name, component.formula
    ('cites → cites ← X', 'g(R[cites →] R[cites ←] X)')
    >>> PathFeatures(path=("cites ←",)).title
    'the features of nodes that point to it by cites'
    """

    path: tuple[str, ...]
    kind: str = "row"
    rank: Rank = PATH_RANK

    needs_edges: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in OPERATORS:
            raise choices("kind", self.kind, list(OPERATORS))
        object.__setattr__(self, "path", check_steps("path", self.path))

    @property
    def name(self) -> str:
        """The steps and X, for example ``cites → X``, or ``cites → X_sym``."""
        return f"{' '.join(self.path)} {self.source}{'_sym' if self.kind == 'sym' else ''}"

    @property
    def formula(self) -> str:
        """``g(R[cites →] X)``, or ``g(R_sym[cites →] X)``."""
        by = "R" if self.kind == "row" else "R_sym"
        plain = f"{' '.join(f'{by}[{step}]' for step in self.path)} {self.source}"
        return f"g({plain})" if self.pca else plain

    @property
    def title(self) -> str:
        """The component in words."""
        first, *others = self.path
        what = "ranges of numbers" if self.normalize == "bins" else "features"
        far = f"the {what} of {_words(first)}"
        return far if not others else f"the {what} at the end of {', then '.join(self.path)}"

    @property
    def short_title(self) -> str:
        """The steps."""
        return " ".join(self.path) + (" in ranges" if self.normalize == "bins" else "")

    @property
    def hops(self) -> int:
        """The number of steps."""
        return len(self.path)

    def operators(self, graph: Graph) -> tuple[Operator, ...]:
        """The mean along each step, or the sum with the roots of the degrees."""
        name = f"A_{self.kind}"
        return tuple(operator(name, graph.direction(step), graph.direction(opposite(step))) for step in self.path)


def _words(step: str) -> str:
    name, _, arrow = step.rpartition(" ")
    if arrow == "→":
        return f"nodes it points to by {name}"
    return f"nodes that point to it by {name}" if arrow == "←" else f"its neighbours by {step}"
