"""The contract of every component, of the paper's kinds and of one's own; what is refused, and what a graph can have."""

from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from degree_bins import DegreeBins

from explain_graphs import planted
from slimg import Graph, SlimG
from slimg.components import (
    DEFAULT_COMPONENTS,
    PAPER_COMPONENTS,
    DegreeRanges,
    Diffusion,
    EnergyRank,
    Features,
    NeighbourRanges,
    PageRank,
    PropagatedFeatures,
    Structure,
    Target,
    compute_components,
    default_components,
    paper_components,
)
from slimg.components.component import Component, FittedComponent, available_components
from slimg.components.compute import columns_through
from slimg.components.estimate import Sizes, estimate
from slimg.components.row_scaling import SOFT
from slimg.engine.rates import Rates
from slimg.errors import InputError
from slimg.inference.saving import decode, encode
from slimg.report.page import render
from slimg.report.record import fit_record

FAMILY = [
    *PAPER_COMPONENTS,
    *DEFAULT_COMPONENTS,
    Structure(rank=5),
    Structure(rank=6, normalize=True),
    Features(pca=False),
    Features(normalize=None, rank=3),
    Features(normalize="standard"),
    PropagatedFeatures(steps=1, pca=False),
    PropagatedFeatures(kind="sym", steps=4, rank=EnergyRank(0.5, 6)),
    Diffusion(),
    Diffusion(alpha=0.5, steps=3, pca=False),
    Diffusion(steps=0, rank=4),
    PageRank(),
    PageRank(alpha=0.3, steps=4, soft=True),
    PropagatedFeatures(soft=True),
    NeighbourRanges(),
    NeighbourRanges(columns=(3, 0)),
    DegreeRanges(),
    Features(normalize="bins", soft=True, rank=20),
    DegreeBins(),
]
RATES = Rates(entry=5e-9, line=1.5e-9, single=1e-11, double=4e-11, stream=1e-10, disk=2e-9)


def ring(n=60):
    step = sp.csr_matrix((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), (n, n))
    return (step + step.T).tocsr()


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("component", FAMILY, ids=str)
def test_every_component_keeps_the_contract(component, sparse):
    graph = planted(sparse=sparse)
    parts = compute_components(graph, components=[component])
    fitted, block = parts.fitted[component.name], parts.engine.to_array(parts.blocks[component.name])
    lengths = np.linalg.norm(block, axis=1)
    fits = lengths < SOFT**-0.5 if getattr(component, "soft", False) else (np.abs(lengths - 1) < 1e-5) | (lengths == 0)
    assert np.all(fits) and len(block) == graph.n
    assert component.formula and component.title and component.reach >= 0
    for rows in (np.array([5]), np.arange(graph.n)[::-1]):  # the fitted graph is placed where it was
        placed, length = fitted.rows(Target(graph, rows))
        np.testing.assert_allclose(placed, block[rows], atol=2e-5)
        assert length.shape == (len(rows),)
    weights = np.random.default_rng(0).standard_normal((block.shape[1], 3))
    rows = np.arange(0, graph.n, 7)
    for row, each in zip(rows, component.attribute(fitted.state, weights, Target(graph, rows)), strict=True):
        np.testing.assert_allclose(each.scores, block[row] @ weights, atol=1e-4)
        if each.features is not None:
            np.testing.assert_allclose(each.features.sum(axis=0), each.scores, atol=1e-8)
    beta = component.loadings(fitted.state, weights)
    assert beta is None or beta.shape[1] == 3
    again = FittedComponent(component, component.from_arrays(component.to_arrays(fitted.state)))
    np.testing.assert_array_equal(again.rows(Target(graph, rows))[0], fitted.rows(Target(graph, rows))[0])
    assert decode(encode(component, "component")) == component and hash(component) == hash(replace(component))
    cost = component.cost(Sizes.of(graph))
    assert cost.columns >= 1 and cost.passes >= 0
    with pytest.raises(FrozenInstanceError):
        component.rank = 3


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_loadings_are_computed_once_for_the_weights_of_a_model(sparse):
    graph, rng = planted(sparse=sparse), np.random.default_rng(0)
    fitted = compute_components(graph, components=[PropagatedFeatures(rank=6)]).fitted["A_row^2 X"]
    one, other = rng.standard_normal((2, 6, 3))
    target = Target(graph, np.array([5]))
    kept = fitted.component.loadings(fitted.state, one)
    fitted.component.attribute(fitted.state, one, target)
    fitted.component.neighbour_scores(fitted.state, one[:, 0], target)
    assert fitted.component.loadings(fitted.state, one) is kept
    fresh = FittedComponent(fitted.component, fitted.component.from_arrays(fitted.component.to_arrays(fitted.state)))
    for weights in (other, one, one.copy()):  # also where they change, and where equal ones are another array
        (mine,), (again,) = (each.component.attribute(each.state, weights, target) for each in (fitted, fresh))
        np.testing.assert_array_equal(mine.features, again.features)
        np.testing.assert_allclose(mine.scores, fitted.rows(target)[0][0] @ weights, rtol=1e-12)


