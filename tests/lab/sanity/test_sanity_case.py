"""The nine cases: names, what helps, settings, splits and the same bits for a seed."""

import time

import numpy as np
import pytest

from slimg.engine import MemoryEngine
from slimg.errors import InputError
from slimg.lab.sanity import CASES, EMPTY, case, make, scaled
from slimg.lab.sanity.case import parts

MATRIX = {
    "semantic-homophily": "XA",
    "structural-homophily": "XA",
    "random-homophily": "A",
    "semantic-heterophily": "XA",
    "structural-heterophily": "XA",
    "random-heterophily": "A",
    "semantic-uniform": "X",
    "structural-uniform": "",
    "random-uniform": "",
}


def test_what_helps_is_the_papers_matrix():
    assert set(CASES + EMPTY) == set(MATRIX)
    for name, helpful in MATRIX.items():
        assert case.helps(name) == tuple(helpful)
    assert all(case.helps(name) for name in CASES)
    assert not any(case.helps(name) for name in EMPTY)


def test_order_is_that_of_the_papers_table():
    groups = [case.helps(name) for name in CASES]
    assert groups == [("X",), ("A",), ("A",), *[("X", "A")] * 4]


@pytest.mark.parametrize("name", CASES + EMPTY)
def test_names_and_parts_are_inverse(name):
    assert make(*case.parts(name), **SMALL).name == name


def test_selection_by_groups_and_names_keeps_order_without_repetition():
    assert case.select("all") == CASES + EMPTY
    assert case.select(["empty", "random-uniform", "semantic-uniform"]) == (*EMPTY, "semantic-uniform")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: case.parts("semantic"), "semantic-uniform"),
        (lambda: make("sematic", "uniform"), "semantic"),
        (lambda: make("semantic", "homophilic"), "homophily"),
        (lambda: case.select(["everything"]), "informative"),
        (lambda: case.select([]), "at least one"),
    ],
)
def test_unknown_names_are_answered_with_the_choices(call, said):
    with pytest.raises(InputError, match=said):
        call()


SMALL = scaled(480)


def same(a, b):
    return (
        np.array_equal(a.graph.adjacency.indices, b.graph.adjacency.indices)
        and np.array_equal(a.graph.adjacency.indptr, b.graph.adjacency.indptr)
        and np.array_equal(a.graph.features, b.graph.features)
        and np.array_equal(a.graph.labels, b.graph.labels)
    )


@pytest.mark.parametrize("name", CASES + EMPTY)
def test_same_seed_same_bits_for_any_number_of_threads(name):
    one = make(*parts(name), **SMALL, engine=MemoryEngine(1))
    two = make(*parts(name), **SMALL, engine=MemoryEngine(2))
    assert one.name == name and same(one, two)
    assert not same(one, make(*parts(name), **SMALL, seed=1))


def test_cases_of_one_seed_share_what_they_have_in_common():
    semantic = [make("semantic", kind, **SMALL) for kind in ("homophily", "heterophily", "uniform")]
    assert all(np.array_equal(each.graph.features, semantic[0].graph.features) for each in semantic)
    random = make("random", "homophily", **SMALL)
    assert np.array_equal(random.graph.adjacency.indices, semantic[0].graph.adjacency.indices)


def test_the_papers_size_takes_a_fraction_of_a_second():
    make("semantic", "uniform", n=100, d=10)  # imports
    begun = time.perf_counter()
    case = make("semantic", "heterophily")
    assert time.perf_counter() - begun < 1
    assert (case.graph.n, case.graph.d, len(case.graph.classes)) == (6000, 500, 4)
    assert np.bincount(case.graph.codes).tolist() == [1500] * 4
    assert case.chance == 0.25
    assert case.graph.edges == pytest.approx(0.0055 * 6000 * 5999 / 2, abs=5 * np.sqrt(99_000))


@pytest.mark.parametrize(("kind", "expected"), [("homophily", 1 / 2.2), ("heterophily", 0.4 / 2.2), ("uniform", 0.25)])
def test_homophily_is_what_the_densities_say(kind, expected):
    graph = make("random", kind, d=1).graph
    assert graph.edge_homophily() == pytest.approx(expected, abs=0.01)


