"""``slimg explain``: why a node is classified as it is, and what would change it.

    slimg explain alice
    slimg explain alice bob --model slimg-out/model.slimg --without carol
    slimg explain -- -42                       (an id that begins with a dash)

The score of each class is a sum: the parts that are printed add up to it. The edges without which the answer would be
another are found by propagating again, not by guessing.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from slimg.cli.console import Progress, plain, say
from slimg.cli.model import add_model_option, load_with_graph
from slimg.cli.nodes import positions
from slimg.cli.options import add_input_options
from slimg.cli.outcome import plain as values


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = subparsers.add_parser("explain", help="why a node is classified as it is", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("node", metavar="NODE", nargs="+", help="ids of nodes")
    add_model_option(parser)
    parser.add_argument("--without", metavar="NODE", nargs="+", help="what if its edges to these nodes were not there?")
    parser.add_argument(
        "--terms", type=int, default=5, metavar="K", help="features and nodes named of each part (default: 5)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_input_options(parser)
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Explain each node."""
    progress = Progress(quiet=args.json)
    with progress.whole("explain", 2):
        with progress.stage("reading"):
            model, inputs, _ = load_with_graph(args)
        graph = inputs.graph
        ids = [graph.ids[row] for row in positions(graph, args.node)]
        others = [graph.ids[row] for row in positions(graph, args.without or ())]
        with progress.stage("explaining", 2 * len(ids)):
            told = model.explain_all(ids, graph)
            progress.advance(len(ids))
            changes = []
            for node in ids:
                found = _without(model, node, others, graph) if others else model.find_counterfactual(node, graph=graph)
                changes.append(found)
                progress.advance(1)
    if args.json:
        records = [
            {**explanation.to_dict(args.terms), "without": None if change is None else change.text()}
            for explanation, change in zip(told, changes, strict=True)
        ]
        print(json.dumps(values(records), ensure_ascii=False, indent=1))
        return 0
    for explanation, change in zip(told, changes, strict=True):
        say(*(plain(line) for line in explanation.text(args.terms).splitlines()))
        say(
            plain(change.text()) if change else "No few edges were found without which it would be classified otherwise.", ""
        )
    return 0


def _without(model: Any, node: Any, others: list[Any], graph: Any) -> Any:
    return model.counterfactual(node, without_neighbours=others, graph=graph)
