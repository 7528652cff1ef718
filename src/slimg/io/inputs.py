"""From files to a graph: edges, nodes and labels are read, their columns chosen, ids matched, columns made features.

Options ─▶ Inputs: graph (labels, features, ids as text or numbers), node table as it was read, feature plan, notes

Columns that the user does not name are chosen once, in `_choose_columns`: the usual names of ids give ids to compare the
columns of the edges with, and the ends of the edges then tell which column of the nodes holds the ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from slimg.errors import InputError
from slimg.graph.columns import (
    LABELS,
    as_text,
    edge_columns,
    find_column,
    id_column,
    is_distinct,
    label_column,
    list_names,
    number_of,
    require_column,
    rows_in,
    show,
)
from slimg.graph.from_edges import EdgeTable, NodeTable, as_id_column, graph_of
from slimg.graph.graph import Graph
from slimg.io import Reading, Source, read, with_name
from slimg.io.features import FeaturePlan, encode_features
from slimg.io.values import MISSING, Column, without


@dataclass(frozen=True)
class Options:
    """Which files to read, and how.

    Parameters
    ----------
    edges, nodes, labels, matrix : Source, default=None
        Files of edges, of nodes, of labels by id, and of a feature matrix. Edges or nodes are needed.
    source, target, weight : str, default=None
        Columns of the edges; None leaves the choice to slimg.
    weighted : bool, default=True
        Whether a column of weights is looked for.
    id, label : str, default=None
        Columns of the nodes; None leaves the choice to slimg.
    features : tuple of str, default=None
        Columns of the nodes that are made features; by default all others.
    ignore : tuple of str, default=()
        Columns of the nodes that are not.
    kinds : dict of str to str, default={}
        Kinds of columns (`slimg.io.values.KINDS`) that are not to be guessed.
    missing : tuple of str
        Strings read as missing.
    decimal : {".", ","}, default=None
        Decimal mark of numbers; guessed for each column by default.
    unlabelled : str, default=None
        A further string that means "no label".
    directed : bool, default=None
        Whether both directions of an edge are two edges; by default what the file says, else True.
    unknown : {"fail", "keep", "drop"}, default="fail"
        What to do with edges to ids that are not among the nodes.
    """

    edges: Source | None = None
    nodes: Source | None = None
    labels: Source | None = None
    matrix: Source | None = None
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    weighted: bool = True
    id: str | None = None
    label: str | None = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    kinds: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = MISSING
    decimal: str | None = None
    unlabelled: str | None = None
    directed: bool | None = None
    unknown: str = "fail"


@dataclass(frozen=True, eq=False)
class Inputs:
    """A graph and where it came from.

    Parameters
    ----------
    graph : Graph
        The graph of the files.
    table : DataFrame of n rows
        The node table as it was read (or the ids alone), in the order of the graph.
    id : str
        Column of ids in ``table``.
    label : str or None
        Column of labels in ``table``.
    plan : FeaturePlan or None
        How columns became features; None when features are a matrix or there are none.
    notes : tuple of str
        What was decided about the files.
    separator : str, default=None
        Separator of the file of nodes, if it is text.
    columns : dict of str to str
        The columns that were named or guessed: source, target, weight (of edges) and id.
    """

    graph: Graph
    table: pd.DataFrame
    id: str
    label: str | None
    plan: FeaturePlan | None
    notes: tuple[str, ...]
    separator: str | None = None
    columns: dict[str, Any] = field(default_factory=dict)


def read_inputs(options: Options, *, need_label: bool | None = True, plan: FeaturePlan | None = None) -> Inputs:
    """Read files into a graph.

    Parameters
    ----------
    options : Options
        Which files to read, and how.
    need_label : bool, default=True
        Whether it is an error that there are no labels; None to use a column of a usual name if there is one.
    plan : FeaturePlan, default=None
        Encodes columns as an earlier reading did; by default a new one is made.

    Returns
    -------
    Inputs
        The graph, its node table and the plan of its features.

    Raises
    ------
    InputError
        If a file cannot be read or does not fit the others; the message begins with its name.
    """
    if options.edges is None and options.nodes is None:
        raise InputError("name a file of edges with --edges, a file of nodes with --nodes, or both")
    if options.edges is not None and options.nodes is not None and options.edges.is_stdin and options.nodes.is_stdin:
        raise InputError("edges and nodes cannot both be read from the standard input: name a file for one of them")
    first = Reading() if options.edges is None else read(options.edges)
    second = first if options.nodes is None else read(options.nodes)
    if options.nodes is not None and second.frame is None:
        raise InputError(f"{options.nodes}: there is no table of nodes in it: name it with --edges or --feature-matrix")
    edges = first.edges if first.edges is not None else first.frame
    if options.edges is not None and edges is None:
        raise InputError(f"{options.edges}: there are no edges in it: name it with --feature-matrix")
    return _Joiner(options, edges, first, second).join(need_label, plan)


def with_recorded_columns(options: Options, reading: Mapping[str, Any]) -> Options:
    """Fill columns that are not named with those that were chosen for an earlier graph, so that none is guessed afresh.

    Returns
    -------
    Options
    """
    chosen: dict[str, Any] = reading.get("columns") or {}
    names = [name for name in ("source", "target", "weight", "id") if getattr(options, name) is None]
    wanted: dict[str, Any] = {name: chosen.get(name) for name in names}
    if options.nodes is None:
        wanted.pop("id", None)
    if "weight" in chosen and chosen["weight"] is None:
        wanted["weighted"] = options.weight is not None
    return replace(options, **wanted)


class _Joiner:
    """Chooses columns, matches ids and builds one graph."""

    def __init__(self, options: Options, edges: pd.DataFrame | None, first: Reading, second: Reading):
        self.options, self.first, self.second = options, first, second
        self.edges = pd.DataFrame({"source": [], "target": []}, dtype=object) if edges is None else edges
        own_file = options.nodes is not None or first.edges is not None
        self.nodes = second.frame if own_file else None
        self.notes = list(dict.fromkeys((*first.notes, *second.notes)))
        where = options.nodes or options.edges
        assert where is not None
        self.where = where
        self.columns: dict[str, Any] = {}

    def join(self, need_label: bool | None, plan: FeaturePlan | None) -> Inputs:
        options = self.options
        ends, weight, table, id_name = self._choose_columns()
        self.columns["id"] = id_name
        table = self._without_repeated_rows(table, id_name)
        ids, ends_of = comparable(table[id_name], ends)
        label_name = None
        if options.labels is not None:
            table, label_name = self._joined_labels(table, id_name, options.labels)
        elif need_label or options.label is not None or (need_label is None and find_column(table, LABELS) is not None):
            label_name = self._label(table, id_name)
        plan, features, names = self._features(table, id_name, label_name, plan)
        labels = None if label_name is None else self._labels(table, label_name)
        directed = options.directed if options.directed is not None else self.first.directed is not False
        source, target = as_id_column(ends_of[0], "edges' 'source'"), as_id_column(ends_of[1], "edges' 'target'")
        edges = EdgeTable(source, target, None if weight is None else self._weights(weight))
        nodes = NodeTable(as_id_column(ids, "nodes"), labels, features, names or None)
        try:
            graph = graph_of(edges, nodes, directed=directed, unknown=options.unknown)  # type: ignore[arg-type]
        except InputError as error:
            message = str(error).replace("unknown='keep' or unknown='drop'", "--unknown keep or --unknown drop")
            raise InputError(message) from error
        notes = tuple(dict.fromkeys((*self.notes, *graph.notes)))
        table = with_unknown_ids(table, id_name, graph)
        graph, separator = graph.with_notes(*self.notes), self.second.separator
        return Inputs(graph, table, id_name, label_name, plan, notes, separator, self.columns)

    def _without_repeated_rows(self, table: pd.DataFrame, id_name: str) -> pd.DataFrame:
        """The table without rows that are the same as an earlier one in all columns."""
        if self.options.matrix is not None or self.second.matrix is not None or is_distinct(table[id_name]):
            return table
        same = table.astype(str).duplicated().to_numpy()
        if same.any():
            self.notes.append(f"{number_of(int(same.sum()), 'row')} of the nodes repeated an earlier row and were left out.")
        return table[~same].reset_index(drop=True)

    def _choose_columns(self) -> tuple[list[pd.Series], str | None, pd.DataFrame, str]:
        """Ends of the edges, name of the column of weights, node table, and name of its column of ids."""
        options, nodes, weight = self.options, self.nodes, None
        source, target, ends_known = "source", "target", None
        if options.edges is not None:
            known = None
            if nodes is not None:
                known = as_text(nodes[options.id if options.id in nodes.columns else id_column(nodes, None, None)])
            source, target, weight = with_name(options.edges, self._edge_columns, known)
        ends = [self.edges[source], self.edges[target]]
        if nodes is None:
            table = pd.DataFrame({options.id or "id": distinct(ends)})
            return ends, weight, table, str(table.columns[0])
        if options.edges is not None:
            ends_known = as_text(pd.concat([end.iloc[:5000] for end in ends], ignore_index=True))
        name = with_name(self.where, id_column, nodes, options.id, ends_known, "--")
        if options.id is None:
            self.notes.append(f"Guessed of the nodes: id = {name!r}.")
        return ends, weight, nodes, name

    def _edge_columns(self, known: pd.Index | None) -> tuple[str, str, str | None]:
        options, edges = self.options, self.edges
        if edges.shape[1] < 2:
            only = edges.columns[0]
            raise InputError(f"edges need two columns, but there is one, {only!r}: name the separator with --separator")
        source, target, weight, guessed = edge_columns(edges, options.source, options.target, options.weight, known, "--")
        if not options.weighted and options.weight is None:
            weight, guessed = None, [item for item in guessed if not item.startswith("weight")]
        self.columns.update(source=source, target=target, weight=weight)
        if guessed:
            self.notes.append(f"Guessed of the edges: {', '.join(guessed)}.")
        unused = [name for name in edges.columns if name not in (source, target, weight)]
        if unused:
            self.notes.append(f"Columns of the edges that are not used: {list_names(unused)}.")
        return source, target, weight

    def _label(self, table: pd.DataFrame, id_name: str) -> str:
        name = with_name(self.where, label_column, table, self.options.label, "--")
        if name == id_name:
            raise InputError(f"{self.where}: column {name!r} cannot be both id and label: name another with --id or --label")
        if self.options.label is None:
            self.notes.append(f"Guessed of the nodes: label = {name!r}.")
        return name

    def _joined_labels(self, table: pd.DataFrame, id_name: str, source: Source) -> tuple[pd.DataFrame, str]:
        """The node table with the labels of a file of their own, and the name of their column."""
        frame, ids = read(source).frame, as_text(table[id_name])
        if frame is None:
            raise InputError(f"{source}: there is no table of labels in it")
        own_id = id_name if id_name in frame.columns else with_name(source, id_column, frame, None, ids)
        rest = [name for name in frame.columns if name != own_id]
        label = self.options.label
        only = rest[0] if len(rest) == 1 and label not in frame.columns else None
        name = only or with_name(source, label_column, frame, label, "--")
        keys = as_text(frame[own_id])
        twice = pd.Series(keys).duplicated().to_numpy()
        if twice.any():
            raise InputError(f"{source}: ids are there more than once: {show(keys[twice].unique())}")
        (rows,) = rows_in(keys, "ids", ids)
        found = frame[name].astype(object).to_numpy(dtype=object, na_value=None)
        lost = len(keys) - len(set(rows[rows >= 0]))
        if lost:
            self.notes.append(f"{source.path.name}: {lost:,} labels belong to ids that are not among the nodes.")
        self.notes.append(f"{source.path.name}: labels are read from column {name!r} by {own_id!r}.")
        return table.assign(**{name: np.where(rows >= 0, found[rows], None)}), name

    def _labels(self, table: pd.DataFrame, name: str) -> np.ndarray:
        options, mark = self.options, self.options.unlabelled
        absent = options.missing if mark is None else (*options.missing, mark)
        column = Column(name, table[name], absent)
        labels = column.labels
        if mark is not None and column.text is None:  # a number that means unlabelled
            marked = pc.fill_null(pc.equal(as_text(pd.Series(labels)).__arrow_array__(), mark), False)
            labels = without(labels, np.asarray(marked))
        if column.markers:
            found = ", ".join(f"{m} ({c:,})" for m, c in column.markers.items())
            self.notes.append(f"Labels that are read as missing: {found}.")
        with_name(options.nodes or options.labels or self.where, column.check_label)
        self.notes.extend(column.label_notes())
        return labels

    def _features(
        self, table: pd.DataFrame, id_name: str, label: str | None, plan: FeaturePlan | None
    ) -> tuple[FeaturePlan | None, Any, tuple[str, ...] | None]:
        matrix = self._matrix(len(table))
        if matrix is not None:
            self.notes.append(f"Features are a matrix of {matrix.shape[1]:,} columns, used as it is.")
            return None, matrix, None
        if plan is not None:
            features, news = with_name(self.where, plan.encode_with_notes, table)
            self.notes.extend(news)
            return plan, features, plan.names
        options = self.options
        for option, names in (("features", options.features or ()), ("ignore", options.ignore)):
            for name in names:
                require_column(table, name, f"--{option}")
        own = earlier_predictions(table)
        if own and options.features is None:
            self.notes.append(f"Columns of earlier predictions are not used: {list_names(own)}.")
        others = [name for name in table.columns if name not in (id_name, label, *own)]
        chosen = [name for name in (others if options.features is None else options.features) if name not in options.ignore]
        rules = (options.kinds, options.missing, options.decimal)
        plan, features = with_name(self.where, encode_features, table, chosen, *rules)
        self.notes.extend(plan.notes)
        return plan, features, plan.names

    def _matrix(self, n: int) -> Any:
        """Features that come as a matrix: a file of their own, or part of an archive that holds the nodes too."""
        source = self.options.matrix
        if source is None:
            return self.second.matrix if self.second.frame is not None else None
        matrix = read(source).matrix
        if matrix is None or matrix.ndim != 2:
            raise InputError(f"{source}: there is no matrix of features in it")
        if matrix.shape[0] != n:
            raise InputError(f"{source}: one row per node is needed: {matrix.shape[0]:,} rows, {n:,} nodes")
        return matrix

    def _weights(self, name: str) -> np.ndarray:
        numbers = Column(name, self.edges[name], self.options.missing, self.options.decimal).numbers
        if numbers is None or np.isnan(numbers).any():
            raise InputError(
                f"{self.options.edges}: weights in column {name!r} must be numbers: name another column with --weight, or"
                " ignore them with --no-weight"
            )
        return numbers


def comparable(ids: pd.Series, ends: list[pd.Series]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return ids of nodes and ends of edges in one type: as they are if all are of one type, else as text."""
    columns = (ids, *ends)
    if all(pd.api.types.is_integer_dtype(column.dtype) for column in columns):
        return _integers(ids), [_integers(end) for end in ends]
    texts = [as_text(column) for column in columns]
    return np.asarray(texts[0].to_numpy(dtype=object, na_value=None)), texts[1:]


