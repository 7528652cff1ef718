"""The contract between mathematics and machines: what an engine offers.

A *row matrix* is an n × k matrix owned by an engine: dense float32, or sparse (CSR) when it was handed over sparse. Only its
``shape`` may be read outside of the engine; all numerics of `slimg.linalg` and `slimg.components` go through the operations
below, so that an engine may keep its row matrices in memory, in files or on other machines.

*Blocks* are runs of consecutive rows. Their layout is a function of shapes and of the sparsity pattern alone, never of the
number of threads: each block is computed by one thread and blocks are added in order, so threads never change a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt

from slimg.errors import choices

RowMatrix = Any
"""An engine's own n × k matrix, of which only ``shape`` may be read outside of the engine."""

Array = npt.NDArray[Any]


class Scaling(NamedTuple):
    """One operator over a matrix M (n × n):   T  ↦  after ⊙ (M + loop·I)(before ⊙ T).

    Attributes
    ----------
    before : ndarray of shape (n,), float32, or None
        Factors of the rows of T; None stands for ones.
    after : ndarray of shape (n,), float32, or None
        Factors of the rows of the product; None stands for ones.
    loop : float
        What is added to the diagonal of M.

    Examples
    --------
    >>> from slimg import Graph
    >>> ring = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    >>> import numpy as np
    >>> from slimg.engine import MemoryEngine, Scaling
    >>> half = Scaling(after=np.full(4, 0.5, np.float32))
    >>> engine = MemoryEngine()
    >>> (means,) = engine.products(ring.adjacency, engine.row_matrix(np.arange(4, dtype=np.float32)[:, None]), [half])
    >>> means.ravel()
    array([2., 1., 2., 1.], dtype=float32)
    """

    before: Array | None = None
    after: Array | None = None
    loop: float = 0.0


class Sparse(Protocol):
    """A square sparse matrix (n × n) in CSR form: the columns of row i are ``indices[indptr[i]:indptr[i+1]]``.

    Examples
    --------
    >>> from slimg import Graph
    >>> ring = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    >>> ring.adjacency.indptr, ring.adjacency.indices[:2]
    (array([0, 2, 4, 6, 8]), array([1, 3], dtype=int32))
    """

    @property
    def indptr(self) -> Array:
        """Where the rows begin, and where the last one ends: ndarray of shape (n + 1,), int64."""

    @property
    def indices(self) -> Array:
        """Columns of the stored entries: ndarray of shape (nnz,), int32 or int64."""

    @property
    def weights(self) -> Array | None:
        """Values of the stored entries: ndarray of shape (nnz,), float32; None if all are one."""


