"""A whole database as a graph: its keys say what its nodes and edges are.

    table with a primary key                   nodes, a type of its own; their id is TABLE:KEY if there are several such tables
    its foreign keys                           directed relations TABLE.COLUMN, from each row to the row it names
    link table: two foreign keys and at most   directed edges from the row that its first foreign key names to that of the
    a key of its own, which nobody refers to   second
    other columns of tables of nodes           features, as of any table of nodes; dates, columns of nearly as many values as
                                               rows (names, addresses) and binary columns are left out, and told

Rows are sorted by their keys, so that the same rows give the same model, whatever database they lie in.

Leaks (`slimg.io.features`) are looked for in the columns of the label's table, and in means over rows one foreign key away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from slimg.errors import InputError, near
from slimg.graph.columns import as_text, list_names, number_of
from slimg.io import Source, unchanged, with_name
from slimg.io.databases import Database, ForeignKey, Table, as_rows, opened, quoted
from slimg.io.features import FeaturePlan, leak_notes
from slimg.io.inputs import Inputs, Options, read_inputs
from slimg.io.values import Column

NO_FEATURE = re.compile(r"blob|bytea|binary|json|xml|\[|struct|map\(|union|geometry|point|polygon|vector")
"""Declared types that are no features."""
TIME = re.compile(r"^(date|time|interval)")


def read_schema(options: Options, need_label: bool | None = True, plan: FeaturePlan | None = None) -> Inputs:
    """Read a database into a graph.

    Parameters
    ----------
    options : Options
        With ``db``, and a ``label`` such as ``customers.churned``.
    need_label, plan
        As in `slimg.io.inputs.read_inputs`.

    Returns
    -------
    Inputs
        The graph, with notes on what the tables are used for.

    Raises
    ------
    InputError
        If the database cannot be read, has no keys, or has no such label.
    """
    source = options.db
    assert source is not None
    if options.edges or options.nodes or options.labels or options.matrix:
        raise InputError("--db takes edges, nodes and labels from its tables: give it alone, or --edges and --nodes")
    if source.table is not None:
        raise InputError(f"--db takes a whole database: leave out {source.table!r}, or name it with --edges or --nodes")
    with nullcontext() if source.is_server else unchanged(source):
        read = with_name(source, _read, source, options, need_label)
    tables = _as_options(read, options, plan is not None)
    inputs = with_name(source, lambda: read_inputs(tables, need_label=need_label, plan=plan))
    leaks = [] if plan is not None else leak_notes(inputs.graph, inputs.plan, inputs.graph.directions())
    graph = inputs.graph.with_notes(*read.notes, *leaks)
    return replace(inputs, graph=graph, notes=(*read.notes, *leaks, *inputs.notes))


@dataclass
class _Read:
    """Rows of tables of nodes and pairs of ids by relation; ``label`` is (table, column) or empty."""

    nodes: dict[str, pd.DataFrame] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    edges: dict[str, pd.DataFrame] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    label: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)


def _read(source: Source, options: Options, need_label: bool | None) -> _Read:
    """Connect, decide what each table is, read the rows."""
    with opened(source) as database:
        tables = {table.name: table for table in database.tables()}
        nodes, links = roles(tables.values())
        if not nodes:
            raise InputError(
                f"none of its {number_of(len(tables), 'table')} has a primary key, so rows cannot be told apart: declare keys,"
                " or name tables with --edges and --nodes"
            )
        read = _Read(label=_find_label(options.label, tables, nodes, need_label))
        gone: list[str] = []
        frames = {name: _rows(database, tables[name], gone) for name in nodes}
        pairs = {name: _rows(database, tables[name], []) for name in links}
    empty = [name for name, frame in frames.items() if not len(frame)]
    frames = {name: frame for name, frame in frames.items() if len(frame)}
    if read.label and read.label[0] in empty:
        raise InputError(f"table {read.label[0]!r} is empty: it needs at least one row")
    _connect(read, tables, frames, pairs)
    unused = [name for name in tables if name not in (*nodes, *links)]
    left = ((empty, "no rows"), (unused, "no key and not two foreign keys"))
    told = [f"{name} ({why})" for names, why in left for name in names]
    read.notes += [f"Tables that are not used: {list_names(told)}."] if told else []
    read.notes += [f"Columns that are left out: {list_names(gone)}."] if gone else []
    return read


def roles(tables: Iterable[Table]) -> tuple[list[str], list[str]]:
    """Decide which tables are nodes and which are edges.

    Returns
    -------
    nodes, links : list of str
        Names of tables; others are of no use.
    """
    tables = list(tables)
    referred = {each.table for table in tables for each in table.foreign}
    nodes, links = [], []
    for table in tables:
        foreign = {column for each in table.foreign for column in each.columns}
        others = set(table.columns) - foreign - set(table.key)
        if len(table.foreign) == 2 and table.name not in referred and not (table.key and others):
            links.append(table.name)
        elif table.key:
            nodes.append(table.name)
    return nodes, [name for name in links if nodes]


def _find_label(given: str | None, tables: Mapping[str, Table], nodes: list[str], need: bool | None) -> tuple[str, ...]:
    """Table and column of the label; empty if none is given and none is needed."""
    if given is None:
        if need:
            raise InputError(f"name the label with --label TABLE.COLUMN: the tables of nodes are {list_names(nodes)}")
        return ()
    places = [(name, column) for name, table in tables.items() for column in table.columns]
    found = [place for place in places if ".".join(place) == given] or [place for place in places if place[1] == given]
    if len(found) > 1:
        raise InputError(f"several tables have a column {given!r}: name one of {list_names(['.'.join(f) for f in found])}")
    if not found:
        name, _, column = given.rpartition(".")
        if name in tables:
            has = near(column, tables[name].columns, f"it has {list_names(list(tables[name].columns))}")
            raise InputError(f"table {name!r} has no column {column!r} for --label: {has}")
        what = f"table {name!r}" if name else f"column {given!r}"
        raise InputError(f"there is no {what} for --label {given}: the tables of nodes are {list_names(nodes)}")
    table, column = found[0]
    if table not in nodes:
        raise InputError(f"the label {given} must be in a table of nodes, which has a key: they are {list_names(nodes)}")
    if column in tables[table].key:
        raise InputError(f"the label {given} is the key of its table: name another column")
    return found[0]


def _rows(database: Database, table: Table, gone: list[str]) -> pd.DataFrame:
    """The rows of a table that can be ids or features, sorted by key; names of the other columns are added to ``gone``."""
    needed = {*table.key, *(column for each in table.foreign for column in each.columns)}
    used = {}
    for name, kind in table.columns.items():
        why = "" if name in needed else "dates" if TIME.match(kind) else f"type {kind}" if NO_FEATURE.search(kind) else ""
        if why:
            gone.append(f"{table.name}.{name} ({why})")
        else:
            used[name] = kind
    found = database.select(f"SELECT {', '.join(database.cast(*each) for each in used.items())} FROM {quoted(table.name)}")
    for place, kind in enumerate(used.values()):
        column = found.column(place)
        if "bool" in kind and pa.types.is_integer(column.type) and pc.all(pc.is_in(column, pa.array([0, 1, None]))).as_py():
            found = found.set_column(place, found.field(place).name, column.cast(pa.bool_()))
    frame = as_rows(found)
    return frame.sort_values(list(table.key or frame.columns[:1]), kind="stable", ignore_index=True)


def _connect(
    read: _Read, tables: Mapping[str, Table], frames: Mapping[str, pd.DataFrame], links: Mapping[str, pd.DataFrame]
) -> None:
    """Give nodes their ids and follow foreign keys."""
    several, column = len(frames) > 1, "node"
    while any(column in frame.columns for frame in frames.values()):
        column = f"{column}_"
    for name, frame in frames.items():
        key = tables[name].key
        plain = not several and len(key) == 1
        read.ids[name] = key[0] if plain else column
        ids = {} if plain else {column: _names(frame, key, f"{name}:" if several else "")}
        read.nodes[name] = pd.concat([pd.DataFrame(ids), frame], axis=1)
        foreign = [c for each in tables[name].foreign for c in each.columns]
        read.keys += [_full(name, c, several) for c in dict.fromkeys((*key, *foreign)) if c != read.ids[name]]
        for each in tables[name].foreign:
            if (name, *each.columns) == read.label:
                read.notes.append(f"Foreign key {name}.{each.columns[0]} is the label, so its edges are left out.")
            elif each.table in frames:
                ends = {"source": read.nodes[name][read.ids[name]], "target": _ends(read, frames, frame, each, tables)}
                relation = _full(name, "+".join(each.columns), True)
                relation = f"{relation} {each.table}" if relation in read.edges else relation
                read.edges[relation] = pd.DataFrame(ends).dropna(ignore_index=True)
    for name, frame in links.items():
        first, second = tables[name].foreign
        if first.table in frames and second.table in frames:
            ends = {"source": _ends(read, frames, frame, first, tables), "target": _ends(read, frames, frame, second, tables)}
            read.edges[name] = pd.DataFrame(ends).dropna(ignore_index=True)
    sizes = [f"{name} ({number_of(len(frame), 'row')})" for name, frame in frames.items()]
    read.notes.insert(0, f"Tables of nodes: {list_names(sizes)}.")
    keys = [f"{name}.{'+'.join(each.columns)} → {each.table}" for name in frames for each in tables[name].foreign
            if (name, *each.columns) != read.label]  # fmt: skip
    pairs = [f"{name} ({tables[name].foreign[0].table} → {tables[name].foreign[1].table})" for name in links]
    both = (("Foreign keys that are relations", keys), ("Link tables that are relations", pairs))
    read.notes[1:1] = [f"{what}: {list_names(told)}." for what, told in both if told]


def _names(frame: pd.DataFrame, columns: Iterable[str], prefix: str) -> Any:
    """Texts of one or several columns, null where one of them is."""
    texts = [as_text(frame[name]).__arrow_array__() for name in columns]
    joined = pc.binary_join_element_wise(*(text.cast(pa.string()) for text in texts), ":")
    return pd.array(pc.binary_join_element_wise(pa.scalar(prefix), joined, ""), dtype=pd.ArrowDtype(pa.string()))


def _ends(
    read: _Read, frames: Mapping[str, pd.DataFrame], frame: pd.DataFrame, key: ForeignKey, tables: Mapping[str, Table]
) -> Any:
    """Ids of the rows that a foreign key names."""
    own, several = tables[key.table].key, len(frames) > 1
    if key.targets == own:
        return frame[key.columns[0]] if len(own) == 1 and not several else _names(
            frame, key.columns, f"{key.table}:" if several else "")  # fmt: skip
    target, ids = frames[key.table], tables[key.table].key
    known = pd.Series(_names(target, ids, f"{key.table}:" if several else ""), index=_names(target, key.targets, ""))
    return known.reindex(_names(frame, key.columns, "")).to_numpy()


def _full(table: str, column: str, several: bool) -> str:
    """The name of a column in the joined table of nodes."""
    return f"{table}.{column}" if several else column


def _as_options(read: _Read, options: Options, planned: bool) -> Options:
    """Options that name the tables; columns that are no features are ignored, with a note."""
    several = len(read.nodes) > 1

    def named(given: Iterable[str]) -> tuple[str, ...]:
        one = "" if several else f"{next(iter(read.nodes))}."
        return tuple(name.removeprefix(one) for name in given)

    own = named((*(options.features or ()), *options.ignore, *options.kinds))
    gone = {} if planned or options.features is not None else {
        _full(table, name, several): why
        for table, frame in read.nodes.items() for name in frame.columns
        if (table, name) != read.label and name != read.ids[table] and _full(table, name, several) not in (*read.keys, *own)
        and name not in own and (why := _why_left_out(name, frame[name], options))
    }  # fmt: skip
    if gone:
        told = list_names([f"{name} ({why})" for name, why in gone.items()])
        read.notes.append(f"Columns that are no features: {told}; --text COLUMN reads the words of one.")
    label = _full(read.label[0], read.label[1], several) if read.label else None
    return replace(
        options, db=None,
        nodes=tuple(Source(Path(name), name=name, data=frame) for name, frame in read.nodes.items()),
        edges=tuple(Source(Path(name), name=name, data=pairs) for name, pairs in read.edges.items()),
        id=next(iter(read.ids.values())),
        label=label,
        source="source" if read.edges else None, target="target" if read.edges else None, weighted=False, relation=None,
        features=None if options.features is None else named(options.features),
        ignore=(*named(options.ignore), *(key for key in read.keys if key != label), *gone),
        kinds=dict(zip(named(options.kinds), options.kinds.values(), strict=True)),
        directed=True if options.directed is None else options.directed,
    )  # fmt: skip


def _why_left_out(name: str, values: pd.Series, options: Options) -> str:
    """Why a column cannot be a feature; empty if it can."""
    column = Column(name, values, options.missing, options.decimal)
    try:
        _ = column.kind
    except InputError as error:
        return "dates" if "dates" in str(error) else f"{len(column.distinct):,} different values"
    return ""
