"""Twitch gamers: ``large_twitch_edges.csv`` and ``large_twitch_features.csv``; the label is ``mature``.

Seven features, as its benchmark uses them: views, life_time, created_at and updated_at (2016-02-16 → 20160216),
dead_account, language (numbered in order of first appearance) and affiliate; each column standardised (sample standard
deviation).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from slimg.errors import InputError
from slimg.graph import Adjacency, Graph
from slimg.lab.datasets.dataset import Dataset

FEATURES = ("views", "life_time", "created_at", "updated_at", "dead_account", "language", "affiliate")
_DATES = ("created_at", "updated_at")


def read(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Graph of the two files; node numbers are the ids."""
    import pandas as pd

    path = files["large_twitch_features.csv"]
    nodes = pd.read_csv(path, dtype={name: str for name in (*_DATES, "language")}, keep_default_na=False)
    absent = [name for name in (*FEATURES, "mature", "numeric_id") if name not in nodes.columns]
    if absent:
        raise InputError(f"{path} lacks the column {absent[0]!r} (it has {', '.join(nodes.columns)})")
    columns = {name: nodes[name] for name in FEATURES}
    for name in _DATES:
        columns[name] = nodes[name].str.replace("-", "").astype(np.int64)
    columns["language"] = pd.factorize(nodes["language"])[0]
    # row order matters to the numbering of languages only: from here on rows follow the ids
    order = np.argsort(nodes["numeric_id"].to_numpy(), kind="stable")
    ids = nodes["numeric_id"].to_numpy()[order]
    if not np.array_equal(ids, np.arange(len(ids))):
        raise InputError(f"{path} should number its nodes 0 to {len(ids) - 1} in numeric_id")
    values = np.column_stack([np.asarray(columns[name], np.float64)[order] for name in FEATURES])
    spread = values.std(axis=0, ddof=1)
    features = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1)
    source, target = pd.read_csv(files["large_twitch_edges.csv"]).iloc[:, :2].to_numpy().T
    adjacency, counts = Adjacency.from_edges(source, target, len(ids), directed=False)
    labels = nodes["mature"].to_numpy()[order]
    graph = Graph(adjacency, features, labels, feature_names=FEATURES, notes=counts.notes())
    return graph.with_notes(*graph.warnings())
