"""Properties read off formulas are those the paper states."""

import pytest

from slimg.lab.gnnexp.properties import EVEN, SEPARATE, WEAK, properties
from slimg.lab.propagators import names, register, registry
from slimg.lab.propagators.expressions import A_row, At_sym, Structure, blocks, each, identity

ROWS = {name: properties(name) for name in names()}
PAPER = [name for name in names() if name not in ("slimg", "reg_kernel", "diff_kernel", "rw_kernel")]


def those(test):
    return {name for name in PAPER if test(ROWS[name])}


def test_types_are_the_papers():
    assert [ROWS[name].type for name in PAPER] == ["linear"] * 5 + ["decoupled"] * 4 + ["coupled"] * 5 + ["attention"] * 2


def test_all_but_chebnet_sage_and_h2gcn_have_self_loops():
    """Section 3.1 of the paper; LR has no operator at all."""
    assert those(lambda row: row.self_loops == "none") == {"lr", "chebnet", "sage", "h2gcn"}


def test_self_loops_that_a_hyperparameter_tunes():
    tuned = those(lambda row: "tuned" in row.self_loops)
    assert {"dgc", "s2gc", "g2cn", "ppnp"} <= tuned and not tuned & {"sgc", "gcn", "gprgnn", "sage"}


def test_attention_is_dynamic():
    assert those(lambda row: row.dynamic) == {"gat", "dagnn"}


def test_ideas_against_heterophily():
    """Section 3.2: squares (G²CN), weights per step, small or no self-loops; H₂GCN and SAGE turn out to have two."""
    assert those(lambda row: EVEN in row.heterophily) == {"g2cn"}
    assert those(lambda row: SEPARATE in row.heterophily) == {"gprgnn", "chebnet", "sage", "gcnii", "h2gcn"}
    assert those(lambda row: WEAK in row.heterophily) == {"dgc", "s2gc", "g2cn", "h2gcn", "chebnet", "sage"}
    assert EVEN in ROWS["slimg"].heterophily


def test_normalisation():
    assert those(lambda row: row.normalisation == ("row",)) == {"sage"}
    assert those(lambda row: row.normalisation == ("none",)) == {"gat"}
    assert ROWS["slimg"].normalisation == ("row", "sym") and ROWS["lr"].normalisation == ()


def test_concatenations():
    concatenated = {"g2cn", "gprgnn", "chebnet", "sage", "gcnii", "h2gcn"}
    assert those(lambda row: row.combination == "concatenation") == concatenated


@pytest.mark.parametrize(
    ("name", "columns"),
    [("lr", "d"), ("g2cn", "N d"), ("gprgnn", "(K + 1) d"), ("gcnii", "K d"), ("h2gcn", "(2K + 1) d"), ("slimg", "4 r")],
)
def test_columns(name, columns):
    assert ROWS[name].columns == columns


def test_pain_points():
    """Everyone but SlimG has the first two; concatenations the third; whoever has hyperparameters the fourth."""
    assert all({1, 2} <= set(ROWS[name].pain_points) for name in names() if name != "slimg")
    assert those(lambda row: 3 in row.pain_points) == those(lambda row: row.combination == "concatenation")
    assert those(lambda row: 4 in row.pain_points) == set(PAPER) - {"lr"}
    assert ROWS["slimg"].pain_points == ()


def test_hyperparameters_are_counted_without_learned_vectors():
    assert ROWS["gat"].hyperparameters == ("K",) and ROWS["g2cn"].hyperparameters == ("K", "N", "T", "b")
    assert ROWS["slimg"].hyperparameters == ()


def test_survival_depends_on_the_values():
    assert properties("s2gc", alpha=0.09).survives["semantic-uniform"]
    assert not properties("s2gc", alpha=0.01).survives["semantic-uniform"]


def test_a_users_own(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._registry()))
    register("mine", title="Mine")(lambda K=2: blocks(Structure(), each(0, K, lambda k: A_row**k)))
    row = properties("mine")
    assert (row.type, row.title, row.columns) == ("own", "Mine", "(K + 2) r")
    assert 2 not in row.pain_points and row.survives["random-homophily"]
    register("lazy")(lambda alpha=0.5: alpha * identity + (1 - alpha) * At_sym)
    assert properties("lazy").self_loops == "fixed and tuned" and WEAK in properties("lazy").heterophily
