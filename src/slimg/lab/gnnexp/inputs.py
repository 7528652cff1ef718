"""Which argument of forward is what.

    features    X                                     x, or the first argument that is nothing else
    graph       the edges of A, or A as a matrix      edge_index, adj_t, …
    weights     the weights of those edges            edge_weight, edge_attr
    two_hop     the strict two-hop neighbours of A, a graph of its own: A₂            edge_index2, adj2, …
    square      the same, read as the paper does: its operator is the square of A's
    data        a `torch_geometric.data.Data`         data
    ignored     anything without influence            batch, size, num_nodes, …
    A, A_row, A_sym, A_col, Ã, Ã_row, Ã_sym, Ã_col    a matrix that is this operator already

Roles are read from the names; ``inputs={"argument": "role"}`` overrides. Arguments with a default keep it unless named.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from slimg.errors import InputError, choices
from slimg.lab.gnnexp.edges import Edges, EdgeWeights
from slimg.lab.gnnexp.evaluate import TWO_HOP
from slimg.lab.gnnexp.symbols import NORMALISATIONS, normalised
from slimg.lab.gnnexp.terms import Value
from slimg.lab.gnnexp.values import DataObject, Opaque

_OPERATORS = {
    letter + ("" if norm == "none" else f"_{norm}"): normalised("A", norm, loops)
    for letter, loops in (("A", 0), ("Ã", 1))
    for norm in NORMALISATIONS
}
ROLES = ("features", "graph", "weights", "two_hop", "square", "data", "ignored", *_OPERATORS)
_IGNORED = ("batch", "size", "num_nodes", "ptr", "training", "batch_size")


def bind(
    parameters: Mapping[str, inspect.Parameter], inputs: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(constants, abstract values) by argument."""
    for name in inputs:
        if name not in parameters:
            raise choices("argument of forward in inputs", name, list(parameters))
    kept = {
        name: parameter.default
        for name, parameter in parameters.items()
        if parameter.default is not inspect.Parameter.empty and name not in inputs
    }
    roles = {name: inputs.get(name, "") or _role(name) for name in parameters if name not in kept}
    unnamed = [name for name, role in roles.items() if role == ""]
    if unnamed and not {"features", "data"} & set(roles.values()):
        roles[unnamed.pop(0)] = "features"
    for name in unnamed:
        raise InputError(
            f"it is not clear what the argument {name} of forward is: say so with inputs={{'{name}': role}}, where role"
            f" is one of {', '.join(ROLES)}"
        )
    _check(roles)
    return kept, {name: _value(role, "weights" in roles.values()) for name, role in roles.items()}


def _role(name: str) -> str:
    lower = name.lower().lstrip("*")
    if "edge_weight" in lower or "edge_attr" in lower:
        return "weights"
    if "edge_index" in lower or lower.startswith("adj"):
        return "two_hop" if "2" in lower or "two" in lower else "graph"
    if lower in ("x", "data"):
        return "features" if lower == "x" else "data"
    return "ignored" if lower in _IGNORED or name.startswith("*") else ""


def _check(roles: Mapping[str, str]) -> None:
    for name, role in roles.items():
        if role not in ROLES:
            raise choices(f"role of the argument {name}", role, ROLES)
    for role in ("features", "graph"):
        named = [name for name, given in roles.items() if given == role]
        if len(named) > 1:
            raise InputError(
                f"forward has more than one argument for the {role}: {', '.join(named)}; name the role of the others"
                " with inputs={...}"
            )


def _value(role: str, weighted: bool) -> Any:
    graph = Edges("A", "B" if weighted else "A")
    if role in _OPERATORS:
        return replace(graph, ready=_OPERATORS[role])
    return {
        "features": Value.features(),
        "graph": graph,
        "weights": EdgeWeights(graph),
        "two_hop": Edges(TWO_HOP, TWO_HOP),
        "square": replace(graph, hops=2),
        "data": DataObject(weighted=False),
        "ignored": Opaque("ignored", is_number=True),
    }[role]
