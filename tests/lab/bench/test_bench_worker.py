"""A batch in its process: one record per cell whatever happens, and records alone on its output."""

import json
import subprocess
import sys

import numpy as np
import pytest

from slimg import SlimG
from slimg.components import paper_components
from slimg.graph import splits
from slimg.lab.bench import graphs
from slimg.lab.bench.store import Cell
from slimg.lab.bench.worker import failure, run_batch
from slimg.lab.propagators import inverse

TALKING = """
import numpy as np, sys

class Talking:
    def fit(self, graph):
        print("not a record")
        sys.stdout.write("{}")
        self.n, self.first = graph.n, graph.classes[0]

    def predict(self):
        return np.full(self.n, self.first)
"""

SLOW = """
import time

class Slow:
    def fit(self, graph):
        time.sleep(600)

    def predict(self):
        return None
"""
UNIFORM = {"case": "random-uniform", "n": 120}


def test_only_records_are_on_its_output(tmp_path):
    (tmp_path / "mine.py").write_text(TALKING)
    cells = [Cell(UNIFORM, (0.6, 0.2, 0.2), {"kind": f"{tmp_path}/mine.py:Talking"}, seed) for seed in (0, 1)]
    request = json.dumps([cell.identity() for cell in cells]) + "\n"
    with subprocess.Popen(
        [sys.executable, "-m", "slimg.lab.bench.worker"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as child:  # fmt: skip
        child.stdin.write(request)
        child.stdin.flush()
        records = [json.loads(line) for line in child.stdout]
        assert child.wait(60) == 0 and "not a record" in child.stderr.read()
    assert [each["key"] for each in records] == [cell.key for cell in cells]
    assert all(each["status"] == "ok" and 0.1 < each["accuracy"] < 0.4 for each in records)


def test_when_nobody_waits_it_ends(tmp_path):
    (tmp_path / "mine.py").write_text(SLOW)
    cell = Cell(UNIFORM, (0.6, 0.2, 0.2), {"kind": f"{tmp_path}/mine.py:Slow"}, 0)
    command = [sys.executable, "-m", "slimg.lab.bench.worker"]
    done = subprocess.run(command, input=json.dumps([cell.identity()]) + "\n", capture_output=True, text=True, timeout=120,
                          start_new_session=True)  # fmt: skip
    assert done.returncode != 0 and done.stdout == ""  # its input ended, as it does when the parent dies


CASE = {"case": "semantic-homophily", "n": 240}
SPLIT = (0.6, 0.2, 0.2)


def ran(cells):
    found = []
    run_batch(cells, found.append)
    assert [each["key"] for each in found] == [cell.key for cell in cells]
    return found


def cells(model, seeds=(0,), data=CASE):
    return [Cell(data, SPLIT, model, seed) for seed in seeds]


def test_accuracy_is_that_of_the_model_fitted_by_hand_on_the_same_split():
    records = ran(cells({"kind": "slimg", "grid": "paper"}, (0, 1)))
    graph = graphs.load(CASE)
    for seed, record in enumerate(records):
        split = splits.stratified(graph, SPLIT, seed)
        model = SlimG(grid="paper", components=paper_components(normalize=None), random_state=seed)
        model.fit(graph, train=split.train, val=split.val)
        assert record["accuracy"] == pytest.approx(np.mean((model.predict() == graph.labels)[split.test]), abs=1e-12)
        assert record["chosen"]["l1"] == model.l1_ and record["status"] == "ok" and record["protocol"] == "paper"
    assert records[0]["seconds"]["features"] == records[1]["seconds"]["features"]


def test_a_graph_that_cannot_be_loaded_fails_every_cell_of_it(monkeypatch, tmp_path):
    monkeypatch.setenv("SLIMG_DATA", str(tmp_path))
    monkeypatch.setattr(graphs, "load", lambda data: (_ for _ in ()).throw(OSError("the disk is gone\nfor good")))
    records = ran(cells({"kind": "lr"}, (0, 1)))
    assert {(each["status"], each["error"]) for each in records} == {("failed", "OSError: the disk is gone")}


def test_what_propagate_refuses_as_too_large_is_out_of_memory(monkeypatch):
    monkeypatch.setattr(inverse, "available_memory", lambda: 1 << 10)
    (record,) = ran(cells({"kind": "sgc"}))
    assert record["status"] == "oom" and "of memory and 0.0 GiB are free" in record["error"]


def test_the_words_of_torch_are_out_of_memory_and_other_errors_are_failures():
    (cell,) = cells({"kind": "gcn"})
    torchs = RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: …")
    assert failure(cell, torchs)["status"] == failure(cell, MemoryError())["status"] == "oom"
    assert failure(cell, KeyError("x"))["error"] == "KeyError: 'x'"
    assert failure(cell, "its process ended")["status"] == "failed"


def test_models_of_several_kinds_share_the_graph_of_a_batch(monkeypatch):
    loaded, load = [], graphs.load
    monkeypatch.setattr(graphs, "load", lambda data: loaded.append(data) or load(data))
    records = ran([*cells({"kind": "lr"}), *cells({"kind": "sgc"})])
    assert len(loaded) == 1 and all(each["status"] == "ok" for each in records)
