"""A graph from a table of edges and a table of nodes, between ids of any type.

    nodes of the graph = nodes of the table, in its order       (those without edges are kept)
                       = else, the ids that occur in the edges, sorted

Tables are pandas, arrow or polars frames, dictionaries of columns, arrays or lists. Columns that are not named are chosen by
`slimg.graph.columns`, and ``notes`` says which. `graph_of` joins the two tables, however they were read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError, choices
from slimg.graph.adjacency import Adjacency
from slimg.graph.checks import check_ids, check_present
from slimg.graph.columns import (
    IDS,
    as_column,
    codes_of,
    edge_columns,
    find_column,
    from_torch,
    id_column,
    is_text,
    number_of,
    require_column,
    rows_in,
    show,
    stacked,
)
from slimg.graph.graph import Graph

if TYPE_CHECKING:
    import pandas as pd

Unknown = Literal["fail", "keep", "drop"]
UNKNOWN_RULES = ("fail", "keep", "drop")


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Ids of the ends of m edges, and their weights."""

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def read(cls, edges: Any, source: Any = None, target: Any = None, weight: Any = None) -> EdgeTable:
        """Choose the columns of a table, or take an m × 2 (or m × 3, with weights) array or list of pairs."""
        has_names = is_table(edges)
        frame = as_frame(edges) if has_names else _frame_of_pairs(edges)
        if len(frame.columns) < 2:
            raise InputError(f"edges need two columns, source and target, not {show(frame.columns)}")
        if not has_names and weight is None and len(frame.columns) > 2:
            weight = frame.columns[2]
        first, second, _, _ = edge_columns(frame, source, target, weight, None)
        notes = []
        if has_names and (source is None or target is None):
            notes.append(f"Edges are read from columns {first!r} and {second!r}.")
        unused = [name for name in frame.columns if name not in (first, second, weight)]
        if unused:
            notes.append(f"Columns of the edges that are not used: {show(unused)}.")
        weights = None if weight is None else as_column(frame[weight], "weights")
        ends = [as_id_column(frame[name], f"edges' {name!r}") for name in (first, second)]
        return cls(ends[0], ends[1], weights, tuple(notes))

    @property
    def ends(self) -> np.ndarray:
        """Ids of both ends, shape (2 m,)."""
        return stacked(self.source, self.target)

    def select(self, rows: np.ndarray) -> EdgeTable:
        """Keep the edges of a mask."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, source=self.source[rows], target=self.target[rows], weight=weight)


@dataclass(frozen=True, eq=False)
class NodeTable:
    """Ids of n nodes, and their labels and features in the same order."""

    ids: np.ndarray
    labels: Any = None
    features: Any = None
    feature_names: Sequence[str] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def read(cls, nodes: Any, id: Any = None, label: Any = None, features: Any = None) -> NodeTable:
        """Read a table with a column of ids, or a vector of ids; ``label`` and ``features`` name columns or are values."""
        if not is_table(nodes):
            ids = as_id_column(nodes, "nodes")
            return cls(ids, *_aligned(ids, label, features))
        frame = as_frame(nodes)
        notes, used = [], []
        if id is None and _is_indexed(frame):
            ids = as_id_column(frame.index, "nodes' index")
            notes.append("Node ids are read from the index.")
        else:
            used = [id_column(frame, id, None)]
            ids = as_id_column(frame[used[0]], f"nodes' {used[0]!r}")
            if id is None:
                notes.append(f"Node ids are read from column {used[0]!r}.")
        if isinstance(label, str):
            used.append(require_column(frame, label, "label"))
            label = as_column(frame[label], f"labels (column {label!r})")
        names = None
        if features is None or _is_names(features):
            features, names, more = _feature_columns(frame, used, features)
            notes += more
        labels, matrix = _aligned(ids, label, features)
        names = names or (None if matrix is None else getattr(features, "columns", None))
        return cls(ids, labels, matrix, None if names is None else tuple(map(str, names)), tuple(notes))

    @classmethod
    def for_edges(cls, edges: EdgeTable, label: Any, features: Any) -> NodeTable:
        """Make the nodes of edges that come without a table of nodes: from indexed features, numbered rows, or the ends."""
        if has_ids(features):
            return cls.read(features.index, None, label, features)
        rows, ends = _positional_rows(label, features), edges.ends
        if rows is None:
            return cls.read(codes_of(ends, "ids of the edges")[0], None, label)
        if ends.dtype.kind not in "iu" and len(ends):
            raise InputError(
                f"rows of features or labels cannot be matched to ids like {show(ends[:2])}: pass nodes=, the ids in the"
                " order of the rows"
            )
        outside = ends[(ends < 0) | (ends >= rows)] if len(ends) else ends
        if len(outside):
            raise InputError(
                f"edges have node {show(outside[:1])}, but features or labels have {rows:,} rows, numbered 0 to {rows - 1}:"
                " give one row per node, or pass nodes= with the ids of the rows"
            )
        return cls.read(np.arange(rows), None, label, features)

    def extend(self, ids: np.ndarray) -> NodeTable:
        """Add nodes with zero features and no labels."""
        features, labels, more = self.features, self.labels, len(ids)
        if sp.issparse(features):
            features = sp.vstack([features, sp.csr_array((more, features.shape[1]))], format="csr")
        elif features is not None:
            array = np.asarray(features)
            features = np.vstack([array, np.zeros((more, array.shape[1]), array.dtype)])
        if labels is not None and not isinstance(labels, dict):
            labels = stacked(as_column(labels, "labels"), np.full(more, None, object))
        return replace(self, ids=stacked(self.ids, ids), labels=labels, features=features)


def graph_of(edges: EdgeTable, nodes: NodeTable, unknown: Unknown = "fail", unlabelled: Any = None, **rules: Any) -> Graph:
    """Join edges and nodes by their ids; the arguments are those of `Graph.from_edges`.

    Returns
    -------
    Graph
        With the notes of both tables, and notes on what was done to the edges.
    """
    if unknown not in UNKNOWN_RULES:
        raise choices("rule for unknown ids", unknown, UNKNOWN_RULES)
    notes = [*edges.notes, *nodes.notes]
    check_ids(nodes.ids, "ids of the nodes")
    source, target = rows_in(nodes.ids, "ids of the edges", edges.source, edges.target)
    lost = (source < 0) | (target < 0)
    if lost.any():
        unknown_ids = codes_of(stacked(edges.source[source < 0], edges.target[target < 0]), "ids of the edges")[0]
        found = f"{number_of(len(unknown_ids), 'id of the edges is', 'ids of the edges are')} not among the nodes"
        if unknown == "fail":
            hint = f"ids of the nodes look like {show(nodes.ids[:2])}; add them, or choose unknown='keep' or unknown='drop'"
            raise InputError(f"{found}: {show(unknown_ids)}; {hint}")
        if unknown == "drop":
            notes.append(f"{found}: {number_of(int(lost.sum()), 'edge')} dropped (ids {show(unknown_ids)}).")
            edges, source, target = edges.select(~lost), source[~lost], target[~lost]
        else:
            notes.append(f"{found}: kept without label and with zero features (ids {show(unknown_ids)}).")
            nodes = nodes.extend(unknown_ids)
            source, target = rows_in(nodes.ids, "ids of the edges", edges.source, edges.target)
    adjacency, counts = Adjacency.from_edges(source, target, len(nodes.ids), edges.weight, **rules)
    notes += counts.notes()
    names = None if nodes.feature_names is None else tuple(nodes.feature_names)
    graph = Graph(adjacency, nodes.features, nodes.labels, nodes.ids, names, {}, unlabelled, tuple(notes))
    return graph.with_notes(*graph.warnings())


def is_table(values: Any) -> bool:
    """Return whether ``values`` has named columns."""
    return isinstance(values, Mapping) or (hasattr(values, "columns") and not isinstance(values, np.ndarray))


def has_ids(frame: Any) -> bool:
    """Return whether a pandas frame or series is indexed by something other than its row numbers."""
    import pandas as pd

    return isinstance(frame, (pd.DataFrame, pd.Series)) and not isinstance(frame.index, pd.RangeIndex)


def as_frame(table: Any) -> pd.DataFrame:
    """Return a pandas frame of a pandas, arrow or polars table or a dictionary of columns."""
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, Mapping):
        columns = {name: as_column(column, f"column {name!r}") for name, column in table.items()}
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"the columns of a table need the same length, not {lengths}")
        return pd.DataFrame(columns)
    if type(table).__module__.startswith("pyarrow"):
        return table.to_pandas(integer_object_nulls=True)
    if hasattr(table, "to_arrow"):  # polars: whole numbers with gaps stay whole
        return table.to_arrow().to_pandas(integer_object_nulls=True)
    if hasattr(table, "to_pandas"):
        return table.to_pandas()
    if hasattr(table, "collect"):
        raise InputError(f"{type(table).__name__} is not read yet: give table.collect()")
    raise InputError(f"a table must be pandas, arrow, polars or a dictionary of columns, not {type(table).__name__}")


def as_id_column(values: Any, what: str) -> np.ndarray:
    """Return a column of ids without missing values; floats that are whole numbers become integers.

    Returns
    -------
    array of shape (n,)
        One id for each row.
    """
    column = values if is_text(values) else as_column(values, what)
    check_present(column, what)
    if column.dtype.kind == "f" and np.all(column == np.floor(column)) and np.all(np.abs(column) < 2**53):
        return column.astype(np.int64)
    return column


def by_id(values: Any, ids: np.ndarray, what: str) -> np.ndarray:
    """Return the rows of an id-indexed frame for these ids; every id needs one."""
    check_ids(as_id_column(values.index, f"index of the {what}"), f"ids of the {what}")
    (rows,) = rows_in(values.index, "ids", ids)
    if (rows < 0).any():
        raise InputError(f"{what} lack rows for {int((rows < 0).sum()):,} nodes (ids {show(ids[rows < 0])})")
    return rows


def _positional_rows(label: Any, features: Any) -> int | None:
    """Number of rows of features or labels that are given by position; None when there are none."""
    if features is not None and not (isinstance(features, (list, tuple)) and not len(features)):
        return (features if sp.issparse(features) else np.asarray(features)).shape[0]
    if label is None or isinstance(label, (dict, str)) or has_ids(label):
        return None
    return len(as_column(label, "labels"))


def _is_names(features: Any) -> bool:
    """Whether ``features`` is a list of column names."""
    return isinstance(features, (list, tuple)) and all(isinstance(name, str) for name in features)


def _is_indexed(frame: pd.DataFrame) -> bool:
    """Whether a node table keeps its ids in the index; row numbers left over from a selection are not ids."""
    import pandas as pd

    leftover = frame.index.name is None and pd.api.types.is_integer_dtype(frame.index.dtype)
    return has_ids(frame) and not leftover and find_column(frame, IDS[:2]) is None


def _aligned(ids: np.ndarray, label: Any, features: Any) -> tuple[Any, Any]:
    """Labels (vector or mapping) and features in the order of ``ids``."""
    if isinstance(label, str):
        raise InputError(f"label={label!r} names a column, but nodes is not a table: pass a table, or labels as values")
    if _is_names(features) and len(features):
        raise InputError("features names columns, but nodes is not a table: pass a table, or features as a matrix")
    if has_ids(label):
        label = dict(zip(label.index, as_column(label, "labels"), strict=True))
    if has_ids(features):
        features = features.iloc[by_id(features, ids, "features")]
    return label, None if isinstance(features, (list, tuple)) and not len(features) else features


def _feature_columns(frame: pd.DataFrame, used: list[Any], names: Any) -> tuple[Any, Any, list[str]]:
    """The named columns, or every other column of numbers, as a float matrix; their names; and notes."""
    import pandas as pd

    numeric = [c for c in frame.columns if pd.api.types.is_numeric_dtype(frame[c].dtype) and frame[c].dtype.kind != "c"]
    notes = []
    if names is not None:
        wrong = [require_column(frame, name, "features") for name in names if name not in numeric]
        if wrong:
            raise InputError(f"feature columns must hold numbers, but {show(wrong)} do not: encode them first")
    else:
        names = [name for name in numeric if name not in used]
        left = [name for name in frame.columns if name not in names and name not in used]
        if names:
            notes.append(f"Features are the {len(names)} columns of numbers: {show(names)}.")
        if left:
            notes.append(f"Columns of the nodes that are not numbers are not used: {show(left)}.")
    if not names:
        return None, None, notes
    return frame[list(names)].to_numpy(dtype=np.float64, na_value=np.nan), list(names), notes


def _frame_of_pairs(edges: Any) -> pd.DataFrame:
    import pandas as pd

    if sp.issparse(edges):
        raise InputError("from_edges takes a list of edges, not a matrix: use Graph.from_arrays")
    if not isinstance(edges, Iterable) or isinstance(edges, (str, bytes)):
        raise InputError(f"edges must be a table, an array or a list of pairs, not {type(edges).__name__}")
    edges = from_torch(edges)
    if not isinstance(edges, np.ndarray):
        rows = list(edges)
        widths = {len(row) if isinstance(row, (tuple, list, np.ndarray)) else 0 for row in rows}
        if (rows and not widths <= {2, 3}) or len(widths) > 1:
            raise InputError("edges must be pairs (source, target) or triples (source, target, weight), all alike")
        return pd.DataFrame({k: as_column([row[k] for row in rows], "edges") for k in range(max(widths, default=2))})
    if edges.ndim != 2 or edges.shape[1] not in (2, 3):
        advice = ": transpose it" if edges.ndim == 2 and edges.shape[0] in (2, 3) else ""
        raise InputError(f"an array of edges needs m rows and 2 or 3 columns, not shape {edges.shape}{advice}")
    return pd.DataFrame(edges)
