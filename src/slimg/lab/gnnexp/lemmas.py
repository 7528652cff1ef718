"""The paper's rows as lemmas, and their proof on random graphs.

Each lemma has a network on the left, written in plain numpy from the network's own paper: layer by layer, with a loop
where the network has one and a weight where it has one. On the right are the blocks of the paper's table. Neither side
uses the library's operators or propagators: all matrices are formed by a few lines of numpy, checked against other
libraries, so that a proof does not share the mistakes it is to find.

    network(A, X, weights) ∈ span P(A, X) for all weights                 exact
    the same for the vectors w = W·a that the network's attention uses     partial
    not so; the residual says how far                                      inexact

P contains the network, and no longer does when a block is removed:

    residual(P, Y) = min_W ‖Y − P W‖_F / ‖Y‖_F

Zero (up to rounding) means that P contains the network for these weights. With n rows this is a statement only when P
has far fewer columns than n, so there must be three rows for each column. For each lemma, graph and draw of weights,

    containment   residual(all blocks, output)                        ≤ 10⁻⁸ where the paper claims equality
    tightness     min over blocks b of residual(all but b, output)    ≥ 10⁻⁶: every block is needed

A row of a single block is tight when the output is not zero. For lemmas that are not exact the residual is reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from slimg.engine.blas import one_thread
from slimg.errors import InputError, check_names

Array = np.ndarray
Claim = Literal["exact", "partial", "inexact"]
Blocks = dict[str, Array]
HIDDEN, CLASSES = 6, 5
K, ALPHA = 4, 0.15
EULER_STEPS, EULER_TIME = 20, 3.7
TIMES, BANDS = (1.5, 1.2), (0.2, 1.8)
THRESHOLD = 1e-3
ROUNDS = 2


@dataclass(frozen=True)
class Lemma:
    """One row of the paper's table.

    Attributes
    ----------
    name, formula : str
        As in the table.
    claim : {"exact", "partial", "inexact"}
        What is stated, see the module docstring.
    prove : callable
        ``prove(A, X, rng)`` draws weights and returns the network's output and the blocks of P.
    hyperparameters : mapping
        With these, the registered propagator of the same name has the same blocks.
    """

    name: str
    formula: str
    claim: Claim
    prove: Callable[[Array, Array, np.random.Generator], tuple[Array, Blocks]]
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)


LEMMAS: dict[str, Lemma] = {}


def lemma(name: str, formula: str, claim: Claim = "exact", **hyperparameters: Any) -> Callable:
    """Register a proof."""

    def register(prove: Callable) -> Callable:
        LEMMAS[name] = Lemma(name, formula, claim, prove, hyperparameters)
        return prove

    return register


def get(name: str) -> Lemma:
    """The lemma of that name.

    Returns
    -------
    Lemma
    """
    check_names("lemma", [name], LEMMAS)
    return LEMMAS[name]


# matrices, formed -----------------------------------------------------------------------------------------------------


def sym(a: Array) -> Array:
    """D^-½ A D^-½, zero on isolated nodes."""
    degree = a.sum(1)
    scale = np.where(degree > 0, degree, np.inf) ** -0.5
    return scale[:, None] * a * scale


def sym_with_loops(a: Array) -> Array:
    """D̃^-½ (A + I) D̃^-½."""
    return sym(a + np.eye(len(a)))


def row(a: Array) -> Array:
    """D⁻¹ A, zero on isolated nodes."""
    degree = a.sum(1)
    return a / np.where(degree > 0, degree, np.inf)[:, None]


def mean_of_neighbours(a: Array, h: Array) -> Array:
    """Node by node; zero without neighbours."""
    return np.stack([np.average(h, axis=0, weights=row) if row.any() else np.zeros(h.shape[1]) for row in a])


def powers(s: Array, x: Array, exponents: range) -> dict[str, Array]:
    """S^k X for each k, by name."""
    return {f"power {k}": np.linalg.matrix_power(s, k) @ x for k in exponents}


def hops(s: Array, h: Array) -> list[Array]:
    """h, S h, …, S^K h, one hop after the other."""
    reached = [h]
    for _ in range(K):
        reached.append(s @ reached[-1])
    return reached


def repeated(step: Callable[[Array], Array], h: Array, times: int = K) -> Array:
    """h after a number of steps of a network."""
    for _ in range(times):
        h = step(h)
    return h


# linear models ------------------------------------------------------------------------------------------------------


@lemma("lr", "X")
def lr(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """Y = X W."""
    return x @ _weight(rng, x.shape[1], CLASSES), {"X": x}


@lemma("sgc", "Ã_sym^K X", K=K)
def sgc(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """S hops K times, then W."""
    s = sym_with_loops(a)
    h = repeated(lambda h: s @ h, x)
    return h @ _weight(rng, x.shape[1], CLASSES), {"S^K X": np.linalg.matrix_power(s, K) @ x}


@lemma("dgc", "[(1 − T/K) I + (T/K) Ã_sym]^K X", K=EULER_STEPS, T=EULER_TIME)
def dgc(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """K Euler steps of size T/K on dH/dt = −(I − S)H, then W."""
    s, size = sym_with_loops(a), EULER_TIME / EULER_STEPS
    h = repeated(lambda h: h - size * (h - s @ h), x, EULER_STEPS)
    step = (1 - size) * np.eye(len(a)) + size * s
    return h @ _weight(rng, x.shape[1], CLASSES), {"P": np.linalg.matrix_power(step, EULER_STEPS) @ x}


@lemma("s2gc", "Σ_(k=1..K) (α I + (1 − α) Ã_sym^k) X", K=K, alpha=ALPHA)
def s2gc(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """The mean over k of (1 − α)S^k X + αX, then W."""
    s = sym_with_loops(a)
    mean = sum((((1 - ALPHA) * hop + ALPHA * x) / K for hop in hops(s, x)[1:]), start=np.zeros_like(x))
    p = sum(ALPHA * np.eye(len(a)) + (1 - ALPHA) * np.linalg.matrix_power(s, k) for k in range(1, K + 1))
    return mean @ _weight(rng, x.shape[1], CLASSES), {"P": p @ x}


@lemma("g2cn", "‖_i [I − (T_i/K)((b_i − 1) I + A_sym)²]^K X", K=K, N=2, T=TIMES, b=BANDS)
def g2cn(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """Σ_i θ_i H_i W with H_i ← H_i − (T_i/K)((b_i − 1)I + A_sym)² H_i, K times."""
    s, weight, blocks = sym(a), _weight(rng, x.shape[1], CLASSES), {}
    output = np.zeros((len(a), CLASSES))
    for place, (span, band) in enumerate(zip(TIMES, BANDS, strict=True)):
        h = x
        for _ in range(K):
            once = (band - 1) * h + s @ h
            h = h - span / K * ((band - 1) * once + s @ once)
        output = output + rng.uniform(0.5, 1.5) * h @ weight
        shifted = (band - 1) * np.eye(len(a)) + s
        filtered = np.eye(len(a)) - span / K * shifted @ shifted
        blocks[f"i = {place + 1}"] = np.linalg.matrix_power(filtered, K) @ x
    return output, blocks


# decoupled networks -------------------------------------------------------------------------------------------------


@lemma("ppnp", "(I − (1 − α) Ã_sym)⁻¹ X", alpha=ALPHA)
def ppnp(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """The fixed point of H ← (1 − α)S H + αXW, reached by iteration; P solves for it."""
    s, h_0 = sym_with_loops(a), _perceptron(x, rng)
    h = repeated(lambda h: (1 - ALPHA) * s @ h + ALPHA * h_0, h_0, 400)
    return h, {"P": np.linalg.solve(np.eye(len(a)) - (1 - ALPHA) * s, x)}


@lemma("appnp", "[Σ_(k<K) α(1 − α)^k Ã_sym^k + (1 − α)^K Ã_sym^K] X", K=K, alpha=ALPHA)
def appnp(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """H ← (1 − α)S H + αXW, K times."""
    s, h_0 = sym_with_loops(a), _perceptron(x, rng)
    h = repeated(lambda h: (1 - ALPHA) * s @ h + ALPHA * h_0, h_0)
    shares = [ALPHA * (1 - ALPHA) ** k for k in range(K)] + [(1 - ALPHA) ** K]
    return h, {"P": sum(share * np.linalg.matrix_power(s, k) for k, share in enumerate(shares)) @ x}


@lemma("gdc", "S̃_sym X,  S = sparse_ε(Σ_k α(1 − α)^k Ã_sym^k)", alpha=ALPHA, epsilon=THRESHOLD)
def gdc(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """One graph convolution over the diffused graph; the diffusion is a sum of 2⁹ powers, P inverts."""
    s = sym_with_loops(a)
    power, diffused = (1 - ALPHA) * s, ALPHA * np.eye(len(a))
    for _ in range(9):
        diffused = diffused + power @ diffused
        power = power @ power
    output = sym_with_loops(np.where(diffused >= THRESHOLD, diffused, 0)) @ _perceptron(x, rng)
    inverse = ALPHA * np.linalg.inv(np.eye(len(a)) - (1 - ALPHA) * s)
    return output, {"P": sym_with_loops(np.where(inverse >= THRESHOLD, inverse, 0)) @ x}


@lemma("gprgnn", "‖_(k=0..K) Ã_sym^k X", K=K)
def gprgnn(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """Σ_k γ_k S^k X W with learned γ."""
    s, h, gamma = sym_with_loops(a), _perceptron(x, rng), _weight(rng, K + 1)
    output: Array = sum(share * hop for share, hop in zip(gamma, hops(s, h), strict=True))
    return output, powers(s, x, range(K + 1))


# coupled networks ---------------------------------------------------------------------------------------------------


@lemma("chebnet", "‖_(k<K) A_sym^k X", K=K)
def chebnet(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """Σ_k T_k(2L/λ_max − I) X W_k with the graph's own λ_max."""
    laplacian = np.eye(len(a)) - sym(a)
    scaled = 2 * laplacian / np.linalg.eigvalsh(laplacian)[-1] - np.eye(len(a))
    before, current, output = x, scaled @ x, x @ _weight(rng, x.shape[1], CLASSES)
    for _ in range(1, K):
        output = output + current @ _weight(rng, x.shape[1], CLASSES)
        before, current = current, 2 * scaled @ current - before
    return output, powers(sym(a), x, range(K))


