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


def test_relations_are_those_of_the_file_and_edges_their_undirected_union(graph):
    table = pd.read_parquet(HERE / "relations.parquet")
    for relation in graph.relations:
        pattern = relation.out.to_scipy().tocoo()
        found = {(graph.ids[i], graph.ids[j]) for i, j in zip(*pattern.coords, strict=True)}
        rows = table[table["relation"] == relation.name]
        assert relation.directed and found == set(zip(rows["package"], rows["other"], strict=True))
    assert {relation.name for relation in graph.relations} == set(table["relation"])
    assert undirected(graph) == {frozenset(pair) for pair in zip(table["package"], table["other"], strict=True)}


def test_merged_edges_are_what_apt_installs():
    graph = load(merged=True)
    table = pd.read_parquet(HERE / "relations.parquet")
    table = table[table["relation"].isin(["Pre-Depends", "Depends", "Recommends"])]
    assert not graph.relations
    assert undirected(graph) == {frozenset(pair) for pair in zip(table["package"], table["other"], strict=True)}


def undirected(graph):
    pattern = sp.coo_array(graph.adjacency.to_scipy())
    return {frozenset((graph.ids[i], graph.ids[j])) for i, j in zip(*pattern.coords, strict=True)}


def test_labels_and_ids_are_in_the_order_of_the_file(graph):
    packages = pd.read_parquet(HERE / "packages.parquet")
    assert list(graph.ids) == list(packages["name"])
    assert list(graph.labels) == list(packages["section"])


def test_a_package_without_words_or_maintainer_has_a_zero_row():
    packages = pd.DataFrame({"maintainer": [None, "M"], "words": [np.array([]), np.array(["a", "a", "b"])]})
    features, names = count_features(packages)
    assert names == ["a", "b", "maintainer: M"]
    assert features.toarray().tolist() == [[0, 0, 0], [2, 1, 1]]
