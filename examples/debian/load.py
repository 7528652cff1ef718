"""The Debian graph as a `slimg.Graph`.

    n = 7,695 packages    X[i, j] = how often word j is in the description of package i; or 1 if j is its maintainer
"""

from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

from slimg import Graph

HERE = Path(__file__).parent


def load(folder: Path = HERE) -> Graph:
    """Labels are sections, features CSR counts of words and maintainers, edges dependencies, ids package names."""
    packages = pd.read_parquet(folder / "packages.parquet")
    depends = pd.read_parquet(folder / "depends.parquet")
    features, names = count_features(packages)
    return Graph.from_arrays(
        dependencies(packages["name"], depends),
        features=features,
        labels=packages["section"].to_numpy(object),
        ids=packages["name"].to_numpy(object),
        feature_names=names,
    )


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


def dependencies(names: pd.Series, depends: pd.DataFrame) -> sp.coo_array:
    """Directed n × n pattern: entry (i, j) says that package i needs package j."""
    index = pd.Index(names)
    ends = index.get_indexer(depends["package"]), index.get_indexer(depends["needs"])
    return sp.coo_array((np.ones(len(depends), bool), ends), shape=(len(index),) * 2)
