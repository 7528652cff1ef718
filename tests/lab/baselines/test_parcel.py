"""A task as files: what arrives, and what cannot."""

import json

import numpy as np
import pytest
from baseline_graphs import communities, graph_with_isolated
from scipy import sparse

from slimg import Graph
from slimg.errors import InputError
from slimg.graph import splits
from slimg.lab.baselines import parcel


def sent(folder, graph, split, **params):
    parcel.pack(folder, "gcn", params, graph, split)
    return parcel.unpack(folder)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse_features", [False, True])
def test_edges_features_and_rows_arrive_bit_by_bit(tmp_path, weighted, sparse_features):
    graph = graph_with_isolated(weighted=weighted, sparse_features=sparse_features)
    split = splits.given(graph, np.arange(6), np.arange(6, 9))
    task = sent(tmp_path, graph, split, lr=np.float64(0.25), K=np.int64(3), grid=[{"wd": 0}])
    assert (task.model, task.params) == ("gcn", {"lr": 0.25, "K": 3, "grid": [{"wd": 0}]})
    assert (abs(task.graph.adjacency.to_scipy() - graph.adjacency.to_scipy())).nnz == 0
    assert sparse.issparse(task.graph.features) == sparse_features
    assert abs(task.graph.features - graph.features).max() == 0
    np.testing.assert_array_equal(task.train, split.train)
    np.testing.assert_array_equal(task.val, split.val)


def test_only_the_labels_of_train_and_val_are_in_the_folder(tmp_path):
    graph = communities(60)
    split = splits.given(graph, np.arange(10), np.arange(10, 15))
    seen = np.load(sent(tmp_path, graph, split) and tmp_path / "codes.npy")
    np.testing.assert_array_equal(seen, np.where(np.arange(60) < 15, graph.codes, -1))
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"indptr.npy", "indices.npy", "features.npy", "codes.npy", "train.npy", "val.npy", "task.json"}


def test_writing_to_what_arrived_changes_no_file(tmp_path):
    graph = communities(30)
    task = sent(tmp_path, graph, splits.given(graph, np.arange(10)))
    task.graph.features[:] = 0
    assert task.val is None
    np.testing.assert_array_equal(parcel.unpack(tmp_path).graph.features, graph.features)


def test_a_graph_without_features_or_without_edges_arrives(tmp_path):
    bare, loose = Graph(communities(30).adjacency, labels=np.arange(30) % 2), Graph.from_arrays(None, np.eye(6), [0, 1] * 3)
    for place, graph in enumerate([bare, loose]):
        folder = tmp_path / str(place)
        folder.mkdir()
        task = sent(folder, graph, splits.given(graph, np.arange(4)))
        assert (task.graph.n, task.graph.edges, task.graph.d) == (graph.n, graph.edges, graph.d)


def test_answers_come_back_and_a_process_that_died_gave_none(tmp_path):
    assert parcel.replied(tmp_path) == (None, None)
    parcel.reply(tmp_path, {"seconds": {}}, np.array([0, 1]))
    answer, answers = parcel.replied(tmp_path)
    assert answer == {"seconds": {}} and answers.tolist() == [0, 1]
    assert json.loads((tmp_path / "answer.json").read_text()) == answer


def test_what_cannot_be_sent_is_named(tmp_path):
    graph = communities(30)
    with pytest.raises(InputError, match="parameter base cannot be sent to a child process: numbers, texts"):
        sent(tmp_path, graph, splits.given(graph, np.arange(10)), base=object())
