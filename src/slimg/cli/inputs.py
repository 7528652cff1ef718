"""What the commands that read files share: options, the files of a model, ids of nodes, the table of predictions.

A model's file records how its tables were read, so that later commands read tables in the same way:

data_["reading"] = {"options": as given, "plan": how columns became features, "id", "label" and "columns": their names}
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slimg.errors import InputError, without_password
from slimg.graph.columns import as_column, hint_of_ids, number_of, show
from slimg.graph.graph import Graph
from slimg.io import Source, read
from slimg.io.features import FeaturePlan
from slimg.io.inputs import Inputs, Options, read_inputs, with_recorded_columns
from slimg.io.values import MISSING

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from slimg.classifier import SlimG

MODEL = Path("slimg-out/model.slimg")
FORMATS = {".csv": ".csv", ".tsv": ".tsv", ".tab": ".tsv", ".jsonl": ".jsonl", ".ndjson": ".jsonl", ".json": ".jsonl",
           ".parquet": ".parquet", ".pq": ".parquet"}  # fmt: skip
"""Ending of the node table → ending of the predictions."""
KINDS = {"number": "number", "category": "category", "text": "words", "counts": "counts"}
"""Option → kind of feature."""
FILES = ("edges", "nodes", "db", "labels", "feature_matrix")
"""Options that name files: kept in a model's file for messages, never read because a model names them."""
ROWS = 1 << 17
"""Rows of a table that are written at a time."""
_RECORDED = (
    *(*FILES, "source", "target", "weight", "no_weight", "relation", "id", "label"),
    *("features", "ignore", *KINDS, "separator", "encoding", "no_header", "missing", "decimal", "unlabelled", "directed"),
    "unknown",
)


def add_model_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--model``."""
    parser.add_argument("--model", metavar="FILE", type=Path, default=MODEL, help=f"file of the model (default: {MODEL})")


def add_input_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--edges``, ``--nodes`` and the options that describe these files."""
    files = parser.add_argument_group(
        "files",
        "CSV, TSV, JSON lines, Parquet, Excel, npz, Matrix Market, GraphML, GEXF, SQLite, DuckDB, PostgreSQL; text as .gz, .zst,"
        " .zip; folders of Parquet; patterns such as 'edges/*.csv'; s3://… and other addresses of fsspec; - for CSV from the"
        " standard input",
    )
    files.add_argument("--edges", metavar="FILE", action="append",
                       help="edges; FILE:TABLE or FILE:QUERY for a database, as shop.db:orders or postgresql://HOST/NAME:'SELECT"
                       " …'; several files are relations, named as the files"
                       " or as NAME=FILE says")  # fmt: skip
    files.add_argument("--nodes", metavar="FILE", action="append",
                       help="one row per node: id, label, features; several files are types of nodes")  # fmt: skip
    files.add_argument("--db", metavar="DATABASE",
                       help="a SQLite or DuckDB file, or postgresql://HOST/NAME, instead of edges and nodes: tables with a key"
                       " are nodes, foreign keys are edges; --label TABLE.COLUMN")  # fmt: skip
    files.add_argument("--labels", metavar="FILE", help="labels by id, if they are in a separate file")
    files.add_argument("--feature-matrix", metavar="FILE", help="matrix of features (.mtx, .npz, .npy), one row per node")
    columns = parser.add_argument_group("columns", "guessed if they are not given; guesses are printed")
    for name, what in (("source", "first end of an edge"), ("target", "second end"), ("weight", "weight of an edge")):
        columns.add_argument(f"--{name}", metavar="COLUMN", help=what)
    columns.add_argument("--no-weight", action="store_true", default=None, help="ignore weights")
    columns.add_argument("--relation", metavar="COLUMN", help="kind of an edge: each of its values is a relation")
    columns.add_argument("--id", metavar="COLUMN", help="id of a node")
    columns.add_argument("--label", metavar="COLUMN", help="what to predict; empty for nodes whose label is unknown")
    columns.add_argument("--features", metavar="COLUMNS", action="append",
                         help="columns to use as features, as A,B (default: all others)")  # fmt: skip
    columns.add_argument("--ignore", metavar="COLUMNS", action="append", help="columns to ignore, as A,B or given again")
    for kind, what in (("number", "numbers"), ("category", "categories"), ("text", "text"), ("counts", "counts")):
        columns.add_argument(f"--{kind}", metavar="COLUMNS", action="append", help=f"read these columns as {what}")
    reading = parser.add_argument_group("reading")
    reading.add_argument("--separator", metavar="CHAR", help=r"separator of text files: , ; | \t")
    reading.add_argument("--encoding", metavar="NAME", help="encoding of text files (default: utf-8)")
    reading.add_argument("--no-header", action="store_true", default=None,
                         help="text files begin with values, not with column names")  # fmt: skip
    missing = f"strings read as missing, as A,B (default: {','.join(MISSING)})"
    reading.add_argument("--missing", metavar="STRINGS", action="append", help=missing)
    reading.add_argument("--decimal", choices=(".", ","), help="decimal mark of numbers (default: guessed for each column)")
    reading.add_argument("--unlabelled", metavar="VALUE", help="value of the label that means unknown")
    reading.add_argument("--directed", metavar="NAMES", nargs="?", const=True, action="append",
                         help="keep the direction of all edges, or of these relations, as A,B")  # fmt: skip
    reading.add_argument("--no-directed", dest="directed", action="append_const", const=False,
                         help="(u, v) and (v, u) are one edge, whose weights are added")  # fmt: skip
    reading.add_argument("--unknown", choices=("fail", "keep", "drop"),
                         help="what to do with edges to ids that are not in the table of nodes (default: fail)")  # fmt: skip


