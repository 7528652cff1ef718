"""Agreement of labels along edges: counted by hand, silent on chance, and loud on planted graphs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg import Graph
from slimg.explain.evidence import agreement


def block_graph(inside, outside, n=200, c=4, seed=0, labelled=1.0, pairs=False):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % c)
    chosen = codes[:, None] == (codes ^ 1 if pairs else codes)
    draw = np.triu(rng.random((n, n)) < np.where(chosen, inside, outside), 1)
    labels = codes.astype(object)
    labels[rng.random(n) >= labelled] = None
    return Graph.from_arrays(draw | draw.T, labels=labels)


def test_the_numbers_are_the_definitions():
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4)]
    labels = ["a", "a", "b", "b", None]
    found = agreement(Graph.from_edges(edges, nodes=range(5), label=labels))
    assert found.edges == 4 and found.share == 0.5
    assert found.adjusted == pytest.approx((0.5 - 0.5) / 0.5)
    table = np.array([[0.25, 0.25], [0.25, 0.25]])
    assert found.information == pytest.approx((table * np.log(table / 0.25)).sum() / np.log(2))


@given(st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_the_share_is_edge_homophily(seed):
    graph = block_graph(0.1, 0.05, n=60, seed=seed, labelled=0.6)
    found = agreement(graph, seed)
    assert found.share == pytest.approx(graph.edge_homophily())
    assert found.interval[0] <= found.share <= found.interval[1]


def test_planted_relations_are_found():
    alike = agreement(block_graph(0.2, 0.05))
    assert alike.p_more <= 0.01 and alike.p_information <= 0.01
    assert alike.adjusted > 0.2 and alike.interval[0] > alike.by_chance
    unlike = agreement(block_graph(0.2, 0.05, pairs=True))
    assert unlike.p_less <= 0.01 and unlike.p_information <= 0.01
    assert unlike.adjusted < 0 and unlike.interval[1] < unlike.by_chance


def test_chance_is_found_as_often_as_it_may_be():
    p = np.array([agreement(block_graph(0.1, 0.1, n=80, seed=seed), seed).p_more for seed in range(60)])
    assert 0.3 < p.mean() < 0.7 and (p <= 0.05).mean() <= 0.15


def test_the_interval_covers_the_truth():
    """Of graphs with h = ½ in expectation, about 95 % of the intervals hold it."""
    inside = []
    for seed in range(60):
        low, high = agreement(block_graph(0.15, 0.05, n=120, seed=seed), seed).interval
        inside.append(low <= 0.15 * 29 / (0.15 * 29 + 0.05 * 90) <= high)
    assert np.mean(inside) > 0.85


def test_one_edge_is_no_proof():
    labels = list("abababab")
    for edges in ([(0, 1)], [(0, 2)]):
        found = agreement(Graph.from_edges(edges, nodes=range(8), label=labels))
        assert min(found.p_more, found.p_less) > 0.05


def test_nothing_to_test():
    assert agreement(Graph.from_edges([(0, 1)], label=["a", None])) is None
    assert agreement(Graph.from_edges([(0, 1), (1, 2)], label=["a", "a", "a"])) is None


def test_many_edges_are_sampled(monkeypatch):
    monkeypatch.setattr("slimg.explain.evidence.EDGES_AT_MOST", 100)
    graph = block_graph(0.2, 0.05)
    assert agreement(graph).edges == 100 and agreement(graph).share == pytest.approx(graph.edge_homophily(), abs=0.2)
