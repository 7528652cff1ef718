"""Records of benchmarks/linear.py become the cells that `slimg bench real` would run."""

import importlib

import pytest

from slimg.graph.splits import REAL
from slimg.lab.bench.recipe import Recipe

LINEAR = {
    "dataset": "cora", "model": "sgc", "features": "row", "seed": 3, "accuracy": 75.25,
    "chosen": {"K": 2, "wd": 0.0, "val_accuracy": 0.7, "val_loss": 0.9, "epoch": 4},
    "seconds": {"propagation": 0.1, "learning": 0.2},
}  # fmt: skip


@pytest.fixture
def convert(monkeypatch, request):
    monkeypatch.syspath_prepend(str(request.config.rootpath / "benchmarks"))
    return importlib.import_module("linear_records").as_record


def test_the_cell_is_that_of_the_recipe(convert):
    recipe = Recipe("real", "", {"cora": {"name": "cora"}}, {"sgc": {"kind": "sgc"}}, split=REAL)
    record = convert(LINEAR)
    assert record["key"] == recipe.cell("sgc", "cora", 3).key
    assert record["accuracy"] == pytest.approx(0.7525) and record["iterations"] == 4 and "epoch" not in record["chosen"]
    assert record["seconds"] == {"features": 0.1, "tuning": 0.2} and "peak_memory" not in record


def test_raw_features_are_another_cell(convert):
    assert convert({**LINEAR, "features": "raw"})["key"] != convert(LINEAR)["key"]
