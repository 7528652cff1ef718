"""Graph: what it holds, and that it never changes what it was given."""

import math
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg import Graph
from slimg.errors import InputError
from slimg.graph import Adjacency

PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def test_matrix_kinds_give_the_same_graph():
    kinds = [PATH, PATH.astype(bool), PATH.astype(float), sp.csr_matrix(PATH), sp.coo_array(PATH), PATH.tolist()]
    for matrix in kinds:
        graph = Graph.from_arrays(matrix, features=np.eye(3))
        assert np.array_equal(graph.adjacency.to_scipy().toarray(), PATH)
        assert graph.adjacency.weights is None and graph.notes == ()
    again = Graph.from_arrays(graph.adjacency)
    assert again.adjacency is graph.adjacency


def test_direction_loops_and_weights_are_told():
    graph = Graph.from_arrays(np.array([[5.0, 2, 0], [3, 0, 0], [0, 0, 0]]), features=np.eye(3))
    assert graph.adjacency.to_scipy().toarray().tolist() == [[0, 3, 0], [3, 0, 0], [0, 0, 0]]
    assert graph.notes == ("1 self-loop dropped.", "1 node has no edge (id 2).")
    directed = Graph.from_arrays(np.triu(np.ones((3, 3)), 1))
    assert directed.notes[0].startswith("Edges are taken as undirected (given in one direction: 3, in both: 0")
    assert directed.notes[1].startswith("The graph has no features")
    summed = Graph.from_arrays(np.array([[0, 2.0], [3, 0]]), symmetrise="sum")
    assert summed.adjacency.weights.tolist() == [5, 5]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, bool])
def test_features_are_float32_and_in_rows(dtype):
    X = np.asfortranarray(np.array([[1, 0], [0, 1], [1, 1]], dtype=dtype))
    graph = Graph.from_arrays(PATH, features=X)
    assert graph.features.dtype == np.float32 and graph.features.flags.c_contiguous
    assert np.array_equal(graph.features, X) and graph.d == 2


def test_float32_rows_are_shared_and_sparse_stays_sparse():
    X = np.ones((3, 2), np.float32)
    assert np.shares_memory(Graph.from_arrays(PATH, features=X).features, X)
    S = sp.csr_matrix((np.ones(4, np.float32), [1, 0, 0, 0], [0, 2, 4, 4]), shape=(3, 2))
    graph = Graph.from_arrays(PATH, features=S)
    assert sp.issparse(graph.features) and graph.features.dtype == np.float32
    assert graph.features.toarray().tolist() == [[1, 1], [2, 0], [0, 0]]
    assert S.indices.tolist() == [1, 0, 0, 0], "the caller's matrix was rewritten"


def test_frame_names_features():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, 0, 0]})
    graph = Graph.from_arrays(PATH, features=frame)
    assert graph.feature_names == ("a", "b") and graph.features[0].tolist() == [1, 0.5]


@pytest.mark.parametrize(
    ("labels", "classes", "codes"),
    [
        (["b", None, "a"], ["a", "b"], [1, -1, 0]),
        ([3, 1, 3], [1, 3], [1, 0, 1]),
        ([1.0, np.nan, 0.0], [0.0, 1.0], [1, -1, 0]),
        ([True, False, None], [False, True], [1, 0, -1]),
        ([2, None, 1], [1, 2], [1, -1, 0]),
        (pd.Series([1, None, 2], dtype="Int64"), [1, 2], [0, -1, 1]),
        (pd.Categorical(["x", "y", None]), ["x", "y"], [0, 1, -1]),
        (pd.array([pd.NA, "z", "z"], dtype="string"), ["z"], [-1, 0, 0]),
        (np.array([[0], [1], [1]]), [0, 1], [0, 1, 1]),
        ([1, "a", 1], [1, "a"], [0, 1, 0]),
        ([(1, 2), (0, 3), None], [(0, 3), (1, 2)], [1, 0, -1]),
        ([-1, 0, -1], [-1, 0], [0, 1, 0]),
        ([None, None, None], [], [-1, -1, -1]),
    ],
)
def test_labels_of_any_type(labels, classes, codes):
    graph = Graph.from_arrays(PATH, labels=labels)
    assert graph.classes.tolist() == classes and graph.codes.tolist() == codes and graph.codes.dtype == np.int64
    assert [type(v) for v in graph.classes.tolist()] == [type(v) for v in classes]
    assert graph.labelled.tolist() == [k for k, code in enumerate(codes) if code >= 0]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(-3, 3), st.text(max_size=2)), min_size=1, max_size=12))
def test_codes_point_at_the_label_they_stand_for(labels):
    n = len(labels)
    graph = Graph.from_arrays(np.ones((n, n)), labels=labels)
    for label, code in zip(labels, graph.codes, strict=True):
        assert (code == -1) if label is None else (graph.classes[code] == label)
    assert len(graph.classes) == len({(type(v), v) for v in labels if v is not None})