def test_the_mean_of_a_wide_x_is_that_of_its_rows():
    """A word that is in every row of many is added up without loss; else all rows would be placed beside themselves."""
    n, d, rng = 60_000, 120, np.random.default_rng(0)
    words = np.column_stack([np.zeros(n, int), *(rng.integers(1 + 40 * k, 41 + 40 * k - (k == 2), n) for k in range(3))])
    x = sp.csr_array((np.ones(4 * n, np.float32), words.ravel(), np.arange(0, 4 * n + 1, 4)), shape=(n, d))
    found = compute_components(Graph.from_arrays(None, features=x), components=[Features(rank=4)])
    state, target = found.fitted["X"].state, Target(Graph.from_arrays(None, features=x), np.arange(0, n, 99))
    assert state.basis is not None
    np.testing.assert_allclose(state.mean, np.bincount(words.ravel(), minlength=d) / (4 * n), rtol=2e-7)
    np.testing.assert_allclose(found.fitted["X"].rows(target)[0], found.blocks["X"][target.rows], atol=5e-6)


@pytest.mark.parametrize("component", FAMILY, ids=str)
def test_edges_that_carry_most_are_ranked_by_what_their_removal_does(component):
    """`neighbour_scores` names the neighbours of the node, or none."""
    graph = planted()
    fitted = compute_components(graph, components=[component]).fitted[component.name]
    k = len(fitted.rows(Target(graph, np.array([5])))[0][0])
    found, scores = component.neighbour_scores(fitted.state, np.ones(k), Target(graph, np.array([5])))
    assert len(found) == len(scores)
    if len(found):
        assert set(graph.adjacency.neighbours(5)) <= set(found.tolist())


def test_a_component_of_ones_own_goes_everywhere(tmp_path):
    """Explained, folded in, saved, estimated and shown, without a change elsewhere."""
    graph = planted()
    listed = [*paper_components(rank=8), DegreeBins(bins=3)]
    model = SlimG(components=listed, grid=[(1e-5, 1e-4)]).fit(graph)
    assert model.coef_["degree"].any()
    explanation = model.explain("n5")
    part = explanation.part("degree")
    assert part.feature_names is not None and "neighbours" in part.feature_names[0]
    assert explanation.top_features("degree", k=1)[0].name in part.feature_names
    assert sum(explanation.components().values()) == pytest.approx(explanation.score())
    assert part.title == "the number of its neighbours" and explanation.to_dict()["components"][4]["features"]
    assert "the number of its neighbours" in str(model.summary())
    loaded = SlimG.load(model.save(tmp_path / "m.slimg"))
    assert loaded.components == listed
    np.testing.assert_array_equal(loaded.decision_function(), model.decision_function())
    fewer = graph.subgraph(np.arange(graph.n) != 5)
    rest = SlimG(components=listed, grid=[(1e-5, 1e-4)]).fit(fewer)
    folded = rest.fold_in(graph)
    assert len(folded.new) == 1 and np.isfinite(folded.scores).all()
    assert loaded.counterfactual("n5", without_neighbours=[model.explain("n5").part("U").source_ids[0]], graph=graph)
    plain, more = (estimate(Sizes.of(graph), components=each, rates=RATES) for each in (listed[:4], listed))
    assert more.engines["memory"].seconds > plain.engines["memory"].seconds
    assert "the number of its neighbours" in model._repr_html_()
    page = render(fit_record(model, graph))
    assert "the number of its neighbours" in page and "degree" in page


def test_the_example_of_the_documentation_is_this_component():
    code = Path(__file__).with_name("degree_bins.py").read_text().split("\n", 2)[2].strip()
    assert code in (Path(__file__).parents[2] / "src/slimg/guides/extend.md").read_text(encoding="utf-8")


def test_rows_are_soft_by_default_where_features_are_few():
    for features, soft in ((0, True), (63, True), (64, False), (None, False)):
        assert {each.soft for each in default_components(300, 100, features) if hasattr(each, "soft")} == {soft}


def test_names_formulas_and_titles():
    assert [each.name for each in PAPER_COMPONENTS] == ["U", "X", "A_row^2 X", "A_sym^2 X"]
    assert [each.name for each in DEFAULT_COMPONENTS] == ["U", "X", "A_row^2 X", "A_sym^2 X", "PPR^10 X"]
    assert [each.name for each in default_components(256)] == ["U", "X", "A_row^1 X", "A_row^2 X", "A_sym^2 X", "PPR^10 X"]
    assert Diffusion(alpha=0.2, steps=3).name == "S_0.2^3 X"
    assert PageRank(alpha=0.2, steps=3).name == "PPR_0.2^3 X"
    assert [each.formula for each in PAPER_COMPONENTS] == ["U", "g(X)", "g(A_row² X)", "g(Ã_sym² X)"]
    assert PropagatedFeatures(steps=1, pca=False).formula == "A_row X"
    assert "one step" in PropagatedFeatures(steps=1).title and "13 steps" in PropagatedFeatures(kind="sym", steps=13).title