def test_semantic_labels_are_the_argmax_of_the_kept_vectors():
    case = make("semantic", "homophily", **SMALL)
    assert np.array_equal((case.graph.features.astype(float) @ case.vectors.T).argmax(axis=1), case.graph.labels)


def test_memory_is_that_of_the_edges():
    """100,000 nodes: their pairs would fill 5 × 10⁹ places."""
    case = make("random", "heterophily", **(scaled(100_000) | {"d": 1}))
    assert case.graph.edges == pytest.approx(33 * 50_000, rel=0.01)


def test_splits_are_the_papers_and_cover_all_nodes():
    case = make("random", "uniform", n=6000, d=2)
    split = case.split(0)
    assert (len(split.train), len(split.val), len(split.test)) == (3600, 1200, 1200)
    assert np.array_equal(np.bincount(case.graph.codes[split.test]), [300] * 4)
    assert not np.array_equal(split.test, case.split(1).test)


def test_label_fraction_leaves_the_rest_to_be_judged():
    split = make("random", "uniform", n=2000, d=2, label_fraction=0.05).split(0)
    assert (len(split.train), len(split.val), len(split.test)) == (75, 25, 1900)


def test_noise_leaves_the_rest_as_it_was():
    clean, noisy = make("random", "homophily", **SMALL), make("random", "homophily", **SMALL, feature_noise=0.25)
    changed = (clean.graph.features != noisy.graph.features).any(axis=1)
    assert changed.sum() == 120
    assert np.array_equal(clean.graph.adjacency.indices, noisy.graph.adjacency.indices)
    moved = make("random", "homophily", **SMALL, edge_noise=0.5)
    assert moved.graph.edges == clean.graph.edges
    assert np.array_equal(clean.graph.features, moved.graph.features)
    assert moved.graph.edge_homophily() == pytest.approx((1 / 2.2 + 0.25) / 2, abs=0.03)


def test_structural_features_describe_the_graph_they_come_with():
    noisy = make("structural", "homophily", **SMALL, edge_noise=0.5)
    clean = make("structural", "homophily", **SMALL)
    assert not np.array_equal(noisy.graph.features, clean.graph.features)


@pytest.mark.parametrize(
    ("case", "dial", "left"),
    [
        (("semantic", "homophily"), {"feature_noise": 1.0}, ("A",)),
        (("semantic", "homophily"), {"edge_noise": 1.0}, ("X",)),
        (("structural", "homophily"), {"edge_noise": 1.0}, ()),
        (("structural", "homophily"), {"feature_noise": 0.9}, ("X", "A")),
    ],
)
def test_truth_knows_when_noise_has_drowned_it(case, dial, left):
    made = make(*case, **SMALL, **dial)
    assert made.helps == left and len(made.notes) == 2


def test_imbalance_is_the_ratio_of_class_sizes():
    case = make("semantic", "uniform", n=2000, d=40, imbalance=8)
    sizes = np.bincount(case.graph.codes)
    assert sizes[0] / sizes[-1] == pytest.approx(8, rel=0.02) and case.chance == pytest.approx(sizes[0] / 2000)


def test_scaling_keeps_degree_and_nodes_per_feature():
    assert scaled(6000) == {"n": 6000, "d": 500, "density": 0.01}
    assert scaled(1200) == {"n": 1200, "d": 100, "density": 0.05}
    assert scaled(60)["density"] == 0.5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n": 0}, "n must be a whole number of at least 1"),
        ({"d": 2.5}, "d must be a whole number"),
        ({"c": 1}, "c must be a whole number of at least 2"),
        ({"c": 3}, "even number"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"density": 0}, "density"),
        ({"density": 0.9}, "density"),
        ({"feature_noise": 1.5}, "feature_noise"),
        ({"edge_noise": -0.1}, "edge_noise"),
        ({"label_fraction": 1}, "label_fraction"),
        ({"imbalance": 0.5}, "imbalance"),
        ({"n": 10, "imbalance": 1000}, "without nodes"),
    ],
)
def test_bad_settings_get_one_sentence(change, said):
    with pytest.raises(InputError, match=said):
        make("semantic", "heterophily", **({"n": 100, "d": 10} | change))
    with pytest.raises(InputError, match="at least 12"):
        scaled(5)
