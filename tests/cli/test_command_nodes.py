"""Nodes are named by the text of their ids, whatever these are."""

import pytest

from slimg import Graph
from slimg.cli.nodes import positions
from slimg.errors import InputError


def test_nodes_are_named_as_text():
    graph = Graph.from_edges({"source": [30, 7], "target": [7, 5]}, [30, 7, 5])
    assert positions(graph, ["5", "30"]) == [2, 0] and positions(graph, ()) == []
    with pytest.raises(InputError, match=r"no node is called 'nobody': ids of this graph look like 30, 7, 5"):
        positions(graph, ["nobody"])
