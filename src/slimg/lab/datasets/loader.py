"""Published graphs by name: find the files, check them, read them, compare the result with what is known.

Chameleon and Squirrel are known to hold duplicate nodes, so that a test node may be a copy of a training node (Platonov
et al. 2023; pytorch_geometric#6794). In ``chameleon-filtered`` and ``squirrel-filtered`` the first node of each set of
duplicates is kept, where two nodes are duplicates when

    N(u) = N(v),  y_u = y_v  and  x_u = x_v

One pass is enough: two kept nodes that differ in their neighbourhoods still do after the copies are gone, because a copy
leaves its twin in every neighbourhood it was in. How much the definition decides (nodes dropped of 2,277 and 5,201):

    rule                                          chameleon   squirrel
    neighbours, label and features (the default)        132          9
    neighbours and label (``features=False``)         1,048      1,887

Nodes that the second rule joins have little text in common (median Jaccard index of their words: 0.02 and 0.05).
Neither is the published filter, which leaves 890 and 2,223 nodes: results on the two are not comparable.

Files are looked for in the folder the user names, or in ``$SLIMG_DATA`` and then in the user's cache. A file is checked by
its size, its SHA-256, or a digest of the arrays it holds; where the table has no checksum, the one that was recorded at the
first download (``SHA256SUMS`` in the folder) takes its place.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from slimg.errors import InputError, choices
from slimg.graph import Graph
from slimg.graph.columns import number_of
from slimg.inference.fold_in import feature_digests
from slimg.lab.datasets.dataset import Dataset, RemoteFile, Statistics, table
from slimg.lab.datasets.readers import AMAZON_ARRAYS, READERS, load_npz
from slimg.linalg.operators import twins
from slimg.system import atomic_write

ALL_THE_SAME = " (load(..., check=False) reads it all the same)"
VARIABLE = "SLIMG_DATA"
SUMS = "SHA256SUMS"
QUICK = 64 << 20
"""Files up to this size are hashed at every load, larger ones without a published checksum when they are fetched."""


def names() -> list[str]:
    """Return the names of all datasets, in the order of the paper's table.

    Returns
    -------
    list of str
        Names for `load`, `fetch` and `info`.

    Examples
    --------
    >>> from slimg.lab import datasets
    >>> datasets.names()[:3]
    ['cora', 'citeseer', 'pubmed']
    """
    return list(table())


def load(name: str, root: str | Path | None = None, *, check: bool = True) -> Graph:
    """Read a graph from files that are on this machine; `fetch` downloads them.

    Parameters
    ----------
    name : str
        One of `names`, in any case.
    root : path-like or None, default=None
        Folder that holds one folder per dataset; None for ``$SLIMG_DATA``, then the user's cache.
    check : bool, default=True
        Whether to compare the files with their checksums, and the graph with its known size.

    Returns
    -------
    Graph
        With published splits as masks, where there are some.

    Raises
    ------
    InputError
        If there is no such dataset, its files are missing or damaged, or they hold another graph.

    Examples
    --------
    >>> from slimg.lab import datasets
    >>> datasets.load("cora")  # doctest: +SKIP
    """
    dataset = find(name)
    found = require_files(dataset, root)
    if check:
        _check_files(dataset, found)
    folder = next(iter(found.values())).parent
    graph = _read(dataset, found, folder)
    if dataset.source is not None:
        graph = without_duplicates(graph)
    if check:
        _check_sizes(dataset, graph, folder)
    return graph


@dataclass(frozen=True)
class Info(Dataset):
    """An entry of the table, and what its files say when they are on this machine.

    Attributes
    ----------
    root : path-like or None
        Folder that holds one folder per dataset; the others are those of `Dataset`.

    Examples
    --------
    >>> from slimg.lab import datasets
    >>> datasets.info("chameleon").folder
    'chameleon'
    """

    root: str | Path | None = None

    @property
    def present(self) -> bool:
        """Whether all files are on this machine."""
        return find_files(self, self.root) is not None

    @cached_property
    def statistics(self) -> Statistics | None:
        """Sizes and homophily of the graph, measured by loading it; None if its files are missing."""
        return Statistics.of(load(self.name, self.root)) if self.present else None


def info(name: str, root: str | Path | None = None) -> Info:
    """Return what is known of a dataset: addresses, checksums, licence, citation, and its measured statistics.

    Parameters
    ----------
    name : str
        One of `names`, in any case.
    root : path-like or None, default=None
        Folder that holds one folder per dataset; None for ``$SLIMG_DATA``, then the user's cache.

    Returns
    -------
    Info
        The entry of ``datasets.json``, and statistics of the graph if its files are here.

    Examples
    --------
    >>> from slimg.lab import datasets
    >>> datasets.info("cora").paper.nodes
    2708
    """
    return Info(**vars(find(name)), root=root)


def find(name: str) -> Dataset:
    """Return the entry of the table, whatever the case of the name."""
    dataset = table().get(str(name).lower())
    if dataset is None:
        raise choices("dataset", name, names())
    return dataset


def without_duplicates(graph: Graph, features: bool = True) -> Graph:
    """Return the graph on the first node of each set of duplicates; ``features=False`` does not compare features."""
    kept = distinct_rows(graph, features)
    alike = "neighbours, label and features" if features else "neighbours and label"
    dropped = number_of(graph.n - len(kept), "node that shares", "nodes that share")
    return graph.subgraph(kept).with_notes(f"{dropped} {alike} with another dropped.")


def distinct_rows(graph: Graph, features: bool = True) -> np.ndarray:
    """Return the rows of the first node of each set of duplicates, ascending; unlabelled nodes are never duplicates."""
    text = feature_digests(graph.features if features else None, graph.n)
    own = np.where(graph.codes < 0, -1 - np.arange(graph.n), graph.codes)
    keys = np.column_stack([twins(graph.adjacency), own, text.view(np.int64)])
    return np.sort(np.unique(keys, axis=0, return_index=True)[1])


def _check_files(dataset: Dataset, found: Mapping[str, Path]) -> None:
    for file in dataset.files:
        path = found.get(file.name)
        wrong = path and fault(path, file, recorded_sum(path, file.name))
        if wrong:
            raise InputError(
                f"{path} {wrong}, and is not used: get it again with `slimg datasets get {dataset.folder}`{ALL_THE_SAME}"
            )


def _read(dataset: Dataset, found: Mapping[str, Path], folder: Path) -> Graph:
    try:
        return READERS[dataset.reader](found, dataset)
    except InputError:
        raise
    except (ValueError, KeyError, IndexError, OSError, EOFError, TypeError, OverflowError) as error:
        raise InputError(
            f"the files of {dataset.name} in {folder} cannot be read ({type(error).__name__}: {error}):"
            f" get them again with `slimg datasets get {dataset.folder}`"
        ) from error


def _check_sizes(dataset: Dataset, graph: Graph, folder: Path) -> None:
    """A graph of another size is another graph; of files that were not seen yet the paper tells the number of nodes."""
    have, known = Statistics.of(graph), dataset.measured or dataset.paper
    for what in ("nodes", "edges", "features", "classes") if dataset.measured else ("nodes",):
        ours, theirs = getattr(have, what), getattr(known or have, what)
        if ours != theirs:
            raise InputError(
                f"{folder} holds a graph with {ours:,} {what}, but {dataset.name} has {theirs:,}: is it another dataset?"
                f"{ALL_THE_SAME}"
            )


# where they are -----------------------------------------------------------------------------------------------------


def user_cache() -> Path:
    """Return the folder for downloads: ``$XDG_CACHE_HOME/slimg/datasets``, or the system's usual place."""
    if sys.platform == "win32":
        home = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    else:
        home = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or home) / "slimg" / "datasets"


