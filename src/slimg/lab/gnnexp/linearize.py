"""The linear propagator of a network, derived from its code, and evaluated on a graph.

    f(A, X; θ) without activations  =  Σ_t p_t(A) · X · M_t(θ) + Σ_s q_s(A) · 1 · r_s(θ)
    P(A, X)                         =  ‖_b b(A) · X         b: a basis of the span of the p_t

The network is traced (`interpreter`), each recorded call is applied to abstract values (`values`) by the rule of its layer
or function (`layers`, `functions`), and the polynomials of the result are reduced to a basis of their span
(`algebra`). The values of weights are never read: the result holds for all of them.

On a graph, operators are applied, never multiplied with each other: the words of all blocks are evaluated from their right
ends, and words with a common right end share those products. Double precision, because the proofs need residuals of 10⁻⁸.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError, require
from slimg.lab.gnnexp.algebra import Attention, Laplacian, Operator, Polynomial, Symbol, Word
from slimg.lab.gnnexp.rules import Note
from slimg.lab.gnnexp.values import ONES, TWO_HOP, Value
from slimg.lab.gnnexp.writing import block_text, propagator_latex, propagator_text
from slimg.lab.propagators import registry
from slimg.lab.propagators.evaluation import two_hop_neighbours
from slimg.lab.propagators.expressions import Concatenation, Expression, Hop, chain, identity
from slimg.linalg.operators import OPERATORS

Named = Mapping[str, Any] | None
Matrices = dict[str, sp.csr_array]


@dataclass(frozen=True)
class Propagator:
    """P(A, X) of a network as a function of a graph, from `linearize`.

    Attributes
    ----------
    blocks : tuple of Polynomial
        Applied to X.
    bias_blocks : tuple of Polynomial
        Applied to the vector of ones.
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
        symbols = _symbols(self.blocks)
        return tuple(sorted({name for symbol in symbols if isinstance(symbol, Attention) for name in symbol.vectors}))

    def __call__(
        self, graph: Any, features: Any = None, *, bias: bool = False, vectors: Named = None, graphs: Named = None
    ) -> dict[str, np.ndarray]:
        """Evaluate the propagator in double precision.

        Parameters
        ----------
        graph : slimg.Graph or array-like or sparse matrix of shape (n, n)
            The graph, or A (symmetric, without loops) together with ``features``.
        features : array-like or sparse matrix of shape (n, d), optional
            X; by default that of the graph.
        bias : bool, default=False
            Whether to add the columns q_s 1 of the biases.
        vectors : mapping of str to array-like of shape (d,), optional
            The weight vectors named by `vectors`.
        graphs : mapping of str to matrix of shape (n, n), optional
            Further graphs by letter; "A2" is by default the strict two-hop neighbours of A.

        Returns
        -------
        dict of str to ndarray
            Column blocks by name: each p_b X of shape (n, d), each q_s 1 of shape (n, 1).

        Raises
        ------
        InputError
            If features, weight vectors or a further graph are missing, or shapes do not agree.
        """
        symbols, vectors = _symbols(self.blocks + self.bias_blocks), vectors or {}
        matrices, x = _as_matrices(graph, features, graphs, symbols)
        missing = [name for name in self.vectors if name not in vectors]
        if missing:
            raise InputError(f"this propagator needs the weight vectors {', '.join(missing)}: pass vectors={{name: w}}")
        operators = {symbol: _matrix(symbol, matrices, x, vectors) for symbol in symbols}
        named = dict(zip(self.names, evaluate(self.blocks, x, operators), strict=True))
        if bias:
            ones = evaluate(self.bias_blocks, np.ones((len(x), 1)), operators)
            named |= dict(zip((block_text(block, ONES) for block in self.bias_blocks), ones, strict=True))
        return named


