"""One contract for every entry of the registry, and what the registry says to wrong questions."""

import pickle
from dataclasses import FrozenInstanceError, dataclass, fields

import numpy as np
import pytest
from propagate_oracles import GRAPHS, OpaqueEngine, dense_a, dense_x, random_graph, row

from slimg.engine import MemoryEngine
from slimg.errors import InputError
from slimg.graph import Graph
from slimg.lab.propagators import Components, Propagator, get, names, register, registry
from slimg.lab.propagators.expressions import A_row, Concatenation, Expression, Structure, identity

PAPER = [
    *("lr", "sgc", "dgc", "s2gc", "g2cn"),
    *("ppnp", "appnp", "gdc", "gprgnn"),
    *("chebnet", "gcn", "sage", "gcnii", "h2gcn"),
    *("gat", "dagnn"),
    *("reg_kernel", "diff_kernel", "rw_kernel"),
    "slimg",
]
every = pytest.mark.parametrize("name", PAPER)
FORMULAS = [name for name in PAPER if name != "slimg"]


def columns(parts):
    """P for all nodes."""
    n = next(iter(parts.blocks.values())).shape[0]
    return parts.labelled_rows(np.arange(n))


def test_the_registry_holds_the_papers_rows_in_its_order():
    assert list(names()) == PAPER


@every
def test_contract(name):
    """Named blocks of n finite float32 rows, the same again, whatever the engine, the threads or the storage of X."""
    graph, engine = GRAPHS[3], OpaqueEngine()
    parts = get(name)(graph)
    assert isinstance(parts, Components) and parts.names == tuple(parts.groups) != ()
    p = columns(parts)
    assert p.shape == (graph.n, sum(parts.widths.values())) and p.dtype == np.float32 and np.isfinite(p).all()
    again = get(name)(graph, MemoryEngine(threads=2))
    assert np.array_equal(p, columns(again))
    sparse = get(name)(random_graph(3, sparse_features=True))
    np.testing.assert_allclose(np.abs(columns(sparse)), np.abs(p), atol=1e-3 if name == "slimg" else 1e-6)
    assert np.array_equal(p, columns(get(name)(graph, engine)))


@every
def test_contract_of_its_description(name):
    """Frozen, hashable, with a title, a reference, declared hyperparameters and a formula."""
    propagator = get(name)
    assert propagator.title and propagator.reference and type(propagator).__doc__
    assert propagator == get(name, **propagator.hyperparameters()) and hash(propagator) == hash(get(name))
    assert pickle.loads(pickle.dumps(propagator)) == propagator
    with pytest.raises((FrozenInstanceError, TypeError)):
        propagator.K = 3
    assert isinstance(propagator.formula(), Expression | Concatenation)
    assert set(propagator.grid) <= set(propagator.hyperparameters())
    for key, values in propagator.grid.items():
        assert all(get(name, **{key: value}) for value in values)


@pytest.mark.parametrize("name", FORMULAS)
def test_it_commutes_with_renumbering_the_nodes(name):
    graph = GRAPHS[2]
    order = np.random.default_rng(0).permutation(graph.n)
    renumbered = Graph.from_arrays(graph.adjacency.to_scipy()[order][:, order], graph.features[order])
    np.testing.assert_allclose(columns(get(name)(renumbered)), columns(get(name)(graph))[order], atol=2e-6)


@pytest.mark.parametrize("name", FORMULAS)
def test_without_edges_every_node_stands_alone(name):
    """Isolated nodes: P is a function of their own row, zero where only neighbours count."""
    lonely = Graph(Graph.from_arrays(None, np.eye(5)).adjacency, np.eye(5, dtype=np.float32))
    for block in get(name)(lonely).blocks.values():
        block = np.asarray(block.todense() if hasattr(block, "todense") else block)
        assert not (block - np.diag(np.diag(block))).any()


@every
def test_wrong_names_and_parameters_list_the_choices(name):
    with pytest.raises(InputError, match=rf"unknown hyperparameter of {name} 'depth': (choose one of|there is none)"):
        get(name, depth=3)
    for option in (each.name for each in fields(type(get(name)))):
        with pytest.raises(InputError, match=option):
            get(name, depth=3)


def test_hops_are_whole_numbers_from_zero():
    for name in names():
        if "K" in get(name).hyperparameters():
            with pytest.raises(InputError, match=rf"{name}: K must be a whole number of at least \d, not -1"):
                get(name, K=-1)