def data_folders(root: str | Path | None = None) -> list[Path]:
    """Return the folders to look in, first to last; only ``root`` if it is given."""
    if root is not None:
        return [Path(root)]
    named = os.environ.get(VARIABLE)
    return [*([Path(named)] if named else []), user_cache()]


def present_files(dataset: Dataset, folder: Path) -> dict[str, Path]:
    """Return those files of a dataset that are in its folder, by name; members of an archive may lie flat."""
    found = {}
    for file in dataset.files:
        places = (folder / file.name, folder / Path(file.name).name)
        if path := next((path for path in places if path.is_file()), None):
            found[file.name] = path
    return found


def _lacking(dataset: Dataset, found: Mapping[str, Path]) -> list[str]:
    """Return the names of files that are needed and not there."""
    return [file.name for file in dataset.files if not file.optional and file.name not in found]


def find_files(dataset: Dataset, root: str | Path | None = None) -> dict[str, Path] | None:
    """Return all files of a dataset from the first folder that has them, or None."""
    places = (present_files(dataset, folder / dataset.folder) for folder in data_folders(root))
    return next((found for found in places if not _lacking(dataset, found)), None)


def require_files(dataset: Dataset, root: str | Path | None = None) -> dict[str, Path]:
    """Return all files of a dataset; an InputError says where they were looked for and how to get them."""
    found = find_files(dataset, root)
    if found is not None:
        return found
    folders = [folder / dataset.folder for folder in data_folders(root)]
    get = f"get it with `slimg datasets get {dataset.folder}`"
    for folder in folders:
        if partial := present_files(dataset, folder):
            raise InputError(f"{dataset.name} is incomplete: {folder} lacks {', '.join(_lacking(dataset, partial))}; {get}")
    raise InputError(
        f"{dataset.name} is not in {' or '.join(map(str, folders))}: {get}"
        f" or datasets.fetch({dataset.folder!r}), or set {VARIABLE} to the folder that holds {dataset.folder}/"
    )


