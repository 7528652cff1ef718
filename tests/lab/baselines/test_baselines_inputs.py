"""Features, hops and dropout as networks see them."""

import numpy as np
import pytest
from baseline_graphs import dense, graph_with_isolated

torch = pytest.importorskip("torch")

from slimg.engine import MemoryEngine  # noqa: E402
from slimg.lab.baselines.architectures import Dropout, Inputs, SparseRows  # noqa: E402


def test_sparse_features_stay_sparse_and_dense_ones_dense():
    sparse, full = (Inputs(graph_with_isolated(sparse_features=kind, d=40), MemoryEngine(1)).x for kind in (True, False))
    assert isinstance(sparse, SparseRows) and isinstance(full, torch.Tensor)
    np.testing.assert_allclose(sparse.rows.toarray(), full.numpy(), rtol=1e-6)
    np.testing.assert_array_equal(sparse.columns.toarray(), sparse.rows.toarray().T)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["A", "A_row", "A_sym", "Ã_sym", "A2_sym"])
def test_hops_and_their_gradients(name, weighted):
    graph = graph_with_isolated(weighted=weighted)
    inputs, matrix = Inputs(graph, MemoryEngine(2)), dense(graph)[name]
    h, back = (torch.randn(graph.n, 5, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1))
    h.requires_grad_()
    out = inputs.hop(name, h)
    out.backward(back)
    np.testing.assert_allclose(out.detach().numpy(), matrix @ h.detach().numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(h.grad.numpy(), matrix.T @ back.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("p", [0.5, 0.3])
def test_dropout_keeps_the_mean_and_drops_the_share(p):
    drop = Dropout(p, np.random.default_rng(0))
    x = torch.ones(400, 300)
    dropped = drop(x)
    assert set(np.unique(dropped.numpy())) == {np.float32(0), np.float32(1 / (1 - p))}
    assert float((dropped == 0).float().mean()) == pytest.approx(p, abs=0.01)
    assert drop.eval()(x) is x
    assert Dropout(0.0, np.random.default_rng(0))(x) is x


def test_dropout_of_sparse_rows_drops_the_same_entries_of_both_orders():
    rows = Inputs(graph_with_isolated(d=40), MemoryEngine(1)).x
    dropped = Dropout(0.5, np.random.default_rng(0))(rows)
    np.testing.assert_array_equal(dropped.columns.toarray(), dropped.rows.toarray().T)
    ratio = dropped.rows.data / rows.rows.data
    assert set(np.round(ratio, 5)) == {0.0, 2.0}


def test_every_node_attends_to_itself_and_its_neighbours():
    graph = graph_with_isolated()
    found = np.zeros((graph.n, graph.n))
    np.add.at(found, tuple(Inputs(graph, MemoryEngine(1)).attended.numpy()), 1)
    np.testing.assert_array_equal(found, (dense(graph)["A"] > 0) + np.eye(graph.n))
