"""Published graphs by name: find the files, check them, read them, compare the result with what is known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from slimg.errors import InputError, choices
from slimg.graph import Graph
from slimg.lab.datasets import cache, verify
from slimg.lab.datasets.dataset import Dataset, Statistics
from slimg.lab.datasets.duplicates import without_duplicates
from slimg.lab.datasets.readers import READERS
from slimg.lab.datasets.table import TABLE


def names() -> list[str]:
    """Names of all datasets, in the order of the paper's table."""
    return list(TABLE)


def load(name: str, root: str | Path | None = None, *, check: bool = True) -> Graph:
    """The graph called ``name``, from files that are already here; `slimg.lab.datasets.fetch` downloads them.

    Parameters
    ----------
    root : folder that holds one folder per dataset; by default ``$SLIMG_DATA``, then the user's cache
    check : compare the files with their recorded checksums, and the graph with its published size
    """
    dataset = find(name)
    files = cache.need(dataset, root)
    if check:
        _check_files(dataset, files)
    graph = _read(dataset, files)
    if dataset.source is not None:
        graph = without_duplicates(graph)
    if check:
        _check_sizes(dataset, graph, files)
    return graph


@dataclass(frozen=True)
class Info(Dataset):
    """An entry of the table, and what its files say when they are here."""

    root: str | Path | None = None

    @property
    def present(self) -> bool:
        """Whether all files are here."""
        return cache.find(self, self.root) is not None

    @cached_property
    def statistics(self) -> Statistics | None:
        """Sizes and homophily of the graph, measured by loading it; None if its files are not here."""
        return Statistics.of(load(self.name, self.root)) if self.present else None


def info(name: str, root: str | Path | None = None) -> Info:
    """What is known of a dataset: addresses, checksums, licence, citation, and its measured statistics."""
    return Info(**vars(find(name)), root=root)


def find(name: str) -> Dataset:
    """The entry of the table, whatever the case of the name."""
    dataset = TABLE.get(str(name).lower())
    if dataset is None:
        raise choices("dataset", name, names())
    return dataset


def _check_files(dataset: Dataset, files: dict[str, Path]) -> None:
    for file in dataset.files:
        if file.name not in files:
            continue
        path = files[file.name]
        recorded = verify.recorded_sums(cache.folder_of(path, file.name)).get(file.name)
        wrong = verify.fault(path, file, TABLE.values(), recorded)
        if wrong:
            raise InputError(
                f"{path} {wrong}, and is not used: get it again with `slimg datasets get {dataset.folder}`"
                " (load(..., check=False) reads it all the same)"
            )


def _read(dataset: Dataset, files: dict[str, Path]) -> Graph:
    try:
        return READERS[dataset.reader](files, dataset)
    except InputError:
        raise
    except (ValueError, KeyError, IndexError, OSError, EOFError, TypeError, OverflowError) as error:
        folder = next(iter(files.values())).parent
        raise InputError(
            f"the files of {dataset.name} in {folder} cannot be read ({type(error).__name__}: {error}):"
            f" get them again with `slimg datasets get {dataset.folder}`"
        ) from error


def _check_sizes(dataset: Dataset, graph: Graph, files: dict[str, Path]) -> None:
    """A graph of another size is another graph."""
    found = Statistics.of(graph).sizes() if dataset.measured else (graph.n,)
    expected = dataset.measured.sizes() if dataset.measured else (dataset.paper.nodes,) if dataset.paper else found
    for what, have, need in zip(("nodes", "edges", "features", "classes"), found, expected, strict=False):
        if have != need:
            folder = next(iter(files.values())).parent
            raise InputError(
                f"{folder} holds a graph with {have:,} {what}, but {dataset.name} has {need:,}: is it another dataset?"
                " (load(..., check=False) reads it all the same)"
            )
