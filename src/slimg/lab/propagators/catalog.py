"""The propagators of the paper's table.

Linear models: those that are propagators already.

    LR     X                                                                     features alone
    SGC    Ã_sym^K X                                                             Wu et al., ICML 2019
    DGC    [(1 − T/K) I + (T/K) Ã_sym]^K X                                       Wang et al., NeurIPS 2021
    S²GC   Σ_{k=1}^K (α I + (1 − α) Ã_sym^k) X                                   Zhu and Koniusz, ICLR 2021
    G²CN   ‖_{i=1}^N [I − (T_i/K)((b_i − 1) I + A_sym)²]^K X                     Li et al., ICML 2022

Of nonlinear networks, what is left without activations. Decoupled networks: a transformation of the features, then a
propagation, here without the transformation.

    PPNP      (I − (1 − α) Ã_sym)⁻¹ X                                                 Klicpera et al., ICLR 2019
    APPNP     [Σ_{k=0}^{K−1} α (1 − α)^k Ã_sym^k + (1 − α)^K Ã_sym^K] X               Klicpera et al., ICLR 2019
    GDC       S̃_sym X,   S = sparse_ε(α (I − (1 − α) Ã_sym)⁻¹)                        Klicpera et al., NeurIPS 2019
    GPR-GNN   ‖_{k=0}^K Ã_sym^k X                                                     Chien et al., ICLR 2021

S is personalised PageRank, its entries below ε removed; then loops are added and degrees normalised, in the order of
the paper's table. The paper's last table has APPNP and GPR-GNN; PPNP has APPNP's α, GDC the values of its own paper.

Coupled networks: each layer transforms and propagates; without activations the weights move to the end.

    ChebNet   ‖_{k=0}^{K−1} A_sym^k X                                            Defferrard et al., NIPS 2016
    GCN       Ã_sym^K X                                                          Kipf and Welling, ICLR 2017
    SAGE      ‖_{k=0}^K A_row^k X                                                Hamilton et al., NIPS 2017
    GCNII     ‖_{k=0}^{K−2} Ã_sym^k X ‖ ((1 − α) Ã_sym^K + α Ã_sym^(K−1)) X      Chen et al., ICML 2020
    H₂GCN     ‖_{k=0}^{2K} A_sym^k X                                             Zhu et al., NeurIPS 2020

Defaults and grids are those of the paper's last table; ChebNet is not in it and has powers up to two, as GCN and SAGE.

Attention networks: only partially linear, since their operators look at X through weight vectors w.

    GAT      Π_{k=1}^K [diag(X w_{k,1}) Ã + Ã diag(X w_{k,2})] X,   Ã = A + I      Veličković et al., ICLR 2018
    DA-GNN   Σ_{k=0}^K diag(Ã_sym^k X w) Ã_sym^k X                                 Liu et al., KDD 2020

The first factor of Π stands on the left, so layer K is applied first. Vectors that are not given are drawn from
N(0, 1/d) with ``random_state``: a fixed random attention, which a note on the result tells.

Graph kernels (Smola and Kondor, COLT 2003), with L = D^-½ (D − A) D^-½, zero on isolated nodes.

    regularised Laplacian   (I + σ² L)⁻¹ X
    diffusion               exp(−(σ²/2) L) X
    random walk             (a I − L)^p X

The paper prints a = 1, but its figures are those of a = 2, the default here.

SlimG's own columns, without hyperparameters; `slimg.components` computes them.

    U ‖ g(X) ‖ g(A_row² X) ‖ g(Ã_sym² X)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np

from slimg.components.compute import Components, compute_components, paper_components
from slimg.components.row_scaling import prepare_features
from slimg.engine.base import Array, Engine, RowMatrix
from slimg.errors import InputError
from slimg.graph.graph import Graph
from slimg.lab.propagators import expressions as ex
from slimg.lab.propagators.expressions import A_row, A_sym, At_sym, L, blocks, each, identity, summation
from slimg.lab.propagators.registry import FREE, Propagator, Registered, count, positive, register, share

_CATALOG: dict[str, dict[str, Any]] = json.loads(files("slimg.lab.propagators").joinpath("catalog.json").read_text("utf-8"))
"""Name → title, family, reference and grid (that of the paper's last table) of each."""


def _listed(name: str) -> Callable[[Registered], Registered]:
    return register(name, **_CATALOG[name])


# linear models ------------------------------------------------------------------------------------------------------


@_listed("lr")
@dataclass(frozen=True)
class LR(Propagator):
    """X."""

    def formula(self) -> ex.Expression:
        return identity

    def features(self, graph: Graph, engine: Engine, normalize_features: str | None) -> RowMatrix:
        """X, prepared; a sparse X stays sparse, since no hop fills it in."""
        if graph.features is None:
            return super().features(graph, engine, normalize_features)
        return prepare_features(engine, graph.features, normalize_features)


@_listed("sgc")
def sgc(K: int = count(2)) -> ex.Expression:
    """Ã_sym^K X."""
    return At_sym**K


@_listed("dgc")
@dataclass(frozen=True)
class DGC(Propagator):
    """[(1 − T/K) I + (T/K) Ã_sym]^K X: K steps of Euler's method for the heat equation up to time T ≤ K."""

    K: int = count(200, least=1)
    T: float = positive(5)

    def formula(self) -> ex.Expression:
        step = self.T / self.K
        return ((1 - step) * identity + step * At_sym) ** self.K

    def validate(self) -> None:
        super().validate()
        if self.T > self.K:
            raise InputError(f"dgc: steps of T/K above 1 diverge, but T = {self.T} and K = {self.K}: use more steps K")


@_listed("s2gc")
def s2gc(K: int = count(16, least=1), alpha: float = share(0.05)) -> ex.Expression:
    """Σ_{k=1}^K (α I + (1 − α) Ã_sym^k) X."""
    return summation(1, K, lambda k: alpha * identity + (1 - alpha) * At_sym**k)


@_listed("g2cn")
@dataclass(frozen=True)
class G2CN(Propagator):
    """‖_{i=1}^N [I − (T_i/K)((b_i − 1) I + A_sym)²]^K X: Gaussian filters around the eigenvalues 1 − b_i.

    T is one number for all N filters, or one for each.
    """

    K: int = count(100, least=1)
    N: int = count(2, least=1)
    T: float | Sequence[float] = 10
    b: Sequence[float] = (0, 2)

    def formula(self) -> ex.Concatenation:
        def gaussian(i: int) -> ex.Expression:
            return (identity - (_at(self.T, i) / self.K) * ((_at(self.b, i) - 1) * identity + A_sym) ** 2) ** self.K

        return blocks(each(1, self.N, gaussian, "i"))

    def validate(self) -> None:
        super().validate()
        given: dict[str, Any] = {"T": self.T, "b": self.b}
        for name, values in given.items():
            if _is_sequence(values) and len(values) != self.N:
                raise InputError(f"g2cn: {name} needs one value for each of the N = {self.N} filters, not {values!r}")
        for i in range(1, self.N + 1):
            time, band = _at(self.T, i), _at(self.b, i)
            if not (time > 0 and 0 <= band <= 2 and time / self.K * (1 + abs(band - 1)) ** 2 <= 2):
                needed = "filters need T > 0, 0 ≤ b ≤ 2 and (T/K)(1 + |b − 1|)² ≤ 2, or they diverge"
                raise InputError(f"g2cn: {needed}, but filter {i} has T = {time}, b = {band}, K = {self.K}")


def _at(values: Any, i: Any) -> Any:
    """The i-th value, counted from 1; a single number serves all, and a symbol gets an index."""
    if hasattr(values, "at"):
        return values.at(i)
    return values[i - 1] if _is_sequence(values) else values


def _is_sequence(values: Any) -> bool:
    return hasattr(values, "__getitem__")


# decoupled networks -------------------------------------------------------------------------------------------------


@_listed("ppnp")
def ppnp(alpha: float = share(0.1)) -> ex.Expression:
    """(I − (1 − α) Ã_sym)⁻¹ X."""
    return ex.Inverse(identity - (1 - alpha) * At_sym)


@_listed("appnp")
def appnp(K: int = count(10), alpha: float = share(0.1)) -> ex.Expression:
    """[Σ_{k=0}^{K−1} α (1 − α)^k Ã_sym^k + (1 − α)^K Ã_sym^K] X."""
    return summation(0, K - 1, lambda k: (alpha * (1 - alpha) ** k) * At_sym**k) + (1 - alpha) ** K * At_sym**K


@_listed("gdc")
def gdc(alpha: float = share(0.15), epsilon: float = positive(1e-4)) -> ex.Expression:
    """S̃_sym X with S = sparse_ε(α (I − (1 − α) Ã_sym)⁻¹)."""
    return ex.Diffused(alpha, epsilon)


@_listed("gprgnn")
def gprgnn(K: int = count(10)) -> ex.Concatenation:
    """‖_{k=0}^K Ã_sym^k X."""
    return blocks(each(0, K, lambda k: At_sym**k))


# coupled networks ---------------------------------------------------------------------------------------------------


@_listed("chebnet")
def chebnet(K: int = count(3, least=1)) -> ex.Concatenation:
    """‖_{k=0}^{K−1} A_sym^k X."""
    return blocks(each(0, K - 1, lambda k: A_sym**k))


@_listed("gcn")
def gcn(K: int = count(2)) -> ex.Expression:
    """Ã_sym^K X."""
    return At_sym**K


@_listed("sage")
def sage(K: int = count(2)) -> ex.Concatenation:
    """‖_{k=0}^K A_row^k X."""
    return blocks(each(0, K, lambda k: A_row**k))


@_listed("gcnii")
def gcnii(K: int = count(8, least=1), alpha: float = share(0.1)) -> ex.Concatenation:
    """‖_{k=0}^{K−2} Ã_sym^k X ‖ ((1 − α) Ã_sym^K + α Ã_sym^(K−1)) X."""
    return blocks(each(0, K - 2, lambda k: At_sym**k), (1 - alpha) * At_sym**K + alpha * At_sym ** (K - 1))


@_listed("h2gcn")
def h2gcn(K: int = count(1)) -> ex.Concatenation:
    """‖_{k=0}^{2K} A_sym^k X."""
    return blocks(each(0, 2 * K, lambda k: A_sym**k))


# attention networks -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Attending(Propagator):
    """Attention to X with the weight vectors w; random ones when they are not given."""

    K: int = count(2)
    w: Any = field(default=None, metadata=FREE)
    random_state: int = field(default=0, metadata=FREE)

    def notes(self) -> tuple[str, ...]:
        if self.w is not None:
            return ()
        return (f"{self.title}: weight vectors w were not given and are random (random_state = {self.random_state}).",)

    def _weights(self, shape: tuple[int, ...]) -> Array:
        if self.w is None:
            return np.random.default_rng(self.random_state).standard_normal(shape) / np.sqrt(shape[-1])
        given = np.asarray(self.w, float)
        if given.shape != shape:
            needed = " × ".join(map(str, shape))
            raise InputError(f"{self.name}: w must be an array of {needed} numbers, not of shape {given.shape}")
        return given


@_listed("gat")
class GAT(_Attending):
    """Π_{k=1}^K [diag(X w_{k,1}) Ã + Ã diag(X w_{k,2})] X; w: K × 2 × d."""

    def formula(self) -> ex.Expression:
        return ex.chain(1, self.K, ex.Attention)

    def vectors(self, layer: Any, d: int) -> Array:
        """w_{k,1} and w_{k,2} of layer k (d × 2)."""
        return self._weights((self.K, 2, d))[layer - 1].T


@_listed("dagnn")
@dataclass(frozen=True)
class DAGNN(_Attending):
    """Σ_{k=0}^K diag(Ã_sym^k X w) Ã_sym^k X; w: d."""

    K: int = count(10)

    def formula(self) -> ex.Expression:
        return summation(0, self.K, lambda k: ex.Gated(At_sym**k))

    def vectors(self, layer: Any, d: int) -> Array:
        """w (d × 1)."""
        return self._weights((d,))[:, None]


# kernels and SlimG --------------------------------------------------------------------------------------------------


@_listed("reg_kernel")
def reg_kernel(sigma: float = positive(1.0)) -> ex.Expression:
    """(I + σ² L)⁻¹ X."""
    return ex.Inverse(identity + sigma**2 * L)


@_listed("diff_kernel")
def diff_kernel(sigma: float = positive(1.0)) -> ex.Expression:
    """exp(−(σ²/2) L) X."""
    return ex.Exponential(-(sigma**2 / 2) * L)


@_listed("rw_kernel")
def rw_kernel(a: float = positive(2.0), p: int = count(2)) -> ex.Expression:
    """(a I − L)^p X; a ≥ 2 keeps all eigenvalues from below zero."""
    return (a * identity - L) ** p


@_listed("slimg")
@dataclass(frozen=True)
class Slim(Propagator):
    """U ‖ g(X) ‖ g(A_row² X) ‖ g(Ã_sym² X)."""

    random_state: int = field(default=0, metadata=FREE)

    def formula(self) -> ex.Concatenation:
        return blocks(ex.Structure(), ex.Reduced(identity), ex.Reduced(A_row**2), ex.Reduced(At_sym**2))

    def __call__(self, graph: Graph, engine: Engine | None = None, *, normalize_features: str | None = "row") -> Components:
        components = paper_components(normalize=normalize_features)
        return compute_components(graph, engine, components=components, random_state=self.random_state)
