"""P(A, X) against dense numpy and scikit-learn; its options; the same bits on any number of threads."""

import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA as SklearnPCA

from oracles import chebyshev
from slimg.components import (
    EnergyRank,
    Structure,
    compute,
    compute_components,
    default_components,
    paper_components,
)
from slimg.components.component import LEAST_STRUCTURE_RANK
from slimg.engine import MemoryEngine, memory
from slimg.errors import InputError
from slimg.graph import Graph
from slimg.lab.baselines.ablations import slimg_components, with_normalize
from slimg.linalg import svd

PAPER = paper_components(normalize="row")


def random_graph(n=60, d=9, seed=0, weighted=False, isolated=2, sparse_features=False):
    rng = np.random.default_rng(seed)
    a = np.triu(rng.random((n, n)) < 0.12, 1).astype(np.float32)
    if weighted:
        a *= rng.random((n, n)).astype(np.float32) + 0.5
    a = a + a.T
    a[:isolated] = a[:, :isolated] = 0
    x = rng.random((n, d)).astype(np.float32) * (rng.random((n, d)) < 0.6)
    x[3] = 0
    return a, x, Graph.from_arrays(sp.csr_matrix(a), features=sp.csr_matrix(x) if sparse_features else x)


def oracle(a, x, energy=0.9):
    """The formula of the paper, dense, in float64."""
    a, x = a.astype(np.float64), x.astype(np.float64)
    n, d = x.shape
    length = lambda m: np.linalg.norm(m, axis=1, keepdims=True)  # noqa: E731
    unit = lambda m: np.divide(m, length(m), out=np.zeros_like(m), where=length(m) > 1e-9)  # noqa: E731
    total = x.sum(axis=1, keepdims=True)
    x = np.divide(x, total, out=np.zeros_like(x), where=total > 0)
    u, s, _ = np.linalg.svd(a)
    held = np.cumsum(s**2) / np.square(a).sum()
    r = min(max(int((held < energy).sum()), 1), n, max(d, LEAST_STRUCTURE_RANK))
    degree = a.sum(axis=1)
    row = np.divide(a, degree[:, None], out=np.zeros_like(a), where=degree[:, None] > 0)
    loops = a + np.eye(n)
    tilde = loops / np.sqrt(np.outer(loops.sum(axis=1), loops.sum(axis=1)))
    g = lambda b: unit(SklearnPCA(min(r, n, d), svd_solver="full").fit_transform(b))  # noqa: E731
    return r, {"U": unit(u[:, :r] * s[:r]), "X": g(x), "A_row^2 X": g(row @ row @ x), "A_sym^2 X": g(tilde @ tilde @ x)}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse_features", [False, True])
def test_components_equal_the_dense_formula(weighted, sparse_features):
    a, x, graph = random_graph(weighted=weighted, sparse_features=sparse_features)
    rank, expected = oracle(a, x)
    result = compute_components(graph, MemoryEngine(), components=PAPER)
    assert result.rank == rank
    assert result.names == tuple(expected)
    for name, block in expected.items():
        mine = result.blocks[name].astype(np.float64)
        np.testing.assert_allclose(mine @ mine.T, block @ block.T, atol=2e-4)


@pytest.mark.parametrize("options", [{}, {"k_row": (1, 2), "k_sym": (2, 3)}, {"pca": False}, {"normalize": None}])
def test_one_after_the_other_equals_side_by_side_to_the_bit(monkeypatch, options):
    """Also where row matrices are written over by what is made from them, as large ones are."""
    _, x, graph = random_graph()
    listed = slimg_components(**options)
    beside = compute_components(graph, components=listed)
    monkeypatch.setattr(compute, "SIDE_BY_SIDE", 0)
    monkeypatch.setattr(memory, "LARGE", 1)
    alone = compute_components(graph, components=listed)
    np.testing.assert_array_equal(graph.features, x)
    assert beside.names == alone.names
    for name in beside.names:
        assert beside.blocks[name].tobytes() == alone.blocks[name].tobytes()


@pytest.mark.parametrize("sparse_features", [False, True])
@pytest.mark.parametrize("large", [False, True])
def test_a_reduced_x_of_full_width_gives_the_exact_components(monkeypatch, sparse_features, large):
    """With as many columns as features V is a rotation: the limit in which the reduction changes nothing."""
    _, _, graph = random_graph(d=40, sparse_features=sparse_features)
    exact = compute_components(graph, components=default_components())
    monkeypatch.setattr(svd, "WORTH", 0.0)
    if large:
        monkeypatch.setattr(compute, "SIDE_BY_SIDE", 0)
        monkeypatch.setattr(memory, "LARGE", 1)
    reduced = compute_components(graph, components=default_components())
    assert reduced.fitted["X"].state.basis is not None and exact.fitted["X"].state.basis is None
    for name, block in exact.blocks.items():
        mine = reduced.blocks[name].astype(np.float64)
        np.testing.assert_allclose(mine @ mine.T, block @ block.T, atol=2e-3)
        if name != "U":
            means = [parts.fitted[name].state.mean for parts in (reduced, exact)]
            np.testing.assert_allclose(*means, atol=1e-6)