@lemma("gcn", "Ã_sym^K X", K=K)
def gcn(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """H ← S H W_l, K times."""
    s, h = sym_with_loops(a), x
    for size in (*[HIDDEN] * (K - 1), CLASSES):
        h = s @ (h @ _weight(rng, h.shape[1], size))
    return h, {"S^K X": np.linalg.matrix_power(s, K) @ x}


@lemma("sage", "‖_(k=0..K) A_row^k X", K=K)
def sage(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """H ← [H ‖ mean of the neighbours' H] W_l, K times."""
    h = x
    for size in (*[HIDDEN] * (K - 1), CLASSES):
        h = np.hstack([h, mean_of_neighbours(a, h)]) @ _weight(rng, 2 * h.shape[1], size)
    return h, powers(row(a), x, range(K + 1))


@lemma("gcnii", "‖_(k≤K−2) Ã_sym^k X ‖ ((1 − α) Ã_sym^K + α Ã_sym^(K−1)) X", K=K, alpha=ALPHA)
def gcnii(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """H ← ((1 − α)S H + αH₀)((1 − β_l)I + β_l W_l), K times."""
    s, h_0 = sym_with_loops(a), x @ _weight(rng, x.shape[1], HIDDEN)
    h = h_0
    for layer in range(1, K + 1):
        beta = np.log(0.5 / layer + 1)
        identity_map = (1 - beta) * np.eye(HIDDEN) + beta * _weight(rng, HIDDEN, HIDDEN)
        h = ((1 - ALPHA) * s @ h + ALPHA * h_0) @ identity_map
    blocks = powers(s, x, range(K - 1))
    last = np.linalg.matrix_power(s, K - 1)
    return h @ _weight(rng, HIDDEN, CLASSES), blocks | {"last": ((1 - ALPHA) * s @ last + ALPHA * last) @ x}


@lemma("h2gcn", "‖_(k=0..2K) A_sym^k X", "inexact", K=ROUNDS)
def h2gcn(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """H_l = [A_sym H ‖ A₂_sym H] with the strict two-hop neighbours A₂; all layers concatenated, then W."""
    near = a > 0
    strict = ((near.astype(float) @ near.astype(float)) > 0) & ~near & ~np.eye(len(a), dtype=bool)
    return _h2gcn(a, x, rng, sym(strict.astype(float)))


@lemma("h2gcn with A_sym² for two hops", "‖_(k=0..2K) A_sym^k X")
def h2gcn_squared(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """The same network with the two-hop average that the paper's row means."""
    return _h2gcn(a, x, rng, sym(a) @ sym(a))


# attention ----------------------------------------------------------------------------------------------------------


@lemma("gat", "[diag(X w₁) Ã + Ã diag(X w₂)] X", "partial")
def gat(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """One layer: e_ij = a_dst·W x_i + a_src·W x_j over the edges and loops; H = e X W."""
    return _gat(a, x, rng, CLASSES)


@lemma("gat with two layers", "Π_k [diag(X w_k1) Ã + Ã diag(X w_k2)] X", "inexact")
def gat_of_two_layers(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """The second layer attends to H; in P it attends to X, with the vectors W₁W₂a in their place."""
    return _gat(a, x, rng, HIDDEN, CLASSES)


@lemma("dagnn", "Σ_(k=0..K) diag(Ã_sym^k X w) Ã_sym^k X", "partial")
def dagnn(a: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Blocks]:
    """Σ_k diag(H_k s) H_k with H_k = S^k X W."""
    s, weight, retain = sym_with_loops(a), _weight(rng, x.shape[1], CLASSES), _weight(rng, CLASSES)
    output: Array = sum((h @ retain)[:, None] * h for h in hops(s, x @ weight))
    blocks = powers(s, x, range(K + 1)).values()
    return output, {"P": sum((hop @ (weight @ retain))[:, None] * hop for hop in blocks)}


# parts --------------------------------------------------------------------------------------------------------------


def _weight(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape) / np.sqrt(shape[0])


def _perceptron(x: Array, rng: np.random.Generator) -> Array:
    """Two layers without an activation."""
    return x @ _weight(rng, x.shape[1], HIDDEN) @ _weight(rng, HIDDEN, CLASSES)


def _gat(a: Array, x: Array, rng: np.random.Generator, *sizes: int) -> tuple[Array, Blocks]:
    """Layers of these sizes, and the product of diag(X w₁)Ã + Ã diag(X w₂) for Ã = A + I and the vectors of each layer."""
    loops, h, p, through = a + np.eye(len(a)), x, x, np.eye(x.shape[1])
    for size in sizes:
        weight, to, source = _weight(rng, h.shape[1], size), _weight(rng, size), _weight(rng, size)
        scores = (h @ weight @ to)[:, None] + (h @ weight @ source)[None, :]
        through = through @ weight
        p = (np.diag(x @ (through @ to)) @ loops + loops @ np.diag(x @ (through @ source))) @ p
        h = (loops * scores) @ h @ weight
    return h, {"P": p}


def _h2gcn(a: Array, x: Array, rng: np.random.Generator, two_hops: Array) -> tuple[Array, Blocks]:
    layers = [x @ _weight(rng, x.shape[1], HIDDEN)]
    for _ in range(ROUNDS):
        layers.append(np.hstack([sym(a) @ layers[-1], two_hops @ layers[-1]]))
    joined = np.hstack(layers)
    return joined @ _weight(rng, joined.shape[1], CLASSES), powers(sym(a), x, range(2 * ROUNDS + 1))


CONTAINED = 1e-8
TIGHT = 1e-6
ROWS_PER_COLUMN = 3
FEATURES = 4
SIZES = (150, 240)
MEAN_DEGREE = 6


@dataclass(frozen=True)
class Record:
    """The result of one lemma over all graphs.

    Attributes
    ----------
    lemma, formula : str
        Name of the lemma and P(A, X) as the paper has it.
    claim : {"exact", "partial", "inexact"}
        What the lemma states.
    graphs : int
        Number of graphs.
    residual, smallest_residual : float
        Largest and smallest residual of containment.
    tightness : float
        Smallest residual after the removal of one block.
    seconds : float
        Time taken.

    Examples
    --------
    >>> from slimg.lab.gnnexp import verify
    >>> record, = verify(["sgc"])
    >>> record.claim, record.holds
    ('exact', True)
    """

    lemma: str
    formula: str
    claim: Claim
    graphs: int
    residual: float
    smallest_residual: float
    tightness: float
    seconds: float

    @property
    def holds(self) -> bool:
        """Exact and partial forms: contained everywhere and tight everywhere. Inexact ones: not contained anywhere."""
        if self.claim == "inexact":
            return self.smallest_residual > CONTAINED
        return self.residual <= CONTAINED and self.tightness >= TIGHT

    def as_dict(self) -> dict[str, Any]:
        """The record for JSON and tables.

        Returns
        -------
        dict
            The attributes, and whether the lemma holds.
        """
        return asdict(self) | {"holds": self.holds}

    def __str__(self) -> str:
        verdict = {"exact": "holds", "partial": "holds as a partial form", "inexact": "is not exact"}[self.claim]
        verdict = verdict if self.holds else "FAILS"
        residual = f"residual {self.smallest_residual:.1e} to {self.residual:.1e} on {self.graphs} graphs"
        return f"{self.lemma}: {verdict}; {residual}, at least {self.tightness:.1e} without one block"


def verify(lemmas: Collection[str] | None = None, random_state: int = 0) -> list[Record]:
    """Check lemmas of the paper numerically, on every kind of graph in every size.

    Parameters
    ----------
    lemmas : collection of str, optional
        Names of lemmas, such as "sgc"; all of them by default.
    random_state : int, default=0
        Seed of graphs, features and weights.

    Returns
    -------
    list of Record
        One for each lemma, in the given order.

    Raises
    ------
    InputError
        If a lemma is not known.

    Examples
    --------
    >>> from slimg.lab.gnnexp import verify
    >>> [record.holds for record in verify(["lr", "gcn"])]
    [True, True]
    """
    if isinstance(lemmas, str) or not isinstance(random_state, int):
        raise InputError(f"verify takes a list of lemmas and a whole number as seed, not {lemmas!r} and {random_state!r}")
    chosen = [get(name) for name in (LEMMAS if lemmas is None else lemmas)]
    graphs = list(cases(random_state))
    with one_thread():  # the matrices are small: several threads would be slower, and change the last bits
        return [_record(lemma, graphs, random_state) for lemma in chosen]


def _record(lemma: Lemma, graphs: list[Case], random_state: int) -> Record:
    start = time.perf_counter()
    contained, tight = [], []
    for place, case in enumerate(graphs):
        output, blocks = lemma.prove(case.a, case.x, np.random.default_rng([random_state, 1, place]))
        contained.append(_residual_on(blocks, output))
        tight += [_residual_on({k: v for k, v in blocks.items() if k != name}, output) for name in blocks]
    seconds = time.perf_counter() - start
    return Record(lemma.name, lemma.formula, lemma.claim, len(graphs), max(contained), min(contained), min(tight), seconds)


def _residual_on(blocks: Blocks, output: np.ndarray) -> float:
    """1 when there is no block left."""
    return residual(np.hstack(list(blocks.values())), output) if blocks else 1.0


def residual(columns: np.ndarray, output: np.ndarray) -> float:
    """How far the output of a network is from the columns of a propagator.

    Columns are scaled to unit length first, since powers of an operator shrink.

    Parameters
    ----------
    columns : ndarray of shape (n, h)
    output : ndarray of shape (n, c)

    Returns
    -------
    float
        The relative residual of the module docstring, between 0 and 1.
    """
    n, h = columns.shape
    if n < ROWS_PER_COLUMN * h:
        raise InputError(f"a residual on {h} columns needs at least {ROWS_PER_COLUMN * h} rows, not {n}")
    lengths = np.linalg.norm(columns, axis=0)
    basis, sizes, _ = np.linalg.svd(columns[:, lengths > 0] / lengths[lengths > 0], full_matrices=False)
    basis = basis[:, sizes > sizes.max(initial=0.0) * n * np.finfo(float).eps]
    rest = output - basis @ (basis.T @ output)
    return float(np.linalg.norm(rest) / np.linalg.norm(output))


# random graphs --------------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """A graph to prove lemmas on: A (n × n, dense, symmetric, without loops) and X (n × FEATURES)."""

    a: np.ndarray
    x: np.ndarray


def cases(random_state: int = 0) -> Iterator[Case]:
    """Every kind of graph in every size, with Gaussian features."""
    for place, make in enumerate(KINDS.values()):
        for n in SIZES:
            rng = np.random.default_rng([random_state, place, n])
            yield Case(make(n, rng), rng.standard_normal((n, FEATURES)))


def uniform(n: int, rng: np.random.Generator) -> np.ndarray:
    """Every pair with the same probability; the last three nodes are isolated."""
    probability = np.full((n, n), MEAN_DEGREE / n)
    probability[:, -3:] = 0
    return _drawn(probability, rng)


def heterophilous(n: int, rng: np.random.Generator) -> np.ndarray:
    """Four clusters of which two pairs are linked, with a few edges elsewhere."""
    cluster = np.arange(n) % 4
    linked = cluster[:, None] == (cluster ^ 1)[None, :]
    return _drawn(np.where(linked, 4 * 0.8, 4 * 0.2 / 3) * MEAN_DEGREE / n, rng)


def heavy_tailed(n: int, rng: np.random.Generator) -> np.ndarray:
    """Expected degrees that fall as a power: few nodes have many edges."""
    expected = np.arange(1, n + 1) ** -0.5
    probability = np.outer(expected, expected) * MEAN_DEGREE * n / expected.sum() ** 2
    return _drawn(np.minimum(probability, 1), rng)


def several_components(n: int, rng: np.random.Generator) -> np.ndarray:
    """Three parts without an edge between them."""
    part = np.arange(n) % 3
    return _drawn((part[:, None] == part[None, :]) * (3 * MEAN_DEGREE / n), rng)


def weighted(n: int, rng: np.random.Generator) -> np.ndarray:
    """A uniform graph whose edges have weights between ½ and 2."""
    weights = np.triu(rng.uniform(0.5, 2, (n, n)), 1)
    return uniform(n, rng) * (weights + weights.T)


KINDS = {kind.__name__: kind for kind in (uniform, heterophilous, heavy_tailed, several_components, weighted)}


def _drawn(probability: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    upper = np.triu(rng.random(probability.shape) < probability, 1).astype(float)
    return upper + upper.T
