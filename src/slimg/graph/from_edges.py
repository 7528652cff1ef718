"""A graph from tables of edges and tables of nodes, between ids of any type.

    nodes of the graph = nodes of the table, in its order       (those without edges are kept)
                       = else, the ids that occur in the edges, sorted

Tables are pandas, arrow or polars frames, dictionaries of columns, arrays or lists. Columns that are not named are chosen by
`slimg.graph.columns`, and ``notes`` says which. `graph_of` joins the tables, however they were read.

Several tables of nodes are types. Their features stand side by side, after one column for each type:

    X = (1 | X₁ 0 ; 1 | 0 X₂)       names: type=users, type=items, users.age, items.price
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError, choices
from slimg.graph.checks import check_ids, check_present
from slimg.graph.columns import (
    IDS,
    SOURCES,
    as_column,
    codes_of,
    edge_columns,
    find_column,
    from_torch,
    id_column,
    is_text,
    list_names,
    number_of,
    require_column,
    rows_in,
    show,
    stacked,
    text_of,
)
from slimg.graph.graph import Graph
from slimg.graph.relations import EdgeTable, check_number, connect

if TYPE_CHECKING:
    import pandas as pd

Unknown = Literal["fail", "keep", "drop"]
UNKNOWN_RULES = ("fail", "keep", "drop")


def read_table(edges: Any, source: Any = None, target: Any = None, weight: Any = None, relation: Any = None) -> list[EdgeTable]:
    """Choose the columns of a table, or take an m × 2 (or m × 3, with weights) array or list of pairs.

    Returns
    -------
    list of EdgeTable
        One, or one for each value of the column ``relation``.
    """
    has_names = is_table(edges)
    frame = as_frame(edges) if has_names else frame_of_pairs(edges)
    kinds = None if require_column(frame, relation, "relation") is None else frame[relation]
    rest = frame if kinds is None else frame.drop(columns=relation)
    if len(rest.columns) < 2:
        raise InputError(f"edges need two columns, source and target, not {show(rest.columns)}")
    if not has_names and weight is None and len(rest.columns) > 2:
        weight = rest.columns[2]
    first, second, _, _ = edge_columns(rest, source, target, weight, None)
    notes = []
    if has_names and (source is None or target is None):
        notes.append(f"Edges are read from columns {first!r} and {second!r}.")
    unused = [name for name in rest.columns if name not in (first, second, weight)]
    if unused:
        notes.append(f"Columns of the edges that are not used: {show(unused)}.")
    weights = None if weight is None else as_column(frame[weight], "weights")
    ends = [as_id_column(frame[name], f"edges' {name!r}") for name in (first, second)]
    table = EdgeTable(ends[0], ends[1], weights, tuple(notes))
    return [table] if kinds is None else split(table, as_column(kinds, f"column {relation!r}"), relation)


def split(table: EdgeTable, kinds: np.ndarray, column: Any) -> list[EdgeTable]:
    """Divide the edges by their relations, given as one value for each edge; the first part has the notes."""
    check_present(kinds, f"relations (column {column!r})")
    values, codes = codes_of(kinds, f"relations (column {column!r})")
    check_number(values, column)
    if not len(values):
        return [replace(table, name=str(column))]
    names = [text_of(value) for value in values]
    order = np.argsort(codes, kind="stable")
    places = np.split(order, np.cumsum(np.bincount(codes, minlength=len(names)))[:-1])
    parts = [replace(table.select(rows), name=name, notes=()) for name, rows in zip(names, places, strict=True)]
    return [replace(parts[0], notes=table.notes), *parts[1:]]


def read_edges(edges: Any, source: Any = None, target: Any = None, weight: Any = None, relation: Any = None) -> list[EdgeTable]:
    """Read one table of edges, or a mapping of names to tables; the arguments are those of `Graph.from_edges`.

    Returns
    -------
    list of EdgeTable
        Of a mapping, those with names; columns are used in the tables that have them.
    """
    if not is_tables(edges):
        return read_table(edges, source, target, weight, relation)
    frames = {str(name): as_frame(each) if is_table(each) else frame_of_pairs(each) for name, each in edges.items()}
    wanted = {"source": source, "target": target, "weight": weight, "relation": relation}
    for what, name in wanted.items():
        if name is not None and not any(name in frame.columns for frame in frames.values()):
            each = "; ".join(f"{of!r} has {list_names(list(frame.columns))}" for of, frame in frames.items())
            raise InputError(f"no table of edges has the column {name!r} for {what}: {each}")
    tables = []
    for name, given in edges.items():
        columns = frames[str(name)].columns
        own = [column if column in columns else None for column in wanted.values()]
        try:
            parts = read_table(given, *own)
        except InputError as error:
            raise InputError(f"edges {name!r}: {error}") from error
        told = tuple(f"{name}: {note}" for note in parts[0].notes)
        parts[0] = replace(parts[0], notes=told)
        tables += [part if part.name is not None else replace(part, name=str(name)) for part in parts]
    return tables


def ends_of(tables: Sequence[EdgeTable]) -> np.ndarray:
    """Ids of both ends of all edges."""
    return stacked(*(end for table in tables for end in (table.source, table.target)))


@dataclass(frozen=True, eq=False)
class NodeTable:
    """Ids of n nodes, and their labels and features in the same order."""

    ids: np.ndarray
    labels: Any = None
    features: Any = None
    feature_names: Sequence[str] | None = None
    notes: tuple[str, ...] = ()
    types: np.ndarray | None = None

    @classmethod
    def read(cls, nodes: Any, id: Any = None, label: Any = None, features: Any = None) -> NodeTable:
        """Read a table with a column of ids, or a vector of ids; ``label`` and ``features`` name columns or are values."""
        if isinstance(nodes, Mapping) and nodes and all(is_table(table) for table in nodes.values()):
            return cls._of_types({str(name): as_frame(table) for name, table in nodes.items()}, id, label, features)
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
    def _of_types(cls, frames: dict[str, pd.DataFrame], id: Any, label: Any, features: Any) -> NodeTable:
        """One table of several, each with columns of its own; the label is a column of one of them, or values."""
        if features is not None and not _is_names(features):
            raise InputError("features of several tables of nodes must be names of columns, not values")
        named = isinstance(label, str)
        for what, names in (("id", [id]), ("label", [label] if named else []), ("features", features or [])):
            for name in names:
                if name is not None and not any(name in frame.columns for frame in frames.values()):
                    raise InputError(f"no table of nodes has the column {name!r} for {what}: {list_names(list(frames))}")
        if named and sum(label in frame.columns for frame in frames.values()) > 1:
            raise InputError(f"several tables of nodes have the column {label!r} for label: keep it in one of them")
        parts = {}
        for name, frame in frames.items():
            own_id, own_label = (given if given in frame.columns else None for given in (id, label if named else None))
            own = None if features is None else [column for column in features if column in frame.columns]
            try:
                parts[name] = cls.read(frame, own_id, own_label, own)
            except InputError as error:
                raise InputError(f"nodes {name!r}: {error}") from error
        check_shared({name: part.ids for name, part in parts.items()})
        ids, labels = stacked(*(part.ids for part in parts.values())), label
        if named:
            gaps = [np.full(len(p.ids), None, object) if p.labels is None else p.labels for p in parts.values()]
            labels = stacked(*(np.asarray(gap) for gap in gaps))
        labels, _ = _aligned(ids, labels, None)
        blocks = {name: (part.features, part.feature_names, len(part.ids)) for name, part in parts.items()}
        matrix, feature_names, notes = side_by_side(blocks)
        told = [f"{name}: {note}" for name, part in parts.items() for note in part.notes]
        types = np.repeat(np.array(list(parts), object), [len(part.ids) for part in parts.values()])
        return cls(ids, labels, matrix, feature_names, (*told, *notes), types)

    @classmethod
    def for_edges(cls, edges: Sequence[EdgeTable], label: Any, features: Any) -> NodeTable:
        """Make the nodes of edges that come without a table of nodes: from indexed features, numbered rows, or the ends."""
        if has_ids(features):
            return cls.read(features.index, None, label, features)
        rows, ends = _positional_rows(label, features), ends_of(edges)
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
        types = None if self.types is None else stacked(self.types, np.full(more, "", object))
        return replace(self, ids=stacked(self.ids, ids), labels=labels, features=features, types=types)


def graph_of(
    tables: Sequence[EdgeTable], nodes: NodeTable, unknown: Unknown = "fail", unlabelled: Any = None, directed: Any = None,
    **rules: Any,
) -> Graph:
    """Join edges and nodes by their ids; the arguments are those of `Graph.from_edges`.

    Returns
    -------
    Graph
        With the notes of the tables, and notes on what was done to the edges.
    """
    if unknown not in UNKNOWN_RULES:
        raise choices("rule for unknown ids", unknown, UNKNOWN_RULES)
    notes = [*(note for table in tables for note in table.notes), *nodes.notes]
    check_ids(nodes.ids, "ids of the nodes")

    def rows(tables: Sequence[EdgeTable]) -> list[tuple[np.ndarray, np.ndarray]]:
        found = rows_in(nodes.ids, "ids of the edges", *(end for table in tables for end in (table.source, table.target)))
        return list(zip(found[::2], found[1::2], strict=True))

    ends = rows(tables)
    lost = [(source < 0) | (target < 0) for source, target in ends]
    if any(each.any() for each in lost):
        strange = stacked(*(ids[at < 0] for table, (source, target) in zip(tables, ends, strict=True)
                            for ids, at in ((table.source, source), (table.target, target))))  # fmt: skip
        unknown_ids = codes_of(strange, "ids of the edges")[0]
        found = f"{number_of(len(unknown_ids), 'id of the edges is', 'ids of the edges are')} not among the nodes"
        where = [table.name for table, each in zip(tables, lost, strict=True) if each.any() and table.name is not None]
        if where:
            found = f"{found} (edges of {list_names([repr(name) for name in where])})"
        if unknown == "fail":
            hint = f"ids of the nodes look like {show(nodes.ids[:2])}; add them, or choose unknown='keep' or unknown='drop'"
            raise InputError(f"{found}: {show(unknown_ids)}; {hint}")
        if unknown == "drop":
            dropped = sum(int(each.sum()) for each in lost)
            notes.append(f"{found}: {number_of(dropped, 'edge')} dropped (ids {show(unknown_ids)}).")
            tables = [table.select(~each) for table, each in zip(tables, lost, strict=True)]
        else:
            notes.append(f"{found}: kept without label and with zero features (ids {show(unknown_ids)}).")
            nodes = nodes.extend(unknown_ids)
        ends = rows(tables)
    made = [replace(table, source=pair[0], target=pair[1]) for table, pair in zip(tables, ends, strict=True)]
    adjacency, relations, told = connect(made, len(nodes.ids), directed, **rules)
    names = None if nodes.feature_names is None else tuple(nodes.feature_names)
    graph = Graph(adjacency, nodes.features, nodes.labels, nodes.ids, names, {}, unlabelled, (*notes, *told), relations,
                  nodes.types)  # fmt: skip
    return graph.with_notes(*graph.warnings())


def check_shared(ids: Mapping[str, np.ndarray]) -> None:
    """Raise an error for ids that two tables of nodes share."""
    seen: list[tuple[str, np.ndarray]] = []
    for name, own in ids.items():
        for other, theirs in seen:
            shared = own[rows_in(theirs, "ids of the nodes", own)[0] >= 0]
            if len(shared):
                raise InputError(
                    f"the tables of nodes {other!r} and {name!r} share {number_of(len(shared), 'id')}: {show(shared)}; an id"
                    " names one node, so give each table ids of its own (such as u1 and i1), in the edges too"
                )
        seen.append((name, own))


def side_by_side(blocks: Mapping[str, tuple[Any, Sequence[str] | None, int]]) -> tuple[Any, tuple[str, ...] | None, list[str]]:
    """Features of several types of nodes: a column for each type, then the columns of each, zero for all others.

    Parameters
    ----------
    blocks : mapping of str to (matrix or None, names or None, rows)
        By type.

    Returns
    -------
    matrix : float32 scipy.sparse.csr_array of shape (n, types + Σ d)
    names : tuple of str
        ``type=users``, …, ``users.age``, …
    notes : list of str
        Types without features.
    """
    one_hot = sp.block_diag([np.ones((rows, 1), np.float32) for _, _, rows in blocks.values()], format="csr")
    parts, names, bare = [], [f"type={name}" for name in blocks], []
    for name, (matrix, columns, rows) in blocks.items():
        if matrix is None:
            bare.append(repr(name))
            matrix = sp.csr_array((rows, 0), dtype=np.float32)
        parts.append(sp.csr_array(matrix, dtype=np.float32))
        names += [f"{name}.{column}" for column in (range(matrix.shape[1]) if columns is None else columns)]
    noted = [f"Nodes without features, of which the type and the edges alone tell: {list_names(bare)}."] if bare else []
    return sp.csr_array(sp.hstack([one_hot, sp.block_diag(parts)], format="csr")), tuple(names), noted


def is_table(values: Any) -> bool:
    """Return whether ``values`` has named columns."""
    return isinstance(values, Mapping) or hasattr(type(values), "columns")


def is_tables(values: Any) -> bool:
    """Return whether this is a mapping of names to tables, not of names to columns."""
    if not isinstance(values, Mapping) or not values:
        return False
    pairs = not any(str(name).strip().lower() in SOURCES for name in values)
    return all(is_table(each) or getattr(each, "ndim", 1) == 2 or (pairs and _is_pairs(each)) for each in values.values())


def _is_pairs(values: Any) -> bool:
    """Whether this is a list of pairs or triples."""
    return isinstance(values, list) and all(isinstance(row, (tuple, list)) and len(row) in (2, 3) for row in values)


def has_ids(frame: Any) -> bool:
    """Return whether a pandas frame or series is indexed by something other than its row numbers 0, 1, …"""
    import pandas as pd

    if not isinstance(frame, (pd.DataFrame, pd.Series)):
        return False
    index = frame.index
    return not (isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1)


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


def as_id_column(values: Any, what: str, first: int = 0) -> np.ndarray:
    """Return a column of ids without missing values; floats that are whole numbers become integers.

    In messages rows are counted from ``first``.

    Returns
    -------
    array of shape (n,)
        One id for each row.
    """
    column = values if is_text(values) else as_column(values, what)
    check_present(column, what, first)
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


def frame_of_pairs(edges: Any) -> pd.DataFrame:
    """Make a frame of a list or an array of pairs or triples."""
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
