"""Validation: input becomes what `Graph` holds, or an `InputError` says what is wrong with it.

    features  → float32, C-contiguous n × d array, or CSR; finite
    labels    → classes (sorted, original type) and codes ∈ {−1, 0, …, c − 1}ⁿ, −1 = unlabelled
    ids       → n distinct hashable values
    masks     → boolean n-vectors
    train/val → row numbers: labelled, distinct, disjoint
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.graph.columns import as_column, codes_of, from_torch, is_distinct, missing, number_of, show
from slimg.graph.relations import Relation

if TYPE_CHECKING:
    from slimg.graph.graph import Graph

Features: TypeAlias = "np.ndarray | sp.csr_array"


def check_graph(graph: Any, y: Any = None) -> None:
    """Refuse what is not a graph, with what makes one of it, and labels that are given beside it.

    Parameters
    ----------
    graph : object
        What was given as a graph.
    y : object, default=None
        What was given as labels.

    Raises
    ------
    InputError
        If ``graph`` is not a `Graph`, or ``y`` is not None.

    Examples
    --------
    >>> check_graph(5)
    Traceback (most recent call last):
    ...
    slimg.errors.InputError: a slimg.Graph is needed, not int: make one with slimg.read(edges=…, nodes=…, label=…)
    """
    from slimg.graph.graph import Graph

    if isinstance(graph, Graph):
        if y is not None:
            raise InputError("labels belong to the graph: use Graph.from_arrays(..., labels=y) and fit(graph)")
        return
    library, kind = type(graph).__module__.split(".")[0], type(graph).__name__
    how = {"torch_geometric": "Graph.from_pyg", "networkx": "Graph.from_networkx", "dgl": "Graph.from_dgl"}.get(library)
    how = f"{how}(…)" if how else "slimg.read(edges=…, nodes=…, label=…)"
    how += " or Graph.from_arrays(adjacency, features, labels)" if library in ("numpy", "scipy", "torch") else ""
    raise InputError(f"a slimg.Graph is needed, not {kind}: make one with {how}")


def as_features(features: Any, ids: np.ndarray) -> Features | None:
    """Return features as float32, sparse if they were; None for a matrix without columns."""
    if features is None:
        return None
    if np.iscomplexobj(features):
        raise InputError("features must be real numbers, not complex ones")
    matrix = _sparse_features(features) if sp.issparse(features) else _dense_features(features)
    n = len(ids)
    if matrix.shape[0] != n:
        raise InputError(
            f"features need one row per node: {matrix.shape[0]:,} rows were given for {n:,} nodes"
            " (nodes without features can be given rows of zeros)"
        )
    if matrix.shape[1] == 0:
        return None
    _check_finite(matrix, ids)
    return matrix


def as_feature_names(names: Any, features: Features | None) -> tuple[str, ...] | None:
    """Return one name per column of the features, or None."""
    if names is None or features is None:
        return None
    given = tuple(str(name) for name in names)
    if len(given) != features.shape[1]:
        raise InputError(f"feature_names needs one name per column: {len(given)} names for {features.shape[1]} columns")
    return given


def as_ids(ids: Any, n: int) -> np.ndarray:
    """Return n distinct ids; 0 … n − 1 by default."""
    if ids is None:
        return np.arange(n)
    column = as_column(ids, "ids")
    if len(column) != n:
        raise InputError(f"ids need one value per node: {len(column):,} ids were given for {n:,} nodes")
    check_ids(column, "ids")
    return column


def check_ids(ids: np.ndarray, what: str) -> None:
    """Raise an error if an id is missing or there more than once."""
    check_present(ids, what)
    if not is_distinct(ids):
        distinct, codes = codes_of(ids, what)
        repeated = distinct[np.bincount(codes) > 1]
        raise InputError(
            f"{what} must be distinct, but {number_of(len(repeated), 'value is', 'values are')} there more than once:"
            f" {show(repeated)}; keep one row of each"
        )


def check_present(column: np.ndarray, what: str, first: int = 0) -> None:
    """Raise an error for missing values where each row needs one; rows are counted from ``first``."""
    absent = np.flatnonzero(missing(column))
    if len(absent):
        rows = number_of(len(absent), "row has", "rows have")
        raise InputError(f"{what} must not be missing, but {rows} none (row {show(absent + first)}): fill or drop them")


def as_labels(labels: Any, ids: np.ndarray, positions: Any) -> np.ndarray | None:
    """Return labels in graph order, from a vector of n values or a mapping of some ids to their labels."""
    if labels is None:
        return None
    if isinstance(labels, Mapping):
        rows = positions(list(labels), "labels")
        column = np.full(len(ids), None, object)
        column[rows] = np.fromiter(labels.values(), object, len(labels))
        return as_column(column, "labels")
    column = as_column(labels, "labels")
    if len(column) != len(ids):
        raise InputError(
            f"labels need one value per node: {len(column):,} labels for {len(ids):,} nodes"
            " (use None for unlabelled nodes, or a mapping from ids to labels)"
        )
    return column


def encode_labels(labels: np.ndarray | None, n: int, unlabelled: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Encode labels as numbers.

    Parameters
    ----------
    labels : array of shape (n,), or None
    n : int
    unlabelled : object, default=None
        A further value, such as −1, that means "no label".

    Returns
    -------
    classes : array of shape (c,)
        Distinct labels, sorted, in their original type.
    codes : int64 array of shape (n,)
        Place of each label in ``classes``, −1 where there is none.
    """
    if labels is None:
        return np.empty(0, object), np.full(n, -1, np.int64)
    classes, codes = codes_of(labels, "labels")
    if unlabelled is not None:
        named = np.fromiter((bool(value == unlabelled) for value in classes), bool, len(classes))
        new = np.where(named, -1, np.cumsum(~named) - 1)
        classes, codes = classes[~named], np.where(codes < 0, -1, new[codes] if len(new) else -1)
    odd = [v for v in classes if isinstance(v, (float, np.floating)) and not float(v).is_integer()]
    if odd:
        raise InputError(
            f"labels must be classes, but {show(odd)} look like measurements:"
            " cut them into classes, or turn them into text if each value is a class"
        )
    return classes, codes.astype(np.int64, copy=False)


