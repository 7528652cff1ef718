"""Predicted survival against what the paper measured for its linear models, and against a graph that is drawn."""

import numpy as np
import pytest
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.lab.gnnexp import survival
from slimg.lab.gnnexp.survival import gain, own
from slimg.lab.propagators import get, names
from slimg.lab.propagators.expressions import A_sym, At_sym, Attention, L, identity
from slimg.lab.sanity.case import CASES

# ✓: at least 80 % in the paper's table of sanity checks, in the order of CASES.
PAPER = {
    "lr": "✓✗✗✗✗✓✓",
    "reg_kernel": "✓✗✗✗✗✓✗",
    "diff_kernel": "✗✗✗✗✗✗✗",
    "rw_kernel": "✗✗✗✓✗✓✗",
    "sgc": "✗✗✗✓✓✓✓",
    "dgc": "✗✗✗✓✗✓✗",
    "s2gc": "✗✗✗✓✗✓✗",
    "g2cn": "✗✗✗✓✓✗✗",
    "slimg": "✓✓✓✓✓✓✓",
}
# S²GC has 79.9 % there. The diffusion kernel and G²CN have deviations of up to 31 points in the cases they lose.
DIFFER = {
    ("s2gc", "semantic-uniform"),
    ("diff_kernel", "semantic-uniform"),
    ("diff_kernel", "semantic-homophily"),
    ("g2cn", "semantic-homophily"),
    ("g2cn", "semantic-heterophily"),
}


def test_it_predicts_the_papers_table_up_to_five_cells():
    wrong = set()
    for name, marks in PAPER.items():
        predicted = survival.survival(get(name))
        assert list(predicted) == list(CASES)
        wrong |= {(name, case) for (case, ok), mark in zip(predicted.items(), marks, strict=True) if ok != (mark == "✓")}
    assert wrong == DIFFER


def test_only_structure_survives_random_features():
    for name in names():
        predicted = survival.survival(get(name))
        assert predicted["random-homophily"] == predicted["random-heterophily"] == (name == "slimg")


@pytest.mark.parametrize("name", ["gat", "dagnn"])
def test_attention_has_no_filter(name):
    predicted = survival.survival(get(name))
    assert [ok for case, ok in predicted.items() if not case.startswith("random")] == [None] * 5
    with pytest.raises(InputError, match="only a function of one operator has a filter"):
        own(Attention(1))


def test_x_itself_comes_through_and_is_not_raised():
    assert own(identity) == np.inf
    assert gain(identity, 1) == pytest.approx(1) and gain(identity, -1) == pytest.approx(1)


def test_signs_of_a_filter_do_not_matter_to_a_linear_classifier():
    assert gain(A_sym, 1) == pytest.approx(gain(A_sym, -1))
    assert gain(L, -1) > 1 > gain(L, 1)
    assert gain(At_sym, 1) > gain(At_sym, -1)


def test_the_spectrum_is_that_of_a_drawn_graph():
    """Heterophily with n = 1600 and the same mean degree: bulk and outliers where the module says."""
    rng, n = np.random.default_rng(0), 1600
    cluster = np.arange(n) % 4
    density = np.where(cluster[:, None] == (cluster ^ 1), 1, 0.4) * survival.DEGREE * 4 / 2.2 / n
    a = sp.csr_matrix(np.triu(rng.random((n, n)) < density, 1).astype(float))
    a = a + a.T
    scale = sp.diags(np.asarray(a.sum(1)).ravel() ** -0.5)
    values = np.linalg.eigvalsh((scale @ a @ scale).toarray())
    assert values[-2] == pytest.approx(survival.CLUSTER, abs=0.02)
    assert values[:2] == pytest.approx([-survival.CLUSTER] * 2, abs=0.02)
    radius = 2 / np.sqrt(survival.DEGREE)
    assert values[2] == pytest.approx(-radius, abs=0.03) and values[-3] == pytest.approx(radius, abs=0.03)
    spread = np.sqrt(np.mean(np.square(values[2:-2])))
    assert spread == pytest.approx(radius / 2, rel=0.05)
