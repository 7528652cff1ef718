"""Graphs of the cells, by a small description:

    {"name": "cora"}                                  a published graph, from the files that are here
    {"case": "semantic-uniform", "n": 6000}           a sanity check, at the paper's degree and nodes per feature
    {"standin": "ogbn-arxiv", "nodes": 16000, …}      a generated graph in the place of one whose files are not here

Features of published graphs are divided by their row sums before they are used, those of generated ones are taken as they
are; ``"prepared": "raw"`` or ``"row"`` in the description decides otherwise.
"""

from __future__ import annotations

from typing import Any

from slimg.errors import InputError, choices
from slimg.graph import Graph
from slimg.lab import datasets
from slimg.lab.bench.standin import make_standin
from slimg.lab.datasets import files
from slimg.lab.datasets.loader import find
from slimg.lab.sanity.case import make, parts, scaled

KINDS = ("name", "case", "standin")
_KNOWN = {"name": {"name", "prepared"}, "case": {"case", "n", "prepared"}}


def check(data: Any, where: str) -> None:
    """`InputError` unless this describes a graph."""
    kinds = [kind for kind in KINDS if isinstance(data, dict) and kind in data]
    if len(kinds) != 1:
        raise InputError(f"{where}: a graph is described by one of {', '.join(KINDS)}, not by {data!r}")
    (kind,) = kinds
    if kind == "name":
        find(data["name"])
    elif kind == "case":
        parts(data["case"])
        scaled(data.get("n", 0))
    unknown = sorted(set(data) - _KNOWN.get(kind, set(data)))
    if unknown:
        raise InputError(f"{where}: {unknown[0]!r} is no part of the description of a graph by {kind}")
    if data.get("prepared", "row") not in ("row", "raw"):
        raise choices(f"{where}: prepared", data["prepared"], ["row", "raw"])


def column(data: dict[str, Any]) -> str:
    """The column of a table that the graph stands in."""
    return str(next(data[kind] for kind in KINDS if kind in data))


def is_standin(data: dict[str, Any]) -> bool:
    """Whether the graph was made up."""
    return "standin" in data


def is_present(name: str) -> bool:
    """Whether the files of a published graph are here."""
    return files.find(find(name)) is not None


def load(data: dict[str, Any]) -> Graph:
    """The graph, with all its labels."""
    if "name" in data:
        return datasets.load(data["name"])
    if "case" in data:
        return make(*parts(data["case"]), **scaled(data["n"])).graph
    return make_standin(**{key: value for key, value in data.items() if key not in ("standin", "prepared")})


def normalisation(data: dict[str, Any]) -> str | None:
    """What is done to the features, as ``normalize_features`` of the models."""
    prepared = data.get("prepared", "row" if "name" in data else "raw")
    return "row" if prepared == "row" else None