class Engine(Protocol):
    """The operations on row matrices.

    Small matrices (k × k, d × k) are numpy arrays. Functions are called with blocks of rows: row-major float32 arrays of
    shape (rows, k), or scipy CSR matrices where the row matrix is sparse. All engines give the same bits for `products` and
    `random`; sums over rows are float64 and agree to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from slimg.engine import Engine, MemoryEngine
    >>> engine: Engine = MemoryEngine()
    >>> engine.gram(engine.row_matrix(np.eye(3, 2, dtype=np.float32)))
    array([[1., 0.],
           [0., 1.]])
    """

    def row_matrix(self, array: Any) -> RowMatrix:
        """Hand an array over to the engine.

        Parameters
        ----------
        array : array-like or scipy sparse matrix of shape (n, k)
            Kept as float32: dense in C order, or CSR with ascending columns if it is sparse. It may be a memory map.

        Returns
        -------
        RowMatrix of shape (n, k)
            The engine's own matrix; it may share memory with the array.
        """

    def random(self, n: int, k: int, random_state: int) -> RowMatrix:
        """Draw a random row matrix with entries of mean 0 and variance 1.

        Parameters
        ----------
        n, k : int
            Rows and columns.
        random_state : int
            Seed; the same seed gives the same numbers on every engine.

        Returns
        -------
        RowMatrix of shape (n, k)
            Dense; uniformly distributed entries.
        """

    def products(self, matrix: Sparse, row_matrix: RowMatrix, scalings: Sequence[Scaling]) -> list[RowMatrix]:
        """Compute after ⊙ (M + loop·I)(before ⊙ T) for each scaling, in one pass over the gathered rows of T.

        Parameters
        ----------
        matrix : Sparse
            M, of shape (n, n).
        row_matrix : RowMatrix of shape (n, k)
            T, dense.
        scalings : sequence of Scaling
            One for each result.

        Returns
        -------
        list of RowMatrix of shape (n, k)
            One dense row matrix for each scaling.
        """

    def sketch(self, matrix: Sparse, k: int, random_state: int) -> RowMatrix:
        """Compute M S for a random S with one entry, 1 or -1, in each row (`slimg.engine.blocks.signs_of`).

        Parameters
        ----------
        matrix : Sparse
            M, of shape (n, n).
        k : int
            Columns of S.
        random_state : int
            Seed of S.

        Returns
        -------
        RowMatrix of shape (n, k)
            Dense.
        """

    def gram(self, a: RowMatrix, b: RowMatrix | None = None) -> Array:
        """Compute aᵀb, or aᵀa without b.

        Parameters
        ----------
        a : RowMatrix of shape (n, j)
            Dense or sparse.
        b : RowMatrix of shape (n, k), optional
            Dense.

        Returns
        -------
        ndarray of shape (j, k) or (j, j), float64
            The sum over all rows, in a fixed order.
        """

    def combine(self, row_matrix: RowMatrix, small: Array) -> RowMatrix:
        """Multiply by a small matrix from the right.

        Parameters
        ----------
        row_matrix : RowMatrix of shape (n, j)
            Dense or sparse.
        small : ndarray of shape (j, k)
            Used as float32.

        Returns
        -------
        RowMatrix of shape (n, k)
            Dense.
        """

    def map_rows(self, fn: Callable[..., Any], *row_matrices: RowMatrix, overwrite_input: bool = False) -> RowMatrix:
        """Apply a function to blocks of rows.

        Parameters
        ----------
        fn : callable
            fn(block of each row matrix) → block of the result with as many rows, dense or CSR. Each of its rows must depend
            on that row alone, and it must not keep or change its arguments.
        *row_matrices : RowMatrix of shape (n, …)
            The inputs, with equal numbers of rows.
        overwrite_input : bool, default False
            The first row matrix is not needed any more: the engine may write the result over it.

        Returns
        -------
        RowMatrix of shape (n, k)
            The blocks one below the other; sparse if they are.
        """

    def sum_rows(self, fn: Callable[..., Any], *row_matrices: RowMatrix) -> Array:
        """Add up a function over blocks of rows.

        Parameters
        ----------
        fn : callable
            fn(block of each row matrix) → array of a fixed shape.
        *row_matrices : RowMatrix of shape (n, …)
            The inputs, with equal numbers of rows.

        Returns
        -------
        ndarray, float64
            Σ over blocks of fn(block of each row matrix), in a fixed order.
        """

    def for_each_row_chunk(
        self, fn: Callable[..., Any], row_matrices: Sequence[RowMatrix], vectors: Sequence[Array] = ()
    ) -> list[Any]:
        """Call a function for its effect (such as writing a file) on chunks of rows, where they are.

        Parameters
        ----------
        fn : callable
            ``fn(number of the chunk, *rows of the row matrices, *entries of the vectors)``.
        row_matrices : sequence of RowMatrix of shape (n, …)
            At least one.
        vectors : sequence of ndarray of shape (n,), optional
            Arrays of any type outside of the engine.

        Returns
        -------
        list
            Results of the calls, in the order of the rows.
        """

    def rows(self, row_matrix: RowMatrix, index: Any) -> Array:
        """Select rows.

        Parameters
        ----------
        row_matrix : RowMatrix of shape (n, k)
            Dense or sparse.
        index : array-like of int, or of bool of shape (n,)
            The rows, in any order; they may repeat.

        Returns
        -------
        ndarray of shape (number of rows, k), float32
            The rows, dense.
        """

    def is_sparse(self, row_matrix: RowMatrix) -> bool:
        """Return whether a row matrix is sparse.

        Parameters
        ----------
        row_matrix : RowMatrix of shape (n, k)
            Dense or sparse.

        Returns
        -------
        bool
            True if it was handed over sparse and kept so.
        """

    def to_array(self, row_matrix: RowMatrix) -> Array:
        """Return all rows as an array.

        Parameters
        ----------
        row_matrix : RowMatrix of shape (n, k)
            Dense or sparse.

        Returns
        -------
        ndarray of shape (n, k), float32
            Dense; it may share memory with the row matrix.
        """

    def concurrently(self, *tasks: Callable[[], Any]) -> list[Any]:
        """Run independent tasks at the same time; for problems too small to be cut into blocks.

        Parameters
        ----------
        *tasks : callable
            Functions without arguments, which may call the engine.

        Returns
        -------
        list
            Their results, in order. The first error is raised.
        """

    def release_unused(self) -> None:
        """Give back memory or files of row matrices that are no longer referenced."""


OPERATIONS = tuple(name for name in vars(Engine) if not name.startswith("_"))
NAMES = ("auto", "memory", "mapped", "dask")


def engine_for(engine: Any, memory: str | int | None = None) -> Engine:
    """The engine of a name, a Dask client, or an engine itself.

    "auto" depends on the graph: see `slimg.components.estimate.choose_engine`.

    Parameters
    ----------
    engine : str, Engine or Dask client
        A name of `NAMES` other than "auto".
    memory : str, int or None, default=None
        The budget of "mapped".

    Returns
    -------
    Engine
    """
    check_engine(engine, memory)
    if not isinstance(engine, str) and not _is_client(engine):
        return engine
    if engine in ("auto", "memory"):
        from slimg.engine.memory import MemoryEngine

        return MemoryEngine()
    if engine == "mapped":
        from slimg.engine.mapped import MappedEngine

        return MappedEngine(memory or "4GB")
    from slimg.engine.dask import DaskEngine

    return DaskEngine(None if engine == "dask" else engine)


def check_engine(engine: Any, memory: str | int | None = None) -> None:
    """Raise an `InputError` for anything but a name, a Dask client or an engine, and for a budget that is no size."""
    is_known = engine in NAMES if isinstance(engine, str) else _is_client(engine) or _is_engine(engine)
    if not is_known:
        raise choices("engine", engine, [*NAMES, "an engine object", "a Dask client"])
    if memory is not None:
        from slimg.system import as_bytes

        as_bytes(memory)


def _is_client(engine: Any) -> bool:
    return type(engine).__module__.startswith("distributed")


def _is_engine(engine: Any) -> bool:
    """Whether an object (not a class) has the operations of the `Engine` protocol."""
    return not isinstance(engine, type) and all(hasattr(engine, name) for name in OPERATIONS)
