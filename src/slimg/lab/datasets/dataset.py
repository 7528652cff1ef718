"""What is known of a published graph before it is read: files, checksums, sizes, licence, citation (``datasets.json``)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files as resources
from typing import Any

from slimg.graph import Graph


@dataclass(frozen=True)
class Statistics:
    """Size of a graph.

    Attributes
    ----------
    nodes : int
        Number of nodes.
    edges : int
        Number of undirected edges.
    features : int
        Number of columns of X.
    classes : int
        Number of classes.
    homophily : float or None
        Share of edges whose ends have the same class, if it was measured.

    Examples
    --------
    >>> from slimg import Graph
    >>> Statistics.of(Graph.from_edges([(0, 1), (1, 2)], labels=["a", "a", "b"])).sizes()
    (3, 2, 0, 2)
    """

    nodes: int
    edges: int
    features: int
    classes: int
    homophily: float | None = None

    @classmethod
    def of(cls, graph: Graph) -> Statistics:
        """Measure a graph.

        Parameters
        ----------
        graph : Graph
            The graph to measure.

        Returns
        -------
        Statistics
            Sizes and homophily.
        """
        return cls(graph.n, graph.edges, graph.d, len(graph.classes), graph.edge_homophily())

    def sizes(self) -> tuple[int, int, int, int]:
        """Return the numbers of nodes, edges, features and classes.

        Returns
        -------
        tuple of int
            Four numbers, in that order.
        """
        return self.nodes, self.edges, self.features, self.classes


@dataclass(frozen=True)
class RemoteFile:
    """A file as its publisher offers it.

    Attributes
    ----------
    name : str
        Path below the folder of the dataset.
    address : str
        URL; "" for a member of an archive.
    size : int or None
        Bytes, if known.
    sha256 : str or None
        SHA-256 of the file; None if the publisher's file has not been seen yet.
    contents : str or None
        Digest of its arrays (`slimg.lab.datasets.loader.contents_digest`), the same when the file is packed again.
    optional : bool
        Whether the dataset can be read without it.

    Examples
    --------
    >>> from slimg.lab.datasets import RemoteFile
    >>> RemoteFile("edges.txt", "https://example.org/edges.txt").optional
    False
    """

    name: str
    address: str = ""
    size: int | None = None
    sha256: str | None = None
    contents: str | None = None
    optional: bool = False


@dataclass(frozen=True)
class Dataset:
    """One entry of ``datasets.json``: where a graph comes from and what it should look like.

    Attributes
    ----------
    name, title : str
        The names that slimg and the paper use.
    reader : str
        Format family, a key of `slimg.lab.datasets.readers.READERS`.
    files : tuple of RemoteFile
        What the reader needs; with ``archive``, they are members of that file.
    licence, citation : str
        Of the publisher.
    measured : Statistics or None
        Size of the graph as slimg reads it, recorded from the publisher's files; None if they have not been seen yet.
    paper : Statistics or None
        Size that the paper's table gives.
    archive : RemoteFile or None
        A zip file with the files.
    source : str or None
        Another dataset that this one is made from.
    about : str
        What nodes, edges, features and classes are.
    options : dict of str to int
        Options of the reader.

    Examples
    --------
    >>> from slimg.lab import datasets
    >>> cora = datasets.info("cora")
    >>> cora.title, len(cora.files)
    ('Cora', 8)
    """

    name: str
    title: str
    reader: str
    files: tuple[RemoteFile, ...]
    licence: str
    citation: str
    measured: Statistics | None = None
    paper: Statistics | None = None
    archive: RemoteFile | None = None
    source: str | None = None
    about: str = ""
    options: dict[str, int] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Name of the folder that holds its files, below a data folder."""
        return self.source or self.name


@cache
def table() -> dict[str, Dataset]:
    """Return all datasets by name, in the order of the paper's table."""
    found: dict[str, Dataset] = {}
    for entry in json.loads(resources(__package__).joinpath("datasets.json").read_text("utf-8"))["datasets"]:
        if "source" in entry:
            inherited = vars(found[entry["source"]])
            entry = {**{key: inherited[key] for key in ("reader", "files", "licence")}, **entry}
        found[entry["name"]] = Dataset(**_parsed(entry))
    return found


def _parsed(entry: dict[str, Any]) -> dict[str, Any]:
    parsers: dict[str, Any] = {
        "files": lambda files: tuple(file if isinstance(file, RemoteFile) else RemoteFile(**file) for file in files),
        "archive": lambda file: RemoteFile(**file),
        **dict.fromkeys(("measured", "paper"), lambda sizes: Statistics(*sizes)),
    }
    return {key: parsers[key](value) if key in parsers else value for key, value in entry.items()}
