"""Tables larger than memory to a graph on disk (`slimg.io.disk`), with the rules of `slimg.io.inputs`.

    nodes   CSV is copied to Parquet once; then column after column is read whole, planned, encoded and moved to a file
    ids     one column in arrow's layout; both ends of a piece of edges are looked up in it, without Python objects
    edges   a piece at a time to pairs of row numbers on disk, which `slimg.io.external_sort` sorts

Memory: the ids, the largest column, and one piece of edges. What cannot be done so is refused (`check_options`). Columns are
guessed from the first `HEAD` rows. The folder appears when it is complete; graph.json keeps how the tables were read.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv_reader
import pyarrow.parquet as pq
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.graph import checks
from slimg.graph.columns import as_text, number_of, rows_in, show, text_column
from slimg.io import TEXT, Reading, Source, first_line, guard, unchanged, with_name
from slimg.io.disk import finish, open_graph
from slimg.io.external_sort import NpyAppender, Piece, write_adjacency
from slimg.io.features import FeaturePlan, plan_features
from slimg.io.inputs import NO_HEADER, Inputs, Joiner, Options, check_some, lacks_header
from slimg.io.text import BLOCK, Layout, layout_of, stream
from slimg.io.values import frame_of
from slimg.progress import SILENT, Progress
from slimg.system import atomic_folder, atomic_write, require_room, resident, show_bytes

HEAD, PIECE = 100_000, 1 << 17
"""Rows from which columns are guessed, and rows of a piece."""
EDGE_BYTES = 300
"""Memory that an edge of a piece takes while its ends are looked up."""
DENSE = 1024
"""Columns of features up to which they are dense on disk; more are sparse, in memory."""
PARQUET = (".parquet", ".pq")


def check_options(options: Options) -> None:
    """Raise an error for what the engine of files cannot read; the sentence says what to do.

    Parameters
    ----------
    options : Options
    """
    wrong = [name for name, is_given in (
        ("--db", options.db), ("--labels", options.labels), ("--feature-matrix", options.matrix),
        ("--relation", options.relation), ("--directed", options.directed), ("--unknown keep", options.unknown == "keep"),
        ("several files of --edges, which are relations", len(options.edges) > 1),
        ("several files of --nodes, which are types", len(options.nodes) > 1),
        ("a missing --edges or --nodes", not options.edges or not options.nodes),
    ) if is_given]  # fmt: skip
    if wrong:
        advice = "use --engine memory, or one table of edges and one of nodes"
        raise InputError(f"--engine mapped does not go with {wrong[0]}: {advice}")
    for source in (*options.edges, *options.nodes):
        if source.suffix not in (*TEXT, *PARQUET) or source.packing == ".zip" or source.is_stdin:
            raise InputError(f"{source}: --engine mapped reads CSV, TSV (also .gz and .zst) and Parquet: convert it first")
        if (source.encoding or "utf-8").lower().replace("_", "-") not in ("utf-8", "utf8"):
            raise InputError(f"{source}: --engine mapped reads UTF-8, not {source.encoding}: convert it, or use --engine memory")


@dataclass(frozen=True, eq=False)
class FileTable:
    """A table in files of CSV or Parquet that is read a piece, or a column, at a time.

    Parameters
    ----------
    source : Source
    layouts : tuple of Layout or None
        Of each text file; None of a Parquet file.
    names : list of str
        Of the columns.
    """

    source: Source
    layouts: tuple[Layout | None, ...]
    names: list[str]

    @classmethod
    def open(cls, source: Source) -> FileTable:
        """Look at the beginning of each file.

        Returns
        -------
        FileTable
        """
        if not source.files:
            raise InputError(f"{source.path} matches no file: check the pattern, and quote it")
        layouts, names = [], []
        for path in source.files:
            with unchanged(replace(source, path=path)), guard(f"file that slimg can read as {source.suffix}"):
                layouts.append(None if source.suffix in PARQUET else with_name(path, _layout, path, source))
                names.append(list(pq.read_schema(path).names) if layouts[-1] is None else layouts[-1].names)
        if any(each != names[0] for each in names) or len(set(names[0])) < len(names[0]):
            raise InputError(f"{source.path}: all files need a table of the same columns, with different names")
        return cls(source, tuple(layouts), names[0])

    @property
    def notes(self) -> tuple[str, ...]:
        """What was guessed of text files."""
        told = self.layouts[0].notes if self.layouts[0] is not None else []
        return (f"{self.source.path.name}: {', '.join(told)}.",) if told else ()

    def pieces(self, columns: Sequence[str] | None = None, rows: int = PIECE) -> Iterator[pa.Table]:
        """Yield runs of about ``rows`` rows in order; of text files every value is text."""
        for path, layout in zip(self.source.files, self.layouts, strict=True):
            with unchanged(replace(self.source, path=path)), ExitStack() as stack:
                held: list[Any] = []
                try:
                    for batch in self._batches(path, layout, columns, rows, stack):
                        held.append(batch)
                        if sum(map(len, held)) >= rows:
                            yield pa.Table.from_batches(held)
                            held = []
                except (pa.ArrowInvalid, pa.ArrowException, OSError) as error:
                    told = first_line(error)
                    if "straddling object" in told:
                        told = f"a row is longer than {show_bytes(BLOCK)}, or a quote is not closed"
                    raise InputError(f"{path}: {told}: correct it, or use --engine memory") from None
                if held:
                    yield pa.Table.from_batches(held)

    def _batches(self, path: Path, layout: Layout | None, columns: Any, rows: int, stack: ExitStack) -> Iterator[Any]:
        if layout is None:
            file = stack.enter_context(pq.ParquetFile(path))
            yield from file.iter_batches(rows, columns=columns)
            return
        text = stack.enter_context(stream(path))
        text.read(layout.start)
        options = layout.options(quotes=True, block=BLOCK)
        if columns is not None:
            options["convert_options"].include_columns = list(columns)
        yield from stack.enter_context(csv_reader.open_csv(text, **options))

    def frames(self) -> Iterator[pd.DataFrame]:
        """Yield runs of rows, every column in arrow's type, so that they can be written one after the other."""
        for piece in self.pieces():
            yield piece.to_pandas(types_mapper=pd.ArrowDtype)

    def column(self, name: str) -> pd.Series:
        """Return a whole column of Parquet files.

        Returns
        -------
        Series
        """
        parts = [pq.ParquetFile(path).read(columns=[name]) for path in self.source.files]
        return frame_of(pa.concat_tables(parts))[name]

    def head(self, columns: Sequence[str] | None = None, rows: int = HEAD) -> pd.DataFrame:
        """Return the first rows.

        Returns
        -------
        DataFrame
        """
        first = next(self.pieces(columns, rows), None)
        if first is None:
            raise InputError(f"{self.source}: there are no rows below the names of the columns ({show(self.names)})")
        return frame_of(first.slice(0, rows))

    def measured(self) -> tuple[int, int]:
        """Estimate rows and bytes as text, from the first bytes of each file; Parquet says both.

        Returns
        -------
        rows, size : int
        """
        rows = size = 0.0
        for path, layout in zip(self.source.files, self.layouts, strict=True):
            if layout is None:
                about = pq.read_metadata(path)
                groups = [about.row_group(number) for number in range(about.num_row_groups)]
                rows, size = rows + about.num_rows, size + sum(group.total_byte_size for group in groups)
                continue
            with pa.OSFile(str(path)) as raw, stream(path, raw) as file:
                sample, used = file.read(BLOCK), raw.tell()
            whole = len(sample) * (path.stat().st_size / used if len(sample) == BLOCK else 1)
            size, rows = size + whole, rows + sample.count(b"\n") * whole / len(sample) - layout.header
        return max(int(rows), 1), int(size)

    def stored(self, path: Path) -> FileTable:
        """Return a table of Parquet files: itself, or a copy at ``path``, which is made unless it is there.

        Returns
        -------
        FileTable
        """
        if self.layouts[0] is None:
            return self
        if not path.exists():
            with atomic_write(path, binary=True) as file, ExitStack() as stack:
                writer = None
                for piece in self.pieces():
                    writer = writer or stack.enter_context(pq.ParquetWriter(file, piece.schema, use_dictionary=False))
                    writer.write_table(piece)
        return FileTable(Source(path), (None,), self.names)


