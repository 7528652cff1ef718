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
from pathlib import Path
from typing import Any

from slimg.commands.console import Progress, plain, say
from slimg.commands.options import add_input_options, options_of
from slimg.commands.predictions import prediction_table, predictions_path, separator_of
from slimg.files.inputs import Inputs, read_inputs
from slimg.files.write import make_folder, refuse_existing, write_table


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = subparsers.add_parser("fit", help="learn from files; predictions, a model and a page", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add_input_options(parser)
    output = parser.add_argument_group("output")
    output.add_argument("--out", metavar="DIR", type=Path, default=Path("slimg-out"), help="folder (default: slimg-out)")
    output.add_argument("--force", action="store_true", help="write over what is there")
    output.add_argument("--json", action="store_true", help="print what was found as JSON")
    parser.add_argument("--seed", type=int, default=0, help="of the folds (default: 0)")
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Read, fit, write; the exit code."""
    progress = Progress(quiet=args.json)
    options = options_of(args)
    predictions = predictions_path(args.out, options) if options.nodes or options.edges else args.out / "predictions.csv"
    refuse_existing([predictions], args.force)
    with progress.stage("reading"):
        inputs = read_inputs(options)
    make_folder(args.out)
    with progress.stage("fitting"):
        from slimg.classifier import SlimG

        model = SlimG(random_state=args.seed).fit(inputs.graph)
    with progress.stage("writing"):
        frame, prefix = prediction_table(inputs.table, model.classes_, model.predict_proba())
        write_table(frame, predictions, separator=separator_of(inputs))
    if args.json:
        print(json.dumps(_record(inputs, model, predictions), ensure_ascii=False, indent=1))
    else:
        _tell(inputs, model, predictions, prefix)
    return 0


def _record(inputs: Inputs, model: Any, predictions: Path) -> dict[str, Any]:
    graph = inputs.graph
    return {
        "nodes": graph.n,
        "edges": graph.edges,
        "features": graph.d,
        "labelled": len(graph.labelled),
        "classes": [str(name) for name in model.classes_],
        "notes": list(inputs.notes),
        "weights": model.component_weights(),
        "files": {"predictions": str(predictions)},
    }


def _tell(inputs: Inputs, model: Any, predictions: Path, prefix: str) -> None:
    say(f"{inputs.graph}".removeprefix("Graph(").removesuffix(")"))
    say(*(f"  {plain(note)}" for note in inputs.notes))
    if prefix:
        say(f"  New columns begin with {prefix}, since the table has columns of these names already.")
    norms = model.component_weights().items()
    weights = ", ".join(f"{name} {norm:.1f}" if norm else f"{name} not used" for name, norm in norms)
    say(f"Weights: {weights}", f"Predictions: {predictions}")
