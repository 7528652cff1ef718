"""Degrees by relation and direction, against counts of a table of edges."""

import numpy as np
import pandas as pd
import pytest

from slimg import Graph, SlimG
from slimg.components import Degrees, Target, compute_components
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
