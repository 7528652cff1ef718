"""The example as a user runs it, and the file it leaves."""

import csv

import numpy as np
import pandas as pd
import pytest

from examples.debian import run


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """One run on a quarter of the four largest sections: the graph, and the rows of predictions.csv."""
    out = tmp_path_factory.mktemp("debian")
    graph = run.load()
    large = np.flatnonzero(np.isin(graph.labels, ["libs", "science", "games", "utils"]))
    small = graph.subgraph(large[::4])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "load", lambda: small)
        patch.setenv("COLUMNS", "120")
        run.main(["--out", str(out)])
    with open(out / "predictions.csv", encoding="utf-8", newline="") as file:
        return small, list(csv.DictReader(file))


def test_predictions_cover_every_package(ran):
    graph, rows = ran
    assert [row["name"] for row in rows] == list(graph.ids)
    assert [row["section"] for row in rows] == list(graph.labels)
    assert {row["prediction"] for row in rows} <= set(graph.classes)
    assert abs(sum(row["labelled"] == "yes" for row in rows) - 0.05 * graph.n) < 1
    chances = np.array([float(row["probability"]) for row in rows])
    assert ((chances >= 1 / len(graph.classes) - 1e-4) & (chances <= 1)).all()


def test_hidden_labels_are_not_read(ran):
    graph, rows = ran
    shuffled = graph.labels.copy()
    hidden = np.array([row["labelled"] == "no" for row in rows])
    shuffled[hidden] = np.random.default_rng(0).permutation(shuffled[hidden])
    labelled = np.flatnonzero(~hidden)
    model = run.SlimG(random_state=0).fit(graph.with_labels(shuffled).keeping_labels(labelled))
    assert list(model.predict()) == [row["prediction"] for row in rows]


def test_seeds_below_one_are_refused(capsys):
    with pytest.raises(SystemExit):
        run.main(["--seeds", "0"])
    assert "--seeds must be at least 1, not 0" in capsys.readouterr().err


def test_accuracy_table_shows_mean_and_spread_and_marks_the_best():
    table = run.accuracy_table({"simple": [0.5, 0.7], "SlimG": [0.8, 0.8]}, packages=100, labelled=5)
    cells = [list(column.cells) for column in table.columns]
    assert cells == [["simple", "SlimG"], ["60.0 ± 14.1", "80.0 ± 0.0"]]
    assert [row.style for row in table.rows] == [None, "bold"]


def test_weight_table_names_components_that_are_exactly_zero():
    class Model:
        def component_weights(self):
            return {"U": 0.0, "X": 1e-9}

    cells = [list(column.cells) for column in run.weight_table(Model()).columns]
    assert cells[0] == ["U", "X"]
    assert cells[2] == ["not used", "100%"]


@pytest.mark.parametrize("start", run.FORMULA_STARTS)
def test_text_that_a_spreadsheet_would_run_is_quoted(tmp_path, start):
    path = run.write_csv(pd.DataFrame({"name": [f"{start}1+1", "plain"], "n": [-1.5, 2]}), tmp_path / "a.csv")
    with open(path, newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["name", "n"], [f"'{start}1+1", "-1.5"], ["plain", "2.0"]]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("old")
    monkeypatch.setattr(pd.DataFrame, "to_csv", lambda *args, **kwargs: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        run.write_csv(pd.DataFrame({"name": ["x"]}), path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]