def options_of(args: argparse.Namespace) -> Options:
    """Convert parsed arguments to the options of `slimg.io.inputs.read_inputs`.

    Returns
    -------
    Options
    """
    separator = {r"\t": "\t"}.get(args.separator, args.separator) or None
    if separator is not None and (len(separator) != 1 or separator.isalnum() or separator in "\"\r\n"):
        raise InputError(rf"--separator must be one character such as , ; | or \t, not {args.separator!r}")

    def source(given: str | None) -> Source | None:
        header = False if args.no_header else None
        return None if given is None else Source.parse(given, separator=separator, encoding=args.encoding, header=header)

    kinds = [(name, kind) for option, kind in KINDS.items() for name in names_in(getattr(args, option))]
    twice = next((name for name, kind in kinds if dict(kinds)[name] != kind), None)
    if twice is not None:
        raise InputError(f"column {twice!r} is named by two of --{', --'.join(KINDS)}: leave it in one")
    same = ("source", "target", "weight", "relation", "id", "label", "unlabelled", "decimal")
    given: dict[str, Any] = {name: getattr(args, name) for name in same}
    given |= {name: tuple(map(source, as_list(getattr(args, name)))) for name in ("edges", "nodes")}
    return Options(
        **given,
        labels=source(args.labels),
        matrix=source(args.feature_matrix),
        db=source(args.db),
        directed=_directed(as_list(args.directed)),
        weighted=not args.no_weight,
        features=None if args.features is None else names_in(args.features),
        ignore=names_in(args.ignore),
        kinds=dict(kinds),
        missing=MISSING if args.missing is None else ("", *",".join(as_list(args.missing)).split(",")),
        unknown=args.unknown or "fail",
    )


def names_in(given: Any) -> tuple[str, ...]:
    """Split names at commas, of an option that may be given several times.

    Parameters
    ----------
    given : list of str, str or None
        As an option was given, once or more.

    Returns
    -------
    tuple of str
    """
    return tuple(name.strip() for each in as_list(given) for name in each.split(",") if name.strip())


def as_list(given: Any) -> list[Any]:
    """Return the values of an option that may be repeated; a model's file may hold one value alone."""
    return given if isinstance(given, list) else [] if given is None else [given]


def _directed(given: list[Any]) -> bool | tuple[str, ...] | None:
    """``--directed``, ``--directed A,B`` or ``--no-directed``."""
    kinds = {value if isinstance(value, bool) else "names" for value in given}
    if len(kinds) > 1:
        raise InputError("--directed for all relations, --directed NAMES and --no-directed exclude each other: give one")
    if not given or isinstance(given[0], bool):
        return given[0] if given else None
    return names_in(given)


