"""`slimg.read`: tables, files and graphs of other libraries become a `Graph`, as on the command line."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from slimg.errors import InputError, check_names
from slimg.graph.columns import INDEX, text_of
from slimg.graph.from_edges import Unknown, as_frame, frame_of_pairs, is_table, is_tables
from slimg.graph.graph import Graph
from slimg.io import Source
from slimg.io.features import FeaturePlan
from slimg.io.inputs import Options, read_inputs, with_recorded_columns
from slimg.io.values import MISSING, distinct_names, frame_of
from slimg.system import release_memory

KINDS = {"number": "number", "category": "category", "text": "words", "counts": "counts"}
"""Kind of a column → its name in the plan of features."""
OF_LIBRARY = {"networkx": {"label", "features", "weight", "relation", "directed", "unlabelled"},
              "torch_geometric": {"directed", "unlabelled"}}  # fmt: skip
"""Parameters beside ``edges`` that a graph of another library takes."""


def read(
    edges: Any = None,
    nodes: Any = None,
    *,
    db: Any = None,
    label: str | None = None,
    labels: Any = None,
    id: str | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | bool | None = None,
    relation: str | None = None,
    features: str | Sequence[str] | None = None,
    ignore: str | Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    missing: str | Sequence[str] = MISSING,
    decimal: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    unlabelled: Any = None,
    directed: bool | str | Collection[str] | None = None,
    unknown: Unknown = "fail",
    like: Any = None,
) -> Graph:
    """Read tables or files into a graph, as the command line does.

    Columns that are not named are guessed; columns of nodes become features: numbers are standardised, categories one-hot,
    texts bags of words. ``notes`` of the graph says what was decided.

    Parameters
    ----------
    edges : path, table, list of pairs, or graph of networkx or PyTorch Geometric, default=None
        A path may name a file in any format that ``slimg fit`` reads, a folder of Parquet files, or a pattern such as
        ``edges/*.csv``; or files elsewhere, as ``s3://bucket/edges/*.parquet``. A table is a frame of pandas or polars, an
        arrow table, a DuckDB relation, or a dictionary of columns. A mapping of names to such tables or paths, or a list of
        paths, has a relation in each.
    nodes : path or table, default=None
        One row per node; by default the nodes are the ids in ``edges``. A mapping of names to tables or paths, or a list of
        paths, has a type of nodes in each.
    db : path or address, default=None
        A SQLite or DuckDB file, or ``"postgresql://host/name"``, instead of edges and nodes: tables with a key are types of
        nodes, foreign keys and link tables are relations, and the label is named as ``"customers.churned"``.
    label : str, default=None
        Column of ``nodes`` to predict; by default one of a usual name, such as ``label``, if there is one.
    labels : path or table, default=None
        Labels by id, if they are in a table of their own.
    id : str, default=None
        Column of ``nodes``.
    source, target : str, default=None
        Columns of ``edges``.
    weight : str or bool, default=None
        Column of ``edges``; False for none.
    relation : str, default=None
        Column of ``edges`` whose values are names of relations.
    features, ignore : sequence of str, or str
        Columns of ``nodes`` to use (by default all others), and not to use.
    kinds : mapping of str to str, default=None
        Column → ``"number"``, ``"category"``, ``"text"`` or ``"counts"``, where a guess is wrong.
    missing : sequence of str, or str
        Strings read as missing.
    decimal : {".", ","}, default=None
        Decimal mark of numbers in text; guessed for each column by default.
    separator, encoding : str, default=None
        Of text files; guessed, and UTF-8, by default.
    unlabelled : object, default=None
        A further value of the label that means "no label".
    directed : bool, str or collection of str, default=None
        Which relations keep their direction, as in `Graph.from_edges`.
    unknown : {"fail", "keep", "drop"}, default="fail"
        What to do with edges to ids that are not among the nodes.
    like : SlimG or Graph, default=None
        A fitted model, or a graph, made of tables by `read`: columns are chosen and encoded as they were for it.

    Returns
    -------
    Graph
        Its ``reading`` keeps the columns and their encoding.

    Raises
    ------
    InputError
        If a table cannot be read or does not fit the others.

    Examples
    --------
    >>> import pandas as pd
    >>> import slimg
    >>> follows = pd.DataFrame({"from": ["ann", "bob"], "to": ["bob", "cy"]})
    >>> users = pd.DataFrame({"id": ["ann", "bob", "cy"], "city": ["rome", "oslo", None], "team": ["red", None, "blue"]})
    >>> graph = slimg.read(follows, users, label="team")
    >>> graph
    Graph(3 nodes, 2 edges, 2 features (sparse), 2 classes, 2 labelled)
    >>> graph.feature_names
    ('city: oslo', 'city: rome')
    >>> moved = users.assign(city=["lima", "rome", "rome"])
    >>> slimg.read(follows, moved, label="team", like=graph).notes[1]
    "Column 'city' has 1 value in 1 row that the model has not seen, read as missing: 'lima'."
    """
    asked, library = dict(locals()), type(edges).__module__.split(".")[0]
    if weight is True:
        raise InputError("weight=True names no column: give the name of one, or False for no weights")
    if kinds is not None and not isinstance(kinds, Mapping):
        raise InputError(f"kinds must map names of columns to kinds, such as {{'zip': 'category'}}, not be {kinds!r}")
    for name, kind in (kinds or {}).items():
        check_names(f"kind of column {name!r}", [kind], KINDS)
    check_names("decimal mark", [] if decimal is None else [decimal], (".", ","))
    if library in OF_LIBRARY:
        usual = {name: parameter.default for name, parameter in inspect.signature(read).parameters.items()}
        strange = [name for name, value in asked.items() if value is not usual[name] and name not in OF_LIBRARY[library]]
        if strange != ["edges"]:
            raise InputError(f"a graph of {library} has its own nodes and columns: leave out {', '.join(strange[1:])}")
        if library == "torch_geometric":
            return Graph.from_pyg(edges, directed=directed, unlabelled=unlabelled)
        of_edges: dict[str, Any] = {"weight": "weight" if weight is None else weight or None, "relation": relation}
        return Graph.from_networkx(edges, label=label, features=features, directed=directed, unlabelled=unlabelled, **of_edges)
    files = [[replace(each, separator=separator, encoding=encoding) if each.data is None else each for each in sources]
             for sources in (_sources(edges, "edges"), _sources(nodes, "nodes"),
                             () if labels is None else (_source(labels, "labels"),))]  # fmt: skip
    options = Options(
        edges=tuple(files[0]), nodes=tuple(files[1]), labels=next(iter(files[2]), None),
        db=None if db is None else Source.parse(str(db)),
        source=source, target=target, relation=relation,
        weight=weight if isinstance(weight, str) else None, weighted=weight is not False,
        id=id, label=label, features=None if features is None else tuple(_listed(features)), ignore=tuple(_listed(ignore)),
        kinds={name: KINDS[kind] for name, kind in (kinds or {}).items()}, missing=tuple(_listed(missing)),
        decimal=decimal, unlabelled=None if unlabelled is None else text_of(unlabelled), unknown=unknown,
        directed=directed if directed is None or isinstance(directed, bool) else tuple(_listed(directed)),
    )  # fmt: skip
    reading = _recorded(like)
    plan = FeaturePlan.from_dict(reading["plan"]) if reading.get("plan") else None
    try:
        graph = read_inputs(with_recorded_columns(options, reading), need_label=None, plan=plan).graph
    except InputError as error:
        raise InputError(_as_parameters(str(error))) from None
    release_memory()  # tables of text leave several times what the graph takes
    return replace(graph, notes=tuple(_as_parameters(note) for note in graph.notes))


def _recorded(like: Any) -> Mapping[str, Any]:
    if like is None:
        return {}
    reading = like.reading if isinstance(like, Graph) else (getattr(like, "data_", None) or {}).get("reading")
    if reading is None:
        raise InputError("like= needs a graph made by slimg.read, or a model fitted on one")
    return reading


def _listed(names: str | Collection[str]) -> Collection[str]:
    return [names] if isinstance(names, str) else names


def _sources(given: Any, what: str) -> tuple[Source, ...]:
    """One table or file, or several by name."""
    if given is None:
        return ()
    if isinstance(given, Mapping) and _is_named(given, what):
        return tuple(_source(each, what, str(name)) for name, each in given.items())
    if isinstance(given, (list, tuple)) and given and all(isinstance(each, (str, Path)) for each in given):
        return tuple(_source(each, what) for each in given)
    return (_source(given, what),)


def _is_named(given: Mapping[Any, Any], what: str) -> bool:
    """Whether a mapping is one of names to tables or paths, not of names to columns."""
    tables = {name: each for name, each in given.items() if not isinstance(each, (str, Path))}
    if not tables:
        return len(given) > 0
    return is_tables(tables) if what == "edges" else all(map(is_table, tables.values()))


def _source(given: Any, what: str, name: str | None = None) -> Source:
    if isinstance(given, (str, Path)):
        return replace(Source.parse(str(given)), name=name) if name is not None else Source.parse(str(given))
    return Source(Path(f"{what}=" if name is None else f"{what}[{name!r}]"), name=name, data=_as_table(given, what))


def _as_table(given: Any, name: str) -> pd.DataFrame:
    """A frame of a table of any library, or of a list of pairs."""
    import pyarrow as pa

    if isinstance(given, pd.Series):
        given = given.to_frame("label" if given.name is None else given.name)
    if isinstance(given, pd.DataFrame):
        index = given.index
        has_ids = index.nlevels > 1 or index.name is not None or not pd.api.types.is_integer_dtype(index.dtype)
        own = [level or ("id" if index.nlevels == 1 else f"level_{place}") for place, level in enumerate(index.names)]
        keep = has_ids and (name != "edges" or index.nlevels > 1)
        frame = given.reset_index(names=own) if keep else given.reset_index(drop=True)
        if not has_ids and name == "nodes":
            frame[INDEX] = index
        return frame.set_axis(pd.Index(distinct_names(list(frame.columns)), dtype=object, tupleize_cols=False), axis=1)
    if hasattr(given, "__arrow_c_stream__"):
        return frame_of(pa.table(given))
    if hasattr(given, "__dataframe__"):
        return frame_of(pa.interchange.from_dataframe(given))
    if name == "edges" and not isinstance(given, Mapping) and not hasattr(given, "columns"):
        pairs = frame_of_pairs(given)
        return pairs.set_axis(["source", "target", "weight"][: pairs.shape[1]], axis=1)
    return as_frame(given)


def _as_argument(option: re.Match[str]) -> str:
    name, value = option[1], option[2].strip("'")
    if name in KINDS:
        return f"kinds={{{value!r}: {name!r}}}"
    return f"{name}=[{value!r}]" if name in ("ignore", "missing") else f"{name}={value!r}"


def _as_parameters(message: str) -> str:
    """Options of the command line as parameters: ``--ignore born`` becomes ``ignore=['born']``."""
    message = message.replace("--no-weight", "weight=False").replace("--directed keeps", "directed=True keeps")
    message = re.sub(r"--(number|category|text|counts)([:,])", r"kinds=\2", message)
    message = message.replace("--decimal ,", "decimal=','")
    message = re.sub(r"--relation (\w+) makes", r"relation='\1' makes", message)
    message = re.sub(r"--(unknown|unlabelled|ignore|missing|text|category) ('[^']*'|\w+)", _as_argument, message)
    return re.sub(r"--([a-z-]+)", lambda found: f"{found[1].replace('-', '_')}=", message)
