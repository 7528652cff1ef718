"""The example as a user runs it, and the folder it leaves."""

import numpy as np
import pandas as pd
import pytest

from examples.debian import run
from slimg.io import Source
from slimg.io.inputs import Options, read_inputs


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """One run on a quarter of the four largest sections: the graph, the folder, and what was printed."""
    data, out = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("debian")
    packages = pd.read_parquet(run.HERE / "packages.parquet")
    packages = packages[packages["section"].isin(["libs", "science", "games", "utils"])].iloc[::4]
    relations = pd.read_parquet(run.HERE / "relations.parquet")
    relations = relations[relations["package"].isin(packages["name"]) & relations["other"].isin(packages["name"])]
    packages.to_parquet(data / "packages.parquet", index=False)
    relations.to_parquet(data / "relations.parquet", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "120")
        run.main(["--data", str(data), "--out", str(out)])
    return run.load(data), out


def test_predictions_cover_every_package(ran):
    graph, out = ran
    table = pd.read_parquet(out / "predictions.parquet")
    assert list(table["name"]) == list(graph.ids)
    assert set(table["prediction"]) <= set(graph.classes)
    told = table["section"].notna()
    assert abs(told.sum() - 0.05 * graph.n) < 1
    assert (table["section"] == graph.labels)[told].all()
    chances = table["probability"]
    assert ((chances >= 1 / len(graph.classes) - 1e-4) & (chances <= 1)).all()
    assert (table["prediction"] == graph.labels).mean() > 0.7


def test_the_page_and_the_model_are_beside_them(ran):
    _, out = ran
    assert {file.name for file in out.iterdir()} >= {"report.html", "model.slimg", "record.json", "packages.parquet"}
    assert "Sections of Debian packages" in (out / "report.html").read_text(encoding="utf-8")


def test_files_and_library_are_given_the_same_features():
    graph = run.load()
    sources = {"edges": Source(run.HERE / "relations.parquet"), "nodes": Source(run.HERE / "packages.parquet")}
    read = read_inputs(Options(**sources, id="name", label="section", relation="relation", directed=True)).graph
    assert list(read.ids) == list(graph.ids)
    assert (read.adjacency.to_scipy() != graph.adjacency.to_scipy()).nnz == 0
    names = [name if name.startswith("maintainer: ") else f"words: {name}" for name in graph.feature_names]
    theirs = {name: place for place, name in enumerate(read.feature_names)}
    shared = [(place, theirs[name]) for place, name in enumerate(names) if name in theirs]
    assert len(shared) >= 0.99 * graph.d, "two words may be hashed to one place"
    ours, found = (x.tocsc()[:, [pair[k] for pair in shared]] for k, x in enumerate((graph.features, read.features)))
    different = np.unique((ours != found).tocoo().col)
    assert len(different) <= 0.01 * graph.d


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
    parts = [
        {"name": "U", "title": "network", "removed": True, "norm": 0.0, "share": 0.0},
        {"name": "X", "title": "features", "removed": False, "norm": 1e-9, "share": 1.0},
    ]
    table = run.weight_table(parts)
    cells = [list(column.cells) for column in table.columns]
    assert cells[0] == ["U: network", "X: features"]
    assert cells[2] == ["not used", "100%"]


def test_relation_table_adds_the_weights_of_the_paths_along_each_relation(ran):
    graph, _ = ran
    parts = [{"name": "X", "share": 0.5}, {"name": "Depends → X", "share": 0.3}, {"name": "Suggests ← Depends → X", "share": 0.2}]
    cells = [list(column.cells) for column in run.relation_table(parts, graph).columns]
    used = dict(zip(cells[0], cells[3], strict=True))
    assert used["Depends"] == "50.0%" and used["Suggests"] == "20.0%" and used["Breaks"] == "not used"
