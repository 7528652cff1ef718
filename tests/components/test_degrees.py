"""Degrees by relation and direction, against counts of a table of edges; ranges of the neighbourhood, against dense means."""

import numpy as np
import pandas as pd
import pytest

import slimg
from slimg import Graph, SlimG
from slimg.components import DegreeRanges, Degrees, NeighbourRanges, Target, compute_components
from slimg.components.row_scaling import BINS
from slimg.components.structure import gap_edges
from slimg.engine.mapped import MappedEngine
from slimg.errors import InputError

STEPS = ("treats →", "treats ←", "near")


@pytest.fixture(scope="module")
def edges():
    """Drugs treat diseases, genes are near genes; who is at the other end is random."""
    rng = np.random.default_rng(0)
    drug, disease, gene = ([f"{kind}{k}" for k in range(20)] for kind in ("drug", "disease", "gene"))
    treats = pd.DataFrame({"source": rng.choice(drug, 60), "target": rng.choice(disease, 60), "kind": "treats"})
    near = pd.DataFrame({"source": rng.choice(gene, 40), "target": rng.choice(gene, 40), "kind": "near"})
    return pd.concat([treats, near[near["source"] != near["target"]]]).drop_duplicates(ignore_index=True)


@pytest.fixture(scope="module")
def graph(edges):
    names = sorted({*edges["source"], *edges["target"]})
    labels = {name: name.rstrip("0123456789") for name in names if not name.endswith("7")}
    return Graph.from_edges(edges, relation="kind", directed=["treats"], labels=labels)


def test_rows_are_logarithms_of_counts(graph, edges):
    parts = compute_components(graph, components=[Degrees(STEPS)])
    near = {frozenset(pair) for pair in edges.loc[edges["kind"] == "near", ["source", "target"]].itertuples(index=False)}
    treats = edges[edges["kind"] == "treats"]
    for name, row in zip(graph.ids, parts.blocks["degrees"], strict=True):
        counts = [(treats["source"] == name).sum(), (treats["target"] == name).sum(), sum(name in pair for pair in near)]
        expected = np.log1p(counts)
        np.testing.assert_allclose(row, expected / max(np.linalg.norm(expected), 1e-9), atol=1e-6)


def test_every_edge_carries_a_share_of_its_direction(graph):
    component, weights = Degrees(STEPS), np.array([1.0, -2.0, 3.0])
    fitted = compute_components(graph, components=[component]).fitted["degrees"]
    for row in range(graph.n):
        target = Target(graph, np.array([row]))
        (part,) = component.attribute(fitted.state, weights[:, None], target)
        found, carried = component.neighbour_scores(fitted.state, weights, target)
        assert set(found) == set(graph.adjacency.neighbours(row))
        assert carried.sum() == pytest.approx(part.scores[0] * part.length)
        assert part.features.sum() == pytest.approx(part.scores[0])


def test_without_features_relations_tell_what_a_node_is(graph, tmp_path):
    """By default, in the model file, in explanations and for new nodes."""
    model = SlimG(random_state=0).fit(graph)
    assert model.coef_["degrees"].any()
    assert all(name.startswith(label) for name, label in zip(graph.ids, model.predict(), strict=True))
    loaded = SlimG.load(model.save(tmp_path / "m.slimg"))
    np.testing.assert_array_equal(loaded.decision_function(), model.decision_function())
    assert "treats" in model.explain("drug7").top_features("degrees", k=1)[0].name
    grown = Graph.from_edges({"treats": [("drug1", "new"), ("drug2", "new")]}, directed=True)
    assert loaded.fold_in(grown, new_rows=True).predict()[list(grown.ids).index("new")] == "disease"


@pytest.mark.parametrize("steps", ["treats →", (), (3,), ("teats →",)])
def test_steps_that_are_no_directions_are_refused(graph, steps):
    with pytest.raises(InputError, match="teats" if "teats →" in steps else "steps"):
        compute_components(graph, components=[Degrees(steps=steps)])


def test_features_or_one_undirected_relation_leave_them_out(graph):
    featured = Graph.from_edges({"knows": [(0, 1), (1, 2), (2, 3)]}, labels={0: "a", 1: "b", 2: "a", 3: "b"})
    assert "degrees" not in SlimG(random_state=0).fit(featured).coef_


