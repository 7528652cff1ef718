"""A graph whose nodes have features, labels and ids.

    A ∈ ℝⁿˣⁿ symmetric without loops   X ∈ ℝⁿˣᵈ   y ∈ {classes, unlabelled}ⁿ   ids: n distinct values

Any `Graph` that exists is valid: its constructor checks everything (`slimg.graph.checks`) and never changes it again.
What was decided about the input on the way is in ``notes``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.graph import checks
from slimg.graph.adjacency import Adjacency, Rule, index_type
from slimg.graph.columns import as_column, number_of, show


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """Frozen graph; build it with `from_arrays`, `from_edges`, `from_networkx`, `from_pyg` or `from_dgl`.

    Parameters
    ----------
    adjacency : Adjacency
    features : float32 array (n, d), C-contiguous; or CSR; or None
    labels : n values of any type in graph order, or a mapping id → label, or None.
        None, NaN and pandas' NA mean "unlabelled"; −1 is a class like any other unless ``unlabelled=-1``.
    ids : n distinct hashable values; 0 … n − 1 by default
    feature_names : d names, optional
    masks : named boolean vectors (n,), such as a published train / val / test split
    unlabelled : a further value of ``labels`` that means "no label"
    notes : sentences saying what was decided about the input

    Attributes
    ----------
    classes : sorted distinct labels, in their original type, shape (c,)
    codes : int64, shape (n,): place of each label in ``classes``, −1 where unlabelled
    """

    adjacency: Adjacency
    features: np.ndarray | sp.csr_array | None = None
    labels: np.ndarray | None = None
    ids: np.ndarray = None  # type: ignore[assignment]  # filled by __post_init__
    feature_names: tuple[str, ...] | None = None
    masks: dict[str, np.ndarray] = field(default_factory=dict)
    unlabelled: Any = None
    notes: tuple[str, ...] = ()
    classes: np.ndarray = field(init=False)
    codes: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.adjacency, Adjacency):
            raise InputError(
                f"Graph needs an Adjacency, not {type(self.adjacency).__name__}: use Graph.from_arrays for matrices"
            )
        n = self.adjacency.n
        if n == 0:
            raise InputError("the graph is empty: it needs at least one node")
        ids = checks.as_ids(self.ids, n)
        features = checks.as_features(self.features, ids)
        names = getattr(self.features, "columns", None) if self.feature_names is None else self.feature_names
        self._set(ids=ids, features=features, feature_names=checks.as_feature_names(names, features))
        labels = checks.as_labels(self.labels, ids, self.positions)
        classes, codes = checks.encode_labels(labels, n, self.unlabelled)
        self._set(labels=labels, classes=classes, codes=codes, masks=checks.as_masks(self.masks, n))
        self._set(notes=tuple(dict.fromkeys(self.notes)))

    @classmethod
    def from_arrays(
        cls,
        adjacency: Any,
        features: Any = None,
        labels: Any = None,
        ids: Any = None,
        *,
        feature_names: Any = None,
        masks: Mapping[str, Any] | None = None,
        unlabelled: Any = None,
        duplicates: Rule = "sum",
        symmetrise: Rule = "max",
    ) -> Graph:
        """Graph from an n × n matrix (scipy sparse or dense), an `Adjacency`, or None (no edges: features alone).

        Loops and explicit zeros are dropped; repeated entries are merged (``duplicates``: weights added, or the
        largest kept; binary graphs count them once); the two directions of a pair are joined (``symmetrise``: larger
        weight, or their sum). What this did is told in ``notes``.
        """
        if adjacency is None:
            if features is None:
                raise InputError("Graph.from_arrays needs an adjacency matrix, features, or both")
            adjacency = sp.coo_array((np.shape(features)[0],) * 2, dtype=bool)
        notes: tuple[str, ...] = ()
        if not isinstance(adjacency, Adjacency):
            adjacency, counts = Adjacency.from_scipy(
                _as_sparse(adjacency), duplicates=duplicates, symmetrise=symmetrise
            )
            notes = counts.notes()
        graph = cls(adjacency, features, labels, ids, feature_names, dict(masks or {}), unlabelled, notes)
        return graph.with_notes(*graph.warnings())

    @classmethod
    def from_edges(cls, edges: Any, nodes: Any = None, **options: Any) -> Graph:
        """Graph from a table of edges and, optionally, a table of nodes; see `slimg.graph.from_edges`."""
        from slimg.graph.from_edges import from_edges

        return from_edges(edges, nodes, **options)

    @classmethod
    def from_networkx(cls, graph: Any, **options: Any) -> Graph:
        """Graph from a networkx graph; see `slimg.graph.convert.from_networkx`."""
        from slimg.graph.convert import from_networkx

        return from_networkx(graph, **options)

    @classmethod
    def from_pyg(cls, data: Any, **options: Any) -> Graph:
        """Graph from a `torch_geometric.data.Data`; see `slimg.graph.convert.from_pyg`."""
        from slimg.graph.convert import from_pyg

        return from_pyg(data, **options)

    @classmethod
    def from_dgl(cls, graph: Any, **options: Any) -> Graph:
        """Graph from a homogeneous `dgl.DGLGraph`; see `slimg.graph.convert.from_dgl`."""
        from slimg.graph.convert import from_dgl

        return from_dgl(graph, **options)

    def to_networkx(self, **options: Any) -> Any:
        """As an undirected `networkx.Graph`; see `slimg.graph.convert.to_networkx`."""
        from slimg.graph.convert import to_networkx

        return to_networkx(self, **options)

    def to_pyg(self) -> Any:
        """As a `torch_geometric.data.Data`; see `slimg.graph.convert.to_pyg`."""
        from slimg.graph.convert import to_pyg

        return to_pyg(self)

    @property
    def n(self) -> int:
        """Number of nodes."""
        return self.adjacency.n

    @property
    def edges(self) -> int:
        """Number of undirected edges."""
        return self.adjacency.edges

    @property
    def d(self) -> int:
        """Number of feature columns, 0 without features."""
        return 0 if self.features is None else self.features.shape[1]

    @property
    def labelled(self) -> np.ndarray:
        """Rows of the labelled nodes, ascending."""
        return np.flatnonzero(self.codes >= 0)

    def positions(self, ids: Any, what: str = "ids") -> np.ndarray:
        """Row numbers (int64) of the nodes with these ids."""
        import pandas as pd

        column = as_column(ids, what)
        try:
            rows = self._index.get_indexer(pd.Index(column, tupleize_cols=False))
        except TypeError:
            raise InputError(f"{what} must be hashable values (text, numbers, tuples), one per node") from None
        unknown = column[rows < 0]
        if len(unknown):
            raise InputError(
                f"{what} has {number_of(len(unknown), 'id')} that no node has: {show(unknown)}"
                f" (ids of this graph look like {show(self.ids[:2])})"
            )
        return rows.astype(np.int64)

    def with_labels(self, labels: Any, *, unlabelled: Any = None) -> Graph:
        """The same graph with other labels."""
        return replace(self, labels=labels, unlabelled=unlabelled)

    def mask_labels(self, rows: Any) -> Graph:
        """The same graph in which only these rows (or this mask) are labelled; the rest cannot be read from it."""
        kept = np.full(self.n, None, object)
        rows = checks.as_rows(rows, self.n, "rows")
        rows = rows[self.codes[rows] >= 0]
        kept[rows] = self.classes[self.codes[rows]]
        return replace(self, labels=None if len(rows) == 0 else kept, unlabelled=None)

    def subgraph(self, rows: Any) -> Graph:
        """The graph on these rows (or this mask), in ascending order, with the edges among them."""
        rows = np.sort(checks.as_rows(rows, self.n, "rows"))
        part = self.adjacency.to_scipy()[rows][:, rows].tocsr()
        part.sort_indices()
        weights = None if self.adjacency.weights is None else part.data
        adjacency = Adjacency(
            part.indptr.astype(np.int64), part.indices.astype(index_type(len(rows)), copy=False), weights
        )
        return Graph(
            adjacency,
            None if self.features is None else self.features[rows],
            None if self.labels is None else self.labels[rows],
            self.ids[rows],
            self.feature_names,
            {name: mask[rows] for name, mask in self.masks.items()},
            self.unlabelled,
            self.notes,
        )

    def with_notes(self, *sentences: str) -> Graph:
        """The same graph with further notes."""
        if not sentences:
            return self
        noted = object.__new__(Graph)
        noted.__dict__.update(self.__dict__)
        noted._set(notes=tuple(dict.fromkeys((*self.notes, *sentences))))
        return noted

    def warnings(self) -> tuple[str, ...]:
        """Sentences about what the graph lacks."""
        said = []
        isolated = np.flatnonzero(np.diff(self.adjacency.indptr) == 0)
        if self.edges == 0:
            said.append("The graph has no edges: features alone can be used.")
        elif len(isolated):
            which = show(self.ids[isolated])
            said.append(f"{number_of(len(isolated), 'node has', 'nodes have')} no edge (ids {which}).")
        if self.features is None:
            said.append("The graph has no features: structure alone can be used.")
        return tuple(said)

    def __repr__(self) -> str:
        parts = [number_of(self.n, "node"), number_of(self.edges, "edge")]
        if self.adjacency.weights is not None:
            parts[1] += " (weighted)"
        if self.features is not None:
            sparse = " (sparse)" if sp.issparse(self.features) else ""
            parts.append(number_of(self.d, "feature") + sparse)
        if self.labels is not None:
            parts += [number_of(len(self.classes), "class", "classes"), f"{len(self.labelled):,} labelled"]
        return f"Graph({', '.join(parts)})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        """Itself: nothing of it ever changes."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_index"}

    @cached_property
    def _index(self) -> Any:
        import pandas as pd

        return pd.Index(self.ids, tupleize_cols=False)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


def _as_sparse(matrix: Any) -> Any:
    """A scipy sparse matrix from a dense one; refuses what is not a matrix of numbers."""
    if sp.issparse(matrix):
        return matrix
    if type(matrix).__module__.startswith(("networkx", "torch_geometric", "dgl")):
        raise InputError(
            f"from_arrays takes a matrix, not {type(matrix).__name__}: use Graph.from_networkx, from_pyg or from_dgl"
        )
    array = np.asarray(matrix)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputError(
            f"the adjacency must be a square matrix of numbers, not {array.dtype} of shape {array.shape}:"
            " use Graph.from_edges for a list of edges"
        )
    return sp.coo_array(array)
