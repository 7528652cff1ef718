"""A derived propagator on a graph: named column blocks in float64.

    P(A, X) = ‖_b p_b X            each p_b a polynomial in operators

Operators are applied, never multiplied with each other: the words of all blocks are evaluated from their right ends,
and words that end alike share those products. Double precision, because the proofs ask for residuals of 10⁻⁸.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.lab.gnnexp.algebra import Polynomial, Symbol, Word
from slimg.lab.gnnexp.formula import block_text
from slimg.lab.gnnexp.symbols import Attention, Laplacian, Operator

TWO_HOP = "A2"
Array = TypeVar("Array")


@dataclass(frozen=True)
class Propagator:
    """P(A, X) without parameters, from `linearize`; call it on a graph.

    ``blocks`` are polynomials applied to X, ``bias_blocks`` to the vector of ones.
    """

    blocks: tuple[Polynomial, ...]
    bias_blocks: tuple[Polynomial, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the column blocks, all different; long formulas are shortened and may need a number."""
        texts = [block_text(block) for block in self.blocks]
        return tuple(text if texts.index(text) == place else f"{text} #{place + 1}" for place, text in enumerate(texts))

    @property
    def vectors(self) -> tuple[str, ...]:
        """Names of the weight vectors (d,) an attention form needs; empty for a linear network."""
        symbols = [symbol for symbol in symbols_of(self.blocks) if isinstance(symbol, Attention)]
        return tuple(sorted({name for symbol in symbols for name in symbol.vectors}))

    def __call__(
        self,
        graph: Any,
        features: Any = None,
        *,
        bias: bool = False,
        vectors: Mapping[str, Any] | None = None,
        graphs: Mapping[str, Any] | None = None,
    ) -> dict[str, np.ndarray]:
        """Column blocks by name: each p_b X (n × d); with ``bias`` also each q_s 1 (n × 1).

        Parameters
        ----------
        graph : a `slimg.Graph`, or A (n × n, symmetric, without loops) with ``features`` X (n × d)
        vectors : the weight vectors named by `vectors`
        graphs : matrices of further graphs by letter; "A2" is by default the strict two-hop neighbours of A
        """
        matrices, x = _as_matrices(graph, features, graphs or {}, symbols_of(self.blocks + self.bias_blocks))
        missing = [name for name in self.vectors if name not in (vectors or {})]
        if missing:
            raise InputError(f"this propagator needs the weight vectors {', '.join(missing)}: give vectors={{name: w}}")
        operators = {
            symbol: matrix(symbol, matrices, x, vectors or {}) for symbol in symbols_of(self.blocks + self.bias_blocks)
        }

        def apply(symbol: Symbol, array: np.ndarray) -> np.ndarray:
            return operators[symbol] @ array

        named = dict(zip(self.names, evaluate(self.blocks, x, apply, weighted_sum), strict=True))
        if bias:
            ones = evaluate(self.bias_blocks, np.ones((len(x), 1)), apply, weighted_sum)
            named |= dict(zip((block_text(block, "1") for block in self.bias_blocks), ones, strict=True))
        return named


def evaluate(
    blocks: Sequence[Polynomial],
    x: Array,
    apply: Callable[[Symbol, Array], Array],
    combine: Callable[[Sequence[float], Sequence[Array]], Array],
) -> list[Array]:
    """p_b x for each polynomial; every suffix of a word is computed once.

    ``apply`` is one operator times an array, ``combine`` a weighted sum of arrays.
    """
    reached: dict[Word, Array] = {Word(): x}

    def reach(word: Word) -> Array:
        path = []
        while word not in reached:
            symbol, rest = word.split()
            path.append((word, symbol))
            word = rest
        for longer, symbol in reversed(path):
            reached[longer] = apply(symbol, reached[word])
            word = longer
        return reached[word]

    def block(polynomial: Polynomial) -> Array:
        words, shares = zip(*polynomial.items(), strict=True)
        values = [reach(word) for word in words]
        return values[0] if shares == (1,) else combine([float(share) for share in shares], values)

    return [block(polynomial) for polynomial in blocks]


