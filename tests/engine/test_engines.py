"""The contract of engines: each operation against numpy, and the same components of a graph on every engine."""

from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from slimg.components import EnergyRank, NeighbourRanges, PropagatedFeatures, compute_components, paper_components
from slimg.engine import MemoryEngine, Scaling
from slimg.engine.base import signed_rows
from slimg.graph.graph import Graph
from slimg.learn.objective import Problem
from slimg.learn.path import Pair, solve_path
from slimg.linalg import krylov

LISTED = paper_components(rank=EnergyRank(0.5, 16))


class Rows(NamedTuple):
    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray | None


def numbers(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k), dtype=np.float32)


def adjacency(n=300, seed=0, weighted=True):
    a = sp.random(n, n, 0.03, format="csr", dtype=np.float32, random_state=seed)
    if not weighted:
        a.data[:] = 1
    return a, Rows(a.indptr.astype(np.int64), a.indices, a.data if weighted else None)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_products(any_engine, small_blocks, weighted, count):
    a, rows = adjacency(weighted=weighted)
    row_matrix, scale = numbers(300, 7), np.random.default_rng(1).random(300, dtype=np.float32)
    scalings = [Scaling(None, scale), Scaling(scale, scale, 1.0), Scaling(loop=0.5)][:count]
    outs = any_engine.products(rows, any_engine.row_matrix(row_matrix), scalings)
    both = scale[:, None] * ((a + sp.eye(300)) @ (scale[:, None] * row_matrix))
    expected = [scale[:, None] * (a @ row_matrix), both, a @ row_matrix + 0.5 * row_matrix]
    assert len(outs) == count
    for out, truth in zip(outs, expected, strict=False):
        assert out.shape == (300, 7)
        np.testing.assert_allclose(any_engine.to_array(out), truth, atol=1e-4)


def test_products_are_the_same_to_the_bit(any_engine):
    _, rows = adjacency(500, weighted=False)
    row_matrix, scale = numbers(500, 37), np.random.default_rng(1).random(500, dtype=np.float32)
    scalings = [Scaling(None, scale), Scaling(scale, scale, 1.0)]
    expected = MemoryEngine(threads=1).products(rows, row_matrix, scalings)
    for out, truth in zip(any_engine.products(rows, any_engine.row_matrix(row_matrix), scalings), expected, strict=True):
        np.testing.assert_array_equal(any_engine.to_array(out), truth)


def test_products_of_a_matrix_without_entries(any_engine):
    rows = Rows(np.zeros(6, np.int64), np.zeros(0, np.int32), None)
    (out,) = any_engine.products(rows, any_engine.row_matrix(numbers(5, 3)), [Scaling(loop=2.0)])
    np.testing.assert_allclose(any_engine.to_array(out), 2 * numbers(5, 3))


