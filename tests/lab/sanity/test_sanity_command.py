"""``slimg sanity``: models by name, a user's file, exit codes and what is printed."""

import argparse
import json

import pytest

from slimg.cli import main
from slimg.errors import InputError
from slimg.lab.sanity import command

MINE = """
from helper import STRENGTH
from sklearn.linear_model import LogisticRegression
from slimg.lab import sanity

def make_model():
    return sanity.from_sklearn(LogisticRegression(C=STRENGTH, max_iter=500))

model = sanity.from_sklearn(LogisticRegression(C=STRENGTH, max_iter=500), name="mine")
"""


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "helper.py").write_text("STRENGTH = 0.1")
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def call(*arguments):
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    args = parser.parse_args(["sanity", *map(str, arguments)])
    return args.run(args)


def test_a_users_model_gets_its_matrix_and_its_verdict(mine, capsys, monkeypatch):
    monkeypatch.setitem(command.QUICK, "n", 600)
    assert call("--model", f"{mine}:make_model", "--cases", "semantic-uniform,random-homophily", "--quick") == 0
    out, err = capsys.readouterr()
    assert "make_model passes 1 of the 2 checks" in out and "✓" in out and "✗" in out
    assert "a reduced protocol" in " ".join(out.split())
    assert err.count("make_model") == 2


def test_strict_turns_a_failure_into_an_exit_code(mine, capsys):
    arguments = ["--model", f"{mine}:model", "--n", 240, "--seeds", 1, "--json", "--strict"]
    assert call(*arguments, "--cases", "random-homophily") == 1
    assert call(*arguments, "--cases", "random-uniform") == 0
    read = json.loads(capsys.readouterr().out.split("\n}\n")[0] + "\n}")
    assert read["models"]["mine"]["cases"]["random-homophily"]["passed"] is False


def test_markdown(mine, capsys):
    call("--model", f"{mine}:model", "--n", 240, "--seeds", 1, "--markdown", "--cases", "random-uniform")
    assert "| random-uniform | none |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("mine.py", "FILE.py:NAME"),
        ("absent.py:model", "no file"),
        ("{}:modell", "it has .*make_model"),
        ("{}/../broken.py:model", "raised ZeroDivisionError"),
    ],
)
def test_addresses_that_lead_nowhere(mine, address, said):
    mine.with_name("broken.py").write_text("1 / 0")
    with pytest.raises(InputError, match=said):
        call("--model", address.replace("{}/..", str(mine.parent)).replace("{}", str(mine)))


def test_unknown_names_are_answered_with_the_choices():
    with pytest.raises(InputError, match="slimg"):
        call("--models", "slimg,slimgg")
    with pytest.raises(InputError, match="semantic-uniform"):
        call("--cases", "semantic")


GCN = """
import torch
from torch_geometric.nn import GCNConv

class GCN(torch.nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.first, self.second = GCNConv(features, 16), GCNConv(16, classes)

    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index).relu(), edge_index)
"""

WRAPPED = """
from sklearn.linear_model import LogisticRegression
from slimg.lab.sanity import from_sklearn
wrapped = from_sklearn(LogisticRegression(max_iter=500), name="wrapped")
"""

CHEAT = """
import numpy as np

class Cheat:
    labels = None

    def propagate(self, graph):  # called with the graph before any split
        Cheat.labels = graph.labels if len(graph.labelled) else Cheat.labels

    def fit(self, graph, train=None, val=None, propagated=None):
        known = np.flatnonzero(graph.codes >= 0)
        assert set(known) == set(train) | set(val)
        assert Cheat.labels is None, "it found labels"
        self.answers = np.where(graph.codes >= 0, graph.codes, 0)

    def predict(self):
        return self.answers
"""


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    """What `slimg sanity` prints, typed in the folder of the test."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        assert main(["sanity", *map(str, arguments)]) == 0
        return " ".join(capsys.readouterr().out.split())

    return run


def test_a_users_gcn_and_a_wrapped_sklearn_classifier_as_typed(tmp_path, typed):
    pytest.importorskip("torch_geometric")
    (tmp_path / "gcn.py").write_text(GCN)
    (tmp_path / "wrapped.py").write_text(WRAPPED)
    models = "--model", "gcn.py:GCN", "--model", "wrapped.py:wrapped"
    cases = "random-homophily,semantic-uniform,semantic-homophily"
    said = typed(*models, "--n", 240, "--seeds", 1, "--cases", cases)
    assert "✓" in said and "✗" in said and "GCN passes" in said  # matrix and verdict
    assert "It does not use the edges" in said.split("wrapped passes")[1]


def test_a_cheating_model_gets_no_labels_to_store(tmp_path, typed):
    (tmp_path / "cheat.py").write_text(CHEAT)
    cases = "semantic-uniform,random-uniform"
    said = typed("--model", "cheat.py:Cheat", "--n", 240, "--seeds", 2, "--cases", cases)
    assert "Cheat passes 0 of the 1 checks" in said and "it found labels" not in said and "gave no answer" not in said
