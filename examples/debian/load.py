"""The Debian graph as a `slimg.Graph`.

    n = 7,697 packages    X[i, j] = how often word j is in the description of package i; or 1 if j is its maintainer
    eight directed relations: package → other
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from examples.debian.build import INSTALLED
from slimg import Graph

HERE = Path(__file__).parent


def load(folder: Path = HERE, *, merged: bool = False) -> Graph:
    """Labels are sections, features CSR counts of words and maintainers, ids package names, edges the relations.

    ``merged`` gives the graph as it was before it had relations: Pre-Depends, Depends and Recommends as one kind of
    undirected edges.
    """
    packages = pd.read_parquet(folder / "packages.parquet")
    relations = pd.read_parquet(folder / "relations.parquet")
    kinds: dict[str, Any] = {"relation": "relation", "directed": True}
    if merged:
        relations, kinds = relations[relations["relation"].isin(INSTALLED)][["package", "other"]].drop_duplicates(), {}
    features, names = count_features(packages)
    graph = Graph.from_edges(relations, packages[["name", "section"]], id="name", label="section", features=features, **kinds)
    return replace(graph, feature_names=tuple(names))


def count_features(packages: pd.DataFrame) -> tuple[sp.csr_array, list[str]]:
    """Counts of words and maintainers (n, d) in float32, and the d names of the columns, each part sorted."""
    words = packages["words"].explode().dropna()
    maintainers = "maintainer: " + packages["maintainer"].dropna()
    columns = [pd.Categorical(words), pd.Categorical(maintainers)]
    row = np.concatenate([words.index.to_numpy(), maintainers.index.to_numpy()])
    column = np.concatenate([columns[0].codes, columns[1].codes + len(columns[0].categories)])
    names = [*columns[0].categories, *columns[1].categories]
    ones = np.ones(len(row), np.float32)
    return sp.csr_array(sp.coo_array((ones, (row, column)), shape=(len(packages), len(names)))), names
