"""One reader per family of file formats: ``read(files, dataset) -> Graph``, files by their name in the table.

Arrays, in NumPy's npz (without unpickling anything) and Matlab files:

    amazon       Computers, Photo: a CSR adjacency (directed as stored), CSR features and labels
    wikipedia    Chameleon, Squirrel: 0/1 features, labels, edges and ten published splits
    facebook100  Penn94, Cornell5: ``A`` and ``local_info``, seven columns of codes (0 = not stated). The label is gender
                 (0 = unlabelled). Every other column becomes one 0/1 feature per value that occurs, "not stated"
                 included, as its publishers do.
    pokec        ``edge_index`` (2 × m), ``node_feat`` (n × 65) and ``label`` (gender; −1 = not stated)

Text files:

    actor    two tab-separated files: node, comma-separated ids of its features (0 … 931; a repeated one counts once), label;
             and pairs of nodes
    ogb      ogbn-arxiv, ogbn-products: csv.gz without headers: edge (m × 2), node-feat (n × d), node-label (n),
             num-node-list (n itself), and three lists of rows, the public split. With the option ``rare``, nodes of classes
             with fewer nodes than that stay in the graph without a label.
    twitch   two csv files. Seven features, as its benchmark uses them: views, life_time, created_at and updated_at
             (2016-02-16 → 20160216), dead_account, language (numbered in order of first appearance) and affiliate; each
             column standardised (sample standard deviation). The label is ``mature``.

Planetoid (Cora, CiteSeer, PubMed): eight files, seven of them pickles of Python 2:

    allx, ally : features (CSR) and one-hot labels of nodes 0 … |allx| − 1; the first |y| are the public training nodes
    tx, ty     : of the test nodes, row k belonging to node test.index[k]
    graph      : {node: [neighbours]}

A pickle can run any code it names, so these are read by an unpickler that knows six names and refuses every other.
"""

from __future__ import annotations

import io
import pickle
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.graph import Adjacency, Graph
from slimg.graph.columns import number_of
from slimg.io import RATIO, SMALL, binary, first_line
from slimg.lab.datasets.dataset import Dataset

CSR_ARRAYS = ("data", "indices", "indptr", "shape")
AMAZON_ARRAYS = (*(f"{part}_{array}" for part in ("adj", "attr") for array in CSR_ARRAYS), "labels")
FACEBOOK_COLUMNS = ("status", "gender", "major", "minor", "dormitory", "year", "high_school")
SPLIT_PARTS = ("train", "val", "test")
TWITCH_FEATURES = ("views", "life_time", "created_at", "updated_at", "dead_account", "language", "affiliate")
DATES = ("created_at", "updated_at")
PUBLIC_VALIDATION = 500
MAT_MATRIX, MAT_COMPRESSED, MAT_SPARSE = 14, 15, 5
MAT_NUMBERS = {1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 9: "<f8", 12: "<i8", 13: "<u8"}
PICKLED_TYPES = ("b1", "i1", "u1", "i4", "i8", "u4", "f4", "f8")
UNLABELLED = -1


