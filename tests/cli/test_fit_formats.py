"""One command for each format: the predictions by id are those of the same data in CSV files."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from written import EVERY


def predictions(path):
    """Prediction and probabilities by id, from the file that was written."""
    if path.suffix == ".parquet":
        table = pd.read_parquet(path)
    elif path.suffix == ".jsonl":
        table = pd.read_json(path, lines=True, dtype=False)
    else:
        with open(path, encoding="utf-8") as file:
            separator = next(mark for mark in "\t;|," if mark in file.readline())
        table = pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False)
    ids = table[next(name for name in ("handle", "user", "id") if name in table.columns)].astype(str)
    chances = table[[name for name in table.columns if name.startswith("p(")]].astype(float)
    return pd.Series(table["prediction"].to_numpy(), ids), chances.set_index(ids)


@pytest.fixture(scope="module")
def expected(fitted_once):
    return predictions(fitted_once / "predictions.csv")


@pytest.mark.parametrize("write", EVERY, ids=lambda write: write.__name__[3:])
def test_predictions_are_the_same_by_id(folder, slimg, expected, write):
    words = write(folder.users, folder.follows)
    code, out, err = slimg("fit", *words, "--no-measure-fold-in", "--json")
    assert code == 0, err
    said = json.loads(out)
    assert (said["nodes"], said["labelled"]) == (120, int((folder.users["team"] != "").sum()))
    found, chances = predictions(Path("slimg-out") / said["files"]["predictions"])
    assert list(found.index) == list(expected[0].index), "in the order of the nodes"
    assert list(chances.columns) == list(expected[1].columns)
    is_matrix = "npz" in write.__name__  # whose columns are not known to be numbers, so that none are put in ranges
    assert (found.to_numpy() == expected[0].to_numpy()).mean() >= (0.98 if is_matrix else 1)
    differences = np.abs(chances.to_numpy() - expected[1].to_numpy())
    assert differences.mean() <= 0.02 if is_matrix else differences.max() <= 2e-4
    code, out, err = slimg("predict", "--json", "--out", "again.csv")
    assert code == 0, err
    assert json.loads(out)["scored_again"] == 0, "the model reads the same files in the same way"


def test_every_format_of_the_help_is_here():
    said = " ".join(write.__name__ for write in EVERY)
    for name in ("csv", "tsv", "json_lines", "parquet", "npz", "matrix_market", "graphml", "gexf", "sqlite", "duckdb"):
        assert name in said
