"""Nodes that are named on the command line, where every id is text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slimg.errors import InputError
from slimg.graph.columns import show
from slimg.graph.graph import Graph


def positions(graph: Graph, asked: Sequence[Any]) -> list[int]:
    """Rows of the nodes."""
    if not asked:
        return []
    by_text = {str(value): row for row, value in enumerate(graph.ids)}
    lost = [name for name in asked if str(name) not in by_text]
    if lost:
        raise InputError(f"no node is called {show(lost)}: ids of this graph look like {show(graph.ids[:3])}")
    return [by_text[str(name)] for name in asked]
