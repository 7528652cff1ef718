"""Graphs that stay on disk: a folder of .npy files that any program can read.

    graph.json      nodes, edges, and what was decided about the input
    indptr.npy      int64, n + 1          indices.npy   int32             weights.npy   float32, unless all are 1
    features.npy    float32, n × d        labels.npy    n values          (or codes.npy with the classes in graph.json)
    ids.npy         n integers or texts, if they are not 0 … n − 1; sparse features are features_indptr, _indices, _data

`build` makes such a folder from files of edges, features and labels within a budget of memory, and checks everything once;
`open_graph` maps it, without reading more than its labels. The engine of files then reads it piece by piece.

Files of edges are .npy (m × 2 or 2 × m node numbers), .parquet, .csv or .tsv (also gzipped; a column for each end and, if
named, one of weights). Nodes are numbers 0 … n − 1: edges that do not fit into memory leave no room for a dictionary of ids.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError, choices
from slimg.graph import checks
from slimg.graph.adjacency import Adjacency, Rule
from slimg.graph.columns import as_column
from slimg.graph.graph import Graph
from slimg.io.external_sort import EdgeSource, NpyAppender, Piece, write_adjacency
from slimg.progress import Progress, progress_for
from slimg.system import as_bytes, atomic_folder, atomic_write, map_npy, require_room

FORMAT = 1
SUFFIXES = (".npy", ".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")


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
    directed: bool | None = None,
    duplicates: Rule = "sum",
    symmetrise: Rule = "max",
    memory: str | int = "1GB",
    verbose: bool | Progress = False,
) -> Graph:
    """Make the folder of a graph from files that may be larger than memory, and open it.

    Parameters
    ----------
    folder : path-like
        The folder to make. It must not exist, and appears when it is complete.
    edges : path-like or EdgeSource
        File of node numbers 0 … n − 1: .npy (m × 2), .parquet, .csv or .tsv.
    nodes : int, default=None
        n; by default the number of rows of features or labels.
    features : path-like, default=None
        File with row i for node i: .npy (n × d), .parquet, .csv or .tsv.
    labels : path-like or array of shape (n,), default=None
        File with row i for node i, or the labels: numbers, NaN where unlabelled.
    source, target : str, default="source", "target"
        Columns of a table of edges.
    weight : str, default=None
        Column of a table of edges; None for a binary graph.
    label : str, default="label"
        Column of a table of labels.
    columns : list of str, default=None
        Columns of a table of features; all by default.
    directed : bool, default=None
        By default both directions of an edge are joined by ``symmetrise``; with False they are repetitions of one edge.
        A graph on disk keeps neither directions nor relations.
    duplicates, symmetrise : {"sum", "max"}
        As in `Graph.from_edges`.
    memory : str or int, default="1GB"
        What this may take beside what the process holds.
    verbose : bool or Progress, default=False
        True shows stages and the time that is left, on a terminal or in a notebook.

    Returns
    -------
    Graph
        The graph, with edges and features on disk, as `open_graph` returns it.

    Raises
    ------
    InputError
        If the folder exists, a file cannot be used, or memory or disk do not suffice.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.save(folder / "edges.npy", np.array([[0, 1], [1, 2]]))
    >>> build(folder / "graph", folder / "edges.npy", labels=np.array([0, 1, 0]))
    Graph(3 nodes, 2 edges, 2 classes, 3 labelled)
    """
    place, budget, progress = Path(folder), as_bytes(memory), progress_for(verbose)
    if place.exists():
        raise InputError(f"{place} exists already: choose another folder or open it with open_graph")
    edge_source = EdgeFile(edges, source, target, weight) if isinstance(edges, (str, os.PathLike)) else edges
    if directed or isinstance(edges, Mapping):
        what = "the direction of edges" if directed else "several relations"
        raise InputError(f"a graph on disk does not keep {what}: use Graph.from_edges, or give one file and no direction")
    if not hasattr(edge_source, "pieces"):
        raise InputError(f"edges must be the path of a file, not {type(edges).__name__}: use Graph.from_edges for tables")
    with atomic_folder(place) as part:
        rows = [nodes] if nodes is not None else []
        if features is not None:
            with progress.stage("copying features"):
                rows.append(write_features(part, Path(features), columns, budget))
        if labels is not None:
            rows.append(_write_labels(part, labels, label))
        n = _same(rows)
        rules = {"directed": directed is None, "duplicates": duplicates, "symmetrise": symmetrise}
        counts = write_adjacency(part, edge_source, n, budget, **rules, progress=progress)  # type: ignore[arg-type]
        finish(part, n, counts.edges, counts.notes())
    return open_graph(place)


def open_graph(folder: str | os.PathLike[str]) -> Graph:
    """Open the folder of a graph; edges and features stay on disk.

    Parameters
    ----------
    folder : path-like
        A folder made by `build`.

    Returns
    -------
    Graph
        Its arrays are memory-mapped.

    Raises
    ------
    InputError
        If the folder holds no graph.
    """
    place = Path(folder)
    try:
        about = json.loads((place / "graph.json").read_text())
    except (OSError, ValueError):
        raise InputError(f"{place} is no folder of a graph (it has no readable graph.json): make one with build") from None
    if about.get("format") != FORMAT:
        raise InputError(f"{place} has format {about.get('format')!r}, this version reads {FORMAT}: build it again")
    weights, features = (open_npy(path) if (path := place / f"{name}.npy").exists() else None
                         for name in ("weights", "features"))  # fmt: skip
    if (place / "features_indptr.npy").exists():
        data, indices, indptr = (np.load(place / f"features_{name}.npy") for name in ("data", "indices", "indptr"))
        features = sp.csr_array((data, indices, indptr), shape=(about["nodes"], len(about["feature_names"])))
    ids, names = place / "ids.npy", about.get("feature_names")
    labels, classes, codes = _labels(place, about)
    graph = Graph._trusted(  # everything was checked when the folder was made
        adjacency=Adjacency(np.load(place / "indptr.npy"), open_npy(place / "indices.npy"), weights), features=features,
        labels=labels, ids=open_npy(ids) if ids.exists() else np.arange(about["nodes"]),
        feature_names=None if names is None else tuple(names), masks={}, unlabelled=None, notes=tuple(about["notes"]),
        classes=classes, codes=codes, reading=about.get("reading"),
    )  # fmt: skip
    return graph.with_notes(*graph.warnings()) if "reading" in about else graph


def _labels(place: Path, about: Mapping[str, Any]) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]:
    """Labels, classes and codes."""
    if "classes" in about:
        classes, codes = as_column(about["classes"], "classes"), np.load(place / "codes.npy").astype(np.int64)
        return np.array([*classes.tolist(), None], object)[codes], classes, codes
    labels = np.load(place / "labels.npy") if (place / "labels.npy").exists() else None
    return labels, *checks.encode_labels(labels, about["nodes"])


def finish(folder: Path, nodes: int, edges: int, notes: tuple[str, ...] = (), more: Mapping[str, Any] | None = None) -> None:
    """Write graph.json, the last file of a folder, after all others are complete."""
    about = {"format": FORMAT, "nodes": nodes, "edges": edges, "notes": list(notes), **(more or {})}
    with atomic_write(folder / "graph.json") as file:
        file.write(json.dumps(about, indent=1) + "\n")


def write_features(folder: Path, path: Path, columns: list[str] | None, memory: int) -> int:
    """Copy features to features.npy as float32, a piece at a time; return the number of rows."""
    pieces = _feature_pieces(path, columns, memory)
    first = next(pieces, None)
    if first is None:
        raise InputError(f"{path} has no rows: features need one row per node")
    row = 0
    require_room(folder, 4 * first.shape[1] * len(first), "copying the features")
    with NpyAppender(folder / "features.npy", np.float32, first.shape[1]) as out:
        for piece in itertools.chain([first], pieces):
            with np.errstate(over="ignore"):
                values = piece.astype(np.float32)
            bad = ~np.isfinite(values).all(axis=1)
            if bad.any():
                raise InputError(f"{path}: row {row + int(np.argmax(bad)):,} holds NaN or infinity: features must be finite")
            out.append(values)
            row += len(values)
    return row


def _feature_pieces(path: Path, columns: list[str] | None, memory: int) -> Iterator[np.ndarray]:
    kind = suffix_of(path)
    if not path.is_file():
        raise InputError(f"there is no file of features {path}")
    if kind == ".npy":
        array = open_npy(path)
        if array.ndim != 2 or array.dtype.kind not in "biuf":
            raise InputError(f"{path} must hold a matrix of numbers, not {array.dtype} of shape {array.shape}")
        yield from _runs(array, max(1, memory // 32 // max(1, array.shape[1])))
        return
    for piece in read_table(path, columns, memory // 64):
        texts = [name for name, column in piece.items() if column.dtype.kind not in "biuf"]
        if texts:
            raise InputError(f"{path}: column {texts[0]!r} is not of numbers: name the columns of features with columns=")
        yield np.column_stack(list(piece.values()))


def _write_labels(folder: Path, labels: Any, column: str) -> int:
    if isinstance(labels, (str, os.PathLike)):
        path = Path(labels)
        if suffix_of(path) == ".npy":
            labels = open_npy(path)
        else:
            labels = np.concatenate([piece[column] for piece in read_table(path, [column], 1 << 20)])
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise InputError(f"labels must be a vector with one value per node, not an array of shape {labels.shape}")
    if labels.dtype == object:
        raise InputError("labels of a graph on disk must be numbers (NaN: unlabelled): use the numbers of the classes")
    np.save(folder / "labels.npy", labels)
    return len(labels)


def _same(rows: list[int]) -> int:
    if not rows:
        raise InputError("a graph on disk needs nodes=, its number of nodes, when it has neither features nor labels")
    if len(set(rows)) > 1:
        raise InputError(f"nodes, features and labels need one row per node, but have {', '.join(f'{r:,}' for r in rows)}")
    return rows[0]


class EdgeFile:
    """A file of edges that can be read several times, ``rows`` edges at a time."""

    path: Path

    def __init__(
        self, path: str | os.PathLike[str], source: str = "source", target: str = "target", weight: str | None = None
    ):
        self.path = Path(path)
        self._columns = [source, target] + ([weight] if weight else [])
        self._suffix = suffix_of(self.path)
        if not self.path.is_file():
            raise InputError(f"there is no file of edges {self.path}")

    def pieces(self, rows: int) -> Iterator[Piece]:
        """Yield the edges in order."""
        row, names = 0, self._columns
        for columns in self._npy(rows) if self._suffix == ".npy" else read_table(self.path, names, rows * len(names)):
            for name in names[:2]:
                if columns[name].dtype.kind not in "iu":
                    raise InputError(
                        f"{self.path}: column {name!r} must hold node numbers, not {columns[name].dtype} (from row {row:,}"
                        " on): number the nodes 0, 1, 2, … first"
                    )
            source, target, *weights = (columns[name] for name in names)
            yield Piece(row, source, target, np.asarray(weights[0], np.float64) if weights else None)
            row += len(source)

    def _npy(self, rows: int) -> Iterator[dict[str, np.ndarray]]:
        array = open_npy(self.path)
        if array.ndim != 2 or 2 not in array.shape or len(self._columns) > 2:
            raise InputError(
                f"{self.path} must hold m × 2 node numbers without weights, not an array of shape {array.shape}:"
                " use a Parquet or CSV file for weights"
            )
        for piece in _runs(array if array.shape[1] == 2 else array.T, rows):
            yield dict(zip(self._columns, piece.T, strict=True))


def _runs(array: np.ndarray, rows: int) -> Iterator[np.ndarray]:
    """Copies of so many rows of an array on disk at a time."""
    for start in range(0, len(array), rows):
        yield np.array(array[start : start + rows])


def read_table(path: Path, columns: list[str] | None, entries: int) -> Iterator[dict[str, np.ndarray]]:
    """Yield columns (by default all) of a Parquet or CSV file by name, about ``entries`` values at a time."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    try:
        if path.suffix == ".parquet":
            table = parquet.ParquetFile(path)
            there = list(table.schema_arrow.names)
        else:
            size = csv.ReadOptions(block_size=max(1 << 16, 8 * entries))
            table = csv.open_csv(path, size, csv.ParseOptions(delimiter="\t" if ".tsv" in path.suffixes else ","))
            there = list(table.schema.names)
        names = columns or there
        absent = [name for name in names if name not in there]
        if absent:
            raise InputError(f"{path} has no column {absent[0]!r}: it has {', '.join(map(repr, there[:8]))}")
        rows = max(1, entries // len(names))
        for batch in table.iter_batches(rows, columns=names) if path.suffix == ".parquet" else table:
            yield {name: batch.column(name).to_numpy(zero_copy_only=False) for name in names}
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path} cannot be read as a table: {str(error).splitlines()[0]}") from None


def open_npy(path: Path) -> np.ndarray:
    """Return the array of an .npy file, memory-mapped."""
    try:
        return map_npy(path)
    except (ValueError, OSError) as error:
        raise InputError(f"{path} cannot be read as an .npy file: {str(error).splitlines()[0]}") from None


def suffix_of(path: Path) -> str:
    """Return the ending of a file; an unknown one is an error."""
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if path.name.lower().endswith(suffix):
            return suffix
    raise choices("kind of file", path.name, SUFFIXES)