def read_amazon(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Return the graph of the file; the direction of the edges is dropped."""
    arrays = load_npz(files[dataset.files[0].name], AMAZON_ARRAYS)
    parts = {part: [arrays[f"{part}_{array}"] for array in CSR_ARRAYS] for part in ("adj", "attr")}
    adjacency, features = (binary.csr_of(*each) for each in parts.values())
    return Graph.from_arrays(adjacency, features, arrays["labels"])


def read_wikipedia(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Return the graph of the file, with masks ``train_0`` … ``test_9``; the features are sparse (0.6 % ones)."""
    keys = ("node_features", "node_labels", "edges", *(f"{part}_masks" for part in SPLIT_PARTS))
    parts = load_npz(files[dataset.files[0].name], keys)
    source, target = parts["edges"].T
    masks = {f"{part}_{k}": mask.astype(bool) for part in SPLIT_PARTS for k, mask in enumerate(parts[f"{part}_masks"])}
    features = sp.csr_array(parts["node_features"].astype(np.float32))
    return build_graph(source, target, features, parts["node_labels"], directed=False, masks=masks)


def read_facebook100(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Return the graph of the file; classes are the codes of gender, 1 and 2."""
    path = files[dataset.files[0].name]
    parts = load_mat(path, ("A", "local_info"))
    info = parts["local_info"].astype(np.int64)
    if info.ndim != 2 or info.shape != (parts["A"].shape[0], len(FACEBOOK_COLUMNS)):
        raise InputError(f"{path}: local_info should be nodes × {len(FACEBOOK_COLUMNS)}, but its shape is {info.shape}")
    blocks, names = [], []
    for column, given in zip(FACEBOOK_COLUMNS, info.T, strict=True):
        if column != "gender":
            values, codes = np.unique(given, return_inverse=True)
            rows, ones = np.arange(len(info) + 1), np.ones(len(info), np.float32)
            blocks.append(sp.csr_array((ones, codes.ravel(), rows), shape=(len(info), len(values))))
            names += [f"{column}={value}" for value in values]
    gender, features = info[:, FACEBOOK_COLUMNS.index("gender")], sp.hstack(blocks, format="csr")
    return Graph.from_arrays(sp.csr_array(parts["A"]), features, gender, feature_names=names, unlabelled=0)


def read_pokec(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Return the graph of the file; its directed friendships are made undirected."""
    path = files[dataset.files[0].name]
    parts = load_mat(path, ("edge_index", "node_feat", "label"))
    edges, features, labels = parts["edge_index"], parts["node_feat"], parts["label"].ravel()
    if edges.ndim != 2 or edges.shape[0] != 2 or len(labels) != features.shape[0]:
        raise InputError(
            f"{path} does not fit together: edge_index {edges.shape}, node_feat {features.shape}, label {labels.shape}"
        )
    source, target = edges.astype(np.int64)
    return build_graph(source, target, features, labels.astype(np.int64), unlabelled=-1)


def load_npz(path: Path, keys: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the named arrays of an npz file; a missing one, or one of Python objects, is refused."""
    with _reading(path, "cannot be read as npz"):
        with zipfile.ZipFile(path) as archive:
            _check_present(path, "array", keys, [name.removesuffix(".npy") for name in archive.namelist()])
        return binary.load_npz(path, list(keys))


def load_mat(path: Path, keys: Iterable[str]) -> dict[str, Any]:
    """Return the named arrays of a Matlab file (version 5 to 7.2, numbers alone); a missing one is refused.

    Read here, since scipy's reader ends the process on some damaged files.
    """
    found: dict[str, Any] = {}
    with _reading(path, "cannot be read as a Matlab file"):
        data = memoryview(path.read_bytes())
        if bytes(data[124:128]) != b"\x00\x01IM":
            raise InputError("it is not of version 5, which Matlab writes with -v7")
        for kind, element in _mat_elements(data[128:]):
            if kind == MAT_COMPRESSED:
                kind, element = next(_mat_elements(memoryview(_inflated(element))), (0, element))
            if kind == MAT_MATRIX:
                _, dimensions, name, *parts = _mat_elements(element)
                key = bytes(name[1]).decode("ascii")
                found[key] = (element, dimensions, parts) if key in keys else None
        _check_present(path, "array", keys, found)
        return {key: _mat_array(*found[key]) for key in keys}


def _mat_elements(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Type and content of the elements that follow each other: 4 bytes of type, 4 of size, content, up to 8 bytes."""
    place = 0
    while place + 8 <= len(data):
        kind, size = np.frombuffer(data[place : place + 8], "<u4").tolist()
        if kind >> 16:  # up to four bytes of content within the tag
            kind, size, start = kind & 0xFFFF, kind >> 16, place + 4
            end = place + 8
        else:
            start = place + 8
            end = start + size if kind == MAT_COMPRESSED else start + -8 * (-size // 8)
        if start + size > len(data) or not 1 <= kind <= 18:  # 16 to 18 are text
            raise ValueError(f"an element of type {kind} and {size:,} bytes at byte {place:,} of {len(data):,}")
        yield kind, data[start : start + size]
        place = end


def _inflated(data: memoryview) -> bytes:
    """What is compressed, unless it is larger than a table can be."""
    stream = zlib.decompressobj()
    found = stream.decompress(data, max(SMALL, RATIO * len(data)))
    if not stream.eof:
        raise ValueError("a compressed array is cut off, or far larger than the file")
    return found


def _mat_numbers(kind: int, data: memoryview) -> np.ndarray:
    return np.frombuffer(data, MAT_NUMBERS[kind])


def _mat_array(element: memoryview, shape: tuple[int, memoryview], elements: list[tuple[int, memoryview]]) -> Any:
    """A dense array, stored by columns, or a sparse one: rows of the entries, pointers of the columns, values."""
    flags = int(np.frombuffer(element[8:12], "<u4")[0])
    if flags & 0x800 or not 5 <= flags & 0xFF <= 15:
        raise ValueError("an array is complex, or holds no numbers")
    sizes, parts = tuple(_mat_numbers(*shape).tolist()), [_mat_numbers(*part) for part in elements]
    if flags & 0xFF == MAT_SPARSE:
        rows, pointers, values = parts
        return binary.csr_of(values, rows, pointers, sizes, columns=True)
    return parts[0].reshape(sizes, order="F")


def read_actor(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Return the graph of the two files."""
    path = files["out1_node_feature_label.txt"]
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:] if line]
    if any(len(row) != 3 for row in rows):
        raise InputError(f"{path} should have three tab-separated columns: node, features, label")
    nodes = np.array([row[0] for row in rows], np.int64)
    n = len(rows)
    _check_numbers(path, nodes)
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
    nodes = pd.read_csv(path, dtype={name: str for name in (*DATES, "language")}, keep_default_na=False)
    _check_present(path, "column", (*TWITCH_FEATURES, "mature", "numeric_id"), nodes.columns)
    _check_numbers(path, nodes["numeric_id"].to_numpy())
    for name in DATES:
        nodes[name] = nodes[name].str.replace("-", "").astype(np.int64)
    nodes["language"] = pd.factorize(nodes["language"])[0]  # in the order of the file; from here on rows follow the ids
    nodes = nodes.sort_values("numeric_id", kind="stable")
    values = nodes[list(TWITCH_FEATURES)].to_numpy(np.float64)
    spread = values.std(axis=0, ddof=1)
    features = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1)
    source, target = pd.read_csv(files["large_twitch_edges.csv"]).iloc[:, :2].to_numpy().T
    labels = nodes["mature"].to_numpy()
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
    from pyarrow import csv

    with _reading(path, "cannot be read as a table of numbers"):
        table = csv.read_csv(path, csv.ReadOptions(autogenerate_column_names=True))
        return np.column_stack([column.to_numpy().astype(kind, copy=False) for column in table.columns])


def read_planetoid(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Return the graph with the public split as masks; nodes in no feature file get zero features and label 0."""
    parts = {kind: files[f"ind.{dataset.name}.{kind}"] for kind in ("y", "tx", "allx", "ty", "ally", "graph")}
    y, ty, ally = (_one_hot(parts[kind]) for kind in ("y", "ty", "ally"))
    allx, tx = (_csr(parts[kind]) for kind in ("allx", "tx"))
    neighbours = _unpickle(parts["graph"], ("dict", "defaultdict"), "map nodes 0, 1, 2, … to their neighbours")
    test = np.array(files[f"ind.{dataset.name}.test.index"].read_text().split(), np.int64)
    n, rows = len(neighbours), np.arange(len(neighbours))
    if set(neighbours) != set(range(n)):
        raise InputError(f"{parts['graph']} should map nodes 0, 1, 2, … to their neighbours")
    if allx.shape[0] != len(ally) or tx.shape[0] != len(ty) or len(ty) != len(test) or test.max(initial=-1) >= n:
        raise InputError(f"{parts['graph'].parent} mixes files of different datasets: their numbers of nodes differ")
    place = np.full(n, allx.shape[0] + tx.shape[0])  # one row of zeros after both parts
    place[: allx.shape[0]] = np.arange(allx.shape[0])
    place[test] = allx.shape[0] + np.arange(len(test))
    features = sp.vstack([allx, tx, sp.csr_array((1, allx.shape[1]), dtype=np.float32)], format="csr")[place]
    labels = np.concatenate([ally.argmax(1), ty.argmax(1), [0]])[place]
    source = np.repeat(np.fromiter(neighbours, np.int64, n), [len(v) for v in neighbours.values()])
    target = np.fromiter(chain.from_iterable(neighbours.values()), np.int64, len(source))
    absent = int(np.count_nonzero(place == allx.shape[0] + tx.shape[0]))
    said = number_of(absent, "node is", "nodes are")
    notes = (f"{said} in no feature file: zero features and label 0.",) if absent else ()
    validation = (rows >= len(y)) & (rows < len(y) + PUBLIC_VALIDATION)
    masks = {"train": rows < len(y), "val": validation, "test": np.isin(rows, test)}
    return build_graph(source, target, features, labels, masks=masks, notes=notes)


class PlanetoidUnpickler(pickle._Unpickler):  # type: ignore[name-defined]
    """Admits arrays and CSR matrices, as bare parts, defaultdict and list; refuses all else by name.

    It is the unpickler written in Python: the one in C takes memory for the largest number that a file mentions. None of
    the code of numpy and scipy that restores objects is run.
    """

    dispatch: ClassVar[dict[int, Any]] = {  # a bytearray would be made before its bytes are there
        code: load for code, load in pickle._Unpickler.dispatch.items() if code != pickle.BYTEARRAY8[0]  # type: ignore
    }

    def __init__(self, file: Any):
        super().__init__(file, encoding="latin1")
        names = "dtype", "ndarray", "csr_matrix"
        kinds = {name: type(name, (_Parts,), {}) for name in names}  # new ones, since a pickle may set their attributes
        self.known: dict[tuple[str, str], Any] = {
            ("numpy", "dtype"): kinds["dtype"],
            ("numpy", "ndarray"): kinds["ndarray"],
            ("numpy.core.multiarray", "_reconstruct"): lambda *_: kinds["ndarray"](),
            ("scipy.sparse.csr", "csr_matrix"): kinds["csr_matrix"],
            ("collections", "defaultdict"): defaultdict,
            ("__builtin__", "list"): list,
        }

    def find_class(self, module: str, name: str) -> Any:
        """Return the object a pickle names, if Planetoid's files need it."""
        if (module, name) not in self.known:
            raise InputError(f"it asks for {module[:40]}.{name[:40]}, which no Planetoid file needs, and so was not loaded")
        return self.known[module, name]


class _Parts:
    """Receives what a pickle says of an array, its type or a matrix, without running any of their code."""

    def __init__(self, *given: Any):
        self.given, self.state = given, ()

    def __setstate__(self, state: Any) -> None:
        self.state = state


def _unpickle(path: Path, kinds: tuple[str, ...], what: str) -> Any:
    with _reading(path, "is not a Planetoid file"):
        try:
            found = PlanetoidUnpickler(io.BytesIO(path.read_bytes())).load()
        except InputError as error:
            raise InputError(f"{path} was refused: {first_line(error)}") from None
    if type(found).__name__ not in kinds:
        raise InputError(f"{path} should {what}, but holds {type(found).__name__}")
    return found


def _array(parts: Any) -> np.ndarray:
    """The array of a pickle: version, shape, type, whether it is stored by columns, and bytes as Latin 1."""
    _, shape, kind, by_columns, data = parts.state
    code = kind.given[0]
    if code not in PICKLED_TYPES:
        raise ValueError(f"an array of type {str(code)[:20]}")
    order = kind.state[1] if kind.state and kind.state[1] in ("<", ">") else "<"
    raw = data.encode("latin1") if isinstance(data, str) else data
    return np.frombuffer(raw, f"{order}{code}").reshape(shape, order="F" if by_columns else "C")


def _one_hot(path: Path) -> np.ndarray:
    found = _unpickle(path, ("ndarray",), "hold one-hot labels")
    with _reading(path, "should hold one-hot labels"):
        array = _array(found)
        if array.ndim != 2 or array.shape[1] == 0:
            raise ValueError(f"an array of shape {array.shape}")
    return array


def _csr(path: Path) -> sp.csr_array:
    found = _unpickle(path, ("csr_matrix",), "hold a CSR matrix")
    with _reading(path, "should hold a CSR matrix"):
        data, indices, indptr = (_array(found.state[part]) for part in ("data", "indices", "indptr"))
        return binary.csr_of(data.astype(np.float32), indices, indptr, found.state["_shape"])


def build_graph(
    source: np.ndarray, target: np.ndarray, features: Any, labels: np.ndarray, *, directed: bool = True, **options: Any
) -> Graph:
    """Return the graph of edges between row numbers, its notes and warnings included; options are those of `Graph`."""
    adjacency, counts = Adjacency.from_edges(source, target, len(labels), directed=directed)
    graph = Graph(adjacency, features, labels, **{**options, "notes": (*options.get("notes", ()), *counts.notes())})
    return graph.with_notes(*graph.warnings())


@contextmanager
def _reading(path: Path, kind: str) -> Iterator[None]:
    """A damaged file fails in many ways inside libraries; all become one sentence."""
    try:
        yield
    except MemoryError:
        raise
    except InputError as error:
        raise InputError(f"{error}" if str(path) in str(error) else f"{path} {kind}: {error}") from None
    except Exception as error:
        raise InputError(f"{path} {kind} ({type(error).__name__}: {first_line(error)}): fetch it again") from None


def _check_present(path: Path, what: str, names: Iterable[str], found: Iterable[str]) -> None:
    there = [name for name in found if not name.startswith("__")]
    absent = [name for name in names if name not in there]
    if absent:
        has = ascii(", ".join(there))[1:-1][:200]  # a damaged file may name its arrays with anything
        raise InputError(f"{path} lacks the {what} {absent[0]!r} (it has {has}): is it of another dataset?")


def _check_numbers(path: Path, nodes: np.ndarray) -> None:
    if not np.array_equal(np.sort(nodes), np.arange(len(nodes))):
        raise InputError(f"{path} should number its nodes 0 to {len(nodes) - 1}")


READERS: dict[str, Callable[[Mapping[str, Path], Dataset], Graph]] = {
    "planetoid": read_planetoid, "amazon": read_amazon, "wikipedia": read_wikipedia, "actor": read_actor,
    "facebook100": read_facebook100, "ogb": read_ogb, "twitch": read_twitch, "pokec": read_pokec,
}  # fmt: skip
