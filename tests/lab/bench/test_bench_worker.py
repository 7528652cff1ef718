"""The process of a batch: records alone on its output, whatever models print, and no life without a parent."""

import json
import subprocess
import sys

from slimg.lab.bench.cell import Cell

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
CASE = {"case": "random-uniform", "n": 120}


def test_only_records_are_on_its_output(tmp_path):
    (tmp_path / "mine.py").write_text(TALKING)
    cells = [Cell(CASE, (0.6, 0.2, 0.2), {"kind": f"{tmp_path}/mine.py:Talking"}, seed) for seed in (0, 1)]
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
    cell = Cell(CASE, (0.6, 0.2, 0.2), {"kind": f"{tmp_path}/mine.py:Slow"}, 0)
    command = [sys.executable, "-m", "slimg.lab.bench.worker"]
    done = subprocess.run(command, input=json.dumps([cell.identity()]) + "\n", capture_output=True, text=True, timeout=120,
                          start_new_session=True)  # fmt: skip
    assert done.returncode != 0 and done.stdout == ""  # its input ended, as it does when the parent dies
