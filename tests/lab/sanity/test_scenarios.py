"""The nine scenarios against the paper's matrix."""

import pytest

from slimg.errors import InputError
from slimg.lab.sanity import scenarios
from slimg.lab.sanity.scenarios import CASES, EMPTY

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
        assert scenarios.helps(name) == tuple(helpful)
    assert all(scenarios.helps(name) for name in CASES)
    assert not any(scenarios.helps(name) for name in EMPTY)


def test_order_is_that_of_the_papers_table():
    groups = [scenarios.helps(name) for name in CASES]
    assert groups == [("X",), ("A",), ("A",), *[("X", "A")] * 4]


@pytest.mark.parametrize("name", CASES + EMPTY)
def test_names_and_parts_are_inverse(name):
    assert scenarios.name_of(*scenarios.parts(name)) == name


def test_selection_by_groups_and_names_keeps_order_without_repetition():
    assert scenarios.select("all") == CASES + EMPTY
    assert scenarios.select(["empty", "random-uniform", "semantic-uniform"]) == (*EMPTY, "semantic-uniform")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: scenarios.parts("semantic"), "semantic-uniform"),
        (lambda: scenarios.name_of("sematic", "uniform"), "semantic"),
        (lambda: scenarios.name_of("semantic", "homophilic"), "homophily"),
        (lambda: scenarios.select(["everything"]), "informative"),
        (lambda: scenarios.select([]), "at least one"),
    ],
)
def test_unknown_names_are_answered_with_the_choices(call, said):
    with pytest.raises(InputError, match=said):
        call()
