"""Model files that were tampered with, read by plain numpy, and as ONNX."""

import hashlib
import io
import json
import re
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import slimg
from benchmarks.fuzz import model_file as fuzz
from explain_graphs import planted
from oracles import chebyshev
from slimg import Graph, SlimG
from slimg.components import Diffusion, PageRank, PropagatedFeatures, Target
from slimg.errors import InputError, MissingExtra

DOCS = Path(__file__).parents[2] / "docs" / "model-file.md"


def test_three_hundred_mutations_are_refused_or_predict_the_same(tmp_path):
    counts, wrong = fuzz.run(300, 5, tmp_path)
    assert wrong == [] and sum(counts.values()) == 300
    assert sum(number for what, number in counts.items() if what.endswith("refused")) > 200


@pytest.fixture(scope="module")
def oracle(tmp_path_factory):
    return fuzz.Oracle(tmp_path_factory.mktemp("oracle"))


@pytest.mark.parametrize(
    ("place", "value", "named"),
    [
        (("metrics", "predict"), 1, "predict"),
        (("metrics", "__dict__"), {"pairs": []}, "__dict__"),
        (("params", "coef_"), 1, "coef_"),
        (("params", "engine"), "dask", "engine"),
        (("data", "command"), "rm", "command"),
        (("data", "nodes"), 59, "60"),
        (("data", "features"), "6", "features"),
        (("metrics", "rank_"), True, "rank_"),
        (("feature_names",), ["a"], "1 features of 6"),
        (("classes",), ["a", "b"], "3"),
        (("classes",), ["a", "b", "b"], "twice"),
        (("classes_dtype",), "<i8", "<i8"),
        (("components", 3, "component"), {"component": {"pairs": [{"tuple": ["kind", "Engine"]}]}}, "options"),
        (("version",), 2, "version 2"),
        (("version",), 5.0, "version 5.0"),
        (("calibration", "temperature"), 7, "temperature"),
        (("calibration", "temperature"), 10**400, "temperature"),
    ],
    ids=str,
)
def test_a_header_that_does_not_fit_names_the_place(oracle, place, value, named):
    header = json.loads(oracle.content["header.json"])
    inner = header
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    oracle.path.write_bytes(fuzz.archived({**oracle.content, "header.json": json.dumps(header).encode()}))
    with pytest.raises(InputError, match=re.escape(named)) as error:
        SlimG.load(oracle.path)
    assert "\n" not in str(error.value) and oracle.path.name in str(error.value)


@pytest.fixture(scope="module")
def of_tables(tmp_path_factory):
    return fuzz.Oracle(tmp_path_factory.mktemp("tables"), tables=True)


@pytest.mark.parametrize("change", [lambda a: a[::-1], lambda a: a[:, ::-1], lambda a: a + 1, lambda a: a - 1, lambda a: a + 99])
def test_ranges_of_features_that_are_not_the_numbers_of_the_table_are_refused(of_tables, change):
    header, content = json.loads(of_tables.content["header.json"]), dict(of_tables.content)
    name = next(name for name in content if name.startswith("places"))
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(change(np.load(io.BytesIO(content[name])))))
    content[name], header["sha256"][name[:-4]] = buffer.getvalue(), hashlib.sha256(buffer.getvalue()).hexdigest()
    of_tables.path.write_bytes(fuzz.archived({**content, "header.json": json.dumps(header).encode()}))
    with pytest.raises(InputError, match=r"numbers|no features") as error:
        SlimG.load(of_tables.path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("blocks", 2, "keys", 0), ["Oslo"]),
        (("blocks", 2, "keys"), ["Oslo"]),
        (("blocks", 2, "keys", 1), "Oslo"),
        (("blocks", 3, "keys", 1), -1),
        (("blocks", 3, "keys"), [9981, 9981, 219284, 258307]),
        (("blocks", 3, "keys"), "Oslo"),
        (("blocks", 0, "keys", 0, 1), 0),
        (("blocks", 0, "keys", 0), [1.0]),
        (("blocks", 0, "names"), ["age"]),
        (("blocks", 0, "columns"), []),
        (("blocks", 0, "kind"), "vector"),
        (("blocks", 0, "decimal"), "x"),
        (("blocks", 1), None),
        (("blocks", 1, "names", 0), "other"),
        (("absent",), [1]),
        (("blocks",), {}),
    ],
    ids=str,
)
def test_a_plan_that_could_not_read_a_table_is_refused(of_tables, place, value):
    header = json.loads(of_tables.content["header.json"])
    inner = header["data"]["reading"]["plan"]
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    of_tables.path.write_bytes(fuzz.archived({**of_tables.content, "header.json": json.dumps(header).encode()}))
    with pytest.raises(InputError, match=r"(?i)plan"):
        SlimG.load(of_tables.path)


def test_numbers_that_are_nowhere_known_are_kept(tmp_path):
    """The mean of no number is none, which JSON has no word for."""
    edges, nodes = fuzz.tables(200)
    nodes = nodes.assign(pair=[[np.nan, float(k)] for k in range(len(nodes))])
    model = SlimG(grid=[(1e-6, 1e-4)]).fit(slimg.read(edges=edges, nodes=nodes, label="team"))
    loaded = SlimG.load(model.save(tmp_path / "m.slimg"))
    again = slimg.read(edges=edges, nodes=nodes, like=loaded)
    np.testing.assert_array_equal(loaded.predict_proba(again), model.predict_proba())