def airports(seed=0, n=600):
    """Three classes by how many neighbours there are, few in the first and the last; features are noise. Node 5 has no edge."""
    rng = np.random.default_rng(seed)
    size = np.exp(rng.normal(0, 1.2, n))
    a = np.zeros((n, n))
    a[rng.choice(n, 5 * n, p=size / size.sum()), rng.choice(n, 5 * n, p=size / size.sum())] = 1
    a = np.maximum(a, a.T)
    np.fill_diagonal(a, 0)
    a[5] = a[:, 5] = 0
    labels = np.digitize(a.sum(axis=1) * np.exp(rng.normal(0, 0.2, n)), [5, 12])
    features = np.column_stack([rng.standard_normal((n, 3)), np.full(n, 7.0)])
    return a, Graph.from_arrays(a, features=features, labels=np.where(labels == 1, "mid", "edge"))


def in_ranges(values, starts):
    """One-hot by comparing with each beginning, zeros for NaN."""
    reached = (values[:, None] >= np.asarray(starts, np.float64)).sum(axis=1) - 1
    return np.eye(BINS)[reached] * ~np.isnan(values)[:, None]


def test_ranges_are_of_degrees_and_means_over_neighbours(tmp_path):
    a, graph = airports()
    parts = compute_components(graph, components=[NeighbourRanges()])
    block, state = parts.blocks["bins(A_row X)"], parts.fitted["bins(A_row X)"].state
    degree = a.sum(axis=1)
    means = np.where(degree[:, None] > 0, a @ graph.features / np.maximum(degree, 1)[:, None], np.nan)
    starts = state["starts"].reshape(-1, BINS)
    expected = np.hstack([in_ranges(z, row) for z, row in zip([degree, *means.T], starts, strict=True)])
    np.testing.assert_allclose(block, expected / np.sqrt(expected.sum(axis=1, keepdims=True)), atol=1e-6)
    assert np.isinf(starts[-1, 1:]).all() and (expected[5] > 0).sum() == 1  # a constant column; a node without neighbours
    counts = expected.reshape(graph.n, -1, BINS)[:, 1:4].sum(axis=0)
    assert (np.abs(counts - graph.n / BINS) < graph.n / BINS / 2).all()
    names = parts.fitted["bins(A_row X)"].component.feature_names(state)
    assert names[0] == f"number of neighbours below {starts[0, 1]:g}" and names[9].startswith("mean feature 0 of neighbours ")
    with MappedEngine("4GB", tmp_path) as engine:
        there = compute_components(graph, engine, components=[NeighbourRanges()])
        np.testing.assert_array_equal(engine.to_array(there.blocks["bins(A_row X)"]), block)


