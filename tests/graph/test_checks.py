"""One sentence for each thing that can be wrong with a graph, naming it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from slimg import Graph
from slimg.errors import InputError
from slimg.graph import check_learnable, check_train_val

RING = np.roll(np.eye(6), 1, axis=1)
IDS = list("abcdef")


def ring(**options):
    return Graph.from_arrays(RING, ids=IDS, **options)


def spoiled(value, sparse=False):
    X = np.ones((6, 2))
    X[[2, 4], 1] = value
    return sp.csr_matrix(X) if sparse else X


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_features_that_are_not_finite_name_rows_and_ids(value, sparse):
    with pytest.raises(InputError, match=r"2 rows hold NaN or infinity \(rows 2, 4; ids 'c', 'e'\): fill, drop or rescale"):
        ring(features=spoiled(value, sparse))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"features": np.ones((4, 2))}, "4 rows were given for 6 nodes"),
        ({"features": np.ones(6)}, "nodes × columns"),
        ({"features": [["red"]] * 6}, "features must be numbers"),
        ({"features": sp.csr_matrix(np.ones((6, 2)) * 1j)}, "complex"),
        ({"features": np.ones((6, 2)) * 1j}, "complex"),
        ({"features": pd.DataFrame({"b": pd.array([True, None] * 3, dtype="boolean")})}, "3 rows hold NaN .* 'b', 'd', 'f'"),
        ({"features": np.ma.masked_array(np.ones((6, 2)), np.eye(6, 2) > 0)}, "2 rows hold NaN .* 'a', 'b'"),
        ({"features": np.ones((6, 2)), "feature_names": ["a"]}, "1 names for 2 columns"),
        ({"labels": [0, 1]}, "2 labels for 6 nodes"),
        ({"labels": [0.5, 1, 1, 0, 0, 2.25]}, r"0\.5, 2\.25 look like measurements"),
        ({"labels": [np.inf, 1, 1, 0, 0, 2]}, "inf look like measurements"),
        ({"labels": [[0], [1, 2], [1], [1], [0], [0]]}, r"hashable .* not list \(the first is \[0\]\)"),
        ({"labels": np.eye(6)}, "one value per node"),
        ({"labels": {"a": 0, "zz": 1, "yy": 1}}, "labels has 2 ids that no node has: 'zz', 'yy'"),
        ({"labels": "aabbcc"}, "sequence of values, not str"),
        ({"masks": {"train": [1, 0, 0, 0, 0, 0]}}, "mask 'train' must be 6 booleans"),
        ({"masks": 5}, "masks must map names .* int"),
        ({"features": 5}, "shape"),
        ({"labels": 5}, "labels must be .* int"),
    ],
)
def test_bad_parts_are_named(options, words):
    with pytest.raises(InputError, match=words):
        ring(**options)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (list("abcdda"), r"2 values are there more than once: 'a', 'd'"),
        (list("abc"), "3 ids were given for 6 nodes"),
        ([*"abcde", None], r"1 row has none \(row 5\)"),
        ([1.0, 2.0, 3.0, 4.0, np.nan, 5.0], r"row 4"),
        ([[1], [2], [3], [4], [5], [6]], "hashable"),
    ],
)
def test_bad_ids_are_named(ids, words):
    with pytest.raises(InputError, match=words):
        Graph.from_arrays(RING, ids=ids)


def test_negative_weights():
    with pytest.raises(InputError, match=r"edge 0 \(0 → 1\) has weight -1 \(6 such edges\)"):
        Graph.from_arrays(-RING)


def test_nothing_to_learn_from():
    with pytest.raises(InputError, match="neither edges nor features"):
        check_learnable(Graph.from_arrays(sp.csr_matrix((3, 3))))
    check_learnable(Graph.from_arrays(None, features=np.eye(3)))
    check_learnable(ring())


LABELS = [0, 0, 1, 1, None, 1]


def test_train_and_val_become_rows():
    graph = ring(labels=LABELS)
    assert check_train_val(graph)[0].tolist() == [0, 1, 2, 3, 5] and check_train_val(graph)[1] is None
    train, val = check_train_val(graph, train=[3, 0], val=np.array([False, True, False, False, False, True]))
    assert train.tolist() == [3, 0] and val.tolist() == [1, 5] and train.dtype == val.dtype == np.int64
    assert check_train_val(graph, val=[0, 5])[0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("train", "val", "words"),
    [
        ([0, 2], [2, 3], "share 1 row: 2"),
        ([0, 9], None, "train has row 9, but rows go from 0 to 5"),
        ([-1, 0], None, "train has row -1"),
        ([0, 0, 2], None, "train has row 0 more than once"),
        ([0, 4], None, r"train has 1 row without a label \(ids 'e'\)"),
        ([0, 2], [4], r"val has 1 row without a label"),
        ([True, False], None, "the mask train needs 6 values"),
        (["a", "c"], None, r"graph\.positions"),
        ([0.0, 1.0], None, r"graph\.positions"),
        ([], None, "train has no rows"),
        ([0, 2], [], "val has no rows"),
        ([[0, 2]], None, "shape"),
        ([0, 1], [2], "every labelled node is 0"),
        ([0, 1, 2], None, r"two classes with two labelled nodes each, but there is only one of each of 1 \(such as id 'c'\)"),
        (None, [0, 1, 2, 3, 5], "nothing is left"),
    ],
)
def test_bad_rows_are_named(train, val, words):
    with pytest.raises(InputError, match=words):
        check_train_val(ring(labels=LABELS), train, val)


def test_one_node_of_a_class_will_do_when_val_is_given():
    train, val = check_train_val(ring(labels=LABELS), [0, 2], [1, 3])
    assert train.tolist() == [0, 2] and val.tolist() == [1, 3]
    with pytest.raises(InputError, match="two classes with two"):
        check_train_val(ring(labels=LABELS), [0, 2])


def test_no_labels():
    for labels in (None, [None] * 6):
        with pytest.raises(InputError, match="no labels to learn from"):
            check_train_val(ring(labels=labels))
