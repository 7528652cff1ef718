"""Graphs in text files.

    actor    two tab-separated files: node, comma-separated ids of its features (0 … 931; a repeated one counts once), label;
             and pairs of nodes
    ogb      ogbn-arxiv, ogbn-products: csv.gz without headers: edge (m × 2), node-feat (n × d), node-label (n),
             num-node-list (n itself), and three lists of rows, the public split. With the option ``rare``, nodes of classes
             with fewer nodes than that stay in the graph without a label.
    twitch   two csv files. Seven features, as its benchmark uses them: views, life_time, created_at and updated_at
             (2016-02-16 → 20160216), dead_account, language (numbered in order of first appearance) and affiliate; each
             column standardised (sample standard deviation). The label is ``mature``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.graph import Graph
from slimg.graph.columns import number_of
from slimg.lab.datasets.dataset import Dataset
from slimg.lab.datasets.readers import build_graph

UNLABELLED = -1
TWITCH_FEATURES = ("views", "life_time", "created_at", "updated_at", "dead_account", "language", "affiliate")
_DATES = ("created_at", "updated_at")


def read_actor(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Return the graph of the two files."""
    path = files["out1_node_feature_label.txt"]
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:] if line]
    if any(len(row) != 3 for row in rows):
        raise InputError(f"{path} should have three tab-separated columns: node, features, label")
    nodes = np.array([row[0] for row in rows], np.int64)
    n = len(rows)
    if not np.array_equal(np.sort(nodes), np.arange(n)):
        raise InputError(f"{path} should number its nodes 0 to {n - 1}")
    labels = np.empty(n, np.int64)
    labels[nodes] = np.array([row[2] for row in rows], np.int64)
    words = [np.array(row[1].split(","), np.int64) for row in rows]
    columns, owners = np.concatenate(words), np.repeat(nodes, [len(w) for w in words])
    features = sp.coo_array((np.ones(len(columns), np.float32), (owners, columns))).tocsr()
    features.resize(n, features.shape[1])
    features.data[:] = 1
    text = files["out1_graph_edges.txt"].read_text()
    edges = np.array(text[text.index("\n") :].split(), np.int64).reshape(-1, 2)
    return build_graph(edges[:, 0], edges[:, 1], features, labels)


def read_ogb(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Return the graph of the files, with masks ``train``, ``val``, ``test`` if the files of the split are there."""
    n = int(_numbers(files["raw/num-node-list.csv.gz"], np.int64)[0, 0])
    labels = _numbers(files["raw/node-label.csv.gz"], np.float64)[:, 0]
    features = _numbers(files["raw/node-feat.csv.gz"], np.float32)
    for name, rows in (("node-label", len(labels)), ("node-feat", len(features))):
        if rows != n:
            raise InputError(f"{dataset.name}: {name}.csv.gz has {rows:,} rows, but num-node-list.csv.gz says {n:,}")
    codes = np.where(np.isnan(labels), UNLABELLED, labels).astype(np.int64)
    codes, notes = _without_rare(codes, dataset.options.get("rare", 0))
    edges = _numbers(files["raw/edge.csv.gz"], np.int64)
    masks = {}
    for file, path in files.items():
        if file.startswith("split/"):
            part = Path(file).name.removesuffix(".csv.gz").replace("valid", "val")
            masks[part] = np.zeros(n, bool)
            masks[part][_numbers(path, np.int64)[:, 0]] = True
    return build_graph(edges[:, 0], edges[:, 1], features, codes, masks=masks, unlabelled=UNLABELLED, notes=notes)


def read_twitch(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Return the graph of the two files; node numbers are the ids."""
    import pandas as pd

    path = files["large_twitch_features.csv"]
    nodes = pd.read_csv(path, dtype={name: str for name in (*_DATES, "language")}, keep_default_na=False)
    absent = [name for name in (*TWITCH_FEATURES, "mature", "numeric_id") if name not in nodes.columns]
    if absent:
        raise InputError(f"{path} lacks the column {absent[0]!r} (it has {', '.join(nodes.columns)})")
    columns = {name: nodes[name] for name in TWITCH_FEATURES}
    for name in _DATES:
        columns[name] = nodes[name].str.replace("-", "").astype(np.int64)
    columns["language"] = pd.factorize(nodes["language"])[0]
    # row order matters to the numbering of languages only: from here on rows follow the ids
    order = np.argsort(nodes["numeric_id"].to_numpy(), kind="stable")
    ids = nodes["numeric_id"].to_numpy()[order]
    if not np.array_equal(ids, np.arange(len(ids))):
        raise InputError(f"{path} should number its nodes 0 to {len(ids) - 1} in numeric_id")
    values = np.column_stack([np.asarray(columns[name], np.float64)[order] for name in TWITCH_FEATURES])
    spread = values.std(axis=0, ddof=1)
    features = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1)
    source, target = pd.read_csv(files["large_twitch_edges.csv"]).iloc[:, :2].to_numpy().T
    labels = nodes["mature"].to_numpy()[order]
    return build_graph(source, target, features, labels, directed=False, feature_names=TWITCH_FEATURES)


def _without_rare(codes: np.ndarray, least: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Unlabel the classes with fewer than ``least`` nodes."""
    classes, counts = np.unique(codes[codes >= 0], return_counts=True)
    rare = classes[counts < least]
    if not len(rare):
        return codes, ()
    few = np.isin(codes, rare)
    n_classes, n_nodes = number_of(len(rare), "class has", "classes have"), number_of(int(few.sum()), "node")
    note = f"{n_classes} fewer than {least} nodes: their {n_nodes} count as unlabelled."
    return np.where(few, UNLABELLED, codes), (note,)


def _numbers(path: Path, kind: type) -> np.ndarray:
    """A csv.gz without header as an array of one type."""
    import pyarrow as pa
    from pyarrow import csv

    try:
        table = csv.read_csv(path, csv.ReadOptions(autogenerate_column_names=True))
        return np.column_stack([column.to_numpy().astype(kind, copy=False) for column in table.columns])
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise InputError(f"{path} cannot be read as a table of numbers ({error}): fetch it again") from None
