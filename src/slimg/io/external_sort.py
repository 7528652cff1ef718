"""A symmetric CSR matrix on disk from edges that do not fit into memory.

The rules are those of `slimg.graph.adjacency`. Every edge (u, v) becomes two entries, (u, v, forward) and (v, u, backward),
in one number each:

    key = u · 2³² + v · 2 + (0 forward, 1 backward)                                   nodes below 2³¹

1. count the entries of each row, and cut the rows into buckets that can be sorted within the budget;
2. read the edges again and append each entry to the file of its bucket;
3. sort bucket after bucket: equal keys are repetitions (merged by ``duplicates``), keys that differ in the last bit alone
   are the two directions of a pair (merged by ``symmetrise``); what remains is written as the next rows of the matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from slimg.errors import InputError
from slimg.graph.adjacency import EdgeCounts, as_float32, check_edges, check_rules, drop_edges
from slimg.io import with_name
from slimg.progress import SILENT, Progress
from slimg.system import require_room

SORT_BYTES = 48
"""Memory that sorting and merging takes for each entry of a bucket (with weights)."""
PIECE_BYTES = 160
"""Memory that an edge takes while it is read and made into two entries."""
MOST_NODES = 2**31 - 1


class Piece(NamedTuple):
    """Edges from row ``row`` of a file on."""

    row: int
    source: np.ndarray
    target: np.ndarray
    weights: np.ndarray | None


class EdgeSource(Protocol):
    """Edges that can be read several times."""

    path: Path

    def pieces(self, rows: int) -> Iterator[Piece]:
        """Yield the edges in order, about ``rows`` at a time."""


def write_adjacency(
    folder: Path,
    edges: EdgeSource,
    n: int,
    memory: int,
    *,
    directed: bool = True,
    duplicates: str = "sum",
    symmetrise: str = "max",
    progress: Progress = SILENT,
) -> EdgeCounts:
    """Write indptr.npy, indices.npy and, unless all weights are 1, weights.npy.

    Parameters
    ----------
    folder : Path
    edges : EdgeSource
    n : int
        Number of nodes.
    memory : int
        Bytes that this may take.
    directed, duplicates, symmetrise
        As in `slimg.graph.Adjacency.from_edges`.
    progress : Progress

    Returns
    -------
    EdgeCounts
    """
    check_rules(duplicates, symmetrise)
    if not 0 < n <= MOST_NODES:
        raise InputError(f"a graph on disk can have 1 to {MOST_NODES:,} nodes, as its indices are int32; {n:,} were given")
    if memory < 16 * n + (1 << 22):
        raise InputError(f"sorting the edges of {n:,} nodes needs at least {16 * n + (1 << 22):,} bytes, not {memory:,}")
    rows = int(np.clip(memory // 4 // PIECE_BYTES, 1 << 12, 1 << 22))
    return _Build(folder, edges, n, memory, rows, directed, progress).run(duplicates, symmetrise)


class _Build:
    def __init__(self, folder: Path, edges: EdgeSource, n: int, memory: int, rows: int, directed: bool, progress: Progress):
        self._folder, self._edges, self._n, self._memory = folder, edges, n, memory
        self._rows, self._directed, self._progress = rows, directed, progress
        self._dropped, self._ordered, self._weighted = np.zeros(3, np.int64), 0, False

    def run(self, duplicates: str, symmetrise: str) -> EdgeCounts:
        with self._progress.stage("counting edges"):
            bounds = self._buckets()
        given, loops, zeros = self._dropped.tolist()
        kept = given - loops - zeros
        require_room(self._folder, (24 if self._weighted else 12) * 2 * kept, "sorting the edges")
        files = [self._folder / f"bucket-{which}" for which in range(len(bounds) - 1)]
        try:
            with self._progress.stage("sorting edges", total=kept):
                self._spill(bounds, files)
            with self._progress.stage("merging edges", total=self._n):
                entries = self._merge(bounds, files, duplicates, symmetrise)
        finally:
            for file in files:
                file.unlink(missing_ok=True)
                _weights_of(file).unlink(missing_ok=True)
        rules = (duplicates, symmetrise) if self._weighted else ("one", "one")
        return EdgeCounts.of(self._dropped, self._ordered, entries, self._directed, rules)

    def _buckets(self) -> np.ndarray:
        """First rows of the buckets, and n."""
        entries = np.zeros(self._n + 1, np.int64)
        for source, target, weights in self._pieces(counting=True):
            self._weighted |= weights is not None
            for ends in (source, target):
                nodes, counts = np.unique(ends, return_counts=True)
                entries[nodes + 1] += counts
        np.cumsum(entries, out=entries)
        most = max(1, (self._memory - 16 * self._n) // SORT_BYTES)
        count = -(-int(entries[-1]) // most)
        cuts = np.searchsorted(entries, np.arange(1, count) * most)
        return np.unique(np.concatenate([[0], cuts, [self._n]]))

    def _pieces(self, counting: bool = False) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """Edges without loops and zeros, as int64; checked and counted at the first reading."""
        for row, source, target, weights in self._edges.pieces(self._rows):
            if counting:
                with_name(self._edges.path, check_edges, source, target, self._n, weights, row)
            *kept, dropped = drop_edges(source.astype(np.int64), target.astype(np.int64), weights, self._directed)
            if counting:
                self._dropped += dropped
            yield tuple(kept)  # type: ignore[misc]

    def _spill(self, bounds: np.ndarray, files: list[Path]) -> None:
        """Append both entries of every edge to the files of their buckets."""
        first_keys = bounds[1:-1].astype(np.uint64) << np.uint64(32)
        for source, target, weights in self._pieces():
            weights = None if weights is None else np.concatenate([weights, weights])
            keys, weights = _sorted(np.concatenate([_keys(source, target, 0), _keys(target, source, 1)]), weights)
            cuts = [0, *np.searchsorted(keys, first_keys).tolist(), len(keys)]
            for file, start, stop in zip(files, cuts[:-1], cuts[1:], strict=True):
                _append(file, keys[start:stop])
                if weights is not None:
                    _append(_weights_of(file), weights[start:stop])
            self._progress.advance(len(source))

    def _merge(self, bounds: np.ndarray, files: list[Path], duplicates: str, symmetrise: str) -> int:
        """Sort and merge the buckets into the matrix; the number of its entries."""
        indptr, done, ones = np.zeros(self._n + 1, np.int64), 0, True
        weights_file = self._folder / "weights.npy"
        with NpyAppender(self._folder / "indices.npy", np.int32) as indices, NpyAppender(weights_file, np.float32) as values:
            for file, start, stop in zip(files, bounds[:-1], bounds[1:], strict=True):
                if file.exists():
                    pairs, weights = self._merged(file, duplicates, symmetrise)
                    rows = (pairs >> np.uint64(31)).astype(np.int64) - start
                    indptr[start + 1 : stop + 1] = np.bincount(rows, minlength=stop - start)
                    indices.append((pairs & np.uint64(MOST_NODES)).astype(np.int32))
                    done += len(pairs)
                    if weights is not None:
                        stored = as_float32(weights)
                        ones = ones and stored is None
                        values.append(weights if stored is None else stored)
                    file.unlink()
                self._progress.advance(stop - start)
        if ones:
            weights_file.unlink()
            self._weighted = False
        np.save(self._folder / "indptr.npy", np.cumsum(indptr, out=indptr))
        return done

    def _merged(self, file: Path, duplicates: str, symmetrise: str) -> tuple[np.ndarray, np.ndarray | None]:
        """Distinct pairs u · 2³¹ + v of a bucket, ascending, and their weights."""
        weights = np.fromfile(_weights_of(file), np.float64) if self._weighted else None
        keys, weights = _reduced(*_sorted(np.fromfile(file, np.uint64), weights), duplicates)
        self._ordered += int(np.count_nonzero((keys & np.uint64(1)) == 0))
        return _reduced(keys >> np.uint64(1), weights, symmetrise)


class NpyAppender:
    """A vector that grows in an .npy file, whose header is written last."""

    def __init__(self, path: Path, dtype: Any, columns: int | None = None):
        self._dtype, self._shape = np.dtype(dtype), [0] if columns is None else [0, columns]
        self._file = open(path, "wb")  # noqa: SIM115  closed by `__exit__`

    def append(self, values: np.ndarray) -> None:
        """Add entries, or rows of the given number of columns."""
        np.ascontiguousarray(values, self._dtype).tofile(self._file)
        self._shape[0] += len(values)

    def __enter__(self) -> NpyAppender:
        self._write_header()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.seek(0)
        self._write_header()
        self._file.close()

    def _write_header(self) -> None:
        """Write the number of rows so far; numpy leaves room for it to grow."""
        about = {"descr": self._dtype.str, "fortran_order": False, "shape": tuple(self._shape)}
        np.lib.format.write_array_header_1_0(self._file, about)


def _keys(row: np.ndarray, column: np.ndarray, backward: int) -> np.ndarray:
    return (row.astype(np.uint64) << np.uint64(32)) | (column.astype(np.uint64) << np.uint64(1)) | np.uint64(backward)


def _sorted(keys: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    if weights is None:
        keys.sort()
        return keys, None
    order = np.argsort(keys, kind="stable")
    return keys[order], weights[order]


def _reduced(keys: np.ndarray, weights: np.ndarray | None, rule: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Distinct keys, and the sum or maximum of the weights of equal ones."""
    if len(keys) == 0:
        return keys, weights
    firsts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    if weights is not None:
        weights = (np.add if rule == "sum" else np.maximum).reduceat(weights, firsts)
    return keys[firsts], weights


def _weights_of(file: Path) -> Path:
    return file.with_name(file.name + "-weights")


def _append(path: Path, values: np.ndarray) -> None:
    if len(values):
        with open(path, "ab") as file:
            values.tofile(file)
