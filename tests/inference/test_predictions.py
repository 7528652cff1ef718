"""Predictions as Parquet against `predict` and `predict_proba`, on every kind of engine, whole or not at all."""

import json
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow.parquet as pq
import pytest

from slimg import SlimG
from slimg.components import paper_components
from slimg.engine import MemoryEngine, mapped, memory
from slimg.engine import base as blocks
from slimg.engine.dask import DaskEngine
from slimg.engine.mapped import MappedEngine
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph
from slimg.inference.predictions import largest, write_predictions

N = 900
GRID = [(1e-3, 1e-3)]


def random_graph(ids=None, labels=None):
    u, v = np.random.default_rng(0).integers(0, N, (2, 4 * N))
    x = np.random.default_rng(1).standard_normal((N, 6), dtype=np.float32)
    labels = np.array(["red", "green", "blue"])[np.arange(N) % 3] if labels is None else labels
    return Graph(Adjacency.from_edges(u, v, N)[0], x, labels, ids)


@pytest.fixture(params=["memory", "mapped", "dask"])
def engine(request, tmp_path, monkeypatch):
    """Engines that cut 900 rows into three runs."""
    monkeypatch.setattr(memory, "PART_ROWS", 300)
    monkeypatch.setattr(mapped, "PART_ROWS", 300)
    if request.param == "memory":
        yield MemoryEngine(threads=2)
    elif request.param == "mapped":
        with MappedEngine("8GB", tmp_path / "work") as made:
            yield made
    else:
        with DaskEngine(request.getfixturevalue("cluster"), tmp_path, partitions=3) as made:
            yield made


@pytest.mark.parametrize(
    ("engine", "ids"),
    [
        ("memory", None),
        ("memory", np.array([f"u{i}" for i in range(N)], object)),
        ("mapped", np.array([f"user {i}" for i in range(N)])),
        ("dask", np.array([f"u{i}" for i in range(N)], object)),
    ],
    indirect=["engine"],
)
def test_files_hold_what_the_model_predicts(engine, tmp_path, ids):
    graph = random_graph(ids)
    unfitted = SlimG(components=paper_components(rank=6)[1:], engine=engine, grid=GRID)
    model = unfitted.fit(graph, train=np.arange(300), val=np.arange(300, 500))
    place = model.write_predictions(tmp_path / "out" / "predictions", probabilities=True)
    files = sorted(path.name for path in place.iterdir())
    assert files == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    assert pq.read_table(place / files[1]).num_rows == 300
    table = pq.read_table(place).to_pandas()
    np.testing.assert_array_equal(table["id"].to_numpy(), graph.ids)
    np.testing.assert_array_equal(table["prediction"].to_numpy(), model.predict())
    chances = model.predict_proba()
    np.testing.assert_allclose(table[[f"p({name})" for name in model.classes_]].to_numpy(), chances, rtol=1e-12)
    ordered = np.sort(chances, axis=1)
    np.testing.assert_allclose(table["probability"], ordered[:, -1])
    np.testing.assert_allclose(table["margin"], ordered[:, -1] - ordered[:, -2])
    np.testing.assert_array_equal(model.predict(), model.classes_[model.decision_function().argmax(axis=1)])


def test_ids_and_classes_of_several_types_are_written_as_text(tmp_path):
    ids = np.array([i if i % 2 else f"n{i}" for i in range(N)], object)
    model = SlimG(grid=GRID).fit(random_graph(ids, np.arange(N) % 2))
    table = pq.read_table(model.write_predictions(tmp_path / "p")).to_pandas()
    assert list(table.columns) == ["id", "prediction", "probability", "margin"]
    assert list(table["id"][:3]) == ["n0", "1", "n2"] and table["prediction"].dtype.kind == "i"


def test_a_folder_that_exists_or_cannot_be_made_is_refused(tmp_path):
    model = SlimG(grid=GRID).fit(random_graph())
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file exists already"):
        model.write_predictions(tmp_path / "file")
    with pytest.raises(InputError, match="cannot be made"):
        model.write_predictions(tmp_path / "file" / "inside")
    loaded = SlimG.load(model.save(tmp_path / "model"))
    with pytest.raises(Exception, match="not loaded from a file"):
        loaded.write_predictions(tmp_path / "p")


class _Interrupted(MemoryEngine):
    def for_each_row_chunk(self, fn, row_matrices, vectors=()):
        fn(0, row_matrices[0][:10], vectors[0][:10])
        raise KeyboardInterrupt


class _Elsewhere(MemoryEngine):
    def for_each_row_chunk(self, fn, row_matrices, vectors=()):
        return ["part-00000.parquet"]


def test_interrupted_or_written_elsewhere_leaves_nothing(tmp_path):
    parts = np.ones((20, 2), np.float32), np.zeros(2), np.arange(2), np.arange(20)
    with pytest.raises(KeyboardInterrupt):
        write_predictions(tmp_path / "p", _Interrupted(1), *parts)
    with pytest.raises(InputError, match="where it is not seen here: choose a folder that all share"):
        write_predictions(tmp_path / "p", _Elsewhere(1), *parts)
    assert not list(tmp_path.iterdir())


def test_one_class_alone_has_the_whole_margin(tmp_path):
    place = write_predictions(
        tmp_path / "p", MemoryEngine(1), np.ones((5, 1), np.float32), np.zeros(1), np.array(["a"]), np.arange(5)
    )
    assert pq.read_table(place).to_pandas()["margin"].tolist() == [1.0] * 5


def test_the_largest_is_the_first_among_equals():
    scores = np.array([[1, 1, 0], [0, 2, 2], [0, 0, 1]], np.float32)
    assert largest(MemoryEngine(1), scores, np.zeros(3, np.float32)).tolist() == [0, 1, 2]
    assert largest(MemoryEngine(1), scores, np.array([0, 0, 5], np.float32)).tolist() == [2, 2, 2]


def test_writing_keeps_the_budget(tmp_path):
    """150,000 × 40 scores are 24 MB, and 112 MB as they are worked on: the budget leaves room for 64 MB."""
    program = textwrap.dedent("""
        import json, sys
        import numpy as np
        from slimg.lab.bench.store import peak_memory
        from slimg.engine.mapped import MappedEngine
        from slimg.inference.predictions import write_predictions
        import pyarrow.parquet, slimg.learn.sparse_group
        ids = np.arange(150_000)
        budget = peak_memory() + (64 << 20)
        with MappedEngine(budget, threads=2) as engine:
            scores = engine.random(150_000, 40, 0)
            place = write_predictions(sys.argv[1], engine, scores, np.zeros(40), np.arange(40), ids, True)
        print(json.dumps([peak_memory(), budget, len(list(place.iterdir()))]))
    """)
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "p")], capture_output=True, text=True, check=True)
    peak, budget, files = json.loads(done.stdout)
    assert peak < budget and files > 2
    assert pq.read_metadata(tmp_path / "p" / "part-00000.parquet").num_columns == 44
    assert 150_000 / files < blocks.PART_ROWS