def test_the_default_list_equals_the_dense_formula():
    a, x, graph = random_graph()
    dense = {"row": a / np.maximum(a.sum(axis=1), 1e-9)[:, None], "sym": a + np.eye(60)}
    dense["sym"] /= np.sqrt(np.outer(dense["sym"].sum(axis=1), dense["sym"].sum(axis=1)))
    total = x.sum(axis=1, keepdims=True)
    x = np.divide(x, total, out=np.zeros_like(x), where=total > 0)
    spread = chebyshev(dense["sym"], 0.05, 10)
    result = compute_components(graph, components=with_normalize(default_components(), "row"))
    for name, matrix in (("X", np.eye(60)), ("A_row^2 X", dense["row"] @ dense["row"]), ("PPR^10 X", spread)):
        scores = SklearnPCA(svd_solver="full").fit_transform(matrix @ x)
        unit = scores / np.maximum(np.linalg.norm(scores, axis=1, keepdims=True), 1e-12)
        mine = result.blocks[name]
        np.testing.assert_allclose(mine @ mine.T, unit @ unit.T, atol=2e-3)


def test_features_that_are_the_same_in_all_nodes_leave_a_note_or_an_error():
    a, _, _ = random_graph()
    for x in (np.zeros((60, 3)), np.ones((60, 3))):
        graph = Graph.from_arrays(sp.csr_matrix(a), features=x)
        result = compute_components(graph)
        assert "X" not in result.names and "U" in result.names
        assert any("X" in note and "same" in note for note in result.notes)
        with pytest.raises(InputError, match=r"X .*same"):
            compute_components(graph, components=slimg_components(["X"]))


def test_u_is_not_limited_by_the_number_of_features():
    _, _, graph = random_graph(d=1)
    assert compute_components(graph).widths["U"] > 32


def test_columns_and_widths_agree():
    _, _, graph = random_graph()
    result = compute_components(graph, components=PAPER)
    rows = result.labelled_rows(np.array([7, 3, 3]))
    assert rows.dtype == np.float32 and rows.flags.c_contiguous
    assert rows.shape == (3, sum(result.widths.values()))
    for name, columns in result.groups.items():
        np.testing.assert_array_equal(rows[:, columns], result.blocks[name][[7, 3, 3]])
    mask = np.zeros(60, bool)
    mask[[3, 7]] = True
    np.testing.assert_array_equal(result.labelled_rows(mask), result.labelled_rows(np.array([3, 7])))


def test_linear_is_the_sum_over_components():
    _, _, graph = random_graph()
    result = compute_components(graph, components=PAPER)
    rng = np.random.default_rng(0)
    weights = {name: rng.standard_normal((width, 4)) for name, width in result.widths.items()}
    weights["X"] = np.zeros_like(weights["X"])
    truth = sum(result.blocks[name] @ weight for name, weight in weights.items())
    np.testing.assert_allclose(result.linear(weights), truth, atol=1e-4)
    nothing = {name: np.zeros((width, 4)) for name, width in result.widths.items()}
    np.testing.assert_array_equal(result.linear(nothing), np.zeros((60, 4)))


def test_rows_have_length_one_or_zero():
    _, _, graph = random_graph()
    result = compute_components(graph, components=PAPER)
    for block in result.blocks.values():
        lengths = np.linalg.norm(block, axis=1)
        assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))
    assert not result.blocks["U"][:2].any(), "isolated nodes have no structure"


def test_a_subset_of_components_keeps_their_columns():
    _, _, graph = random_graph()
    whole = compute_components(graph, components=PAPER)
    part = compute_components(graph, components=slimg_components(["sym", "X"]))
    assert part.names == ("X", "A_sym^2 X") and part.rank == whole.rank
    for name in part.names:
        np.testing.assert_array_equal(part.blocks[name], whole.blocks[name])
    assert compute_components(graph, components=[Structure()]).names == ("U",)


def test_several_hops_give_one_component_each():
    _, _, graph = random_graph()
    result = compute_components(graph, components=slimg_components(["row", "sym"], k_row={4, 2}, k_sym=(1, 3)))
    assert result.names == ("A_row^2 X", "A_row^4 X", "A_sym^1 X", "A_sym^3 X")
    single = compute_components(graph, components=slimg_components(["row"], k_row=4))
    np.testing.assert_array_equal(result.blocks["A_row^4 X"], single.blocks["A_row^4 X"])


