"""`from_torch`: modules are trained on train, chosen by validation, and given no label that is tested."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from slimg.errors import InputError
from slimg.lab.sanity import check, from_sklearn, from_torch, make, scaled
from slimg.lab.sanity.runner import _data

torch = pytest.importorskip("torch")
GCNConv = pytest.importorskip("torch_geometric.nn").GCNConv

CASE = make("semantic", "homophily", **scaled(240))
SPLIT = CASE.split(0)
SEEN = CASE.graph.mask_labels(np.concatenate([SPLIT.train, SPLIT.val]))


class GCN(torch.nn.Module):
    """As a user would write it."""

    def __init__(self, features, classes):
        super().__init__()
        self.first, self.second = GCNConv(features, 16), GCNConv(16, classes)

    def forward(self, data):
        hidden = self.first(data.x, data.edge_index).relu()
        return self.second(torch.dropout(hidden, 0.2, self.training), data.edge_index)


def run(adapter, seed=0):
    return adapter.prepare(CASE.graph)(SEEN, SPLIT.train, SPLIT.val, seed)


def test_a_gcn_uses_edges_where_they_help():
    found = check(
        {"gcn": from_torch(GCN, epochs=100), "lr": from_sklearn(LogisticRegression(max_iter=500))}, [CASE], seeds=1
    )
    assert found.cell("gcn", CASE.name).mean > found.cell("lr", CASE.name).mean + 0.03


def test_same_seed_same_answers_and_the_callers_random_numbers_go_on():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one, two = run(from_torch(GCN, epochs=5), seed=1), run(from_torch(GCN, epochs=5), seed=1)
    assert np.array_equal(one, two) and torch.equal(torch.rand(3), expected)


def test_data_holds_the_graph_and_no_label_to_be_judged():
    data = _data(SEEN, SPLIT.train, SPLIT.val)
    dense = torch.zeros(240, 240)
    dense[data.edge_index[0], data.edge_index[1]] = 1
    assert np.array_equal(dense.numpy(), CASE.graph.adjacency.to_scipy().toarray())
    assert np.array_equal(data.x.numpy(), CASE.graph.features)
    assert (data.y[SPLIT.test] == -1).all()
    assert np.array_equal(data.y[SPLIT.train].numpy(), CASE.graph.labels[SPLIT.train])
    assert np.array_equal(np.flatnonzero(data.train_mask), np.sort(SPLIT.train))
    assert np.array_equal(np.flatnonzero(data.val_mask), np.sort(SPLIT.val))


def test_training_stops_when_validation_stops_improving():
    calls = []

    class Constant(torch.nn.Module):
        def __init__(self, features, classes):
            super().__init__()
            self.bias = torch.nn.Parameter(torch.zeros(classes))

        def forward(self, data):
            calls.append(self.training)
            return self.bias.expand(data.num_nodes, -1) * 0

    run(from_torch(Constant, epochs=100, patience=7))
    assert calls == [True, False] * 8


class Diverging(GCN):
    def forward(self, data):
        return super().forward(data) * float("nan")


class Transposed(GCN):
    def forward(self, data):
        return super().forward(data)[:100] if not self.training else super().forward(data)


@pytest.mark.parametrize(("module", "said"), [(Diverging, "NaN"), (Transposed, "nodes × classes")])
def test_bad_logits_are_told(module, said):
    cell = check(from_torch(module, epochs=3), [CASE], seeds=1).cell(module.__name__, CASE.name)
    assert said in cell.error


def test_what_cannot_be_wrapped():
    with pytest.raises(InputError, match="fit and predict"):
        from_sklearn(LogisticRegression)
    with pytest.raises(InputError, match="function"):
        from_torch(torch.nn.Linear(2, 2))
    with pytest.raises(InputError, match="wrap a function"):
        check(torch.nn.Linear(2, 2))
    with pytest.raises(InputError, match=r"Wide is a torch module and takes \(features, hidden, classes\): give a class"):
        check(Wide)


class Wide(GCN):
    def __init__(self, features, hidden, classes):
        super().__init__(features, classes)


class OfParts(GCN):
    """Takes features and edges, as most networks are written."""

    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index).relu(), edge_index)


def test_a_class_of_modules_is_trained_whatever_its_forward_takes():
    found = check(OfParts, [CASE], seeds=1)
    assert found.models == ("OfParts",) and found.cell("OfParts", CASE.name).mean > 0.5
