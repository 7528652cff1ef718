"""Running cells: nothing twice, failures stay in their cells, records alone on the output of a process, the time left."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from slimg import SlimG
from slimg.cli import main
from slimg.components import paper_components
from slimg.graph import splits
from slimg.lab.bench import run as run_module
from slimg.lab.bench.command import _run_missing
from slimg.lab.bench.recipe import Recipe
from slimg.lab.bench.run import _Batch, failure, progress_bar, run, run_batch
from slimg.lab.bench.store import Cell, Store
from slimg.lab.propagators import evaluation

MODELS = """
import os, sys, time
import numpy as np

class Majority:
    def fit(self, graph, train=None, val=None):
        with open(os.environ["SLIMG_TEST_LOG"], "a") as log:
            log.write(f"fit {os.environ.get('OMP_NUM_THREADS')}\\n")
        time.sleep(float(os.environ.get("SLIMG_TEST_SLEEP", 0)))
        self.classes, self.codes, self.train = graph.classes, graph.codes, train
        print("models may print")
        sys.stdout.write("{}")
        return self

    def predict(self, graph):
        most = np.bincount(self.codes[self.train]).argmax()
        return np.full(graph.n, self.classes[most])

class Raises(Majority):
    def predict(self, graph):
        raise ZeroDivisionError("no answer\\nsecond line")

class Dies(Majority):
    def predict(self, graph):
        os.kill(os.getpid(), 9)

class Greedy(Majority):
    def predict(self, graph):
        return np.ones(1 << 28)[: graph.n]

class Cheats(Majority):
    def predict(self, graph):
        return graph.labels
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MODELS)
    monkeypatch.setenv("SLIMG_TEST_LOG", str(tmp_path / "log"))
    return tmp_path / "mine.py"


def recipe_file(folder: Path, models: dict, seeds: int = 2, cases=("semantic-uniform",)) -> Path:
    content = {"name": "tiny", "title": "Tiny", "data": [{"case": case, "n": 120} for case in cases],
               "models": models, "split": [0.6, 0.2, 0.2], "seeds": seeds}  # fmt: skip
    path = folder / "tiny.json"
    path.write_text(json.dumps(content))
    return path


def fits(mine: Path) -> int:
    log = mine.parent / "log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_killed_in_the_middle_a_run_continues_where_it_stopped(mine, tmp_path, in_process, capsys):
    path = recipe_file(tmp_path, {"most": {"kind": f"{mine}:Majority"}}, seeds=6)
    typed = ["bench", "recipe", str(path), "--out", str(tmp_path / "out")]
    slow = {**os.environ, "SLIMG_TEST_SLEEP": "0.25"}
    first = subprocess.Popen([sys.executable, "-m", "slimg", *typed], env=slow, stdout=subprocess.DEVNULL)
    store = tmp_path / "out" / "records.jsonl"
    _until(lambda: store.exists() and store.read_bytes().count(b"\n") >= 3)
    first.send_signal(signal.SIGKILL)
    first.wait()
    kept = len(Store(store).records)
    assert 2 <= kept < 6
    _until(lambda: _still(fits, mine))  # the child ends by itself: nobody reads its records
    begun = fits(mine)
    assert begun < 6

    assert main(typed) == 0
    assert fits(mine) - begun == 6 - kept
    records = Store(store).records
    assert sorted(each["seed"] for each in records.values()) == list(range(6))
    assert len(store.read_text().splitlines()) == 7
    assert "over 6 splits" in capsys.readouterr().out


def test_the_same_cell_is_never_run_twice(mine, tmp_path, in_process):
    recipe = Recipe.read(recipe_file(tmp_path, {"a": {"kind": f"{mine}:Majority"}, "b": {"kind": f"{mine}:Majority"}}))
    store = Store(tmp_path / "s.jsonl")
    assert run(recipe.cells(), store) == 2  # rows a and b are the same model: two seeds, not four
    assert run(recipe.cells(), store) == 0 and fits(mine) == 2
    assert run([*recipe.cells()] * 2, Store(tmp_path / "s.jsonl")) == 0


