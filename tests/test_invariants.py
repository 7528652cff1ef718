"""What must not change a prediction: order of nodes, names of classes, copies and scale of features, types, threads, engines.

``SLIMG_EXAMPLES`` is the number of graphs for each (`benchmarks/invariants.py` takes 1,000).
"""

import os

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from slimg import Graph, SlimG
from slimg.components import Features, PropagatedFeatures, Structure
from slimg.engine.mapped import MappedEngine
from slimg.engine.memory import MemoryEngine

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


def fitted(graph, engine="memory"):
    """Rows of the components, and scores for one pair of penalties under which a rotation of a component changes nothing."""
    components = [Structure(rank=8), Features(rank=8), PropagatedFeatures(rank=8)]
    model = SlimG(components=components, grid=[(0.0, 2e-2)], tol=1e-7, max_iter=500, engine=engine)
    propagated = model.propagate(graph)
    blocks = [propagated.engine.to_array(block) for block in propagated.blocks.values()]
    return blocks, model.fit(graph, propagated=propagated).decision_function()


def scores(graph, engine="memory"):
    return fitted(graph, engine)[1]


def assert_close(one, other, order=slice(None), columns=slice(None)):
    """Equal scores, up to what a duality gap of 1e-7 leaves open.

    A row that is zero but for rounding has no direction, yet is made a unit row: graphs with such a row are left out.
    """
    for mine, theirs in zip(one[0], other[0], strict=True):
        assume(np.abs(mine[order] @ mine[order].T - theirs @ theirs.T).max() < 1e-3)
    left, right = one[1][order], other[1][:, columns]
    left, right = left - left.mean(axis=1, keepdims=True), right - right.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(left, right, atol=0.03 * max(1.0, np.abs(left).max()))


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
