"""Matlab files."""

import numpy as np
import pytest
import scipy.io

from slimg.errors import InputError
from slimg.lab.datasets.matlab import load_mat


def test_named_arrays_or_one_sentence(tmp_path):
    path = tmp_path / "f.mat"
    scipy.io.savemat(path, {"a": np.eye(2), "b": np.ones(3)})
    assert list(load_mat(path, ["a"])) == ["a"] and np.array_equal(load_mat(path, ["a"])["a"], np.eye(2))
    with pytest.raises(InputError, match=r"f\.mat lacks the array 'c'"):
        load_mat(path, ["a", "c"])
    path.write_bytes(path.read_bytes()[:150])
    with pytest.raises(InputError, match=r"f\.mat cannot be read as a Matlab file .*fetch it again"):
        load_mat(path, ["a"])
