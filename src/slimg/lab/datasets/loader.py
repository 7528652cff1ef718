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
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from slimg.errors import InputError, choices
from slimg.graph import Graph
from slimg.graph.columns import number_of
from slimg.inference.fold_in import feature_digests
from slimg.lab.datasets import files
from slimg.lab.datasets.dataset import Dataset, Statistics, table
from slimg.lab.datasets.readers import READERS
from slimg.linalg.operators import twins

ALL_THE_SAME = " (load(..., check=False) reads it all the same)"


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
    found = files.require_files(dataset, root)
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
        return files.find(self, self.root) is not None

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
        wrong = path and files.fault(path, file, files.recorded_sum(path, file.name))
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
