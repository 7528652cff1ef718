"""New rows alone against the whole graph, a dense recomputation, and the limit in which nothing is approximated."""

import numpy as np
import pytest
import scipy.sparse as sp

from explain_graphs import planted
from oracles import chebyshev
from slimg import Graph, SlimG
from slimg.components import Diffusion, Features, PageRank, paper_components
from slimg.errors import InputError
from slimg.inference.fold_in import FittedGraph, node_digests

PAIR = [(1e-4, 1e-3)]
HIDDEN = np.array([4, 50, 51, 140])


def alone(graph, hidden):
    """The hidden nodes with the ones they are linked with, whose features are not known, and the edges of the hidden."""
    matrix = graph.adjacency.to_scipy().tocoo()
    own = np.isin(matrix.row, hidden) | np.isin(matrix.col, hidden)
    near = np.unique(np.concatenate([hidden, matrix.row[own]]))
    part = sp.coo_array((matrix.data[own], (matrix.row[own], matrix.col[own])), shape=matrix.shape).tocsr()[near][:, near]
    features = graph.features[near] * np.isin(near, hidden)[:, None]
    return Graph.from_arrays(part, features, ids=graph.ids[near], feature_names=graph.feature_names)


def rest(graph, hidden):
    return graph.subgraph(np.setdiff1d(np.arange(graph.n), hidden))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_short_components_are_those_of_the_whole_graph(tmp_path, sparse, weighted):
    graph = planted(sparse=sparse, weighted=weighted)
    model = SlimG(grid=PAIR, components=paper_components(rank=8)).fit(rest(graph, HIDDEN))
    given = alone(graph, HIDDEN)
    for each in (model, SlimG.load(model.save(tmp_path / "m.slimg"))):
        found = each.fold_in(given)
        np.testing.assert_array_equal(given.ids[found.new], graph.ids[HIDDEN])
        np.testing.assert_allclose(found.scores[found.new], each.fold_in(graph).scores[HIDDEN], atol=2e-4)
        assert found.against == graph.n - 4 and "4 new nodes" in found.text()
        np.testing.assert_array_equal(each.predict(given), found.predict())


@pytest.mark.parametrize("long", [Diffusion, PageRank])
def test_a_long_component_is_that_of_a_dense_recursion(tmp_path, long):
    graph, component = planted(), long(rank=6, normalize=None)
    small, given = rest(graph, HIDDEN), alone(graph, HIDDEN)
    model = SlimG(grid=PAIR, components=[component]).fit(small)
    found = SlimG.load(model.save(tmp_path / "m.slimg")).fold_in(given)
    fitted = model.components_.fitted[component.name]
    order = np.r_[np.setdiff1d(np.arange(graph.n), HIDDEN), HIDDEN]
    matrix = graph.adjacency.to_scipy().toarray().astype(float)[order][:, order]

    def smoothing(a):
        loops = a + np.eye(len(a))
        scale = 1 / np.sqrt(loops.sum(axis=1))
        return loops * scale[:, None] * scale

    n, alpha = small.n, component.alpha
    old, both = smoothing(matrix[:n, :n]), smoothing(matrix)
    tail = sum(alpha * (1 - alpha) ** k * np.linalg.matrix_power(old, k) for k in range(10)) @ small.features
    if long is PageRank:
        tail = chebyshev(old, alpha, 10) @ small.features
    own = alpha * graph.features[HIDDEN].astype(float)
    state = own
    for _ in range(10):
        state = own + (1 - alpha) * (both[n:, :n] @ tail + both[n:, n:] @ state)
    raw = (state - fitted.state.mean) @ fitted.state.pca.components.T
    expected = raw / np.linalg.norm(raw, axis=1, keepdims=True) @ model.coef_[component.name] + model.intercept_
    np.testing.assert_allclose(found.scores[found.new], expected, atol=0.02)  # tails are kept in float16
    exact = model.fold_in(graph, new_rows=False).predict()[HIDDEN]
    assert (found.predict()[found.new] == exact).all()


def test_tails_are_the_same_whatever_is_computed_at_a_time(monkeypatch):
    model = SlimG(grid=PAIR, components=[Diffusion(rank=6)]).fit(planted())
    (whole,) = FittedGraph.of(model.scorer_, model.graph_).tails.values()
    monkeypatch.setattr("slimg.inference.fold_in.TAIL_ENTRIES", 2 * model.graph_.n)
    (parts,) = FittedGraph.of(model.scorer_, model.graph_).tails.values()
    assert whole.rows.shape[1] > 4 and all(np.array_equal(*each) for each in zip(whole, parts, strict=True))


def test_nodes_without_edges_to_the_fitted_graph_are_exact():
    graph, other = planted(), planted(n=40, seed=5)
    other = Graph(other.adjacency, other.features, ids=[f"m{k}" for k in range(40)], feature_names=other.feature_names)
    model = SlimG(grid=PAIR).fit(graph)
    exact = model.fold_in(other, new_rows=False).scores
    np.testing.assert_allclose(model.fold_in(other, new_rows=True).scores, exact, atol=2e-3)


