"""Readers of Parquet, Excel, numpy archives (.npz), numpy arrays (.npy) and Matrix Market files (.mtx); writers of tables.

An archive holds a graph in one of the layouts in use:

    edges or edge_index (m × 2 or 2 × m), or a sparse adjacency: adj_* / adjacency_* parts, or the parts of scipy's save_npz
    features, x, node_features, node_feat, or attr_* parts (sparse);  labels, y, node_labels, label;  ids, node_ids
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from slimg.errors import InputError, require
from slimg.graph.columns import arrow_text, show
from slimg.io import FORMULA_STARTS, Reading, Source
from slimg.io.values import NUMBER, distinct_names, frame_of

_EDGES = ("edges", "edge_index")
_FEATURES = ("features", "x", "node_features", "node_feat", "attr", "attr_matrix")
_LABELS = ("labels", "y", "node_labels", "label")
_IDS = ("ids", "node_ids", "id")
_ADJACENCIES = ("adj", "adjacency", "adj_matrix")


def read_parquet(source: Source) -> Reading:
    """Read a table; whole numbers stay whole where others are missing."""
    import pyarrow.parquet as pq

    try:
        return Reading(frame_of(pq.read_table(source.path)))
    except pa.ArrowInvalid as error:
        raise InputError(f"it is no Parquet file, or damaged ({str(error).splitlines()[0]}): write it again") from None


def read_excel(source: Source) -> Reading:
    """Read a sheet, which is named unless it is the first one; its first row holds the names of the columns."""
    openpyxl = require("openpyxl", "excel", f"reading {source.path}")
    try:
        book = openpyxl.load_workbook(source.path, read_only=True, data_only=True)
    except Exception as error:  # whatever a damaged file leads to
        raise InputError(f"it is no Excel workbook, or damaged ({type(error).__name__}): save it again") from None
    name = source.table or book.sheetnames[0]
    if name not in book.sheetnames:
        raise InputError(f"there is no sheet {name!r}: its sheets are {show(book.sheetnames)}")
    rows = [row for row in book[name].iter_rows(values_only=True) if any(value is not None for value in row)]
    book.close()
    if len(rows) < 2:
        raise InputError(f"sheet {name!r} needs a row of names of columns and at least one row of values")
    names = distinct_names([f"column {k}" if value is None else str(value) for k, value in enumerate(rows[0], 1)])
    columns = zip(names, zip(*rows[1:], strict=True), strict=True)
    frame = pd.DataFrame({name: pd.Series(list(values), dtype=object).infer_objects() for name, values in columns})
    return Reading(frame.dropna(axis=1, how="all"), notes=(f"{source.path.name}: sheet {name!r}.",))


def read_npz(source: Source) -> Reading:
    """Read a graph, or a matrix of features alone."""
    try:
        with np.load(source.path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"it is no numpy archive of plain arrays ({error}): write it with numpy.savez") from None
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
    try:
        array = np.load(source.path, allow_pickle=False)
    except ValueError as error:
        raise InputError(f"it is no numpy array of plain values ({error})") from None
    return Reading(matrix=array)


def read_matrix_market(source: Source) -> Reading:
    """Read a matrix; a square sparse one is a graph whose nodes are 1 … n; any other is features."""
    from scipy.io import mmread

    try:
        matrix = mmread(source.path)
    except (ValueError, OverflowError) as error:
        raise InputError(f"it is no Matrix Market file ({error})") from None
    if sp.issparse(matrix) and matrix.shape[0] == matrix.shape[1]:
        return Reading(edges=_as_edges(matrix, first=1), matrix=matrix)
    return Reading(matrix=matrix)


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
                kind = sp.csc_array if b"csc" in arrays.get("format", np.array(b"csr")).tobytes() else sp.csr_array
                return sp.csr_array(kind((data, indices, indptr), shape=tuple(map(int, shape))))  # type: ignore[arg-type]
    return None


def _nodes(matrix: Any, labels: np.ndarray | None, ids: np.ndarray | None) -> pd.DataFrame:
    n = next(len(part) if part.ndim == 1 else part.shape[0] for part in (ids, labels, matrix) if part is not None)
    columns: dict[str, Any] = {"id": np.arange(n) if ids is None else ids}
    if labels is not None:
        columns["label"] = labels.reshape(n, -1)[:, 0] if labels.ndim > 1 else labels
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"its arrays need one row per node, but their lengths are {lengths}")
    return pd.DataFrame(columns)


def _first(arrays: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray | None:
    return next((arrays[name] for name in names if name in arrays), None)


def write_csv(frame: pd.DataFrame, file: IO[bytes], separator: str, keep: Sequence[str]) -> None:
    """Write comma-separated values; all text is quoted."""
    import pyarrow.csv

    header = io.StringIO()
    csv.writer(header, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(
        inert(pa.array([str(name) for name in frame.columns])).to_pylist()
    )
    file.write(header.getvalue().encode())
    columns = [_printed(frame.iloc[:, place], frame.columns[place] in keep) for place in range(frame.shape[1])]
    options = pyarrow.csv.WriteOptions(include_header=False, delimiter=separator)
    pyarrow.csv.write_csv(pa.table(columns, names=[str(place) for place in range(len(columns))]), file, options)


def write_tsv(frame: pd.DataFrame, file: IO[bytes], separator: str, keep: Sequence[str]) -> None:
    """Write values separated by tabs."""
    write_csv(frame, file, "\t", keep)


def write_parquet(frame: pd.DataFrame, file: IO[bytes], separator: str, keep: Sequence[str]) -> None:
    """Write Parquet; columns of mixed types become text."""
    mixed = {}
    for name in frame.columns:
        column = frame[name]
        if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True).startswith("mixed-integer"):
            mixed[name] = column.map(str, na_action="ignore")
    frame.assign(**mixed).to_parquet(file, index=False)


def write_excel(frame: pd.DataFrame, file: IO[bytes], separator: str, keep: Sequence[str]) -> None:
    """Write a sheet; text is never a formula."""
    openpyxl = require("openpyxl", "excel", "writing .xlsx")
    if len(frame) >= 1 << 20:
        raise InputError(f"a sheet has room for {(1 << 20) - 1:,} rows, not for {len(frame):,}: write .csv or .parquet")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append([str(name) for name in frame.columns])
    for row in frame.astype(object).where(frame.notna(), None).itertuples(index=False):
        sheet.append([value if isinstance(value, (str, bool, int, float, type(None))) else _plain(value) for value in row])
    for cell in (cell for row in sheet.iter_rows() for cell in row if cell.data_type == "f"):
        cell.data_type = "s"
    book.save(file)


WRITERS = {".csv": write_csv, ".tsv": write_tsv, ".parquet": write_parquet, ".xlsx": write_excel}


def inert(text: Any) -> Any:
    """Put a quote before text that a spreadsheet would run as a formula, unless it is a number."""
    starts = "".join(f"\\x{ord(start):02x}" for start in FORMULA_STARTS)
    formula = pc.match_substring_regex(text, f"^[{starts}]")
    if not pc.any(formula).as_py():
        return text
    formula = pc.and_not(formula, pc.match_substring_regex(text, NUMBER))
    quote, nothing = pa.scalar("'", text.type), pa.scalar("", text.type)
    return pc.if_else(formula, pc.binary_join_element_wise(quote, text, nothing), text)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def _printed(series: pd.Series, keep: bool) -> Any:
    """A column as arrow writes it: numbers, or text that is inert unless it is to be kept."""
    text = arrow_text(series)
    if text is None and pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype):
        return pa.array(series, from_pandas=True)
    if text is None:
        text = pa.array(series.astype(object).map(str, na_action="ignore"), pa.string(), from_pandas=True)
    return text if keep else inert(text)
