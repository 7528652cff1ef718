"""``slimg diagnose``: does the graph help, and how?

    slimg diagnose --edges follows.csv --nodes users.csv --label team

Says whether neighbours share labels, prefer others, or neither; whether features alone or the network alone suffice;
what more labels would give; which labels look wrong; and what to do next. Nothing is written.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from slimg.cli.console import Progress, plain, say
from slimg.cli.fitting import components_of
from slimg.cli.options import add_input_options, options_of
from slimg.cli.outcome import plain as values
from slimg.io.inputs import read_inputs


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = subparsers.add_parser("diagnose", help="does the graph help, and how?", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add_input_options(parser)
    parser.add_argument("--seed", type=int, default=0, help="of permutations and samples (default: 0)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Read, diagnose, tell."""
    progress = Progress(quiet=args.json)
    with progress.whole("diagnose", 3):
        with progress.stage("reading"):
            inputs = read_inputs(options_of(args))
        from slimg.explain.diagnosis import check_labels, diagnose

        check_labels(inputs.graph)
        parts = components_of(inputs.graph, args.seed, progress)
        with progress.stage("diagnosing"):
            found = diagnose(inputs.graph, propagated=parts, random_state=args.seed)
    if args.json:
        print(json.dumps(values({**found.to_dict(), "notes": list(inputs.notes)}), ensure_ascii=False, indent=1))
    else:
        say(*(f"  {plain(note)}" for note in inputs.notes), "", *(plain(line) for line in found.text().splitlines()))
    return 0
