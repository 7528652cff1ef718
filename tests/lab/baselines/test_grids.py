"""The grids equal the paper's last table, read from its text."""

import math
import re
from pathlib import Path

import pytest

from slimg.errors import InputError
from slimg.lab.baselines.grids import PAPER, QUICK, settings

TEX = Path(__file__).resolve().parents[4] / "shared" / "paper" / "slimg-kdd23.tex"
ROWS = {"GCN": "gcn", "SAGE": "sage", "GCNII": "gcnii", "H$_2$GCN": "h2gcn", "APPNP": "appnp", "GPR-GNN": "gprgnn",
        "GAT": "gat"}  # fmt: skip
NAMES = {"\\alpha": "alpha", "\\theta": "theta"}


def table():
    """{method: {hyperparameter: values}} of the table labelled tab:hyper."""
    if not TEX.exists():
        pytest.skip("the paper's text is not there")
    text = TEX.read_text()
    body = text[text.index("Search space of hyperparameters.") : text.index("\\label{tab:hyper}")]
    found = {}
    for line in body.splitlines():
        if "&" not in line or "$" not in line:
            continue
        method, given = (part.strip() for part in line.split("&", 1))
        if method not in ROWS:
            continue
        pairs = re.findall(r"(\\?[A-Za-z_{}0-9]+)=(\[[^\]]*\]|[^,\$]+)", given.replace("\\\\", ""))
        found[method] = {NAMES.get(key, key): [number(v) for v in value.strip("[]").split(",")] for key, value in pairs}
    return found


def number(text):
    return float(re.sub(r"e\^\{(-?\d+)\}", r"e\1", text.strip()))


@pytest.mark.parametrize(("row", "name"), ROWS.items())
def test_the_grid_is_the_papers(row, name):
    assert {key: [float(v) for v in values] for key, values in PAPER[name].items()} == table()[row]


def test_numbers_of_settings():
    counts = {name: len(settings(name, "paper", {})) for name in PAPER}
    assert [counts[name] for name in ROWS.values()] == [6, 6, 72, 12, 6, 24, 6]
    assert all(counts[name] == 6 for name in ("mlp2", "slimg_mlp3", "slimg_nonlinear", "linkx"))


def test_the_quick_grid_is_a_part_of_the_papers():
    for name in PAPER:
        whole, part = settings(name, "paper", {}), settings(name, "quick", {})
        assert len(part) < len(whole) and all(each in whole for each in part)
        assert list(QUICK[name]) == list(PAPER[name])


def test_fixed_values_leave_the_grid_and_lists_are_taken_as_given():
    assert len(settings("gcnii", "paper", {"K": 3, "alpha": 0.3})) == 6
    assert {each["K"] for each in settings("gcnii", "paper", {"K": 3})} == {3}
    assert settings("gcn", [{"lr": 1.0}, {}], {"wd": 0.25}) == [
        {"wd": 0.25, "lr": 1.0, "K": 2},
        {"wd": 0.25, "lr": 0.01, "K": 2},
    ]


@pytest.mark.parametrize(
    ("name", "grid", "fixed", "said"),
    [
        ("gcn", "big", {}, "unknown grid 'big': choose one of a list of settings, paper, quick"),
        ("gcn", "paper", {"alpha": 0.1}, "gcn has no hyperparameter 'alpha': choose one of wd, lr, K"),
        ("gcn", [{"K": 0}], {}, "gcn: K = 0 cannot be used: a whole number of at least 1 is needed"),
        ("gcn", "paper", {"lr": math.nan}, "gcn: lr = nan cannot be used: a number above 0 is needed"),
        ("gcn", "paper", {"wd": math.inf}, "gcn: wd = inf cannot be used: a number of at least 0 is needed"),
        ("appnp", "paper", {"alpha": 2}, "appnp: alpha = 2 cannot be used: a share between 0 and 1 is needed"),
        ("gcn", [3], {}, "gcn: a grid is paper, quick, or a list of mappings"),
        ("gcn", [], {}, "gcn: the grid holds no setting"),
    ],
)
def test_what_cannot_be_used_is_named(name, grid, fixed, said):
    with pytest.raises(InputError) as error:
        settings(name, grid, fixed)
    assert str(error.value).startswith(said)
