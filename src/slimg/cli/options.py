"""Options that say what the files are, shared by the commands that read them."""

from __future__ import annotations

import argparse
from typing import Any

from slimg.io.inputs import Options
from slimg.io.source import Source
from slimg.io.values import MISSING

UNKNOWN = ("fail", "keep", "drop")


def add_input_options(parser: argparse.ArgumentParser) -> None:
    """``--edges``, ``--nodes`` and all that may be said about them."""
    files = parser.add_argument_group(
        "files", "CSV, TSV, JSON lines, Parquet, npz, Matrix Market, GraphML, GEXF, SQLite, DuckDB"
    )
    files.add_argument("--edges", metavar="FILE", help="edges; FILE:TABLE for a table of a database")
    files.add_argument("--nodes", metavar="FILE", help="one row per node: id, label, features")
    files.add_argument("--labels", metavar="FILE", help="labels by id, if they are in a file of their own")
    files.add_argument("--feature-matrix", metavar="FILE", help="features as a matrix (.mtx, .npz, .npy), rows as nodes")
    columns = parser.add_argument_group("columns (guessed, and told, unless you say so)")
    for name, what in (("source", "first end of an edge"), ("target", "second end"), ("weight", "weight of an edge")):
        columns.add_argument(f"--{name}", metavar="COLUMN", help=what)
    columns.add_argument("--no-weight", action="store_true", help="ignore weights")
    columns.add_argument("--id", metavar="COLUMN", help="id of a node")
    columns.add_argument("--label", metavar="COLUMN", help="what to predict; empty where it is not known")
    columns.add_argument("--features", metavar="COLUMNS", help="columns to learn from, as A,B (default: all others)")
    columns.add_argument("--ignore", metavar="COLUMNS", help="columns to leave out")
    for kind, what in (("number", "numbers"), ("category", "categories"), ("text", "text"), ("counts", "counts")):
        columns.add_argument(f"--{kind}", metavar="COLUMNS", help=f"read these columns as {what}")
    reading = parser.add_argument_group("reading")
    reading.add_argument("--separator", metavar="CHAR", help=r"between values of a text file: , ; | \t")
    reading.add_argument("--encoding", metavar="NAME", help="of text files (default: utf-8)")
    reading.add_argument("--no-header", action="store_true", help="the first line of text files holds values, not names")
    reading.add_argument("--missing", metavar="TEXTS", help=f"strings read as missing, separated by commas (default: {','.join(MISSING)})")
    reading.add_argument("--unlabelled", metavar="VALUE", help="a label that means: not known")
    reading.add_argument("--directed", action=argparse.BooleanOptionalAction, default=None,
                         help="whether (u, v) and (v, u) are two edges, of which the larger weight counts")  # fmt: skip
    reading.add_argument("--unknown", choices=UNKNOWN, help="edges to ids that no node has (default: fail)")


def options_of(args: argparse.Namespace) -> Options:
    """What the arguments say."""
    separator = args.separator.encode().decode("unicode_escape") if args.separator else None

    def source(given: str | None) -> Source | None:
        header = False if args.no_header else None
        return None if given is None else Source.parse(given, separator=separator, encoding=args.encoding, header=header)

    kinds = {"number": "number", "category": "category", "text": "words", "counts": "counts"}
    return Options(
        edges=source(args.edges),
        nodes=source(args.nodes),
        labels=source(args.labels),
        matrix=source(args.feature_matrix),
        source=args.source,
        target=args.target,
        weight=args.weight,
        weighted=not args.no_weight,
        id=args.id,
        label=args.label,
        features=None if args.features is None else names_in(args.features),
        ignore=names_in(args.ignore),
        kinds={name: kind for option, kind in kinds.items() for name in names_in(getattr(args, option))},
        missing=MISSING if args.missing is None else ("", *args.missing.split(",")),
        unlabelled=args.unlabelled,
        directed=args.directed,
        unknown=args.unknown or "fail",
    )


def with_recorded(args: argparse.Namespace, recorded: dict[str, Any]) -> argparse.Namespace:
    """Arguments in which what was not said now is what was said when the model was fitted."""
    said = {name: getattr(args, name) or value for name, value in recorded.items() if name in _RECORDED}
    return argparse.Namespace(**{**vars(args), **said})


def names_in(given: str | None) -> tuple[str, ...]:
    """Names separated by commas."""
    return () if not given else tuple(name.strip() for name in given.split(",") if name.strip())


def as_record(args: argparse.Namespace) -> dict[str, Any]:
    """The options that were given, so that a later command can read the same files in the same way."""
    return {name: getattr(args, name) for name in _RECORDED}


_RECORDED = (
    *("edges", "nodes", "labels", "feature_matrix", "source", "target", "weight", "no_weight", "id", "label", "features"),
    *("ignore", "number", "category", "text", "counts", "separator", "encoding", "no_header", "missing", "unlabelled"),
    *("directed", "unknown"),
)
