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
from typing import NamedTuple, Protocol

import numpy as np

from slimg.errors import InputError
from slimg.graph.adjacency import EdgeCounts, as_float32, check_rules
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
        self._given = self._loops = self._zeros = self._kept = self._ordered = 0
        self._weighted = False

    def run(self, duplicates: str, symmetrise: str) -> EdgeCounts:
        with self._progress.stage("counting edges"):
            bounds = self._buckets()
        size = (16 if self._weighted else 8) * 2 * self._kept
        require_room(self._folder, size + (8 if self._weighted else 4) * 2 * self._kept, "sorting the edges")
        files = [self._folder / f"bucket-{which}" for which in range(len(bounds) - 1)]
        try:
            with self._progress.stage("sorting edges", total=self._kept):
                self._spill(bounds, files)
            with self._progress.stage("merging edges", total=self._n):
                entries = self._merge(bounds, files, duplicates, symmetrise)
        finally:
            for file in files:
                file.unlink(missing_ok=True)
                _weights_of(file).unlink(missing_ok=True)
        return EdgeCounts(
            given=self._given,
            loops=self._loops,
            zeros=self._zeros,
            repeated=self._kept - self._ordered,
            one_way=entries - self._ordered if self._directed else 0,
            edges=entries // 2,
            merged_by=duplicates if self._weighted else "one",
            symmetrised_by=symmetrise if self._weighted else "one",
        )

    def _buckets(self) -> np.ndarray:
        """First rows of the buckets, and n."""
        entries = np.zeros(self._n + 1, np.int64)
        for source, target, weights in self._pieces(counting=True):
            self._weighted |= weights is not None
            for ends in (source, target):
                _count(entries, ends)
        np.cumsum(entries, out=entries)
        most = max(1, (self._memory - 16 * self._n) // SORT_BYTES)
        count = -(-int(entries[-1]) // most)
        cuts = np.searchsorted(entries, np.arange(1, count) * most)
        return np.unique(np.concatenate([[0], cuts, [self._n]]))

    def _pieces(self, counting: bool = False) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """Checked edges without loops and zeros, as int64."""
        for piece in self._edges.pieces(self._rows):
            source, target, weights = piece.source.astype(np.int64), piece.target.astype(np.int64), piece.weights
            if counting:
                self._check(piece)
            keep = source != target
            loops = len(keep) - int(np.count_nonzero(keep))
            zeros = 0
            if weights is not None:
                zeros = int(np.count_nonzero(keep & (weights == 0)))
                keep &= weights != 0
                weights = weights[keep]
            source, target = source[keep], target[keep]
            if counting:
                self._given, self._loops = self._given + len(keep), self._loops + loops
                self._zeros, self._kept = self._zeros + zeros, self._kept + len(source)
            if not self._directed:
                source, target = np.minimum(source, target), np.maximum(source, target)
            yield source, target, weights

    def _check(self, piece: Piece) -> None:
        for name, ends in (("source", piece.source), ("target", piece.target)):
            outside = (ends < 0) | (ends >= self._n)
            if outside.any():
                first = int(np.argmax(outside))
                raise InputError(
                    f"{self._edges.path}: row {piece.row + first:,} has {name} {ends[first]}, but the {self._n:,} nodes are"
                    f" numbered 0 to {self._n - 1}: renumber the edges or give the right number of nodes"
                )
        if piece.weights is not None:
            bad = ~(np.isfinite(piece.weights) & (piece.weights >= 0))
            if bad.any():
                first = int(np.argmax(bad))
                raise InputError(
                    f"{self._edges.path}: row {piece.row + first:,} has weight {piece.weights[first]:g}, but weights must"
                    " be finite and not negative: drop or fix such edges"
                )

    def _spill(self, bounds: np.ndarray, files: list[Path]) -> None:
        """Append both entries of every edge to the files of their buckets."""
        first_keys = bounds[1:-1].astype(np.uint64) << np.uint64(32)
        for source, target, weights in self._pieces():
            keys = np.concatenate([_keys(source, target, 0), _keys(target, source, 1)])
            if weights is None:
                keys.sort()
            else:
                order = np.argsort(keys, kind="stable")
                keys, weights = keys[order], np.concatenate([weights, weights])[order]
            cuts = [0, *np.searchsorted(keys, first_keys).tolist(), len(keys)]
            for file, start, stop in zip(files, cuts[:-1], cuts[1:], strict=True):
                _append(file, keys[start:stop])
                if weights is not None:
                    _append(_weights_of(file), weights[start:stop])
            self._progress.advance(len(source))

    def _merge(self, bounds: np.ndarray, files: list[Path], duplicates: str, symmetrise: str) -> int:
        """Sort and merge the buckets into the matrix; the number of its entries."""
        indptr, done, ones = np.zeros(self._n + 1, np.int64), 0, True
        with NpyAppender(self._folder / "indices.npy", np.int32) as indices:
            values = NpyAppender(self._folder / "weights.npy", np.float32) if self._weighted else None
            for file, start, stop in zip(files, bounds[:-1], bounds[1:], strict=True):
                if file.exists():
                    pairs, weights = self._merged(file, duplicates, symmetrise)
                    rows = (pairs >> np.uint64(31)).astype(np.int64) - start
                    indptr[start + 1 : stop + 1] = np.bincount(rows, minlength=stop - start)
                    indices.append((pairs & np.uint64(MOST_NODES)).astype(np.int32))
                    done += len(pairs)
                    if values is not None and weights is not None:
                        stored = as_float32(weights)
                        ones = ones and stored is None
                        values.append(weights if stored is None else stored)
                    file.unlink()
                self._progress.advance(stop - start)
            if values is not None:
                values.close()
        if self._weighted and ones:
            (self._folder / "weights.npy").unlink()
            self._weighted = False
        np.save(self._folder / "indptr.npy", np.cumsum(indptr, out=indptr))
        return done

    def _merged(self, file: Path, duplicates: str, symmetrise: str) -> tuple[np.ndarray, np.ndarray | None]:
        """Distinct pairs u · 2³¹ + v of a bucket, ascending, and their weights."""
        keys = np.fromfile(file, np.uint64)
        weights = None
        if self._weighted:
            weights = np.fromfile(_weights_of(file), np.float64)
            order = np.argsort(keys, kind="stable")
            keys, weights = keys[order], weights[order]
        else:
            keys.sort()
        keys, weights = _reduced(keys, weights, duplicates)
        self._ordered += int(np.count_nonzero((keys & np.uint64(1)) == 0))
        return _reduced(keys >> np.uint64(1), weights, symmetrise)


class NpyAppender:
    """A vector that grows in an .npy file, whose header is written last."""

    HEADER = 128

    def __init__(self, path: Path, dtype: type, columns: int | None = None):
        self._dtype, self._columns, self._rows = np.dtype(dtype), columns, 0
        self._file = open(path, "wb")  # noqa: SIM115  closed by `close`
        self._file.write(bytes(self.HEADER))

    def append(self, values: np.ndarray) -> None:
        """Add entries, or rows of the given number of columns."""
        np.ascontiguousarray(values, self._dtype).tofile(self._file)
        self._rows += len(values)

    def close(self) -> None:
        """Write the header; the file is complete."""
        shape = (self._rows,) if self._columns is None else (self._rows, self._columns)
        text = f"{{'descr': {self._dtype.str!r}, 'fortran_order': False, 'shape': {shape}, }}"
        start = b"\x93NUMPY\x01\x00" + (self.HEADER - 10).to_bytes(2, "little")
        self._file.seek(0)
        self._file.write(start + text.ljust(self.HEADER - 11).encode() + b"\n")
        self._file.close()

    def __enter__(self) -> NpyAppender:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _count(entries: np.ndarray, ends: np.ndarray) -> None:
    """entries[end + 1] += 1 for each end, without an array of n for every piece."""
    if len(ends) == 0:
        return
    ends = np.sort(ends)
    firsts = np.flatnonzero(np.r_[True, np.diff(ends) != 0])
    entries[ends[firsts] + 1] += np.diff(np.append(firsts, len(ends)))


def _keys(row: np.ndarray, column: np.ndarray, backward: int) -> np.ndarray:
    return (row.astype(np.uint64) << np.uint64(32)) | (column.astype(np.uint64) << np.uint64(1)) | np.uint64(backward)


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
