"""``slimg fit``: from files to predictions, a model and a page.

    slimg fit --edges follows.csv --nodes users.parquet --label team --id user

reads who follows whom and a table of users, some of whom have a team, and writes into the folder slimg-out:

    predictions.parquet   the table of users with prediction, probability, margin and one column per team
    model.slimg           the model, for slimg predict and slimg explain
    report.html           a page that opens offline: accuracy, the model, and explanations of users
    record.json           the data of the page, for slimg report

Guesses about the files are printed; the options below overrule them. The four files appear together when all are
complete; other files in the folder stay.

    slimg fit --edges follows.csv --edges pays.csv --directed pays --nodes users.csv --nodes items.csv --label team

reads two relations, of which one keeps its direction, between nodes of two types. One file can hold several relations:
--edges links.csv --relation kind.
"""

from __future__ import annotations

import argparse
import json
import shlex
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slimg.cli import Progress, add_command, echo, print_json
from slimg.cli.engines import add_engine_options, opened
from slimg.cli.inputs import (
    FORMATS,
    add_coverage_option,
    add_input_options,
    as_list,
    options_of,
    predictions_path,
    reading_record,
    rows_of_nodes,
    write_predictions,
)
from slimg.cli.results import MODEL, PAGE, RECORD, existing_results, result_folder
from slimg.errors import InputError, without_password
from slimg.graph.graph import Graph
from slimg.io import refuse_existing, write_text
from slimg.io.inputs import Inputs
from slimg.system import release_memory

if TYPE_CHECKING:
    from slimg.classifier import SlimG

STAGES = 7
"""Reading, components, learning, comparing, diagnosing, explaining, writing."""
SCORING = ("accuracy", "balanced_accuracy", "f1_macro", "average_precision", "roc_auc", "log_loss")
"""Names of `slimg.learn.objective.METRICS`, which would load scikit-learn."""
NAMES = {"name": 80, "full_name": 80, "display_name": 80, "title": 200, "headline": 200, "caption": 200, "words": 30}
"""Columns whose values are shown beside ids, the first that there is, and how many characters half of them may have."""
MEASURED_NODES = 3_000
"""Nodes up to which folding in is measured by default: it takes a second or two."""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = add_command(subparsers, "fit", __doc__, run)
    add_input_options(parser)
    output = parser.add_argument_group("output")
    output.add_argument("--out", metavar="DIR", type=Path, default=Path("slimg-out"), help="folder (default: slimg-out)")
    output.add_argument("--force", action="store_true", help="overwrite existing files")
    shown = output.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print the results as JSON")
    shown.add_argument("--verbose", action="store_true", help="print also how files were read, the diagnosis and what to do next")
    add_coverage_option(output)
    output.add_argument("--title", metavar="TEXT", help="title of the page")
    output.add_argument("--explain", metavar="NODE", nargs="+", action="extend",
                        help="ids of further nodes to explain on the page")  # fmt: skip
    parser.add_argument(
        "--measure-fold-in",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="hide a tenth of the nodes, fit the rest, fold the hidden nodes in and compare with this fit; takes about as"
        f" long as the components (default: for graphs of up to {MEASURED_NODES:,} nodes)",
    )
    add_scoring_option(parser, "what penalties are chosen by, and the result is judged by")
    parser.add_argument("--class-weight", choices=("balanced",), help="balanced: every class counts the same in the loss")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the folds (default: 0)")
    add_engine_options(parser)
    return parser


def add_scoring_option(parser: argparse.ArgumentParser, what: str) -> None:
    """The option --scoring, which says ``what`` is done by it."""
    default = "accuracy, or average_precision if one of two classes has under 10 %% of the labels"
    parser.add_argument("--scoring", choices=SCORING, help=f"{what} (default: {default})")


