"""The table in its four formats, one propagator in full, its plot, and its blocks as polynomials."""

import json

import numpy as np
import pytest

from slimg.errors import InputError
from slimg.lab.gnnexp.table import plot, polynomial_blocks, show, table
from slimg.lab.gnnexp.writing import propagator_text
from slimg.lab.propagators import get, names


def test_twenty_rows_and_a_legend():
    lines = table().splitlines()
    assert lines[0].startswith("model") and lines[0].endswith("survives")
    assert [line.split("  ")[0] for line in lines[1:21]][:3] == ["LR", "SGC", "DGC"]
    assert lines[21] == "" and lines[22].startswith("U: singular vectors")
    start = lines[0].index("self-loops")
    beyond = [line.replace("S\u0303", "S")[start - 1 : start + 5] for line in lines[1:21]]
    assert all(cell[0] == " " and cell[1] != " " for cell in beyond)


def test_json_holds_every_property():
    rows = json.loads(table("json"))
    assert [row["name"] for row in rows] == list(names())
    slimg = rows[-1]
    assert slimg["formula"] == "U ‖ g(X) ‖ g(A_row² X) ‖ g(Ã_sym² X)" and slimg["pain_points"] == []
    assert set(slimg["survives"].values()) == {True}


def test_markdown_and_latex_have_a_line_per_model():
    assert sum(line.startswith("| ") for line in table("markdown").splitlines()) == 2 + len(names())
    latex = table("latex").splitlines()
    assert sum(line.endswith(r"\\") for line in latex) == 1 + len(names())
    assert len({line.count("&") for line in latex if line.endswith(r"\\")}) == 1
    assert not any(letter in table("latex") for letter in "²ᴷÃ✓–")


def test_some_models_only():
    assert [row["name"] for row in json.loads(table("json", ["gcn", "sage"]))] == ["gcn", "sage"]
    with pytest.raises(InputError, match="unknown format 'html': choose one of json, latex, markdown, text"):
        table("html")


@pytest.mark.parametrize("name", names())
def test_each_can_be_shown(name):
    said = show(name)
    assert said.startswith(get(name).title) and "P(A, X) = " in said and "spectral response" in said


def test_what_is_shown_follows_the_values():
    said = show("gcnii", K=3, alpha=0.25)
    assert "K = 3, alpha = 0.25" in said
    assert "(0.75 Ã_sym³ + 0.25 Ã_sym²) X" in said
    response = next(line for line in said.splitlines() if line.startswith("  P "))
    assert [float(each) for each in response.split()[1:6]] == pytest.approx([1, 0.15625, 0, -0.03125, -0.5], rel=1e-3)


def test_the_response_of_a_kernel_is_told_over_a_sym():
    response = next(line for line in show("rw_kernel").splitlines() if line.startswith("  P "))
    assert [float(each) for each in response.split()[1:6]] == pytest.approx([4, 2.25, 1, 0.25, 0])


def test_blocks_are_the_polynomials_that_linearize_derives():
    linearized = pytest.importorskip("slimg.lab.gnnexp.linearize")
    torch = pytest.importorskip("torch")
    nn = pytest.importorskip("torch_geometric.nn")

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.SAGEConv(4, 8), nn.SAGEConv(8, 3)

        def forward(self, x, edge_index):
            return self.second(self.first(x, edge_index).relu(), edge_index)

    derived = linearized.linearize(Network())
    assert derived.blocks == polynomial_blocks(get("sage", K=2))


def test_polynomials_of_the_values():
    assert propagator_text(polynomial_blocks(get("s2gc", K=2, alpha=0.1))) == "(0.9 Ã_sym² + 0.9 Ã_sym + 0.2 I) X"
    assert polynomial_blocks(get("ppnp")) is None and polynomial_blocks(get("gat")) is None


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_plot_is_saved(tmp_path, suffix):
    pytest.importorskip("matplotlib")
    path = plot("g2cn", tmp_path / f"filter.{suffix}", T=20)
    content = path.read_bytes()
    assert content.startswith(b"<?xml" if suffix == "svg" else b"\x89PNG") and len(content) > 2000


def test_plots_that_cannot_be(tmp_path):
    with pytest.raises(InputError, match=r"saved as \.svg or \.png, not as 'filter\.pdf'"):
        plot("sgc", tmp_path / "filter.pdf")
    with pytest.raises(InputError, match="gat has no spectral response"):
        plot("gat", tmp_path / "filter.svg")


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install slimg\[report\]"):
        plot("sgc", tmp_path / "filter.svg")


@pytest.mark.parametrize("name", [name for name in names() if name not in ("gat", "dagnn")])
def test_the_response_is_finite_everywhere(name):
    lines = show(name).split("spectral response")[1].splitlines()[1:]
    assert len(lines) == len(get(name).blocks()) - (name == "slimg")
    for line in lines:
        assert np.isfinite([float(cell) for cell in line[21:81].split()]).all()
