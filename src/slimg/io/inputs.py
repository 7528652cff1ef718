"""From files to a graph: edges, nodes and labels are read, their columns chosen, ids matched, columns made features.

Options ─▶ Inputs: graph (labels, features, ids as text or numbers), node table as it was read, feature plan, notes

Columns that the user does not name are chosen once, in `Joiner.choose_columns`: the usual names of ids give ids to compare the
columns of the edges with, and the ends of the edges then tell which column of the nodes holds the ids.

Several files of edges are relations, each named as its file. Several files of nodes are types: one table is made of them,
whose columns are id, type, and those of each file as ``users.age``; features of a file are zero for nodes of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import scipy.sparse as sp

from slimg.errors import InputError, is_exhausted
from slimg.graph.checks import check_ids
from slimg.graph.columns import (
    IDS,
    INDEX,
    LABELS,
    RELATIONS,
    SOURCES,
    TARGETS,
    as_text,
    codes_of,
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
from slimg.graph.from_edges import NodeTable, as_id_column, check_shared, graph_of, split
from slimg.graph.graph import Graph
from slimg.graph.relations import EdgeTable
from slimg.io import TEXT, Reading, Source, read, with_name
from slimg.io.features import FeaturePlan, encode_features, leak_notes, raise_all
from slimg.io.values import MISSING, Column, as_typed, without


@dataclass(frozen=True)
class Options:
    """Which files to read, and how.

    Parameters
    ----------
    edges, nodes : tuple of Source (or one), default=()
        Files of edges and of nodes; one of them is needed.
    labels, matrix : Source, default=None
        Files of labels by id, and of a feature matrix.
    db : Source, default=None
        A database, whose keys say what nodes and edges are (`slimg.io.schema`), instead of files.
    source, target, weight : str, default=None
        Columns of the edges; None leaves the choice to slimg.
    weighted : bool, default=True
        Whether a column of weights is looked for.
    relation : str, default=None
        Column of the edges whose values are names of relations.
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
    directed : bool or tuple of str, default=None
        Which relations keep their direction, as in `slimg.Graph.from_edges`.
    unknown : {"fail", "keep", "drop"}, default="fail"
        What to do with edges to ids that are not among the nodes.
    chosen : dict, default={}
        The columns of an earlier reading (`Inputs.columns`), for those that are not named here.

    Examples
    --------
    >>> from pathlib import Path
    >>> from slimg.io import Options, Source
    >>> Options(edges=Source(Path("pairs.csv")), directed=True).unknown
    'fail'
    """

    edges: tuple[Source, ...] = ()
    nodes: tuple[Source, ...] = ()
    labels: Source | None = None
    matrix: Source | None = None
    db: Source | None = None
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    weighted: bool = True
    relation: str | None = None
    id: str | None = None
    label: str | None = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    kinds: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = MISSING
    decimal: str | None = None
    unlabelled: str | None = None
    directed: bool | tuple[str, ...] | None = None
    unknown: str = "fail"
    chosen: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def local(self) -> Iterator[Options]:
        """Give these options with files of this computer alone; those that lie elsewhere are fetched (`slimg.io.remote`).

        Yields
        ------
        Options
        """
        others = (each for each in (self.labels, self.matrix, self.db) if each is not None)
        if not any(source.is_remote for source in (*self.edges, *self.nodes, *others)):
            yield self
            return
        from slimg.io.remote import fetched

        with fetched(self) as found:
            yield found

    def __post_init__(self) -> None:
        for kind, noun in (("edges", "relation"), ("nodes", "type of nodes")):
            given = getattr(self, kind)
            files = (given,) if isinstance(given, Source) else tuple(given or ())
            object.__setattr__(self, kind, files)
            for place, source in enumerate(files):
                for other in files[:place]:
                    if other.short_name == source.short_name:
                        raise InputError(
                            f"{other} and {source} would both be the {noun} {source.short_name!r}: name one of them, as"
                            f" --{kind} NAME={source}"
                        )


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
    columns : dict
        The columns that were named or guessed: ``edges``, for each file (source, target, weight), ``nodes``, for each file
        the id, and ``relation``. Files go by their names if there are several, else by "".
    as_read : bool, default=False
        Whether the rows of ``table`` are those of the file, which can be read again in pieces.
    stored : slimg.io.disk_tables.FileTable, default=None
        The node table, if it is read again in pieces; ``table`` has no rows then.

    Examples
    --------
    >>> from pathlib import Path
    >>> from slimg.io import Options, Source, read_inputs
    >>> _ = Path("pairs.csv").write_text("source,target\\na,b\\nb,c\\n")
    >>> inputs = read_inputs(Options(edges=Source(Path("pairs.csv"))), need_label=False)
    >>> inputs.graph, len(inputs.table)
    (Graph(3 nodes, 2 edges), 3)
    """

    graph: Graph
    table: pd.DataFrame
    id: str
    label: str | None
    plan: FeaturePlan | None
    notes: tuple[str, ...]
    separator: str | None = None
    columns: dict[str, Any] = field(default_factory=dict)
    as_read: bool = False
    stored: Any = None

    def record(self) -> dict[str, Any]:
        """Describe the columns of tables and their encoding, as plain values.

        Returns
        -------
        dict
            ``plan``, ``id``, ``label`` and ``columns``.
        """
        plan = None if self.plan is None else self.plan.as_dict()
        return {"plan": plan, "id": self.id, "label": self.label, "columns": self.columns}


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

    Examples
    --------
    >>> from pathlib import Path
    >>> from slimg.io import Options, Source, read_inputs
    >>> _ = Path("pairs.csv").write_text("source,target\\na,b\\nb,c\\n")
    >>> read_inputs(Options(edges=Source(Path("pairs.csv"))), need_label=False).graph
    Graph(3 nodes, 2 edges)
    """
    with options.local() as local:
        if local.db is not None:
            from slimg.io.schema import read_schema

            return read_schema(local, need_label, plan)
        return _read_files(local, need_label, plan)


def _read_files(options: Options, need_label: bool | None, plan: FeaturePlan | None) -> Inputs:
    if not options.edges and not options.nodes:
        raise InputError("name a file of edges with --edges, a file of nodes with --nodes, or both")
    if sum(source.is_stdin for source in (*options.edges, *options.nodes)) > 1:
        raise InputError("one table can be read from the standard input, not several: name files for the others")
    edges = [(source, read(source)) for source in options.edges]
    nodes = [(source, read(source)) for source in options.nodes]
    twice = next((source for source, reading in edges if source in options.nodes and reading.edges is None), None)
    if twice is not None and twice.data is None:
        sheet = f", or its sheets as {twice}:SHEET" if twice.suffix == ".xlsx" else ""
        raise InputError(f"{twice} is given both as --edges and as --nodes: name two tables{sheet}")
    frames = [reading.frame for _, reading in nodes if reading.frame is not None]
    for place, (source, reading) in enumerate(edges):
        if reading.frame is not None and lacks_header(source, reading.frame, frames, options.id):
            again = read(replace(source, header=False))
            edges[place] = source, replace(again, notes=(*again.notes, f"{source.path.name}: {NO_HEADER}"))
    _check_order(options, edges, nodes)
    for source, reading in edges:
        if reading.edges is None and reading.frame is None:
            raise InputError(f"{source}: there are no edges in it: name it with --feature-matrix")
    for source, reading in nodes:
        if reading.frame is None:
            raise InputError(f"{source}: there is no table of nodes in it: name it with --edges or --feature-matrix")
        if reading.frame.empty:
            raise InputError(f"{source}: the table of nodes is empty: it needs at least one row")
    if not nodes:  # files of edges that hold the nodes too
        nodes = [(source, reading) for source, reading in edges if reading.edges is not None and reading.frame is not None]
        if len(nodes) > 1:
            raise InputError(f"{nodes[0][0]} and {nodes[1][0]} both hold nodes: name the file of nodes with --nodes")
    return Joiner(options, edges, nodes).join(need_label, plan)


def _check_order(options: Options, edges: Files, nodes: Files) -> None:
    """Raise an error where a table of nodes is given as edges: by the column of labels, or where only the other has ends."""
    given = {source: reading.frame for source, reading in edges if reading.edges is None and reading.frame is not None}
    tables = [reading.frame for _, reading in nodes if reading.frame is not None]

    def are_edges(frame: pd.DataFrame) -> bool:
        named = all(find_column(frame, names) is not None for names in (SOURCES, TARGETS))
        return named and not any(is_distinct(frame[name]) for name in frame.columns if name != INDEX)

    named = options.label is not None and options.labels is None
    found = [source for source, frame in given.items() if named and options.label in frame.columns]
    if any(options.label in frame.columns for frame in tables):
        found = []
    if not found and any(map(are_edges, tables)) and all(find_column(frame, SOURCES) is None for frame in given.values()):
        found = list(given)
    if found and not nodes:
        raise InputError(f"{found[0]} has the column of labels {options.label!r}: name it with --nodes, not --edges")
    if found:
        other = nodes[0][0]
        raise InputError(f"{found[0]} looks like the table of nodes, {other} like that of edges: exchange --edges and --nodes")


def lacks_header(source: Source, edges: pd.DataFrame, nodes: Sequence[pd.DataFrame], id: str | None) -> bool:
    """Return whether the first line of a text file of edges, which was taken for names of columns, is an edge."""
    if source.header is not None or source.suffix not in TEXT or edges.shape[1] not in (2, 3):
        return False
    names, ends = list(edges.columns[:2]), [edges.iloc[:, place] for place in (0, 1)]
    if find_column(edges, (*SOURCES, *TARGETS)) is not None:
        return False
    ids = [frame[id if id in frame.columns else id_column(frame, None, None)] for frame in nodes]
    if any((column == name).any() for name in names for column in ids):
        return True
    return all(any((column == name).any() for column in ends) for name in names)


def with_recorded_columns(options: Options, reading: Mapping[str, Any]) -> Options:
    """Fill columns that are not named with those that were chosen for an earlier graph, so that none is guessed afresh.

    Returns
    -------
    Options
    """
    chosen: dict[str, Any] = reading.get("columns") or {}
    return replace(options, chosen=chosen, relation=options.relation or chosen.get("relation"))


Files: TypeAlias = "list[tuple[Source, Reading]]"
NO_HEADER = "The first line is an edge, not names of columns."
TYPE = "type"
"""Column of the types of nodes, if there are several files of nodes."""


class Joiner:
    """Chooses columns, matches ids and builds one graph; `slimg.io.disk_tables` gives it the first rows and asks for columns."""

    def __init__(self, options: Options, edges: Files, nodes: Files):
        self.options: Options = options
        self.nodes: Files = nodes
        self.frames: list[pd.DataFrame] = [reading.frame for _, reading in nodes if reading.frame is not None]
        self.first: Reading | None = edges[0][1] if edges else None
        self.edges: list[tuple[Source, pd.DataFrame, bool]] = [
            (source, _edge_frame(reading), reading.directed is False) for source, reading in edges
        ]
        self.second: Reading = nodes[0][1] if nodes else (self.first or Reading())
        self.notes: list[str] = list(dict.fromkeys(note for _, reading in (*edges, *nodes) for note in reading.notes))
        self.where: Source = (nodes or edges)[0][0]
        self.columns: dict[str, Any] = {"edges": {}, "nodes": {}, "relation": options.relation}

    def join(self, need_label: bool | None, plan: FeaturePlan | None) -> Inputs:
        chosen, table, id_name = self.choose_columns()
        options, problems = self.options, list[str]()

        def attempt(function: Callable[..., Any], *arguments: Any, otherwise: Any = None) -> Any:
            """What a function returns; what it finds wrong is told together with all else."""
            try:
                return function(*arguments)
            except InputError as error:
                if is_exhausted(error):
                    raise
                problems.append(str(error))
                return otherwise

        repeated = not is_distinct(table[id_name])
        if repeated and options.matrix is None and self.second.matrix is None:
            table = self._without_repeated_rows(table, "nodes")
        own, streams = (self.nodes[0][1].frame, self.nodes[0][1].streams) if len(self.nodes) == 1 else (None, False)
        as_read = streams and table is own
        ids, ends = comparable(table[id_name], [frame[name] for _, frame, _, names in chosen for name in names[:2]])
        ids = attempt(with_name, self.where, as_id_column, ids, f"ids in column {id_name!r}", 1, otherwise=ids)
        types = table[TYPE].to_numpy(object) if len(self.nodes) > 1 else None
        if types is not None:
            attempt(check_shared, {str(name): ids[types == name] for name in pd.unique(types)})
        elif repeated:
            attempt(with_name, self.where, check_ids, ids, f"ids in column {id_name!r}")
        tables = [each for k, edges in enumerate(chosen)
                  for each in attempt(self._edge_tables, edges, *ends[2 * k : 2 * k + 2], otherwise=())]  # fmt: skip
        can_be_joined, label_name, is_new = not problems, None, plan is None
        if options.labels is not None:
            table, label_name = self._joined_labels(table, id_name, options.labels)
        elif need_label or options.label is not None or (need_label is None and find_column(table, LABELS) is not None):
            label_name = attempt(self.find_label, table, id_name)
        plan, features, names = attempt(self._features, table, id_name, label_name, plan, otherwise=(None,) * 3)
        labels = None if label_name is None else attempt(self.labels, table, label_name, need_label)
        nodes = NodeTable(ids, labels, features, names or None, types=types)
        graph: Any = attempt(self._graph, tables, nodes) if can_be_joined else None
        raise_all(problems)
        if is_new:
            self.notes += leak_notes(graph, plan)
        notes = tuple(dict.fromkeys((*self.notes, *graph.notes)))
        table = with_unknown_ids(table, id_name, graph)
        graph, separator = graph.with_notes(*self.notes), self.second.separator
        as_read = as_read and table is own
        inputs = Inputs(graph, table, id_name, label_name, plan, notes, separator, self.columns, as_read)
        return replace(inputs, graph=graph.with_reading(inputs.record()))

    def _graph(self, tables: list[EdgeTable], nodes: NodeTable) -> Graph:
        options, empty = self.options, EdgeTable(np.empty(0, object), np.empty(0, object))
        rules: dict[str, Any] = {"directed": options.directed, "unknown": options.unknown, "option": "--directed"}
        try:
            return graph_of(tables or [empty], nodes, **rules)
        except InputError as error:
            zeros = any(text.startswith("0") and text.isdigit() and len(text) > 1 for text in map(str, nodes.ids[:1000]))
            alike = " (leading zeros count: write ids of nodes and edges alike)" if zeros else ""
            message = str(error).replace("unknown='keep' or unknown='drop'", f"--unknown keep or --unknown drop{alike}")
            raise type(error)(message.replace(" for directed:", " for --directed:")) from error

    def _without_repeated_rows(self, table: pd.DataFrame, what: str) -> pd.DataFrame:
        """The table without rows that are the same as an earlier one in all columns."""
        same = table.astype(str).duplicated().to_numpy()
        if same.any():
            self.notes.append(f"Repetitions of an earlier row of the {what} left out: {same.sum():,}.")
        return table[~same].reset_index(drop=True)

    def _without_empty_rows(self, frame: pd.DataFrame, names: Sequence[str], source: Source) -> pd.DataFrame:
        """The table without rows that hold nothing, as spreadsheets leave them below a table."""

        def is_empty(column: pd.Series) -> np.ndarray:
            try:
                return (column.isna() | column.eq("").fillna(True)).to_numpy(bool)
            except ValueError:  # of arrays
                return column.isna().to_numpy(bool)

        empty = np.logical_and.reduce([is_empty(frame[name]) for name in names])
        if not empty.any():
            return frame
        rows = frame[empty]
        empty[empty] = np.logical_and.reduce([is_empty(rows.iloc[:, place]) for place in range(rows.shape[1])])
        if empty.any():
            self.notes.append(f"{source.path.name}: {number_of(int(empty.sum()), 'row')} without any value left out.")
        return frame[~empty].reset_index(drop=True)

    def choose_columns(self) -> tuple[list[_Chosen], pd.DataFrame, str]:
        """Edges with the names of their columns, node table, and name of its column of ids."""
        options, frames = self.options, self.frames
        known = None
        if frames and self.edges:
            named = [self._own_id(source, frame) for (source, _), frame in zip(self.nodes, frames, strict=True)]
            pairs = zip(named, frames, strict=True)
            likely = [frame[name if name in frame.columns else id_column(frame, None, None)] for name, frame in pairs]
            known = as_text(pd.concat(likely, ignore_index=True) if len(likely) > 1 else likely[0])
        for what in ("source", "target", "weight", "relation"):
            name = getattr(options, what)
            if self.edges and not any(name in frame.columns for _, frame, _ in self.edges):
                source, frame, _ = self.edges[0]
                with_name(source, require_column, frame, name, f"--{what}")
        chosen = []
        for source, frame, mutual in self.edges:
            names = with_name(source, self._edge_columns, source, frame, known)
            chosen.append((source, self._without_empty_rows(frame, names[:2], source), mutual, names))
        ends = [frame[name] for _, frame, _, names in chosen for name in names[:2]]
        if not frames:
            table = pd.DataFrame({options.id or "id": distinct(ends)})
            return chosen, table, str(table.columns[0])
        ends_known = as_text(pd.concat([end.iloc[:5000] for end in ends], ignore_index=True)) if ends else None
        if options.id is not None and not any(options.id in frame.columns for frame in frames):
            with_name(self.where, require_column, frames[0], options.id, "--id")
        ids = []
        for (source, _), frame in zip(self.nodes, frames, strict=True):
            own = self._own_id(source, frame)
            ids.append(with_name(source, id_column, frame, own, ends_known, "--"))
            frame = frame.drop(columns=INDEX) if INDEX in frame.columns and ids[-1] != INDEX else frame
            frames[len(ids) - 1] = self._without_empty_rows(frame, ids[-1:], source)
            self.columns["nodes"][self._key(source, self.nodes)] = ids[-1]
            if own is None:
                self.notes.append(f"{self._file(source, self.nodes)}Guessed for the nodes: id = {ids[-1]!r}.")
                if (usual := find_column(frame, IDS[:3])) not in (None, ids[-1]):
                    self.notes.append(f"Check the ids: edges name values of {ids[-1]!r} rather than {usual!r}; --id decides.")
        table, name = (frames[0], ids[0]) if len(frames) == 1 else self._merged(ids)
        return chosen, table, name

    def _edge_columns(self, source: Source, frame: pd.DataFrame, known: pd.Index | None) -> tuple[str, str, str | None]:
        """Names of the columns of source, target and weight."""
        options, file = self.options, self._file(source, self.edges)
        rest = frame.drop(columns=options.relation) if options.relation in frame.columns else frame
        if rest.shape[1] < 2:
            only = rest.columns[0]
            raise InputError(f"edges need two columns, but there is one, {only!r}: name the separator with --separator")
        key, named = self._key(source, self.edges), (options.source, options.target, options.weight)
        before = options.chosen.get("edges", {}).get(key)
        own = [name if name in rest.columns else old for name, old in zip(named, before or (None,) * 3, strict=True)]
        for what, old in zip(("source", "target"), own, strict=False):
            if old is not None and old not in rest.columns:
                raise InputError(f"there is no column {old!r}, from which the {what} was read when the model was fitted: the"
                                 f" columns are {list_names(rest.columns)}; name one with --{what}")  # fmt: skip
        first, second, weight, guessed = edge_columns(rest, own[0], own[1], own[2], known, "--")
        if weight in (first, second) or (options.weight is not None and not options.weighted):
            other = "--no-weight" if not options.weighted else f"--{'source' if weight == first else 'target'} {weight}"
            raise InputError(f"--weight {options.weight} and {other} exclude each other: leave out one")
        if weight != options.weight and (not options.weighted or (before is not None and own[2] is None)):
            weight, guessed = None, [item for item in guessed if not item.startswith("weight")]
        self.columns["edges"][key] = (first, second, weight)
        if guessed:
            self.notes.append(f"{file}Guessed for the edges: {', '.join(guessed)}.")
        unused = [name for name in rest.columns if name not in (first, second, weight)]
        if unused:
            kind = find_column(rest[unused], RELATIONS)
            advice = "" if kind is None else f" (--relation {kind} makes each of its values a relation)"
            self.notes.append(f"{file}Columns of the edges that are not used: {list_names(unused)}{advice}.")
        return first, second, weight

    def _edge_tables(self, chosen: _Chosen, first: np.ndarray, second: np.ndarray) -> list[EdgeTable]:
        """The relations of one file."""
        source, frame, mutual, (*ends, weight) = chosen
        named = isinstance(self.options.directed, tuple) and source.short_name in self.options.directed
        name = source.short_name if len(self.edges) > 1 or source.name is not None or named else None
        first, second = (with_name(source, as_id_column, ids, f"ids in column {end!r}", 1)
                         for ids, end in zip((first, second), ends, strict=True))  # fmt: skip
        weights = None if weight is None else self.weights(source, frame, weight)
        if weights is not None and len(weights):
            check_some(source, weight, bool(weights.any()))
        table = EdgeTable(first, second, weights, (), name, mutual)
        column = self.options.relation
        if column is None or column not in frame.columns:
            return [table]
        return with_name(source, split, table, Column(column, frame[column], self.options.missing).labels, column)

    def _merged(self, ids: list[str]) -> tuple[pd.DataFrame, str]:
        """One table of several types of nodes; the options then name its columns."""
        names = [source.short_name for source, _ in self.nodes]
        id_name = ids[0] if len(set(ids)) == 1 and ids[0] != TYPE else "id"
        parts = []
        for name, own, frame in zip(names, ids, self.frames, strict=True):
            renamed = frame.rename(columns={c: id_name if c == own else f"{name}.{c}" for c in frame.columns})
            renamed.insert(1, TYPE, name)
            whole = [c for c in renamed.columns if c != id_name and pd.api.types.is_integer_dtype(renamed[c].dtype)]
            parts.append(renamed.astype(dict.fromkeys(whole, "Int64")))  # which stays whole where other types have none
        table = pd.concat(parts, ignore_index=True)
        table = table[[id_name, TYPE, *(c for c in table.columns if c not in (id_name, TYPE))]]

        def columns(given: str) -> list[str]:
            return [given] if given in table.columns else [c for name in names if (c := f"{name}.{given}") in table.columns]

        options = self.options
        label = columns(options.label) if options.label is not None else [
            f"{name}.{found}" for name, frame in zip(names, self.frames, strict=True)
            if (found := find_column(frame, LABELS)) is not None
        ]  # fmt: skip
        if len(label) > 1:
            raise InputError(f"the label can be a column of one file: name one of {', '.join(label)} with --label")
        self.options = replace(
            options,
            label=label[0] if label else options.label,
            features=None if options.features is None else tuple(c for f in options.features for c in columns(f) or [f]),
            ignore=tuple(c for f in options.ignore for c in columns(f) or [f]),
            kinds={c: kind for f, kind in options.kinds.items() for c in columns(f) or [f]},
        )
        return table, id_name

    def _own_id(self, source: Source, frame: pd.DataFrame) -> str | None:
        """The column of ids that is named, else that of an earlier reading."""
        named = self.options.id
        return named if named in frame.columns else self.options.chosen.get("nodes", {}).get(self._key(source, self.nodes))

    @staticmethod
    def _key(source: Source, files: Sequence[Any]) -> str:
        """The name of a file in the record of columns."""
        return source.short_name if len(files) > 1 else ""

    @staticmethod
    def _file(source: Source, files: Sequence[Any]) -> str:
        """The name of a file in front of a note, if there are several of its kind."""
        return f"{source.path.name}: " if len(files) > 1 else ""

    def find_label(self, table: pd.DataFrame, id_name: str) -> str:
        if not self.frames:
            raise InputError(f"{self.where}: edges alone have no labels: name a table of nodes with --nodes and its column of"
                             " labels with --label, or a table of ids and labels with --labels")  # fmt: skip
        name = with_name(self.where, label_column, table, self.options.label, "--")
        if name == id_name:
            raise InputError(f"{self.where}: column {name!r} cannot be both id and label: name another with --id or --label")
        if self.options.label is None:
            self.notes.append(f"Guessed for the nodes: label = {name!r}.")
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
        if not is_distinct(frame[own_id]):
            frame = self._without_repeated_rows(frame, "labels")
        keys = as_text(frame[own_id])
        with_name(source, check_ids, keys.dropna(), f"ids in column {own_id!r}")
        (rows,) = rows_in(keys, "ids", ids)
        found = frame[name].astype(object).to_numpy(dtype=object, na_value=None)
        lost = len(keys) - len(set(rows[rows >= 0]))
        if lost:
            self.notes.append(f"{source.path.name}: {lost:,} labels belong to ids that are not among the nodes.")
        self.notes.append(f"{source.path.name}: labels are read from column {name!r} by {own_id!r}.")
        return table.assign(**{name: np.where(rows >= 0, found[rows], None)}), name

    def labels(self, table: pd.DataFrame, name: str, needed: bool | None = None) -> np.ndarray:
        options, mark = self.options, self.options.unlabelled
        column = Column(name, table[name], options.missing)
        labels = column.labels
        if column.markers:
            found = ", ".join(f"{text!r} ({count:,})" for text, count in column.markers.items())
            self.notes.append(f"Check the labels: {found} read as no label; --missing '' reads such texts as classes.")
        if mark is not None:
            marked = np.asarray(pc.fill_null(pc.equal(as_text(pd.Series(labels)).__arrow_array__(), mark), False))
            column = Column(name, labels := without(labels, marked), options.missing)
            count = int(marked.sum())
            self.notes.append(f"Labels read as no label: {mark!r} ({count:,})." if count else
                              f"Check --unlabelled {as_typed(mark)}: no label is {mark!r}.")  # fmt: skip
        where = self.where if options.nodes else options.labels or self.where
        self.notes.extend(with_name(where, column.check_label))
        if needed and column.missing.all():
            raise InputError(f"{where}: column {name!r} has no label in any row: fill in some, or name another with --label")
        return labels

    def _features(
        self, table: pd.DataFrame, id_name: str, label: str | None, plan: FeaturePlan | None
    ) -> tuple[FeaturePlan | None, Any, tuple[str, ...] | None]:
        matrix = self._matrix(len(table))
        if matrix is not None:
            self.notes.append(f"Features are a matrix of {matrix.shape[1]:,} columns, used as it is.")
            return None, matrix, None
        several = len(self.nodes) > 1
        if plan is not None:
            encode = partial(_encode_types, plan) if several else plan.encode_with_notes
            features, news = with_name(self.where, encode, table)
            self.notes.extend(news)
            return plan, features, plan.names
        options = self.options
        chosen, kinds = self.feature_columns(table, id_name, label), options.kinds
        if several:
            chosen, kinds = list(dict.fromkeys((TYPE, *chosen))), {**kinds, TYPE: "category"}
            bare = [name for name in pd.unique(table[TYPE]) if not any(c.startswith(f"{name}.") for c in chosen)]
            if bare:
                self.notes.append(f"Nodes without features, of which the type and the edges alone tell: {show(bare)}.")
        rules = (kinds, options.missing, options.decimal)
        make = _plan_types if several else encode_features
        plan, features = with_name(self.where, make, table, chosen, *rules)
        self.notes.extend(plan.notes)
        return plan, features, plan.names

    def feature_columns(self, table: pd.DataFrame, id_name: str, label: str | None) -> list[str]:
        """Names of the columns that become features: those that are named, or all others."""
        options = self.options
        named = [("features", name) for name in options.features or ()] + [("ignore", name) for name in options.ignore]
        for option, name in (*named, *(("text" if kind == "words" else kind, name) for name, kind in options.kinds.items())):
            require_column(table, name, f"--{option}")
            if name == label or (name == id_name and option != "ignore"):
                role = "label" if name == label else "id"
                raise InputError(f"column {name!r} is the {role}: leave it out of --{option}, or name another with --{role}")
            if option != "ignore" and name in options.ignore:
                raise InputError(f"column {name!r} is named by --{option} and by --ignore: leave it out of one")
        own = earlier_predictions(table)
        if own and options.features is None:
            self.notes.append(f"Columns of earlier predictions are not used: {list_names(own)}.")
        first = table.columns[0]
        if options.features is None and first not in (id_name, label) and is_row_number(first, table[first]):
            own.append(first)
            self.notes.append(f"Column {first!r} numbers the rows, and is not used.")
        others = [name for name in table.columns if name not in (id_name, label, *own)]
        return [name for name in (others if options.features is None else options.features) if name not in options.ignore]

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

    def weights(self, source: Source, frame: pd.DataFrame, name: str, start: int = 0) -> np.ndarray:
        """The weights of edges, of a piece of a file from row ``start`` on; one that is missing or negative is an error."""
        numbers = Column(name, frame[name], self.options.missing, self.options.decimal).numbers
        wrong = np.ones(len(frame), bool) if numbers is None else ~(numbers >= 0)
        if wrong.any():
            row = int(np.argmax(wrong))
            given = show([str(frame[name].iloc[row])])
            found = f"{int(wrong.sum()):,} of {len(wrong):,} are not (row {start + row + 1:,}: {given})"
            raise InputError(
                f"{source}: weights in column {name!r} must be numbers from 0 on, but {found}: correct them, name"
                " another column with --weight, or ignore them with --no-weight"
            )
        return np.asarray(numbers)


_Chosen: TypeAlias = "tuple[Source, pd.DataFrame, bool, tuple[str, str, str | None]]"


def _edge_frame(reading: Reading) -> pd.DataFrame:
    frame = reading.frame if reading.edges is None else reading.edges
    assert frame is not None
    return frame


def check_some(source: Source, weight: str | None, found: bool) -> None:
    """Raise an error for edges that all weigh 0."""
    if not found:
        raise InputError(f"{source}: all weights in column {weight!r} are 0, so that no edge counts: use --no-weight")


def _plan_types(table: pd.DataFrame, columns: list[str], *rules: Any) -> tuple[FeaturePlan, sp.csr_array]:
    """A plan for nodes of several types, each planned and encoded on its own rows, and the features."""
    plans = [encode_features(rows, own, *rules)[0] for rows, own in _by_type(table, columns, str)]
    first, *rest = (block for plan in plans for block in plan.blocks)
    blocks = (replace(first, names=tuple(f"{TYPE}={key}" for key in first.keys)), *rest)
    notes = tuple(note for plan in plans for note in plan.notes)
    plan = FeaturePlan(blocks, notes, plans[0].absent)
    return plan, _encode_types(plan, table)[0]


def _encode_types(plan: FeaturePlan, table: pd.DataFrame) -> tuple[sp.csr_array, list[str]]:
    """Features of nodes of several types, zero where a column is not one of the node's type; and notes."""
    parts, notes, places = [], list[str](), np.arange(len(table))
    for rows, blocks in _by_type(table.set_axis(places), plan.blocks, lambda block: block.columns[0]):
        own, told = replace(plan, blocks=tuple(blocks)).encode_with_notes(rows)
        entries = sp.coo_array(own)
        at = entries.data, (rows.index.to_numpy()[entries.row], entries.col)
        parts.append(sp.csr_array(sp.coo_array(at, shape=(len(table), entries.shape[1]))))
        notes += told
    return sp.csr_array(sp.hstack(parts, format="csr")), notes