def reading_record(args: argparse.Namespace, inputs: Inputs) -> dict[str, Any]:
    """Describe how files were read, so that a later command can read files in the same way.

    Returns
    -------
    dict
        Plain values, kept in the file of a model.
    """
    return {"options": {name: _without_passwords(getattr(args, name)) for name in _RECORDED}, **inputs.record()}


def _without_passwords(given: Any) -> Any:
    """An option as it may be written to a file."""
    return [_without_passwords(each) for each in given] if isinstance(given, list) else (
        without_password(given) if isinstance(given, str) else given)  # fmt: skip


def with_recorded(args: argparse.Namespace, recorded: dict[str, Any]) -> argparse.Namespace:
    """Fill options that are not given with those that were given when the model was fitted, but for files.

    Returns
    -------
    Namespace
    """
    names = [name for name in recorded if name in _RECORDED and name not in FILES and getattr(args, name) is None]
    return argparse.Namespace(**{**vars(args), **{name: recorded[name] for name in names}})


def load_with_graph(args: argparse.Namespace) -> tuple[SlimG, Inputs, Options]:
    """Load the model, and the graph of the files given now; what is not given is taken from the graph that the model keeps.

    Files that a model names are not read: its file may come from others.

    Returns
    -------
    model : SlimG
    inputs : Inputs
        Of files with new rows alone, a graph of these and of the fitted nodes they are linked with.
    options : Options
    """
    from slimg.cli.results import finish

    args.model = args.model / MODEL.name if args.model.is_dir() else args.model
    finish(args.model.parent)
    if not args.model.exists():
        raise InputError(f"the model {args.model} does not exist: make one with slimg fit, or name it with --model")
    from slimg.classifier import SlimG

    model = SlimG.load(args.model)
    reading: dict[str, Any] = model.data_.get("reading") or {}
    _check_names(args, reading.get("options", {}))
    options = _as_recorded(options_of(with_recorded(args, reading.get("options", {}))), reading)
    if max(len(as_list(reading.get("options", {}).get("edges"))), 1) > len(options.edges) == 1:  # one relation of several
        options = replace(options, edges=tuple(replace(each, name=each.short_name) for each in options.edges))
    if not options.edges and not options.nodes and options.db is None:
        return model, _kept_inputs(model, args, reading), options
    return model, _read(model, options, reading), options


def read_new_rows(model: SlimG, nodes: bytes, edges: bytes) -> Inputs:
    """Read tables of new nodes and of their edges in the way of the tables that a model was fitted on.

    Parameters
    ----------
    model : SlimG
        A model that keeps its graph.
    nodes, edges : bytes
        Contents of two CSV files, of which one may be empty. The column ``relation`` of the edges names relations that had a
        file each.

    Returns
    -------
    Inputs
    """
    reading: dict[str, Any] = model.data_.get("reading") or {}
    recorded = reading.get("options", {})
    if recorded.get("db") or recorded.get("feature_matrix") or len(as_list(recorded.get("nodes"))) > 1:
        raise InputError("the features of this model come from several files: score new rows with slimg predict")
    if recorded.get("nodes") and not nodes.strip():
        raise InputError("there is no table of nodes: give one with a row for each new node and the columns of the fit")
    options = options_of(with_recorded(argparse.Namespace(**dict.fromkeys(_RECORDED)), recorded))
    given = [(Source(Path(kind), data=text),) if text.strip() else () for kind, text in (("nodes", nodes), ("edges", edges))]
    options = _as_recorded(replace(options, nodes=given[0], edges=given[1]), reading)
    if len(as_list(recorded.get("edges"))) > 1:
        options = replace(options, relation="relation" if edges.strip() else None)
    if isinstance(options.directed, tuple):  # those that the new edges have
        frame = read(options.edges[0]).frame if options.edges else None
        there = set() if frame is None or options.relation not in frame else set(frame[options.relation])
        options = replace(options, directed=tuple(name for name in options.directed if name in there) or None)
    return _read(model, options, reading)


def _as_recorded(options: Options, reading: dict[str, Any]) -> Options:
    """Options with the columns that were chosen when the model was fitted."""
    options = with_recorded_columns(options, reading)
    if options.labels is None:  # a label is not needed to predict, and a table of new nodes may lack the column
        options = replace(options, label=None)
    return options


