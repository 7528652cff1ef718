"""A graph whose nodes have features, labels and ids.

    A ∈ ℝⁿˣⁿ symmetric without loops   X ∈ ℝⁿˣᵈ   y ∈ {classes, unlabelled}ⁿ   ids: n distinct values

Edges of several kinds, or with a direction, are relations (`slimg.graph.relations`); A is then their undirected union.

A `Graph` is valid and never changes: its constructor checks everything (`slimg.graph.checks`). What was decided about the
input on the way is in ``notes``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.graph import checks
from slimg.graph.adjacency import Adjacency, Rule, index_type
from slimg.graph.columns import DOUBT, as_column, hint_of_ids, number_of, rows_in, show
from slimg.graph.relations import Relation, distinct_directions, require_name

if TYPE_CHECKING:
    from slimg.graph.from_edges import Unknown

SHOWN = 12
"""Classes, relations and notes that a notebook names."""


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A graph whose nodes have features, labels and ids; frozen.

    Build it with `from_arrays`, `from_edges`, `from_networkx`, `from_pyg` or `from_dgl`.

    Parameters
    ----------
    adjacency : Adjacency
        The edges, as an undirected graph.
    features : array-like or sparse matrix of shape (n, d), default=None
        Finite numbers; the graph holds them as float32, C-contiguous or CSR.
    labels : array-like of shape (n,) or mapping of ids to labels, default=None
        Values of any type. None, NaN and pandas' NA mean "unlabelled"; −1 is a class like any other unless
        ``unlabelled=-1``.
    ids : array-like of shape (n,), default=None
        Distinct hashable values; 0 … n − 1 by default.
    feature_names : sequence of d str, default=None
        By default the columns of ``features`` if it is a table.
    masks : mapping of str to bool array of shape (n,), default=None
        Named sets of nodes, such as a published train / val / test split.
    unlabelled : object, default=None
        A further value of ``labels`` that means "no label".
    notes : tuple of str, default=()
        Sentences that say what was decided about the input.
    relations : tuple of Relation, default=()
        Kinds of edges, and their directions; empty if there is one kind without a direction, which is ``adjacency``.
    node_types : array-like of n str, default=None
        Type of each node, if there are several.
    reading : dict, default=None
        How tables were read by `slimg.read`: columns and their encoding, as plain values.

    Attributes
    ----------
    classes : array of shape (c,)
        Distinct labels, sorted, in their original type.
    codes : int64 array of shape (n,)
        Place of each label in ``classes``; −1 where unlabelled.

    Examples
    --------
    >>> from slimg import Graph
    >>> graph = Graph.from_edges([("ann", "bob"), ("bob", "cy")], labels={"ann": "red", "cy": "blue"})
    >>> graph
    Graph(3 nodes, 2 edges, 2 classes, 2 labelled)
    >>> graph.ids
    array(['ann', 'bob', 'cy'], dtype=object)
    >>> graph.codes
    array([ 1, -1,  0])
    """

    adjacency: Adjacency
    features: np.ndarray | sp.csr_array | None = None
    labels: np.ndarray | None = None
    ids: np.ndarray = None  # type: ignore[assignment]  # filled by __post_init__
    feature_names: tuple[str, ...] | None = None
    masks: dict[str, np.ndarray] = field(default_factory=dict)
    unlabelled: Any = None
    notes: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    node_types: np.ndarray | None = None
    reading: dict[str, Any] | None = None
    classes: np.ndarray = field(init=False)
    codes: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.adjacency, Adjacency):
            raise InputError(f"Graph needs an Adjacency, not {type(self.adjacency).__name__}: use Graph.from_arrays for matrices")
        n = self.adjacency.n
        if n == 0:
            raise InputError("the graph is empty: it needs at least one node")
        ids = checks.as_ids(self.ids, n)
        features = checks.as_features(self.features, ids)
        names = getattr(self.features, "columns", None) if self.feature_names is None else self.feature_names
        self.__dict__.update(ids=ids, features=features, feature_names=checks.as_feature_names(names, features))
        labels = checks.as_labels(self.labels, ids, self.positions)
        classes, codes = checks.encode_labels(labels, n, self.unlabelled)
        self.__dict__.update(labels=labels, classes=classes, codes=codes)
        self.__dict__.update(masks=checks.as_masks(self.masks, n), notes=tuple(dict.fromkeys(self.notes)))
        relations, types = checks.as_relations(self.relations, n), checks.as_node_types(self.node_types, n)
        self.__dict__.update(relations=relations, node_types=types)
        made = [name for block in ((self.reading or {}).get("plan") or {}).get("blocks", ()) for name in block["names"]]
        if made and tuple(made) != self.feature_names:  # the features were exchanged since they were read
            self.__dict__["reading"] = {**(self.reading or {}), "plan": None}

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
        """Build a graph from an adjacency matrix.

        Loops and explicit zeros are dropped, repeated entries are merged, and the two directions of a pair are joined;
        ``notes`` says how many.

        Parameters
        ----------
        adjacency : sparse or dense matrix of shape (n, n), Adjacency, or None
            None makes a graph without edges, of which features alone can be used.
        features : array-like or sparse matrix of shape (n, d), default=None
            Finite numbers.
        labels : array-like of shape (n,) or mapping of ids to labels, default=None
            None, NaN and pandas' NA mean "unlabelled".
        ids : array-like of shape (n,), default=None
            Distinct hashable values; 0 … n − 1 by default.
        feature_names : sequence of d str, default=None
            By default the columns of ``features`` if it is a table.
        masks : mapping of str to bool array of shape (n,), default=None
            Named sets of nodes.
        unlabelled : object, default=None
            A further value of ``labels`` that means "no label".
        duplicates : {"sum", "max"}, default="sum"
            How the weights of repeated entries are merged; in a binary matrix they count once.
        symmetrise : {"max", "sum"}, default="max"
            How the weights of the two directions of a pair are merged.

        Returns
        -------
        Graph

        Raises
        ------
        InputError
            If the parts do not fit together or hold values that cannot be used.

        Examples
        --------
        >>> import numpy as np
        >>> from slimg import Graph
        >>> Graph.from_arrays([[0, 2.5], [2.5, 0]], features=np.eye(2), labels=["a", None])
        Graph(2 nodes, 1 edge (weighted), 2 features, 1 class, 1 labelled)
        """
        if adjacency is None:
            if features is None:
                raise InputError("Graph.from_arrays needs an adjacency matrix, features, or both")
            rows = features.shape[0] if hasattr(features, "shape") else len(as_column(features, "features"))
            adjacency = sp.coo_array((rows, rows), dtype=bool)
        notes: tuple[str, ...] = ()
        if not isinstance(adjacency, Adjacency):
            matrix = _as_sparse(adjacency)
            adjacency, counts = Adjacency.from_scipy(matrix, duplicates=duplicates, symmetrise=symmetrise)
            notes = counts.notes()
        graph = cls(adjacency, features, labels, ids, feature_names, masks or {}, unlabelled, notes)  # type: ignore[arg-type]
        return graph.with_notes(*graph.warnings())

    @classmethod
    def from_edges(
        cls,
        edges: Any,
        nodes: Any = None,
        *,
        source: Any = None,
        target: Any = None,
        weight: Any = None,
        relation: Any = None,
        id: Any = None,
        label: str | None = None,
        labels: Any = None,
        features: Any = None,
        directed: bool | str | Collection[str] | None = None,
        duplicates: Rule = "sum",
        symmetrise: Rule = "max",
        unknown: Unknown = "fail",
        unlabelled: Any = None,
    ) -> Graph:
        """Build a graph from tables of edges and, optionally, tables of nodes.

        Parameters
        ----------
        edges : table, array of shape (m, 2) or (m, 3), list of pairs or triples, or mapping of names to these
            A table is a pandas, arrow or polars frame or a dictionary of columns. The third column of an array and the
            third member of a triple is the weight. A mapping ``{"follows": table, "pays": other}`` has one per relation.
        nodes : table with one row per node, vector of ids, or mapping of names to tables, default=None
            By default the nodes are the ids that occur in ``edges``, sorted. A mapping ``{"users": table, "items": other}``
            has one for each type of nodes; their ids must differ, and each has columns of its own.
        source, target : column names, default=None
            Columns of ``edges``; by default those with a usual name such as ``source`` and ``target``, else the first two.
        weight : column name, default=None
            Column of ``edges``; by default all edges of a table weigh 1, and so do those of a table without the column.
        relation : column name, default=None
            Column of ``edges`` whose values are names of relations, at most 200.
        id : column name, default=None
            Column of ``nodes``; by default ``id`` or ``node``, else the index if it is named or not of numbers, else the
            first column.
        label : str, default=None
            Column of ``nodes`` that holds the labels.
        labels : array-like of shape (n,), or mapping or indexed series of ids to labels, default=None
            Labels as values, instead of ``label``. (Values are accepted as ``label`` too, as in earlier versions.)
        features : list of column names, matrix of shape (n, d), or frame indexed by id, default=None
            By default all other columns of ``nodes`` that hold numbers; ``[]`` for none. Without ``nodes``, row i of a
            matrix belongs to id i.
        directed : bool, name or list of names of relations, default=None
            Which relations keep their direction: True for all, or some by name (the relation of a single table is called
            ``edges``). Of the others, (u, v) and (v, u) are joined by ``symmetrise``; with False they are repetitions of one
            edge, merged by ``duplicates``.
        duplicates : {"sum", "max"}, default="sum"
            How the weights of a repeated edge are merged; without weights it counts once.
        symmetrise : {"max", "sum"}, default="max"
            How the weights of the two directions of a pair are merged.
        unknown : {"fail", "keep", "drop"}, default="fail"
            What to do with edges to ids that ``nodes`` lacks: raise an error, keep the ids as nodes with zero features and
            no label, or drop the edges.
        unlabelled : object, default=None
            A further value of the labels that means "no label".

        Returns
        -------
        Graph
            Its ``notes`` say which columns were chosen and what was done to the edges.

        Raises
        ------
        InputError
            If a column does not exist, ids are missing or repeated, or edges lead to unknown ids.

        Examples
        --------
        >>> import pandas as pd
        >>> from slimg import Graph
        >>> follows = pd.DataFrame({"source": ["ann", "bob"], "target": ["bob", "cy"]})
        >>> users = pd.DataFrame({"id": ["ann", "bob", "cy"], "age": [31, 45, 28], "team": ["red", None, "blue"]})
        >>> graph = Graph.from_edges(follows, users, label="team")
        >>> graph
        Graph(3 nodes, 2 edges, 1 feature, 2 classes, 2 labelled)
        >>> graph.feature_names
        ('age',)
        >>> pays = pd.DataFrame({"source": ["cy"], "target": ["ann"], "weight": [9.5]})
        >>> Graph.from_edges({"follows": follows, "pays": pays}, users, label="team", weight="weight", directed=["pays"])
        Graph(3 nodes, 3 edges (weighted), 2 relations (1 directed), 1 feature, 2 classes, 2 labelled)
        """
        from slimg.graph.from_edges import NodeTable, graph_of, read_edges

        if label is not None and labels is not None:
            raise InputError("label and labels were both given: name a column with label, or give values with labels")
        wanted = labels if label is None else label
        tables = read_edges(edges, source, target, weight, relation)
        if nodes is None:
            node_table = NodeTable.for_edges(tables, wanted, features)
        else:
            node_table = NodeTable.read(nodes, id, wanted, features)
        return graph_of(tables, node_table, directed=directed, duplicates=duplicates, symmetrise=symmetrise,
                        unknown=unknown, unlabelled=unlabelled)  # fmt: skip

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        *,
        label: str | None = None,
        features: Any = None,
        weight: str | None = "weight",
        relation: str | None = None,
        directed: bool | str | Collection[str] | None = None,
        duplicates: Rule = "sum",
        symmetrise: Rule = "max",
        unlabelled: Any = None,
    ) -> Graph:
        """Build a graph from a networkx graph of any kind; node ids and their order are networkx's.

        Parameters
        ----------
        graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
            The graph to read.
        label : str, default=None
            Node attribute that holds the label; nodes without it are unlabelled.
        features : str, list of str, or matrix of shape (n, d), default=None
            Node attribute that holds a vector, node attributes that hold numbers, or a matrix in the order of
            ``graph.nodes``.
        weight : str, default="weight"
            Edge attribute; edges without it weigh 1. None for a binary graph.
        relation : str, default=None
            Edge attribute that names the relation of each edge, or ``"key"`` for the keys of a multigraph.
        directed : bool, name or list of names of relations, default=None
            Which relations of a directed graph keep their direction, as in `from_edges`.
        duplicates, symmetrise : {"sum", "max"}
            Rules for the weights of parallel edges, and of both directions of a directed graph.
        unlabelled : object, default=None
            A further value of the labels that means "no label".

        Returns
        -------
        Graph

        Examples
        --------
        >>> import networkx as nx
        >>> from slimg import Graph
        >>> Graph.from_networkx(nx.karate_club_graph(), label="club", weight=None)
        Graph(34 nodes, 78 edges, 2 classes, 34 labelled)
        """
        from slimg.graph import convert

        rules = {"duplicates": duplicates, "symmetrise": symmetrise}
        return convert.from_networkx(graph, label, features, weight, relation, directed, unlabelled, **rules)

    @classmethod
    def from_pyg(
        cls,
        data: Any,
        *,
        ids: Any = None,
        directed: bool | str | Collection[str] | None = None,
        keep_labels: str = "train",
        label_type: str | None = None,
        duplicates: Rule = "sum",
        symmetrise: Rule = "max",
        unlabelled: Any = None,
    ) -> Graph:
        """Build a graph from a PyTorch Geometric data object.

        It reads ``x``, ``y``, ``edge_index``, ``edge_weight``, ``edge_type`` and every ``*_mask``. A mask with one column
        per split becomes one mask per column: ``train_0``, ``train_1``, … Each edge type is a relation. Of several node
        types the features stand side by side, after one column for each type.

        Parameters
        ----------
        data : torch_geometric.data.Data or HeteroData
            The graph to read.
        ids : array-like of shape (n,), default=None
            0 … n − 1 by default; ``type:0``, ``type:1``, … if there are several node types.
        directed : bool, name or list of names of relations, default=None
            Which relations keep their direction, as in `from_edges`.
        keep_labels : str, default="train"
            Mask of the nodes that keep their labels, if the data has it: a fit learns from every label of the graph, and
            must not see those to be predicted. ``"all"`` keeps all; of several splits, name one, such as ``"train_0"``.
        label_type : str, default=None
            Node type whose ``y`` is read, if several have one.
        duplicates, symmetrise : {"sum", "max"}
            As in `from_edges`.
        unlabelled : object, default=None
            Value of ``y`` that means "no label", such as −1: PyTorch Geometric has none of its own.

        Returns
        -------
        Graph
        """
        from slimg.graph import convert

        rules = {"duplicates": duplicates, "symmetrise": symmetrise}
        return convert.from_pyg(data, ids, directed, keep_labels, label_type, unlabelled, **rules)

    @classmethod
    def from_dgl(
        cls,
        graph: Any,
        *,
        features: str | None = "feat",
        label: str | None = "label",
        weight: str | None = None,
        ids: Any = None,
        keep_labels: str = "train",
        duplicates: Rule = "sum",
        symmetrise: Rule = "max",
        unlabelled: Any = None,
    ) -> Graph:
        """Build a graph from a DGL graph, with every ``*_mask`` of its nodes.

        Parameters
        ----------
        graph : dgl.DGLGraph
            Homogeneous.
        features, label : str, default="feat", "label"
            Names in ``graph.ndata``; the default names may be absent. None reads none.
        weight : str, default=None
            Name in ``graph.edata``; None for a binary graph.
        ids : array-like of shape (n,), default=None
            0 … n − 1 by default.
        keep_labels : str, default="train"
            As in `from_pyg`.
        duplicates, symmetrise : {"sum", "max"}
            As in `from_edges`.
        unlabelled : object, default=None
            Value of the labels that means "no label", such as −1.

        Returns
        -------
        Graph
        """
        from slimg.graph import convert

        rules = {"duplicates": duplicates, "symmetrise": symmetrise}
        return convert.from_dgl(graph, features, label, weight, ids, keep_labels, unlabelled, **rules)

    def to_networkx(self, *, label: str | None = "label", features: str | None = "features", weight: str = "weight") -> Any:
        """Convert to networkx; `from_networkx` with the same names reads the result back.

        Parameters
        ----------
        label : str, default="label"
            Attribute of labelled nodes; None leaves labels out.
        features : str, default="features"
            Attribute of all nodes, a vector; None leaves features out.
        weight : str, default="weight"
            Attribute of the edges of a weighted graph.

        Returns
        -------
        networkx.Graph or networkx.MultiDiGraph
            With this graph's ids in its order. A graph with relations becomes a MultiDiGraph, in which the key of an edge is
            its relation, and an undirected edge is two; nodes have their ``type``, if there are several.

        Raises
        ------
        MissingExtra
            If networkx is not installed.

        Examples
        --------
        >>> from slimg import Graph
        >>> Graph.from_edges([("a", "b"), ("b", "c")]).to_networkx().degree["b"]
        2
        """
        from slimg.graph import convert

        return convert.to_networkx(self, label, features, weight)

    def to_pyg(self) -> Any:
        """Convert to PyTorch Geometric.

        Returns
        -------
        torch_geometric.data.Data
            With ``x``, ``edge_index`` (both directions), ``edge_weight`` of a weighted graph, ``y`` (places in
            ``class_names``, −1 where unlabelled), ``node_ids``, and every mask as ``NAME_mask``. A graph with relations has
            ``edge_type`` (places in ``edge_type_names``) and the edges of directed relations in their direction alone; one
            with types of nodes has ``node_type`` (places in ``node_type_names``).

        Raises
        ------
        MissingExtra
            If torch or torch_geometric is not installed.
        """
        from slimg.graph import convert

        return convert.to_pyg(self)

    @property
    def n(self) -> int:
        """Number of nodes."""
        return self.adjacency.n

    @property
    def edges(self) -> int:
        """Number of undirected edges; pairs of nodes that several relations join count once."""
        return self.adjacency.edges

    @property
    def d(self) -> int:
        """Number of feature columns, 0 without features."""
        return 0 if self.features is None else self.features.shape[1]

    @property
    def labelled(self) -> np.ndarray:
        """Rows of the labelled nodes, ascending."""
        return np.flatnonzero(self.codes >= 0)

    def relation(self, name: str) -> Relation:
        """Find a relation by its name.

        Parameters
        ----------
        name : str
            Such as ``"follows"``.

        Returns
        -------
        Relation
            The relation of this name.

        Raises
        ------
        InputError
            If there is none of this name; the message names similar ones.

        Examples
        --------
        >>> from slimg import Graph
        >>> graph = Graph.from_edges({"follows": [(0, 1), (1, 2)], "pays": [(2, 0)]}, directed=True)
        >>> graph.relation("pays")
        Relation('pays', 1 edge, directed)
        """
        name = require_name(name, [relation.name for relation in self.relations], "")
        return next(relation for relation in self.relations if relation.name == name)

    def directions(self) -> dict[str, Adjacency]:
        """List the matrices of all relations, each once.

        Returns
        -------
        dict of str to Adjacency
            ``"follows →"`` lists what a node points to, ``"follows ←"`` what points to it; an undirected relation is under
            its name. Relations that repeat another, in whole or but for one edge in a thousand, are left out
            (`Relation.same_as`), as is the second direction of a symmetric one. Empty without relations.

        Examples
        --------
        >>> from slimg import Graph
        >>> graph = Graph.from_edges({"above": [(0, 1), (1, 2)], "below": [(1, 0), (2, 1)]}, directed=True)
        >>> list(graph.directions())
        ['above →', 'above ←']
        >>> graph.relation("below").same_as
        'above ←'
        """
        return distinct_directions(self.relations)

    def direction(self, key: str, way: Literal["out", "in"] | None = None) -> Adjacency:
        """Find the matrix of a relation in one direction, also one that `directions` leaves out because another is equal.

        Parameters
        ----------
        key : str
            ``"follows →"`` or ``"follows ←"``, or the name of a relation.
        way : {"out", "in"}, default=None
            The direction, if ``key`` is a name; not needed of an undirected relation.

        Returns
        -------
        Adjacency
            Row i lists what node i points to, or what points to it.

        Raises
        ------
        InputError
            If there is no such relation, or a directed relation has no direction given.

        Examples
        --------
        >>> from slimg import Graph
        >>> graph = Graph.from_edges({"pays": [("ann", "bob")]}, directed=True)
        >>> graph.direction("pays ←") is graph.direction("pays", "in")
        True
        """
        for relation in self.relations:
            if way is None and key in relation.directions:
                return relation.directions[key]
        found = self.relation(key)
        if way not in ("out", "in"):
            raise InputError(f"relation {key!r} is directed: name {' or '.join(map(repr, found.directions))}")
        return found.out if way == "out" else found.into

    def edge_homophily(self) -> float:
        """Compute how often neighbours share a class.

            h = #{ {u, v} ∈ E : y_u = y_v } / #{ {u, v} ∈ E : both labelled }

        Returns
        -------
        float
            Fraction of the edges between labelled nodes; NaN without such edges.

        Examples
        --------
        >>> from slimg import Graph
        >>> Graph.from_edges([(0, 1), (1, 2)], labels=["a", "a", "b"]).edge_homophily()
        0.5
        """
        own = np.repeat(self.codes, np.diff(self.adjacency.indptr))
        other = self.codes[self.adjacency.indices]
        labelled = (own >= 0) & (other >= 0)
        edges = np.count_nonzero(labelled)
        return float(np.count_nonzero(labelled & (own == other)) / edges) if edges else float("nan")

    def positions(self, ids: Any, what: str = "ids") -> np.ndarray:
        """Find the rows of nodes by their ids.

        Parameters
        ----------
        ids : array-like of shape (k,)
            Ids of nodes.
        what : str, default="ids"
            Name of the argument in error messages.

        Returns
        -------
        int64 array of shape (k,)
            Row numbers.

        Raises
        ------
        InputError
            If no node has one of the ids.

        Examples
        --------
        >>> from slimg import Graph
        >>> Graph.from_edges([("ann", "bob"), ("bob", "cy")]).positions(["cy", "ann"])
        array([2, 0])
        """
        column = as_column(ids, what)
        (rows,) = rows_in(self._index, what, column)
        unknown = column[rows < 0]
        if len(unknown):
            raise InputError(
                f"{what} has {number_of(len(unknown), 'id')} that no node has: {show(unknown)}"
                f" ({hint_of_ids(unknown[0], self.ids.tolist())})"
            )
        return rows.astype(np.int64)

    def with_labels(self, labels: Any, *, unlabelled: Any = None) -> Graph:
        """Replace the labels.

        Parameters
        ----------
        labels : array-like of shape (n,), mapping of ids to labels, or None
            The new labels; None for none.
        unlabelled : object, default=None
            A further value of ``labels`` that means "no label".

        Returns
        -------
        Graph
            The same graph with these labels.

        Examples
        --------
        >>> from slimg import Graph
        >>> Graph.from_edges([(0, 1), (1, 2)]).with_labels({0: "a", 2: "b"}).labelled
        array([0, 2])
        """
        return replace(self, labels=labels, unlabelled=unlabelled)

    def mask_labels(self, keep: Any) -> Graph:
        """Remove all labels except those of some nodes, so that held-out labels cannot be read from the graph.

        Parameters
        ----------
        keep : int or bool array-like
            Row numbers, or a mask of n values, of the nodes that keep their labels.

        Returns
        -------
        Graph
            The same graph with fewer labels.

        Examples
        --------
        >>> from slimg import Graph
        >>> graph = Graph.from_edges([(0, 1), (1, 2)], labels=["a", "b", "a"])
        >>> graph.mask_labels([0, 1]).labels
        array(['a', 'b', None], dtype=object)
        """
        kept = np.full(self.n, None, object)
        rows = checks.as_rows(keep, self.n, "rows")
        rows = rows[self.codes[rows] >= 0]
        kept[rows] = self.classes[self.codes[rows]]
        return replace(self, labels=None if len(rows) == 0 else kept, unlabelled=None)

    def subgraph(self, rows: Any) -> Graph:
        """Select some nodes and the edges among them.

        Parameters
        ----------
        rows : int or bool array-like
            Row numbers, or a mask of n values.

        Returns
        -------
        Graph
            Its nodes are in ascending order of ``rows``.

        Examples
        --------
        >>> from slimg import Graph
        >>> Graph.from_edges([("a", "b"), ("b", "c")]).subgraph([2, 1]).ids
        array(['b', 'c'], dtype=object)
        """
        rows = np.sort(checks.as_rows(rows, self.n, "rows"))
        parts: dict[int, Adjacency] = {}  # matrices that are stored once stay so

        def part(matrix: Adjacency) -> Adjacency:
            return parts.get(id(matrix)) or parts.setdefault(id(matrix), _submatrix(matrix, rows))

        return replace(
            self,
            adjacency=part(self.adjacency),
            relations=tuple(replace(each, out=part(each.out), into=part(each.into)) for each in self.relations),
            node_types=None if self.node_types is None else self.node_types[rows],
            features=None if self.features is None else self.features[rows],
            labels=None if self.labels is None else self.labels[rows],
            ids=self.ids[rows],
            masks={name: mask[rows] for name, mask in self.masks.items()},
        )

    def with_notes(self, *notes: str) -> Graph:
        """Add notes.

        Parameters
        ----------
        *notes : str
            Sentences; those that the graph has already are not repeated.

        Returns
        -------
        Graph
            The same graph with more notes.
        """
        return Graph._trusted(**{**self.__dict__, "notes": tuple(dict.fromkeys((*self.notes, *notes)))}) if notes else self

    def with_reading(self, reading: dict[str, Any] | None) -> Graph:
        """Say how tables were read.

        Parameters
        ----------
        reading : dict or None
            As in the attribute.

        Returns
        -------
        Graph
            The same graph with it.
        """
        return Graph._trusted(**{**self.__dict__, "reading": reading})

    def warnings(self) -> tuple[str, ...]:
        """List what the graph lacks.

        Returns
        -------
        tuple of str
            Sentences about absent edges, isolated nodes, absent features, and labels that look absent.

        Examples
        --------
        >>> from slimg import Graph
        >>> Graph.from_edges([(0, 1)]).warnings()
        ('The graph has no features: structure alone can be used.',)
        """
        found = []
        isolated = np.flatnonzero(np.diff(self.adjacency.indptr) == 0)
        if self.edges == 0:
            found.append("The graph has no edges: features alone can be used.")
        elif len(isolated):
            which = show(self.ids[isolated])
            found.append(f"{number_of(len(isolated), 'node has', 'nodes have')} no edge (id{'s'[: len(isolated) - 1]} {which}).")
        if self.features is None:
            found.append("The graph has no features: structure alone can be used.")
        if self.classes.dtype.kind == "i" and len(self.classes) > 2 and self.classes[0] == -1:
            found.append("Check the labels: -1 is taken as a class, not as no label (see unlabelled).")
        return tuple(found)

    def _repr_html_(self) -> str:
        from slimg._html import as_html

        counts = np.bincount(self.codes[self.labelled], minlength=len(self.classes)).tolist()
        lines = [repr(self)]
        if self.relations:
            named = ", ".join(f"{each.name} ({number_of(each.edges, 'edge')})" for each in self.relations[:SHOWN])
            lines.append(f"Relations: {named}{' …' if len(self.relations) > SHOWN else ''}.")
        classes = dict(zip(map(str, self.classes.tolist()[:SHOWN]), map(float, counts), strict=False))
        notes = sorted(self.notes, key=lambda note: not note.startswith(DOUBT))[:SHOWN]
        return as_html([*lines, *(["Labelled nodes of each class:"] if classes else [])], classes, notes)

    def __repr__(self) -> str:
        parts = [number_of(self.n, "node"), number_of(self.edges, "edge")]
        if self.adjacency.weights is not None:
            parts[1] += " (weighted)"
        if self.relations:
            count = sum(relation.directed for relation in self.relations)
            parts.append(number_of(len(self.relations), "relation") + (f" ({count} directed)" if count else ""))
        if self.node_types is not None:
            parts.append(number_of(len(np.unique(self.node_types)), "node type"))
        if self.features is not None:
            parts.append(number_of(self.d, "feature") + (" (sparse)" if sp.issparse(self.features) else ""))
        if self.labels is not None:
            parts += [number_of(len(self.classes), "class", "classes"), f"{len(self.labelled):,} labelled"]
        doubts = sum(note.startswith(DOUBT) for note in self.notes)
        parts += [f"{number_of(doubts, 'note')} to check"] if doubts else []
        return f"Graph({', '.join(parts)})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        return self  # nothing of it ever changes

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_index"}

    @cached_property
    def _index(self) -> Any:
        import pandas as pd

        return pd.Index(self.ids, tupleize_cols=False)

    @classmethod
    def _trusted(cls, **fields: Any) -> Graph:
        """A graph of all its fields and attributes, which were checked before."""
        graph = object.__new__(cls)
        graph.__dict__.update(fields)
        return graph


def _submatrix(matrix: Adjacency, rows: np.ndarray) -> Adjacency:
    part = matrix.to_scipy()[rows][:, rows].tocsr()
    part.sort_indices()
    indices = part.indices.astype(index_type(len(rows)), copy=False)
    return Adjacency(part.indptr.astype(np.int64), indices, None if matrix.weights is None else part.data)


def _as_sparse(matrix: Any) -> Any:
    """A scipy sparse matrix from a dense one; refuses what is not a matrix of numbers."""
    if sp.issparse(matrix):
        return matrix
    if type(matrix).__module__.startswith(("networkx", "torch_geometric", "dgl")):
        raise InputError(
            f"from_arrays takes a matrix, not {type(matrix).__name__}: use Graph.from_networkx, from_pyg or from_dgl"
        )
    try:
        array = np.asarray(matrix)
    except ValueError:  # rows of different lengths
        array = np.empty(0, object)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputError(
            f"the adjacency must be a square matrix of numbers, not {array.dtype} of shape {array.shape}:"
            " use Graph.from_edges for a list of edges"
        )
    return sp.coo_array(array)
