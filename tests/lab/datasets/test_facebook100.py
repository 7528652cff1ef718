"""Facebook100 in Matlab files: a small Penn94, and Cornell5 against scikit-learn's one-hot columns."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.preprocessing import OneHotEncoder

from slimg.errors import InputError
from slimg.lab import datasets

INFO = np.array([[1, 1, 88, 0, 3, 2007, 5], [1, 2, 90, 0, 0, 2007, 0], [2, 0, 88, 4, 3, 0, 0]], np.uint16)
A = sp.csc_matrix(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], float))


def write(root, **arrays):
    (root / "penn94").mkdir()
    scipy.io.savemat(root / "penn94" / "Penn94.mat", {"A": A, "local_info": INFO, **arrays})
    return root


def one_hot(info):
    return OneHotEncoder(dtype=np.float32).fit_transform(np.delete(info.astype(int), 1, axis=1))


def test_small_file(tmp_path):
    graph = datasets.load("penn94", write(tmp_path), check=False)
    assert np.array_equal(graph.features.toarray(), one_hot(INFO).toarray())
    assert graph.feature_names[:4] == ("status=1", "status=2", "major=88", "major=90")
    assert graph.classes.tolist() == [1, 2] and graph.codes.tolist() == [0, 1, -1]
    assert np.array_equal(graph.adjacency.to_scipy().toarray(), A.toarray()) and graph.notes == ()


def test_real_file_against_scikit_learn(load_real, data_dir):
    graph = load_real("cornell5")
    file = scipy.io.loadmat(data_dir / "cornell5" / "Cornell5.mat")
    assert (graph.features != one_hot(file["local_info"])).nnz == 0
    assert np.array_equal(graph.labels, file["local_info"][:, 1])
    assert (graph.adjacency.to_scipy() != sp.csr_array(file["A"])).nnz == 0


def test_a_file_of_another_size_or_kind(tmp_path):
    root = write(tmp_path)
    with pytest.raises(InputError, match="holds a graph with 3 nodes, but penn94 has 41,554: is it another dataset"):
        datasets.load("penn94", root)
    path = root / "penn94" / "Penn94.mat"
    scipy.io.savemat(path, {"A": A, "local_info": INFO[:, :5]})
    with pytest.raises(InputError, match=r"local_info should be nodes × 7, but its shape is \(3, 5\)"):
        datasets.load("penn94", root, check=False)
    scipy.io.savemat(path, {"A": A})
    with pytest.raises(InputError, match=r"Penn94\.mat lacks the array 'local_info'"):
        datasets.load("penn94", root, check=False)
    path.write_bytes(b"not a matrix" * 20)
    with pytest.raises(InputError, match="cannot be read as a Matlab file"):
        datasets.load("penn94", root, check=False)
