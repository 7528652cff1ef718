"""Graphs of PyTorch Geometric, against its own matrices."""

import numpy as np
import pytest

from slimg import Graph
from slimg.errors import InputError
from slimg.graph.columns import as_column

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from torch_geometric.data import Data, HeteroData  # noqa: E402
from torch_geometric.utils import to_scipy_sparse_matrix  # noqa: E402


def test_tensors_are_columns():
    assert as_column(torch.tensor([[1], [2]]), "values").tolist() == [1, 2]


def pyg_data(**more):
    edge_index = torch.tensor([[0, 1, 1, 2, 3, 3], [1, 0, 2, 1, 3, 1]])
    return Data(x=torch.eye(5), y=torch.tensor([0, 1, 0, 1, -1]), edge_index=edge_index, num_nodes=5, **more)


def test_pyg_weights_and_masks():
    weight = torch.tensor([2.0, 2, 3, 1, 9, 4])
    train = torch.tensor([True, False, True, False, False])
    data = pyg_data(edge_weight=weight, train_mask=train, val_mask=torch.stack([train, ~train], 1))
    graph = Graph.from_pyg(data, unlabelled=-1)
    D = to_scipy_sparse_matrix(data.edge_index, weight, 5).toarray()
    np.fill_diagonal(D, 0)
    assert np.array_equal(graph.adjacency.to_scipy().toarray(), np.maximum(D, D.T))
    assert np.array_equal(graph.features, np.eye(5)) and graph.codes.tolist() == [0, 1, 0, 1, -1]
    assert graph.masks["train"].tolist() == train.tolist() and graph.masks["val_1"].tolist() == (~train).tolist()
    assert graph.notes[0] == "1 self-loop dropped." and "(ids 4)" in graph.notes[-1]


def test_pyg_without_extras():
    graph = Graph.from_pyg(pyg_data(edge_attr=torch.ones(6, 2)))
    assert graph.adjacency.weights is None and graph.classes.tolist() == [-1, 0, 1]
    assert graph.notes[0].startswith("edge_attr is not used")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (HeteroData(), "homogeneous"),
        (7, "torch_geometric Data, not int"),
        (Data(x=torch.eye(2)), "edge_index"),
        (Data(x=torch.eye(2), edge_index=torch.tensor([[0, 5], [1, 1]])), "source 5, but the 2 nodes"),
        (Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]]), y=torch.rand(2, 3)), "one value per node"),
        (Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]]), edge_weight=-torch.ones(1)), "has weight -1"),
    ],
)
def test_bad_data_is_named(data, words):
    with pytest.raises(InputError, match=words):
        Graph.from_pyg(data)
