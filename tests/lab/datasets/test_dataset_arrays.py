"""Readers of npz and Matlab files against files written here, and on the published ones."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.preprocessing import OneHotEncoder

from slimg.errors import InputError
from slimg.lab import datasets
from slimg.lab.datasets.readers import load_mat, load_npz

A = np.array([[1, 1, 0], [0, 0, 1], [0, 1, 0]], np.float32)
X = np.array([[1, 0], [1, 1], [0, 0]], np.float32)


def write(root, drop=(), **extra):
    (root / "photo").mkdir()
    arrays = {"labels": np.array([2, 0, 2]), **extra}
    for part, matrix in (("adj", sp.csr_matrix(A)), ("attr", sp.csr_matrix(X))):
        for name in ("data", "indices", "indptr", "shape"):
            arrays[f"{part}_{name}"] = np.asarray(getattr(matrix, name))
    np.savez(root / "photo" / "amazon_electronics_photo.npz", **{k: v for k, v in arrays.items() if k not in drop})
    return root


def test_direction_and_loops_go(tmp_path):
    names = np.array(["a", "b", "c"], object)  # the publisher's file has such arrays: they are not touched
    graph = datasets.load("photo", write(tmp_path, node_names=names), check=False)
    assert graph.adjacency.to_scipy().toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert np.array_equal(graph.features.toarray(), X) and graph.classes.tolist() == [0, 2]
    assert graph.notes[0] == "1 self-loop dropped."


def test_missing_and_pickled_arrays_are_named(tmp_path):
    with pytest.raises(InputError, match=r"photo\.npz lacks the array 'attr_data' \(it has .*labels"):
        datasets.load("photo", write(tmp_path, drop=["attr_data"]), check=False)
    path = tmp_path / "photo" / "amazon_electronics_photo.npz"
    path.unlink()
    path.parent.rmdir()
    write(tmp_path, drop=["labels"])
    with np.load(path) as old:
        np.savez(path, **old, labels=np.array([print, 1, 2], object))
    with pytest.raises(InputError, match=r"cannot be read as npz.*Python objects"):
        datasets.load("photo", tmp_path, check=False)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(InputError, match=r"cannot be read as npz .*: fetch it again"):
        datasets.load("photo", tmp_path, check=False)


def test_small_file(tmp_path):
    (tmp_path / "squirrel").mkdir()
    rng = np.random.default_rng(0)
    X, masks = (rng.random((6, 4)) < 0.4).astype(np.float32), rng.random((10, 6)) < 0.5
    edges = np.array([[0, 1], [1, 2], [2, 1], [3, 4]])
    np.savez(
        tmp_path / "squirrel" / "squirrel.npz",
        node_features=X,
        node_labels=np.arange(6) % 5,
        edges=edges,
        train_masks=masks,
        val_masks=~masks,
        test_masks=np.zeros_like(masks),
    )
    graph = datasets.load("squirrel", tmp_path, check=False)
    assert np.array_equal(graph.features.toarray(), X) and graph.edges == 3 and graph.n == 6
    assert np.array_equal(graph.masks["train_3"], masks[3]) and np.array_equal(graph.masks["val_9"], ~masks[9])
    assert graph.notes == ("1 repeated edge merged (counted once).", "1 node has no edge (id 5).")


def test_real_file_row_by_row(load_real, data_dir):
    graph = load_real("chameleon")
    with np.load(data_dir / "chameleon" / "chameleon.npz") as file:
        assert np.array_equal(graph.features.toarray(), file["node_features"])
        assert np.array_equal(graph.labels, file["node_labels"])
        found = {tuple(sorted(pair)) for pair in np.argwhere(graph.adjacency.to_scipy().toarray()).tolist()}
        assert found == {tuple(sorted(pair)) for pair in file["edges"].tolist()}


INFO = np.array([[1, 1, 88, 0, 3, 2007, 5], [1, 2, 90, 0, 0, 2007, 0], [2, 0, 88, 4, 3, 0, 0]], np.uint16)
A_FACEBOOK100 = sp.csc_matrix(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], float))


def write_facebook100(root, **arrays):
    (root / "penn94").mkdir()
    scipy.io.savemat(root / "penn94" / "Penn94.mat", {"A": A_FACEBOOK100, "local_info": INFO, **arrays})
    return root


def one_hot(info):
    return OneHotEncoder(dtype=np.float32).fit_transform(np.delete(info.astype(int), 1, axis=1))


def test_small_file_facebook100(tmp_path):
    graph = datasets.load("penn94", write_facebook100(tmp_path), check=False)
    assert np.array_equal(graph.features.toarray(), one_hot(INFO).toarray())
    assert graph.feature_names[:4] == ("status=1", "status=2", "major=88", "major=90")
    assert graph.classes.tolist() == [1, 2] and graph.codes.tolist() == [0, 1, -1]
    assert np.array_equal(graph.adjacency.to_scipy().toarray(), A_FACEBOOK100.toarray()) and graph.notes == ()


def test_real_file_against_scikit_learn(load_real, data_dir):
    graph = load_real("cornell5")
    file = scipy.io.loadmat(data_dir / "cornell5" / "Cornell5.mat")
    assert (graph.features != one_hot(file["local_info"])).nnz == 0
    assert np.array_equal(graph.labels, file["local_info"][:, 1])
    assert (graph.adjacency.to_scipy() != sp.csr_array(file["A"])).nnz == 0


def test_a_file_of_another_size_or_kind(tmp_path):
    root = write_facebook100(tmp_path)
    with pytest.raises(InputError, match="holds a graph with 3 nodes, but penn94 has 41,554: is it another dataset"):
        datasets.load("penn94", root)
    path = root / "penn94" / "Penn94.mat"
    scipy.io.savemat(path, {"A": A_FACEBOOK100, "local_info": INFO[:, :5]})
    with pytest.raises(InputError, match=r"local_info should be nodes × 7, but its shape is \(3, 5\)"):
        datasets.load("penn94", root, check=False)
    scipy.io.savemat(path, {"A": A_FACEBOOK100})
    with pytest.raises(InputError, match=r"Penn94\.mat lacks the array 'local_info'"):
        datasets.load("penn94", root, check=False)
    path.write_bytes(b"not a matrix" * 20)
    with pytest.raises(InputError, match="cannot be read as a Matlab file"):
        datasets.load("penn94", root, check=False)


EDGES = np.array([[0, 1, 2, 3], [1, 0, 3, 3]])
X_POKEC = np.arange(12.0).reshape(4, 3)


def write_pokec(root, **arrays):
    (root / "pokec").mkdir(exist_ok=True)
    parts = {"edge_index": EDGES, "node_feat": X_POKEC, "label": np.array([0, 1, -1, 1]), "num_nodes": 4}
    scipy.io.savemat(root / "pokec" / "pokec.mat", parts | arrays)
    return root


def test_small_file_pokec(tmp_path):
    graph = datasets.load("pokec", write_pokec(tmp_path), check=False)
    assert np.array_equal(graph.features, X_POKEC) and graph.features.dtype == np.float32
    assert graph.classes.tolist() == [0, 1] and graph.codes.tolist() == [0, 1, -1, 1]
    A = np.zeros((4, 4))
    A[[0, 1, 2, 3], [1, 0, 3, 2]] = 1
    assert np.array_equal(graph.adjacency.to_scipy().toarray(), A)
    assert graph.notes == (
        "1 self-loop dropped.",
        "Edges are taken as undirected (given in one direction: 1, in both: 1).",
    )


def test_parts_that_do_not_fit(tmp_path):
    with pytest.raises(InputError, match=r"does not fit together: edge_index \(2, 4\), node_feat \(3, 3\)"):
        datasets.load("pokec", write_pokec(tmp_path, node_feat=X_POKEC[:3]), check=False)
    with pytest.raises(InputError, match="but pokec has 1,632,803"):
        datasets.load("pokec", write_pokec(tmp_path))


def test_only_the_named_arrays_and_never_objects(tmp_path):
    path = tmp_path / "f.npz"
    np.savez(path, a=np.arange(3), b=np.array([len], object))
    assert load_npz(path, ["a"])["a"].tolist() == [0, 1, 2]
    with pytest.raises(InputError, match=r"f\.npz cannot be read as npz.*Python objects"):
        load_npz(path, ["b"])
    with pytest.raises(InputError, match=r"f\.npz lacks the array 'c' \(it has a, b\)"):
        load_npz(path, ["a", "c"])
    path.write_bytes(b"PK nothing")
    with pytest.raises(InputError, match="cannot be read as npz"):
        load_npz(path, ["a"])


def test_named_arrays_or_one_sentence(tmp_path):
    path = tmp_path / "f.mat"
    scipy.io.savemat(path, {"a": np.eye(2), "b": np.ones(3)})
    assert list(load_mat(path, ["a"])) == ["a"] and np.array_equal(load_mat(path, ["a"])["a"], np.eye(2))
    with pytest.raises(InputError, match=r"f\.mat lacks the array 'c'"):
        load_mat(path, ["a", "c"])
    path.write_bytes(path.read_bytes()[:150])
    with pytest.raises(InputError, match=r"f\.mat cannot be read as a Matlab file .*fetch it again"):
        load_mat(path, ["a"])
