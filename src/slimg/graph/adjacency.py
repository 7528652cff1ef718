"""The pattern of an undirected graph.

For n nodes, A ∈ ℝⁿˣⁿ with A = Aᵀ, diag(A) = 0 and A ≥ 0, in compressed sparse rows: the neighbours of node i are
``indices[indptr[i]:indptr[i + 1]]``, ascending and distinct. A binary graph stores no values.

How a list of m directed edges (u, v, w) becomes A:

    loops (u = v) and edges of weight 0 are dropped; undirected input: (u, v) → (min(u, v), max(u, v))
    D_uv = Σ w (or max w) over the repetitions of the ordered pair (u, v);       binary: D_uv = 1
    A_uv = max(D_uv, D_vu) (or D_uv + D_vu);                                     binary: A_uv = 1

Each step is counted in `EdgeCounts`, so that nothing is decided silently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError, choices

Rule = Literal["max", "sum"]
RULES = ("max", "sum")
_INT32_MAX = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Symmetric CSR matrix without loops; see the module's text for the invariants.

    The constructor checks shapes and types only and shares the arrays it is given (they may be memory-mapped);
    `from_edges` and `from_scipy` establish the invariants. The arrays must not be written to afterwards.

    Attributes
    ----------
    indptr : int64 array, shape (n + 1,)
    indices : int32 array, shape (nnz,); int64 only when n exceeds 2³¹ − 1
    weights : float32 array, shape (nnz,), or None for a binary graph
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.indptr.dtype != np.int64 or self.indptr.ndim != 1 or len(self.indptr) == 0:
            raise InputError(f"Adjacency needs indptr as a vector of n + 1 int64, not {_kind(self.indptr)}")
        if self.indices.dtype != index_type(self.n) or self.indices.shape != (self.nnz,):
            raise InputError(
                f"Adjacency needs {self.nnz} indices of type {index_type(self.n).__name__}, not {_kind(self.indices)}"
            )
        if self.weights is not None and (self.weights.dtype != np.float32 or self.weights.shape != (self.nnz,)):
            raise InputError(f"Adjacency needs {self.nnz} weights of type float32, not {_kind(self.weights)}")

    @classmethod
    def from_edges(
        cls,
        source: np.ndarray,
        target: np.ndarray,
        n: int,
        weights: np.ndarray | None = None,
        *,
        directed: bool = True,
        duplicates: Rule = "sum",
        symmetrise: Rule = "max",
    ) -> tuple[Adjacency, EdgeCounts]:
        """Build A from m edges between node numbers 0 … n − 1, and say what was done to them.

        With ``directed=False``, (u, v) and (v, u) are repetitions of one edge rather than its two directions.
        """
        check_rules(duplicates, symmetrise)
        source, target = np.asarray(source), np.asarray(target)
        _check_ends(source, target, n)
        keep = source != target
        loops = len(source) - int(np.count_nonzero(keep))
        zeros = 0
        if weights is not None:
            weights = _check_weights(np.asarray(weights), source, target)
            zeros = int(np.count_nonzero(keep & (weights == 0)))
            keep &= weights != 0
            weights = weights[keep]
        source, target = source[keep], target[keep]
        if not directed:
            source, target = np.minimum(source, target), np.maximum(source, target)
        pairs = _distinct_pairs(source, target, n, weights, duplicates)
        adjacency = _undirected(pairs, symmetrise)
        return adjacency, EdgeCounts(
            given=len(keep),
            loops=loops,
            zeros=zeros,
            repeated=len(source) - pairs.nnz,
            one_way=adjacency.nnz - pairs.nnz if directed else 0,
            edges=adjacency.edges,
            merged_by=duplicates if weights is not None else "one",
            symmetrised_by=symmetrise if weights is not None else "one",
        )

    @classmethod
    def from_scipy(
        cls, matrix: Any, *, duplicates: Rule = "sum", symmetrise: Rule = "max"
    ) -> tuple[Adjacency, EdgeCounts]:
        """Build A from a square scipy sparse matrix; it is binary when every stored value is 1."""
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"the adjacency matrix must be square, not {' × '.join(map(str, matrix.shape))}")
        entries = matrix.tocoo()
        if np.iscomplexobj(entries.data):
            raise InputError("the adjacency matrix must hold real numbers, not complex ones")
        binary = entries.data.dtype == bool or bool(np.all(entries.data == 1))
        values = None if binary and np.all(entries.data) else entries.data
        return cls.from_edges(
            entries.row, entries.col, matrix.shape[0], values, duplicates=duplicates, symmetrise=symmetrise
        )

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        """Stored entries: each undirected edge counts twice."""
        return int(self.indptr[-1])

    @property
    def edges(self) -> int:
        """Number of undirected edges."""
        return self.nnz // 2

    def degree(self) -> np.ndarray:
        """Row sums of A: float64, shape (n,)."""
        if self.weights is None:
            return np.diff(self.indptr).astype(np.float64)
        degree = np.zeros(self.n)
        nonempty = np.flatnonzero(np.diff(self.indptr))
        if len(nonempty):
            degree[nonempty] = np.add.reduceat(self.weights, self.indptr[nonempty], dtype=np.float64)
        return degree

    def neighbours(self, node: int) -> np.ndarray:
        """Row numbers of the neighbours of one node, ascending."""
        return self.indices[self.indptr[node] : self.indptr[node + 1]]

    def to_scipy(self) -> sp.csr_array:
        """A as a float32 CSR array (ones for a binary graph)."""
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
    """What became of the edges that were given.

    given = loops + zeros + repeated + (distinct ordered pairs);  edges = distinct unordered pairs, of which
    ``one_way`` were given in one direction only (0 when the input says it is undirected).
    """

    given: int
    loops: int
    zeros: int
    repeated: int
    one_way: int
    edges: int
    merged_by: str
    symmetrised_by: str

    def notes(self) -> tuple[str, ...]:
        """One sentence for each thing that was done to the edges."""
        said = []
        if self.loops:
            said.append(f"{_count(self.loops, 'self-loop')} dropped.")
        if self.zeros:
            said.append(f"{_count(self.zeros, 'edge')} of weight 0 dropped.")
        if self.repeated:
            how = {"one": "counted once", "sum": "weights added", "max": "largest weight kept"}[self.merged_by]
            said.append(f"{_count(self.repeated, 'repeated edge')} merged ({how}).")
        if self.one_way:
            rule = {"one": "", "sum": "; weights of both added", "max": "; larger weight of the two kept"}
            said.append(
                f"Edges are taken as undirected (given in one direction: {self.one_way:,},"
                f" in both: {self.edges - self.one_way:,}{rule[self.symmetrised_by]})."
            )
        return tuple(said)


def index_type(n: int) -> type[np.signedinteger]:
    """The integer type of node numbers below n (`indptr` is always int64, so the number of edges does not matter)."""
    return np.int32 if n <= _INT32_MAX else np.int64


def check_rules(duplicates: str, symmetrise: str) -> None:
    """Refuse unknown ways of merging weights."""
    for kind, rule in (("rule for duplicates", duplicates), ("rule for symmetrise", symmetrise)):
        if rule not in RULES:
            raise choices(kind, rule, RULES)


def _distinct_pairs(
    source: np.ndarray, target: np.ndarray, n: int, weights: np.ndarray | None, duplicates: str
) -> sp.csr_array:
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
    both.sort_indices()
    weights = None if binary else as_float32(both.data)
    indices = both.indices.astype(index_type(both.shape[0]), copy=False)
    return Adjacency(both.indptr.astype(np.int64), indices, weights)


def as_float32(weights: np.ndarray) -> np.ndarray | None:
    """Weights to store: float32, or nothing when all are 1."""
    if np.all(weights == 1):
        return None
    with np.errstate(over="ignore", under="ignore"):
        small = weights.astype(np.float32)
    if not np.all(np.isfinite(small) & (small > 0)):
        raise InputError("edge weights must lie between 1e-45 and 3e38 once merged: rescale them")
    return small


def _check_ends(source: np.ndarray, target: np.ndarray, n: int) -> None:
    if source.shape != target.shape or source.ndim != 1:
        raise InputError(
            f"edges need one source and one target each, not arrays of shapes {source.shape} and {target.shape}"
        )
    for name, ends in (("source", source), ("target", target)):
        if not np.issubdtype(ends.dtype, np.integer) and len(ends):
            raise InputError(f"edge {name}s must be node numbers (integers), not {ends.dtype}")
        outside = (ends < 0) | (ends >= n)
        if outside.any():
            first = int(np.argmax(outside))
            raise InputError(
                f"edge {first} has {name} {ends[first]}, but the {n:,} nodes are numbered 0 to {n - 1}:"
                " renumber the edges or add the missing nodes"
            )


def _check_weights(weights: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    if weights.shape != source.shape:
        raise InputError(f"edges need one weight each: {len(source):,} edges but weights of shape {weights.shape}")
    try:
        weights = weights.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"edge weights must be numbers, not {weights.dtype} ({error})") from None
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(
            f"edge weights must be finite and not negative, but edge {first} ({source[first]} → {target[first]})"
            f" has weight {weights[first]:g} ({_count(int(bad.sum()), 'such edge')}): drop or fix them"
        )
    return weights


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _kind(array: np.ndarray) -> str:
    return f"{array.dtype} of shape {array.shape}"