def test_relations_and_directions(tmp_path):
    rng = np.random.default_rng(0)
    n, codes = 120, np.arange(120) % 3
    ids = np.array([f"u{k}" for k in range(n)], object)
    ends = rng.integers(n, size=(900, 2))
    same = codes[ends[:, 0]] == codes[ends[:, 1]]
    edges = {"likes": ends[same], "pays": ends[~same]}
    features = (rng.random((n, 6)) + np.eye(3, 6)[codes]).astype(np.float32)
    labels = np.where(np.arange(n) % 4 == 0, None, np.array(["a", "b", "c"], object)[codes])

    def made(keep, rows, shown):
        pairs = {name: [(ids[a], ids[b]) for a, b in each if keep(a, b)] for name, each in edges.items()}
        known = features[rows] * shown[:, None]
        return Graph.from_edges(pairs, ids[rows], features=known, labels=labels[rows], directed=["pays"])

    new = np.array([0, 8, 16])
    small = np.setdiff1d(np.arange(n), new)
    model = SlimG(grid=PAIR).fit(made(lambda a, b: a not in new and b not in new, small, np.ones(len(small))))
    near = np.unique(np.concatenate([each[np.isin(each, new).any(axis=1)].ravel() for each in edges.values()]))
    given = made(lambda a, b: a in new or b in new, near, np.isin(near, new))
    loaded = SlimG.load(model.save(tmp_path / "m.slimg"))
    np.testing.assert_array_equal(node_digests(loaded.fitted_graph_.graph), node_digests(model.graph_))
    whole = made(lambda a, b: True, np.arange(n), np.ones(n))
    found, exact = loaded.fold_in(given), loaded.fold_in(whole)
    assert [r.same_as for r in loaded.fitted_graph_.graph.relations] == [r.same_as for r in model.graph_.relations]
    np.testing.assert_allclose(found.predict_proba()[found.new], exact.predict_proba()[new], atol=0.02)
    assert model.components_.fitted.keys() > {"U", "X"} and len(found.new) == 3
    with pytest.raises(InputError, match=r"'owes'.*likes"):
        loaded.fold_in(Graph.from_edges({"owes": [("v", "u1")]}, ["v", "u1"], features=features[:2]))


def test_drift_tells_nodes_from_elsewhere():
    graph = planted(n=300)
    model = SlimG(grid=PAIR).fit(rest(graph, HIDDEN))
    alike = model.fold_in(alone(graph, HIDDEN)).drift
    assert not alike.refit_due and abs(alike.degree) < 1 and alike.features < 0.5 and alike.new == pytest.approx(4 / 296)
    edges = [(f"x{k}", graph.ids[j]) for k in range(20) for j in range(k, 200 + k)]
    ids = [*(f"x{k}" for k in range(20)), *graph.ids[:219]]
    features = np.zeros((239, 12), np.float32)
    features[:20, 11] = 50
    strange = Graph.from_edges(edges, ids, features=features)
    found = model.fold_in(Graph(strange.adjacency, features, ids=strange.ids, feature_names=graph.feature_names),
                          new_rows=True)  # fmt: skip
    drift = found.drift
    assert drift.refit_due and drift.degree > 1 and drift.features > 0.5 and "refit is due" in found.text()
    ring = Graph.from_edges([(i, (i + 1) % 20) for i in range(20)], labels={i: i % 2 for i in range(10)})
    found = SlimG(grid=PAIR).fit(ring).fold_in(Graph.from_edges([("x", 0)], ["x", 0]), new_rows=True)
    assert -10 < found.drift.degree < 0, "all fitted degrees are equal"
    many = model.fold_in(planted(n=360)).drift  # of which 60 are new
    assert many.new > 0.1 and many.refit_due


def test_a_model_without_its_graph(tmp_path):
    graph = planted()
    model = SlimG(grid=PAIR, components=[Features()]).fit(rest(graph, HIDDEN))
    loaded = SlimG.load(model.save(tmp_path / "m.slimg", keep_graph=False))
    assert not loaded.keeps_graph_ and model.keeps_graph_
    with pytest.raises(InputError, match="saved without its graph"):
        loaded.fold_in(alone(graph, HIDDEN), new_rows=True)


@pytest.mark.parametrize("change", ["indices", "features", "ids"])
def test_a_graph_that_is_not_the_fitted_one_is_refused(tmp_path, change):
    from dataclasses import replace

    model = SlimG(grid=PAIR).fit(planted())
    kept = model.fitted_graph_
    graph = kept.graph
    if change == "indices":
        other = planted(seed=1).adjacency
        graph = Graph(other, graph.features, ids=graph.ids)
    elif change == "features":
        features = graph.features.copy()
        features[3, 3] += 1
        graph = Graph(graph.adjacency, features, ids=graph.ids)
    else:
        graph = Graph(graph.adjacency, graph.features, ids=[*graph.ids[:-1], "other"])
    model._kept = replace(kept, graph=graph)
    with pytest.raises(InputError, match="graph of the file"):
        model.save(tmp_path / "m.slimg")
