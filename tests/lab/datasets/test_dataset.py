"""Statistics of a graph, and where an entry's files live."""

import pytest

from slimg import Graph
from slimg.lab.datasets import Dataset, RemoteFile, Statistics


def test_statistics_are_measured():
    graph = Graph.from_edges([(0, 1), (1, 2), (0, 0)], features=[[1.0, 2], [3, 4], [5, 6]], label=["a", "a", "b"])
    found = Statistics.of(graph)
    assert found.sizes() == (3, 2, 2, 2) and found.homophily == pytest.approx(0.5)


def test_a_derived_dataset_lives_in_its_sources_folder():
    files = (RemoteFile("f"),)
    assert Dataset("a", "A", "actor", files, "", "").folder == "a"
    assert Dataset("a-filtered", "A", "actor", files, "", "", source="a").folder == "a"