def _by_type(table: pd.DataFrame, items: Iterable[Any], column: Callable[[Any], str]) -> Iterator[tuple[pd.DataFrame, list[Any]]]:
    """Rows of each type with what belongs to its columns; first all rows with what belongs to no type."""
    types = [str(name) for name in pd.unique(table[TYPE])]
    owners: dict[str | None, list[Any]] = {None: []}
    for item in items:
        owners.setdefault(next((name for name in types if column(item).startswith(f"{name}.")), None), []).append(item)
    for name, own in owners.items():
        yield table if name is None else table[table[TYPE].astype(str) == name], own


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


def is_row_number(name: Any, values: pd.Series) -> bool:
    """Return whether a column without a name of its own, as pandas writes its index, counts the rows from 0 or 1."""
    if str(name).lower() not in ("column 1", "unnamed: 0", "index", "level_0", "row", "rownames"):
        return False
    numbers = Column(str(name), values).numbers
    return numbers is not None and any(np.array_equal(numbers, np.arange(first, first + len(values))) for first in (0, 1))


def with_unknown_ids(table: pd.DataFrame, id_name: str, graph: Graph) -> pd.DataFrame:
    """Return the table with a row for each id that was kept though only the edges have it."""
    if graph.n == len(table):
        return table
    unknown_ids = pd.DataFrame({id_name: graph.ids[len(table) :]})
    return pd.concat([table.astype({id_name: object}), unknown_ids], ignore_index=True)


def distinct(ends: Sequence[pd.Series]) -> np.ndarray:
    """Return the ids in the edges, in order if they are of one type."""
    if len({pd.api.types.is_integer_dtype(end.dtype) for end in ends}) > 1:
        ends = [pd.Series(as_text(end)) for end in ends]
    return codes_of(pd.concat(list(ends), ignore_index=True).array, "ids of the edges")[0]
