"""From files to a graph: edges, nodes and labels are read, their columns chosen, ids matched, columns made features.

Options ─▶ Inputs: graph (labels, features, ids as text or numbers), node table as it was read, feature plan, notes
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from slimg.errors import InputError
from slimg.graph.columns import as_text, edge_columns, id_column, label_column, list_names, require_column, show, text_of
from slimg.graph.graph import Graph
from slimg.io.features import FeaturePlan, plan_features
from slimg.io.formats import read
from slimg.io.matching import comparable, distinct, graph_of, with_strangers
from slimg.io.source import Reading, Source
from slimg.io.source import named as naming
from slimg.io.values import MISSING, as_numbers, check_label, cleaned, markers, without


@dataclass(frozen=True)
class Options:
    """What the user says; None leaves it to a guess. Files are given as `Source`s."""

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
    unlabelled: str | None = None
    directed: bool | None = None
    unknown: str = "fail"


@dataclass(frozen=True, eq=False)
class Inputs:
    """A graph and where it came from.

    Attributes
    ----------
    table : the node table as it was read (or the ids alone), one row per node of ``graph`` in its order
    id, label : names of these columns in ``table`` (label may be None)
    plan : how columns became features; None when features are a matrix or there are none
    """

    graph: Graph
    table: pd.DataFrame
    id: str
    label: str | None
    plan: FeaturePlan | None
    notes: tuple[str, ...]
    separator: str | None = None


def read_inputs(options: Options, *, need_label: bool = True, plan: FeaturePlan | None = None) -> Inputs:
    """Read everything; ``plan`` encodes columns as an earlier reading did."""
    if options.edges is None and options.nodes is None:
        raise InputError("name a file of edges with --edges, a file of nodes with --nodes, or both")
    first = Reading() if options.edges is None else read(options.edges)
    second = first if options.nodes is None else read(options.nodes)
    if options.nodes is not None and second.frame is None:
        raise InputError(f"{options.nodes}: there is no table of nodes in it: name it with --edges or --feature-matrix")
    notes = list(dict.fromkeys((*first.notes, *second.notes)))
    edges = first.edges if first.edges is not None else first.frame
    if options.edges is not None and edges is None:
        raise InputError(f"{options.edges}: there are no edges in it: name it with --feature-matrix")
    if edges is None:
        edges = pd.DataFrame({"source": [], "target": []}, dtype=object)
    nodes = _nodes(first, second, options)
    return _Joiner(options, edges, nodes, notes, need_label).join(first, second, plan)


def _nodes(first: Reading, second: Reading, options: Options) -> pd.DataFrame | None:
    """The node table: a file of its own, or the nodes of the file of edges if that holds both."""
    if options.nodes is not None:
        return second.frame
    return first.frame if first.edges is not None else None


class _Joiner:
    """Columns chosen, ids matched, one graph built."""

    def __init__(
        self, options: Options, edges: pd.DataFrame, nodes: pd.DataFrame | None, notes: list[str], need_label: bool
    ):
        self.options, self.edges, self.nodes = options, edges, nodes
        self.notes, self.need_label = notes, need_label

    def join(self, first: Reading, second: Reading, plan: FeaturePlan | None) -> Inputs:
        options = self.options
        source, target, weight = self._edge_columns()
        ends = [self.edges[name] for name in (source, target)]
        table, id_name = self._table(ends)
        ids, ends_of = comparable(table[id_name], ends)
        label_name = self._label(table, id_name, ids)
        table = self.nodes if self.nodes is not None else table
        matrix = self._matrix(first, second, len(table))
        plan, features, names = self._features(table, id_name, label_name, matrix, plan)
        labels = None if label_name is None else self._labels(table, label_name)
        directed = options.directed if options.directed is not None else first.directed is not False
        columns = {"source": ends_of[0], "target": ends_of[1]}
        if weight is not None:
            columns["weight"] = self._weights(weight)
        graph = graph_of(columns, ids, labels, features, names, directed, options.unknown)
        table = with_strangers(table, id_name, graph)
        notes = tuple(dict.fromkeys((*self.notes, *graph.notes)))
        return Inputs(graph.with_notes(*self.notes), table, id_name, label_name, plan, notes, second.separator)

    def _edge_columns(self) -> tuple[str, str, str | None]:
        options = self.options
        known = None
        if self.nodes is not None:
            name = options.id if options.id in self.nodes.columns else id_column(self.nodes, None, None)
            known = as_text(self.nodes[name])
        if options.edges is None:
            return "source", "target", None
        asked = options.source, options.target, options.weight
        source, target, weight, guessed = naming(options.edges, _ends, self.edges, *asked, known)
        if not options.weighted and options.weight is None:
            weight, guessed = None, [item for item in guessed if not item.startswith("weight")]
        if guessed:
            self.notes.append(f"Guessed of the edges: {', '.join(guessed)}.")
        unused = [name for name in self.edges.columns if name not in (source, target, weight)]
        if unused:
            self.notes.append(f"Columns of the edges that are not used: {list_names(unused)}.")
        return source, target, weight

    def _table(self, ends: list[pd.Series]) -> tuple[pd.DataFrame, str]:
        """The node table, or one of the ids in the edges; and its column of ids."""
        options = self.options
        if self.nodes is None:
            self.nodes = pd.DataFrame({options.id or "id": distinct(ends)})
            return self.nodes, str(self.nodes.columns[0])
        where = options.nodes or options.edges
        assert where is not None
        known = as_text(pd.concat([end.iloc[:5000] for end in ends], ignore_index=True)) if options.edges else None
        name = naming(where, id_column, self.nodes, options.id, known, "--")
        if options.id is None:
            self.notes.append(f"Guessed of the nodes: id = {name!r}.")
        return self.nodes, name

    def _label(self, table: pd.DataFrame, id_name: str, ids: np.ndarray) -> str | None:
        """The column of labels; labels from a file of their own are joined to the table first."""
        options = self.options
        if options.labels is not None:
            return self._joined_labels(table, id_name)
        where = options.nodes or options.edges
        assert where is not None
        if not self.need_label and options.label is None:
            return None
        name = naming(where, label_column, table, options.label, "--")
        if name == id_name:
            raise InputError(f"{where}: column {name!r} cannot be both id and label: name another with --id or --label")
        if options.label is None:
            self.notes.append(f"Guessed of the nodes: label = {name!r}.")
        return name

    def _joined_labels(self, table: pd.DataFrame, id_name: str) -> str:
        options, source = self.options, self.options.labels
        assert source is not None
        frame = read(source).frame
        if frame is None:
            raise InputError(f"{source}: there is no table of labels in it")
        own_id = id_name if id_name in frame.columns else naming(source, id_column, frame, None, as_text(table[id_name]))
        rest = [name for name in frame.columns if name != own_id]
        name = options.label if options.label in frame.columns else (rest[0] if len(rest) == 1 else None)
        name = name or naming(source, label_column, frame, options.label, "--")
        keys = as_text(frame[own_id])
        if keys.duplicated().any():
            raise InputError(f"{source}: ids are there more than once: {show(keys[keys.duplicated()].unique())}")
        rows = keys.get_indexer(as_text(table[id_name]))
        found = frame[name].astype(object).to_numpy(dtype=object, na_value=None)
        lost = len(keys) - len(set(rows[rows >= 0]))
        if lost:
            self.notes.append(f"{source.path.name}: {lost:,} labels belong to ids that are not among the nodes.")
        self.notes.append(f"{source.path.name}: labels are read from column {name!r} by {own_id!r}.")
        self.nodes = table.assign(**{name: np.where(rows >= 0, found[rows], None)})
        return name

    def _labels(self, table: pd.DataFrame, name: str) -> np.ndarray:
        absent = (*self.options.missing, *([self.options.unlabelled] if self.options.unlabelled is not None else []))
        labels = cleaned(table[name], absent)
        if self.options.unlabelled is not None:
            labels = without(labels, text_of(labels) == self.options.unlabelled)
        said = {mark: count for mark, count in markers(table[name], absent).items()}
        if said:
            self.notes.append(f"Labels that are read as missing: {', '.join(f'{m} ({c:,})' for m, c in said.items())}.")
        naming(self.options.nodes or self.options.labels or self.options.edges, check_label, name, labels)  # type: ignore[arg-type]
        return labels

    def _features(
        self, table: pd.DataFrame, id_name: str, label: str | None, matrix: Any, plan: FeaturePlan | None
    ) -> tuple[FeaturePlan | None, Any, tuple[str, ...] | None]:
        if matrix is not None:
            self.notes.append(f"Features are a matrix of {matrix.shape[1]:,} columns, used as it is.")
            return None, matrix, None
        where = self.options.nodes or self.options.edges
        assert where is not None
        if plan is None:
            chosen = self._feature_columns(table, id_name, label)
            plan = naming(where, plan_features, table, chosen, self.options.kinds, self.options.missing)
            self.notes.extend(plan.notes)
        return plan, naming(where, plan.encode, table), plan.names

    def _feature_columns(self, table: pd.DataFrame, id_name: str, label: str | None) -> list[str]:
        for option, names in (("features", self.options.features or ()), ("ignore", self.options.ignore)):
            for name in names:
                require_column(table, name, f"--{option}")
        if self.options.features is not None:
            return [name for name in self.options.features if name not in self.options.ignore]
        return [name for name in table.columns if name not in (id_name, label, *self.options.ignore)]

    def _matrix(self, first: Reading, second: Reading, n: int) -> Any:
        """Features that come as a matrix: a file of their own, or part of an archive that holds the nodes too."""
        if self.options.matrix is not None:
            matrix = read(self.options.matrix).matrix
            if matrix is None or matrix.ndim != 2:
                raise InputError(f"{self.options.matrix}: there is no matrix of features in it")
            if matrix.shape[0] != n:
                raise InputError(f"{self.options.matrix}: one row per node is needed: {matrix.shape[0]:,} rows, {n:,} nodes")
            return matrix
        holder = second if self.options.nodes is not None else first
        return holder.matrix if holder.frame is not None else None

    def _weights(self, name: str) -> np.ndarray:
        numbers = as_numbers(cleaned(self.edges[name], self.options.missing))
        if numbers is None or np.isnan(numbers).any():
            raise InputError(
                f"{self.options.edges}: weights in column {name!r} must be numbers: name another column with --weight, or"
                " ignore them with --no-weight"
            )
        return numbers


def _ends(
    edges: pd.DataFrame, source: str | None, target: str | None, weight: str | None, ids: pd.Index | None
) -> tuple[str, str, str | None, list[str]]:
    if edges.shape[1] < 2:
        only = edges.columns[0]
        raise InputError(f"edges need two columns, but there is one, {only!r}: name the separator with --separator")
    return edge_columns(edges, source, target, weight, ids, "--")