def _kept_inputs(model: SlimG, args: argparse.Namespace, reading: dict[str, Any]) -> Inputs:
    """The graph that a model keeps, whose table has ids alone."""
    import pandas as pd

    if not model.keeps_graph_:
        options = reading.get("options", {})
        words = [f"--{name.replace('_', '-')} {each}" for name in FILES for each in as_list(options.get(name))]
        fitted_on = f" (it was fitted on {' '.join(words)})" if words else ""
        raise InputError(f"{args.model} does not keep its graph: name the files with --edges and --nodes{fitted_on}")
    graph, name = model.fitted_graph_.graph, reading.get("id") or "id"
    note = f"No files are named: the graph is the one that {args.model.name} keeps, and the table has ids alone."
    return Inputs(graph, pd.DataFrame({name: graph.ids}), name, None, None, (note,))


def _read(model: SlimG, options: Options, reading: dict[str, Any]) -> Inputs:
    """Read files of a whole graph, of part of one, or of new rows alone."""
    plan, recorded = FeaturePlan.from_dict(reading["plan"]) if reading.get("plan") else None, reading.get("options", {})
    if not model.keeps_graph_:
        return read_inputs(options, need_label=False, plan=plan)
    from slimg.inference.new_rows import completed

    fitted, nodes = model.fitted_graph_.graph, model._fitted_nodes()
    if recorded.get("nodes") and not options.nodes:  # other edges between the fitted nodes
        bare = read_inputs(replace(options, features=(), kinds={}, ignore=()), need_label=False)
        graph = completed(fitted, nodes, _alike(bare.graph, fitted), edges=True)
        return replace(bare, graph=graph, table=bare.table.iloc[:0].reindex(range(graph.n)).assign(**{bare.id: graph.ids}))
    try:
        inputs = read_inputs(options, need_label=False, plan=plan)
    except InputError:
        if options.unknown != "fail" or not options.nodes or not options.edges:
            raise
        alone = read_inputs(replace(options, edges=(), directed=None), need_label=False, plan=plan)
        if not nodes.lacks(_alike(alone.graph, fitted)):
            raise
        inputs = read_inputs(replace(options, unknown="keep"), need_label=False, plan=plan)
        notes = tuple(note for note in alone.notes if note not in alone.graph.warnings())  # which are of nodes without edges
        inputs = replace(inputs, graph=_alike(inputs.graph, fitted), notes=notes)
        strange = inputs.graph.ids[alone.graph.n :][nodes.places(inputs.graph)[alone.graph.n :] < 0]
        if len(strange):
            told = f"{number_of(len(strange), 'id of the edges is', 'ids of the edges are')} neither among the new nodes nor in"
            raise InputError(f"{told} the fitted graph: {show(strange)}; add them to --nodes, or choose --unknown keep") from None
        return inputs
    inputs = replace(inputs, graph=_alike(inputs.graph, fitted))
    if recorded.get("edges") and not options.edges and not nodes.lacks(inputs.graph):  # the same edges
        notes = tuple(note for note in inputs.notes if note not in inputs.graph.warnings())
        inputs = replace(inputs, graph=completed(fitted, nodes, inputs.graph, edges=False), notes=notes)
    return inputs


def _alike(graph: Graph, fitted: Graph) -> Graph:
    """The graph with ids as the fitted one has them: numbers, or text."""
    whole = fitted.ids.dtype.kind in "iu"
    if whole == (graph.ids.dtype.kind in "iu"):
        return graph
    ids = [int(each) if whole and re.fullmatch("-?[0-9]{1,18}", str(each)) else str(each) for each in graph.ids.tolist()]
    return replace(graph, ids=as_column(ids, "ids"))


def _check_names(args: argparse.Namespace, recorded: dict[str, Any]) -> None:
    """Raise an error for files whose names are not those of the relations or types that the model was fitted on."""
    for kind in ("edges", "nodes"):
        before, now = ([Source.parse(each).short_name for each in as_list(given)]
                       for given in (recorded.get(kind), getattr(args, kind)))  # fmt: skip
        wrong = set(now) - set(before) if kind == "edges" else set(now) ^ set(before)
        if now and max(len(before), len(now)) > 1 and wrong:
            raise InputError(
                f"the model was fitted on --{kind} {', '.join(before) or 'none'}, not on {', '.join(now)}: give a file for"
                f" each, as --{kind} {before[0] if before else 'NAME'}=FILE"
            )


