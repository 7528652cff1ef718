"""Frames of polars are read as those of pandas."""

import numpy as np
import pandas as pd
import pytest

from slimg import Graph
from slimg.errors import InputError

pl = pytest.importorskip("polars")

EDGES = {"source": ["a", "b", "c"], "target": ["b", "c", "d"], "weight": [1.0, 2.0, 3.0]}
NODES = {"id": ["d", "c", "b", "a"], "size": [1.0, 2.0, 3.0, 4.0], "kind": [1, 2, None, 1]}


def test_edges_and_nodes():
    theirs = Graph.from_edges(pl.DataFrame(EDGES), pl.DataFrame(NODES), label="kind", weight="weight")
    ours = Graph.from_edges(
        pd.DataFrame(EDGES), pd.DataFrame(NODES).astype({"kind": "Int64"}), label="kind", weight="weight"
    )
    np.testing.assert_array_equal(theirs.adjacency.to_scipy().toarray(), ours.adjacency.to_scipy().toarray())
    np.testing.assert_array_equal(theirs.features, ours.features)
    assert theirs.ids.tolist() == ours.ids.tolist() == ["d", "c", "b", "a"]
    assert theirs.classes.tolist() == ours.classes.tolist() == [1, 2] and theirs.codes.tolist() == [0, 1, -1, 0]
    assert all(isinstance(label, int) for label in theirs.classes.tolist()), "gaps must not turn numbers into floats"


def test_arrays():
    frame = pl.DataFrame({"x": [1.0, 2.0], "y": [0.0, 1.0]})
    graph = Graph.from_arrays(np.array([[0, 1], [1, 0]]), frame, pl.Series(["a", "b"]), pl.Series([10, 11]))
    assert graph.feature_names == ("x", "y") and graph.ids.tolist() == [10, 11] and graph.classes.tolist() == ["a", "b"]
    np.testing.assert_array_equal(graph.features, [[1, 0], [2, 1]])


def test_categories_and_text():
    edges = pl.DataFrame({"from": pl.Series(["u", "v"], dtype=pl.Categorical), "to": ["v", "w"]})
    assert Graph.from_edges(edges).ids.tolist() == ["u", "v", "w"]


def test_a_lazy_frame_is_refused():
    with pytest.raises(InputError, match="collect"):
        Graph.from_edges(pl.DataFrame(EDGES).lazy())
