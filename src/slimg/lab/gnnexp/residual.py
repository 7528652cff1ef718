"""How far the output of a network is from the columns of a propagator.

    residual(P, Y) = min_W ‖Y − P W‖_F / ‖Y‖_F

Zero (up to rounding) means that P contains the network for these weights. With n rows this is a statement only when P
has far fewer columns than n, so at least three rows are asked for each column. Columns are scaled to unit length first:
powers of an operator shrink.
"""

from __future__ import annotations

import numpy as np

from slimg.errors import InputError

ROWS_PER_COLUMN = 3


def residual(columns: np.ndarray, output: np.ndarray) -> float:
    """The relative residual of the module's text; columns n × h, output n × c."""
    n, h = columns.shape
    if n < ROWS_PER_COLUMN * h:
        raise InputError(f"a residual on {h} columns says something only with {ROWS_PER_COLUMN * h} rows, not {n}")
    lengths = np.linalg.norm(columns, axis=0)
    basis, sizes, _ = np.linalg.svd(columns[:, lengths > 0] / lengths[lengths > 0], full_matrices=False)
    basis = basis[:, sizes > sizes.max(initial=0.0) * n * np.finfo(float).eps]
    rest = output - basis @ (basis.T @ output)
    return float(np.linalg.norm(rest) / np.linalg.norm(output))
