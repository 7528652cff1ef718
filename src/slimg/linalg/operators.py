"""Operators over A: each is a scaling before and after a pass over A, and the strength of a loop.

With D = diag(A·1) and D̃ = D + I,

    A      = A                           A_row  = D⁻¹ A                A_sym  = D^-½ A D^-½
    Ã_row  = D̃⁻¹ (A + I)                 Ã_sym  = D̃^-½ (A + I) D̃^-½

The row of an isolated node is zero in A, A_row and A_sym, and its loop alone in Ã_row and Ã_sym. A is symmetric, so the
transpose of an operator is the same pass with ``before`` and ``after`` exchanged, and powers are repeated passes: no
normalised matrix is ever stored.

A smaller symmetric matrix with the same non-zero eigenvalues as A (n × n).

*Twins* are nodes with the same row of A. An eigenvector x of λ ≠ 0 is equal on twins, since x_i = (A x)_i / λ. With
s_a twins in class a and one of them to stand for it,

    M_ab = √s_a √s_b A_ab,        M y = λ y    ⇔    A x = λ x  with  x_i = y_a / √s_a  for i in a,   ‖x‖ = ‖y‖

and A has no other eigenvalues but zero. M falls apart into *parts*, the connected components of its graph, each with a
spectrum of its own. Graphs of citations have many of both: the cost of a dense decomposition falls with the cube.

Hops that touch only the neighbourhood they need.

For chosen rows R₀ and R_{k+1} = the nodes that a row of R_k gathers, Op restricted to the two is a small sparse matrix, so

    (Opʰ T)[R₀]  =  Op[R₀, R₁] · Op[R₁, R₂] ⋯ Op[R_{h−1}, R_h] · T[R_h]
    Opʰ[R₀, R_h] =  the product of the steps alone: the weight of every walk of h hops, summed over walks

and Σ_k c_k Opᵏ by Horner's rule, t_h = c_h T[R_h], t_k = c_k T[R_k] + Op[R_k, R_{k+1}] t_{k+1}.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, identity
from scipy.sparse.csgraph import connected_components

from slimg.engine.base import Array, Engine, FileMatrix, RowMatrix, Scaling, Sparse
from slimg.engine.memory import Recomputed, is_large
from slimg.errors import choices
from slimg.graph.adjacency import Adjacency
from slimg.system import require_unchanged


@dataclass(frozen=True)
class Reduction:
    """M (n' × n' CSR, float64), the class of each node (n), √ of the class sizes (n'), and the parts: classes of each."""

    matrix: csr_array
    classes: Array
    root_sizes: Array
    parts: list[Array]

    def dense(self, part: Array) -> Array:
        """One part of M as an array."""
        return self.matrix[part][:, part].toarray()

    def expand(self, part: Array, vectors: Array) -> tuple[Array, Array]:
        """Nodes of a part (m) and the rows (m × k) that eigenvectors y (part × k) of it have there."""
        place = np.full(len(self.root_sizes), -1)
        place[part] = np.arange(len(part))
        nodes = np.flatnonzero(place[self.classes] >= 0)
        scaled = vectors / self.root_sizes[part, None].astype(vectors.dtype)
        return nodes, scaled[place[self.classes[nodes]]]


def reduced(adjacency: Adjacency) -> Reduction:
    """Merge twins and split into connected parts, the largest first."""
    # A copy, if A is mapped: a file that is cut off while it is walked over would end the process.
    adjacency = Adjacency(*FileMatrix(adjacency).read(0, adjacency.n))
    first, classes, sizes = np.unique(twins(adjacency), return_inverse=True, return_counts=True)
    roots = np.sqrt(sizes)
    entries = adjacency.to_scipy()[first].tocoo()
    keep = np.isin(entries.col, first)
    row, column = entries.row[keep], classes[entries.col[keep]]
    values = entries.data[keep] * roots[row] * roots[column]
    matrix = coo_array((values, (row, column)), shape=(len(first), len(first))).tocsr()
    _, labels = connected_components(matrix, directed=False)
    parts = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
    return Reduction(matrix, classes, roots, sorted(parts, key=len, reverse=True))


def row_sums(adjacency: Adjacency, carried: Callable[[Array, Array | None], Array]) -> Array:
    """Sum what the entries of each row carry, mod 2⁶⁴, some rows at a time, so that arrays on disk stay there.

    Parameters
    ----------
    adjacency : Adjacency
    carried : callable
        Columns and weights of entries → their values, uint64.

    Returns
    -------
    array of shape (n,), uint64
    """
    rows, out = FileMatrix(adjacency), np.zeros(adjacency.n, np.uint64)
    for start, stop in rows.blocks():
        indptr, indices, weights = rows.read(start, stop)
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(carried(indices, weights), dtype=np.uint64)])
        out[start:stop] = sums[indptr[1:]] - sums[indptr[:-1]]
    return out


