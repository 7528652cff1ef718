"""npz files without pickles."""

import numpy as np
import pytest

from slimg.errors import InputError
from slimg.lab.datasets.npz import load_npz


def test_only_the_named_arrays_and_never_objects(tmp_path):
    path = tmp_path / "f.npz"
    np.savez(path, a=np.arange(3), b=np.array([len], object))
    assert load_npz(path, ["a"])["a"].tolist() == [0, 1, 2]
    with pytest.raises(InputError, match=r"f\.npz cannot be read as npz .*fetch it again"):
        load_npz(path, ["b"])
    with pytest.raises(InputError, match=r"f\.npz lacks the array 'c' \(it has a, b\)"):
        load_npz(path, ["a", "c"])
    path.write_bytes(b"PK nothing")
    with pytest.raises(InputError, match="cannot be read as npz"):
        load_npz(path, ["a"])
