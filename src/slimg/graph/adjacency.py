"""The adjacency matrix of a graph, or of one direction of a relation.

For n nodes, A ∈ ℝⁿˣⁿ with diag(A) = 0 and A ≥ 0, in compressed sparse rows: the neighbours of node i are
``indices[indptr[i]:indptr[i + 1]]``, ascending and distinct. A binary graph stores no values. The matrix of a graph is
symmetric, A = Aᵀ; that of a directed relation (`slimg.graph.relations`) is D below, and Dᵀ.

How a list of m directed edges (u, v, w) becomes A:

    loops (u = v) and edges of weight 0 are dropped; undirected input: (u, v) → (min(u, v), max(u, v))
    D_uv = Σ w (or max w) over the repetitions of the ordered pair (u, v);       binary: D_uv = 1
    A_uv = max(D_uv, D_vu) (or D_uv + D_vu);                                     binary: A_uv = 1

Each step is counted in `EdgeCounts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError, choices
from slimg.graph.columns import number_of
from slimg.system import require_unchanged

Rule = Literal["max", "sum"]
RULES = ("max", "sum")
_INT32_MAX = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Sparse matrix of the edges between n nodes, in compressed sparse rows.

    The constructor checks shapes and types only and shares the arrays it is given, which may be memory-mapped and must not
    be written to afterwards. `from_edges` and `from_scipy` make the matrix symmetric and remove loops and repetitions;
    the matrices of a directed `Relation` need not be symmetric.

    Parameters
    ----------
    indptr : int64 array of shape (n + 1,)
        The neighbours of node i are ``indices[indptr[i]:indptr[i + 1]]``.
    indices : int32 array of shape (nnz,)
        Neighbours of each node, ascending; int64 if n exceeds 2³¹ − 1.
    weights : float32 array of shape (nnz,), default=None
        Positive weights; None if all are 1.

    Examples
    --------
    >>> adjacency, counts = Adjacency.from_edges([0, 1, 1], [1, 2, 1], n=3)
    >>> adjacency
    Adjacency(3 nodes, 2 edges, binary)
    >>> adjacency.neighbours(1)
    array([0, 2], dtype=int32)
    >>> counts.loops
    1
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        indptr = self.indptr
        if not isinstance(indptr, np.ndarray) or indptr.dtype != np.int64 or indptr.ndim != 1 or len(indptr) == 0:
            raise InputError(f"Adjacency needs indptr as an int64 vector of n + 1 values, not {_kind(indptr)}")
        _check_array(self.indices, "indices", self.nnz, index_type(self.n))
        if self.weights is not None:
            _check_array(self.weights, "weights", self.nnz, np.float32)

    @classmethod
    def from_edges(
        cls,
        source: Any,
        target: Any,
        n: int,
        weights: Any = None,
        *,
        directed: bool = True,
        duplicates: Rule = "sum",
        symmetrise: Rule = "max",
    ) -> tuple[Adjacency, EdgeCounts]:
        """Build the matrix from a list of edges.

        Parameters
        ----------
        source, target : int array-likes of shape (m,)
            Node numbers from 0 to n − 1.
        n : int
            Number of nodes.
        weights : array-like of shape (m,), default=None
            Finite weights that are not negative; None for a binary graph.
        directed : bool, default=True
            Whether (u, v) and (v, u) are the two directions of a pair, joined by ``symmetrise``. If not, they are
            repetitions of one edge, merged by ``duplicates``.
        duplicates : {"sum", "max"}, default="sum"
            How the weights of a repeated edge are merged.
        symmetrise : {"max", "sum"}, default="max"
            How the weights of the two directions of a pair are merged.

        Returns
        -------
        adjacency : Adjacency
        counts : EdgeCounts
            What was done to the edges.

        Raises
        ------
        InputError
            If an end is not a node, or a weight is negative or not finite.
        """
        pairs, dropped = _pairs_of(source, target, n, weights, directed, duplicates, symmetrise)
        adjacency = _undirected(pairs, symmetrise)
        rules = ("one", "one") if weights is None else (duplicates, symmetrise)
        return adjacency, EdgeCounts.of(dropped, pairs.nnz, adjacency.nnz, directed, rules)

    @classmethod
    def both_ways(
        cls, source: Any, target: Any, n: int, weights: Any = None, *, duplicates: Rule = "sum"
    ) -> tuple[Adjacency, Adjacency, EdgeCounts]:
        """Build D and Dᵀ from a list of directed edges.

        Parameters
        ----------
        source, target : int array-likes of shape (m,)
            Node numbers from 0 to n − 1.
        n : int
            Number of nodes.
        weights : array-like of shape (m,), default=None
            Finite weights that are not negative; None for a binary graph.
        duplicates : {"sum", "max"}, default="sum"
            How the weights of a repeated edge are merged.

        Returns
        -------
        out : Adjacency
            D: row i lists what node i points to.
        into : Adjacency
            Dᵀ: row i lists what points to node i.
        counts : EdgeCounts
            What was done to the edges.
        """
        pairs, dropped = _pairs_of(source, target, n, weights, True, duplicates, "max")
        counts = EdgeCounts.of(dropped, pairs.nnz, 2 * pairs.nnz, False, ("one" if weights is None else duplicates, "one"))
        return as_adjacency(pairs), as_adjacency(pairs.T.tocsr()), counts

    @classmethod
    def from_scipy(cls, matrix: Any, *, duplicates: Rule = "sum", symmetrise: Rule = "max") -> tuple[Adjacency, EdgeCounts]:
        """Build the matrix from a scipy sparse matrix.

        Parameters
        ----------
        matrix : scipy sparse matrix of shape (n, n)
            The graph is binary if every stored value is 1.
        duplicates, symmetrise : {"sum", "max"}
            As in `from_edges`.

        Returns
        -------
        adjacency : Adjacency
        counts : EdgeCounts

        Raises
        ------
        InputError
            If the matrix is not square, or its values are complex, negative or not finite.
        """
        if not sp.issparse(matrix):
            raise InputError(f"Adjacency.from_scipy takes a scipy sparse matrix, not {type(matrix).__name__}")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"the adjacency matrix must be square, not {' × '.join(map(str, matrix.shape))}")
        entries = matrix.tocoo()
        if np.iscomplexobj(entries.data):
            raise InputError("the adjacency matrix must hold real numbers, not complex ones")
        binary = entries.data.dtype == bool or bool(np.all(entries.data == 1))
        values = None if binary and np.all(entries.data) else entries.data
        return cls.from_edges(entries.row, entries.col, matrix.shape[0], values, duplicates=duplicates, symmetrise=symmetrise)

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        """Number of stored entries: two for each undirected edge, one for each directed edge."""
        return int(self.indptr[-1])

    @property
    def edges(self) -> int:
        """Number of undirected edges of a symmetric matrix; `Relation.edges` counts those of a relation."""
        return self.nnz // 2

    def degree(self) -> np.ndarray:
        """Sum each row of the matrix.

        Returns
        -------
        float64 array of shape (n,)
            Sum of the weights of each node's edges.
        """
        if self.weights is None:
            return np.diff(self.indptr).astype(np.float64)
        require_unchanged(self.weights)
        degree = np.zeros(self.n)
        nonempty = np.flatnonzero(np.diff(self.indptr))
        if len(nonempty):
            degree[nonempty] = np.add.reduceat(self.weights, self.indptr[nonempty], dtype=np.float64)
        return degree

    def neighbours(self, node: int) -> np.ndarray:
        """List the neighbours of a node.

        Parameters
        ----------
        node : int
            Row number from 0 to n − 1.

        Returns
        -------
        int array
            Row numbers, ascending.
        """
        return self.indices[self.indptr[node] : self.indptr[node + 1]]

    def to_scipy(self) -> sp.csr_array:
        """Return the matrix as a scipy array that shares its memory where it can.

        Returns
        -------
        float32 scipy.sparse.csr_array of shape (n, n)
            With ones for a binary graph.
        """
        values = np.ones(self.nnz, np.float32) if self.weights is None else self.weights
        pointers = self.indptr.astype(np.int32) if self.nnz <= _INT32_MAX else self.indptr
        matrix = sp.csr_array((values, self.indices, pointers), shape=(self.n, self.n))
        matrix.has_canonical_format = True
        return matrix

    def __repr__(self) -> str:
        kind = "binary" if self.weights is None else "weighted"
        return f"Adjacency({self.n:,} nodes, {self.edges:,} edges, {kind})"


@dataclass(frozen=True)
class EdgeCounts:
    """What was done to a list of edges.

        given = loops + zeros + repeated + (distinct ordered pairs)

    Parameters
    ----------
    given : int
        Number of edges in the list.
    loops : int
        Edges from a node to itself, which are dropped.
    zeros : int
        Edges of weight 0, which are dropped.
    repeated : int
        Edges that were merged with another between the same nodes.
    one_way : int
        Edges of the graph that were given in one direction only; 0 if the input is undirected.
    edges : int
        Edges of the graph.
    merged_by, symmetrised_by : {"one", "sum", "max"}
        Rules for repeated edges and for the two directions; ``"one"`` for a binary graph.

    Examples
    --------
    >>> from slimg.graph import EdgeCounts
    >>> EdgeCounts(given=5, loops=1, zeros=0, repeated=1, one_way=3, edges=3, merged_by="sum", symmetrised_by="max").edges
    3
    """

    given: int
    loops: int
    zeros: int
    repeated: int
    one_way: int
    edges: int
    merged_by: str
    symmetrised_by: str

    @classmethod
    def of(cls, dropped: Any, pairs: int, entries: int, directed: bool, rules: tuple[str, str]) -> EdgeCounts:
        """Return the counts.

        Parameters
        ----------
        dropped : sequence of 3 ints
            Edges that were given, loops, and edges of weight 0.
        pairs : int
            Distinct ordered pairs.
        entries : int
            Entries of the matrix.
        directed : bool
            Whether the input is directed.
        rules : tuple of 2 str
            ``merged_by`` and ``symmetrised_by``.

        Returns
        -------
        EdgeCounts
        """
        given, loops, zeros = (int(count) for count in dropped)
        one_way = entries - pairs if directed else 0
        return cls(given, loops, zeros, given - loops - zeros - pairs, one_way, entries // 2, *rules)

    @classmethod
    def total(cls, counts: Sequence[EdgeCounts]) -> EdgeCounts:
        """Add the counts of several lists.

        Parameters
        ----------
        counts : sequence of EdgeCounts
            At least one.

        Returns
        -------
        EdgeCounts
            With the rules of those that are weighted.
        """
        names = ("given", "loops", "zeros", "repeated", "one_way", "edges")
        sums = {name: sum(getattr(each, name) for each in counts) for name in names}
        weighted = max(counts, key=lambda each: each.merged_by != "one")
        return replace(weighted, **sums)

    def notes(self, option: str | None = None) -> tuple[str, ...]:
        """Describe what was done.

        Parameters
        ----------
        option : str, default=None
            What the user can say to keep the direction of the edges, if that is possible.

        Returns
        -------
        tuple of str
            One sentence for each kind of change.
        """
        notes = []
        if self.loops:
            notes.append(f"{number_of(self.loops, 'self-loop')} dropped.")
        if self.zeros:
            notes.append(f"{number_of(self.zeros, 'edge')} of weight 0 dropped.")
        if self.repeated:
            how = {"one": "counted once", "sum": "weights added", "max": "largest weight kept"}[self.merged_by]
            notes.append(f"{number_of(self.repeated, 'repeated edge')} merged ({how}).")
        if self.one_way:
            rule = {"one": "", "sum": "; weights of both added", "max": "; larger weight of the two kept"}
            notes.append(
                f"Edges are taken as undirected (given in one direction: {self.one_way:,},"
                f" in both: {self.edges - self.one_way:,}{rule[self.symmetrised_by]})"
                f"{'' if option is None else f'; {option} keeps the direction'}."
            )
        return tuple(notes)


def index_type(n: int) -> type[np.signedinteger]:
    """Return the integer type of node numbers below n (`indptr` is always int64, whatever the number of edges)."""
    return np.int32 if n <= _INT32_MAX else np.int64


def check_rules(duplicates: str, symmetrise: str) -> None:
    """Raise an error for an unknown rule of merging weights."""
    for kind, rule in (("rule for duplicates", duplicates), ("rule for symmetrise", symmetrise)):
        if rule not in RULES:
            raise choices(kind, rule, RULES)


def _pairs_of(
    source: Any, target: Any, n: int, weights: Any, directed: bool, duplicates: str, symmetrise: str
) -> tuple[sp.csr_array, tuple[int, int, int]]:
    """D of a list of edges that is checked, and counts of all edges, loops and zeros."""
    check_rules(duplicates, symmetrise)
    source, target = np.asarray(source), np.asarray(target)
    weights = None if weights is None else np.asarray(weights)
    _check_shapes(source, target, weights)
    weights = check_edges(source, target, n, weights)
    source, target, weights, dropped = drop_edges(source, target, weights, directed)
    return _distinct_pairs(source, target, n, weights, duplicates), dropped


def _distinct_pairs(source: np.ndarray, target: np.ndarray, n: int, weights: np.ndarray | None, duplicates: str) -> sp.csr_array:
    """D as canonical CSR; boolean when binary."""
    kind = index_type(n)
    source, target = source.astype(kind, copy=False), target.astype(kind, copy=False)
    if weights is None:
        weights = np.ones(len(source), bool)
    elif duplicates == "max" and len(source):
        order = np.lexsort((target, source))
        source, target, weights = source[order], target[order], weights[order]
        first = np.flatnonzero(np.r_[True, (np.diff(source) != 0) | (np.diff(target) != 0)])
        source, target, weights = source[first], target[first], np.maximum.reduceat(weights, first)
    return sp.coo_array((weights, (source, target)), shape=(n, n)).tocsr()


def _undirected(directed: sp.csr_array, symmetrise: str) -> Adjacency:
    """A from D."""
    binary = directed.dtype == bool
    reverse = directed.T.tocsr()
    both = directed + reverse if binary or symmetrise == "sum" else directed.maximum(reverse)
    return as_adjacency(both)


def as_adjacency(matrix: sp.csr_array) -> Adjacency:
    """Take a CSR matrix without repeated entries as it is; it is binary if it is boolean or all its entries are 1.

    Returns
    -------
    Adjacency
    """
    matrix.sort_indices()
    weights = None if matrix.dtype == bool else as_float32(matrix.data)
    indices = matrix.indices.astype(index_type(matrix.shape[0]), copy=False)
    return Adjacency(matrix.indptr.astype(np.int64), indices, weights)


def as_float32(weights: np.ndarray) -> np.ndarray | None:
    """Return weights as float32, or None if all are 1.

    Returns
    -------
    array of shape (nnz,), float32, or None
        None if all are 1.
    """
    if np.all(weights == 1):
        return None
    with np.errstate(over="ignore", under="ignore"):
        small = weights.astype(np.float32)
    if not np.all((small >= 1e-15) & (small <= 1e15)):  # their squares and sums are float32 too
        raise InputError("edge weights must lie between 1e-15 and 1e15 once merged: rescale them, for example by their mean")
    return small


def drop_edges(
    source: np.ndarray, target: np.ndarray, weights: np.ndarray | None, directed: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, tuple[int, int, int]]:
    """Drop loops and edges of weight 0 and order the ends of undirected edges; count all edges, loops and zeros."""
    keep = source != target
    loops = len(keep) - int(np.count_nonzero(keep))
    if weights is not None:
        keep &= weights != 0
        weights = weights[keep]
    source, target = source[keep], target[keep]
    if not directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    return source, target, weights, (len(keep), loops, len(keep) - loops - len(source))


def check_edges(
    source: np.ndarray, target: np.ndarray, n: int, weights: np.ndarray | None, row: int | None = None
) -> np.ndarray | None:
    """Raise an error for ends that are no nodes and for bad weights, with the number of the edge or of its row in a file.

    Returns
    -------
    float64 array of shape (m,), or None
        The weights.
    """

    def where(first: int, pair: str = "") -> str:
        return f"edge {first}{pair}" if row is None else f"row {row + first:,}"

    for name, ends in (("source", source), ("target", target)):
        outside = (ends < 0) | (ends >= n)
        if outside.any():
            first = int(np.argmax(outside))
            raise InputError(
                f"{where(first)} has {name} {ends[first]}, but the {n:,} nodes are numbered 0 to {n - 1}:"
                " renumber the edges or add the missing nodes"
            )
    if weights is None:
        return None
    try:
        weights = weights.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"edge weights must be numbers, not {weights.dtype} ({error})") from None
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(
            f"edge weights must be finite and not negative, but {where(first, f' ({source[first]} → {target[first]})')}"
            f" has weight {weights[first]:g} ({number_of(int(bad.sum()), 'such edge')}): drop or fix them"
        )
    return weights


def _check_shapes(source: np.ndarray, target: np.ndarray, weights: np.ndarray | None) -> None:
    if source.shape != target.shape or source.ndim != 1:
        raise InputError(f"edges need one source and one target each, not arrays of shapes {source.shape} and {target.shape}")
    for name, ends in (("source", source), ("target", target)):
        if not np.issubdtype(ends.dtype, np.integer) and len(ends):
            raise InputError(f"edge {name}s must be node numbers (integers), not {ends.dtype}")
    if weights is not None and weights.shape != source.shape:
        raise InputError(f"edges need one weight each: {len(source):,} edges but weights of shape {weights.shape}")


def _check_array(array: Any, name: str, size: int, dtype: type) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != (size,):
        raise InputError(f"Adjacency needs {size} {name} of type {dtype.__name__}, not {_kind(array)}")


def _kind(array: Any) -> str:
    return f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