def twins(adjacency: Adjacency) -> Array:
    """For each node the first node with the same row: rows are hashed, then those with equal hashes compared.

    Returns
    -------
    array of shape (n,)
        Row numbers.
    """
    n, indptr, indices = adjacency.n, adjacency.indptr, adjacency.indices
    codes = np.random.default_rng(0).integers(1, 2**63, n, dtype=np.uint64)

    def carried(columns: Array, weights: Array | None) -> Array:
        if weights is None:
            return codes[columns]
        return (codes[columns] ^ weights.view(np.uint32)) * np.uint64(0x9E3779B97F4A7C15)

    _, first, classes = np.unique(row_sums(adjacency, carried), return_index=True, return_inverse=True)
    model, every, degree = first[classes], np.arange(n), np.diff(indptr)
    model = np.where(degree == degree[model], model, every)
    copies = np.flatnonzero(model != every)
    row = np.repeat(copies, degree[copies])
    before = np.repeat(np.cumsum(degree[copies]) - degree[copies], degree[copies])
    here = np.arange(len(row)) - before + indptr[row]
    there = here - indptr[row] + indptr[model[row]]
    same = indices[here] == indices[there]
    if adjacency.weights is not None:
        same &= adjacency.weights[here] == adjacency.weights[there]
    model[row[~same]] = row[~same]
    return model


@dataclass(frozen=True)
class Weighted:
    """A sum of one or two blocks of rows with these weights."""

    first: float
    second: float = 0.0

    def __call__(self, block: Array, other: Array | None = None) -> Array:
        scaled = block * np.float32(self.first)
        return scaled if other is None else scaled + np.float32(self.second) * other


FEW_ROWS = 8
"""Rows up to which paths from them are added up in dense columns."""
OPERATORS = ("A", "A_row", "A_sym", "Ã_row", "Ã_sym")


