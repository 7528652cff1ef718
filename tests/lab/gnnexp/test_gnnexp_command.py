"""``slimg gnnexp`` as a person types it."""

import json

import pytest

from slimg.cli import main

NETWORK = """
import torch
from torch_geometric.nn import GCNConv

class Network(torch.nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.first, self.second = GCNConv(5, hidden), GCNConv(hidden, 3)

    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index).relu(), edge_index)

def needs(size):
    return Network(size)

number = 3
"""


def test_table(capsys):
    assert main(["gnnexp", "table", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 20


def test_show_with_values_and_a_plot(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "filter.svg"
    assert main(["gnnexp", "show", "g2cn", "--set", "K=50", "--set", "b=(0, 1)", "--plot", str(path)]) == 0
    out = capsys.readouterr().out
    assert "b = (0, 1)" in out and f"plot written to {path}" in out and path.exists()


def test_verify(capsys):
    assert main(["gnnexp", "verify", "sgc", "h2gcn"]) == 0
    out = capsys.readouterr().out
    assert "sgc: holds" in out and "2 of 2 as stated" in out
    assert main(["gnnexp", "verify", "sgc", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["holds"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "gnc"], "unknown propagator 'gnc'"),
        (["show", "sgc", "--set", "K=-1"], "sgc: K must be a whole number of at least 0, not -1"),
        (["show", "sgc", "--set", "K"], "--set needs NAME=VALUE, such as K=8, not 'K'"),
        (["show", "sgc", "--set", "K=many"], "--set K=many: 'many' is not a number"),
        (["table", "--format", "xml"], "unknown format 'xml'"),
        (["verify", "nothing"], "unknown lemma 'nothing'"),
        (["linearize", "nothing"], "'nothing' is no address of an object"),
    ],
)
def test_wrong_input_is_one_sentence(capsys, arguments, said):
    assert main(["gnnexp", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"slimg: {said}") and error.count("\n") == 1


def test_linearize(capsys, tmp_path):
    pytest.importorskip("torch_geometric")
    file = tmp_path / "mine.py"
    file.write_text(NETWORK)
    assert main(["gnnexp", "linearize", f"{file}:Network", "--latex"]) == 0
    out = capsys.readouterr().out
    assert "Network: P(A, X) = Ã_sym² X" in out and r"LaTeX: {\tilde{\mathbf{A}}_{\mathrm{sym}}}^{2} \mathbf{X}" in out
    assert main(["gnnexp", "linearize", f"{file}:needs"]) == 2
    assert "building the network without arguments raised TypeError" in capsys.readouterr().err
    assert main(["gnnexp", "linearize", f"{file}:number"]) == 2
    assert "linearize takes a torch.nn.Module, not int" in capsys.readouterr().err
