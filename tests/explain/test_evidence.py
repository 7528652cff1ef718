"""Numbers behind a diagnosis: accuracies, what restates the graph, copies, and labels in doubt."""

import numpy as np
import pytest

from explain_graphs import planted
from slimg import Graph
from slimg.components.compute import compute_components
from slimg.explain.evidence import gather
from slimg.explain.held_out import wilson


@pytest.fixture(scope="module")
def graph():
    return planted(n=300)


@pytest.fixture(scope="module")
def evidence(graph):
    return gather(graph, compute_components(graph))


def test_everything_planted_is_found(evidence):
    assert set(evidence.alone) == set(evidence.without) == {"U", "U_sym", "X", "A_row^2 X", "A_sym^2 X", "PPR^10 X"}
    assert all(each.is_informative and each.p == 0.01 for each in evidence.alone.values())
    assert evidence.all.value > 0.9 and evidence.majority == pytest.approx(1 / 3, abs=0.01)
    for each in (*evidence.alone.values(), evidence.all):
        assert each.interval[0] < each.value < each.interval[1]
    assert evidence.gains["graph"].matters and evidence.gains["graph"].value == pytest.approx(
        evidence.all.value - evidence.alone["X"].value
    )


def test_a_source_alone_is_all_of_its_components(graph, evidence):
    assert evidence.sources == {"features": ("X",), "network": ("U", "U_sym")}
    assert evidence.by_source["features"] == evidence.alone["X"]
    network = gather(graph, compute_components(graph).select(["U", "U_sym"]))
    assert network.by_source["network"].value == network.all.value == evidence.by_source["network"].value
    assert evidence.gains["features"].value == pytest.approx(evidence.all.value - evidence.by_source["network"].value)


def test_the_curve_ends_with_all_labels(evidence):
    end = evidence.curve.points[-1]
    assert (end.labels, end.score) == (300, evidence.all.value)


def test_flipped_labels_are_suspected():
    graph = planted(n=300)
    rng = np.random.default_rng(0)
    flipped = rng.choice(np.arange(1, 300), 8, replace=False)
    labels = graph.labels.copy()
    for row in flipped:
        labels[row] = {"ash": "elm", "elm": "oak", "oak": "ash"}[labels[row]]
    wrong = graph.with_labels(labels)
    found = gather(wrong, compute_components(wrong)).suspicious
    named = {each.node for each in found}
    truly = set(graph.ids[flipped].tolist())
    assert len(named & truly) >= 6 and len(named - truly) <= 3
    for each in found:
        if each.node in truly:
            row = int(graph.positions([each.node])[0])
            assert each.looks_like == graph.labels[row] and each.label == labels[row] and each.confidence > 0.5


def test_copies_and_lone_nodes_are_named():
    edges = [(0, 5), (1, 5), (2, 5), (3, 4), (4, 5), (6, 7)]
    features = np.array([[1, 0], [1, 0], [0, 1], [1, 0], [1, 1], [0, 0], [1, 0], [1, 0], [1, 0]], float)
    graph = Graph.from_edges(edges, nodes=range(9), features=features, label=list("aabbababa"))
    found = gather(graph, compute_components(graph))
    assert found.duplicates == ((0, 1),) and found.isolated == (8,)


def test_features_that_restate_the_graph():
    graph = planted(n=300)
    parts = compute_components(graph)
    repeated = np.maximum(parts.fitted["U"].state.spectrum.vectors[:, :12], 0)
    copy = Graph.from_arrays(graph.adjacency, repeated, graph.labels)
    noise = Graph.from_arrays(graph.adjacency, np.random.default_rng(0).random((300, 12)), graph.labels)
    assert gather(copy, compute_components(copy)).restated > 0.3
    assert abs(gather(noise, compute_components(noise)).restated) < 0.05


def test_more_labels_than_are_looked_at(graph, monkeypatch):
    monkeypatch.setattr("slimg.explain.evidence.ROWS_AT_MOST", 90)
    found = gather(graph, compute_components(graph))
    assert found.examined == 90 and found.curve.points[-1].labels == 90


def test_wilson_against_published_values():
    """Newcombe (1998), table I: 81 of 263 → 0.2553 to 0.3662; 0 of 20 → 0 to 0.1611."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(0, 20) == pytest.approx((0, 0.1611), abs=1e-4)
