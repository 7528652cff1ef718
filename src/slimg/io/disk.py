"""Graphs that stay on disk: a folder of .npy files that any program can read.

    graph.json      nodes, edges, and what was decided about the input
    indptr.npy      int64, n + 1          indices.npy   int32             weights.npy   float32, unless all are 1
    features.npy    float32, n × d        labels.npy    n values

`build` makes such a folder from files of edges, features and labels within a budget of memory, and checks everything once;
`open_graph` maps it, without reading more than its labels. The engine of files then reads it piece by piece.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from slimg.errors import InputError
from slimg.graph import checks
from slimg.graph.adjacency import Adjacency, Rule
from slimg.graph.graph import Graph
from slimg.io.edge_files import EdgeFile, open_npy, read_table, suffix_of
from slimg.io.external_sort import EdgeSource, NpyAppender, write_adjacency
from slimg.progress import progress_for
from slimg.sizes import as_bytes, require_room

FORMAT = 1


def build(
    folder: str | os.PathLike[str],
    edges: str | os.PathLike[str] | EdgeSource,
    *,
    nodes: int | None = None,
    features: str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | np.ndarray | None = None,
    source: str = "source",
    target: str = "target",
    weight: str | None = None,
    label: str = "label",
    columns: list[str] | None = None,
    directed: bool = True,
    duplicates: Rule = "sum",
    symmetrise: Rule = "max",
    memory: str | int = "1GB",
    verbose: Any = False,
) -> Graph:
    """Make the folder of a graph from files, and open it.

    Parameters
    ----------
    folder : where to; it must not exist, and appears when it is complete
    edges : .npy (m × 2), .parquet or .csv file of node numbers 0 … n − 1
    nodes : n; by default the number of rows of features or labels
    features : .npy (n × d), .parquet or .csv file, row i for node i
    labels : .npy, .parquet or .csv file, or a vector; row i for node i
    source, target, weight, label, columns : names of columns in tables (features: all columns by default)
    directed, duplicates, symmetrise : as in `Graph.from_edges`
    memory : what this may take beside what the process holds
    verbose : True shows stages and the time that is left, on a terminal or in a notebook
    """
    place, budget, progress = Path(folder), as_bytes(memory), progress_for(verbose)
    if place.exists():
        raise InputError(f"{place} exists already: choose another folder or open it with open_graph")
    edge_source = EdgeFile(edges, source, target, weight) if isinstance(edges, (str, os.PathLike)) else edges
    part = place.with_name(place.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        rows = [nodes] if nodes is not None else []
        if features is not None:
            with progress.stage("copying features"):
                rows.append(write_features(part, Path(features), columns, budget))
        if labels is not None:
            rows.append(_write_labels(part, labels, label))
        n = _same(rows)
        rules = {"directed": directed, "duplicates": duplicates, "symmetrise": symmetrise}
        counts = write_adjacency(part, edge_source, n, budget, **rules, progress=progress)  # type: ignore[arg-type]
        finish(part, n, counts.edges, counts.notes())
        part.replace(place)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return open_graph(place)


def open_graph(folder: str | os.PathLike[str]) -> Graph:
    """The graph of a folder; edges and features stay on disk."""
    place = Path(folder)
    try:
        about = json.loads((place / "graph.json").read_text())
    except (OSError, ValueError):
        raise InputError(f"{place} is no folder of a graph (it has no readable graph.json): make one with build") from None
    if about.get("format") != FORMAT:
        raise InputError(f"{place} has format {about.get('format')!r}, this version reads {FORMAT}: build it again")
    n = about["nodes"]
    weights = open_npy(place / "weights.npy") if (place / "weights.npy").exists() else None
    adjacency = Adjacency(np.load(place / "indptr.npy"), open_npy(place / "indices.npy"), weights)
    features = open_npy(place / "features.npy") if (place / "features.npy").exists() else None
    labels = np.load(place / "labels.npy") if (place / "labels.npy").exists() else None
    classes, codes = checks.encode_labels(labels, n)
    return Graph._trusted(  # everything was checked when the folder was made
        adjacency=adjacency, features=features, labels=labels, ids=np.arange(n), feature_names=None, masks={},
        unlabelled=None, notes=tuple(about["notes"]), classes=classes, codes=codes,
    )  # fmt: skip


def finish(folder: Path, nodes: int, edges: int, notes: tuple[str, ...] = ()) -> None:
    """The last file of a folder, after all others are complete."""
    about = {"format": FORMAT, "nodes": nodes, "edges": edges, "notes": list(notes)}
    part = folder / "graph.json.part"
    part.write_text(json.dumps(about, indent=1) + "\n")
    part.replace(folder / "graph.json")


def write_features(folder: Path, path: Path, columns: list[str] | None, memory: int) -> int:
    """Copy features to features.npy as float32, a piece at a time; the number of rows."""
    pieces = _feature_pieces(path, columns, memory)
    first = next(pieces, None)
    if first is None:
        raise InputError(f"{path} has no rows: features need one row per node")
    row = 0
    require_room(folder, 4 * first.shape[1] * len(first), "copying the features")
    with NpyAppender(folder / "features.npy", np.float32, first.shape[1]) as out:
        piece: np.ndarray | None = first
        while piece is not None:
            with np.errstate(over="ignore"):
                piece = piece.astype(np.float32)
            bad = ~np.isfinite(piece).all(axis=1)
            if bad.any():
                raise InputError(f"{path}: row {row + int(np.argmax(bad)):,} holds NaN or infinity: features must be finite")
            out.append(piece)
            row += len(piece)
            piece = next(pieces, None)
    return row


def _feature_pieces(path: Path, columns: list[str] | None, memory: int) -> Iterator[np.ndarray]:
    kind = suffix_of(path, (".npy", ".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz"))
    if not path.is_file():
        raise InputError(f"there is no file of features {path}")
    if kind == ".npy":
        array = open_npy(path)
        if array.ndim != 2 or array.dtype.kind not in "biuf":
            raise InputError(f"{path} must hold a matrix of numbers, not {array.dtype} of shape {array.shape}")
        rows = max(1, memory // 32 // max(1, array.shape[1]))
        for start in range(0, len(array), rows):
            yield np.array(array[start : start + rows])
        return
    names = columns or _columns_of(path, kind)
    for piece in read_table(path, names, max(1, memory // 64 // len(names))):
        texts = [name for name, column in zip(names, piece, strict=True) if column.dtype.kind not in "biuf"]
        if texts:
            raise InputError(f"{path}: column {texts[0]!r} is not of numbers: name the columns of features with columns=")
        yield np.column_stack(piece)


def _columns_of(path: Path, kind: str) -> list[str]:
    from pyarrow import csv, parquet

    if kind == ".parquet":
        return list(parquet.ParquetFile(path).schema_arrow.names)
    separator = "\t" if ".tsv" in path.suffixes else ","
    return list(csv.open_csv(path, parse_options=csv.ParseOptions(delimiter=separator)).schema.names)


def _write_labels(folder: Path, labels: Any, column: str) -> int:
    if isinstance(labels, (str, os.PathLike)):
        path = Path(labels)
        if suffix_of(path, (".npy", ".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")) == ".npy":
            labels = open_npy(path)
        else:
            labels = np.concatenate([piece[0] for piece in read_table(path, [column], 1 << 20)])
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise InputError(f"labels must be a vector with one value per node, not an array of shape {labels.shape}")
    if labels.dtype == object:
        raise InputError("labels of a graph on disk must be numbers (NaN: unlabelled): number the classes first")
    np.save(folder / "labels.npy", labels)
    return len(labels)


def _same(rows: list[int]) -> int:
    if not rows:
        raise InputError("a graph on disk needs nodes=, its number of nodes, when it has neither features nor labels")
    if len(set(rows)) > 1:
        raise InputError(f"nodes, features and labels need one row per node, but have {', '.join(f'{r:,}' for r in rows)}")
    return rows[0]
