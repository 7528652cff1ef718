"""``slimg gnnexp``: the propagators of graph neural networks, in writing, in proofs and from your own code.

    slimg gnnexp table --format markdown
    slimg gnnexp show gcnii --set K=4 --set alpha=0.2 --plot gcnii.svg
    slimg gnnexp verify
    slimg gnnexp linearize mine.py:Network
"""

from __future__ import annotations

import argparse
import ast
import json
from typing import Any

from slimg.cli import add_command
from slimg.errors import InputError


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = add_command(subparsers, "gnnexp", __doc__)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    table = actions.add_parser("table", help="all propagators and what they are like")
    table.add_argument("--format", default="text", metavar="FORMAT", help="text, markdown, latex or json (default: text)")
    table.set_defaults(run=_table)

    show = actions.add_parser("show", help="one propagator: formula, reference, spectral response")
    show.add_argument("name", metavar="NAME", help="such as sgc, gcnii or slimg")
    show.add_argument("--set", metavar="K=8", action="append", default=[], help="a hyperparameter; may be repeated")
    show.add_argument("--plot", metavar="FILE", help="save the spectral response as .svg or .png")
    show.set_defaults(run=_show)

    verify = actions.add_parser("verify", help="prove the paper's lemmas numerically")
    verify.add_argument("lemmas", nargs="*", metavar="LEMMA", help="names of lemmas (default: all)")
    verify.add_argument("--json", action="store_true", help="print JSON")
    verify.set_defaults(run=_verify)

    linearize = actions.add_parser("linearize", help="derive the propagator of your own network")
    linearize.add_argument("address", metavar="FILE.py:NAME", help="a torch module, or a class or function that makes one")
    linearize.add_argument("--latex", action="store_true", help="print the formula in LaTeX")
    linearize.set_defaults(run=_linearize)
    return parser


def _table(args: argparse.Namespace) -> int:
    from slimg.lab.gnnexp.table import table

    print(table(args.format))
    return 0


def _show(args: argparse.Namespace) -> int:
    from slimg.lab.gnnexp.table import plot, show

    values = dict(_assignment(given) for given in args.set)
    print(show(args.name, **values))
    if args.plot:
        print(f"\nplot written to {plot(args.name, args.plot, **values)}")
    return 0


def _verify(args: argparse.Namespace) -> int:
    from slimg.lab.gnnexp.lemmas import verify

    records = verify(args.lemmas or None)
    if args.json:
        print(json.dumps([record.as_dict() for record in records], indent=1, ensure_ascii=False))
    else:
        print("\n".join(map(str, records)))
        held = sum(record.holds for record in records)
        print(f"\n{held} of {len(records)} as stated, in {sum(record.seconds for record in records):.1f} s")
    return int(not all(record.holds for record in records))


def _linearize(args: argparse.Namespace) -> int:
    from slimg.lab.gnnexp.linearize import linearize
    from slimg.lab.shared.process import load_object

    derived = linearize(_built(load_object(args.address), args.address))
    print(derived)
    if args.latex:
        print(f"  LaTeX: {derived.latex}")
    return 0


def _built(found: Any, address: str) -> Any:
    """A network: the object itself, or what a class or function makes without arguments."""
    is_network = hasattr(found, "forward") and not isinstance(found, type)
    if is_network or not callable(found):
        return found
    try:
        return found()
    except Exception as error:  # a user's constructor may raise anything
        problem = f"building the network without arguments raised {type(error).__name__}: {error}"
        raise InputError(f"{address}: {problem}; name a function that builds it") from error


def _assignment(given: str) -> tuple[str, Any]:
    name, equals, value = given.partition("=")
    if not equals or not name.isidentifier():
        raise InputError(f"--set needs NAME=VALUE, such as K=8, not {given!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        raise InputError(f"--set {given}: {value!r} is not a number or a list of numbers") from None