def _layout(path: Path, source: Source) -> Layout:
    """Separator, header and names of a text file, from its first bytes."""
    with stream(path) as file:
        data = file.read(BLOCK)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data:
        raise InputError("it is not UTF-8 text: convert it, or use --engine memory")
    mark = len(codecs.BOM_UTF8) * data.startswith(codecs.BOM_UTF8)
    layout = layout_of(data[mark:], source)
    if layout.separator == " ":
        raise InputError("values are separated by blanks, which --engine mapped does not read: use commas, or --engine memory")
    return layout._replace(start=layout.start + mark)


def read_to_disk(options: Options, folder: Path, memory: int, progress: Progress = SILENT) -> Inputs:
    """Read tables into a graph on disk; what an interrupted call has finished in the folder is used.

    Parameters
    ----------
    options : Options
        One table of edges and one of nodes.
    folder : Path
        Gets nodes.parquet, if the nodes are text, and the folder graph.
    memory : int
        Bytes that the process may hold.
    progress : Progress

    Returns
    -------
    Inputs
        Its graph is memory-mapped, its ``table`` has no rows, and ``stored`` is the node table.
    """
    check_options(options)
    text = FileTable.open(options.nodes[0])
    separator = None if text.layouts[0] is None else text.layouts[0].separator
    if not (folder / "graph").exists():
        with progress.stage("copying nodes"):
            nodes = text.stored(folder / "nodes.parquet")
        _Build(options, text, nodes, memory, progress).run(folder / "graph")
    nodes = text.stored(folder / "nodes.parquet")
    graph = open_graph(folder / "graph")
    reading = graph.reading or {}
    plan = FeaturePlan.from_dict(reading["plan"])
    empty = pd.DataFrame(columns=pd.Index(nodes.names, dtype=object))
    known = reading["id"], reading["label"], plan if plan.blocks else None, graph.notes, separator, reading["columns"]
    return Inputs(graph, empty, *known, stored=nodes)


