"""Edges in files, read a piece at a time: .npy, .parquet, .csv (also .tsv and gzipped).

An .npy file holds m × 2 node numbers (or 2 × m); tables have a column for each end and, if asked for, one of weights.
Nodes are numbers 0 … n − 1: a file that does not fit into memory has no room for a dictionary of ids either.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from slimg.errors import InputError, choices

SUFFIXES = (".npy", ".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")


class Piece(NamedTuple):
    """Edges from row ``row`` of a file on."""

    row: int
    source: np.ndarray
    target: np.ndarray
    weights: np.ndarray | None


class EdgeFile:
    """A file of edges that can be read again and again, ``rows`` at a time."""

    def __init__(self, path: Any, source: str = "source", target: str = "target", weight: str | None = None):
        self.path = Path(path)
        self._columns = [source, target] + ([weight] if weight else [])
        self._weighted = weight is not None
        self._suffix = suffix_of(self.path, SUFFIXES)
        if not self.path.is_file():
            raise InputError(f"there is no file of edges {self.path}")

    def pieces(self, rows: int) -> Iterator[Piece]:
        """The edges in order."""
        row = 0
        for columns in self._npy(rows) if self._suffix == ".npy" else read_table(self.path, self._columns, rows):
            source, target = (self._numbers(columns[side], self._columns[side], row) for side in (0, 1))
            weights = np.asarray(columns[2], np.float64) if self._weighted else None
            yield Piece(row, source, target, weights)
            row += len(source)

    def _npy(self, rows: int) -> Iterator[list[np.ndarray]]:
        array = open_npy(self.path)
        if array.ndim != 2 or 2 not in array.shape or self._weighted:
            raise InputError(
                f"{self.path} must hold m × 2 node numbers without weights, not an array of shape {array.shape}:"
                " use a Parquet or CSV file for weights"
            )
        pairs = array if array.shape[1] == 2 else array.T
        for start in range(0, len(pairs), rows):
            piece = np.array(pairs[start : start + rows])
            yield [piece[:, 0], piece[:, 1]]

    def _numbers(self, ends: np.ndarray, name: str, row: int) -> np.ndarray:
        if ends.dtype.kind not in "iu":
            raise InputError(
                f"{self.path}: column {name!r} must hold node numbers, not {ends.dtype} (from row {row:,} on):"
                " number the nodes 0, 1, 2, … first"
            )
        return ends


def read_table(path: Path, columns: list[str], rows: int) -> Iterator[list[np.ndarray]]:
    """Columns of a Parquet or CSV file, about ``rows`` rows at a time."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    try:
        if path.suffix == ".parquet":
            file = parquet.ParquetFile(path)
            _require_columns(path, columns, file.schema_arrow.names)
            batches = file.iter_batches(batch_size=rows, columns=columns)
        else:
            separator = "\t" if ".tsv" in path.suffixes else ","
            reader = csv.open_csv(
                path,
                read_options=csv.ReadOptions(block_size=max(1 << 16, 24 * rows)),
                parse_options=csv.ParseOptions(delimiter=separator),
            )
            _require_columns(path, columns, reader.schema.names)
            batches = iter(reader)
        for batch in batches:
            yield [batch.column(name).to_numpy(zero_copy_only=False) for name in columns]
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path} cannot be read as a table: {str(error).splitlines()[0]}") from None


def open_npy(path: Path) -> np.ndarray:
    """An .npy file, mapped."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError) as error:
        raise InputError(f"{path} cannot be read as an .npy file: {str(error).splitlines()[0]}") from None


def suffix_of(path: Path, known: tuple[str, ...]) -> str:
    """The suffix of a file, refused if it is not among the known ones."""
    for suffix in sorted(known, key=len, reverse=True):
        if path.name.lower().endswith(suffix):
            return suffix
    raise choices("kind of file", path.name, known)


def _require_columns(path: Path, wanted: list[str], there: list[str]) -> None:
    missing = [name for name in wanted if name not in there]
    if missing:
        raise InputError(f"{path} has no column {missing[0]!r}: it has {', '.join(map(repr, there[:8]))}")
