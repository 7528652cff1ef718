"""Random graphs to prove lemmas on: kinds, sizes, weights and isolated nodes as real graphs have them.

All are dense symmetric matrices without loops: the proofs form every matrix they speak of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

FEATURES = 4
SIZES = (150, 240)
MEAN_DEGREE = 6


@dataclass(frozen=True)
class Case:
    """A (n × n), X (n × FEATURES) and a name."""

    name: str
    a: np.ndarray
    x: np.ndarray


def cases(random_state: int = 0) -> Iterator[Case]:
    """Every kind of graph in every size, with Gaussian features."""
    for place, (kind, make) in enumerate(KINDS.items()):
        for n in SIZES:
            rng = np.random.default_rng([random_state, place, n])
            a = make(n, rng)
            yield Case(f"{kind}, n = {n}", a, rng.standard_normal((n, FEATURES)))


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


KINDS: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
    "uniform": uniform,
    "heterophilous": heterophilous,
    "heavy-tailed": heavy_tailed,
    "several components": several_components,
    "weighted": weighted,
}


def _drawn(probability: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    upper = np.triu(rng.random(probability.shape) < probability, 1).astype(float)
    return upper + upper.T
