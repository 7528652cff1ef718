"""``slimg predict``: score the same graph again, or one that grew.

    slimg predict --model slimg-out/model.slimg --edges follows.csv --nodes users.csv --out today.csv

New nodes and edges join the old ones: only what they touch is computed again, nothing is fitted. Files that are not
named are those the model was fitted on.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from slimg.cli.console import Progress, plain, say
from slimg.cli.model import add_model_option, load_with_graph
from slimg.cli.options import add_input_options
from slimg.cli.predictions import prediction_table, predictions_path, separator_of
from slimg.io.write import refuse_existing, write_table


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = subparsers.add_parser("predict", help="score the same graph again, or one that grew", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add_model_option(parser)
    add_input_options(parser)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--out", metavar="FILE", type=Path, help="table to write (default: predictions, as the nodes' format)"
    )
    output.add_argument("--force", action="store_true", help="write over what is there")
    output.add_argument("--json", action="store_true", help="print what was done as JSON")
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Load, read, score, write."""
    progress = Progress(quiet=args.json)
    with progress.whole("predict", 3):
        with progress.stage("reading"):
            model, inputs, options = load_with_graph(args)
        path = args.out or predictions_path(Path(), options)
        refuse_existing([path], args.force)
        with progress.stage("scoring"):
            found = model.fold_in(inputs.graph)
        with progress.stage("writing"):
            frame, _ = prediction_table(inputs.table, model.classes_, found.predict_proba())
            write_table(frame, path, separator=separator_of(inputs))
    if args.json:
        counts = {"nodes": inputs.graph.n, "new": len(found.new), "changed": len(found.changed), "gone": found.gone}
        how = {"scored_again": len(found.touched), "fold_in_agreement": found.agreement}
        print(json.dumps({**counts, **how, "file": str(path)}, ensure_ascii=False, indent=1))
    else:
        say(*(f"  {plain(note)}" for note in inputs.notes), found.text())
        if len(found.touched) and found.agreement is None:
            say("How near this is to a refit was not measured: slimg fit --measure-fold-in does.")
        say(f"Written: {path}")
    return 0