def weighted_sum(shares: Sequence[float], arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Σ share · array, in order."""
    result = shares[0] * arrays[0]
    for share, array in zip(shares[1:], arrays[1:], strict=True):
        result += share * array
    return result


def matrix(
    symbol: Symbol, matrices: Mapping[str, sp.csr_array], x: np.ndarray, vectors: Mapping[str, Any]
) -> sp.csr_array:
    """The n × n matrix a symbol stands for, on these graphs."""
    if isinstance(symbol, Operator):
        with_loops = _with_loops(matrices[symbol.graph], symbol.loops)
        degree = np.asarray(with_loops.sum(axis=1)).ravel()
        return _scaled_rows(with_loops, degree, symbol.left) @ sp.diags_array(_power(degree, symbol.right))
    if isinstance(symbol, Laplacian):
        plain = matrices[symbol.graph]
        return sp.csr_array(sp.diags_array(np.asarray(plain.sum(axis=1)).ravel()) - plain)
    if isinstance(symbol, Attention):
        with_loops = _with_loops(matrices[symbol.graph], symbol.loops)
        receiver, sender = (sp.diags_array(x @ np.asarray(vectors[name], float)) for name in symbol.vectors)
        return sp.csr_array(receiver @ with_loops + with_loops @ sender)
    raise InputError(f"no matrix is known for the operator {symbol.text}")


def two_hop_neighbours(adjacency: sp.csr_array) -> sp.csr_array:
    """0/1 matrix of the pairs at distance exactly two."""
    pattern = (adjacency != 0).astype(float)
    reached = (pattern @ pattern).tocoo()
    near = pattern.tocsr()
    distant = (reached.row != reached.col) & (np.asarray(near[reached.row, reached.col]).ravel() == 0)
    ends = (reached.row[distant], reached.col[distant])
    return sp.csr_array((np.ones(int(distant.sum())), ends), shape=adjacency.shape)


def symbols_of(blocks: Sequence[Polynomial]) -> list[Symbol]:
    """The operators of these polynomials, by name."""
    return sorted({symbol for block in blocks for symbol in block.symbols}, key=lambda symbol: symbol.text)


def _as_matrices(
    graph: Any, features: Any, graphs: Mapping[str, Any], symbols: Sequence[Any]
) -> tuple[dict[str, sp.csr_array], np.ndarray]:
    """CSR float64 matrices of every letter the symbols use, and X as a dense float64 array."""
    if hasattr(graph, "adjacency"):
        features = graph.features if features is None else features
        graph = graph.adjacency.to_scipy()
    if features is None:
        raise InputError("a propagator needs features X: give a graph that has them, or P(A, X)")
    x = np.asarray(features.toarray() if sp.issparse(features) else features, float)
    matrices = {"A": sp.csr_array(graph, dtype=float)} | {k: sp.csr_array(v, dtype=float) for k, v in graphs.items()}
    letters = {symbol.graph for symbol in symbols}
    if "B" in letters:
        matrices.setdefault("B", (matrices["A"] != 0).astype(float))
    if TWO_HOP in letters:
        matrices.setdefault(TWO_HOP, two_hop_neighbours(matrices["A"]))
    for letter in sorted(letters - matrices.keys()):
        raise InputError(f"this propagator uses a further graph {letter}: give graphs={{'{letter}': matrix}}")
    for letter, known in matrices.items():
        if known.shape != (len(x), len(x)):
            raise InputError(f"{letter} must be {len(x)} × {len(x)} as X has {len(x)} rows, not {known.shape}")
    return matrices, x


def _with_loops(plain: sp.csr_array, loops: Fraction) -> sp.csr_array:
    return sp.csr_array(plain + float(loops) * sp.eye_array(plain.shape[0], format="csr")) if loops else plain


def _scaled_rows(plain: sp.csr_array, degree: np.ndarray, power: Fraction) -> sp.csr_array:
    return sp.csr_array(sp.diags_array(_power(degree, power)) @ plain)


def _power(degree: np.ndarray, power: Fraction) -> np.ndarray:
    """degree^power, zero where the degree is zero and the power negative."""
    result = np.zeros(len(degree)) if power < 0 else np.ones(len(degree))
    return np.power(degree, float(power), out=result, where=degree > 0) if power else np.ones(len(degree))
