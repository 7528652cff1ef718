"""Readers of Parquet, Excel, numpy archives (.npz), numpy arrays (.npy) and Matrix Market files (.mtx).

An archive holds a graph in one of the layouts in use:

    edges or edge_index (m × 2 or 2 × m), or a sparse adjacency: adj_* / adjacency_* parts, or the parts of scipy's save_npz
    features, x, node_features, node_feat, or attr_* parts (sparse);  labels, y, node_labels, label;  ids, node_ids
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp

from slimg.errors import InputError, require
from slimg.graph.columns import show
from slimg.io import MOST_COLUMNS, SHEET_ROWS, SMALL, BoundedFile, Reading, Source, check_members, check_size, guard
from slimg.io.text import AS_MATRIX, comments, single_blanks
from slimg.io.values import distinct_names, frame_of

_EDGES = ("edges", "edge_index")
_FEATURES = ("features", "x", "node_features", "node_feat", "attr", "attr_matrix")
_LABELS = ("labels", "y", "node_labels", "label")
_IDS = ("ids", "node_ids", "id")
_ADJACENCIES = ("adj", "adjacency", "adj_matrix")


def read_parquet(source: Source) -> Reading:
    """Read a table; whole numbers stay whole where others are missing."""
    import pyarrow.parquet as pq

    with guard("Parquet file"), pq.ParquetFile(source.path) as file:
        about = file.metadata
        groups = sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))
        check_size(max(groups, 4 * about.num_rows * about.num_columns), source.path.stat().st_size, "the table")
        if about.num_columns > MOST_COLUMNS:
            raise InputError(f"it has {about.num_columns:,} columns, more than {MOST_COLUMNS:,}: {AS_MATRIX}")
        try:
            table = file.read()
        except MemoryError:
            check_size(SMALL + 1, source.path.stat().st_size, "the table")  # a small file declares too much in a page
            raise
        table.validate(full=True)
        return Reading(frame_of(table), streams=True)


def read_excel(source: Source) -> Reading:
    """Read a sheet, which is named unless it is the first one; its first row holds the names of the columns."""
    openpyxl = require("openpyxl", "excel", f"reading {source.path}")
    with guard("Excel workbook", "save it again"):
        file = BoundedFile(source.path)
        with zipfile.ZipFile(file) as archive:
            check_members(archive, file.length)
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        name = source.table or book.sheetnames[0]
        if name not in book.sheetnames:
            raise InputError(f"there is no sheet {name!r}: its sheets are {show(book.sheetnames)}")
        sheet = book[name]
        sheet.reset_dimensions()  # the file may declare a million rows
        rows = []
        for number, row in enumerate(sheet.iter_rows(values_only=True)):
            if number >= SHEET_ROWS:
                raise InputError(f"sheet {name!r} declares more than {SHEET_ROWS:,} rows, which no sheet has: save it again")
            if any(value is not None for value in row):
                rows.append(row)
        book.close()
    if len(rows) < 2:
        raise InputError(f"sheet {name!r} needs a row of names of columns and at least one row of values")
    heading = [*rows[0], *[None] * (max(map(len, rows)) - len(rows[0]))]
    names = distinct_names([f"column {k}" if value is None else str(value) for k, value in enumerate(heading, 1)])
    columns = zip(names, zip_longest(*rows[1:]), strict=False)
    frame = pd.DataFrame({name: pd.Series(list(values), dtype=object).infer_objects() for name, values in columns})
    return Reading(frame.dropna(axis=1, how="all"), notes=(f"{source.path.name}: sheet {name!r}.",))


def read_npz(source: Source) -> Reading:
    """Read a graph, or a matrix of features alone."""
    with guard("numpy archive of plain arrays", "write it with numpy.savez"):
        arrays = load_npz(source.path)
    edges = _edges_of(arrays)
    matrix = _sparse_part(arrays, _FEATURES) if edges is not None else None
    if matrix is None:
        matrix = _first(arrays, _FEATURES)
    labels, ids = _first(arrays, _LABELS), _first(arrays, _IDS)
    if edges is None and matrix is None:
        whole = _sparse_part(arrays, [""])
        if whole is None:
            raise InputError(f"neither edges nor features are in it, only {show(arrays)}: name one edges or features")
        return Reading(matrix=whole)
    frame = None if labels is None and ids is None and matrix is None else _nodes(matrix, labels, ids)
    return Reading(frame, edges, matrix)


def read_npy(source: Source) -> Reading:
    """Read a matrix of features."""
    with guard("numpy array of plain values", "write it with numpy.save"):
        return Reading(matrix=load_npy(source.path))


def read_matrix_market(source: Source) -> Reading:
    """Read a matrix; a square sparse one is a graph whose nodes are 1 … n; any other is features."""
    with guard("Matrix Market file"):
        matrix = _matrix_market(source.path.read_bytes())
    if sp.issparse(matrix) and matrix.shape[0] == matrix.shape[1]:
        return Reading(edges=_as_edges(matrix, first=1), matrix=matrix)
    return Reading(matrix=matrix)


def _matrix_market(data: bytes) -> Any:
    """A matrix of real or whole numbers, or of places alone; symmetric ones store the lower triangle.

    Read here, since scipy's reader ends the process on some damaged files.
    """
    sparse, values, symmetry, (n, m, *entries), body = _mtx_header(data)
    skew = symmetry == "skew-symmetric"
    triangle = n * (n - 1) // 2 + (0 if skew else n)
    count = entries[0] if sparse else n * m if symmetry == "general" else triangle
    if 2 * count > len(body) + 1:
        raise InputError(f"it declares {count:,} entries, but has {len(body):,} bytes after its sizes: write it again")
    columns = _numbers(body, ["int64"] * (2 * sparse) + ["float64"] * (values != "pattern"))
    if len(columns[0]) != count:
        raise InputError(f"it declares {count:,} entries, but has {len(columns[0]):,}: write it again")
    if sparse:
        row, column = columns[0] - 1, columns[1] - 1
        if count and (min(row.min(), column.min()) < 0 or row.max() >= n or column.max() >= m):
            raise InputError(f"an entry is outside of its {n:,} rows and {m:,} columns: write it again")
    elif symmetry == "general":
        column, row = np.divmod(np.arange(count), max(n, 1))
    else:
        column, row = np.triu_indices(n, int(skew))  # the lower triangle by columns is the upper one by rows
    given = np.ones(count) if values == "pattern" else columns[-1]
    if symmetry != "general":
        off = row != column
        row, column = np.r_[row, column[off]], np.r_[column, row[off]]
        given = np.r_[given, (-1 if skew else 1) * given[off]]
    if sparse:
        return sp.coo_array((given, (row, column)), shape=(n, m))
    dense = np.zeros((n, m))
    dense[row, column] = given
    return dense


def _mtx_header(data: bytes) -> tuple[bool, str, str, list[int], bytes]:
    """Whether it is sparse, kinds of values and of symmetry, sizes, and the lines of entries."""
    banner, _, rest = data.partition(b"\n")
    words = banner.decode("ascii", "replace").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"] or words[2] not in ("coordinate", "array"):
        raise InputError("it is no Matrix Market file: its first line is not %%MatrixMarket matrix coordinate real general")
    sparse, values, symmetry = words[2] == "coordinate", words[3], words[4]
    known = ("real", "integer", "double", *(["pattern"] * sparse)), ("general", "symmetric", "skew-symmetric")
    if values not in known[0] or symmetry not in known[1]:
        read = " and ".join(", ".join(each) for each in known)
        raise InputError(f"its values are {values[:20]} and {symmetry[:20]}, but {read} are read")
    line, _, body = rest[comments(rest) :].lstrip().partition(b"\n")
    sizes = [int(word) for word in line.split()[:4]]
    if len(sizes) != 2 + sparse or min(sizes) < 0 or max(sizes) >= 1 << 31:
        raise InputError(f"its sizes should be {2 + sparse} numbers below 2³¹, not {line[:60].decode('ascii', 'replace')!r}")
    if symmetry != "general" and sizes[0] != sizes[1]:
        raise InputError(f"a {symmetry} matrix is square, not {sizes[0]:,} × {sizes[1]:,}")
    return sparse, values, symmetry, sizes, body


def _numbers(body: bytes, kinds: list[str]) -> list[np.ndarray]:
    """Columns of numbers between blanks."""
    from pyarrow import csv as reader

    names = [str(place) for place in range(len(kinds))]
    lines = re.sub(rb"\n +|\n+", b"\n", single_blanks(body)).strip()
    if not lines:
        return [np.empty(0, kind) for kind in kinds]
    options = reader.ReadOptions(column_names=names), reader.ParseOptions(delimiter=" ", quote_char=False)
    types = {name: pa.type_for_alias(kind) for name, kind in zip(names, kinds, strict=True)}
    table = reader.read_csv(pa.BufferReader(lines), *options, reader.ConvertOptions(column_types=types, null_values=[]))
    return [column.to_numpy() for column in table.columns]


def _edges_of(arrays: dict[str, np.ndarray]) -> pd.DataFrame | None:
    pairs = _first(arrays, _EDGES)
    if pairs is not None:
        pairs = pairs.T if pairs.ndim == 2 and pairs.shape[0] == 2 and pairs.shape[1] != 2 else pairs
        if pairs.ndim != 2 or pairs.shape[1] not in (2, 3):
            raise InputError(f"its edges need 2 columns (or 3, with weights), not the shape {pairs.shape}")
        return pd.DataFrame(pairs, columns=["source", "target", "weight"][: pairs.shape[1]])
    matrix = _sparse_part(arrays, _ADJACENCIES)
    square = matrix if matrix is not None else _sparse_part(arrays, [""])
    return _as_edges(square, first=0) if square is not None and square.shape[0] == square.shape[1] else None


def _as_edges(matrix: Any, first: int) -> pd.DataFrame:
    entries = matrix.tocoo()
    columns = {"source": entries.row + first, "target": entries.col + first}
    if not np.all(entries.data == 1):
        columns["weight"] = entries.data
    return pd.DataFrame(columns)


def _sparse_part(arrays: dict[str, np.ndarray], names: Sequence[str]) -> sp.csr_array | None:
    """CSR from its parts, ``NAME_data``, ``NAME_indices``, … (or ``NAME.data``, or bare)."""
    for name in names:
        for mark in ("_", ".") if name else ("",):
            parts = [arrays.get(f"{name}{mark}{part}") for part in ("data", "indices", "indptr", "shape")]
            if all(part is not None for part in parts):
                data, indices, indptr, shape = parts
                columns = b"csc" in arrays.get("format", np.array(b"csr")).tobytes()
                return csr_of(data, indices, indptr, shape, columns=columns)
    return None


def _nodes(matrix: Any, labels: np.ndarray | None, ids: np.ndarray | None) -> pd.DataFrame:
    if any(part is not None and part.ndim == 0 for part in (ids, labels, matrix)) or (ids is not None and ids.ndim != 1):
        raise InputError("its arrays need one row per node, and ids one number or text for each: one of them has not")
    if matrix is not None and matrix.ndim != 2:
        raise InputError(f"its features need rows and columns, not the shape {matrix.shape}")
    n = next(part.shape[0] for part in (ids, labels, matrix) if part is not None)
    columns: dict[str, Any] = {"id": np.arange(n) if ids is None else ids}
    if labels is not None:
        columns["label"] = labels.reshape(n, -1)[:, 0] if labels.ndim > 1 else labels
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"its arrays need one row per node, but their lengths are {lengths}")
    return pd.DataFrame(columns)


def _first(arrays: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray | None:
    found = next((arrays[name] for name in names if name in arrays), None)
    return found if found is None or found.dtype.kind != "S" else np.char.decode(found, "utf-8", "backslashreplace")


def check_npy(file: IO[bytes], size: int, name: str) -> tuple[int, ...]:
    """Refuse an array whose header declares Python objects, or more bytes than follow it; return its shape."""
    start = file.read(12)
    later = start[6:7] in (b"\x02", b"\x03")
    length = int.from_bytes(start[8 : 12 if later else 10], "little")
    if start[:6] != b"\x93NUMPY" or start[7:8] != b"\x00" or not (later or start[6] == 1) or length > min(size, 10_000):
        raise InputError(f"{name} is no numpy array of plain values, since it has no header of one: write it again")
    file.seek(8)
    read_header = np.lib.format.read_array_header_2_0 if later else np.lib.format.read_array_header_1_0
    shape, _, kind = read_header(file)  # type: ignore[arg-type]
    if kind.hasobject:
        raise InputError(f"{name} holds Python objects, not plain values: write it with a type of numbers or text")
    count = 1
    for length in shape:
        count *= length
    declared = count * kind.itemsize
    if min(shape, default=0) < 0 or declared > size or (kind.itemsize == 0 and count > size):
        shown = " × ".join(str(length)[:24] for length in shape)
        raise InputError(f"{name} declares {shown} values of {kind.itemsize} bytes, but has {size:,} bytes: write it again")
    return shape


def load_npz(path: Path, names: list[str] | None = None) -> dict[str, np.ndarray]:
    """Read the arrays of an archive, or those that are named, each checked before it is made.

    Returns
    -------
    dict of str to array
    """
    with BoundedFile(path) as file, zipfile.ZipFile(file) as archive:
        check_members(archive, file.length)
        for item in archive.infolist():
            name = item.filename.removesuffix(".npy")
            if names is None or name in names:
                with archive.open(item) as member:
                    check_npy(member, item.file_size, name)
    with BoundedFile(path) as file, np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in (arrays.files if names is None else names) if name in arrays.files}


def load_npy(path: Path) -> np.ndarray:
    """Read one array, whose header is checked first."""
    size = path.stat().st_size
    check_size(size, size)
    npy_shape(path)
    return np.load(path, allow_pickle=False)


def npy_shape(path: Path) -> tuple[int, ...]:
    """Read the shape that the header of an array declares, after checking it."""
    with guard("numpy array of plain values", "write it with numpy.save"), path.open("rb") as file:
        return check_npy(file, path.stat().st_size, "the array")


def csr_of(data: Any, indices: Any, indptr: Any, shape: Any, *, columns: bool = False) -> sp.csr_array:
    """Make a CSR matrix of its parts (of CSC if ``columns``), after checks of every pointer and index.

    Returns
    -------
    csr_array

    Raises
    ------
    InputError
        If the parts do not fit together.
    """
    sizes = [int(size) for size in np.ravel(shape)]
    parts = [np.asarray(part) for part in (data, indices, indptr)]
    whole = all(part.dtype.kind in "iu" for part in parts[1:]) and all(part.ndim == 1 for part in parts)
    if len(sizes) != 2 or not whole or parts[0].dtype.kind not in "biuf":
        raise InputError("the parts of its sparse matrix are not numbers, indices, pointers and a shape of two numbers")
    major, minor = sizes[::-1] if columns else sizes
    data, indices, indptr = parts
    rising = len(indptr) == major + 1 and indptr[0] == 0 and bool(np.all(indptr[1:] >= indptr[:-1]))
    if not rising or indptr[-1] > min(len(indices), len(data)):
        raise InputError("the pointers of its sparse matrix do not rise from 0 to the number of its entries: write it again")
    used = indices[: int(indptr[-1])]
    if len(used) and (int(used.min()) < 0 or int(used.max()) >= minor):
        raise InputError(f"an index of its sparse matrix is not within 0 … {minor - 1}: write it again")
    check_size(8 * (minor if columns else 0), data.nbytes + indptr.nbytes, "its sparse matrix")
    pair = (major, minor)[:: -1 if columns else 1]
    return sp.csr_array((sp.csc_array if columns else sp.csr_array)((data[: len(used)], used, indptr), shape=pair))
