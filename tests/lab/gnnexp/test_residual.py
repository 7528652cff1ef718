"""The residual of a network on columns: zero inside, one outside, and refused where it says nothing."""

import numpy as np
import pytest

from slimg.errors import InputError
from slimg.lab.gnnexp.residual import residual


def test_zero_inside_one_outside_and_the_sine_between():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((60, 8)))[0]
    inside, outside = basis[:, :4], basis[:, 4:]
    assert residual(inside * 1e-9, inside @ rng.standard_normal((4, 2))) < 1e-14
    assert residual(inside, outside) == pytest.approx(1)
    assert residual(inside, 3 * inside + 4 * outside) == pytest.approx(0.8)


def test_columns_of_any_length_and_repeated_or_zero_columns_count_alike():
    rng = np.random.default_rng(1)
    columns = rng.standard_normal((60, 5))
    scaled = np.column_stack([columns * np.logspace(-12, 3, 5), columns[:, :2], np.zeros(60)])
    output = rng.standard_normal((60, 3))
    assert residual(scaled, output) == pytest.approx(residual(columns, output), rel=1e-9)


def test_too_few_rows_say_nothing():
    with pytest.raises(InputError, match="only with 30 rows, not 29"):
        residual(np.eye(29, 10), np.ones((29, 1)))
