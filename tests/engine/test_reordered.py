"""What is particular to the engine that keeps rows in another order: nobody outside sees it, threads change no bit.

Its operations are those of every engine (test_engines.py).
"""

import pickle

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from slimg import SlimG
from slimg.components.components import compute_components
from slimg.engine import MemoryEngine, Scaling
from slimg.engine.choice import engine_for
from slimg.engine.reordered import ReorderedEngine
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph


def weighted_graph(n=3_000, d=12, seed=0):
    rng = np.random.default_rng(seed)
    u, v = rng.integers(0, n, (2, 5 * n))
    return Graph(Adjacency.from_edges(u, v, n, rng.random(5 * n) + 0.5)[0], rng.random((n, d)), np.arange(n) % 3)


def test_rows_lie_in_another_order_inside_and_come_back_as_they_were_given():
    graph = weighted_graph()
    engine = ReorderedEngine(np.arange(graph.n)[::-1])
    row_matrix = engine.row_matrix(graph.features)
    np.testing.assert_array_equal(row_matrix, graph.features[::-1])
    np.testing.assert_array_equal(engine.to_array(row_matrix), graph.features)
    (out,) = engine.products(graph.adjacency, row_matrix, [Scaling(loop=1.0)])
    expected = MemoryEngine().products(graph.adjacency, graph.features, [Scaling(loop=1.0)])[0]
    np.testing.assert_array_equal(engine.to_array(out), expected)


def test_arrays_of_other_sizes_stay_as_they_are():
    engine, rows = ReorderedEngine(np.array([2, 0, 1])), np.arange(8, dtype=np.float32).reshape(4, 2)
    np.testing.assert_array_equal(engine.row_matrix(rows), rows)
    np.testing.assert_array_equal(engine.to_array(rows), rows)
    np.testing.assert_array_equal(engine.rows(rows, [1]), rows[[1]])
    np.testing.assert_array_equal(engine.random(5, 2, 3), MemoryEngine().random(5, 2, 3))


def test_threads_do_not_change_a_bit():
    graph = weighted_graph(n=9_000)
    one, two = (
        compute_components(graph, ReorderedEngine.for_matrix(graph.adjacency, threads), max_rank=8) for threads in (1, 2)
    )
    for name in one.blocks:
        np.testing.assert_array_equal(one.blocks[name], two.blocks[name])


@pytest.mark.parametrize("features", ["dense", "sparse", None])
def test_slimg_by_name_agrees_with_the_engine_in_memory(features, tmp_path):
    rng, n = np.random.default_rng(0), 2_500
    member = rng.integers(0, 60, n)
    source = np.repeat(np.arange(n), 6)
    pool = np.argsort(member, kind="stable")
    first = np.searchsorted(member[pool], np.arange(61))
    near = pool[(first[member[source]] + rng.random(len(source)) * np.diff(first)[member[source]]).astype(int)]
    x = {"dense": rng.random((n, 9)), "sparse": sp.random(n, 30, 0.2, format="csr", random_state=0), None: None}[features]
    graph = Graph(Adjacency.from_edges(source, near, n)[0], x, member % 3, [f"node {i}" for i in range(n)])
    rows = {"train": np.arange(0, n, 4), "val": np.arange(1, n, 4)}
    mine, other = (
        SlimG(engine=name, max_rank=40, grid=[(1e-4, 1e-3)]).fit(graph, **rows) for name in ("reordered", "memory")
    )
    assert np.mean(mine.predict() == other.predict()) > 0.99
    np.testing.assert_array_equal(mine.predict(), mine.classes_[mine.decision_function().argmax(axis=1)])
    written = pq.read_table(mine.write_predictions(tmp_path / "p")).to_pandas()
    np.testing.assert_array_equal(written["id"], graph.ids)
    np.testing.assert_array_equal(written["prediction"], mine.predict())


def test_it_travels_with_its_order():
    engine = engine_for("reordered", weighted_graph())
    other = pickle.loads(pickle.dumps(engine))
    row_matrix = weighted_graph().features
    np.testing.assert_array_equal(other.row_matrix(row_matrix), engine.row_matrix(row_matrix))
    assert not np.array_equal(engine.row_matrix(row_matrix), row_matrix)
