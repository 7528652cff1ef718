"""Preparation of X: rows that sum to one, and the limits."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import slimg
from slimg import Graph
from slimg.components import Features, PropagatedFeatures, Target, compute_components
from slimg.components.row_scaling import dense_rows, preparation_of, prepare_features, unit_rows, without_noise
from slimg.engine import MemoryEngine
from slimg.engine.mapped import MappedEngine

ENGINE = MemoryEngine(threads=2)
numbers = st.floats(0, 100, width=32).map(lambda value: 0.0 if value < 1e-3 else value)
signed = st.tuples(numbers, st.sampled_from([1.0, -1.0])).map(lambda pair: pair[0] * pair[1])


@given(arrays(np.float32, st.tuples(st.integers(1, 9), st.integers(1, 6)), elements=numbers), st.booleans())
@settings(max_examples=40, deadline=None)
def test_rows_sum_to_one_or_stay_zero(x, sparse):
    prepared = prepare_features(ENGINE, sp.csr_matrix(x) if sparse else x)
    assert ENGINE.is_sparse(prepared) == sparse
    dense = ENGINE.to_array(prepared)
    np.testing.assert_allclose(dense.sum(axis=1), x.any(axis=1), atol=1e-5)
    total = x.sum(axis=1, keepdims=True, dtype=np.float64)
    np.testing.assert_allclose(dense * total, x, atol=1e-3)


@given(arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(1, 40)), elements=signed))
@settings(max_examples=40, deadline=None)
def test_prepared_and_unit_rows_are_those_of_the_formulas(x):
    moved = x - x.min(axis=1, keepdims=True) if (x < 0).any() else x
    total, length = moved.sum(axis=1, keepdims=True), np.linalg.norm(x, axis=1, keepdims=True)
    prepared = np.divide(moved, total, out=np.zeros_like(x), where=total > 0)
    np.testing.assert_allclose(prepare_features(ENGINE, x), prepared, rtol=1e-5, atol=1e-5)
    unit = np.divide(x, length, out=np.zeros_like(x), where=length > 0)
    for block in (x, x.astype(np.float32), np.asfortranarray(x)):
        np.testing.assert_allclose(unit_rows(block), unit, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_near_the_smallest_number_sum_to_one(sparse):
    x = np.array([[1e-44, 3e-44, 0], [1, 3, 0]], np.float32)
    prepared = ENGINE.to_array(prepare_features(ENGINE, sp.csr_matrix(x) if sparse else x))
    np.testing.assert_allclose(prepared.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_one_negative_entry_moves_every_row_by_its_minimum(sparse):
    x = np.array([[-1, 0, 3], [2, 4, 4], [5, 5, 5]], np.float32)
    prepared = ENGINE.to_array(prepare_features(ENGINE, sp.csr_matrix(x) if sparse else x))
    np.testing.assert_allclose(prepared, [[0, 0.2, 0.8], [0, 0.5, 0.5], [0, 0, 0]], atol=1e-7)


def test_raw_features_are_taken_as_they_are():
    x = np.array([[-1, 0, 3]], np.float32)
    np.testing.assert_array_equal(prepare_features(ENGINE, x, None), x)


def test_the_input_is_not_written_to():
    x = np.array([[1, 3]], np.float32)
    matrix = sp.csr_matrix(x)
    prepare_features(ENGINE, x)
    prepare_features(ENGINE, matrix)
    np.testing.assert_array_equal(x, [[1, 3]])
    np.testing.assert_array_equal(matrix.toarray(), [[1, 3]])


@pytest.mark.parametrize(("floor", "first"), [(1e-7, [0, 0]), (1e-8, [0.6, 0.8])])
def test_rows_no_longer_than_the_floor_become_zero(floor, first):
    block = np.array([[3e-8, 4e-8], [3, 4]], np.float32)
    np.testing.assert_allclose(unit_rows(block, floor), [first, [0.6, 0.8]], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_shortest_rows_stay_finite(dtype):
    tiny = np.finfo(dtype).tiny
    block = np.array([[tiny, 0], [np.sqrt(tiny), 0], [0, 0]], dtype)
    assert np.isfinite(unit_rows(block)).all()


def test_unit_rows():
    np.testing.assert_allclose(unit_rows(np.array([[3, 4], [0, 0]], np.float32)), [[0.6, 0.8], [0, 0]])


def test_rows_of_noise_become_zero():
    block = np.array([[3e-8, 4e-8], [3, 4]], np.float32)
    np.testing.assert_array_equal(without_noise(block, 1e-7), [[0, 0], [3, 4]])
    np.testing.assert_array_equal(without_noise(block, 1e-8), block)


@pytest.mark.parametrize("options", [{"normalize": "row"}, {"normalize": "standard"}, {"normalize": "standard", "pca": False}])
@pytest.mark.parametrize("engine", [MemoryEngine(threads=1), MappedEngine("8GB")], ids=["memory", "mapped"])
def test_a_row_of_features_that_is_only_rounding_is_zero_everywhere(options, engine):
    leaves = 999  # of each of three hubs; the mean of their features is that of the hubs, so that hubs have average neighbours
    unit = np.tile(np.eye(3), (leaves // 3, 1))
    hubs = np.array([[1, 1, 1], [1.3, 0.7, 1], [0.7, 1.3, 1]]) / 3
    edges = [(hub, 3 + hub * leaves + leaf) for hub in range(3) for leaf in range(leaves)]
    graph = Graph.from_edges(edges, np.arange(3 + 3 * leaves), features=np.vstack([hubs, unit, unit, unit]))
    component = PropagatedFeatures(steps=1, **options)
    parts = compute_components(graph, engine, components=[component])
    rows, fitted = engine.to_array(parts.blocks[component.name]), parts.fitted[component.name]
    average = np.arange(3 + leaves)  # the hubs, and the leaves of the first
    assert not rows[average].any()
    np.testing.assert_allclose(np.linalg.norm(rows[3 + leaves :], axis=1), 1, rtol=1e-5)
    target = Target(graph, np.arange(3 + 3 * leaves))
    assert not fitted.rows(target)[0][average].any()
    weights = np.ones((rows.shape[1], 2))
    for found in component.attribute(fitted.state, weights, Target(graph, average[:5])):
        assert found.length == 0 and not found.scores.any() and not found.source_scores.any() and not found.features.any()
    again = component.from_arrays(component.to_arrays(fitted.state))
    assert not component.project(again, target)[average].any()


@pytest.mark.parametrize(
    ("x", "decided"),
    [
        ([[3, 0, 1], [2, 2, 0]], "row"),  # counts
        ([[0.2, 0.0, 0.0], [0.0, 0.7, 0.0]], "row"),  # weights of words: sparse
        ([[0.3, 0.7, 1.0], [0.4, 0.6, 1.0]], "row"),  # rows of one sum
        ([[0.3, 0.7, 1.5], [0.4, 0.6, 1.0]], "standard"),
        ([[-1, 2, 3], [4, 5, 6]], "standard"),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_counts_are_divided_by_their_sum_and_measured_numbers_standardised(x, decided, sparse):
    x = np.array(x, np.float32)
    given = sp.csr_matrix(x) if sparse else x
    found = preparation_of(ENGINE, ENGINE.row_matrix(given), "auto")
    assert found.normalize == decided
    dense = np.asarray(ENGINE.to_array(prepare_features(ENGINE, given, "auto")))
    if decided == "standard":
        np.testing.assert_allclose(dense, (x - x.mean(axis=0)) / x.std(axis=0), atol=1e-5)
    else:
        np.testing.assert_allclose(dense.sum(axis=1), 1, atol=1e-5)


def counts_of_words(n=200, d=300, seed=0):
    """Rows of words, the first in every row, the last in none, the last row empty, and a graph over them."""
    rng = np.random.default_rng(seed)
    x = rng.poisson(9 / (1 + np.arange(d)), (n, d)).astype(np.float32)
    x[:, 0] += 1
    x[:, -1] = x[-1] = 0
    ring = np.arange(n)
    edges = sp.coo_array((np.ones(2 * n), (np.tile(ring, 2), np.concatenate([(ring + 1) % n, (ring + 7) % n]))), (n, n))
    return x, Graph.from_arrays(edges, features=sp.csr_matrix(x), labels=rng.integers(0, 2, n))


@pytest.mark.parametrize("given", [sp.csr_matrix, np.asarray])
def test_rare_words_of_counts_weigh_more(given):
    x, _ = counts_of_words()
    weighted = x * [np.sqrt(np.log((len(x) + 1) / max(np.count_nonzero(column), 1))) for column in x.T]
    total = weighted.sum(axis=1, keepdims=True)
    expected = np.divide(weighted, total, out=np.zeros_like(weighted), where=total > 0)
    np.testing.assert_allclose(dense_rows(prepare_features(ENGINE, given(x), "auto")), expected, atol=1e-6)
    assert expected[:-1, 0].all() and not expected[-1].any()


def test_words_without_counts_shares_and_dense_counts_have_no_weights():
    x, _ = counts_of_words()
    for other in (x > 0, x / 4, x + 1):
        found = preparation_of(ENGINE, ENGINE.row_matrix(sp.csr_matrix(other, dtype=np.float32)), "auto")
        assert found.normalize == "row" and found.weights is None
    assert preparation_of(ENGINE, ENGINE.row_matrix(x), "row").weights is None


@pytest.mark.parametrize("rank", [16, 256], ids=["reduced", "as it is"])
def test_weights_of_words_go_through_engines_placing_explaining_and_the_model_file(rank):
    _, graph = counts_of_words()
    components = [Features(rank=rank), PropagatedFeatures(rank=rank)]
    parts, mapped = (compute_components(graph, engine, components=components) for engine in (ENGINE, MappedEngine("8GB")))
    assert any("the fewer nodes have one" in note for note in parts.notes)
    target = Target(graph, np.arange(graph.n))
    for name, fitted in parts.fitted.items():
        np.testing.assert_allclose(mapped.engine.to_array(mapped.blocks[name]), parts.blocks[name], atol=1e-4)
        np.testing.assert_allclose(fitted.rows(target)[0], parts.blocks[name], atol=1e-4)
        component, weights = fitted.component, np.eye(parts.widths[name])[:, :3]
        again = component.from_arrays(component.to_arrays(fitted.state))
        np.testing.assert_array_equal(component.project(again, target), component.project(fitted.state, target))
        for k, found in enumerate(component.attribute(fitted.state, weights, target)):
            np.testing.assert_allclose(found.features.sum(axis=0), parts.blocks[name][k, :3], atol=1e-4)


def test_a_constant_column_becomes_zero():
    x = np.array([[1.5, -1], [1.5, 2], [1.5, 5]], np.float32)
    np.testing.assert_array_equal(prepare_features(ENGINE, x, "standard")[:, 0], 0)


def table_of_numbers(monkeypatch, **columns):
    """A graph of a table whose features are dense, as those of large tables are."""
    monkeypatch.setattr("slimg.io.features.DENSE_ROWS", 1)
    rng = np.random.default_rng(0)
    numbers = {f"x{k}": rng.standard_normal(60) for k in range(4)}
    numbers["x1"][7] = np.nan
    nodes = pd.DataFrame({"id": range(60), **numbers, "city": ["rome", "oslo", "lima"] * 20, **columns})
    return slimg.read(pd.DataFrame({"source": range(60), "target": np.roll(range(60), 7)}), nodes)


def test_a_number_and_its_complement_are_propagated_as_one_column(monkeypatch):
    graph = table_of_numbers(monkeypatch)
    halved = compute_components(graph, ENGINE)
    whole = compute_components(graph.with_reading(None), ENGINE)
    assert graph.d == 4 * 2 + 1 + 3
    for name in ("X", "A_row^2 X", "A_sym^2 X", "PPR^10 X"):
        state = halved.fitted[name].state
        assert state.basis.shape == (12, 1 + 4 + 1 + 3) and whole.fitted[name].state.basis is None
        np.testing.assert_allclose(state.mean, whole.fitted[name].state.mean, atol=1e-6)
        ours, exact = (each.blocks[name] @ each.blocks[name].T for each in (halved, whole))
        np.testing.assert_allclose(ours, exact, atol=1e-4)


def test_numbers_that_do_not_add_up_are_taken_as_they_are(monkeypatch):
    """As those of nodes of another type, whose u and 1 − u are both zero, or features that were exchanged."""
    graph = table_of_numbers(monkeypatch)
    x = np.array(graph.features)
    x[5, :2] = 0
    x[5, -3:] += x[0, :2].sum() / 3  # the sum of the row stays
    found = compute_components(replace(graph, features=x), ENGINE)
    assert found.fitted["X"].state.basis is None