@dataclass(frozen=True)
class Linearization:
    """The linear propagator of a network, and what was changed to obtain it.

    Attributes
    ----------
    name : str
        Class of the network.
    blocks : tuple of Polynomial
        Polynomials in operators; block b has the columns b(A)·X.
    bias_blocks : tuple of Polynomial
        Polynomials applied to the vector of ones: those of the biases.
    removed : tuple of Note
        Activations that became the identity, with the line of the user's code.
    problems : tuple of Note
        What is not exact, with the line; empty when P contains the activation-free network for all weights.

    Examples
    --------
    >>> from slimg.lab.gnnexp import Linearization
    >>> from slimg.lab.gnnexp.algebra import IDENTITY, normalised
    >>> hop = normalised("A", "sym", loops=1)
    >>> print(Linearization("Residual", (IDENTITY, hop**2), ()))
    Residual: P(A, X) = X ‖ Ã_sym² X
    """

    name: str
    blocks: tuple[Polynomial, ...]
    bias_blocks: tuple[Polynomial, ...]
    removed: tuple[Note, ...] = ()
    problems: tuple[Note, ...] = ()

    @property
    def formula(self) -> str:
        """P(A, X) in unicode."""
        return propagator_text(self.blocks)

    @property
    def latex(self) -> str:
        """P(A, X) in LaTeX."""
        return propagator_latex(self.blocks)

    @property
    def bias_formula(self) -> str:
        """The blocks of the biases in unicode, 0 without any."""
        return propagator_text(self.bias_blocks, ONES)

    @property
    def propagator(self) -> Propagator:
        """P as a function of a graph, in double precision; see `register` for large graphs."""
        return Propagator(self.blocks, self.bias_blocks)

    @property
    def exact(self) -> bool:
        """Whether nothing but activations was changed."""
        return not self.problems

    def register(self, name: str) -> registry.Propagator:
        """Register P under a name for `slimg.lab.propagators.get` and `LinearGNN`.

        Parameters
        ----------
        name : str
            The new name.

        Returns
        -------
        slimg.lab.propagators.registry.Propagator
            The registered propagator, which runs on every engine.

        Raises
        ------
        InputError
            If P uses an operator that engines cannot apply.
        """
        formula = concatenation(self.blocks)
        registry.register(name, title=self.name)(lambda: formula)
        return registry.get(name)

    def __str__(self) -> str:
        lines = [f"{self.name}: P(A, X) = {self.formula}"]
        lines += [f"  biases: {self.bias_formula}"] if self.bias_blocks else []
        lines += [f"  removed: {note}" for note in self.removed]
        return "\n".join([*lines, *(f"  not exact: {note}" for note in self.problems)])


def linearize(module: Any, inputs: Mapping[str, str] | None = None) -> Linearization:
    """Derive the linear propagator of a network made of PyTorch Geometric layers.

    Parameters
    ----------
    module : torch.nn.Module
        The network; it is neither run nor changed.
    inputs : mapping of str to str, optional
        Roles of arguments of its forward whose names do not say, see `slimg.lab.gnnexp.rules`.

    Returns
    -------
    Linearization
        The propagator, with notes on what was removed and what is not exact.

    Raises
    ------
    MissingExtra
        If torch or torch_geometric is not installed.
    InputError
        If the network has no linear form or uses a layer without a rule; with file and line.

    Examples
    --------
    >>> from torch_geometric.nn import SGConv  # doctest: +SKIP
    >>> print(linearize(SGConv(16, 4, K=2)).formula)  # doctest: +SKIP
    Ã_sym² X
    """
    torch = require("torch", "gnn", "gnnexp.linearize")
    require("torch_geometric", "gnn", "gnnexp.linearize")
    from slimg.lab.gnnexp.interpreter import Interpreter

    if not isinstance(module, torch.nn.Module):
        kind = f"the class {module.__name__}" if inspect.isclass(module) else type(module).__name__
        raise InputError(f"linearize takes a torch.nn.Module, not {kind}: build the network first")
    if not isinstance(inputs or {}, Mapping):
        raise InputError(f"inputs must be a mapping from arguments of forward to roles, not {inputs!r}")
    interpreter, training = Interpreter(), {part: part.training for part in module.modules()}
    module.eval()
    try:
        value = _first_value(interpreter.forward(module, inputs or {}), interpreter.problems)
    finally:
        for part, mode in training.items():
            part.training = mode
    notes = (tuple(dict.fromkeys(noted)) for noted in (interpreter.removed, interpreter.problems))  # once per line
    return Linearization(type(module).__name__, value.blocks(), value.blocks(ONES), *notes)


def _first_value(result: Any, problems: list[Note]) -> Value:
    """The node values a network returns; the first when it returns several."""
    parts = list(result.values()) if isinstance(result, dict) else result
    values = [part for part in (parts if isinstance(parts, (tuple, list)) else [parts]) if isinstance(part, Value)]
    if not values:
        raise InputError("forward does not return values at the nodes: linearize needs a network that classifies nodes")
    if len(values) > 1:
        problems.append(Note("forward returns several values: the propagator is that of the first"))
    return values[0]


# evaluation on a graph ----------------------------------------------------------------------------------------------