@dataclass(frozen=True)
class Operator:
    """A named normalisation of a graph's A (n × n).

    Attributes
    ----------
    name : str
        One of `OPERATORS`, with ᵀ if it was transposed.
    matrix : Sparse
        A.
    scaling : Scaling
        The factors before and after a pass over A, and the loop.
    reverse : Sparse or None
        Aᵀ where A is not symmetric.

    Examples
    --------
    >>> from slimg import Graph
    >>> ring = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    >>> from slimg.linalg import operator
    >>> operator("A_row", ring.adjacency).name
    'A_row'
    """

    name: str
    matrix: Sparse
    scaling: Scaling
    reverse: Sparse | None = None

    @property
    def transposed(self) -> Operator:
        """The transposed operator."""
        before, after, loop = self.scaling
        back = None if self.reverse is None else self.matrix
        matrix = self.matrix if self.reverse is None else self.reverse
        return Operator(f"{self.name}ᵀ", matrix, Scaling(after, before, loop), back)

    def apply(self, engine: Engine, row_matrix: RowMatrix) -> RowMatrix:
        """Multiply a row matrix by the operator, in one pass.

        Parameters
        ----------
        engine : Engine
            Where the row matrix lives.
        row_matrix : RowMatrix of shape (n, k)
            Dense.

        Returns
        -------
        RowMatrix of shape (n, k)
            The product.
        """
        return engine.products(self.matrix, row_matrix, [self.scaling])[0]

    def hop(self, scaled: bool, onward: bool) -> Scaling:
        """Make the scaling of one of several hops.

        Between hops a row matrix is multiplied by ``before`` as it is written (``onward``), not as it is gathered by the
        next hop (``scaled``): the same product, in which no factor is looked up for each gathered row.

        Parameters
        ----------
        scaled : bool
            Whether the row matrix was multiplied by ``before`` already.
        onward : bool
            Whether another hop follows, for which the result is multiplied by ``before``.

        Returns
        -------
        Scaling
            The factors of this hop.
        """
        before, after, loop = self.scaling
        if onward and before is not None:
            after = before if after is None else after * before
        return Scaling(None if scaled else before, after, loop)

    def finished(self, engine: Engine, row_matrix: RowMatrix, finish: Callable[[Array], Array]) -> RowMatrix:
        """Multiply a row matrix by the operator and apply a function to blocks of rows.

        Parameters
        ----------
        engine : Engine
            Where the row matrix lives.
        row_matrix : RowMatrix of shape (n, k)
            Dense; it is kept where the product, of a large graph in memory, is computed whenever it is read.
        finish : callable
            A function of rows, row by row independent, that keeps their length.

        Returns
        -------
        RowMatrix of shape (n, k)
            The rows.
        """
        if not is_large(engine, row_matrix):
            return engine.map_rows(finish, self.apply(engine, row_matrix), overwrite_input=True)
        return Recomputed(row_matrix.shape, lambda rows: finish(_step(self, rows, whole=True)[0].astype(np.float32) @ row_matrix))

    def power(self, engine: Engine, row_matrix: RowMatrix, hops: int) -> RowMatrix:
        """Multiply a row matrix by a power of the operator.

        Parameters
        ----------
        engine : Engine
            Where the row matrix lives.
        row_matrix : RowMatrix of shape (n, k)
            Dense.
        hops : int
            The power; 0 returns the row matrix itself.

        Returns
        -------
        RowMatrix of shape (n, k)
            The product, in one pass for each hop.
        """
        for step in range(hops):
            scaling = self.hop(step > 0, step < hops - 1)
            (row_matrix,) = engine.products(self.matrix, row_matrix, [scaling])
        return row_matrix

    def series(self, engine: Engine, row_matrix: RowMatrix, coefficients: Sequence[float]) -> RowMatrix:
        """Compute Σ_k c_k Opᵏ T.

        Parameters
        ----------
        engine : Engine
            Where the row matrix lives.
        row_matrix : RowMatrix of shape (n, k)
            T, dense.
        coefficients : sequence of float
            c_0, c_1, …

        Returns
        -------
        RowMatrix of shape (n, k)
            The sum, in one pass for each power.
        """
        total = engine.map_rows(Weighted(coefficients[0]), row_matrix)
        for coefficient in coefficients[1:]:
            row_matrix = self.apply(engine, row_matrix)
            if coefficient:
                total = engine.map_rows(Weighted(1.0, coefficient), total, row_matrix, overwrite_input=True)
        return total


def operator(name: str, adjacency: Adjacency, reverse: Adjacency | None = None) -> Operator:
    """Return a normalised operator over a graph.

    Parameters
    ----------
    name : {"A", "A_row", "A_sym", "Ã_row", "Ã_sym"}
        The normalisation.
    adjacency : Adjacency
        A (n × n), symmetric unless ``reverse`` is given.
    reverse : Adjacency or None, default None
        Aᵀ of a directed relation, for which "A", "A_row" and "A_sym", D^-½ A D'^-½ with D' = diag(1ᵀA), are meant.

    Returns
    -------
    Operator
        A and the scaling of its rows; no matrix is copied.

    Raises
    ------
    InputError
        If the name is unknown.

    Examples
    --------
    Means over the neighbours in the path 0 - 1 - 2:

    >>> import numpy as np
    >>> from slimg.engine import MemoryEngine
    >>> from slimg.graph.adjacency import Adjacency
    >>> from slimg.linalg import operator
    >>> path, _ = Adjacency.from_edges([0, 1], [1, 2], 3)
    >>> operator("A_row", path).apply(MemoryEngine(threads=1), np.array([[1.0], [5.0], [3.0]])).ravel()
    array([5., 2., 5.], dtype=float32)
    """
    if name not in OPERATORS:
        raise choices("operator", name, OPERATORS)
    loop = 1.0 if name.startswith("Ã") else 0.0
    if name == "A":
        return Operator(name, adjacency, Scaling(), reverse)
    degree = adjacency.degree() + loop
    if name.endswith("_row"):
        return Operator(name, adjacency, Scaling(None, _inverse_power(degree, 1.0), loop), reverse)
    after = _inverse_power(degree, 0.5)
    before = after if reverse is None or reverse is adjacency else _inverse_power(reverse.degree() + loop, 0.5)
    return Operator(name, adjacency, Scaling(before, after, loop), reverse)


