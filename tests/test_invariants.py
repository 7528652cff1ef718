"""What must not change a prediction: order of nodes, names of classes, copies and scale of features, types, threads, engines.

``SLIMG_EXAMPLES`` is the number of graphs for each (`benchmarks/invariants.py` takes 1,000).
"""

import os
from typing import NamedTuple

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slimg import Graph, SlimG
from slimg.components import Features, PropagatedFeatures, Structure
from slimg.engine.mapped import MappedEngine
from slimg.engine.memory import MemoryEngine
from slimg.learn.objective import log_loss, softmax

GROUP = 2e-2
"""λ₂ of all fits; λ₁ is zero."""
ROUNDING = 3e-4
"""Of scores, from rows of components in float32."""
UNIQUE = 1e-3
"""Singular value below which components add the same to the scores of labelled rows."""
EXAMPLES = int(os.environ.get("SLIMG_EXAMPLES", "4"))
many = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@st.composite
def graphs(draw, counts=None):
    """Parts of a graph of two or three classes: edges (m × 2), features, labels of the first half."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, c, d = draw(st.integers(16, 40)), draw(st.integers(2, 3)), draw(st.integers(2, 6))
    homophily, counts = draw(st.sampled_from([0.0, 0.5, 0.9])), draw(st.booleans()) if counts is None else counts
    classes = rng.permutation(np.arange(n) % c)
    ends = rng.integers(0, n, (6 * n, 2))
    same = classes[ends[:, 0]] == classes[ends[:, 1]]
    edges = ends[np.where(rng.random(len(ends)) < homophily, same, True) & (ends[:, 0] != ends[:, 1])]
    means = 1 + 2 * (np.arange(d)[None] % c == classes[:, None])
    features = rng.poisson(means).astype(np.float32) if counts else (means + rng.normal(size=(n, d))).astype(np.float32)
    features[:, 0] += 1  # no row is empty
    return edges, features, classes, rng


def labels_of(classes, names="abc"):
    order = np.argsort(classes, kind="stable")
    known = {int(node) for code in np.unique(classes) for node in order[classes[order] == code][:5]}
    return [names[code] if node in known else None for node, code in enumerate(classes)]


def graph_of(edges, features, labels, **options):
    return Graph.from_edges(edges, np.arange(len(labels)), labels=labels, features=features, **options)


class Fitted(NamedTuple):
    """Centred scores of all nodes (n × c), rows that were learned from, weights of the components, the duality gap, and
    whether the minimum is unique."""

    scores: np.ndarray
    labelled: np.ndarray
    weights: dict[str, np.ndarray]
    gap: float
    unique: bool


def is_unique(model, rows):
    """Whether no component can take over what another adds to the scores of labelled rows at the same price.

    With u_g the direction of W_g, a sum Σ a_g F_g u_g that is constant for each class and has Σ a_g = 0 changes neither loss
    nor penalty: labelled rows do not tell such components apart, and what they give other nodes is left open.
    """
    used = {name: weights for name, weights in model.coef_.items() if weights.any()}
    adds = [model.components_.blocks[name][rows] @ (weights / np.linalg.norm(weights)) for name, weights in used.items()]
    adds = [each - each.mean(axis=1, keepdims=True) for each in adds]
    columns = [np.append((each - each.mean(axis=0)).ravel(), 1.0) for each in adds]
    return len(columns) < 2 or np.linalg.svd(np.array(columns), compute_uv=False)[-1] > UNIQUE


def fitted(graph, engine="memory"):
    """A fit with one pair of penalties, under which a rotation of a component changes nothing."""
    components = [Structure(rank=8), Features(rank=8), PropagatedFeatures(rank=8)]
    model = SlimG(components=components, grid=[(0.0, GROUP)], tol=1e-7, max_iter=500, engine=engine).fit(graph)
    assert model.converged_, model.dual_gap_
    scores, codes = model.decision_function().astype(np.float64), graph.codes[model.trained_on_]
    gap = model.dual_gap_ * log_loss(np.log(np.bincount(codes) / len(codes))[None].repeat(len(codes), 0), codes)
    unique = engine != "memory" or is_unique(model, model.trained_on_)
    return Fitted(scores - scores.mean(axis=1, keepdims=True), model.trained_on_, model.coef_, gap, unique)


def scores(graph, engine="memory"):
    return fitted(graph, engine).scores


def assert_close(one, other, order=slice(None), columns=slice(None)):
    """Equal scores, up to what the duality gap leaves open and the rounding of float32 rows.

    A solution W within g of the optimum W* has KL(p*_i, p_i) summed over the m labelled rows of at most m g, so that
    probabilities of a labelled node differ by √(2 m g) at most (Pinsker); and λ₂ (‖W_g‖ − ⟨W_g, W*_g⟩/‖W*_g‖) ≤ g, so that
    what W_g has across W*_g is at most √(2 g ‖W_g‖/λ₂) long, which is what it adds to the score of a row of unit length. Two
    solutions differ by twice that. Where the minimum is not unique (`is_unique`), labelled nodes alone are compared.
    """
    gap = max(one.gap, other.gap)
    left, right = one.scores[order], other.scores[:, columns]
    lengths = [max(np.linalg.norm(one.weights[name]), np.linalg.norm(other.weights[name])) for name in one.weights]
    across = 2 * np.sqrt(2 * gap * np.array(lengths) / GROUP).sum()
    labelled = other.labelled
    rows = slice(None) if one.unique and other.unique else labelled
    np.testing.assert_allclose(left[rows], right[rows], rtol=0, atol=across + ROUNDING * max(1.0, np.abs(left).max()))
    distance = np.abs(softmax(left[labelled]) - softmax(right[labelled])).sum(axis=1)
    assert distance.max() <= 2 * np.sqrt(2 * len(labelled) * gap) + ROUNDING


@many
@given(graphs())
def test_order_of_nodes(parts):
    edges, features, classes, rng = parts
    labels, order = labels_of(classes), rng.permutation(len(classes))
    place = np.argsort(order)
    moved = graph_of(place[edges], features[order], [labels[node] for node in order])
    assert_close(fitted(graph_of(edges, features, labels)), fitted(moved), order)


@many
@given(graphs())
def test_names_of_classes(parts):
    edges, features, classes, _ = parts
    c = int(classes.max()) + 1
    one, other = (fitted(graph_of(edges, features, labels_of(classes, names))) for names in ("abc", "zyx"))
    assert_close(one, other, columns=np.arange(c)[::-1])


@many
@given(graphs())
def test_copies_of_all_features(parts):
    edges, features, classes, _ = parts
    labels = labels_of(classes)
    assert_close(fitted(graph_of(edges, features, labels)), fitted(graph_of(edges, np.hstack([features] * 2), labels)))


@many
@given(graphs(counts=False), st.sampled_from([2.0**-20, 0.25, 2.0**20]))
def test_scale_of_measured_features(parts, factor):
    """Counts are another matter: a count times 0.3 is a measured number, which is standardised in the place of its row."""
    edges, features, classes, _ = parts
    labels = labels_of(classes)
    scaled = graph_of(edges, features * np.float32(factor), labels)
    assert_close(fitted(graph_of(edges, features, labels)), fitted(scaled))


@many
@given(graphs())
def test_float32_and_float64(parts):
    edges, features, classes, _ = parts
    labels = labels_of(classes)
    one, other = (scores(graph_of(edges, features.astype(kind), labels)) for kind in (np.float32, np.float64))
    np.testing.assert_array_equal(one, other)


@many
@given(graphs())
def test_threads(parts):
    edges, features, classes, _ = parts
    graph = graph_of(edges, features, labels_of(classes))
    np.testing.assert_array_equal(*(scores(graph, MemoryEngine(threads=threads)) for threads in (1, 2)))


@many
@given(graphs())
def test_engines(parts):
    edges, features, classes, _ = parts
    graph = graph_of(edges, features, labels_of(classes))
    with MappedEngine("2GB", threads=1) as engine:
        assert_close(fitted(graph), fitted(graph, engine))


@many
@given(graphs())
def test_weights_of_one(parts):
    edges, features, classes, _ = parts
    pairs = np.unique(np.sort(edges, axis=1), axis=0)
    labels = labels_of(classes)
    weighted = graph_of(np.column_stack([pairs, np.ones(len(pairs))]), features, labels, weight=2)
    plain = graph_of(pairs, features, labels)
    np.testing.assert_array_equal(scores(plain), scores(weighted))
