"""A child process with limits: what it is given, what comes back, and every way in which it can end."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from slimg import LinearGNN
from slimg.errors import InputError
from slimg.lab.baselines import watched
from slimg.lab.baselines.limited import run
from slimg.lab.sanity import make, scaled

CASE = make("semantic", "homophily", **scaled(240))
NAMES = np.array(["ash", "beech", "cedar", "dogwood"], object)
GRAPH = CASE.graph.with_labels(NAMES[CASE.graph.labels])
SPLIT = CASE.split(0)

OWN = """
import os, signal, time
import numpy as np

class Model:
    def __init__(self, random_state=0):
        pass
    def predict(self):
        return np.zeros(3, int)

class Greedy(Model):
    def fit(self, graph, train, val):
        self.held = [np.ones(1 << 24) for _ in range(80)]

class Raising(Model):
    def fit(self, graph, train, val):
        raise RuntimeError("no idea\\nof the second line")

class Endless(Model):
    def fit(self, graph, train, val):
        time.sleep(600)

class Crashing(Model):
    def fit(self, graph, train, val):
        os.kill(os.getpid(), signal.SIGSEGV)

class Killed(Model):
    def fit(self, graph, train, val):
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "mine.py"
    path.write_text(OWN)
    return lambda name, **limits: run(f"{path}:{name}", {}, GRAPH, SPLIT, **limits)


def test_answers_are_those_of_the_same_model_fitted_here():
    params = {"normalize_features": None, "random_state": np.int64(1), "K": 3}
    outcome = run("sgc", params, GRAPH, SPLIT, memory=4 << 30, seconds=120, threads=1)
    model = LinearGNN("sgc", normalize_features=None, random_state=1, K=3).fit(GRAPH, train=SPLIT.train, val=SPLIT.val)
    assert outcome.done and outcome.reason is None
    assert outcome.predictions.dtype == object and (outcome.predictions == model.predict()).all()
    told = [{name: value for name, value in each.items() if name != "seconds"} for each in model.selection_]
    assert [{name: value for name, value in each.items() if name != "seconds"} for each in outcome.selection] == told
    assert outcome.chosen["wd"] == model.wd_ and outcome.chosen in outcome.selection
    parts = outcome.seconds
    assert set(parts) == {"features", "tuning", "training", "prediction", "total"}
    assert 0 < parts["training"] <= parts["tuning"] < parts["total"]
    assert 50 << 20 < outcome.memory_before <= outcome.peak_memory < 4 << 30
    assert json.loads(json.dumps(outcome.record()))["status"] == "done"


def test_more_memory_than_allowed_is_a_record(own):
    outcome = own("Greedy", memory=1 << 30)
    assert outcome.status == "O.O.M." and outcome.predictions is None
    assert outcome.reason == "more than 1.00 GiB were needed"
    assert 1 << 30 < outcome.peak_memory < 2 << 30, "it was ended soon after the limit, far from the 10 GiB it wanted"


def test_time_is_limited(own):
    begun = time.monotonic()
    outcome = own("Endless", seconds=4)
    assert outcome.status == "timeout" and outcome.reason == "no answer within 4 s"
    assert time.monotonic() - begun < 6


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("Raising", "failed", "RuntimeError: no idea"),
        ("Crashing", "failed", "the process was ended by SIGSEGV without an answer: it said nothing"),
        ("Killed", "O.O.M.", "the system ended the process, as it does when memory runs out"),
    ],
)
def test_each_failure_says_why(own, name, status, reason):
    outcome = own(name)
    assert (outcome.status, outcome.reason) == (status, reason)


def test_wrong_limits_and_parameters_are_errors():
    with pytest.raises(InputError, match="memory must be None or a number above 0, not -1"):
        run("sgc", {}, GRAPH, SPLIT, memory=-1)
    with pytest.raises(InputError, match="parameter engine cannot be sent"):
        run("sgc", {"engine": object()}, GRAPH, SPLIT)


def test_without_proc_memory_cannot_be_limited(monkeypatch, tmp_path):
    monkeypatch.setattr(watched, "PROC", tmp_path)
    with pytest.raises(InputError, match="a memory limit needs"):
        run("sgc", {}, GRAPH, SPLIT, memory=1 << 30)


def test_the_child_ends_with_its_parent(tmp_path):
    (tmp_path / "mine.py").write_text(OWN + f"\nfrom pathlib import Path\nPID = Path({str(tmp_path / 'pid')!r})\n"
        "class Waiting(Model):\n    def fit(self, graph, train, val):\n"
        "        PID.write_text(str(os.getpid()))\n        time.sleep(600)\n")  # fmt: skip
    program = (
        "from slimg.lab.baselines import run\nfrom slimg.lab.sanity import make, scaled\n"
        f"case = make('random', 'uniform', **scaled(120))\nrun({str(tmp_path / 'mine.py:Waiting')!r}, {{}}, case.graph,"
        " case.split(0))"
    )
    parent = subprocess.Popen([sys.executable, "-c", program])
    _until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    child = int((tmp_path / "pid").read_text())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    _until(lambda: not _alive(child))


def _until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as status:
            return status.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