def as_masks(masks: Mapping[str, Any] | None, n: int) -> dict[str, np.ndarray]:
    """Return boolean vectors by name (train, val, test, …)."""
    if masks is not None and not isinstance(masks, Mapping):
        raise InputError(f"masks must map names to boolean vectors, not be of type {type(masks).__name__}")
    checked = {}
    for name, mask in (masks or {}).items():
        array = np.asarray(mask)
        if array.dtype != bool or array.shape != (n,):
            raise InputError(f"mask {name!r} must be {n:,} booleans, not {array.dtype} of shape {array.shape}")
        checked[str(name)] = array
    return checked


def as_relations(relations: Any, n: int) -> tuple[Relation, ...]:
    """Return relations of n nodes, whose names differ."""
    given = tuple(relations)
    for relation in given:
        if not isinstance(relation, Relation):
            raise InputError(f"relations must be of type Relation, not {type(relation).__name__}: use Graph.from_edges")
        if relation.out.n != n or relation.into.n != n:
            raise InputError(f"relation {relation.name!r} has {relation.out.n:,} nodes, but the graph has {n:,}")
    if len({relation.name for relation in given}) < len(given):
        raise InputError(f"relations need different names, not {show(relation.name for relation in given)}")
    return given


def as_node_types(types: Any, n: int) -> np.ndarray | None:
    """Return the type of each node as text, or None."""
    if types is None:
        return None
    column = as_column(types, "node_types")
    if len(column) != n or not all(isinstance(value, str) for value in column):
        raise InputError(f"node_types needs one text for each of the {n:,} nodes")
    return column


def check_learnable(graph: Graph) -> None:
    """Raise an error for a graph from which nothing can be learned.

    Parameters
    ----------
    graph : Graph
        The graph to learn from.

    Raises
    ------
    InputError
        If it has neither edges nor features.

    Examples
    --------
    >>> from slimg import Graph
    >>> ring = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    >>> from slimg.graph import check_learnable
    >>> check_learnable(ring)
    """
    if graph.features is None and graph.edges == 0:
        raise InputError("the graph has neither edges nor features: give at least one of them")


def as_rows(rows: Any, n: int, what: str) -> np.ndarray:
    """Check a selection of nodes.

    Parameters
    ----------
    rows : int or bool array-like
        Distinct row numbers, or a mask of n values.
    n : int
        Number of nodes.
    what : str
        Name of the argument, for error messages.

    Returns
    -------
    int64 array
        Row numbers, in the order given.
    """
    array = np.asarray(rows)
    if array.ndim != 1:
        raise InputError(f"{what} must be row numbers or a boolean mask, not an array of shape {array.shape}")
    if array.dtype == bool:
        if len(array) != n:
            raise InputError(f"the mask {what} needs {n:,} values, one per node, not {len(array):,}")
        return np.flatnonzero(array)
    if len(array) and array.dtype.kind not in "iu":
        raise InputError(
            f"{what} must be row numbers or a boolean mask, not {array.dtype} values: turn ids into rows with"
            " graph.positions(ids)"
        )
    outside = array[(array < 0) | (array >= n)]
    if len(outside):
        raise InputError(f"{what} has row {show(outside)}, but rows go from 0 to {n - 1}")
    distinct, counts = np.unique(array, return_counts=True)
    if len(distinct) < len(array):
        raise InputError(f"{what} has row {show(distinct[counts > 1])} more than once")
    return array.astype(np.int64)


