"""``slimg fit``: from files to predictions, a model and a page.

    slimg fit --edges follows.csv --nodes users.parquet --label team --id user

reads who follows whom and a table of users, some of whom have a team, and writes into the folder slimg-out:

    predictions.parquet   the table of users with prediction, probability, margin and one column per team
    model.slimg           the model, for slimg predict and slimg explain
    report.html           a page that opens offline: how good it is, what it used, why each user got its team

What was guessed about the files is printed; options below say it otherwise.
"""

from __future__ import annotations

import argparse
import json
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from slimg.cli.console import Progress, plain, say
from slimg.cli.fitting import fitted
from slimg.cli.model import remember
from slimg.cli.nodes import positions
from slimg.cli.options import add_input_options, options_of
from slimg.cli.predictions import prediction_table, predictions_path, separator_of
from slimg.errors import InputError
from slimg.graph.graph import Graph
from slimg.io.inputs import Inputs, read_inputs
from slimg.io.write import make_folder, refuse_existing, write_table, write_text

STAGES = 6
"""Reading, components, learning, diagnosing, explaining, writing."""
MEASURED_UNASKED = 3_000
"""Nodes up to which folding in is measured without being asked for: a second or two."""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = subparsers.add_parser("fit", help="learn from files; predictions, a model and a page", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add_input_options(parser)
    output = parser.add_argument_group("output")
    output.add_argument("--out", metavar="DIR", type=Path, default=Path("slimg-out"), help="folder (default: slimg-out)")
    output.add_argument("--force", action="store_true", help="write over what is there")
    output.add_argument("--json", action="store_true", help="print what was found as JSON")
    output.add_argument("--title", metavar="TEXT", help="of the page")
    output.add_argument("--explain", metavar="NODE", nargs="+", help="further nodes to explain in the page")
    parser.add_argument(
        "--measure-fold-in",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="hide a tenth of the nodes and fit the rest again, to see how near folding nodes in comes to a refit; takes"
        f" about as long as the components (default: up to {MEASURED_UNASKED:,} nodes)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the folds (default: 0)")
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Read, fit, judge, write; the exit code."""
    progress, options = Progress(quiet=args.json), options_of(args)
    if options.nodes is None and options.edges is None:
        raise InputError("name a file of edges with --edges, a file of nodes with --nodes, or both: see slimg fit --help")
    files = {
        "predictions": predictions_path(args.out, options),
        "model": args.out / "model.slimg",
        "page": args.out / "report.html",
        "record": args.out / "record.json",
    }
    refuse_existing(list(files.values()), args.force)
    with progress.whole("fit", STAGES):
        with progress.stage("reading"):
            inputs = read_inputs(options)
        asked, measured = positions(inputs.graph, args.explain or ()), _measured(args.measure_fold_in, inputs.graph)
        make_folder(args.out)
        model = fitted(inputs.graph, args.seed, progress)
        if measured:
            with progress.stage("measuring"):
                model.measure_fold_in()
        remember(model, args, inputs)
        with ThreadPoolExecutor(1, "saving") as beside:  # checksums and the disk do not need the interpreter
            saved = beside.submit(model.save, files["model"])
            from slimg.cli.outcome import outcome

            record = outcome(model, inputs, _facts(args, inputs, files), asked, progress)
            with progress.stage("writing"):
                _write(files, inputs, model, record)
                saved.result()
    record["seconds"] = progress.seconds
    if args.json:
        print(json.dumps(_short(record), ensure_ascii=False, indent=1))
    else:
        _tell(record, files)
    return 0


def _measured(asked: bool | None, graph: Graph) -> bool:
    """Whether folding in is measured: it hides nodes that have no label."""
    some = len(graph.labelled) < graph.n
    if asked and not some:
        raise InputError("every node has a label, so none can be hidden and folded in: leave out --measure-fold-in")
    return some and graph.n <= MEASURED_UNASKED if asked is None else asked


def _facts(args: argparse.Namespace, inputs: Inputs, files: dict[str, Path]) -> dict[str, Any]:
    given = {name: getattr(args, name) for name in ("edges", "nodes", "labels", "feature_matrix") if getattr(args, name)}
    written = {name: path.name for name, path in files.items() if name != "page"}
    return {
        "title": args.title or f"Predicting {inputs.label}",
        "folder": str(args.out),
        "files": {**given, **written},
        "notes": list(inputs.notes),
        "command": shlex.join(["slimg", *(str(word) for word in args.words)]),
    }


def _write(files: dict[str, Path], inputs: Inputs, model: Any, record: dict[str, Any]) -> None:
    from slimg.report.page import render

    frame, prefix = prediction_table(inputs.table, model.classes_, model.predict_proba())
    if prefix:
        record["read"]["notes"].append(f"New columns begin with {prefix}: the table has columns of these names already.")
    write_table(frame, files["predictions"], separator=separator_of(inputs))
    write_text(json.dumps(record, ensure_ascii=False, allow_nan=False), files["record"])
    write_text(render(record), files["page"])


def _short(record: dict[str, Any]) -> dict[str, Any]:
    """What a script wants to know: no lists of nodes."""
    read, held = record["read"], record["held_out"]
    return {
        **{name: read[name] for name in ("nodes", "edges", "features", "labelled", "notes", "files")},
        "folder": read["folder"],
        "classes": record["classes"],
        "accuracy": held["accuracy"],
        "interval": held["interval"],
        "majority": held["majority"],
        "fold_in_agreement": record["model"]["fold_in_agreement"],
        "weights": {part["name"]: part["norm"] for part in record["model"]["overview"]["components"]},
        "verdict": (record["diagnosis"] or {}).get("verdict", []),
        "seconds": record["seconds"],
    }


def _tell(record: dict[str, Any], files: dict[str, Path]) -> None:
    read, held = record["read"], record["held_out"]
    say(f"{read['nodes']:,} nodes, {read['edges']:,} edges, {read['features']:,} features, {read['labelled']:,} labelled")
    say(*(f"  {plain(note)}" for note in read["notes"]))
    for sentence in (record["diagnosis"] or {}).get("verdict", ()):
        say(plain(sentence))
    low, high = held["interval"]
    say(
        f"Accuracy on labels not seen: {held['accuracy']:.1%} ({low:.1%} to {high:.1%});"
        f" the largest class alone would be {held['majority']:.1%}."
    )
    if record["model"]["fold_in_agreement"] is not None:
        say(f"Nodes hidden and folded in got the class of this fit in {record['model']['fold_in_agreement']:.1%} of cases.")
    say(f"Written: {', '.join(str(path) for path in files.values())}", f"Open {files['page']} in a browser.")