def evaluate(blocks: Sequence[Polynomial], x: np.ndarray, operators: Mapping[Symbol, Any]) -> list[np.ndarray]:
    """Apply polynomials to x; every suffix of a word is computed once.

    Parameters
    ----------
    blocks : sequence of Polynomial
    x : ndarray of shape (n, d)
    operators : mapping of Symbol to matrix of shape (n, n)

    Returns
    -------
    list of ndarray of shape (n, d)
        p_b x for each polynomial.
    """
    reached: dict[Word, np.ndarray] = {}

    def reach(word: Word) -> np.ndarray:
        value = x
        for symbol, suffix in word.steps():
            if suffix not in reached:
                reached[suffix] = operators[symbol] @ value
            value = reached[suffix]
        return value

    return [_combined(polynomial, reach) for polynomial in blocks]


def _combined(polynomial: Polynomial, term: Callable[[Word], Any]) -> Any:
    """Σ c_w · term(w)."""
    first, *rest = (term(word) if share == 1 else float(share) * term(word) for word, share in polynomial.items())
    return sum(rest, start=first)


def _symbols(blocks: Sequence[Polynomial]) -> list[Any]:
    """The operators of these polynomials, by name."""
    return sorted({symbol for block in blocks for symbol in block.symbols}, key=lambda symbol: symbol.text)


def _as_matrices(graph: Any, features: Any, graphs: Named, symbols: Sequence[Any]) -> tuple[Matrices, np.ndarray]:
    """CSR float64 matrices of every letter the symbols use, and X as a dense float64 array."""
    if hasattr(graph, "adjacency"):
        features = graph.features if features is None else features
        graph = graph.adjacency.to_scipy()
    if features is None:
        raise InputError("a propagator needs features X: pass a graph that has them, or P(A, X)")
    x = np.asarray(features.toarray() if sp.issparse(features) else features, float)
    matrices = {k: sp.csr_array(v, dtype=float) for k, v in {"A": graph, **(graphs or {})}.items()}
    letters = {symbol.graph for symbol in symbols}
    if "B" in letters:
        matrices.setdefault("B", (matrices["A"] != 0).astype(float))
    if TWO_HOP in letters:
        matrices.setdefault(TWO_HOP, two_hop_neighbours(matrices["A"]))
    for letter in sorted(letters - matrices.keys()):
        raise InputError(f"this propagator uses a further graph {letter}: pass graphs={{'{letter}': matrix}}")
    for letter, known in matrices.items():
        if known.shape != (len(x), len(x)):
            raise InputError(f"{letter} must be {len(x)} × {len(x)} as X has {len(x)} rows, not {known.shape}")
    return matrices, x


def _matrix(symbol: Any, matrices: Matrices, x: np.ndarray, vectors: Mapping[str, Any]) -> sp.csr_array:
    """The n × n matrix of a symbol on these graphs."""
    plain = matrices[symbol.graph]
    if isinstance(symbol, Laplacian):
        return sp.csr_array(sp.diags_array(np.asarray(plain.sum(axis=1)).ravel()) - plain)
    if symbol.loops:
        plain = sp.csr_array(plain + float(symbol.loops) * sp.eye_array(plain.shape[0], format="csr"))
    if isinstance(symbol, Attention):
        receiver, sender = (sp.diags_array(x @ np.asarray(vectors[name], float)) for name in symbol.vectors)
        return sp.csr_array(receiver @ plain + plain @ sender)
    degree = np.asarray(plain.sum(axis=1)).ravel()
    left, right = (sp.diags_array(_power(degree, power)) for power in (symbol.left, symbol.right))
    return sp.csr_array(left @ plain) @ right


def _power(degree: np.ndarray, power: Fraction) -> np.ndarray:
    """degree^power, zero where the degree is zero and the power negative."""
    result = np.zeros(len(degree)) if power < 0 else np.ones(len(degree))
    return np.power(degree, float(power), out=result, where=degree > 0) if power else result


# derived propagators as registered ones -----------------------------------------------------------------------------


def concatenation(blocks: Sequence[Polynomial]) -> Concatenation:
    """Polynomials in operators as a formula of `slimg.lab.propagators`, Σ_w c_w S₁^k₁ S₂^k₂ … ↦ Σ c_w · Π (hops).

    Returns
    -------
    Concatenation
        It can be computed by every engine, with a size that is checked before.
    """
    return Concatenation(tuple(_combined(block, _product) for block in blocks))


def _product(word: Word) -> Expression:
    factors = [_hop(symbol) if power == 1 else _hop(symbol) ** power for symbol, power in word.factors]
    if len(factors) > 1:
        return chain(1, len(factors), lambda place: factors[place - 1])
    return factors[0] if factors else identity


def _hop(symbol: Symbol) -> Expression:
    if isinstance(symbol, Operator) and symbol.graph == "A" and symbol.text in OPERATORS:
        return Hop(symbol.text)
    known, text = ", ".join(OPERATORS), symbol.text
    raise InputError(f"the operator {text} is not one engines can apply ({known}): call the propagator on A and X instead")
