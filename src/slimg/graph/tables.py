"""Tables of edges and nodes, as people have them: pandas, arrow, polars, dictionaries of columns, arrays, lists.

Each is read through a pandas frame; columns are chosen by name, and what was guessed is told in ``notes``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.graph.checks import check_ids, check_present
from slimg.graph.columns import as_column, show
from slimg.graph.guess import IDS, edge_columns, id_column, named, usual

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """m edges: ids of both ends, and weights or None."""

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None
    notes: tuple[str, ...]

    @classmethod
    def read(cls, edges: Any, source: Any, target: Any, weight: Any) -> EdgeTable:
        """Choose the columns of a table, or take an m × 2 (or m × 3, with weights) array or list of pairs."""
        has_names = is_table(edges)
        frame = as_frame(edges) if has_names else _frame_of_pairs(edges)
        if len(frame.columns) < 2:
            raise InputError(f"edges need two columns, source and target, not {show(frame.columns)}")
        if not has_names and weight is None and len(frame.columns) > 2:
            weight = frame.columns[2]
        from_name, to_name, _, _ = edge_columns(frame, source, target, weight, None)
        weights = None if weight is None else as_column(frame[weight], "weights")
        ends = [as_id_column(frame[name], f"edges' {name!r}") for name in (from_name, to_name)]
        notes = []
        if has_names and (source is None or target is None):
            notes.append(f"Edges are read from columns {from_name!r} and {to_name!r}.")
        unused = [name for name in frame.columns if name not in (from_name, to_name, weight)]
        if unused:
            notes.append(f"Columns of the edges that are not used: {show(unused)}.")
        return cls(ends[0], ends[1], weights, tuple(notes))


@dataclass(frozen=True, eq=False)
class NodeTable:
    """n nodes: ids, and labels and features in the same order."""

    ids: np.ndarray
    labels: Any = None
    features: Any = None
    feature_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def read(cls, nodes: Any, id: Any, label: Any, features: Any) -> NodeTable:
        """A table with a column of ids, or a vector of ids; ``label`` and ``features`` name columns or are data."""
        if not is_table(nodes):
            ids = as_id_column(nodes, "nodes")
            check_ids(ids, "ids of the nodes")
            return cls(ids, *_aligned(ids, label, features))
        frame = as_frame(nodes)
        notes = []
        if id is None and _is_indexed(frame):
            ids, used = as_id_column(frame.index, "nodes' index"), []
            notes.append("Node ids are read from the index.")
        else:
            used = [id_column(frame, id, None)[0]]
            ids = as_id_column(frame[used[0]], f"nodes' {used[0]!r}")
            if id is None:
                notes.append(f"Node ids are read from column {used[0]!r}.")
        check_ids(ids, "ids of the nodes")
        if isinstance(label, str):
            used.append(named(frame, label, "label"))
            label = as_column(frame[label], f"labels (column {label!r})")
        names = None
        if features is None or is_names(features):
            features, names, said = _feature_columns(frame, used, features)
            notes += said
        labels, matrix = _aligned(ids, label, features)
        names = names or (None if matrix is None else getattr(features, "columns", None))
        return cls(ids, labels, matrix, None if names is None else tuple(map(str, names)), tuple(notes))


def is_table(values: Any) -> bool:
    """Whether ``values`` has named columns."""
    return isinstance(values, Mapping) or (hasattr(values, "columns") and not isinstance(values, np.ndarray))


def has_ids(frame: Any) -> bool:
    """Whether a pandas frame or series is indexed by something other than its row numbers."""
    import pandas as pd

    return isinstance(frame, (pd.DataFrame, pd.Series)) and not isinstance(frame.index, pd.RangeIndex)


def is_names(features: Any) -> bool:
    """Whether ``features`` is a list of column names."""
    return isinstance(features, (list, tuple)) and all(isinstance(name, str) for name in features)


def as_frame(table: Any) -> pd.DataFrame:
    """A pandas frame of a pandas, arrow or polars table or a dictionary of columns."""
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, Mapping):
        lengths = {name: len(column) for name, column in table.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"the columns of a table need the same length, not {lengths}")
        return pd.DataFrame({name: as_column(column, f"column {name!r}") for name, column in table.items()})
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
    """A column of ids without missing values; floats that are whole numbers become integers."""
    column = as_column(values, what)
    check_present(column, what)
    if column.dtype.kind == "f" and np.all(column == np.floor(column)) and np.all(np.abs(column) < 2**53):
        return column.astype(np.int64)
    return column


def by_id(values: Any, ids: np.ndarray, what: str) -> np.ndarray:
    """Rows of an id-indexed frame for these ids; every id needs one."""
    import pandas as pd

    check_ids(as_id_column(values.index, f"index of the {what}"), f"ids of the {what}")
    rows = values.index.get_indexer(pd.Index(ids, tupleize_cols=False))
    if (rows < 0).any():
        raise InputError(f"{what} lack rows for {int((rows < 0).sum()):,} nodes (ids {show(ids[rows < 0])})")
    return rows


def _is_indexed(frame: pd.DataFrame) -> bool:
    """Whether a node table keeps its ids in the index; row numbers left over from a selection are not ids."""
    import pandas as pd

    leftover = frame.index.name is None and pd.api.types.is_integer_dtype(frame.index.dtype)
    return has_ids(frame) and not leftover and usual(frame, IDS[:2]) is None


def _aligned(ids: np.ndarray, label: Any, features: Any) -> tuple[Any, Any]:
    """Labels (vector or mapping) and features in the order of ``ids``."""
    if isinstance(label, str):
        raise InputError(f"label={label!r} names a column, but nodes is not a table: pass a table, or label as data")
    if is_names(features) and len(features):
        raise InputError("features names columns, but nodes is not a table: pass a table, or features as data")
    if has_ids(label):
        label = dict(zip(label.index, as_column(label, "labels"), strict=True))
    if has_ids(features):
        features = features.iloc[by_id(features, ids, "features")]
    if isinstance(features, (list, tuple)) and not len(features):
        features = None
    return label, features


def _feature_columns(frame: pd.DataFrame, used: list, names: Any) -> tuple[Any, Any, list[str]]:
    """The named columns, or every other column of numbers, as a float matrix."""
    import pandas as pd

    numeric = [c for c in frame.columns if pd.api.types.is_numeric_dtype(frame[c].dtype) and frame[c].dtype.kind != "c"]
    if names is not None:
        wrong = [named(frame, name, "features") for name in names if name not in numeric]
        if wrong:
            raise InputError(f"feature columns must hold numbers, but {show(wrong)} do not: encode them first")
        said = []
    else:
        names = [name for name in numeric if name not in used]
        left = [name for name in frame.columns if name not in names and name not in used]
        said = [f"Columns of the nodes that are not numbers are not used: {show(left)}."] if left else []
        if names:
            said.insert(0, f"Features are the {len(names)} columns of numbers: {show(names)}.")
    if not names:
        return None, None, said
    return frame[list(names)].to_numpy(dtype=np.float64, na_value=np.nan), list(names), said


def _frame_of_pairs(edges: Any) -> pd.DataFrame:
    import pandas as pd

    if sp.issparse(edges):
        raise InputError("from_edges takes a list of edges, not a matrix: use Graph.from_arrays")
    if type(edges).__module__.startswith("torch"):
        edges = edges.detach().cpu().numpy()
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
