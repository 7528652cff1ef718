"""The lemmas of the paper: all rows are there, and each side is written as its own paper has it."""

import numpy as np
import pytest

from slimg.errors import InputError
from slimg.graph.graph import Graph
from slimg.lab import propagators as propagate
from slimg.lab.gnnexp import lemmas
from slimg.lab.gnnexp.lemmas import cases

LINEAR = ("lr", "sgc", "dgc", "s2gc", "g2cn")
DECOUPLED = ("ppnp", "appnp", "gdc", "gprgnn")
COUPLED = ("chebnet", "gcn", "sage", "gcnii", "h2gcn")
ROWS = (*LINEAR, *DECOUPLED, *COUPLED, "gat", "dagnn")


def test_every_row_of_the_papers_table_is_a_lemma():
    assert set(ROWS) <= set(lemmas.LEMMAS)
    assert {name for name in ROWS if lemmas.get(name).claim != "exact"} == {"h2gcn", "gat", "dagnn"}
    with pytest.raises(InputError, match="unknown lemma 'gcnn': choose one of"):
        lemmas.get("gcnn")


@pytest.mark.parametrize("name", lemmas.LEMMAS)
def test_there_are_three_rows_for_each_column_and_the_seed_decides(name):
    case = next(cases())
    output, blocks = lemmas.get(name).prove(case.a, case.x, np.random.default_rng(0))
    again, _ = lemmas.get(name).prove(case.a, case.x, np.random.default_rng(0))
    assert len(case.a) >= 3 * sum(block.shape[1] for block in blocks.values())
    assert (output == again).all() and output.shape == (len(case.a), lemmas.CLASSES)


@pytest.mark.parametrize("name", [*LINEAR, *DECOUPLED, *COUPLED])
def test_the_registered_propagator_of_the_same_name_has_these_blocks(name):
    lemma = lemmas.get(name)
    for case in list(cases())[::9]:
        _, blocks = lemma.prove(case.a, case.x, np.random.default_rng(0))
        graph = Graph.from_arrays(case.a, case.x)
        components = propagate.get(name, **lemma.hyperparameters)(graph, normalize_features=None)
        registered = components.labelled_rows(np.arange(len(case.a)))
        # an entry of GDC's diffusion that lies within its precision of ε may fall on either side
        tolerance = 5 * lemmas.THRESHOLD if name == "gdc" else 1e-4
        np.testing.assert_allclose(registered, np.hstack(list(blocks.values())), rtol=1e-4, atol=tolerance)


def test_normalisations_are_those_of_other_libraries():
    nx, torch, pyg = map(pytest.importorskip, ("networkx", "torch", "torch_geometric.nn"))
    case = next(cases())
    x, edges = torch.as_tensor(case.x), torch.as_tensor(np.stack(case.a.nonzero()))
    np.testing.assert_allclose(lemmas.sym(case.a) @ case.x, pyg.LGConv()(x, edges), atol=1e-12)
    np.testing.assert_allclose(lemmas.row(case.a) @ case.x, pyg.SimpleConv("mean")(x, edges), atol=1e-12)
    np.testing.assert_allclose(lemmas.mean_of_neighbours(case.a, case.x), pyg.SimpleConv("mean")(x, edges), atol=1e-12)
    ranks = nx.pagerank(nx.from_numpy_array(case.a + np.eye(len(case.a))), alpha=0.85, tol=1e-14, max_iter=1000)
    degree = (case.a.sum(1) + 1) ** 0.5
    symmetric = np.linalg.inv(np.eye(len(case.a)) - 0.85 * lemmas.sym_with_loops(case.a))
    expected = 0.15 * degree * (symmetric @ (1 / degree)) / len(case.a)
    np.testing.assert_allclose([ranks[node] for node in range(len(case.a))], expected, atol=1e-12)