def test_processes_at_a_time_share_the_cores(mine, tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(_Batch, "records", lambda batch: iter(given.append(batch.threads) or ()))
    monkeypatch.setattr("slimg.lab.bench.run.cores", lambda: 6)
    recipe = Recipe.read(recipe_file(tmp_path, {"a": {"kind": f"{mine}:Majority"}}, seeds=1))
    for jobs in (1, 2):  # one process has what the user set; test_monitored_process.py has what a child does with it
        run(recipe.cells(), Store(tmp_path / f"{jobs}.jsonl"), jobs=jobs)
    assert given == [None, 3]


def test_what_is_timed_runs_before_everything_else(mine, tmp_path, in_process):
    slow, fast = ({"kind": f"{mine}:{name}"} for name in ("Majority", "Cheats"))
    (tmp_path / "other").mkdir()
    timed, other = recipe_file(tmp_path, {"a": slow}), recipe_file(tmp_path / "other", {"b": fast})
    timed.write_text(json.dumps({**json.loads(timed.read_text()), "alone": True}))
    arguments = SimpleNamespace(jobs=2, quick=False, memory=None, minutes=float("inf"), retry=None)
    store = Store(tmp_path / "s.jsonl")
    _run_missing(arguments, [Recipe.read(other), Recipe.read(timed)], store)
    assert [each["model"]["kind"].split(":")[1] for each in store.records.values()] == ["Majority"] * 2 + ["Cheats"] * 2


def test_a_model_that_dies_or_wants_too_much_memory_dies_in_its_own_cell(mine, tmp_path):
    """What models print is not among the records, which come from the output of processes."""
    kinds = {name.lower(): {"kind": f"{mine}:{name}"} for name in ("Dies", "Greedy", "Majority")}
    recipe = Recipe.read(recipe_file(tmp_path, kinds, seeds=1))
    store = Store(tmp_path / "s.jsonl")
    assert run(recipe.cells(), store, jobs=2, memory=1 << 30) == 3
    dies, greedy, majority = (store.records[recipe.cell(row, "semantic-uniform", 0).key] for row in kinds)
    assert dies["status"] == "oom" and "system ended the process" in dies["error"]
    assert greedy["status"] == "oom" and greedy["error"] == "more than 1.00 GiB were needed"
    assert 0.2 <= majority["accuracy"] <= 0.3


def test_a_model_that_fails_fails_in_its_own_cell_and_is_run_again_on_request(mine, tmp_path, in_process):
    kinds = {name.lower(): {"kind": f"{mine}:{name}"} for name in ("Raises", "Cheats", "Majority")}
    recipe = Recipe.read(recipe_file(tmp_path, kinds, seeds=1))
    store = Store(tmp_path / "s.jsonl")
    assert run(recipe.cells(), store, jobs=2) == 3
    raises, cheats, majority = (store.records[recipe.cell(row, "semantic-uniform", 0).key] for row in kinds)
    assert (raises["status"], raises["error"]) == ("failed", "ZeroDivisionError: no answer")
    assert "NaN or None" in cheats["error"]  # test labels are not in what it is given
    assert 0.2 <= majority["accuracy"] <= 0.3
    assert run(recipe.cells(), store) == 0
    assert run(recipe.cells(), store, retry="failed") == 2


def test_out_of_time_nothing_is_begun(mine, tmp_path):
    recipe = Recipe.read(recipe_file(tmp_path, {"a": {"kind": f"{mine}:Majority"}}))
    assert run(recipe.cells(), Store(tmp_path / "s.jsonl"), minutes=0) == 0


def test_a_record_says_what_was_run_and_how_long_it_took(tmp_path, in_process):
    twelve = {"kind": "slimg", "grid": "paper"}
    models = {"slimg": {**twelve, "timed": True}, "c2": {**twelve, "components": ["X"]}}
    recipe = Recipe.read(recipe_file(tmp_path, models, seeds=1))
    store = Store(tmp_path / "s.jsonl")
    seen = []
    run(recipe.cells(), store, report=lambda cell, record, total: seen.append(total))
    assert seen == [2, 2]
    whole, alone = (store.records[recipe.cell(row, "semantic-uniform", 0).key] for row in models)
    assert set(whole["seconds"]) == {"features", "tuning", "training", "prediction"}
    assert whole["tried"] == 12 and whole["iterations"] > 0 and whole["peak_memory"] > 2**20
    assert {"data", "split", "model", "seed", "chosen", "versions", "commit", "at"} <= set(whole)
    assert set(whole["weights"]) == {"U", "X", "A_row^2 X", "A_sym^2 X"} and set(alone["weights"]) == {"X"}
    assert whole["seconds"]["features"] == alone["seconds"]["features"]  # computed once for both


def _until(holds, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def _still(count, *arguments) -> bool:
    before = count(*arguments)
    time.sleep(0.6)
    return count(*arguments) == before


CELL = Cell({"name": "cora"}, (0.1, 0.1, 0.8), {"kind": "lr"}, 0)


def test_nothing_is_shown_where_there_is_no_terminal(capsys):
    with progress_bar() as report:
        report(CELL, {"status": "oom"}, 4)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_sees_cells_counts_and_the_time_left(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress_bar() as report:
        report(CELL, {"status": "ok", "accuracy": 0.5}, 4)
        time.sleep(0.3)
        report(CELL, {"status": "oom"}, 4)
    assert "cora lr 50.0 %" in terminal.getvalue() and "cora lr oom" in terminal.getvalue()
    assert "2/4" in terminal.getvalue() and "0:00:0" in terminal.getvalue()


CASE = {"case": "semantic-homophily", "n": 240}
SPLIT = (0.6, 0.2, 0.2)


def ran(cells):
    found = list(run_batch(cells))
    assert [each["key"] for each in found] == [cell.key for cell in cells]
    return found


def cells(model, seeds=(0,), data=CASE):
    return [Cell(data, SPLIT, model, seed) for seed in seeds]


def test_accuracy_is_that_of_the_model_fitted_by_hand_on_the_same_split():
    records = ran(cells({"kind": "slimg", "grid": "paper"}, (0, 1)))
    graph = run_module.load_graph(CASE)
    for seed, record in enumerate(records):
        split = splits.stratified(graph, SPLIT, seed)
        model = SlimG(grid="paper", components=paper_components(normalize=None), random_state=seed)
        model.fit(graph, train=split.train, val=split.val)
        assert record["accuracy"] == pytest.approx(np.mean((model.predict() == graph.labels)[split.test]), abs=1e-12)
        assert record["chosen"]["l1"] == model.l1_ and record["status"] == "ok" and record["protocol"] == "paper"
    assert records[0]["seconds"]["features"] == records[1]["seconds"]["features"]


def test_a_graph_that_cannot_be_loaded_fails_every_cell_of_it(monkeypatch, tmp_path):
    monkeypatch.setenv("SLIMG_DATA", str(tmp_path))
    monkeypatch.setattr(run_module, "load_graph", lambda data: (_ for _ in ()).throw(OSError("the disk is gone\nfor good")))
    records = ran(cells({"kind": "lr"}, (0, 1)))
    assert {(each["status"], each["error"]) for each in records} == {("failed", "OSError: the disk is gone")}


def test_what_propagate_refuses_as_too_large_is_out_of_memory(monkeypatch):
    monkeypatch.setattr(evaluation, "available_memory", lambda: 1 << 10)
    (record,) = ran(cells({"kind": "sgc"}))
    assert record["status"] == "oom" and "of memory and 0.0 GiB are free" in record["error"]


def test_the_words_of_torch_are_out_of_memory_and_other_errors_are_failures():
    (cell,) = cells({"kind": "gcn"})
    torchs = RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: …")
    assert failure(cell, torchs)["status"] == failure(cell, MemoryError())["status"] == "oom"
    assert failure(cell, KeyError("x"))["error"] == "KeyError: 'x'"
    assert failure(cell, "its process ended")["status"] == "failed"


def test_models_of_several_kinds_share_the_graph_of_a_batch(monkeypatch):
    loaded, load = [], run_module.load_graph
    monkeypatch.setattr(run_module, "load_graph", lambda data: loaded.append(data) or load(data))
    records = ran([*cells({"kind": "lr"}), *cells({"kind": "sgc"})])
    assert len(loaded) == 1 and all(each["status"] == "ok" for each in records)
