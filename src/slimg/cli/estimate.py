"""``slimg estimate``: memory, disk and time of a fit on each engine, before you start it.

    slimg estimate --edges follows.csv --nodes users.parquet --label team      of slimg fit with the same options
    slimg estimate --nodes 2.4M --edges 62M --features 100 --classes 47 --labelled 120k
    slimg estimate FOLDER --memory 4GB                                         the folder of a graph on disk

Files are measured by their sizes and first rows: CSV, TSV and Parquet, and a matrix of features as .npy by its header. Edges that
repeat another are counted like others.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from typing import Any

from slimg.cli import add_command, whole
from slimg.cli.inputs import add_input_options, as_list, options_of
from slimg.errors import InputError
from slimg.io.inputs import Options

FACTORS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "G": 10**9}
COUNTS = ("nodes", "edges", "features", "classes", "labelled")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = add_command(subparsers, "estimate", __doc__, run)
    parser.add_argument("graph", nargs="?", metavar="FOLDER", help="the folder of a graph on disk")
    add_input_options(parser)
    counts = parser.add_argument_group("counts", "instead of files: --nodes, --edges and --features as numbers, and these")
    for name, what in (("classes", "classes"), ("labelled", "labelled nodes")):
        counts.add_argument(f"--{name}", metavar="N", help=f"number of {what}, such as 120k or 2.4M")
    parser.add_argument("--memory", metavar="SIZE", help="memory to use at most, as 4GB (default: most of what is free)")
    parser.add_argument("--workers", type=whole(1, 10**6), default=2, metavar="N", help="workers of a Dask cluster (default: 2)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(args: argparse.Namespace) -> int:
    """Estimate, print."""
    from slimg.components.estimate import estimate

    sizes, files = _sizes(args)
    found = estimate(sizes, memory=args.memory, workers=args.workers, files=files)
    print(json.dumps(found.as_dict(), indent=1) if args.json else found)
    return 0


def _sizes(args: argparse.Namespace) -> tuple[Any, Any]:
    """Sizes of the graph and of the files, None without files."""
    from slimg.components.estimate import Sizes
    from slimg.io.disk import open_graph

    if args.graph is not None:
        return Sizes.of(open_graph(args.graph)), None
    given = {name: as_list(getattr(args, name)) for name in COUNTS}
    for name, values in given.items():
        if len(values) > 1 and _is_number(values[0]):
            raise InputError(f"--{name} was given twice, as {values[0]} and {values[1]}: give one number")
    if args.nodes is None or args.edges is None:
        raise InputError("estimate needs --nodes and --edges, as files or as numbers, or the folder of a graph on disk")
    if not (_is_number(given["nodes"][0]) or _is_number(given["edges"][0])):
        with options_of(args).local() as options:
            return measured(options)
    numbers = {name: _number(name, values[0]) for name, values in given.items() if values}
    return Sizes(numbers["nodes"], numbers["edges"], numbers.get("features", 0), numbers.get("classes", 2),
                 numbers.get("labelled", 0)), None  # fmt: skip


def measured(options: Options) -> tuple[Any, Any]:
    """Measure files by their sizes and first rows.

    Parameters
    ----------
    options : Options
        One table of nodes, and tables of edges, of CSV or Parquet.

    Returns
    -------
    sizes : Sizes
    files : Files
    """
    import numpy as np

    from slimg.components.estimate import Files, Sizes
    from slimg.io import Reading, with_name
    from slimg.io.binary import npy_shape
    from slimg.io.disk_tables import PARQUET, TEXT, FileTable
    from slimg.io.features import DENSE_ROWS, plan_features
    from slimg.io.inputs import Joiner

    wrong = [source for source in (*options.edges, *options.nodes) if source.suffix not in (*TEXT, *PARQUET)]
    wrong += [] if options.matrix is None or options.matrix.suffix == ".npy" else [options.matrix]
    if wrong or len(options.nodes) != 1 or not options.edges:
        what = f"not {wrong[0]}" if wrong else "one table of nodes and at least one of edges"
        raise InputError(f"estimate measures CSV, TSV, Parquet and .npy, {what}: give numbers, as --nodes 2.4M --edges 62M")
    begun = time.perf_counter()
    tables = [FileTable.open(source) for source in (*options.nodes, *options.edges)]
    heads = [table.head() for table in tables]
    parsed = sum(int(head.memory_usage(deep=True).sum()) for head in heads)
    pace = (time.perf_counter() - begun) / max(parsed, 1)
    (n, size), *edges = [table.measured() for table in tables]
    readings = [(table.source, Reading(head)) for table, head in zip(tables, heads, strict=True)]
    joiner = Joiner(options, readings[1:], readings[:1])
    joiner.choose_columns()
    id_name = joiner.columns["nodes"][""]
    label = joiner.find_label(heads[0], id_name)
    labels = joiner.labels(heads[0], label)
    known = [value for value in labels.tolist() if value is not None and value == value]
    labelled, weighted = round(n * len(known) / len(labels)), any(names[2] for names in joiner.columns["edges"].values())
    counts = n, sum(rows for rows, _ in edges)
    files, about = Files(size, sum(each for _, each in edges), len(heads[0].columns), pace), (max(2, len(set(known))), labelled)
    if options.matrix is not None:
        shape = with_name(options.matrix, npy_shape, options.matrix.path)
        return Sizes(*counts, shape[-1] if len(shape) == 2 else 1, *about, weighted), files
    chosen = joiner.feature_columns(heads[0], id_name, label)
    rules: Any = options.kinds, options.missing, options.decimal
    plan, parts = with_name(options.nodes[0], plan_features, heads[0].__getitem__, chosen, *rules)
    entries = sum(2 * part.size if isinstance(part, np.ndarray) else part.nnz for part in parts) / len(heads[0])
    dense = plan.is_dense and n >= DENSE_ROWS
    return Sizes(*counts, len(plan.names), *about, weighted, None if dense else int(n * entries), len(plan.numbers)), files


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"[\d.,_]+[kKmMbBgG]?", text))


def _number(name: str, text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMbBgG]?)", re.sub(r"[,_](?=\d{3}(?!\d))", "", text))
    if not found:
        raise InputError(f"--{name} must be a number such as 120k or 2.4M, not {text!r}")
    return int(float(found[1]) * FACTORS[found[2].upper()])