def _integers(column: pd.Series) -> np.ndarray:
    return column.to_numpy(dtype=object, na_value=None) if column.isna().any() else column.to_numpy(dtype=np.int64)


def earlier_predictions(table: pd.DataFrame) -> list[str]:
    """Return the columns that slimg wrote beside an earlier table: prediction, probability, margin and p(CLASS)."""
    found: list[str] = []
    for prefix in ("", "slimg_"):
        three = [f"{prefix}{name}" for name in ("prediction", "probability", "margin")]
        if set(three) <= set(table.columns):
            found += [*three, *(name for name in table.columns if str(name).startswith(f"{prefix}p("))]
    return found


def with_unknown_ids(table: pd.DataFrame, id_name: str, graph: Graph) -> pd.DataFrame:
    """Return the table with a row for each id that was kept though only the edges have it."""
    if graph.n == len(table):
        return table
    unknown_ids = pd.DataFrame({id_name: graph.ids[len(table) :]})
    return pd.concat([table.astype({id_name: object}), unknown_ids], ignore_index=True)


def distinct(ends: Sequence[pd.Series]) -> np.ndarray:
    """Return the ids in the edges, in order if they are of one type."""
    found = pd.unique(pd.concat(list(ends), ignore_index=True))
    if isinstance(found, np.ndarray) and pd.api.types.infer_dtype(found) not in ("string", "integer", "floating"):
        return found
    return np.sort(found) if isinstance(found, np.ndarray) else found[found.argsort()]
