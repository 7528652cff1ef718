"""Which sanity scenarios a propagator should survive, by its filter alone.

The graphs of the sanity checks have four clusters and mean degree δ = 33. Up to random fluctuations A_sym then has

    a bulk of eigenvalues on a semicircle of radius ρ = 2/√δ        noise: features of single nodes
    three eigenvalues μ + 1/(δμ) outside of it                      the clusters
        homophily     μ = 0.6/2.2 three times                       (1 inside a cluster, 0.4 elsewhere)
        heterophily   μ = 0.6/2.2 once, −0.6/2.2 twice

and Ã_sym has (δλ + 1)/(δ + 1), L has 1 − λ. For a block with filter f, mean and variance taken over the bulk,

    own    = mean(f)² / var(f)             how far a node's own features stand above those of the others that are mixed in
    gain   = |f(cluster)| / √mean(f²)      how much clusters stand above single nodes afterwards, relative to before

    semantic X, uniform A      own ≥ 20          only X helps: it must come through
    random X                   a block without X only A helps, and a filter of random X holds next to nothing of it
    structural X               gain ≥ 3/2        X tells the clusters weakly: they must be raised
    semantic X                 gain ≥ 0.9        X tells the classes: they must not be lowered

The gain is the best of all blocks, for the cluster (of either sign under heterophily) that fares worst. The three bounds
were set once, from the paper's figures for the linear models; attention has no filter, so only its random cases are known.
"""

from __future__ import annotations

import numpy as np

from slimg.errors import InputError
from slimg.lab.propagators.expressions import Expression, Structure, operators_of
from slimg.lab.propagators.registry import Propagator
from slimg.lab.propagators.spectrum import response
from slimg.lab.sanity.case import CASES

DEGREE = 6000 * 0.01 * (1 + 3 * 0.4) / 4
CLUSTER = 0.6 / 2.2 + 2.2 / 0.6 / DEGREE
OWN, RAISED, KEPT = 20.0, 1.5, 0.9
_ANGLES = np.pi * (np.arange(400) + 0.5) / 400
_BULK, _SHARE = 2 / np.sqrt(DEGREE) * np.cos(_ANGLES), np.sin(_ANGLES) ** 2 / np.sum(np.sin(_ANGLES) ** 2)


def survival(propagator: Propagator) -> dict[str, bool | None]:
    """Scenario → whether it should be survived; None where the filter does not tell."""
    blocks = list(propagator.blocks().values())
    structure = any(isinstance(block, Structure) for block in blocks)
    filters = [block for block in blocks if not isinstance(block, Structure)]
    known = all(response(block, np.zeros(1)) is not None for block in filters)

    def survives(name: str) -> bool | None:
        if name.startswith("random"):
            return structure
        return _by_filter(name, filters) if known else None

    return {name: survives(name) for name in CASES}


def own(block: Expression) -> float:
    """mean(f)²/var(f) over the bulk; infinite for X itself."""
    values = _filter(block, _BULK)
    mean = float(_SHARE @ values)
    variance = float(_SHARE @ (values - mean) ** 2)
    return mean**2 / variance if variance > 1e-24 * mean**2 else np.inf


def gain(block: Expression, sign: int) -> float:
    """|f(cluster)| relative to the bulk, for the eigenvalue of the clusters with this sign."""
    size = float(np.sqrt(_SHARE @ _filter(block, _BULK) ** 2))
    return float(np.abs(_filter(block, np.array([sign * CLUSTER]))[0])) / size


def _by_filter(name: str, blocks: list[Expression]) -> bool:
    features, structure = name.split("-")
    if structure == "uniform":
        return max(map(own, blocks)) >= OWN
    signs = (1,) if structure == "homophily" else (1, -1)
    weakest = min(max(gain(block, sign) for block in blocks) for sign in signs)
    return weakest >= (RAISED if features == "structural" else KEPT)


def _filter(block: Expression, eigenvalues: np.ndarray) -> np.ndarray:
    """f at eigenvalues of A_sym."""
    names = operators_of(block)
    name = next(iter(names)) if names else "A_sym"
    if name.startswith("Ã"):
        eigenvalues = (DEGREE * eigenvalues + 1) / (DEGREE + 1)
    elif name == "L":
        eigenvalues = 1 - eigenvalues
    values = response(block, eigenvalues)
    if values is None:
        raise InputError("only a function of one operator has a filter: attention and several operators have none")
    return values
