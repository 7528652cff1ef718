"""Components along relations and directions, against dense matrices, and the screening that chooses them."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from slimg import Graph, SlimG
from slimg.components import EnergyRank, Features, PathFeatures, Structure, compute_components
from slimg.components.component import Target
from slimg.components.screening import LEAST, SHARES, leave_one_out, screen_paths
from slimg.engine import MemoryEngine
from slimg.engine.mapped import MappedEngine
from slimg.errors import InputError

PATHS = [
    ("cites →",), ("cites ←",), ("knows",), ("cites →", "cites ←"), ("cites ←", "knows"), ("knows", "cites →", "cites →")
]  # fmt: skip
SYM = [PathFeatures(path=path, kind="sym") for path in PATHS[:4]]
SIDES = [Structure(rank=9, step=step) for step in ("cites →", "cites ←", "knows")]


@pytest.fixture(scope="module")
def graph():
    """Two relations between 60 nodes: cites is directed; a node's class is that of what it cites; knows is random."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 60)
    near = [np.flatnonzero(labels == labels[i]) for i in range(60)]
    cites = [(i, int(j)) for i in range(60) for j in rng.choice(near[i], 3)]
    knows = rng.integers(0, 60, (150, 2))
    features = np.eye(3)[labels] + rng.normal(0, 1.5, (60, 3)) + 2
    features = np.hstack([features, rng.random((60, 2))])
    return Graph.from_edges({"cites": cites, "knows": knows}, directed=["cites"], features=features, labels=labels)


def along(graph, step, kind):
    matrix = graph.direction(step).to_scipy().toarray().astype(float)
    ends = [np.maximum(matrix.sum(axis=axis, keepdims=True), 1) for axis in (1, 0)]
    return matrix / ends[0] if kind == "row" else matrix / np.sqrt(ends[0]) / np.sqrt(ends[1])


@pytest.mark.parametrize("kind", ["row", "sym"])
@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_rows_are_products_of_dense_matrices(graph, path, kind):
    component = PathFeatures(path=path, kind=kind, pca=False, normalize=None)
    expected = graph.features.astype(float)
    for step in reversed(path):
        expected = along(graph, step, kind) @ expected
    found = compute_components(graph, components=[component])
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found.blocks[component.name], expected / np.where(lengths > 0, lengths, 1), atol=1e-5)
    placed, _ = found.fitted[component.name].rows(Target(graph, np.arange(graph.n)))
    np.testing.assert_allclose(placed, found.blocks[component.name], atol=1e-5)


def test_paths_that_end_alike_are_those_computed_alone(graph):
    each = [*(PathFeatures(path=path) for path in PATHS), *SYM]
    together = compute_components(graph, components=[Features(), *each])
    for component in each:
        alone = compute_components(graph, components=[component]).blocks[component.name]
        np.testing.assert_allclose(np.abs(together.blocks[component.name]), np.abs(alone), atol=1e-4)


def test_parts_of_an_explanation_add_up_and_the_file_keeps_the_model(graph, tmp_path):
    components = [Features(), *(PathFeatures(path=path) for path in PATHS), *SYM, *SIDES]
    model = SlimG(components=components, grid=[(0, 1e-4)]).fit(graph, train=np.arange(40))
    scores = model.decision_function()
    for row in range(0, 60, 7):
        explanation = model.explain(graph.ids[row])
        total = explanation.bias + sum(part.scores for part in explanation.parts) + explanation.rounding
        np.testing.assert_allclose(total, scores[row], atol=1e-4)
        for side in SIDES[:2]:  # goes to what the node points to, or to what points to it
            part, near = explanation.part(side.name), graph.direction(side.step).neighbours(row)
            assert not part.removed
            np.testing.assert_allclose(part.source_scores.sum(axis=0), part.scores, atol=1e-5)
            assert set(part.source_ids) == set(graph.ids[near])
    uncited = np.flatnonzero(np.diff(graph.direction("cites ←").indptr) == 0)[0]
    lonely = model.explain(graph.ids[uncited])
    assert re.search(r"point to it by cites \(.*\): there are none; ", lonely.text())
    assert "Which nodes point to it by cites (+0.00): none." in lonely.text().splitlines()
    told = {part["name"]: part for part in lonely.told(3)["parts"]}
    assert told["cites ← X"]["absent"] == "there are none" and told["cites ← U"]["absent"] == "none"
    assert told["X"]["absent"] == "" == told["knows X"]["absent"] and not told["cites ← X"]["nodes"]
    assert sum(term.contribution for term in told["cites ← X"]["features"]) == pytest.approx(told["cites ← X"]["value"])
    again = SlimG.load(model.save(tmp_path / "m.slimg"))
    np.testing.assert_allclose(again.decision_function(graph), scores, atol=1e-4)


