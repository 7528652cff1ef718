"""Amazon's npz: small files of its format."""

import numpy as np
import pytest
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.lab import datasets

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
    with pytest.raises(InputError, match=r"cannot be read as npz .*pickle"):
        datasets.load("photo", tmp_path, check=False)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(InputError, match=r"cannot be read as npz .*: fetch it again"):
        datasets.load("photo", tmp_path, check=False)
