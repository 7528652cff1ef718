"""`slimg fit --engine` and `slimg estimate` on files, as a person types them."""

import json
import os
import shutil
import signal
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forked import Forked, without_charts
from slimg.cli import fit, main
from slimg.components.estimate import estimate
from slimg.io import Source
from slimg.io.disk_tables import FileTable, read_to_disk
from slimg.io.inputs import Options, read_inputs

FIT = ("fit", "--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "kind")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """390 nodes of three kinds with numbers, a category and a text; half of the edges stay in a kind. Fits of two engines."""
    rng, n = np.random.default_rng(0), 390
    kind = rng.integers(0, 3, n)
    ids = np.array([f"n{k:04}" for k in rng.permutation(n)])
    label = np.where(rng.random(n) < 0.3, np.array(["a", "b", "c"])[kind], "")
    nodes = pd.DataFrame({"id": ids, "kind": label, "x": rng.normal(size=n) + kind, "y": rng.random(n).round(3)})
    nodes["city"] = np.where(rng.random(n) < 0.6, np.array(["rome", "oslo", "lima"])[kind], "bern")
    nodes.loc[5, "y"] = np.nan
    source = rng.integers(0, n, 4 * n)
    alike = np.array([rng.choice(np.flatnonzero(kind == kind[s])) for s in source])
    target = np.where(rng.random(4 * n) < 0.6, alike, rng.integers(0, n, 4 * n))
    edges = pd.DataFrame({"source": ids[source], "target": ids[target], "weight": rng.integers(1, 4, 4 * n)})
    folder = tmp_path_factory.mktemp("made")
    for name, table in (("nodes", nodes), ("edges", edges)):
        table.to_csv(folder / f"{name}.csv", index=False)
        table.to_csv(folder / f"{name}.csv.gz", index=False)
        table.to_parquet(folder / f"{name}.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        without_charts(patch.setattr)
        assert main([*FIT, "--out", "memory", "--engine", "memory", "--json"]) == 0
        assert main([*FIT, "--out", "mapped", "--engine", "mapped", "--memory", "4GB", "--json"]) == 0
    return folder


@pytest.fixture
def files(made, tmp_path, monkeypatch):
    """The current folder holds those tables; what was fitted is in `made`."""
    monkeypatch.chdir(tmp_path)
    for name in ("nodes", "edges"):
        for path in made.glob(f"{name}.*"):
            shutil.copy(path, tmp_path)
    return tmp_path


def predictions(folder):
    path = next(Path(folder).glob("predictions.*"))
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


def test_files_within_a_budget_give_the_predictions_of_memory(made, files, slimg):
    words = ("fit", "--edges", "edges.parquet", "--nodes", "nodes.parquet", "--label", "kind")
    code, out, err = slimg(*words, "--out", "mapped", "--engine", "mapped", "--memory", "4GB", "--json")
    assert code == 0, err
    one, other = predictions(made / "memory"), predictions("mapped")
    assert np.allclose(other["probability"], predictions(made / "mapped")["probability"], atol=1e-6), "as from CSV files"
    assert list(one.columns) == list(other.columns) and list(one["id"]) == list(other["id"]) and one["x"].equals(other["x"])
    assert (one["prediction"] == other["prediction"]).mean() >= 0.99
    assert "Column 'y' is read as a number, standardised (1 missing)." in json.loads(out)["notes"]
    assert {"report.html", "model.slimg", "record.json"} <= set(os.listdir("mapped"))
    assert not Path(".mapped.work").exists()


@pytest.mark.parametrize("ending", ["csv", "parquet", "csv.gz"])
def test_a_graph_on_disk_is_the_graph_in_memory(files, tmp_path, ending):
    one = read_inputs(Options(edges=Source(Path("edges.csv")), nodes=Source(Path("nodes.csv")), label="kind")).graph
    options = Options(edges=Source(Path(f"edges.{ending}")), nodes=Source(Path(f"nodes.{ending}")), label="kind")
    other = read_to_disk(options, tmp_path, 10**9).graph
    assert one.ids.tolist() == other.ids.tolist() and one.feature_names == other.feature_names
    assert np.array_equal(one.adjacency.indptr, other.adjacency.indptr)
    assert np.array_equal(one.adjacency.indices, other.adjacency.indices)
    assert np.array_equal(one.adjacency.weights, other.adjacency.weights)
    assert np.allclose(one.features.toarray(), other.features, atol=1e-7)
    assert one.classes.tolist() == other.classes.tolist() and np.array_equal(one.codes, other.codes)


def test_a_killed_run_goes_on_with_the_same_command(made, files):
    words = (*FIT, "--engine", "mapped", "--memory", "4GB", "--json", "--out", "killed")
    journal, graph = Path(".killed.work/slimg-work/journal.jsonl"), Path(".killed.work/graph/graph.json")
    for steps in (0, 12):
        run = Forked(*words)
        while run.poll() is None and not (journal.exists() and journal.read_text().count("\n") > steps):
            time.sleep(0.005)
        run.send_signal(signal.SIGKILL)
        assert run.wait(60) == -signal.SIGKILL
        assert graph.exists() and not Path("killed").exists()
    written, before = graph.stat().st_mtime_ns, journal.read_text().split("\n")[:-1]
    run, seen = Forked(*words), before
    while run.poll() is None and len(seen) <= len(before) + 1:
        with suppress(FileNotFoundError):  # it has ended
            assert graph.stat().st_mtime_ns == written, "the tables are not read again"
            seen = journal.read_text().split("\n")
        time.sleep(0.005)
    assert len(seen) > len(before) and seen[: len(before)] == before
    assert run.wait(120) == 0 and predictions(made / "mapped").equals(predictions("killed"))
    assert not Path(".killed.work").exists()


@pytest.mark.parametrize(("words", "told"), [
    (("--engine", "mapped", "--memory", "50MB"), ("--memory", "50 MB", "at least")),
    (("--engine", "mapped", "--memory", "much"), ("--memory", "much")),
    (("--engine", "mapped", "--edges", "again=edges.csv"), ("mapped", "--edges", "relations")),
    (("--engine", "mapped", "--nodes", "again=nodes.csv"), ("mapped", "--nodes", "types")),
    (("--engine", "mapped", "--directed"), ("mapped", "--directed")),
    (("--engine", "mapped", "--measure-fold-in", "--memory", "4GB"), ("--measure-fold-in",)),
    (("--engine", "dask"), ("--scheduler",)),
    (("--scheduler", "tcp://localhost:1"), ("--engine dask",)),
    (("--shared-folder", "."), ("--shared-folder", "--scheduler")),
    (("--engine", "dask", "--scheduler", "tcp://localhost:1", "--shared-folder", "nowhere"), ("nowhere", "exists")),
])  # fmt: skip
def test_what_an_engine_cannot_do_is_refused_in_one_sentence(files, slimg, words, told):
    code, _, err = slimg(*FIT, *words)
    assert code == 2 and err.count("\n") == 1 and all(each in err for each in told), err


def test_a_cluster_of_processes_fits_and_predicts_as_memory(made, files, slimg, cluster):
    """Command, scheduler and two workers are four processes that share an address and a folder."""
    Path("shared").mkdir()
    words = ("--engine", "dask", "--scheduler", cluster.scheduler.address, "--shared-folder", "shared")
    assert Forked(*FIT, "--out", "dask", *words, stderr="told.txt").wait(240) == 0, Path("told.txt").read_text()
    assert (predictions(made / "memory")["prediction"] == predictions("dask")["prediction"]).mean() >= 0.99
    assert not list(Path("shared").iterdir()), "work files are removed"
    code, _, err = slimg("predict", "--model", "dask/model.slimg", *FIT[1:5], "--out", "again.csv")
    assert code == 0, err
    assert (pd.read_csv("again.csv")["prediction"] == predictions("dask")["prediction"]).all()


def test_rows_that_cannot_be_used_are_named(files, slimg):
    mapped = (*FIT, "--engine", "mapped", "--memory", "4GB")
    with open("edges.csv", "a") as file:
        file.write("n0001,stranger,1\n")
    code, _, err = slimg(*mapped)
    assert code == 2 and "'stranger'" in err and "--unknown drop" in err and "edges.csv" in err
    code, out, err = slimg(*mapped, "--unknown", "drop", "--json")
    assert code == 0 and any("1 edge dropped" in note for note in json.loads(out)["notes"]), err
    with open("nodes.csv", "a") as file:
        file.write("n0001,a,1,2,rome,7\n")
    code, _, err = slimg(*mapped, "--out", "other")
    assert code == 2 and "nodes.csv" in err
    Path("nodes.csv").write_text("".join(Path("nodes.csv").read_text().splitlines(True)[:-1]) + "n0001,a,1,2,rome\n")
    code, _, err = slimg(*mapped, "--out", "other")
    assert code == 2 and "nodes.csv" in err and "'n0001'" in err


def test_auto_follows_the_estimate_and_says_so(files, slimg, monkeypatch):
    options = Options(edges=Source(Path("edges.csv")), nodes=Source(Path("nodes.csv")), label="kind")
    assert fit._chosen("auto", options, None) == ("memory", []), "small files need no estimate"
    name, (note,) = fit._chosen("auto", options, 3 * 10**9)
    assert name == "memory" and "Engine: memory" in note

    def tight(sizes, **options):
        return replace(estimate(sizes, **options), recommended="mapped")

    monkeypatch.setattr("slimg.components.estimate.estimate", tight)
    code, out, err = slimg(*FIT, "--memory", "3GB", "--force", "--json")
    assert code == 0 and any("Engine: mapped" in note for note in json.loads(out)["notes"]), err


def test_estimate_measures_files(files, slimg):
    for ending in ("csv", "parquet"):
        words = ("--edges", f"edges.{ending}", "--nodes", f"nodes.{ending}", "--label", "kind")
        code, out, err = slimg("estimate", *words, "--json")
        assert code == 0, err
        sizes = json.loads(out)["sizes"]
        assert sizes["nodes"] == pytest.approx(390, abs=2) and sizes["edges"] == pytest.approx(1560, abs=5)
        assert sizes["features"] == 9 and sizes["classes"] == 3 and sizes["weighted"]
        memory = json.loads(out)["engines"]["memory"]
        assert memory["reading"] > 0 and memory["page"] > 0 and memory["seconds"] > memory["reading"] + memory["page"]
    code, out, _ = slimg("estimate", *words)
    assert code == 0 and all(word in out for word in ("reading", "fitting", "page", "recommended: memory"))
    code, _, err = slimg("estimate", "--edges", "edges.csv", "--nodes", "nodes.xlsx")
    assert code == 2 and "nodes.xlsx" in err


def test_estimate_reads_commas_as_thousands_alone(slimg):
    code, out, _ = slimg("estimate", "--nodes", "1,234,567", "--edges", "2_000k", "--json")
    assert code == 0 and json.loads(out)["sizes"]["nodes"] == 1_234_567 and json.loads(out)["sizes"]["edges"] == 2_000_000
    code, _, err = slimg("estimate", "--nodes", "2,4M", "--edges", "62M")
    assert code == 2 and "'2,4M'" in err and "--nodes" in err


def test_a_large_node_table_is_not_held(made, files, slimg, monkeypatch):
    monkeypatch.setattr(fit, "LARGE", 100)
    held, without_table = [], fit._without_table
    monkeypatch.setattr(fit, "_without_table", lambda *given: held.append(without_table(*given)) or held[0])
    assert slimg(*FIT, "--out", "read-again")[0] == 0
    assert len(held[0].table) == 0 and held[0].stored is not None
    assert Path(made / "memory/predictions.csv").read_bytes() == Path("read-again/predictions.csv").read_bytes()


def test_rows_of_files_are_counted_from_a_part(tmp_path):
    table = pa.table({"a": [f"value {k:06}" for k in range(400_000)], "b": np.arange(400_000)})
    pq.write_table(table, tmp_path / "t.parquet")
    table.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    for name in ("t.csv", "t.parquet"):
        rows, size = FileTable.open(Source(tmp_path / name)).measured()
        assert rows == pytest.approx(400_000, rel=0.02) and size > 1_000_000