def test_an_edge_left_out_is_left_out_of_its_relation(graph):
    cites = graph.relation("cites").out.to_scipy().tocoo()
    row, other = int(cites.row[0]), int(cites.col[0])
    pairs = [(int(i), int(j)) for i, j in zip(cites.row, cites.col, strict=True) if {int(i), int(j)} != {row, other}]
    knows = graph.relation("knows").out.to_scipy().tocoo()
    others = [(int(i), int(j)) for i, j in zip(knows.row, knows.col, strict=True) if {int(i), int(j)} != {row, other}]
    parts = {"features": graph.features, "labels": graph.labels}
    fewer = Graph.from_edges({"cites": pairs, "knows": others}, nodes=np.arange(60), directed=["cites"], **parts)
    components = [PathFeatures(path=("cites →",)), PathFeatures(path=("cites ←", "cites →")), Features(), *SYM, *SIDES]
    model = SlimG(components=components, grid=[(0, 1e-3)]).fit(graph, train=np.arange(40))
    found = model.counterfactual(graph.ids[row], without_edges=[(graph.ids[row], graph.ids[other])])
    expected = model.decision_function(fewer)[row]
    np.testing.assert_allclose(found.after, expected, atol=1e-4)
    assert not np.allclose(found.after, found.before, atol=1e-3)


@pytest.mark.parametrize("engine", [MemoryEngine(threads=2), MappedEngine("8GB")], ids=["memory", "mapped"])
@pytest.mark.parametrize("weighted", [False, True])
def test_structure_along_a_direction_is_that_of_a_dense_svd(weighted, engine):
    rng = np.random.default_rng(3)
    ends = rng.integers(0, 200, (2, 900))
    pairs = pd.DataFrame({"source": ends[0], "target": ends[1]} | ({"weight": rng.random(900)} if weighted else {}))
    graph = Graph.from_edges(pairs, nodes=np.arange(201), directed=True)
    components = [Structure(rank=12, step=step) for step in ("edges →", "edges ←")]
    found = compute_components(graph, engine, components=components)
    u, s, vt = np.linalg.svd(graph.relation("edges").out.to_scipy().toarray().astype(np.float64))
    for component, sides in zip(components, (u, vt.T), strict=True):
        block, fitted = engine.to_array(found.blocks[component.name]), found.fitted[component.name]
        np.testing.assert_allclose(fitted.state.spectrum.singular_values, s[:12], rtol=1e-4)
        truth = sides[:, :12] * s[:12]
        lengths = np.linalg.norm(truth, axis=1)
        clear = np.flatnonzero(lengths > 0.05)  # the direction of shorter rows is that of the iteration's tolerance
        truth = truth[clear] / lengths[clear, None]
        np.testing.assert_allclose(block[clear] @ block[clear].T, truth @ truth.T, atol=2e-2)
        assert len(clear) > 150 and not block[200].any()  # nothing leads to or from the last node
        np.testing.assert_allclose(fitted.rows(Target(graph, np.arange(201)))[0], block, atol=1e-5)


@pytest.mark.parametrize("options", [{"step": ""}, {"step": 3}, {"step": "cites →", "rank": EnergyRank()}])
def test_structure_along_what_is_no_direction_is_refused(options):
    with pytest.raises(InputError, match=r"step|rank"):
        Structure(**options)