def test_an_unknown_propagator_lists_all_of_them():
    with pytest.raises(InputError, match="unknown propagator 'gcnn': choose one of appnp, chebnet, dagnn, dgc"):
        get("gcnn")


@pytest.mark.parametrize("name", FORMULAS)
def test_a_graph_without_features(name):
    with pytest.raises(InputError, match=f"{name} needs features"):
        get(name)(Graph(GRAPHS[0].adjacency))


def test_raw_features_are_taken_as_they_are():
    graph = GRAPHS[1]
    np.testing.assert_allclose(get("lr")(graph, normalize_features=None).blocks["X"], graph.features)


def test_together_gives_what_each_gives_alone():
    graph, engine = GRAPHS[1], MemoryEngine()
    chosen = [get("dgc", T=T) for T in (3, 6)] + [get("gcnii"), get("ppnp"), get("gat"), get("slimg"), get("sage")]
    for alone, shared in zip(chosen, registry.together(chosen, graph, engine), strict=True):
        expected = alone(graph, engine)
        assert shared.names == expected.names and shared.notes == expected.notes
        np.testing.assert_allclose(columns(shared), columns(expected), atol=1e-6)


def test_together_on_some_rows_gives_these_rows():
    graph, engine, rows = GRAPHS[1], MemoryEngine(), np.array([7, 2, 40])
    chosen = [get("g2cn", T=T) for T in (10, 40)] + [get("dagnn"), get("slimg")]
    for alone, shared in zip(chosen, registry.together(chosen, graph, engine, rows=rows), strict=True):
        np.testing.assert_allclose(columns(shared), alone(graph, engine).labelled_rows(rows), atol=1e-6)


def test_a_grid_shares_its_hops():
    one, four = OpaqueEngine(), OpaqueEngine()
    registry.together([get("dgc", T=6)], GRAPHS[0], one)
    registry.together([get("dgc", T=T) for T in (3, 4, 5, 6)], GRAPHS[0], four)
    assert four.passes == one.passes


@pytest.fixture
def own_registry(monkeypatch):
    names()
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))


def test_a_function_of_hyperparameters_is_a_propagator(own_registry):
    @register("lazy", title="Lazy walk")
    def lazy(K=2, alpha=0.5):
        """[αI + (1 − α) A_row]^K X."""
        return (alpha * identity + (1 - alpha) * A_row) ** K

    graph = GRAPHS[1]
    step = 0.25 * np.eye(graph.n) + 0.75 * row(dense_a(graph))
    mine = get("lazy", K=3, alpha=0.25)
    np.testing.assert_allclose(mine(graph).blocks["P"], np.linalg.matrix_power(step, 3) @ dense_x(graph), atol=1e-6)
    assert names()[-1] == "lazy" and mine.title == "Lazy walk"
    assert mine.hyperparameters() == {"K": 2, "alpha": 0.5}
    with pytest.raises(InputError, match="unknown hyperparameter of lazy 'beta': choose one of K, alpha"):
        get("lazy", beta=1)


def test_a_function_needs_defaults(own_registry):
    with pytest.raises(InputError, match="needs a default for each hyperparameter: K has none"):
        register("bare")(lambda K: A_row**K)


def test_a_class_may_compute_its_own_columns(own_registry):
    @register("degree")
    @dataclass(frozen=True)
    class Degree(Propagator):
        power: float = registry.positive(0.5)

        def columns(self, graph, engine, x):
            return {"degree": engine.row_matrix(graph.adjacency.degree()[:, None] ** self.power)}

    graph = GRAPHS[1]
    (block,) = get("degree", power=2)(graph).blocks.values()
    np.testing.assert_allclose(block[:, 0], dense_a(graph).sum(1) ** 2, rtol=1e-5)
    with pytest.raises(InputError, match="the propagator degree has no formula"):
        get("degree").blocks()


def test_a_formula_that_only_describes_cannot_be_computed(own_registry):
    register("u")(lambda: Structure())
    with pytest.raises(InputError, match="the form Structure has no computation by itself: override `columns`"):
        get("u")(GRAPHS[0])


def test_blocks_of_one_form_have_names_of_their_own(own_registry):
    assert list(get("g2cn", N=3, b=(0, 1, 2), T=1).blocks()) == ["P", "P#2", "P#3"]