def rows_of_nodes(graph: Graph, names: Sequence[Any]) -> list[int]:
    """Rows of nodes that are named on the command line, where every id is text.

    Returns
    -------
    list of int
    """
    by_text = {str(value): row for row, value in enumerate(graph.ids)} if names else {}
    unknown = [name for name in names if str(name) not in by_text]
    if unknown:
        raise InputError(f"there is no node with id {show(unknown)}: {hint_of_ids(unknown[0], graph.ids.tolist())}")
    return [by_text[str(name)] for name in names]


def predictions_path(folder: Path, options: Options) -> Path:
    """Path of the predictions: the ending is that of the node table, or .csv if that is not a table.

    Returns
    -------
    Path
    """
    files = options.nodes or options.edges
    return folder / f"predictions{FORMATS.get(files[0].suffix if files else '', '.csv')}"


def add_coverage_option(parser: Any) -> None:
    """Add ``--coverage``."""
    parser.add_argument("--coverage", type=_share, metavar="SHARE",
                        help="add a column prediction_set: classes among which the true one is for this share of nodes, such"
                        " as 0.9, if labels were drawn at random; empty where no class is likely enough")  # fmt: skip


def _share(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"it must be a number between 0 and 1, not {text!r}")
    return value


def write_predictions(
    inputs: Inputs, classes: np.ndarray, chances: Any, path: Path, sets: Callable[[np.ndarray], np.ndarray] | None = None
) -> list[str]:
    """Write the node table with the columns of predictions beside it, in the node table's own separator.

    Parameters
    ----------
    inputs : Inputs
    classes : ndarray of shape (c,)
    chances : ndarray of shape (n, c)
        Probabilities, or an object whose slices are.
    path : Path
    sets : callable or None
        Probabilities → prediction sets, for a column of names of classes separated by ``|``.

    Returns
    -------
    list of str
        Notes: new columns whose names begin with slimg_, ids that a spreadsheet would run as formulas.
    """
    import pandas as pd

    from slimg.inference.predictions import prediction_columns
    from slimg.io.write import FORMULA_STARTS, write_table

    prefix, formulas = "", 0

    def joined() -> Iterator[pd.DataFrame]:
        nonlocal prefix, formulas
        start = 0
        for table in _pieces(inputs, path):
            some = chances[start : start + len(table)]
            start += len(table)
            columns = prediction_columns(classes, some)
            for name in list(columns)[1:]:
                columns[name] = columns[name].astype("float32")
                if path.suffix not in (".parquet", ".csv", ".tsv"):  # the fewest digits that give the same float32
                    columns[name] = columns[name].astype(str).astype(float)
            if sets is not None:
                names = ["|".join(str(name) for name in classes[each]) for each in sets(some)]
                columns["prediction_set"] = pd.Series(names, dtype=object).to_numpy()
            prefix = "slimg_" if set(columns) & set(table.columns) else ""
            formulas += int(table[inputs.id].astype(str).str.startswith(FORMULA_STARTS).sum())
            new = pd.DataFrame({prefix + name: column for name, column in columns.items()}, index=table.index)
            yield pd.concat([table, new], axis=1)

    separator = inputs.separator if inputs.separator in (",", ";", "|", "\t") else ","
    write_table(joined(), path, separator=separator, keep=[inputs.id])
    notes = [f"New columns begin with {prefix}: the table has columns of these names already."] if prefix else []
    if formulas:
        count = f"{formulas:,} ids begin with a sign by which a spreadsheet knows a formula"
        notes.append(f"{count}: they are written as they are, so that tables can be joined by them.")
    return notes


def _pieces(inputs: Inputs, path: Path) -> Iterator[pd.DataFrame]:
    """The node table, in runs of rows if it is on disk, or if runs of it can be written one after the other."""
    if inputs.stored is not None:
        yield from inputs.stored.frames()
    elif path.suffix in (".csv", ".tsv"):
        for start in range(0, len(inputs.table), ROWS):
            yield inputs.table.iloc[start : start + ROWS]
    else:
        yield inputs.table
