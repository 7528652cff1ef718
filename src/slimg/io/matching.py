"""Ids: those of nodes and of the ends of edges are brought into one type, matched, and joined to a graph.

ids (n), ends of edges (2 × m)  ─▶  comparable  ─▶  graph_of  ─▶  with_strangers (a row of the table for every node)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from slimg.errors import InputError
from slimg.graph.columns import text_of
from slimg.graph.graph import Graph
from slimg.io.values import without


def comparable(ids: pd.Series, ends: list[pd.Series]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Ids of nodes and ends of edges in one type: as they are if all are numbers, else as text."""
    columns = [column.astype(object).to_numpy(dtype=object, na_value=None) for column in (ids, *ends)]
    kinds = {type(value) for column in columns for value in column if value is not None}
    alike = len(kinds) <= 1 and not any(issubclass(kind, (float, np.floating)) for kind in kinds)
    if not alike:
        columns = [text_of(column) for column in columns]
    columns = [without(column, column == "") for column in columns]
    return columns[0], columns[1:]


def graph_of(
    columns: dict[str, np.ndarray],
    ids: np.ndarray,
    labels: np.ndarray | None,
    features: Any,
    names: Sequence[str] | None,
    directed: bool,
    unknown: str,
) -> Graph:
    """The graph of edges (columns source, target, perhaps weight); ``unknown`` says what becomes of ends that are no id."""
    try:
        graph = Graph.from_edges(
            columns,
            ids,
            source="source",
            target="target",
            weight="weight" if "weight" in columns else None,
            labels=labels,
            features=features,
            directed=directed,
            unknown=unknown,  # type: ignore[arg-type]
        )
    except InputError as error:
        told = str(error).replace("unknown='keep' or unknown='drop'", "--unknown keep or --unknown drop")
        raise InputError(told) from error
    return replace(graph, feature_names=tuple(names)) if names else graph


def with_strangers(table: pd.DataFrame, id_name: str, graph: Graph) -> pd.DataFrame:
    """The table with a row for each id that was kept though only the edges have it."""
    if graph.n == len(table):
        return table
    strangers = pd.DataFrame({id_name: graph.ids[len(table) :]})
    return pd.concat([table.astype({id_name: object}), strangers], ignore_index=True)


def distinct(ends: Sequence[pd.Series]) -> np.ndarray:
    """The ids in the edges, in order if they are of one type."""
    found = pd.unique(pd.concat(list(ends), ignore_index=True))
    return np.sort(found) if len({type(value) for value in found}) <= 1 else found
