"""Linear models: those that are propagators already.

    LR     X                                                                     features alone
    SGC    Ã_sym^K X                                                             Wu et al., ICML 2019
    DGC    [(1 − T/K) I + (T/K) Ã_sym]^K X                                       Wang et al., NeurIPS 2021
    S²GC   Σ_{k=1}^K (α I + (1 − α) Ã_sym^k) X                                   Zhu and Koniusz, ICLR 2021
    G²CN   ‖_{i=1}^N [I − (T_i/K)((b_i − 1) I + A_sym)²]^K X                     Li et al., ICML 2022

Defaults and grids are those of the paper's last table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from slimg.components.row_scaling import prepare_features
from slimg.engine.base import Engine, RowMatrix
from slimg.errors import InputError
from slimg.graph.graph import Graph
from slimg.lab.propagators.expressions import A_sym, At_sym, Concatenation, Expression, blocks, each, identity, summation
from slimg.lab.propagators.registry import Propagator, count, positive, register, share


class _Linear(Propagator):
    family = "linear"


@register("lr", title="LR", reference="logistic regression on the features")
@dataclass(frozen=True)
class LR(_Linear):
    """X."""

    def formula(self) -> Expression:
        return identity

    def features(self, graph: Graph, engine: Engine, normalize_features: str | None) -> RowMatrix:
        """X, prepared; a sparse X stays sparse, since no hop fills it in."""
        if graph.features is None:
            return super().features(graph, engine, normalize_features)
        return prepare_features(engine, graph.features, normalize_features)


@register("sgc", title="SGC", reference="Wu et al., Simplifying Graph Convolutional Networks, ICML 2019")
@dataclass(frozen=True)
class SGC(_Linear):
    """Ã_sym^K X."""

    K: int = count(2)

    def formula(self) -> Expression:
        return At_sym**self.K


@register(
    "dgc", title="DGC", reference="Wang et al., Dissecting the Diffusion Process in Linear Graph Networks, NeurIPS 2021"
)
@dataclass(frozen=True)
class DGC(_Linear):
    """[(1 − T/K) I + (T/K) Ã_sym]^K X: K steps of Euler's method for the heat equation up to time T ≤ K."""

    K: int = count(200, least=1)
    T: float = positive(5)
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {"T": (3, 4, 5, 6)}

    def formula(self) -> Expression:
        step = self.T / self.K
        return ((1 - step) * identity + step * At_sym) ** self.K

    def validate(self) -> None:
        super().validate()
        if self.T > self.K:
            raise InputError(f"dgc: steps of T/K above 1 diverge, but T = {self.T} and K = {self.K}: use more steps K")


@register("s2gc", title="S²GC", reference="Zhu and Koniusz, Simple Spectral Graph Convolution, ICLR 2021")
@dataclass(frozen=True)
class S2GC(_Linear):
    """Σ_{k=1}^K (α I + (1 − α) Ã_sym^k) X."""

    K: int = count(16, least=1)
    alpha: float = share(0.05)
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {"alpha": (0.01, 0.03, 0.05, 0.07, 0.09)}

    def formula(self) -> Expression:
        return summation(1, self.K, lambda k: self.alpha * identity + (1 - self.alpha) * At_sym**k)


@register("g2cn", title="G²CN", reference="Li et al., G²CN: Graph Gaussian Convolution Networks, ICML 2022")
@dataclass(frozen=True)
class G2CN(_Linear):
    """‖_{i=1}^N [I − (T_i/K)((b_i − 1) I + A_sym)²]^K X: Gaussian filters around the eigenvalues 1 − b_i.

    T is one number for all N filters, or one for each.
    """

    K: int = count(100, least=1)
    N: int = count(2, least=1)
    T: float | Sequence[float] = 10
    b: Sequence[float] = (0, 2)
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {"T": (10, 20, 30, 40)}

    def formula(self) -> Concatenation:
        def gaussian(i: int) -> Expression:
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
                raise InputError(
                    f"g2cn: filters need T > 0, 0 ≤ b ≤ 2 and (T/K)(1 + |b − 1|)² ≤ 2, or they diverge, but filter {i}"
                    f" has T = {time}, b = {band}, K = {self.K}"
                )


def _at(values: Any, i: Any) -> Any:
    """The i-th value, counted from 1; a single number serves all, and a symbol gets an index."""
    if hasattr(values, "at"):
        return values.at(i)
    return values[i - 1] if _is_sequence(values) else values


def _is_sequence(values: Any) -> bool:
    return hasattr(values, "__getitem__")
