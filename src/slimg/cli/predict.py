"""``slimg predict``: score new nodes, the same graph again, or one that grew.

    slimg predict --nodes new.csv --edges new_edges.csv --out new_predictions.csv        new nodes alone
    slimg predict --nodes users.csv --edges follows.csv --out today.csv                  the whole graph as it is now

Nothing is fitted. Files with less than half of the fitted nodes are new rows, which are added to the graph that the model
keeps; their edges may lead to its nodes. Of a whole graph, only nodes near new or changed nodes and edges are scored again.
What is not given, edges or nodes, is taken from the graph that the model keeps; files that a model names are not read.
How far the new nodes are from the fitted ones, and whether a refit is due, is printed.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slimg.cli import Progress, add_command, echo, print_json
from slimg.cli.inputs import (
    add_coverage_option,
    add_input_options,
    add_model_option,
    load_with_graph,
    predictions_path,
    write_predictions,
)
from slimg.errors import InputError
from slimg.graph.columns import show
from slimg.io import refuse_existing

if TYPE_CHECKING:
    from slimg.inference.fold_in import FoldIn
    from slimg.io.inputs import Inputs, Options


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = add_command(subparsers, "predict", __doc__, run)
    add_model_option(parser)
    add_input_options(parser)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--out", metavar="FILE", type=Path, help="table to write (default: predictions, in the format of the nodes)"
    )
    add_coverage_option(output)
    output.add_argument("--force", action="store_true", help="overwrite an existing file")
    output.add_argument("--json", action="store_true", help="print the results as JSON")
    return parser


def run(args: argparse.Namespace) -> int:
    """Load, read, score, write."""
    progress = Progress(quiet=args.json)
    with progress.whole("predict", 3):
        with progress.stage("reading"):
            model, inputs, options = load_with_graph(args)
        from slimg.io.write import output_format

        path = args.out or predictions_path(Path(), options)
        output_format(path)
        refuse_existing([path], args.force)
        with progress.stage("scoring"):
            found = model.fold_in(inputs.graph)
        with progress.stage("writing"):
            chances = found.predict_proba()
            sets = None if args.coverage is None else partial(model.prediction_sets, coverage=args.coverage)
            known = _known_rows(inputs, found, options)
            if found.against is not None:  # the table of the new rows alone
                inputs = replace(inputs, table=inputs.table.iloc[found.new].reset_index(drop=True))
                chances = chances[found.new]
            notes = [*known, *write_predictions(inputs, model.classes_, chances, path, sets)]
    if args.json:
        counts = {"nodes": len(chances), "new": len(found.new), "changed": len(found.changed), "gone": found.gone}
        scored = {"scored_again": len(found.touched), "fold_in_agreement": found.agreement}
        drift = {"drift": found.drift and found.drift._asdict(), "refit_due": bool(found.drift and found.drift.refit_due)}
        print_json({**counts, **scored, **drift, "file": path})
        return 0
    lacking = inputs.graph.warnings() if found.against is not None else ()  # new rows alone lack what the fitted graph has
    told = [note for note in inputs.notes if note not in lacking]
    echo(*(f"  {note}" for note in (*told, *notes)), *found.text().splitlines())
    if len(found.touched) and found.agreement is None:
        echo("How close this is to a refit was not measured: use slimg fit --measure-fold-in.")
    echo(f"Written: {path}")
    return 0


def _known_rows(inputs: Inputs, found: FoldIn, options: Options) -> list[str]:
    """A note on rows that are not new among new rows; an error if none is."""
    if found.against is None or not options.nodes:
        return []
    rest = inputs.table.drop(index=inputs.table.index[found.new])
    known = rest[inputs.id][rest.drop(columns=inputs.id).notna().any(axis=1)]  # not those that edges alone name
    advice = "give the whole table of nodes to score them again"
    if not len(found.new):
        raise InputError(f"{options.nodes[0]}: no row is new, the fitted graph has all ids ({show(known)}): {advice}")
    return [f"Rows that are left out, as the fitted graph has their ids: {show(known)}; {advice}."] if len(known) else []
