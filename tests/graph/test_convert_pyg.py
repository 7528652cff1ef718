"""Graphs of PyTorch Geometric, against its own matrices."""

import numpy as np
import pytest

from slimg import Graph
from slimg.errors import InputError
from slimg.graph.columns import as_column
from slimg.graph.relations import is_same

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
    graph = Graph.from_pyg(data, unlabelled=-1, keep_labels="all")
    D = to_scipy_sparse_matrix(data.edge_index, weight, 5).toarray()
    np.fill_diagonal(D, 0)
    assert np.array_equal(graph.adjacency.to_scipy().toarray(), np.maximum(D, D.T))
    assert np.array_equal(graph.features, np.eye(5)) and graph.codes.tolist() == [0, 1, 0, 1, -1]
    assert graph.masks["train"].tolist() == train.tolist() and graph.masks["val_1"].tolist() == (~train).tolist()
    assert graph.notes[0] == "1 self-loop dropped." and "(id 4)" in graph.notes[-1]


def test_labels_outside_the_training_mask_are_hidden():
    """A fit learns from every label of a graph: those that a split holds out must not be there."""
    train = torch.tensor([True, False, True, True, False])
    graph = Graph.from_pyg(pyg_data(train_mask=train))
    assert graph.labels.tolist() == [0, None, 0, 1, None] and graph.masks["train"].tolist() == train.tolist()
    assert any("3 nodes" in note and "2 others" in note and "keep_labels='all'" in note for note in graph.notes)
    assert Graph.from_pyg(pyg_data()).labels.tolist() == [0, 1, 0, 1, -1], "no mask, nothing to hide"
    splits = pyg_data(train_mask=torch.stack([train, ~train], 1))
    assert Graph.from_pyg(splits, keep_labels="train_1").labels.tolist() == [None, 1, None, None, -1]
    assert len(Graph.from_pyg(splits, keep_labels="all").labelled) == 5
    for keep in ("train", "train_2"):
        with pytest.raises(InputError, match="'train_0', 'train_1'"):
            Graph.from_pyg(splits, keep_labels=keep)


def test_edge_types_are_relations_and_come_back():
    edge_type = torch.tensor([0, 1, 0, 1, 0, 1])
    graph = Graph.from_pyg(pyg_data(edge_type=edge_type), directed=True)
    assert [relation.name for relation in graph.relations] == ["0", "1"]
    assert graph.relation("0").out.to_scipy().toarray()[1, 2] == 1 == graph.relation("1").out.to_scipy().toarray()[3, 1]
    data = graph.to_pyg()
    assert data.edge_index.shape == (2, 5) and data.edge_type.tolist() == [0, 0, 1, 1, 1] and data.validate()
    data.edge_type_names = ["cites", "likes"]
    back = Graph.from_pyg(data, directed=["likes"], unlabelled=-1)
    assert [relation.directed for relation in back.relations] == [False, True]
    assert is_same(back.relation("likes").out, graph.relation("1").out)
    assert is_same(back.adjacency, graph.adjacency)


def hetero():
    data = HeteroData()
    data["user"].x, data["item"].x = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[5.0], [6.0], [7.0]])
    data["shop"].num_nodes = 1
    data["user"].y, data["user"].train_mask = torch.tensor([4, 7]), torch.tensor([True, False])
    data["user", "buys", "item"].edge_index = torch.tensor([[0, 1], [2, 0]])
    data["user", "to", "shop"].edge_index = torch.tensor([[0, 1], [0, 0]])
    data["item", "to", "shop"].edge_index = torch.tensor([[1], [0]])
    data["item", "to", "shop"].edge_weight = torch.tensor([2.5])
    return data


def test_several_node_types():
    graph = Graph.from_pyg(hetero(), directed=True)
    assert graph.ids.tolist() == ["user:0", "user:1", "item:0", "item:1", "item:2", "shop:0"]
    assert graph.node_types.tolist() == ["user"] * 2 + ["item"] * 3 + ["shop"]
    assert graph.feature_names == ("type=user", "type=item", "type=shop", "user.0", "user.1", "item.0")
    expected = [[1, 0, 0, 1, 2, 0], [1, 0, 0, 3, 4, 0], [0, 1, 0, 0, 0, 5], [0, 1, 0, 0, 0, 6], [0, 1, 0, 0, 0, 7],
                [0, 0, 1, 0, 0, 0]]  # fmt: skip
    assert graph.features.toarray().tolist() == expected and any("'shop'" in note for note in graph.notes)
    assert graph.labels.tolist() == [4] + [None] * 5 and graph.masks["train"].tolist() == [True] + [False] * 5
    names = ["buys", "user to shop", "item to shop"]
    assert [relation.name for relation in graph.relations] == names
    assert graph.relation("buys").out.neighbours(0).tolist() == [4]
    assert graph.relation("buys").into.neighbours(2).tolist() == [1]
    assert graph.relation("item to shop").out.weights.tolist() == [2.5] and graph.relation("buys").out.weights is None
    one = HeteroData()
    one["user"].x = torch.eye(3)
    one["user", "knows", "user"].edge_index = torch.tensor([[0], [1]])
    single = Graph.from_pyg(one)
    assert single.ids.tolist() == [0, 1, 2] and single.node_types is None and np.array_equal(single.features, np.eye(3))
    back = Graph.from_pyg(graph.to_pyg(), ids=graph.ids, directed=True, unlabelled=-1)
    assert back.node_types.tolist() == graph.node_types.tolist() and {r.name for r in back.relations} == set(names)


def test_bad_heterogeneous_data_is_named():
    twice = hetero()
    twice["item"].y = torch.tensor([0, 1, 2])
    with pytest.raises(InputError, match=r"'user', 'item'.*label_type"):
        Graph.from_pyg(twice)
    assert Graph.from_pyg(twice, label_type="item").labels.tolist() == [None, None, 0, 1, 2, None]
    with pytest.raises(InputError, match=r"'shop'.*item, user"):
        Graph.from_pyg(twice, label_type="shop")
    outside = hetero()
    outside["user", "buys", "item"].edge_index = torch.tensor([[0], [3]])
    with pytest.raises(InputError, match=r"buys.*node 3.*3 nodes"):
        Graph.from_pyg(outside)
    strange = hetero()
    strange["user", "sees", "film"].edge_index = torch.tensor([[0], [0]])
    with pytest.raises(InputError, match=r"sees.*type 'film'.*num_nodes"):
        Graph.from_pyg(strange)


def test_pyg_without_extras():
    graph = Graph.from_pyg(pyg_data(edge_attr=torch.ones(6, 2)))
    assert graph.adjacency.weights is None and graph.classes.tolist() == [-1, 0, 1]
    assert graph.notes[0].startswith("edge_attr is not used")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (HeteroData(), "has none"),
        (7, "torch_geometric Data or HeteroData, not int"),
        (Data(x=torch.eye(2)), "edge_index"),
        (Data(x=torch.eye(2), edge_index=torch.tensor([[0, 5], [1, 1]])), "source 5, but the 2 nodes"),
        (Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]]), y=torch.rand(2, 3)), "one value per node"),
        (Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]]), edge_weight=-torch.ones(1)), "has weight -1"),
    ],
)
def test_bad_data_is_named(data, words):
    with pytest.raises(InputError, match=words):
        Graph.from_pyg(data)