def products(engine: Engine, operators: Sequence[Operator], row_matrix: RowMatrix) -> list[RowMatrix]:
    """Multiply a row matrix by several operators of one graph, in one pass over the gathered rows.

    Parameters
    ----------
    engine : Engine
        Where the row matrix lives.
    operators : sequence of Operator
        Over the same adjacency.
    row_matrix : RowMatrix of shape (n, k)
        Dense.

    Returns
    -------
    list of RowMatrix of shape (n, k)
        One for each operator.

    Examples
    --------
    >>> from slimg import Graph
    >>> ring = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    >>> import numpy as np
    >>> from slimg.engine import MemoryEngine
    >>> from slimg.linalg import operator, products
    >>> engine = MemoryEngine()
    >>> numbers = engine.row_matrix(np.arange(4, dtype=np.float32)[:, None])
    >>> (means,) = products(engine, [operator("A_row", ring.adjacency)], numbers)
    >>> means.ravel()
    array([2., 1., 2., 1.], dtype=float32)
    """
    return engine.products(operators[0].matrix, row_matrix, [each.scaling for each in operators])


def _inverse_power(degree: np.ndarray, power: float) -> np.ndarray:
    """degree^-power as float32, zero where the degree is zero."""
    scale = np.zeros(len(degree))
    np.power(degree, -power, out=scale, where=degree > 0)
    return scale.astype(np.float32)


@dataclass(frozen=True)
class Steps:
    """Σ_k c_k Opᵏ restricted to what chosen rows reach, float64.

    ``matrices`` are Op[R_k, R_{k+1}], ``levels`` are R_0 … R_h, and ``coefficients`` c_0 … c_h.
    """

    matrices: list[csr_array]
    levels: list[Array]
    coefficients: tuple[float, ...]

    @property
    def reached(self) -> Array:
        """R_h, ascending."""
        return self.levels[-1]

    @property
    def tail(self) -> Steps:
        """What the first step leads to: Σ_{k ≥ 1} c_k Opᵏ⁻¹ from R_1."""
        return Steps(self.matrices[1:], self.levels[1:], self.coefficients[1:])

    def apply(self, rows: Any) -> Any:
        """(Σ_k c_k Opᵏ T)[R₀] from T[R_h], dense or sparse."""
        found = self.coefficients[-1] * rows
        for k in reversed(range(len(self.matrices))):
            found = self.matrices[k] @ found
            if self.coefficients[k]:
                found = found + self.coefficients[k] * rows[self._places(k)]
        return found

    def paths(self) -> csr_array:
        """(Σ_k c_k Opᵏ)[R₀, R_h], columns ascending in each row; of few rows, which soon reach most, by way of dense ones."""
        m, size = len(self.levels[0]), len(self.reached)
        if m <= FEW_ROWS:
            rows, found = np.eye(m), np.zeros((size, m))
            for k, coefficient in enumerate(self.coefficients):
                rows = self.matrices[k - 1].T @ rows if k else rows
                if coefficient:
                    found[self._places(k)] += coefficient * rows
            return csr_array(found.T)
        here, total = identity(m, format="csr"), csr_array((m, size))
        for k, coefficient in enumerate(self.coefficients):
            here = csr_array(here @ self.matrices[k - 1] if k else here)
            if coefficient:
                place = np.arange(size)[self._places(k)][here.indices]
                total = total + csr_array((coefficient * here.data, place, here.indptr), shape=total.shape)
        total.sort_indices()
        return total

    def _places(self, k: int) -> Any:
        """Where R_k lies in R_h; all of it where both are one array, as of the later ones of many hops."""
        return slice(None) if self.levels[k] is self.reached else np.searchsorted(self.reached, self.levels[k])


