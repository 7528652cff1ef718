"""Vectors inside compiled code do what slices do."""

import numpy as np
import pytest
from numba import njit

from slimg.engine.kernels import add, load, prefetch, scale, store, zeros


def combination(lanes):
    @njit
    def run(a, out, factor):
        prefetch(a, (1, 0))
        total = zeros(lanes)
        for i in range(a.shape[0]):
            total = add(total, scale(load(total, a, i, 1), factor))
        store(total, out, 1, 2)

    return run


@pytest.mark.parametrize("lanes", [1, 2, 8, 16, 64])
def test_load_add_scale_store(lanes):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((5, lanes + 3), dtype=np.float32)
    out = np.zeros((3, lanes + 4), np.float32)
    combination(lanes)(a, out, np.float32(0.5))
    total = np.zeros(lanes, np.float32)
    for row in a:
        total = total + np.float32(0.5) * row[1 : 1 + lanes]
    expected = np.zeros_like(out)
    expected[1, 2 : 2 + lanes] = total
    np.testing.assert_array_equal(out, expected)
