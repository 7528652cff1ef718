"""The seam between mathematics and machines: what an engine offers.

A *tall* is an n × k matrix owned by an engine: dense float32, or sparse (CSR) when it was handed over sparse. Only its
``shape`` may be read outside of the engine; all numerics of `linalg/` and `propagate/` go through the operations below, so
that an engine may keep its talls in memory, in files or on other machines.

*Blocks* are runs of consecutive rows. Their layout is a function of shapes and of the sparsity pattern alone, never of the
number of threads: each block is computed by one thread and blocks are added in order, so threads never change a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt

Tall = Any
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
    """The operations on talls. Small matrices (k × k, d × k) are numpy arrays; sums over rows are float64."""

    def tall(self, array: Any) -> Tall:
        """Hand over an n × k array: dense, kept as float32, or scipy CSR, kept sparse."""

    def random(self, n: int, k: int, random_state: int) -> Tall:
        """Random n × k of mean 0 and variance 1; the same numbers on every engine and block layout."""

    def products(self, matrix: Sparse, tall: Tall, scalings: Sequence[Scaling]) -> list[Tall]:
        """For each scaling, after ⊙ (M + loop·I)(before ⊙ T), in one pass over the rows that are gathered."""

    def sketch(self, matrix: Sparse, k: int, random_state: int) -> Tall:
        """M S for a random S (n × k) with one entry, 1 or -1, in each row (`slimg.engine.blocks.signs_of`)."""

    def gram(self, a: Tall, b: Tall | None = None) -> Array:
        """aᵀb (aᵀa without b), float64; a may be sparse."""

    def combine(self, tall: Tall, small: Array) -> Tall:
        """tall × small: a dense tall; tall may be sparse."""

    def map_rows(self, fn: Callable[..., Any], *talls: Tall, spend: bool = False) -> Tall:
        """fn(block of each tall) → block of a new tall; row by row independent. A sparse tall's block is a scipy CSR.

        With ``spend`` nobody needs the first tall any more, and the engine may write over it.
        """

    def sum_rows(self, fn: Callable[..., Any], *talls: Tall) -> Array:
        """Σ over blocks of fn(block of each tall): float64, in a fixed order."""

    def each_run(self, fn: Callable[..., Any], talls: Sequence[Tall], vectors: Sequence[Array] = ()) -> list[Any]:
        """fn(which, *rows of the talls, *entries of the vectors) for runs of rows, where they are; results in order.

        For what is written down run by run. ``vectors`` are arrays of n entries outside of the engine.
        """

    def rows(self, tall: Tall, index: Any) -> Array:
        """The chosen rows as a dense float32 array."""

    def is_sparse(self, tall: Tall) -> bool:
        """Whether the tall was handed over sparse and kept so."""

    def to_array(self, tall: Tall) -> Array:
        """All rows as a dense float32 array."""

    def concurrently(self, *tasks: Callable[[], Any]) -> list[Any]:
        """Results of independent tasks, in order; for problems too small to be cut into blocks."""

    def trim(self) -> None:
        """Give back memory or files of talls that nobody holds any more."""
