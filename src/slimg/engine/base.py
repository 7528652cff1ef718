"""The seam between mathematics and machines: what an engine offers.

A *row matrix* is an n × k matrix owned by an engine: dense float32, or sparse (CSR) when it was handed over sparse. Only its
``shape`` may be read outside of the engine; all numerics of `linalg/` and `propagate/` go through the operations below, so
that an engine may keep its row matrices in memory, in files or on other machines.

*Blocks* are runs of consecutive rows. Their layout is a function of shapes and of the sparsity pattern alone, never of the
number of threads: each block is computed by one thread and blocks are added in order, so threads never change a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt

RowMatrix = Any
"""An engine's own n × k matrix; see the module's text."""

Array = npt.NDArray[Any]


class Scaling(NamedTuple):
    """One operator over a matrix M (n × n):   T  ↦  after ⊙ (M + loop·I)(before ⊙ T).

    ``before`` and ``after`` have one float32 per node and multiply rows; None stands for ones.
    """

    before: Array | None = None
    after: Array | None = None
    loop: float = 0.0


class Sparse(Protocol):
    """CSR rows of a square matrix: row i holds ``indices[indptr[i]:indptr[i+1]]``; ``weights`` None means all ones."""

    @property
    def indptr(self) -> Array:
        """n + 1 int64."""

    @property
    def indices(self) -> Array:
        """int32 or int64."""

    @property
    def weights(self) -> Array | None:
        """float32."""


class Engine(Protocol):
    """The operations on row matrices. Small matrices (k × k, d × k) are numpy arrays; sums over rows are float64."""

    def row_matrix(self, array: Any) -> RowMatrix:
        """Hand over an n × k array: dense, kept as float32, or scipy CSR, kept sparse."""

    def random(self, n: int, k: int, random_state: int) -> RowMatrix:
        """Random n × k of mean 0 and variance 1; the same numbers on every engine and block layout."""

    def products(self, matrix: Sparse, row_matrix: RowMatrix, scalings: Sequence[Scaling]) -> list[RowMatrix]:
        """For each scaling, after ⊙ (M + loop·I)(before ⊙ T), in one pass over the rows that are gathered."""

    def sketch(self, matrix: Sparse, k: int, random_state: int) -> RowMatrix:
        """M S for a random S (n × k) with one entry, 1 or -1, in each row (`slimg.engine.blocks.signs_of`)."""

    def gram(self, a: RowMatrix, b: RowMatrix | None = None) -> Array:
        """aᵀb (aᵀa without b), float64; a may be sparse."""

    def combine(self, row_matrix: RowMatrix, small: Array) -> RowMatrix:
        """row matrix × small: a dense row matrix; row matrix may be sparse."""

    def map_rows(self, fn: Callable[..., Any], *row_matrices: RowMatrix, overwrite_input: bool = False) -> RowMatrix:
        """fn(block of each row matrix) → block of a new row matrix; row by row independent. A sparse row matrix's block is a scipy CSR.

        With ``spend`` nobody needs the first row matrix any more, and the engine may write over it.
        """

    def sum_rows(self, fn: Callable[..., Any], *row_matrices: RowMatrix) -> Array:
        """Σ over blocks of fn(block of each row matrix): float64, in a fixed order."""

    def for_each_row_chunk(self, fn: Callable[..., Any], row_matrices: Sequence[RowMatrix], vectors: Sequence[Array] = ()) -> list[Any]:
        """fn(which, *rows of the row matrices, *entries of the vectors) for runs of rows, where they are; results in order.

        For what is written down run by run. ``vectors`` are arrays of n entries outside of the engine.
        """

    def rows(self, row_matrix: RowMatrix, index: Any) -> Array:
        """The chosen rows as a dense float32 array."""

    def is_sparse(self, row_matrix: RowMatrix) -> bool:
        """Whether the row matrix was handed over sparse and kept so."""

    def to_array(self, row_matrix: RowMatrix) -> Array:
        """All rows as a dense float32 array."""

    def concurrently(self, *tasks: Callable[[], Any]) -> list[Any]:
        """Results of independent tasks, in order; for problems too small to be cut into blocks."""

    def release_unused(self) -> None:
        """Give back memory or files of row matrices that nobody holds any more."""
