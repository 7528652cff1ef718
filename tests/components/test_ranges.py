"""Numbers in ranges: bins(X), against scikit-learn's discretiser and dense matrices, and the choice made on the labels."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array
from sklearn.preprocessing import KBinsDiscretizer

import slimg
from slimg import Graph, SlimG
from slimg.components import Features, PropagatedFeatures, compute_components
from slimg.components.component import Target
from slimg.components.row_scaling import BINS, prepare_features, range_names
from slimg.components.screening import screen_ranges
from slimg.engine import MemoryEngine
from slimg.engine.mapped import MappedEngine

NODES = 400


def make(kind, seed=0, n=NODES):
    """Two classes by a number: with "middle" those near its median, with "line" those above it; edges join like classes."""
    rng = np.random.default_rng(seed)
    age, amount = rng.normal(40, 12, n), rng.exponential(100, n)
    score = -np.abs(age - 40) / 12 if kind == "middle" else (age - 40) / 12
    labels = np.where(score + rng.normal(0, 0.1 if kind == "middle" else 1, n) > np.median(score), "yes", "no")
    ends = rng.integers(0, n, (4 * n, 2))
    same = labels[ends[:, 0]] == labels[ends[:, 1]]
    ends = ends[same | (rng.random(len(ends)) < 0.5)]
    features = np.column_stack([age, amount]).astype(np.float32)
    matrix = coo_array((np.ones(len(ends)), ends.T), (n, n)).tocsr()
    return Graph.from_arrays(matrix + matrix.T, features=features, labels=labels, feature_names=("age", "amount"))


@pytest.fixture(scope="module")
def graph():
    return make("middle")


def test_bins_are_those_of_sklearn(graph):
    found = prepare_features(MemoryEngine(threads=1), graph.features, "bins")
    oracle = KBinsDiscretizer(BINS, encode="onehot", strategy="quantile", quantile_method="averaged_inverted_cdf")
    np.testing.assert_allclose(found.toarray() * graph.d, oracle.fit_transform(graph.features).toarray())


def test_few_values_have_a_range_each_and_a_constant_one():
    x = np.array([[0.0, 5, -1], [1, 5, 2], [1, 5, 3], [0, 5, 2]], np.float32)
    rows = prepare_features(MemoryEngine(threads=1), x, "bins").toarray() * 3
    np.testing.assert_allclose(rows[:, :3], [[1, 0, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(rows[:, BINS], 1, atol=1e-6)
    np.testing.assert_allclose(rows.sum(axis=1), 3, atol=1e-6)


def test_names_say_the_ranges():
    names = range_names(["age"], np.array([[18, 65, *[np.inf] * (BINS - 3)]], np.float32))
    assert names[:3] == ("age below 18", "age 18 to 65", "age 65 or more") and len(names) == BINS


@pytest.mark.parametrize("kind", ["row", "sym"])
def test_rows_are_shares_of_neighbours_in_ranges(graph, kind):
    component = PropagatedFeatures(kind=kind, normalize="bins", pca=False)
    parts = compute_components(graph, components=[component])
    a = graph.adjacency.to_scipy().toarray().astype(float)
    if kind == "row":
        step = a / np.maximum(a.sum(axis=1, keepdims=True), 1)
    else:
        a += np.eye(graph.n)
        step = a / np.sqrt(np.outer(a.sum(axis=1), a.sum(axis=1)))
    expected = step @ step @ prepare_features(MemoryEngine(threads=1), graph.features, "bins").toarray()
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(parts.blocks[component.name], expected / np.where(lengths > 0, lengths, 1), atol=1e-5)


@pytest.mark.parametrize("rank", [4, 64])
def test_placed_rows_are_the_computed_ones(graph, rank):
    wide = Graph.from_arrays(graph.adjacency.to_scipy(), features=np.random.default_rng(1).normal(size=(graph.n, 30)))
    components = [Features(normalize="bins", rank=rank), PropagatedFeatures(normalize="bins", rank=rank)]
    for each in (graph, wide):  # 240 columns of the wide one are reduced first
        parts = compute_components(each, components=components)
        for name, fitted in parts.fitted.items():
            placed, _ = fitted.rows(Target(each, np.arange(each.n)))
            np.testing.assert_allclose(placed, parts.blocks[name], atol=2e-4)


@pytest.fixture
def tables():
    """Edges and nodes of two classes by an age in the middle; some ages are missing, more often of one class."""
    graph = make("middle")
    rng, edges = np.random.default_rng(1), coo_array(graph.adjacency.to_scipy())
    nodes = pd.DataFrame({"id": np.arange(NODES), "age": graph.features[:, 0].astype(float), "team": graph.labels})
    nodes["word"] = rng.choice(["red", "blue"], NODES)
    nodes.loc[rng.random(NODES) < np.where(nodes["team"] == "yes", 0.3, 0.05), "age"] = None
    return pd.DataFrame({"source": edges.row, "target": edges.col}), nodes


def test_numbers_of_a_table_are_put_in_ranges_of_their_own_units(tables, tmp_path):
    edges, nodes = tables
    graph, train, rest = slimg.read(edges=edges, nodes=nodes, label="team"), np.arange(150), np.arange(150, NODES)
    model = SlimG().fit(graph, train=train)
    assert any("ranges" in note for note in model.notes_)
    line = SlimG(components=[Features(), PropagatedFeatures()]).fit(graph, train=train)
    accuracy = [(each.predict()[rest] == graph.labels[rest]).mean() for each in (model, line)]
    assert accuracy[0] > accuracy[1] + 0.1
    state = model.components_.fitted["bins(X)"].state
    assert state.names[-1] == "age missing" and len(state.names) == BINS
    known = nodes["age"].dropna().to_numpy()
    oracle = KBinsDiscretizer(BINS - 1, strategy="quantile", quantile_method="averaged_inverted_cdf").fit(known[:, None])
    ends = oracle.bin_edges_[0][1:-1]
    assert state.names[0] == f"age below {ends[0]:.4g}"
    found = compute_components(graph, components=[Features(normalize="bins", pca=False)]).blocks["bins(X)"].argmax(axis=1)
    np.testing.assert_array_equal(found, np.where(nodes["age"].isna(), BINS - 1, np.searchsorted(ends, nodes["age"], "right")))
    model.save(tmp_path / "m.slimg")
    loaded = SlimG.load(tmp_path / "m.slimg")
    again = slimg.read(edges=edges, nodes=nodes, like=loaded)
    np.testing.assert_array_equal(loaded.predict_proba(again), model.predict_proba())
    explanation = loaded.explain(graph.ids[rest[0]], again)
    np.testing.assert_allclose(explanation.rounding, 0, atol=1e-4)
    assert explanation.part("bins(X)").feature_names == state.names


@pytest.mark.parametrize("missing", [False, True])
def test_a_number_is_told_once_with_its_value(tables, missing):
    edges, nodes = tables
    graph = slimg.read(edges=edges, nodes=nodes, label="team")
    model = SlimG(components=[Features(), PropagatedFeatures(), Features(normalize="bins")], grid=[(0.0, 1e-4)]).fit(graph)
    row = int(np.flatnonzero(nodes["age"].isna() == missing)[0])
    explanation, age = model.explain(graph.ids[row]), nodes["age"][row]
    for part in explanation.parts:
        terms = explanation.top_features(part.name, 40, against="mean")
        told = [term.name for term in terms if "age" in term.name]
        assert sum(term.contribution for term in terms) == pytest.approx(explanation.components(against="mean")[part.name])
        assert len(told) == 1
        if part.reach:
            assert told[0].startswith("mean age ") and 0 < float(told[0].split()[-1]) < 100
        elif missing:
            assert told == ["age missing"]
        elif part.name == "X":
            assert float(told[0].split()[1]) == pytest.approx(age, rel=1e-3)
        else:
            ends = told[0].removeprefix("age ").replace("below", "-inf to").replace("or more", "to inf").split(" to ")
            assert float(ends[0]) <= age * 1.001 and age <= float(ends[1]) * 1.001
    assert [term.name for term in explanation.top_features(k=40) if term.name == "age"] == ["age"]


def test_a_number_of_another_type_is_in_no_range(tables):
    edges, users = tables
    shops = pd.DataFrame({"id": np.arange(NODES, NODES + 50), "size": np.arange(50.0)})
    buys = pd.DataFrame({"source": np.arange(NODES), "target": NODES + np.arange(NODES) % 50})
    graph = slimg.read({"knows": edges, "buys": buys}, {"users": users, "shops": shops}, id="id", label="team")
    parts = compute_components(graph, components=[Features(normalize="bins", pca=False)])
    rows, names = parts.blocks["bins(X)"] > 0, parts.fitted["bins(X)"].state.names
    age, size = slice(0, BINS), slice(BINS, 2 * BINS)
    assert names[BINS - 1] == "users.age missing" and "shops.size 43" in names[2 * BINS - 1] + names[2 * BINS - 2]
    assert (rows[:NODES, age].sum(axis=1) == 1).all() and not rows[:NODES, size].any()
    assert (rows[NODES:, size].sum(axis=1) == 1).all() and not rows[NODES:, age].any()
    np.testing.assert_array_equal(rows[:NODES, BINS - 1], users["age"].isna())


def test_the_labels_decide():
    for kind, used in (("middle", True), ("line", False)):
        graph = make(kind)
        rows = np.arange(200)
        codes = (graph.labels[rows] == "yes").astype(np.int64)
        components, notes = screen_ranges(graph, MemoryEngine(threads=1), rows, codes, 2)
        assert bool(components) is used and len(notes) == 1
    counts = Graph.from_arrays(graph.adjacency.to_scipy(), features=np.eye(graph.n, 5), labels=graph.labels)
    assert screen_ranges(counts, MemoryEngine(threads=1), rows, codes, 2) == ((), ())


def test_a_number_that_counts_in_the_middle_is_learned_and_explained(graph, tmp_path):
    train, rest = np.arange(150), np.arange(150, graph.n)
    model = SlimG().fit(graph, train=train)
    line = SlimG(components=[Features(), PropagatedFeatures()]).fit(graph, train=train)
    truth = graph.labels[rest]
    assert (model.predict(graph)[rest] == truth).mean() > (line.predict(graph)[rest] == truth).mean() + 0.1
    assert any("ranges" in note for note in model.notes_)
    explanation = model.explain(graph.ids[rest[0]])
    total = explanation.bias + sum(part.scores for part in explanation.parts) + explanation.rounding
    np.testing.assert_allclose(total, explanation.scores, atol=1e-6)
    np.testing.assert_allclose(explanation.rounding, 0, atol=1e-4)
    part = explanation.part("A_sym^2 bins(X)")
    np.testing.assert_allclose(part.features.sum(axis=0), part.scores, atol=1e-5)
    assert "age" in part.feature_names[0] and "below" in part.feature_names[0]
    model.save(tmp_path / "m.slimg")
    loaded = SlimG.load(tmp_path / "m.slimg")
    np.testing.assert_array_equal(loaded.predict_proba(graph), model.predict_proba(graph))
    assert loaded.explain(graph.ids[rest[0]], graph).part(part.name).feature_names == part.feature_names


def test_the_engine_in_files_gives_the_same_rows(graph, tmp_path):
    components = [Features(normalize="bins"), PropagatedFeatures(normalize="bins", rank=5)]
    here = compute_components(graph, components=components)
    with MappedEngine("4GB", tmp_path) as engine:
        there = compute_components(graph, engine, components=components)
        for name in here.names:
            np.testing.assert_array_equal(engine.to_array(there.blocks[name]), here.blocks[name])