def test_minus_one_is_missing_only_when_said():
    graph = Graph.from_arrays(PATH, labels=[-1, 4, 7], unlabelled=-1)
    assert graph.classes.tolist() == [4, 7] and graph.codes.tolist() == [-1, 0, 1]
    named = Graph.from_arrays(PATH, labels=["?", "a", "?"], unlabelled="?")
    assert named.classes.tolist() == ["a"] and named.codes.tolist() == [-1, 0, -1]


def test_labels_by_id():
    graph = Graph.from_arrays(PATH, ids=["x", "y", "z"], labels={"z": 1, "x": 0})
    assert graph.codes.tolist() == [0, -1, 1]


@pytest.mark.parametrize("ids", [["a", "b", "c"], [10, 20, 30], [(0, 1), (1, 1), (2, 1)], [1, "1", 2.5], None])
def test_positions_of_any_ids(ids):
    graph = Graph.from_arrays(PATH, ids=ids)
    given_ids = list(graph.ids)
    assert graph.positions([given_ids[2], given_ids[0]]).tolist() == [2, 0]
    with pytest.raises(InputError, match=r"ids has 1 id that no node has: 'nobody'"):
        graph.positions([given_ids[0], "nobody"])


def test_mask_labels_hides_the_rest():
    graph = Graph.from_arrays(PATH, labels=[5, 6, 7])
    part = graph.mask_labels([2, 0])
    assert part.classes.tolist() == [5, 7] and part.codes.tolist() == [0, -1, 1]
    assert 6 not in part.labels.tolist() and part.classes.dtype == graph.classes.dtype
    assert graph.mask_labels([]).labels is None
    assert graph.with_labels(list("aab")).classes.tolist() == ["a", "b"]


def test_subgraph_equals_dense_slice():
    rng = np.random.default_rng(0)
    A = rng.integers(0, 3, (9, 9)) * (rng.random((9, 9)) < 0.5)
    A = np.triu(A, 1) + np.triu(A, 1).T
    masks = {"train": rng.random(9) < 0.5}
    graph = Graph.from_arrays(A, rng.random((9, 4)), list("aabbccdde"), ids=np.arange(9) * 10, masks=masks)
    rows = [7, 1, 4, 3]
    part = graph.subgraph(rows)
    keep = sorted(rows)
    assert np.array_equal(part.adjacency.to_scipy().toarray(), A[np.ix_(keep, keep)])
    assert np.array_equal(part.features, graph.features[keep]) and part.ids.tolist() == [10, 30, 40, 70]
    assert [part.classes[c] for c in part.codes] == [graph.classes[graph.codes[k]] for k in keep]
    assert np.array_equal(part.masks["train"], masks["train"][keep])


def test_frozen_pickled_and_shown():
    graph = Graph.from_arrays(PATH * 2, sp.eye(3), ["a", "b", None], ids=["x", "y", "z"])
    assert repr(graph) == "Graph(3 nodes, 2 edges (weighted), 3 features (sparse), 2 classes, 2 labelled)"
    with pytest.raises(AttributeError):
        graph.labels = None
    graph.positions(["x"])
    again = pickle.loads(pickle.dumps(graph))
    assert again.positions(["z"]).tolist() == [2] and again.codes.tolist() == graph.codes.tolist()


def test_no_edges_or_no_features_is_a_graph():
    alone = Graph.from_arrays(None, features=np.eye(3))
    assert alone.edges == 0 and "The graph has no edges: features alone can be used." in alone.notes
    bare = Graph.from_arrays(PATH, features=np.zeros((3, 0)))
    assert bare.features is None and "The graph has no features: structure alone can be used." in bare.notes


def test_notes_are_said_once():
    graph = Graph.from_arrays(PATH).with_notes("Said.", "Said.")
    assert graph.notes.count("Said.") == 1 and graph.with_notes("Said.").notes == graph.notes


def test_a_list_of_edges_is_not_an_adjacency():
    with pytest.raises(InputError, match=r"Graph\.from_arrays"):
        Graph(PATH)
    with pytest.raises(InputError, match="square, not 2 × 3"):
        Graph.from_arrays(np.ones((2, 3)))
    with pytest.raises(InputError, match=r"from_edges"):
        Graph.from_arrays(np.array([["a", "b"]]))
    with pytest.raises(InputError, match="empty"):
        Graph.from_arrays(np.ones((0, 0)))
    with pytest.raises(InputError, match="needs an adjacency"):
        Graph.from_arrays(None)
    assert isinstance(Graph.from_arrays(PATH).adjacency, Adjacency)


def test_against_networkx_mixing_matrix():
    source = nx.gnp_random_graph(60, 0.1, seed=3)
    labels = np.random.default_rng(0).integers(0, 3, 60)
    nx.set_node_attributes(source, dict(enumerate(labels.tolist())), "y")
    mixing = nx.attribute_mixing_matrix(source, "y")
    assert Graph.from_networkx(source, label="y").edge_homophily() == pytest.approx(np.trace(mixing))


def test_unlabelled_ends_do_not_count():
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3)], label=["a", "a", None, "b"])
    assert graph.edge_homophily() == 1.0
    assert graph.with_labels(["a", "b", "a", "a"]).edge_homophily() == pytest.approx(1 / 3)
    assert math.isnan(graph.with_labels(None).edge_homophily())
