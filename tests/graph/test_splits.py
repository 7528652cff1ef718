"""Splits: the recorded protocol to the row, and proportions."""

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from slimg import Graph
from slimg.errors import InputError
from slimg.graph import splits


def made(counts, missing=0, seed=0):
    y = np.repeat(np.arange(len(counts)), counts).astype(float)
    y = np.random.default_rng(seed).permutation(np.concatenate([y, np.full(missing, np.nan)]))
    return Graph.from_arrays(None, features=np.ones((len(y), 1)), labels=y)


def recorded(y, rows, test, half, seed):
    rest, judged = train_test_split(rows, test_size=test, stratify=y[rows], random_state=seed)
    train, val = train_test_split(rest, test_size=half, stratify=y[rest], random_state=seed)
    return train, val, judged


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("fractions", "test", "half"),
    [(splits.REAL, 0.95, 0.5), (splits.SYNTHETIC, 0.2, 0.25), ((0.3, 0.3, 0.4), 0.4, 0.5)],
)
def test_the_recorded_protocol_to_the_row(fractions, test, half, seed):
    graph = made([700, 513, 311, 290])
    split = splits.stratified(graph, fractions, random_state=seed)
    expected = recorded(graph.labels, np.arange(graph.n), test, half, seed)
    for ours, theirs in zip((split.train, split.val, split.test), expected, strict=True):
        assert np.array_equal(ours, theirs)


def test_unlabelled_nodes_are_in_no_part_and_classes_in_proportion():
    graph = made([400, 200, 100], missing=50)
    split = splits.stratified(graph, splits.SYNTHETIC)
    everything = np.sort(np.concatenate([split.train, split.val, split.test]))
    assert np.array_equal(everything, graph.labelled)
    for rows in (split.train, split.val, split.test):
        share = np.bincount(graph.codes[rows]) / len(rows)
        assert np.allclose(share, [4 / 7, 2 / 7, 1 / 7], atol=0.01)


def test_real_graphs_divide(load_real):
    graph = load_real("citeseer")
    split = splits.stratified(graph, random_state=3)
    assert (len(split.train), len(split.val), len(split.test)) == (83, 83, 3161)
    expected = recorded(graph.codes, np.arange(graph.n), 0.95, 0.5, 3)
    assert np.array_equal(split.train, expected[0]) and np.array_equal(split.val, expected[1])


def test_per_class_counts():
    graph = made([60, 30, 45], missing=5)
    split = splits.per_class(graph, train=20, val=5, random_state=1)
    assert np.bincount(graph.codes[split.train]).tolist() == [20] * 3
    assert np.bincount(graph.codes[split.val]).tolist() == [5] * 3
    assert np.bincount(graph.codes[split.test]).tolist() == [35, 5, 20]
    again = splits.per_class(graph, train=20, val=5, random_state=1)
    other = splits.per_class(graph, train=20, val=5, random_state=2)
    assert np.array_equal(split.train, again.train) and not np.array_equal(split.train, other.train)


def test_public_and_given():
    graph = made([3, 3])
    masks = {"train": [1, 0, 0, 0, 0, 0], "val": [0, 1, 0, 0, 0, 0], "test": [0, 0, 1, 1, 0, 0], "train_1": [0] * 6}
    masked = Graph.from_arrays(
        None, features=graph.features, labels=graph.labels, masks={k: np.array(v, bool) for k, v in masks.items()}
    )
    split = splits.public(masked)
    assert (split.train.tolist(), split.val.tolist(), split.test.tolist()) == ([0], [1], [2, 3])
    with pytest.raises(InputError, match="no mask 'val_1', 'test_1': its masks are train, val, test, train_1"):
        splits.public(masked, 1)
    mine = splits.given(graph, [5, 2], val=np.array([True] + [False] * 5))
    assert mine.train.tolist() == [5, 2] and mine.val.tolist() == [0] and mine.test.tolist() == [1, 3, 4]
    assert repr(mine) == "Split(train=2, val=1, test=3)"


@pytest.mark.parametrize(
    ("split", "words"),
    [
        (lambda g: splits.stratified(made([100, 100, 1])), r"class 2\.0 is left with one node"),
        (lambda g: splits.stratified(made([900, 20])), r"class 1\.0 is left with one node"),
        (lambda g: splits.stratified(made([10, 10, 10])), "cannot be divided with 95.0%"),
        (lambda g: splits.stratified(g, (0.5, 0.5, 0.5)), "sum to 1"),
        (lambda g: splits.stratified(g, (0.5, 0.5)), "three positive"),
        (lambda g: splits.stratified(Graph.from_arrays(None, features=np.eye(3))), "needs labels"),
        (lambda g: splits.per_class(g, 20, 30), r"class 0\.0 has 3 labelled nodes.*20 \+ 30"),
        (lambda g: splits.per_class(g, 0, 30), "train ≥ 1"),
        (lambda g: splits.per_class(g, "many"), "'many'"),
        (lambda g: splits.stratified(g, 5), "three positive numbers.*5"),
        (lambda g: splits.Split([0], [1], [2]), "train must be a vector of row numbers, not list"),
        (lambda g: splits.given(g, [0, 1], [1]), "share row 1"),
        (lambda g: splits.given(g, [0, 17]), "row 17"),
        (lambda g: splits.given(made([2, 2], missing=3), np.arange(7)), "train has 3 rows without a label"),
    ],
)
def test_impossible_splits_are_named(split, words):
    with pytest.raises(InputError, match=words):
        split(made([3, 3]))