@pytest.mark.parametrize("values", [np.repeat([0.0, 1, 2], 20), 1 / 3 + np.arange(40) // 9 * 1e-16, np.arange(100) ** 2.0])
def test_ranges_begin_in_gaps(values):
    (edges,) = gap_edges(values[:, None])
    found = edges[np.isfinite(edges)]
    assert len(found) == min(len(np.unique(values.round(9))), BINS) - 1
    assert all(np.abs(values - edge).min() > 1e-6 for edge in found)
    np.testing.assert_array_equal(gap_edges(np.full((3, 1), np.nan)), np.full((1, BINS - 1), np.inf))


def test_a_class_of_some_degrees_is_learned_told_and_kept(tmp_path):
    """What labels call for is a component by default; explained, in the model file, for new nodes."""
    _, graph = airports()
    train, rest = np.arange(150), np.arange(150, graph.n)
    model = SlimG().fit(graph, train=train)
    component = model.components_.fitted["bins(A_row X)"].component
    assert 0 in component.columns and component.name not in model.components_.sources["network"]
    assert any("Degrees and means" in note for note in model.notes_)
    others = [each.component for name, each in model.components_.fitted.items() if name != component.name]
    without = SlimG(components=others).fit(graph, train=train)
    right = [(each.predict()[rest] == graph.labels[rest]).mean() for each in (model, without)]
    assert right[0] > right[1] + 0.03
    explanation = model.explain(7)
    assert any("number of neighbours" in term.name for term in explanation.top_features(component.name))
    np.testing.assert_allclose(explanation.rounding, 0, atol=1e-4)
    loaded = SlimG.load(model.save(tmp_path / "m.slimg"))
    np.testing.assert_array_equal(loaded.predict_proba(graph), model.predict_proba())
    kept = np.delete(np.arange(graph.n), 200)
    fewer = SlimG(components=[NeighbourRanges()], grid=[(0, 1e-3)]).fit(graph.subgraph(kept), train=train)
    folded = fewer.fold_in(graph)
    again = fewer.components_.fitted["bins(A_row X)"].rows(Target(graph, np.array([200])))[0]
    np.testing.assert_allclose(folded.scores[200], again[0] @ fewer.coef_["bins(A_row X)"] + fewer.intercept_, atol=1e-5)
    line = SlimG().fit(Graph.from_arrays(graph.adjacency, np.random.default_rng(0).normal(size=(graph.n, 64)), graph.labels))
    assert not any(name.startswith("bins") for name in line.coef_)  # 64 features are not few


def test_degrees_alone_are_told_of_the_network():
    _, graph = airports(n=300)
    model = SlimG(grid=[(0, 1e-3)]).fit(Graph.from_arrays(graph.adjacency, labels=graph.labels))
    parts = model.components_
    assert parts.fitted["bins(degree)"].component == DegreeRanges(columns=(0,)) and "bins(degree)" in parts.sources["network"]
    full = compute_components(graph, components=[NeighbourRanges()]).blocks["bins(A_row X)"]
    np.testing.assert_array_equal(parts.blocks["bins(degree)"] > 0, full[:, :BINS] > 0)


def test_ranges_of_other_numbers_are_refused():
    _, graph = airports(n=60)
    fitted = compute_components(graph, components=[NeighbourRanges(columns=(0, 2))]).fitted["bins(A_row X)"]
    for component in (NeighbourRanges(), NeighbourRanges(columns=(0,))):
        with pytest.raises(InputError, match="ranges of 2 numbers"):
            component.project(fitted.state, Target(graph, np.arange(3)))
    with pytest.raises(InputError, match="below 5, not 9"):
        NeighbourRanges(columns=(9,)).project(fitted.state, Target(graph, np.arange(3)))
    for wrong in ({"of": fitted.state["of"][:9]}, {"names": fitted.state["names"][:5]}, {"of": fitted.state["of"] + 1}):
        with pytest.raises(InputError, match="bins"):
            fitted.component.from_arrays(fitted.state | wrong)


def test_categories_of_a_table_without_numbers_are_shares_of_neighbours(tmp_path):
    rng = np.random.default_rng(0)
    nodes = pd.DataFrame({"id": np.arange(200), "city": rng.choice(["rome", "oslo"], 200)})
    edges = pd.DataFrame(rng.integers(0, 200, (500, 2)), columns=["source", "target"])
    near = pd.concat([edges, edges.set_axis(["target", "source"], axis=1)]).drop_duplicates().query("source != target")
    share = nodes.city.eq("rome")[near.target].groupby(near.source.to_numpy()).mean().reindex(range(200)).to_numpy()
    nodes["label"] = np.where(np.abs(share - 0.5) < 0.2, "mixed", "alike")
    graph = slimg.read(edges=edges, nodes=nodes, id="id", label="label")
    model = SlimG(components=[NeighbourRanges()], grid=[(0, 1e-3)]).fit(graph)
    assert (model.predict() == graph.labels).mean() > 0.9
    fitted = model.components_.fitted["bins(A_row X)"]
    assert any("rome" in name for name in fitted.component.feature_names(fitted.state))
    np.testing.assert_array_equal(SlimG.load(model.save(tmp_path / "m.slimg")).predict(graph), model.predict())


def test_means_are_of_known_numbers_by_direction():
    """Of a table with missing ages: names in years, a mean over those that are known, none where nobody's is."""
    rng = np.random.default_rng(0)
    nodes = pd.DataFrame({"id": np.arange(300), "age": rng.normal(40, 9, 300), "team": rng.choice(["a", "b"], 300)})
    nodes.loc[rng.random(300) < 0.4, "age"] = None
    edges = pd.DataFrame(rng.integers(0, 300, (700, 2)), columns=["source", "target"])
    edges = edges[edges.source != edges.target].drop_duplicates(ignore_index=True)
    graph = slimg.read({"pays": edges}, nodes, id="id", label="team", directed=True)
    component = NeighbourRanges(("pays →", "pays ←"))
    parts = compute_components(graph, components=[component])
    state = parts.fitted[component.name].state
    found = component.numbers(graph, np.arange(300), state["places"])
    mean = edges.assign(age=nodes.age[edges.target].to_numpy()).groupby("source").age.mean().reindex(range(300)).to_numpy()
    known = ~np.isnan(mean)
    np.testing.assert_array_equal(np.isnan(found[:, 1]), ~known)
    assert np.corrcoef(found[known, 1], mean[known])[0, 1] > 1 - 1e-9
    names = component.feature_names(state)
    end = float(names[BINS].removeprefix("mean age along pays → below "))
    np.testing.assert_array_equal(parts.blocks[component.name][known, BINS] > 0, mean[known] < end)
    assert names[2 * BINS].startswith("number of pays ← ") and set(component.column_steps(state)) == set(component.steps)