def steps(operators: Sequence[Operator], rows: Array, coefficients: Sequence[float]) -> Steps:
    """The way from R₀ = ``rows`` outwards, for Σ_k c_k Op₁ ⋯ Op_k; at least one hop.

    Coefficients other than the last may differ from zero where the operator has loops: then R_k lies in R_{k+1}. From a
    level of more than an eighth of the nodes on, all nodes are taken. Where a level is as the one before, one matrix serves all
    further steps.

    Returns
    -------
    Steps
        One sparse matrix for each hop, and the rows they reach.
    """
    n = len(operators[0].matrix.indptr) - 1
    levels: list[Array] = [np.asarray(rows)]
    matrices: list[csr_array] = []
    for place, operator in enumerate(operators):
        if len(levels) > 2 and operator is operators[place - 1] and np.array_equal(levels[-1], levels[-2]):
            matrix, reached = matrices[-1], levels[-1]
        else:
            matrix, reached = _step(operator, levels[-1], whole=8 * len(levels[-1]) > n and len(levels) > 1)
        matrices.append(matrix)
        levels.append(reached)
    return Steps(matrices, levels, tuple(coefficients))


def gathered(adjacency: Adjacency, rows: Array) -> csr_array:
    """A[rows, :] in float64, read from these rows alone.

    Returns
    -------
    csr_array of shape (m, n)
        The rows, float64.
    """
    require_unchanged(adjacency.indices)
    require_unchanged(adjacency.weights)
    starts = adjacency.indptr[rows]
    counts = adjacency.indptr[np.asarray(rows) + 1] - starts
    indptr = np.concatenate([[0], np.cumsum(counts)])
    places = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], counts)
    weights = np.ones(len(places)) if adjacency.weights is None else adjacency.weights[places].astype(np.float64)
    return csr_array((weights, adjacency.indices[places], indptr), shape=(len(counts), adjacency.n))


def around(adjacency: Adjacency, rows: Array, hops: int) -> Array:
    """Rows within so many hops of the given ones, themselves included, ascending.

    Returns
    -------
    array of int
        Row numbers, ascending.
    """
    inside = np.zeros(adjacency.n, bool)
    inside[rows] = True
    edge = np.flatnonzero(inside)
    for _ in range(hops):
        found = np.unique(gathered(adjacency, edge).indices)
        edge = found[~inside[found]]
        inside[edge] = True
    return np.flatnonzero(inside)


def _step(operator: Operator, rows: Array, whole: bool) -> tuple[csr_array, Array]:
    """Op[rows, reached] and reached: all nodes if ``whole``."""
    before, after, loop = operator.scaling
    block = gathered(operator.matrix, rows)  # type: ignore[arg-type]  # an operator's matrix is the graph's adjacency
    if whole:
        reached, place = np.arange(block.shape[1]), block.indices
    else:
        reached, place = _distinct(np.concatenate([block.indices, rows]) if loop else block.indices, block.shape[1])
        place = place[: block.nnz]
    block = csr_array((block.data, place, block.indptr), shape=(len(rows), len(reached)))
    if loop:
        loops = np.full(len(rows), loop), np.searchsorted(reached, rows), np.arange(len(rows) + 1)
        block = csr_array(block + csr_array(loops, shape=block.shape))
    if before is not None:
        block.data *= before[reached[block.indices]]
    if after is not None:
        block.data *= np.repeat(after[rows], np.diff(block.indptr))
    return block, reached


def _distinct(indices: Array, n: int) -> tuple[Array, Array]:
    """The indices below n that there are, ascending, and the place of each among them."""
    if 32 * len(indices) < n:
        return np.unique(indices, return_inverse=True)
    there = np.zeros(n, bool)
    there[indices] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[indices]