def run(args: argparse.Namespace) -> int:
    """Read, fit, diagnose, explain, write."""
    progress, options = Progress(quiet=args.json), options_of(args)
    if args.out.suffix.lower() in (*FORMATS, ".xlsx"):
        raise InputError(f"--out {args.out} is to be a folder, for four files: the predictions are written in the format of the"
                         " table of nodes")  # fmt: skip
    if not options.nodes and not options.edges and options.db is None:
        raise InputError("name a file of edges with --edges, a file of nodes with --nodes, or both: see slimg fit --help")
    names = {"predictions": predictions_path(Path(), options).name, "model": MODEL, "page": PAGE, "record": RECORD}
    files = {name: args.out / file for name, file in names.items()}
    refuse_existing(existing_results(args.out), args.force)
    with (result_folder(args.out) as draft, progress.whole("fit", STAGES),
          opened(args, options, progress) as (inputs, engine, notes)):  # fmt: skip
        graph, inputs = inputs.graph, replace(inputs, notes=(*inputs.notes, *notes))
        in_memory = isinstance(engine, str)
        explain, measure = rows_of_nodes(graph, args.explain or ()), _measures_fold_in(args.measure_fold_in, graph, in_memory)
        from slimg.classifier import SlimG

        wanted: dict[str, Any] = {"scoring": args.scoring, "class_weight": args.class_weight, "random_state": args.seed}
        model = SlimG(**wanted, engine=engine, verbose=progress).fit(graph).set_params(verbose=False)
        if measure:
            with progress.stage("measuring"):
                model.measure_fold_in()
        model.data_["reading"] = reading_record(args, inputs)
        with ThreadPoolExecutor(1, "saving") as executor:  # checksums and the disk do not need the interpreter
            saved = executor.submit(model.save, draft / MODEL)
            from slimg.report.record import fit_record

            told: dict[str, Any] = {"facts": _facts(args, inputs, files), "names": _names(inputs)}
            record = fit_record(model, graph, **told, explain=explain, progress=progress)
            model.components_.blocks.clear()  # scores and states are all that is needed from here on
            release_memory()
            with progress.stage("writing"):
                _write({name: draft / file for name, file in names.items()}, inputs, model, record, args.coverage)
                saved.result()
    record["seconds"] = progress.seconds
    if args.json:
        from slimg.report.record import results

        print_json(results(record))
    else:
        _print_summary(record, files, args.verbose)
    return 0


def _measures_fold_in(option: bool | None, graph: Graph, in_memory: bool) -> bool:
    """Whether folding in is measured: it hides nodes that have no label, and fits the rest in memory."""
    some = len(graph.labelled) < graph.n
    if not in_memory:
        if option:
            raise InputError("--measure-fold-in fits in memory: leave it out, or use --engine memory")
        return False
    if option and not some:
        raise InputError("every node has a label, so none can be hidden and folded in: leave out --measure-fold-in")
    return some and graph.n <= MEASURED_NODES if option is None else option


def _facts(args: argparse.Namespace, inputs: Inputs, files: dict[str, Path]) -> dict[str, Any]:
    given = {name: without_password(", ".join(as_list(getattr(args, name))))
             for name in ("edges", "nodes", "db", "labels", "feature_matrix") if getattr(args, name)}  # fmt: skip
    written = {name: path.name for name, path in files.items() if name != "page"}
    return {
        "title": args.title or f"Predicting {inputs.label}",
        "folder": str(args.out),
        "files": {**given, **written},
        "notes": list(inputs.notes),
        "command": shlex.join(["slimg", *(without_password(str(word)) for word in args.words)]),
    }


NAMED = 400_000
"""Rows of a table on disk whose names are read: a page has room for fewer."""


def _names(inputs: Inputs) -> list[Any] | None:
    """A column that people know the nodes by, beside the id."""
    own = {str(name).lower(): name for name in inputs.table.columns if name not in (inputs.id, inputs.label)}
    found = next((own[name] for name in NAMES if name in own), None)
    if found is None or (inputs.stored is None and len(inputs.table) != inputs.graph.n):
        return None
    column = inputs.table[found] if inputs.stored is None else inputs.stored.first(found, NAMED)
    values = [value if isinstance(value, (str, int)) else "" for value in column.tolist()]
    return values if sorted(len(str(value)) for value in values)[len(values) // 2] <= NAMES[str(found).lower()] else None


def _write(files: dict[str, Path], inputs: Inputs, model: SlimG, record: dict[str, Any], coverage: float | None) -> None:
    from slimg.inference.predictions import Chances
    from slimg.report.page import render

    chances = Chances(model._own_scores(), model.temperature_)
    sets = None if coverage is None else partial(model.prediction_sets, coverage=coverage)
    record["read"]["notes"] += write_predictions(inputs, model.classes_, chances, files["predictions"], sets)
    write_text(json.dumps(record, ensure_ascii=False, allow_nan=False), files["record"])
    write_text(render(record), files["page"])


def _print_summary(record: dict[str, Any], files: dict[str, Path], verbose: bool) -> None:
    """Five lines; the rest, which the page has too, if it is asked for."""
    from slimg.report.record import lines_of
    from slimg.report.scores import format_first

    echo(*lines_of(record, files["page"]))
    if not verbose:
        return
    told, found, agreed = record["held_out"]["ranking"], record["diagnosis"], record["model"]["fold_in_agreement"]
    echo("", *(f"  {note}" for note in record["read"]["notes"]), *(found["verdict"] if found else ()))
    echo(*(each for each in (record["comparison"]["sentence"], *record["comparison"]["notes"]) if each))
    if told:
        echo(format_first(told, record["classes"][told["code"]]))
    echo(*(found["advice"] if found else ()))
    if agreed is not None:
        echo(f"Hidden nodes that were folded in got the class of this fit in {agreed:.1%} of cases.")
    echo(f"Written: {', '.join(str(path) for path in files.values())}")