def test_products_of_memory_maps(any_engine, tmp_path):
    a, rows = adjacency()
    mapped = []
    for name, array in zip(Rows._fields, rows, strict=True):
        np.save(tmp_path / f"{name}.npy", array)
        mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    np.save(tmp_path / "rows.npy", numbers(300, 7))
    row_matrix = any_engine.row_matrix(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    (out,) = any_engine.products(Rows(*mapped), row_matrix, [Scaling()])
    np.testing.assert_allclose(any_engine.to_array(out), a @ numbers(300, 7), atol=1e-4)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("k", [5, 200])
def test_sketch(any_engine, weighted, k):
    a, rows = adjacency(weighted=weighted)
    signs = signed_rows(MemoryEngine(threads=1).random(300, 1, 3), k)
    assert (np.abs(signs).sum(axis=1) == 1).all() and (np.abs(signs).max(axis=0) == 1).sum() > min(k, 100) / 2
    out = any_engine.sketch(rows, k, 3)
    np.testing.assert_allclose(any_engine.to_array(out), a @ signs, atol=1e-5)


def test_an_overwritten_input_gives_the_same_rows(any_engine, small_blocks):
    row_matrix = any_engine.map_rows(lambda block: block + 1, any_engine.row_matrix(numbers(500, 6)))
    out = any_engine.map_rows(lambda block: 2 * block, row_matrix, overwrite_input=True)
    np.testing.assert_array_equal(any_engine.to_array(out), 2 * (numbers(500, 6) + 1))


def test_gram(any_engine, small_blocks):
    a, b = numbers(500, 6), numbers(500, 3, seed=1)
    row_matrices = any_engine.row_matrix(a), any_engine.row_matrix(b)
    np.testing.assert_allclose(any_engine.gram(row_matrices[0]), a.T.astype(np.float64) @ a, rtol=1e-12)
    np.testing.assert_allclose(any_engine.gram(*row_matrices), a.T.astype(np.float64) @ b, atol=1e-11)
    assert any_engine.gram(row_matrices[0]).dtype == np.float64


@pytest.mark.parametrize("density", [0.05, 0.5])
def test_gram_and_combine_of_a_sparse_row_matrix(any_engine, small_blocks, density):
    x = sp.random(400, 70, density, format="csr", dtype=np.float32, random_state=0)
    row_matrix, dense, b = any_engine.row_matrix(x), x.toarray().astype(np.float64), numbers(400, 20)
    assert any_engine.is_sparse(row_matrix)
    np.testing.assert_allclose(any_engine.gram(row_matrix), dense.T @ dense, atol=1e-6)
    np.testing.assert_allclose(any_engine.gram(row_matrix, any_engine.row_matrix(b)), dense.T @ b, atol=1e-5)
    np.testing.assert_allclose(
        any_engine.to_array(any_engine.combine(row_matrix, numbers(70, 9))), dense @ numbers(70, 9), atol=1e-5
    )


def test_combine(any_engine, small_blocks):
    product = any_engine.combine(any_engine.row_matrix(numbers(400, 6)), numbers(6, 4))
    np.testing.assert_allclose(any_engine.to_array(product), numbers(400, 6) @ numbers(6, 4), atol=1e-5)


def test_map_rows_and_sum_rows(any_engine, small_blocks):
    a, b = numbers(333, 5), numbers(333, 2)
    mapped = any_engine.map_rows(lambda x, y: x[:, :2] * y, any_engine.row_matrix(a), any_engine.row_matrix(b))
    np.testing.assert_array_equal(any_engine.to_array(mapped), a[:, :2] * b)
    total = any_engine.sum_rows(lambda x: x.sum(axis=0, dtype=np.float64), any_engine.row_matrix(a))
    np.testing.assert_allclose(total, a.sum(axis=0), atol=1e-4)


def test_map_rows_of_a_sparse_row_matrix_stays_sparse_if_its_blocks_do(any_engine, small_blocks):
    x = sp.random(400, 9, 0.3, format="csr", dtype=np.float32, random_state=0)
    doubled = any_engine.map_rows(lambda block: 2 * block, any_engine.row_matrix(x))
    assert any_engine.is_sparse(doubled)
    np.testing.assert_array_equal(any_engine.to_array(doubled), 2 * x.toarray())
    assert not any_engine.is_sparse(any_engine.map_rows(lambda block: block.toarray(), any_engine.row_matrix(x)))


def test_rows_and_to_array(any_engine):
    x = sp.random(50, 9, 0.3, format="csr", dtype=np.float32, random_state=0)
    index, dense = np.array([4, 4, 0, 49]), any_engine.row_matrix(numbers(50, 9))
    np.testing.assert_array_equal(any_engine.rows(any_engine.row_matrix(x), index), x.toarray()[index])
    np.testing.assert_array_equal(any_engine.rows(dense, index), numbers(50, 9)[index])
    mask = np.arange(50) % 2 == 0
    np.testing.assert_array_equal(any_engine.rows(dense, mask), numbers(50, 9)[mask])
    assert any_engine.rows(dense, np.zeros(0, int)).shape == (0, 9)


def test_for_each_row_chunk_passes_all_rows_in_order_with_entries_of_vectors(any_engine):
    names = np.array([f"node {i}" for i in range(50)])
    row_matrix = any_engine.row_matrix(numbers(50, 9))
    found = any_engine.for_each_row_chunk(_first_and_sum, [row_matrix], [names, names.astype(object)])
    assert [which for which, *_ in found] == list(range(len(found)))
    assert found[0][1] == found[0][2] == "node 0"
    assert sum(rows for *_, rows, _ in found) == 50
    assert sum(total for *_, total in found) == pytest.approx(float(numbers(50, 9).sum()), abs=1e-4)


def _first_and_sum(which, rows, names, objects):
    return which, names[0], objects[0], len(rows), float(rows.sum())


def test_random_has_the_same_numbers(any_engine):
    drawn = any_engine.to_array(any_engine.random(10_000, 3, random_state=7))
    np.testing.assert_array_equal(drawn, MemoryEngine(threads=1).random(10_000, 3, random_state=7))


def test_concurrently_keeps_order_and_raises(any_engine):
    assert any_engine.concurrently(lambda: 1, lambda: 2, lambda: 3) == [1, 2, 3]
    with pytest.raises(ZeroDivisionError):
        any_engine.concurrently(lambda: 1, lambda: 1 / 0)


def test_operations_inside_tasks(any_engine):
    row_matrix = any_engine.row_matrix(numbers(300, 5))
    for result in any_engine.concurrently(*(lambda: any_engine.gram(row_matrix) for _ in range(4))):
        np.testing.assert_allclose(result, numbers(300, 5).T.astype(np.float64) @ numbers(300, 5), rtol=1e-12)


WAYS = {"converged": krylov.SKETCHED_BEYOND, "sketched": 0}

# components of a graph ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def communities():
    """9,000 nodes in 30 communities: beyond the sizes that are decomposed densely, and not side by side."""
    rng = np.random.default_rng(0)
    n, count = 9_000, 30
    member = rng.integers(0, count, n)
    order = np.argsort(member, kind="stable")
    start = np.searchsorted(member[order], np.arange(count + 1))
    source = np.repeat(np.arange(n), 8)
    own = member[source]
    near = order[start[own] + (rng.random(len(source)) * (start[own + 1] - start[own])).astype(int)]
    target = np.where(rng.random(len(source)) < 0.8, near, rng.integers(0, n, len(source)))
    labels = member % 3
    features = numbers(3, 24, 1)[labels] + 2 * numbers(n, 24, 2)
    return Graph.from_edges(np.c_[source, target], nodes=np.arange(n), features=features, label=labels)


@pytest.fixture(scope="module")
def in_memory(communities):
    """Components and predictions, with U to a tolerance and in sketched Lanczos (as on a large graph)."""
    found = {}
    for way, large in WAYS.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(krylov, "SKETCHED_BEYOND", large)
            parts = compute_components(communities, MemoryEngine(threads=1), components=LISTED)
            found[way] = parts, predictions(communities, parts)
    return found


def predictions(graph, parts):
    """Classes of all nodes, learned from 300 of them with one pair of penalties."""
    train = np.random.default_rng(0).permutation(graph.n)[:300]
    groups = np.repeat(np.arange(len(parts.names)), list(parts.widths.values()))
    problem = Problem.build(parts.labelled_rows(train), graph.codes[train], 3, groups, parts.engine)
    ((_, solution),) = solve_path(problem, [Pair(1e-4, 1e-3)], 1e-4, 100)
    weights = {name: solution.weights[columns] for name, columns in parts.groups.items()}
    return (parts.engine.to_array(parts.linear(weights)) + solution.intercept).argmax(axis=1)


@pytest.mark.parametrize("way", ["converged", "sketched"])
def test_components_and_predictions_agree_with_those_in_memory(any_engine, communities, in_memory, way, monkeypatch):
    monkeypatch.setattr(krylov, "SKETCHED_BEYOND", WAYS[way])
    expected, predicted = in_memory[way]
    parts = compute_components(communities, any_engine, components=LISTED)
    assert parts.names == expected.names and parts.rank == expected.rank
    pairs = np.random.default_rng(3).integers(0, communities.n, (2, 10_000))
    for name, truth in expected.blocks.items():
        mine = any_engine.to_array(parts.blocks[name])
        inner = [np.einsum("ij,ij->i", each[pairs[0]], each[pairs[1]]) for each in (mine, truth)]
        np.testing.assert_allclose(*inner, atol=1e-3, err_msg=name)
        state = expected.fitted[name].state
        values = (state.spectrum if name == "U" else state.pca).singular_values
        gaps = np.abs(np.diff(values)) / values[:-1]
        distinct = np.minimum(np.r_[np.inf, gaps], np.r_[gaps, np.inf]) > 0.01
        sign = np.sign(np.einsum("ij,ij->j", mine, truth))
        assert distinct.any()
        np.testing.assert_allclose((mine * sign)[:, distinct], truth[:, distinct], atol=1e-4, err_msg=name)
    vectors = any_engine.to_array(parts.fitted["U"].state.spectrum.vectors).astype(np.float64)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(parts.widths["U"]), atol=1e-5)
    assert np.mean(predictions(communities, parts) == predicted) >= 0.99


def test_soft_rows_and_ranges_of_the_neighbourhood_are_those_in_memory(any_engine, communities):
    listed = [PropagatedFeatures(soft=True), NeighbourRanges(columns=(0, 1, 4))]
    parts, expected = (compute_components(communities, each, components=listed) for each in (any_engine, MemoryEngine(threads=1)))
    for name, block in expected.blocks.items():
        np.testing.assert_allclose(any_engine.to_array(parts.blocks[name]), block, atol=2e-6)