class _Build:
    def __init__(self, options: Options, text: FileTable, nodes: FileTable, memory: int, progress: Progress):
        self.options, self.nodes, self.memory, self.progress = options, nodes, memory, progress
        self.edges, self.head = FileTable.open(options.edges[0]), nodes.head()
        told: tuple[str, ...] = ()
        self.edge_head = self.edges.head()
        if lacks_header(self.edges.source, self.edge_head, [self.head], options.id):
            self.edges = FileTable.open(replace(self.edges.source, header=False))
            self.edge_head, told = self.edges.head(), (f"{self.edges.source.path.name}: {NO_HEADER}",)
        known = [(self.edges.source, Reading(self.edge_head, notes=(*self.edges.notes, *told)))]
        self.joiner = Joiner(options, known, [(text.source, Reading(self.head, notes=text.notes))])

    def room(self) -> int:
        """Bytes that may be taken now."""
        return max(self.memory - resident(), 1 << 26)

    def run(self, folder: Path) -> None:
        joiner = self.joiner
        (_, _, _, names), = joiner.choose_columns()[0]
        id_name = next(iter(joiner.columns["nodes"].values()))
        label = joiner.find_label(self.head, id_name)
        with atomic_folder(folder) as part:
            ids = _Ids(self.nodes.column(id_name), [self.edge_head[name] for name in names[:2]], self.options.nodes[0])
            ids.write(part / "ids.npy")
            labels = joiner.labels(pd.DataFrame({label: self.nodes.column(label)}), label, True)
            classes, codes = checks.encode_labels(np.asarray(labels), ids.n)
            np.save(part / "codes.npy", codes.astype(np.int32))
            with self.progress.stage("reading features"):
                plan = self._features(part, id_name, label, ids.n)
            with self.progress.stage("reading edges"):
                pairs = self._pairs(part, ids, names)
            del ids
            directed = self.options.directed is None
            counts = write_adjacency(part, pairs, len(codes), self.room(), directed=directed, progress=self.progress)
            pairs.remove()
            reading = {"plan": plan.as_dict(), "id": id_name, "label": label, "columns": joiner.columns}
            notes = tuple(dict.fromkeys((*joiner.notes, *counts.notes())))
            about = {"classes": classes.tolist(), "feature_names": list(plan.names) or None, "reading": reading}
            finish(part, len(codes), counts.edges, notes, about)

    def _features(self, folder: Path, id_name: str, label: str, n: int) -> FeaturePlan:
        """Write features.npy, or the three arrays of a sparse matrix; encoded columns wait in files."""
        options, files, numbers = self.options, list[_Rows](), count()

        def keep(part: Any) -> Any:
            if not sp.issparse(part):
                part = _Rows(folder / f"column-{next(numbers)}.npy", part)
                files.append(part)
            return part

        chosen = self.joiner.feature_columns(self.head, id_name, label)
        rules: Any = options.kinds, options.missing, options.decimal
        plan, parts = with_name(options.nodes[0], plan_features, self.nodes.column, chosen, *rules, keep)
        self.joiner.notes.extend(plan.notes)
        d = len(plan.names)
        if d > DENSE:
            matrix = plan.joined([part[0:n] for part in parts])
            for name in ("indptr", "indices", "data"):
                np.save(folder / f"features_{name}.npy", getattr(sp.csr_array(matrix), name))
            self.joiner.notes.append(f"The {d:,} features are sparse and stay in memory.")
        elif d:
            require_room(folder, 4 * n * d, "writing the features")
            with NpyAppender(folder / "features.npy", np.float32, d) as out:
                for start in range(0, n, 1 << 14):
                    out.append(plan.rows(parts, slice(start, min(start + (1 << 14), n))))
        for each in files:
            each.path.unlink()
        return plan

    def _pairs(self, folder: Path, ids: _Ids, names: Sequence[Any]) -> _Pairs:
        """Row numbers of both ends of every edge; ids that are not among the nodes are refused or dropped."""
        options, (first, second, weight) = self.options, names
        used = [name for name in names if name is not None]
        strange: list[str] = []
        given, kept, some_weigh = 0, 0, weight is None
        weights = folder / "edge-weights.npy"
        with NpyAppender(folder / "edges.npy", np.int32, 2) as out, NpyAppender(weights, np.float64) as values:
            for piece in self.edges.pieces(used, int(np.clip(self.room() // 4 // EDGE_BYTES, PIECE, 1 << 22))):
                frame = frame_of(piece)
                ends = np.column_stack(ids.places(frame[first], frame[second]))
                lost = (ends < 0).any(axis=1)
                if lost.any():
                    at = np.flatnonzero(lost)[:1000]
                    some = as_text(pd.concat([frame[name].iloc[at][ends[at, k] < 0] for k, name in enumerate((first, second))]))
                    strange = list(dict.fromkeys([*strange, *some.fillna("(missing)").tolist()]))[:1000]
                out.append(ends[~lost])
                if weight is not None:
                    own = self.joiner.weights(self.edges.source, frame, weight, given)
                    some_weigh |= bool(own.any())
                    values.append(own[~lost])
                given, kept = given + len(ends), kept + int((~lost).sum())
        check_some(self.edges.source, weight, some_weigh)
        if given > kept:
            found = f"{number_of(given - kept, 'edge has', 'edges have')} an id that is not among the nodes ({show(strange)})"
            if options.unknown == "fail":
                hint = f"ids of the nodes look like {show(ids.first)}; add them, or choose --unknown drop"
                raise InputError(f"{self.edges.source}: {found}; {hint}")
            self.joiner.notes.append(f"{found}: {number_of(given - kept, 'edge')} dropped.")
        return _Pairs(folder / "edges.npy", weights if weight is not None else None)


class _Ids:
    """Ids of the nodes in order: integers if those of the edges are, else text in arrow's layout."""

    def __init__(self, column: pd.Series, ends: Sequence[pd.Series], source: Source):
        whole = all(pd.api.types.is_integer_dtype(each.dtype) for each in (column, *ends))
        self.known: Any = column if whole else as_text(column)
        with_name(source, checks.check_ids, self.known.to_numpy() if whole else self.known, "ids of the nodes")
        self.n = len(self.known)
        self.first = [str(value) for value in self.known[:2].tolist()]
        if whole:
            numbers = column.to_numpy(np.int64)
            self.known = None if (numbers == np.arange(self.n)).all() else pd.Index(numbers)
        else:
            self.known = text_column(self.known.__arrow_array__().cast(pa.large_string()).combine_chunks())
        self.numbers = whole

    def places(self, *columns: pd.Series) -> list[np.ndarray]:
        """Row numbers of the ids of each column, −1 where one is not there."""
        if not self.numbers:
            return rows_in(self.known, "ids", *map(as_text, columns))
        values = [each.to_numpy(np.int64, na_value=-1) if each.hasnans else each.to_numpy(np.int64) for each in columns]
        if self.known is not None:
            return rows_in(self.known, "ids", *values)
        return [np.where((each >= 0) & (each < self.n), each, -1) for each in values]

    def write(self, path: Path) -> None:
        """Write integers, or text of a fixed width, which is mapped and not read."""
        if self.numbers:
            np.save(path, np.arange(self.n) if self.known is None else self.known.to_numpy())
            return
        text = self.known.__arrow_array__()
        width = pc.max(pc.utf8_length(text)).as_py() or 1
        require_room(path.parent, 4 * self.n * width, "writing the ids")
        with NpyAppender(path, np.dtype(f"U{width}")) as out:
            for start in range(0, self.n, PIECE):
                out.append(text.slice(start, PIECE).to_numpy())


class _Rows:
    """Rows in a .npy file, read by plain reads: pages of a mapped file would count as memory of the process."""

    def __init__(self, path: Path, rows: np.ndarray | None = None):
        if rows is not None:
            np.save(path, rows)
        mapped = np.load(path, mmap_mode="r")
        self.path, self.shape, self.size, self._dtype, self._offset = path, mapped.shape, mapped.size, mapped.dtype, mapped.offset

    def __getitem__(self, rows: slice) -> np.ndarray:
        start, stop, _ = rows.indices(self.shape[0])
        width = self.size // max(self.shape[0], 1)
        place = self._offset + self._dtype.itemsize * start * width
        return np.fromfile(self.path, self._dtype, (stop - start) * width, offset=place).reshape(-1, *self.shape[1:])


class _Pairs:
    """Pairs of row numbers on disk, and weights, for `external_sort`."""

    def __init__(self, path: Path, weights: Path | None):
        self.path, self._weights = path, weights

    def pieces(self, rows: int) -> Iterator[Piece]:
        """Yield the edges in order, ``rows`` at a time."""
        pairs, weights = _Rows(self.path), None if self._weights is None else _Rows(self._weights)
        for start in range(0, pairs.shape[0], rows):
            part = slice(start, start + rows)
            ends = pairs[part]
            yield Piece(start, ends[:, 0], ends[:, 1], None if weights is None else weights[part])

    def remove(self) -> None:
        """Remove the files."""
        for path in (self.path, self.path.with_name("edge-weights.npy")):
            path.unlink(missing_ok=True)

