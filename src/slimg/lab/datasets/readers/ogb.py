"""ogbn-arxiv and ogbn-products: OGB's raw csv.gz files, without headers.

    edge (m × 2), node-feat (n × d), node-label (n), num-node-list (n itself), and three lists of rows: the public split

ogbn-products: classes with fewer than 100 nodes are dropped, that is, these nodes stay in the graph without a label.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from slimg.errors import InputError
from slimg.graph import Adjacency, Graph
from slimg.graph.columns import number_of
from slimg.lab.datasets.dataset import Dataset

UNLABELLED = -1


def read(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Graph of the files, with masks ``train``, ``val``, ``test`` when the split's files are there."""
    n = int(_table(files["raw/num-node-list.csv.gz"], np.int64)[0, 0])
    labels = _table(files["raw/node-label.csv.gz"], np.float64)[:, 0]
    features = _table(files["raw/node-feat.csv.gz"], np.float32)
    for name, rows in (("node-label", len(labels)), ("node-feat", len(features))):
        if rows != n:
            raise InputError(f"{dataset.name}: {name}.csv.gz has {rows:,} rows, but num-node-list.csv.gz says {n:,}")
    codes = np.where(np.isnan(labels), UNLABELLED, labels).astype(np.int64)
    codes, notes = _without_rare(codes, dataset.options.get("rare", 0))
    edges = _table(files["raw/edge.csv.gz"], np.int64)
    adjacency, counts = Adjacency.from_edges(edges[:, 0], edges[:, 1], n)
    masks = {}
    for file, path in files.items():
        if file.startswith("split/"):
            part = Path(file).name.removesuffix(".csv.gz").replace("valid", "val")
            masks[part] = np.zeros(n, bool)
            masks[part][_table(path, np.int64)[:, 0]] = True
    graph = Graph(
        adjacency, features, codes, masks=masks, unlabelled=UNLABELLED, notes=(*notes, *counts.notes())
    )
    return graph.with_notes(*graph.warnings())


def _without_rare(codes: np.ndarray, least: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Unlabel the classes with fewer than ``least`` nodes."""
    classes, counts = np.unique(codes[codes >= 0], return_counts=True)
    rare = classes[counts < least]
    if not len(rare):
        return codes, ()
    few = np.isin(codes, rare)
    classes_said = number_of(len(rare), "class has", "classes have")
    note = f"{classes_said} fewer than {least} nodes: their {number_of(int(few.sum()), 'node')} count as unlabelled."
    return np.where(few, UNLABELLED, codes), (note,)


def _table(path: Path, kind: type) -> np.ndarray:
    """A csv.gz without header as an array of one type."""
    import pyarrow as pa
    from pyarrow import csv

    try:
        table = csv.read_csv(path, csv.ReadOptions(autogenerate_column_names=True))
        return np.column_stack([column.to_numpy().astype(kind, copy=False) for column in table.columns])
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise InputError(f"{path} cannot be read as a table of numbers ({error}): fetch it again") from None
