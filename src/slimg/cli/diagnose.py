"""``slimg diagnose``: does the graph help, and how?

    slimg diagnose --edges follows.csv --nodes users.csv --label team

Reports whether neighbours tend to share labels, to have different ones, or neither; whether features alone or edges alone
suffice; what more labels would give; which labels look wrong; and what to do next. No file is written.
"""

from __future__ import annotations

import argparse
from typing import Any

from slimg.cli import Progress, add_command, echo, print_json, whole
from slimg.cli.fit import add_scoring_option
from slimg.cli.inputs import add_input_options, options_of
from slimg.io.inputs import read_inputs


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = add_command(subparsers, "diagnose", __doc__, run)
    add_input_options(parser)
    add_scoring_option(parser, "what components are judged by")
    parser.add_argument("--seed", type=whole(0, 2**32 - 1), default=0, help="seed of permutations and samples (default: 0)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(args: argparse.Namespace) -> int:
    """Read, diagnose, print."""
    progress = Progress(quiet=args.json)
    with progress.whole("diagnose", 3):
        with progress.stage("reading"):
            inputs = read_inputs(options_of(args))
        from slimg.classifier import SlimG
        from slimg.explain.diagnosis import check_labels, diagnose

        check_labels(inputs.graph)
        components = SlimG(random_state=args.seed, verbose=progress).propagate(inputs.graph)
        with progress.stage("diagnosing"):
            found = diagnose(inputs.graph, scoring=args.scoring, propagated=components, random_state=args.seed)
    if args.json:
        print_json({**found.to_dict(), "notes": inputs.notes})
    else:
        echo(*(f"  {note}" for note in inputs.notes), "", *found.text().splitlines())
    return 0