def test_no_edges_leaves_the_features_and_says_so():
    result = compute_components(Graph.from_arrays(sp.csr_matrix((5, 5)), features=np.eye(5)))
    assert result.names == ("X",)
    assert len(result.notes) == 1 and "No edges" in result.notes[0] and "A_row^2 X" in result.notes[0]


def test_no_features_leaves_the_structure_and_says_so():
    result = compute_components(Graph.from_arrays(ring()))
    assert result.names == ("U", "U_sym")
    assert len(result.notes) == 1 and "No features" in result.notes[0] and "X, A_row^2 X" in result.notes[0]


def test_features_without_columns_are_no_features():
    bare = SimpleNamespace(adjacency=Graph.from_arrays(ring()).adjacency, features=np.zeros((60, 0), np.float32))
    assert compute_components(bare).rank == compute_components(Graph.from_arrays(ring())).rank


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (lambda: Structure(rank=0), "rank.*0"),
        (lambda: Structure(rank=True), "rank.*True"),
        (lambda: Features(rank=2.5), "rank.*2.5"),
        (lambda: Features(normalize="column"), "column.*None, auto, bins, row, standard"),
        (lambda: Features(pca="yes"), "pca.*yes"),
        (lambda: Features(soft=1), "soft.*1"),
        (lambda: NeighbourRanges(columns=()), "columns.*None"),
        (lambda: NeighbourRanges(columns=(-1,)), "columns.*-1"),
        (lambda: NeighbourRanges(steps=(3,)), "steps.*3"),
        (lambda: Diffusion(soft=True, pca=False), "soft.*PCA"),
        (lambda: PropagatedFeatures(kind="col"), "col.*row, sym"),
        (lambda: PropagatedFeatures(steps=1.5), "steps.*1.5"),
        (lambda: Structure(rank=-3), "rank.*-3"),
        (lambda: Structure(rank=EnergyRank(), normalize=True), "rank.*U_sym"),
        (lambda: Structure(normalize="sym"), "normalize.*'sym'"),
        (lambda: Structure(normalize=True, step="cites →"), "normalize.*step"),
        (lambda: Diffusion(alpha=0), "alpha.*0"),
        (lambda: Diffusion(alpha=1.0), "alpha.*1.0"),
        (lambda: Diffusion(alpha="much"), "alpha.*much"),
        (lambda: Diffusion(steps=-1), "steps.*-1"),
        (lambda: PageRank(steps=13), "steps.*12.*13"),
        (lambda: EnergyRank(0), "energy.*0"),
        (lambda: EnergyRank(1.5), "energy.*1.5"),
        (lambda: EnergyRank(max_rank="many"), "max_rank.*many"),
        (lambda: available_components([], None), "at least one"),
        (lambda: available_components("U", None), "list.*'U'"),
        (lambda: available_components(["U"], None), "'U'.*Structure"),
        (lambda: available_components([Features(), Features(rank=3)], None), "two.*'X'"),
    ],
)
def test_bad_options_get_one_sentence(make, facts):
    with pytest.raises(InputError, match=facts) as error:
        make()
    assert "\n" not in str(error.value)


def test_nothing_to_learn_from_is_an_error():
    with pytest.raises(InputError, match="neither edges nor features"):
        compute_components(Graph.from_arrays(sp.csr_matrix((3, 3))))
    with pytest.raises(InputError, match=r"X, A_row\^2 X need features.*Structure"):
        compute_components(Graph.from_arrays(ring()), components=[Features(), PropagatedFeatures()])


def test_an_unknown_kind_in_a_file_is_named():
    described = encode(DegreeBins(), "component")
    kept = Component.kinds.pop("DegreeBins")
    try:
        with pytest.raises(InputError, match=r"DegreeBins.*import"):
            decode(described)
    finally:
        Component.kinds["DegreeBins"] = kept


def test_columns_through_a_count_shared_hops_once():
    sizes = Sizes(1000, 5000, 20)
    assert columns_through(sizes, PAPER_COMPONENTS[1:]) == 3 * 20  # the first hops of both operators in one pass
    assert columns_through(sizes, [PropagatedFeatures(steps=4)]) == 4 * 20
    assert columns_through(sizes, DEFAULT_COMPONENTS[1:]) == (1 + 1 + 9) * 20  # A_sym^2 X on the way of S X


def test_a_component_that_would_take_too_long_is_left_out_with_a_note(monkeypatch):
    graph = planted()
    monkeypatch.setattr(Diffusion, "most_entries", graph.adjacency.nnz - 1)
    result = compute_components(graph)
    assert result.names == ("U", "X", "A_row^2 X", "A_sym^2 X")
    assert any("edges" in note and "PPR^10 X" in note for note in result.notes)
    with pytest.raises(InputError, match=r"S\^10 X.*edges"):
        compute_components(graph, components=[Diffusion()])
