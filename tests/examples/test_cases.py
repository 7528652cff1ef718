"""The three cases are what they are said to be, and one is run as a user would."""

import json

import pandas as pd
import pytest

from examples.cases import run


def same_class(name):
    nodes, edges = run.CASES[name]()
    label = nodes.set_index("name")["label"]
    assert set(edges["source"]) | set(edges["target"]) <= set(label.index)
    alike = (label[edges["source"]].to_numpy() == label[edges["target"]].to_numpy()).mean()
    ends = label[pd.concat([edges["source"], edges["target"]])]
    return alike, (ends.value_counts(normalize=True) ** 2).sum()


def test_edges_are_alike_as_the_names_say():
    alike, chance = same_class("homophily")
    assert alike > chance + 0.5
    alike, chance = same_class("heterophily")
    assert alike < chance - 0.3
    alike, chance = same_class("no-help")
    assert abs(alike - chance) < 0.03


def test_heterophily_from_files_to_page(tmp_path, capsys):
    assert run.main(["heterophily", "--out", str(tmp_path)]) == 0
    assert "% right" in capsys.readouterr().out
    folder = tmp_path / "heterophily"
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    assert record["diagnosis"]["relation"] == "heterophily"
    assert record["diagnosis"]["verdict"][0].startswith("Heterophily")
    labels = pd.read_csv(folder / "nodes.csv", keep_default_na=False)["label"]
    assert (labels == "").mean() == pytest.approx(1 - run.KNOWN, abs=0.05)
    assert (folder / "report.html").stat().st_size > 100_000
