"""One pass over CSR rows: every scaling of the gathered rows, two at a time."""

from __future__ import annotations

from collections.abc import Sequence

from slimg.engine import kernels
from slimg.engine.base import Array, Scaling


def gather_rows(
    indptr: Array,
    indices: Array,
    weights: Array | None,
    row_matrix: Array,
    scalings: Sequence[Scaling],
    outs: Sequence[Array],
    start: int,
    stop: int,
) -> None:
    """Rows [start, stop) of after ⊙ (M + loop·I)(before ⊙ T) for each scaling, into its out."""
    data, lanes = (indptr, indices, weights, row_matrix), kernels.lanes_for(row_matrix.shape[1])
    for a in range(0, len(scalings) - 1, 2):
        kernels.gather_two(lanes)(*data, *scalings[a], outs[a], *scalings[a + 1], outs[a + 1], start, stop)
    if len(scalings) % 2:
        kernels.gather(lanes)(*data, *scalings[-1], outs[-1], start, stop)
