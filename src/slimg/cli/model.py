"""A model's file remembers how its tables were read, so that later commands read tables in the same way.

data_["reading"] = {"options": what the user said, "plan": how columns became features, "label": the column's name}
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slimg.cli.options import as_record, options_of, with_recorded
from slimg.errors import InputError
from slimg.io.features import FeaturePlan
from slimg.io.inputs import Inputs, Options, read_inputs

if TYPE_CHECKING:
    from slimg.classifier import SlimG

DEFAULT = Path("slimg-out/model.slimg")


def add_model_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="FILE", type=Path, default=DEFAULT, help=f"a model's file (default: {DEFAULT})")


def remember(model: SlimG, args: argparse.Namespace, inputs: Inputs) -> None:
    """Put the manner of reading into what is known of the data."""
    plan = None if inputs.plan is None else inputs.plan.as_dict()
    model.data_["reading"] = {"options": as_record(args), "plan": plan, "id": inputs.id, "label": inputs.label}


def load_with_graph(args: argparse.Namespace) -> tuple[SlimG, Inputs, Options]:
    """The model, and the graph of the files given now or, by default, of those it was fitted on."""
    if not args.model.exists():
        raise InputError(f"there is no model {args.model}: make one with slimg fit, or name it with --model")
    from slimg.classifier import SlimG

    model = SlimG.load(args.model)
    reading: dict[str, Any] = model.data_.get("reading") or {}
    options = options_of(with_recorded(args, reading.get("options", {})))
    if options.edges is None and options.nodes is None:
        raise InputError(f"{args.model} does not say which files it was fitted on: name them with --edges and --nodes")
    plan = FeaturePlan.from_dict(reading["plan"]) if reading.get("plan") else None
    if options.labels is None:  # a label is not needed to predict, and a table of new nodes may lack the column
        options = replace(options, label=None)
    return model, read_inputs(options, need_label=False, plan=plan), options
