"""A model goes to a file and back: the same bits in another process, for every option and kind of label."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from explain_graphs import planted
from slimg import Graph, SlimG
from slimg.errors import InputError
from slimg.inference.saving import decode, encode
from slimg.lab.baselines.ablations import slimg_params

OPTIONS = [
    {},
    {"pca": False},
    {"grid": [(0, 0.08)]},
    {"sparsity": False},
    {"k_row": {1, 2}, "components": ("X", "row"), "class_weight": "balanced"},
    {"normalize": None, "class_weight": {"ash": 2.0}},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_loaded_model_is_the_saved_one(options, tmp_path):
    graph = planted()
    model = SlimG(**slimg_params({"grid": [(1e-4, 1e-3)], **options})).fit(graph)
    loaded = SlimG.load(model.save(tmp_path / "m.slimg"))
    np.testing.assert_array_equal(loaded.decision_function(), model.decision_function())
    np.testing.assert_array_equal(loaded.predict(graph), model.predict())
    assert {**loaded.get_params(), "engine": "memory"} == {**model.get_params(), "engine": "memory"}
    for name in ("l1_", "group_", "joint_", "zero_components_", "rank_", "notes_", "feature_names_"):
        assert getattr(loaded, name) == getattr(model, name), name
    assert {name: loaded.data_[name] for name in model.data_} == model.data_
    assert loaded.component_weights() == model.component_weights()
    one, two = model.explain("n5"), loaded.explain("n5", graph=graph)
    for mine, theirs in zip(one.parts, two.parts, strict=True):
        np.testing.assert_array_equal(mine.scores, theirs.scores)
    assert model.summary().to_dict() == loaded.summary().to_dict()
    assert (tmp_path / "m.slimg").read_bytes() == loaded.save(tmp_path / "again.slimg").read_bytes()


def test_another_process_predicts_the_same_bits(tmp_path):
    graph = planted()
    model = SlimG(grid=[(1e-4, 1e-3)]).fit(graph)
    path = model.save(tmp_path / "m.slimg")
    code = (
        "import sys; sys.path.insert(0, sys.argv[2]); from explain_graphs import planted; from slimg import SlimG;"
        "model = SlimG.load(sys.argv[1]);"
        "print(model.decision_function().tobytes().hex() == model.decision_function(planted()).tobytes().hex());"
        "print(model.decision_function().tobytes().hex())"
    )
    command = [sys.executable, "-c", code, str(path), str(Path(__file__).parents[1])]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", model.decision_function().tobytes().hex()]


@pytest.mark.parametrize(
    "names", [["ash", "elm", "oak"], [7, -3, 200], [("a", 1), ("b", 2), ("c", 3)], [1.0, 2.0, 5.0]], ids=str
)
def test_labels_keep_their_type(names, tmp_path):
    base = planted()
    labels = np.empty(base.n, object)
    labels[:] = [names[k % 3] for k in range(base.n)]
    graph = Graph.from_arrays(base.adjacency, base.features, labels)
    model = SlimG(grid=[(1e-4, 1e-3)]).fit(graph)
    loaded = SlimG.load(model.save(tmp_path / "m.slimg"))
    assert loaded.classes_.dtype == model.classes_.dtype and loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.predict().tolist() == model.predict().tolist()


def test_the_header_says_what_it_is(tmp_path):
    graph = planted()
    model = SlimG(grid=[(0, 0.08)]).fit(graph)
    with zipfile.ZipFile(model.save(tmp_path / "m.slimg")) as archive:
        header, members = json.loads(archive.read("header.json")), archive.namelist()
    assert header["data"] | {"fingerprint": ""} == {
        "nodes": 150, "edges": graph.edges, "features": 12, "labelled": 150, "fingerprint": "",
    }  # fmt: skip
    assert len(header["data"]["fingerprint"]) == 64 and header["feature_names"] == list(graph.feature_names)
    removed = [each["name"] for each in header["components"] if "state" not in each]
    assert tuple(removed) == model.zero_components_ and "U" in removed and not any("vectors" in name for name in members)


def test_a_model_that_is_not_fitted_has_no_file(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        SlimG().save(tmp_path / "m.slimg")


def test_a_model_without_its_graph_needs_one_to_explain(tmp_path):
    model = SlimG(grid=[(1e-4, 1e-3)]).fit(planted())
    loaded = SlimG.load(model.save(tmp_path / "m.slimg", keep_graph=False))
    with pytest.raises(InputError, match="give graph="):
        loaded.explain("n5")
    whole = SlimG.load(model.save(tmp_path / "m.slimg"))
    assert whole.explain("n5").text() == model.explain("n5").text()


@pytest.mark.parametrize(
    "value", [None, True, 3, 2.5, "ä", (1, ("a", None)), [1, (2,)], {2, 4}, {3: "x", "k": (1,)}, float("inf")], ids=str
)
def test_values_come_back(value):
    assert decode(json.loads(json.dumps(encode(value, "value")))) == value


def test_values_that_are_none_of_these_are_told():
    with pytest.raises(InputError, match="class cannot be saved"):
        encode(object(), "class")
    assert np.isnan(decode(encode(np.float32("nan"), "gap")))
