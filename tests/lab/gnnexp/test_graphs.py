"""Random graphs of the proofs: valid, of the kinds they claim, the same for the same seed."""

import numpy as np
import pytest

from slimg.lab.gnnexp.graphs import FEATURES, KINDS, SIZES, cases


@pytest.mark.parametrize("kind", KINDS)
def test_graphs_are_symmetric_without_loops(kind):
    a = KINDS[kind](200, np.random.default_rng(0))
    assert (a == a.T).all() and not a.diagonal().any() and (a >= 0).all()
    assert 3 < (a > 0).sum(1).mean() < 9


def test_kinds_are_what_they_claim():
    rng = np.random.default_rng(1)
    cluster = np.arange(400) % 4
    hetero = KINDS["heterophilous"](400, rng)
    assert hetero[cluster[:, None] == (cluster ^ 1)[None, :]].sum() > 0.7 * hetero.sum()
    assert (KINDS["heavy-tailed"](400, rng) > 0).sum(1).max() > 30
    part = np.arange(400) % 3
    assert KINDS["several components"](400, rng)[part[:, None] != part[None, :]].sum() == 0
    assert not KINDS["uniform"](400, rng)[-3:].any()
    weights = KINDS["weighted"](400, rng)
    assert len(np.unique(weights[weights > 0])) > 100


def test_the_same_seed_gives_the_same_graphs():
    first, second, other = list(cases(0)), list(cases(0)), list(cases(1))
    assert len(first) == len(KINDS) * len(SIZES) and first[0].x.shape == (SIZES[0], FEATURES)
    assert all((a.a == b.a).all() and (a.x == b.x).all() for a, b in zip(first, second, strict=True))
    assert not (first[0].x == other[0].x).all()
