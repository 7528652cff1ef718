"""``slimg explain``: why a node is classified as it is, and what would change it.

    slimg explain alice
    slimg explain alice bob --model slimg-out/model.slimg --without carol
    slimg explain -- -42                       (an id that begins with a dash)

The score of each class is a sum, and the printed parts add up to it. To find edges whose removal changes the class,
slimg removes them and computes the scores again.
"""

from __future__ import annotations

import argparse
from typing import Any

from slimg.cli import Progress, add_command, echo, print_json, whole
from slimg.cli.inputs import add_input_options, add_model_option, load_with_graph, rows_of_nodes


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = add_command(subparsers, "explain", __doc__, run)
    parser.add_argument("node", metavar="NODE", nargs="+", help="ids of nodes")
    add_model_option(parser)
    parser.add_argument("--without", metavar="NODE", nargs="+", action="extend",
                        help="compute the class without the edges to these nodes")  # fmt: skip
    parser.add_argument("--terms", type=whole(1, 10**6), default=5, metavar="K",
                        help="features and nodes to name for each component (default: 5)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_input_options(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Explain each node."""
    progress = Progress(quiet=args.json)
    with progress.whole("explain", 2):
        with progress.stage("reading"):
            model, inputs, _ = load_with_graph(args)
        graph = inputs.graph
        ids, others = ([graph.ids[row] for row in rows_of_nodes(graph, each or ())] for each in (args.node, args.without))
        with progress.stage("explaining", 2 * len(ids)):
            explanations, found = model.explain_all(ids, graph), []
            progress.advance(len(ids))
            for node, explanation in zip(ids, explanations, strict=True):
                change = (model.counterfactual(node, without_neighbours=others, graph=graph) if others
                          else model.find_counterfactual(node, graph=graph))  # fmt: skip
                found.append((explanation, change))
                progress.advance(1)
    if args.json:
        print_json([{**one.to_dict(args.terms), "without": change and change.text()} for one, change in found])
        return 0
    for explanation, change in found:
        echo(*explanation.text(args.terms).splitlines())
        echo(*(change.text().splitlines() if change else ["No small set of edges changes its class."]), "")
    return 0
