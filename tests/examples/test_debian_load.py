"""The loaded Debian graph against a plain count of the same files."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from examples.debian.load import HERE, count_features, load


@pytest.fixture(scope="module")
def graph():
    return load()


def test_features_are_the_counts_of_each_row(graph):
    packages = pd.read_parquet(HERE / "packages.parquet")
    assert sp.issparse(graph.features) and graph.features.dtype == np.float32
    assert len(graph.feature_names) == len(set(graph.feature_names)) == graph.d
    for row in range(0, graph.n, 97):
        expected = Counter(packages["words"].iloc[row])
        if pd.notna(packages["maintainer"].iloc[row]):
            expected["maintainer: " + packages["maintainer"].iloc[row]] = 1
        stored = graph.features[[row]].tocoo()
        found = {graph.feature_names[column]: count for column, count in zip(stored.col, stored.data, strict=True)}
        assert found == expected


def test_every_feature_occurs(graph):
    assert graph.features.sum(axis=0).min() > 0


def test_edges_are_the_undirected_dependencies(graph):
    depends = pd.read_parquet(HERE / "depends.parquet")
    expected = {frozenset(pair) for pair in depends.itertuples(index=False, name=None)}
    pattern = sp.coo_array(graph.adjacency.to_scipy())
    found = {frozenset((graph.ids[i], graph.ids[j])) for i, j in zip(*pattern.coords, strict=True)}
    assert found == expected
    assert graph.edges == len(expected)


def test_labels_and_ids_are_in_the_order_of_the_file(graph):
    packages = pd.read_parquet(HERE / "packages.parquet")
    assert list(graph.ids) == list(packages["name"])
    assert list(graph.labels) == list(packages["section"])


def test_a_package_without_words_or_maintainer_has_a_zero_row():
    packages = pd.DataFrame({"maintainer": [None, "M"], "words": [np.array([]), np.array(["a", "a", "b"])]})
    features, names = count_features(packages)
    assert names == ["a", "b", "maintainer: M"]
    assert features.toarray().tolist() == [[0, 0, 0], [2, 1, 1]]
