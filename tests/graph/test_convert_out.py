"""Round trips: to networkx and PyTorch Geometric and back; from an object with DGL's interface."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg import Graph
from slimg.errors import InputError


def random_graph(seed, weighted=False, sparse=False, n=25, ids=None):
    rng = np.random.default_rng(seed)
    values = rng.random((n, n)).astype(np.float32) + 0.5 if weighted else 1.0
    matrix = np.triu((rng.random((n, n)) < 0.15) * values, 1)
    labels = np.array(["a", "b", None], object)[rng.integers(0, 3, n)]
    features = rng.integers(0, 2, (n, 4)).astype(np.float32)
    masks = {"train": rng.random(n) < 0.5}
    ids = ids or [f"n{k}" for k in range(n)]
    return Graph.from_arrays(matrix + matrix.T, sp.csr_array(features) if sparse else features, labels, ids, masks=masks)


def assert_same(one, two):
    np.testing.assert_array_equal(one.adjacency.indptr, two.adjacency.indptr)
    np.testing.assert_array_equal(one.adjacency.indices, two.adjacency.indices)
    assert (one.adjacency.weights is None) == (two.adjacency.weights is None)
    if one.adjacency.weights is not None:
        np.testing.assert_array_equal(one.adjacency.weights, two.adjacency.weights)
    np.testing.assert_array_equal(sp.csr_array(one.features).toarray(), sp.csr_array(two.features).toarray())
    assert one.ids.tolist() == two.ids.tolist() and one.codes.tolist() == two.codes.tolist()


@given(st.integers(0, 10**6), st.booleans(), st.booleans())
@settings(max_examples=15, deadline=None)
def test_networkx_and_back(seed, weighted, sparse):
    graph = random_graph(seed, weighted, sparse)
    made = graph.to_networkx()
    assert isinstance(made, nx.Graph) and list(made.nodes) == graph.ids.tolist()
    weight = "weight" if weighted else None
    np.testing.assert_allclose(nx.to_numpy_array(made, weight=weight), graph.adjacency.to_scipy().toarray(), rtol=1e-6)
    back = Graph.from_networkx(made, label="label", features="features")
    assert_same(graph, back)
    assert back.classes.tolist() == graph.classes.tolist()


def test_networkx_without_data():
    made = random_graph(0).to_networkx(label=None, features=None)
    assert all(not data for _, data in made.nodes(data=True))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_pyg_and_back(weighted, sparse):
    pytest.importorskip("torch_geometric")
    graph = random_graph(3, weighted, sparse)
    data = graph.to_pyg()
    assert data.num_nodes == graph.n and data.edge_index.shape == (2, graph.adjacency.nnz) and data.is_undirected()
    assert data.class_names == ["a", "b"] and data.validate()
    back = Graph.from_pyg(data, ids=data.node_ids, unlabelled=-1, keep_labels="all")
    assert_same(graph, back)
    np.testing.assert_array_equal(back.masks["train"], graph.masks["train"])
    changed = data.x.clone()
    changed[0] = 9
    assert not (graph.adjacency.to_scipy().toarray() == 9).any()


class Stand:
    """What `from_dgl` uses of a dgl.DGLGraph: num_nodes, edges, ndata, edata, is_homogeneous."""

    def __init__(self, source, target, nodes, ndata=None, edata=None, homogeneous=True):
        self._ends, self._nodes = (np.asarray(source), np.asarray(target)), nodes
        self.ndata, self.edata, self.is_homogeneous = ndata or {}, edata or {}, homogeneous

    def num_nodes(self):
        return self._nodes

    def edges(self):
        return self._ends


def test_dgl():
    features, train = np.eye(4, 3), np.array([True, False, True, False])
    stand = Stand([0, 1, 2, 2], [1, 2, 0, 0], 4, {"feat": features, "label": np.array([0, 1, 1, -1]), "train_mask": train})
    graph = Graph.from_dgl(stand, unlabelled=-1, keep_labels="all")
    expected = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(graph.adjacency.to_scipy().toarray(), expected)
    np.testing.assert_array_equal(graph.features, features)
    assert graph.codes.tolist() == [0, 1, 1, -1] and graph.masks["train"].tolist() == train.tolist()
    assert Graph.from_dgl(stand, unlabelled=-1).labels.tolist() == [0, None, 1, None], "a fit learns from every label"
    assert any("repeated edge" in note for note in graph.notes) and any("no edge" in note for note in graph.notes)


def test_dgl_names_and_weights():
    stand = Stand([0, 1], [1, 2], 3, {"words": np.ones((3, 2)), "topic": list("xyx")}, {"w": np.array([2.0, 3.0])})
    graph = Graph.from_dgl(stand, features="words", label="topic", weight="w", ids=list("abc"))
    assert graph.adjacency.weights.tolist() == [2, 2, 3, 3] and graph.classes.tolist() == ["x", "y"]
    bare = Graph.from_dgl(stand)
    assert bare.features is None and bare.labels is None and bare.adjacency.weights is None


def test_dgl_with_tensors():
    torch = pytest.importorskip("torch")
    stand = Stand([0], [1], 2, {"feat": torch.eye(2), "label": torch.tensor([1, 0])})
    stand.edges = lambda: (torch.tensor([0]), torch.tensor([1]))
    graph = Graph.from_dgl(stand)
    assert graph.edges == 1 and graph.labels.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: Graph.from_dgl(nx.path_graph(3)), "from_dgl takes a dgl.DGLGraph, not Graph"),
        (lambda: Graph.from_dgl(Stand([0], [1], 2, homogeneous=False)), "homogeneous graph"),
        (lambda: Graph.from_dgl(Stand([0], [1], 2, {"h": np.eye(2)}), features="x"), "ndata has no 'x': it has 'h'"),
        (lambda: Graph.from_dgl(Stand([0], [1], 2), weight="w"), "edata has no 'w': it has nothing"),
    ],
)
def test_bad_input_gets_one_sentence(attempt, words):
    with pytest.raises(InputError, match=words):
        attempt()
