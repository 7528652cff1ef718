"""One reader per family of file formats: ``read(files, dataset) -> Graph``, files by their name in the table."""

from collections.abc import Callable, Mapping
from pathlib import Path

from slimg.graph import Graph
from slimg.lab.datasets.dataset import Dataset
from slimg.lab.datasets.readers import actor, amazon, facebook100, ogb, planetoid, pokec, twitch, wikipedia

READERS: dict[str, Callable[[Mapping[str, Path], Dataset], Graph]] = {
    "planetoid": planetoid.read,
    "amazon": amazon.read,
    "wikipedia": wikipedia.read,
    "actor": actor.read,
    "facebook100": facebook100.read,
    "ogb": ogb.read,
    "twitch": twitch.read,
    "pokec": pokec.read,
}

__all__ = ["READERS"]
