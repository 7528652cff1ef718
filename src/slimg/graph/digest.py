"""Digests of 64 bits for rows: equal rows have equal digests, different ones almost surely not.

    features   Σ_j bits(x_ij) · m_j  mod 2⁶⁴          m_j: an odd number by column, bits(0) = 0
    ids        the number itself, mixed; of other values the first eight bytes of BLAKE2b of their text
    node       mix(id) ⊕ mix(features) ⊕ mix(Σ_{j ∈ N(i)} mix(id_j) · bits(A_ij))

A node's bits do not depend on where in the graph it stands, so those of two graphs can be compared by id. The fingerprint
of a graph is the SHA-256 of the sorted bits of its nodes.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from slimg.graph.graph import Graph

BLOCK_ENTRIES = 1 << 22
"""Dense entries that are looked at together."""


def node_digests(graph: Graph) -> np.ndarray:
    """One uint64 per node: its id, its features, and the ids and weights of its neighbours."""
    ids = id_digests(graph.ids)
    adjacency = graph.adjacency
    strength = np.uint64(1) if adjacency.weights is None else _odd(adjacency.weights.view(np.uint32))
    carried = ids[adjacency.indices] * strength
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(carried, dtype=np.uint64)])
    around = sums[adjacency.indptr[1:]] - sums[adjacency.indptr[:-1]]
    return ids ^ _mixed(feature_digests(graph.features, graph.n)) ^ _mixed(around + np.uint64(1))


def fingerprint(digests: np.ndarray) -> str:
    """Of a whole graph, whatever the order of its nodes."""
    return hashlib.sha256(np.sort(digests).astype("<u8").tobytes()).hexdigest()


def feature_digests(features: Any, n: int) -> np.ndarray:
    """One uint64 per row of X; −0 counts as 0."""
    if features is None:
        return np.zeros(n, np.uint64)
    factors = _odd(np.arange(features.shape[1], dtype=np.uint64))
    if sp.issparse(features):
        terms = _bits(features.data) * factors[features.indices]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
        return sums[features.indptr[1:]] - sums[features.indptr[:-1]]
    step = max(1, BLOCK_ENTRIES // max(1, features.shape[1]))
    blocks = [features[start : start + step] for start in range(0, n, step)]
    return np.concatenate([(_bits(block) * factors).sum(axis=1, dtype=np.uint64) for block in blocks])


def id_digests(ids: np.ndarray) -> np.ndarray:
    """One uint64 per id."""
    if ids.dtype.kind in "iu":
        return _mixed(ids.astype(np.int64).view(np.uint64))
    values = ids.tolist()
    texts = (repr(value).encode("utf-8", "surrogatepass") for value in values)
    raw = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts)
    digests = np.frombuffer(raw, "<u8").astype(np.uint64)
    numbers = [k for k, value in enumerate(values) if type(value) is int and -(2**63) <= value < 2**63]
    if numbers:  # a number among texts is the same id as among numbers
        digests[numbers] = id_digests(np.array([values[k] for k in numbers], np.int64))
    return digests


def _bits(values: np.ndarray) -> np.ndarray:
    return (np.ascontiguousarray(values, np.float32) + np.float32(0)).view(np.uint32).astype(np.uint64)


def _odd(values: np.ndarray) -> np.ndarray:
    return _mixed(values.astype(np.uint64)) | np.uint64(1)


def _mixed(values: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64."""
    with np.errstate(over="ignore"):
        z = values + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