# whether they are the publisher's -----------------------------------------------------------------------------------


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def contents_digest(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 of named arrays (names, shapes, values as int64 or float32), however they were packed."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        kind = "<i8" if array.dtype.kind in "iub" else "<f4"
        digest.update(f"{name} {kind} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return digest.hexdigest()


def fault(path: Path, file: RemoteFile, recorded: str | None = None) -> str | None:
    """Return what is wrong with a file as the end of a sentence, or None.

    Parameters
    ----------
    path : Path
        The file on this machine.
    file : RemoteFile
        What it should be.
    recorded : str or None, default=None
        SHA-256 recorded when it was first downloaded, used where the table has none.

    Returns
    -------
    str or None
    """
    size, expected = path.stat().st_size, file.contents or file.sha256 or recorded
    if size == 0:
        return "is empty"
    if file.size is not None and size < file.size and not file.contents:
        return f"has {size:,} of {file.size:,} bytes"
    if expected is None or (size > QUICK and not (file.contents or file.sha256)):
        return None
    try:
        found = contents_digest(load_npz(path, AMAZON_ARRAYS)) if file.contents else sha256(path)
    except InputError:
        return _other_dataset(sha256(path)) or "is damaged, or not the npz it should be"
    kind = "contents" if file.contents else "SHA-256"
    return None if found == expected else _other_dataset(found) or f"has {kind} {found[:12]}… instead of {expected[:12]}…"


def recorded_sum(path: Path, name: str) -> str | None:
    """Return the checksum recorded for the file ``name`` of a dataset that is at ``path``, if there is one."""
    depth = len(Path(name).parts)
    nested = path.parts[-depth:] == Path(name).parts
    return recorded_sums(path.parents[depth - 1] if nested else path.parent).get(name)


def recorded_sums(folder: Path) -> dict[str, str]:
    """Return the checksums recorded in a folder at first download, by file name."""
    path = folder / SUMS
    lines = path.read_text().splitlines() if path.is_file() else []
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def record_sum(folder: Path, name: str, digest: str) -> None:
    """Record a checksum, in the format of `sha256sum`."""
    sums = recorded_sums(folder) | {name: digest}
    with atomic_write(folder / SUMS) as out:
        out.write("".join(f"{value}  {key}\n" for key, value in sorted(sums.items())))


def _other_dataset(digest: str) -> str | None:
    """Which file of the table this is, as the end of a sentence."""
    for dataset in table().values():
        for file in (*dataset.files, *filter(None, [dataset.archive])):
            if digest in (file.sha256, file.contents):
                return f"is {file.name} of the dataset {dataset.name}"
    return None
