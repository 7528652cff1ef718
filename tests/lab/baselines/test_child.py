"""What the child does with a task, run in this process."""

import numpy as np
import pytest
from baseline_graphs import communities

from slimg import LinearGNN
from slimg.graph import splits
from slimg.lab.baselines import child, parcel

GRAPH = communities(120)
SPLIT = splits.stratified(GRAPH, (0.3, 0.2, 0.5))
OWN = """
import numpy as np

class Model:
    def __init__(self, random_state=0):
        pass
    def fit(self, graph, train, val):
        self.graph = graph
    def predict(self):
        return np.full(self.graph.n, self.graph.classes[0])

class Raising(Model):
    def fit(self, graph, train, val):
        raise RuntimeError("no idea\\nof the second line")

class Refused(Model):
    def fit(self, graph, train, val):
        np.empty(1 << 60, np.uint8)

class RefusedByTorch(Model):
    def fit(self, graph, train, val):
        import torch
        torch.empty(1 << 60)

class Short(Model):
    def predict(self):
        return np.zeros(3, int)

class Peeking(Model):
    def predict(self):  # the second class where it finds a label, else the first
        return np.where(self.graph.codes >= 0, self.graph.classes[1], self.graph.classes[0])

class Strange(Model):
    def predict(self):
        return np.full(self.graph.n, np.nan)

class Probabilities(Model):
    def predict(self):
        return np.zeros((self.graph.n, 2))

def chosen(answer=0, random_state=0):
    model = Model()
    model.predict = lambda: np.full(model.graph.n, answer + random_state)
    return model
"""


@pytest.fixture
def replied(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)

    def ask(model, **params):
        folder = tmp_path / f"task {len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        address = f"{tmp_path / 'mine.py'}:{model.removeprefix('own ')}" if model.startswith("own ") else model
        parcel.pack(folder, address, params, GRAPH, SPLIT)
        assert child.main(folder) == 0
        return parcel.replied(folder)

    return ask


def test_an_estimator_by_name(replied):
    answer, answers = replied("s2gc", random_state=0)
    model = LinearGNN("s2gc").fit(GRAPH, train=SPLIT.train, val=SPLIT.val)
    np.testing.assert_array_equal(answers, model.predict())
    assert len(answer["selection"]) == 10 and answer["chosen"]["alpha"] == model.propagator_.alpha
    assert set(answer["seconds"]) == {"features", "tuning", "training", "prediction"}
    assert answer["seconds"]["training"] == answer["chosen"]["seconds"] <= answer["seconds"]["tuning"]
    assert min(answer["memory_before"], answer["peak_memory"]) > 0


def test_stages_of_slimg_are_all_of_its_components_and_all_of_its_path(replied):
    answer, _ = replied("slimg")
    along_the_path = [each["seconds"] for each in answer["selection"] if not each["apart"]]  # others share what they solve
    assert 0 < sum(along_the_path) <= answer["seconds"]["tuning"]
    assert answer["seconds"]["features"] > 0


def test_a_network_tells_its_epochs(replied):
    pytest.importorskip("torch_geometric")
    answer, answers = replied("gcn", grid="quick", epochs=4, hidden=8)
    assert [each["epochs"] for each in answer["selection"]] == [4] * 4 and set(answers) <= {0, 1}


@pytest.mark.parametrize(
    ("model", "reason", "no_memory"),
    [
        ("own Raising", "RuntimeError: no idea", False),
        ("own Refused", "MemoryError: Unable to allocate", True),
        ("own RefusedByTorch", "RuntimeError", True),
        ("own Short", "predict() gave 3 answers for 120 nodes: one class per node is needed", False),
        ("own Strange", "predict() gave classes that the labels it was given do not have: nan", False),
        ("own Probabilities", "predict() gave an array of shape (120, 2) for 120 nodes: one class per node", False),
        ("own Nothing", "", False),
        ("no-such-model", "unknown model 'no-such-model': choose one of ", False),
    ],
)
def test_each_failure_is_a_reply(replied, model, reason, no_memory):
    answer, answers = replied(model)
    assert answer["reason"].startswith(reason) and answer["no_memory"] is no_memory and answers is None
    assert "\n" not in answer["reason"]


def test_no_other_labels_are_seen(replied):
    seen = np.isin(np.arange(GRAPH.n), np.concatenate([SPLIT.train, SPLIT.val]))
    np.testing.assert_array_equal(replied("own Peeking")[1], seen)


def test_own_models_take_parameters(replied):
    assert set(replied("own chosen", answer=1)[1]) == {1}
    answer, answers = replied("own chosen", random_state=1)
    assert set(answers) == {1} and answer["selection"] == [] and answer["chosen"] is None
    assert set(answer["seconds"]) == {"features", "tuning", "training", "prediction"}
