"""What is known of a published graph before it is read: files, checksums, sizes, licence, citation."""

from __future__ import annotations

from dataclasses import dataclass, field

from slimg.graph import Graph


@dataclass(frozen=True)
class Statistics:
    """Size of a graph; ``homophily`` is the fraction of edges whose ends share a class, measured, not declared."""

    nodes: int
    edges: int
    features: int
    classes: int
    homophily: float | None = None

    @classmethod
    def of(cls, graph: Graph) -> Statistics:
        """Measure a graph."""
        return cls(graph.n, graph.edges, graph.d, len(graph.classes), graph.edge_homophily())

    def sizes(self) -> tuple[int, int, int, int]:
        """Nodes, edges, features, classes."""
        return self.nodes, self.edges, self.features, self.classes


@dataclass(frozen=True)
class RemoteFile:
    """A file at its publisher's.

    ``sha256`` is of the file; ``contents`` is of its arrays (`slimg.lab.datasets.verify.contents_digest`), which do not
    change when the file is packed again. None where nobody here has seen the publisher's file yet.
    """

    name: str
    address: str = ""
    size: int | None = None
    sha256: str | None = None
    contents: str | None = None
    optional: bool = False


@dataclass(frozen=True)
class Dataset:
    """One entry of the table: where a graph comes from and what it should look like.

    Attributes
    ----------
    name, title : how slimg and the paper call it
    reader : name of the format family in `slimg.lab.datasets.readers`
    files : what the reader needs; with ``archive``, they are members of that file
    measured : sizes of the graph as slimg reads it, recorded from the publisher's files; None if not yet seen
    paper : sizes that the paper's table states
    source : another dataset that this one is made from
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
    options: dict = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Name of the folder that holds its files, below a data folder."""
        return self.source or self.name
