"""The one home of normalisation: each operator is a scaling before and after a pass over A, and the strength of a loop.

With D = diag(A·1) and D̃ = D + I,

    A      = A                           A_row  = D⁻¹ A                A_sym  = D^-½ A D^-½
    Ã_row  = D̃⁻¹ (A + I)                 Ã_sym  = D̃^-½ (A + I) D̃^-½

The row of an isolated node is zero in A, A_row and A_sym, and its loop alone in Ã_row and Ã_sym. A is symmetric, so the
transpose of an operator is the same pass with ``before`` and ``after`` exchanged, and powers are repeated passes: no
normalised matrix is ever stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slimg.engine.base import Engine, RowMatrix, Scaling, Sparse
from slimg.errors import choices
from slimg.graph.adjacency import Adjacency

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
    """

    name: str
    matrix: Sparse
    scaling: Scaling

    @property
    def transposed(self) -> Operator:
        """The transposed operator."""
        before, after, loop = self.scaling
        return Operator(f"{self.name}ᵀ", self.matrix, Scaling(after, before, loop))

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
        for _ in range(hops):
            row_matrix = self.apply(engine, row_matrix)
        return row_matrix


def operator(name: str, adjacency: Adjacency) -> Operator:
    """Return a normalised operator over a graph.

    Parameters
    ----------
    name : {"A", "A_row", "A_sym", "Ã_row", "Ã_sym"}
        The normalisation.
    adjacency : Adjacency
        A, symmetric, n × n.

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
        return Operator(name, adjacency, Scaling())
    degree = adjacency.degree() + loop
    if name.endswith("_row"):
        return Operator(name, adjacency, Scaling(None, _inverse_power(degree, 1.0), loop))
    scale = _inverse_power(degree, 0.5)
    return Operator(name, adjacency, Scaling(scale, scale, loop))


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
    """
    return engine.products(operators[0].matrix, row_matrix, [each.scaling for each in operators])


def _inverse_power(degree: np.ndarray, power: float) -> np.ndarray:
    """degree^-power as float32, zero where the degree is zero."""
    scale = np.zeros(len(degree))
    np.power(degree, -power, out=scale, where=degree > 0)
    return scale.astype(np.float32)