def test_relations_that_count_are_chosen_and_others_are_not():
    rng = np.random.default_rng(1)
    n = 600
    labels = rng.integers(0, 3, n)
    tables = {}
    for name in ("likes", *(f"noise{k}" for k in range(6))):
        ends = [rng.choice(np.flatnonzero(labels == labels[i])) if name == "likes" else rng.integers(n) for i in range(n)]
        tables[name] = np.column_stack([np.arange(n), ends])
    features = np.eye(3)[labels] + rng.normal(0, 1.2, (n, 3))
    graph = Graph.from_edges(tables, directed=True, features=pd.DataFrame(features), labels=labels)
    found = screen_paths(graph, MemoryEngine(), np.arange(300), labels[:300], 3)
    assert max(found.gains, key=found.gains.get) in ("likes →", "likes ←")
    assert {step.split()[0] for path in list(found.chosen)[:2] for step in path} == {"likes"}
    assert min(found.chosen.values()) >= LEAST
    model = SlimG().fit(graph, train=np.arange(300))
    plain = SlimG().fit(Graph(graph.adjacency, graph.features, labels), train=np.arange(300))
    truth = labels[300:]
    assert (model.predict()[300:] == truth).mean() > (plain.predict()[300:] == truth).mean() + 0.05
    assert any("likes" in note for note in model.notes_) and any("noise" in note for note in model.notes_)


def test_a_relation_that_no_label_sees_is_no_component():
    pairs = np.random.default_rng(4).integers(0, 300, (900, 2))
    labels = np.arange(300) % 3
    found = Graph.from_edges({"cites": pairs, "once": [(7, 8)]}, directed=True, features=np.eye(3)[labels], labels=labels)
    screening = screen_paths(found, MemoryEngine(), np.arange(10, 300), labels[10:], 3)
    assert len(screening.chosen) == 6 and {each.kind for each in screening.components[:6]} == {"sym"}
    assert [each.step for each in screening.components[6:]] == ["cites →", "cites ←"]
    assert set(screening.gains) == set(found.directions()) and "once →, once ←" in screening.notes[1]


def test_a_single_undirected_relation_is_the_plain_graph(graph):
    edges = graph.relation("knows").out.to_scipy().tocoo()
    pairs, rest = np.column_stack([edges.row, edges.col]), {"features": graph.features, "labels": graph.labels}
    plain, one = (Graph.from_edges(each, nodes=graph.ids, **rest) for each in (pairs, {"knows": pairs}))
    found = [SlimG(grid=[(0, 1e-2)]).fit(each, train=np.arange(40)).predict_proba() for each in (plain, one)]
    assert one.relations and np.array_equal(*found)


@pytest.mark.parametrize("columns", [4, 60])
def test_residuals_are_those_of_ridge_fitted_without_each_row(columns):
    rng = np.random.default_rng(2)
    block, targets = rng.normal(size=(30, columns)), rng.normal(size=(30, 2))
    found = leave_one_out(block, targets)
    best = None
    for share in SHARES:
        alpha = share * np.linalg.eigvalsh(block.T @ block).mean()
        slow = np.empty_like(targets)
        for i in range(30):
            # the closed form holds the penalty fixed, as Ridge does
            rest = np.delete(np.arange(30), i)
            slow[i] = targets[i] - Ridge(alpha, fit_intercept=False).fit(block[rest], targets[rest]).predict(block[[i]])[0]
        best = slow if best is None or (slow**2).sum() < (best**2).sum() else best
    np.testing.assert_allclose(found, best, atol=1e-8)


@pytest.mark.parametrize("path", [(), "cites →", ("",), (1,)])
def test_a_path_that_is_none_is_refused(path):
    with pytest.raises(InputError, match="path"):
        PathFeatures(path=path)


def test_a_relation_that_is_not_there_is_named(graph):
    with pytest.raises(InputError, match="cited"):
        compute_components(graph, components=[PathFeatures(path=("cited →",))])
    with pytest.raises(InputError, match="cited"):
        compute_components(graph, components=[Structure(step="cited ←")])
