"""What is asked of a propagator: options in one sentence, and what a graph without edges or features can have."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from slimg.components.options import component_names, hop_counts
from slimg.errors import InputError
from slimg.graph import Graph
from slimg.lab.propagators import compute_components


def ring(n=60):
    step = sp.csr_matrix((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), (n, n))
    return (step + step.T).tocsr()


def test_components_and_hops_are_put_in_order():
    assert component_names(["sym", "U"]) == ["U", "sym"] and component_names("row") == ["row"]
    assert hop_counts("k_row", 2) == (2,) and hop_counts("k_row", [4, 2, 4]) == (2, 4)


def test_no_edges_leaves_the_features_and_says_so():
    result = compute_components(Graph.from_arrays(sp.csr_matrix((5, 5)), features=np.eye(5)))
    assert result.names == ("X",)
    assert result.notes == ("No edges: features alone (component X).",)


def test_no_features_leaves_the_structure_and_says_so():
    a = ring()
    result = compute_components(Graph.from_arrays(a))
    assert result.names == ("U",)
    assert result.notes == ("No features: structure alone (component U).",)


def test_features_without_columns_are_no_features():
    a = ring()
    bare = SimpleNamespace(adjacency=Graph.from_arrays(a).adjacency, features=np.zeros((60, 0), np.float32))
    assert compute_components(bare).rank == compute_components(Graph.from_arrays(a)).rank


@pytest.mark.parametrize(
    "options, message",
    [
        ({"components": ["V"]}, r"unknown component 'V': choose one of U, X, row, sym"),
        ({"components": []}, "at least one of U, X, row, sym"),
        ({"k_row": 0}, "k_row must be a positive number of hops"),
        ({"k_sym": []}, "k_sym must be a positive number of hops"),
        ({"k_sym": [2, 1.5]}, "k_sym must be a positive number of hops"),
        ({"normalize": "column"}, "unknown normalize 'column'"),
        ({"energy": 0}, "energy must lie above 0"),
        ({"max_rank": 0}, "max_rank must be a positive integer"),
    ],
)
def test_bad_options_get_one_sentence(options, message):
    graph = Graph.from_arrays(ring(), features=np.eye(60))
    with pytest.raises(InputError, match=message):
        compute_components(graph, **options)


def test_nothing_to_learn_from_is_an_error():
    with pytest.raises(InputError, match="neither edges nor features"):
        compute_components(Graph.from_arrays(sp.csr_matrix((3, 3))))
    a = ring()
    with pytest.raises(InputError, match="need features"):
        compute_components(Graph.from_arrays(a), components=["X", "row"])