def test_hops_are_shared(monkeypatch):
    _, _, graph = random_graph()
    engine = MemoryEngine(threads=1)
    passes = []
    original = MemoryEngine.products
    monkeypatch.setattr(MemoryEngine, "products", lambda self, *args: passes.append(1) or original(self, *args))
    listed = slimg_components(["row", "sym"], k_row={2, 4}, k_sym={2, 3}, pca=False)
    compute_components(graph, engine, components=listed)
    assert len(passes) == 1 + 3 + 2


@pytest.mark.parametrize("sparse_features", [False, True])
def test_without_pca_the_propagated_features_themselves(sparse_features):
    a, x, graph = random_graph(sparse_features=sparse_features)
    result = compute_components(graph, components=paper_components(pca=False, normalize="row"))
    assert result.widths["X"] == x.shape[1]
    degree = a.sum(axis=1)
    row = np.divide(a, degree[:, None], out=np.zeros_like(a), where=degree[:, None] > 0)
    total = x.sum(axis=1, keepdims=True)
    prepared = np.divide(x, total, out=np.zeros_like(x), where=total > 0)
    hops = row @ row @ prepared
    length = np.linalg.norm(hops, axis=1, keepdims=True)
    expected = np.divide(hops, length, out=np.zeros_like(hops), where=length > 0)
    np.testing.assert_allclose(result.blocks["A_row^2 X"], expected, atol=1e-5)
    assert result.fitted["X"].state.pca is None


def test_raw_features():
    _, x, graph = random_graph()
    result = compute_components(graph, components=slimg_components(["X"], normalize=None, pca=False))
    length = np.linalg.norm(x, axis=1, keepdims=True)
    np.testing.assert_allclose(result.blocks["X"] * length, x, atol=1e-5)


def test_the_rank_is_capped():
    _, _, graph = random_graph(d=9)
    assert compute_components(graph, components=paper_components(rank=EnergyRank(max_rank=4))).rank == 4
    assert compute_components(graph, components=paper_components(rank=EnergyRank(1e-9))).rank == 1


def test_more_features_than_nodes():
    a, x, graph = random_graph(n=20, d=50)
    rank, expected = oracle(a, x)
    result = compute_components(graph, components=PAPER)
    assert result.rank == rank
    for name, block in expected.items():
        mine = result.blocks[name].astype(np.float64)
        np.testing.assert_allclose(mine @ mine.T, block @ block.T, atol=1e-3)


def test_ranks_and_widths_of_cora(load_real):
    graph = load_real("cora")
    assert compute_components(graph).widths == {"U": 64, **dict.fromkeys(("X", "A_row^2 X", "A_sym^2 X", "PPR^10 X"), 256)}
    result = compute_components(graph, components=PAPER)
    assert result.rank == 1052
    assert set(result.widths.values()) == {1052}
    for block in result.blocks.values():
        assert np.isfinite(block).all()


@pytest.mark.parametrize("n", [60, 20])
def test_fixed_ranks_are_kept_and_need_no_other(n):
    """Each component has its own number of columns; U is not limited by the number of features."""
    _, _, graph = random_graph(n=n, d=5)
    listed = [Structure(rank=8), *slimg_components(["X"]), *paper_components(rank=2)[2:]]
    result = compute_components(graph, components=listed)
    alone = compute_components(graph, components=[Structure(rank=8)])
    assert result.widths["U"] == 8 and result.widths["A_row^2 X"] == result.widths["A_sym^2 X"] == 2
    np.testing.assert_array_equal(result.blocks["U"], alone.blocks["U"])
    wide = compute_components(graph, components=paper_components(rank=4))
    for name in ("A_row^2 X", "A_sym^2 X"):  # leading directions, up to the length of the row
        both = [parts.blocks[name][5:, :2] for parts in (result, wide)]
        np.testing.assert_allclose(*(rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in both), atol=1e-3)


def test_components_with_different_preparations_stand_side_by_side():
    _, _, graph = random_graph()
    raw, row = slimg_components(["row"], normalize=None, k_row=1), slimg_components(["row"], k_row=2)
    both = compute_components(graph, components=[*raw, *row])
    for listed in (raw, row):
        alone = compute_components(graph, components=listed)
        np.testing.assert_array_equal(both.blocks[listed[0].name], alone.blocks[listed[0].name])


def test_cleared_components_give_their_memory_back(monkeypatch):
    monkeypatch.setattr("slimg.engine.memory.LARGE", 0)
    components = compute_components(random_graph()[2])
    held = [weakref.ref(block.base) for block in components.blocks.values()]
    assert len(held) > 2
    components.clear()
    vectors = components.fitted["U"].state.spectrum.vectors  # the only ones that place nodes
    assert [place for place in held if place() is not None and place() is not vectors.base] == []