def check_train_val(graph: Graph, train: Any = None, val: Any = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Check the rows to train and validate on.

    Parameters
    ----------
    graph : Graph
        The graph to learn from.
    train : int or bool array-like, default=None
        Row numbers or mask of labelled nodes; by default all labelled nodes outside ``val``.
    val : int or bool array-like, default=None
        Row numbers or mask of labelled nodes. Without it, validation is by folds, which needs two labelled nodes of two
        classes.

    Returns
    -------
    train : int64 array
        Row numbers.
    val : int64 array, or None
        Row numbers.

    Raises
    ------
    InputError
        If there is no label, a row has none, the two overlap, or there is only one class.

    Examples
    --------
    >>> from slimg.graph import Graph
    >>> graph = Graph.from_edges([(0, 1), (1, 2), (2, 3)], labels=["a", "b", "a", "b"])
    >>> check_train_val(graph, val=[0, 1])
    (array([2, 3]), array([0, 1]))
    """
    if not len(graph.labelled):
        raise InputError("the graph has no labels to learn from: give labels for some of its nodes")
    val_rows = None if val is None else labelled_rows(graph, val, "val")
    held_out = np.empty(0, np.int64) if val_rows is None else val_rows
    train_rows = np.setdiff1d(graph.labelled, held_out) if train is None else labelled_rows(graph, train, "train")
    if len(train_rows) == 0:
        raise InputError("train has no labelled rows: nothing is left to learn from")
    shared = np.intersect1d(train_rows, held_out)
    if len(shared):
        raise InputError(f"train and val must not overlap, but they share {number_of(len(shared), 'row')}: {show(shared)}")
    _check_classes(graph, train_rows, folds=val_rows is None)
    return train_rows, val_rows


def labelled_rows(graph: Graph, rows: Any, what: str, *, empty: bool = False) -> np.ndarray:
    """Return row numbers as `as_rows` does; rows without a label, and no rows unless ``empty``, are errors."""
    found = as_rows(rows, graph.n, what)
    if len(found) == 0 and not empty:
        raise InputError(f"{what} has no rows: give at least one, or leave it out")
    bare = graph.ids[found[graph.codes[found] < 0]]
    if len(bare):
        count = number_of(len(bare), "row")
        raise InputError(f"{what} has {count} without a label (ids {show(bare)}): label these nodes or leave them out")
    return found


def _check_classes(graph: Graph, train: np.ndarray, folds: bool) -> None:
    counts = np.bincount(graph.codes[train], minlength=len(graph.classes))
    present = np.flatnonzero(counts)
    if len(present) == 1:
        raise InputError(
            f"at least two classes are needed, but every labelled node is {show(graph.classes[present])}:"
            " label some nodes of another class"
        )
    single = np.flatnonzero(counts == 1)
    if folds and len(present) - len(single) < 2:
        node = graph.ids[train[graph.codes[train] == single[0]]]
        raise InputError(
            f"folds need two classes with two labelled nodes each, but there is only one of each of {show(graph.classes[single])}"
            f" (such as id {show(node)}): label more nodes of these classes"
        )


def _sparse_features(features: Any) -> sp.csr_array:
    matrix = sp.csr_array(features)
    with np.errstate(over="ignore"):
        matrix = matrix.astype(np.float32) if matrix.dtype != np.float32 else matrix
    if not matrix.has_canonical_format:
        if features.format == "csr" and np.shares_memory(matrix.indices, features.indices):
            matrix = matrix.copy()  # the caller's own matrix stays as it is
        matrix.sum_duplicates()
    return matrix


def _dense_features(features: Any) -> np.ndarray:
    try:
        array = np.asarray(features.filled(np.nan) if np.ma.isMaskedArray(features) else from_torch(features))
        if array.dtype.kind not in "biuf":
            array = np.where(missing(array), np.nan, array).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"features must be numbers ({error}): turn text and categories into columns of numbers"
                         " first, as slimg.read does") from None  # fmt: skip
    if array.ndim != 2:
        raise InputError(f"features must be a matrix of nodes × columns, not an array of shape {array.shape}")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)


def _check_finite(matrix: Any, ids: np.ndarray) -> None:
    values = matrix.data if sp.issparse(matrix) else matrix
    # minimum and maximum carry NaN and infinity through without an n × d array of booleans
    if values.size == 0 or (np.isfinite(values.min()) and np.isfinite(values.max())):
        return
    if sp.issparse(matrix):
        rows = np.unique(matrix.tocoo().row[~np.isfinite(matrix.data)])
    else:
        rows = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    raise InputError(
        f"features must be finite in float32, but {number_of(len(rows), 'row holds', 'rows hold')} NaN or infinity"
        f" (rows {show(rows)}; ids {show(ids[rows])}): fill, drop or rescale them"
    )
