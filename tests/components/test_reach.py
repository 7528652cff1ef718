"""Whether features far around a node are a component, and what it is then."""

import os
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from slimg import Graph, SlimG
from slimg.components import Diffusion, screening
from slimg.components.screening import FAR, SHARES, screen_reach
from slimg.engine import MemoryEngine
from slimg.errors import InputError
from slimg.linalg.operators import operator
from slimg.system import map_npy

SIDE, ENGINE = 24, MemoryEngine(threads=1)


def grid(told=0.3, features=20, scattered=False):
    """Cells of a grid in four quarters, or in classes that lie anywhere, and noise that tells the class to a degree."""
    rng, n = np.random.default_rng(0), SIDE**2
    cell = np.arange(n).reshape(SIDE, SIDE)
    ends = np.hstack([[cell[:, :-1].ravel(), cell[:, 1:].ravel()], [cell[:-1].ravel(), cell[1:].ravel()]])
    labels = 2 * (cell // SIDE >= SIDE // 2).ravel() + (cell % SIDE >= SIDE // 2).ravel()
    labels = rng.permutation(labels) if scattered else labels
    x = told * rng.standard_normal((4, features))[labels] + rng.standard_normal((n, features))
    known = np.sort(rng.choice(n, 80, replace=False))
    edges = sp.coo_array((np.ones(ends.shape[1]), tuple(ends)), (n, n))
    return Graph.from_arrays(edges, features=x.astype(np.float32), labels=labels), known


def unexplained(graph, rows, alpha, steps):
    """What ridge regression on S X leaves, each row left out in turn and the rest fitted again."""
    a = np.zeros((graph.n, graph.n))
    a[np.repeat(np.arange(graph.n), np.diff(graph.adjacency.indptr)), graph.adjacency.indices] = 1
    root = np.sqrt(a.sum(axis=1) + 1)
    smooth = (a + np.eye(graph.n)) / root[:, None] / root
    x = np.asarray(graph.features, float)
    walk = (x - x.mean(axis=0)) / x.std(axis=0)
    total = alpha * walk
    for k in range(1, steps + 1):
        walk = smooth @ walk
        total = total + alpha * (1 - alpha) ** k * walk
    block = total[rows] - total[rows].mean(axis=0)
    block /= np.linalg.norm(block, axis=1, keepdims=True)
    targets = np.eye(4)[graph.codes[rows]]
    targets -= targets.mean(axis=0)
    found = []
    for share in SHARES:
        ridge = share * np.linalg.eigvalsh(block.T @ block).mean() * np.eye(block.shape[1])
        left = 0.0
        for i in range(len(rows)):
            rest = np.arange(len(rows)) != i
            weights = np.linalg.solve(block[rest].T @ block[rest] + ridge, block[rest].T @ targets[rest])
            left += np.square(targets[i] - block[i] @ weights).sum()
        found.append(left)
    return min(found)


def test_features_far_around_are_taken_where_they_say_more_than_those_near():
    graph, known = grid()
    components, (note,) = screen_reach(graph, ENGINE, known, graph.codes[known], 4)
    gain = 1 - unexplained(graph, known, 0.01, 100) / unexplained(graph, known, 0.1, 10)
    assert components == (replace(FAR, soft=True),) and f"{gain:.0%}" in note and gain > 0.08


@pytest.mark.parametrize("case", ["classes lie anywhere", "few labels", "one class", "no edges"])
def test_they_are_not_taken(case):
    graph, known = grid(scattered=case == "classes lie anywhere")
    if case == "no edges":
        graph = Graph.from_arrays(sp.csr_array((graph.n, graph.n)), features=graph.features, labels=graph.codes)
    known = known[:29] if case == "few labels" else known
    codes = graph.codes[known] * (case != "one class")
    assert screen_reach(graph, ENGINE, known, codes, codes.max() + 1) == ((), ())


def test_a_mapped_graph_that_is_cut_off_during_the_walk_does_not_end_the_process(tmp_path, monkeypatch):
    graph, known = grid()
    file = tmp_path / "indices.npy"
    np.save(file, graph.adjacency.indices)
    mapped = replace(graph, adjacency=replace(graph.adjacency, indices=map_npy(file)))
    expected = screen_reach(mapped, ENGINE, known, graph.codes[known], 4)

    def walk(*arguments):
        os.truncate(file, 0)  # a page that is touched after this ends the process with SIGBUS
        return operator(*arguments)

    monkeypatch.setattr(screening, "operator", walk)
    assert screen_reach(mapped, ENGINE, known, graph.codes[known], 4) == expected
    with pytest.raises(InputError, match="changed"):
        screen_reach(mapped, ENGINE, known, graph.codes[known], 4)


def test_a_model_with_them_explains_itself_and_takes_new_nodes(tmp_path):
    graph, known = grid()
    model = SlimG(random_state=0).fit(graph, train=known)
    assert FAR.name in model.coef_ and any(FAR.name in note for note in model.notes_)
    assert (model.predict() == graph.codes).mean() > 0.9
    explanation = model.explain(5)
    assert np.isclose(explanation.score(), model.decision_function()[5].max(), atol=1e-4)
    rest = np.arange(graph.n) != 5
    components = [Diffusion(), FAR, Diffusion(alpha=0.01, steps=99, soft=True)]
    part = SlimG(components=components, grid=[(0, 1e-3)]).fit(graph.subgraph(rest))
    loaded = SlimG.load(part.save(tmp_path / "m.slimg"))
    whole = loaded.fold_in(graph)
    np.testing.assert_allclose(whole.scores, part.fold_in(graph).scores, atol=1e-4)
    assert whole.new.tolist() == [5]