def test_features_exchanged_after_reading_are_no_numbers_of_the_table(tmp_path):
    graph = fuzz.table_graph(200)
    other = replace(graph, features=np.random.default_rng(0).random((200, 3)), feature_names=("a", "b", "c"))
    model = SlimG(grid=[(1e-6, 1e-4)]).fit(other)
    loaded = SlimG.load(model.save(tmp_path / "m.slimg"))
    assert loaded.data_["reading"]["plan"] is None
    np.testing.assert_array_equal(loaded.predict_proba(other), model.predict_proba())


def test_sizes_are_compared_before_memory_is_taken(oracle):
    raw = oracle.content["scores.npy"]
    shape = re.search(rb"\(60, 3\)", raw)[0]
    changed = raw[:10] + raw[10:128].replace(shape, b"(999999999, 3)")[:118] + raw[128:]
    header = json.loads(oracle.content["header.json"])
    header["sha256"]["scores"] = fuzz.hashlib.sha256(changed).hexdigest()
    content = {**oracle.content, "scores.npy": changed, "header.json": json.dumps(header).encode()}
    oracle.path.write_bytes(fuzz.archived(content))
    tracemalloc.start()
    with pytest.raises(InputError, match="999999999"):
        SlimG.load(oracle.path)
    assert tracemalloc.get_traced_memory()[1] < 20 * oracle.path.stat().st_size
    tracemalloc.stop()


def test_weights_whose_scores_would_overflow_are_refused(oracle):
    header, buffer = json.loads(oracle.content["header.json"]), io.BytesIO()
    np.save(buffer, np.full_like(np.load(io.BytesIO(oracle.content["weights0.npy"])), 1e38))
    header["sha256"]["weights0"] = hashlib.sha256(buffer.getvalue()).hexdigest()
    changed = {"weights0.npy": buffer.getvalue(), "header.json": json.dumps(header).encode()}
    oracle.path.write_bytes(fuzz.archived({**oracle.content, **changed}))
    with pytest.raises(InputError, match=r"weights0.*1e\+18"):
        SlimG.load(oracle.path)


def test_hops_have_a_bound():
    """A small file could ask for 10¹² of them, which the reader would compute."""
    for component, most in ((PropagatedFeatures, 1000), (Diffusion, 1000), (PageRank, 12)):
        assert component(steps=most).hops == most
        with pytest.raises(InputError, match=str(most)):
            component(steps=most + 1)


def test_what_could_not_be_read_is_not_written(tmp_path):
    model = SlimG(grid=[(1e-4, 1e-3)]).fit(planted())
    model.intercept_[0] = np.nan
    with pytest.raises(InputError, match="intercept"):
        model.save(tmp_path / "m.slimg")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("measured", [False, True])
def test_the_lines_of_the_documentation_score_a_row(tmp_path, monkeypatch, measured):
    """Rows from dense matrices: A_row² and Ã_sym² of the prepared features, and A V of U."""
    graph = planted()
    counts = np.random.default_rng(0).poisson(2.0, graph.features.shape).astype(np.float32) + graph.features
    graph = graph if measured else Graph.from_arrays(graph.adjacency, np.round(np.abs(counts)), graph.labels)
    model = SlimG(grid=[(1e-5, 1e-5)]).fit(graph)
    model.save(tmp_path / "m.slimg")
    monkeypatch.chdir(tmp_path)
    lines = {}
    exec(re.search(r"```python\n(.*?)```", DOCS.read_text(), re.S)[1], lines)
    file, parts = lines["file"], {part["name"]: part for part in lines["header"]["components"]}
    assert len(model.zero_components_) <= 3
    A = graph.adjacency.to_scipy().toarray()
    loops = A + np.eye(graph.n)
    row, sym = A / np.maximum(A.sum(1, keepdims=True), 1), loops / np.sqrt(np.outer(loops.sum(1), loops.sum(1)))
    X = lines["prepare"](np.asarray(graph.features, float), parts["A_row^2 X"]["state"])
    rows = {"X": X, "A_row^2 X": row @ row @ X, "A_sym^2 X": sym @ sym @ X}
    for name, matrix in (("U", A), ("U_sym", sym)):
        if "state" in parts[name]:
            spectrum = parts[name]["state"]
            rows[name] = matrix @ (file[spectrum["vectors"]] * np.sign(file[spectrum["eigenvalues"]]))
    if measured:
        around = model.components_.fitted["bins(A_row X)"]
        rows["bins(A_row X)"] = around.component.project(around.state, Target(graph, np.arange(graph.n)))
        bins = lines["prepare"](np.asarray(graph.features, float), parts["bins(X)"]["state"])
        rows |= {"bins(X)": bins, "A_row^2 bins(X)": row @ row @ bins, "A_sym^2 bins(X)": sym @ sym @ bins}
    rows["PPR^10 X"] = chebyshev(sym, 0.05, 10) @ X
    found = [lines["probabilities"]({name: each[i] for name, each in rows.items()}) for i in range(graph.n)]
    np.testing.assert_allclose(found, model.predict_proba(), atol=1e-5)


def test_onnxruntime_gives_the_probabilities(tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = SlimG(grid=[(1e-4, 1e-3)]).fit(planted())
    session = runtime.InferenceSession(str(model.to_onnx(tmp_path / "m.onnx")))
    rows = model.components_.labelled_rows(np.arange(model.graph_.n))
    (found,) = session.run(None, {"rows": rows})
    np.testing.assert_allclose(found, model.predict_proba(), atol=1e-5)
    described = session.get_modelmeta().custom_metadata_map
    assert json.loads(described["classes"]) == ["ash", "elm", "oak"]
    assert json.loads(described["widths"]) == model.components_.widths


def test_without_onnx_the_extra_is_named(tmp_path, monkeypatch):
    model = SlimG(grid=[(1e-4, 1e-3)]).fit(planted())
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtra, match=r"slimg\[onnx\]"):
        model.to_onnx(tmp_path / "m.onnx")
