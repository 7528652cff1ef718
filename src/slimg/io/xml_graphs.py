"""Readers of GraphML and GEXF: nodes and edges with attributes, in one XML file.

GraphML   <key id for attr.name attr.type>   <node id> <data key>   <edge source target> <data key>
GEXF      <attribute id title type>   <node id label> <attvalue for value>   <edge source target weight>
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from slimg.errors import InputError
from slimg.io import Reading, Source, check_size
from slimg.io.text import unpacked

_NUMBERS = {"int": int, "integer": int, "long": int, "short": int, "byte": int, "float": float, "double": float}


def read_graphml(source: Source) -> Reading:
    """Read GraphML; attributes get the names and types of their keys; defaults are filled in."""
    root, graph = _parsed(source, "graphml")
    keys = {key.get("id"): key for key in _all(root, "key")}
    defaults: dict[str, dict[str, Any]] = {"node": {}, "edge": {}}
    for key in keys.values():
        value = next((_typed(child.text, key.get("attr.type")) for child in _children(key, "default")), None)
        for kind in defaults:
            if value is not None and key.get("for") in (kind, "all", None):
                defaults[kind][key.get("attr.name") or str(key.get("id"))] = value

    def attributes(element: ElementTree.Element, kind: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for data in _children(element, "data"):
            key = keys.get(data.get("key"))
            if key is None:
                raise InputError(f"a {kind} refers to key {str(data.get('key'))[:60]!r}, which is not declared")
            values[key.get("attr.name") or str(data.get("key"))] = _typed(data.text or "", key.get("attr.type"))
        return values

    return _reading(graph, attributes, graph.get("edgedefault") != "undirected", defaults)


def read_gexf(source: Source) -> Reading:
    """Read GEXF; labels of nodes are their column ``label``, attributes get their titles and types."""
    root, graph = _parsed(source, "gexf")
    declared: dict[tuple[str | None, str | None], tuple[str, str | None]] = {}
    for group in _all(root, "attributes"):
        for entry in _all(group, "attribute"):
            declared[group.get("class"), entry.get("id")] = entry.get("title") or str(entry.get("id")), entry.get("type")

    def attributes(element: ElementTree.Element, kind: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        label, weight = element.get("label"), element.get("weight")
        if kind == "node" and label not in (None, element.get("id")):
            values["label"] = label
        if kind == "edge" and weight is not None:
            values["weight"] = _typed(weight, "double")
        for value in _all(element, "attvalue"):
            name, type_name = declared.get((kind, value.get("for")), (str(value.get("for")), None))
            values[name] = _typed(value.get("value"), type_name)
        return values

    return _reading(graph, attributes, graph.get("defaultedgetype") == "directed")


def _reading(
    graph: ElementTree.Element, attributes: Callable[[ElementTree.Element, str], dict[str, Any]], directed: bool,
    defaults: dict[str, dict[str, Any]] | None = None,
) -> Reading:
    tables = {}
    for kind, ends in (("node", ("id",)), ("edge", ("source", "target"))):
        elements = _all(graph, kind)
        own = {end: [element.get(end) for element in elements] for end in ends}
        tables[kind] = _table(own, (defaults or {}).get(kind, {}), (attributes(element, kind) for element in elements))
    if not len(tables["node"]):
        raise InputError("there are no nodes in it")
    return Reading(tables["node"], tables["edge"], directed=directed)


def _table(own: dict[str, list[Any]], defaults: dict[str, Any], rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Columns of the elements' own attributes, of defaults, and of what each row adds."""
    n = len(next(iter(own.values())))
    columns = {**own, **{name: [value] * n for name, value in defaults.items() if n}}
    for row, values in enumerate(rows):
        for name, value in values.items():
            if name not in columns:
                check_size(16 * n * len(columns), 1 << 20, "its table of attributes")
                columns[name] = [None] * n
            columns[name][row] = value
    return pd.DataFrame({name: pd.Series(values, dtype=None if n else object) for name, values in columns.items()})


def _parsed(source: Source, name: str) -> tuple[ElementTree.Element, ElementTree.Element]:
    """The outermost element and the graph in it."""
    try:
        root = ElementTree.fromstring(unpacked(source))
    except ElementTree.ParseError as error:
        raise InputError(f"it is not well-formed XML ({error})") from None
    if _local(root) != name:
        raise InputError(f"its outermost element is <{_local(root)[:60]}>, not <{name}>")
    graph = next(iter(_all(root, "graph")), None)
    if graph is None:
        raise InputError("there is no <graph> in it")
    return root, graph


def _typed(text: str | None, kind: str | None) -> Any:
    if text is None:
        return None
    if kind in ("boolean", "bool"):
        return text.strip().lower() in ("true", "1")
    try:
        return _NUMBERS[kind](text) if kind in _NUMBERS else text
    except ValueError:
        raise InputError(f"the value {text[:60]!r} is no {kind}") from None


def _local(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _children(element: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [child for child in element if _local(child) == name]


def _all(element: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [child for child in element.iter() if _local(child) == name and child is not element]
