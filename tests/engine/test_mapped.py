"""What is particular to the engine of files: its budget, its work files, and going on after a kill."""

import copy
import json
import os
import pickle
import signal
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from forked import Forked
from slimg import system
from slimg.components import compute_components, paper_components
from slimg.engine import MemoryEngine, Scaling
from slimg.engine.mapped import MappedEngine
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph

RUN = textwrap.dedent("""
    import hashlib, json, sys
    import numpy as np
    from slimg.lab.bench.store import peak_memory
    from slimg.engine.mapped import MappedEngine
    from slimg.io.disk import open_graph
    from slimg.components import EnergyRank, compute_components, paper_components

    graph = open_graph(sys.argv[1])
    before = peak_memory()
    budget = before + int(sys.argv[2])
    with MappedEngine(budget, folder=sys.argv[3], threads=1) as engine:
        parts = compute_components(graph, engine, components=paper_components(rank=EnergyRank(max_rank=12)))
        digests = [hashlib.md5(engine.to_array(block).tobytes()).hexdigest() for block in parts.blocks.values()]
    peak = peak_memory()
    print(json.dumps({"digests": digests, "peak": peak, "budget": budget, "before": before}))
""")


def numbers(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k), dtype=np.float32)


def random_graph(n=2_000, edges=8_000, d=12, seed=0):
    u, v = np.random.default_rng(seed).integers(0, n, (2, edges))
    return Graph(Adjacency.from_edges(u, v, n)[0], numbers(n, d))


@pytest.fixture(scope="module")
def graph_folder(tmp_path_factory):
    """20,000 nodes with 64 features on disk: 5 MB each row matrix."""
    from slimg.io.disk import build

    folder = tmp_path_factory.mktemp("graph")
    np.save(folder / "edges.npy", np.random.default_rng(0).integers(0, 20_000, (100_000, 2), dtype=np.int32))
    np.save(folder / "features.npy", numbers(20_000, 64))
    build(folder / "graph", folder / "edges.npy", features=folder / "features.npy", memory="16MB")
    return folder / "graph"


def run(graph_folder, work, extra=192 << 20):
    (graph_folder.parent / "run.py").write_text(RUN)
    return Forked(graph_folder, extra, work, script=graph_folder.parent / "run.py", stdout=f"{work}.json")


def record_of(process, work):
    assert process.wait(300) == 0
    return json.loads(Path(f"{work}.json").read_text())


def test_the_budget_is_kept_and_a_killed_run_goes_on_to_the_same_bits(graph_folder, tmp_path):
    whole = run(graph_folder, tmp_path / "whole")
    record = record_of(whole, tmp_path / "whole")
    assert record["peak"] < record["budget"]
    assert not (tmp_path / "whole" / "slimg-work").exists()
    journal = tmp_path / "killed" / "slimg-work" / "journal.jsonl"
    lines = 0
    for wanted in (5, 40):
        process = run(graph_folder, tmp_path / "killed")
        while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < wanted):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        done = journal.read_bytes().count(b"\n")
        assert done >= max(wanted, lines)  # it went on, it did not begin anew
        lines = done
    last = run(graph_folder, tmp_path / "killed")
    assert record_of(last, tmp_path / "killed")["digests"] == record["digests"]
    assert not (tmp_path / "killed" / "slimg-work").exists()


def test_gathered_columns_fit_the_budget(monkeypatch):
    monkeypatch.setattr("slimg.engine.mapped.resident", lambda: 100 << 20)
    engine = MappedEngine("400MB", threads=1)
    free = 400_000_000 - (100 << 20) - (48 << 20) - 4 * (2 * (1 << 20) + 3 * (1 << 14) * 64)
    columns = free // (4 * 1_000_000)
    slices = engine._slices(1_000_000, 100)
    assert slices[0][0] == 0 and slices[-1][1] == 100
    assert max(stop - start for start, stop in slices) <= columns
    assert len(slices) == -(-100 // columns)
    assert engine._slices(1_000, 100) == [(0, 100)]


def test_a_budget_that_is_too_small_is_told_its_minimum(monkeypatch):
    monkeypatch.setattr("slimg.engine.mapped.resident", lambda: 150 << 20)
    rows = Adjacency.from_edges(np.array([0]), np.array([1]), 50_000)[0]
    with pytest.raises(
        InputError, match=r"memory='100MB' is too small for one column of 50,000 nodes .* at least ([\d.]+) MB"
    ) as told:
        engine = MappedEngine("100MB")
        engine.products(rows, engine.row_matrix(numbers(50_000, 4)), [Scaling()])
    least = float(str(told.value).rsplit("at least ", 1)[1].split()[0])
    enough = MappedEngine(f"{least}MB")
    (out,) = enough.products(rows, enough.row_matrix(numbers(50_000, 4)), [Scaling()])
    assert out.shape == (50_000, 4)


@pytest.mark.parametrize("memory", ["much", "4 XB", 0, -1, 1.5, None, True, "GB"])
def test_memory_must_be_a_size(memory):
    with pytest.raises(InputError, match="memory must be a size such as"):
        MappedEngine(memory)


def test_room_on_the_disk_is_checked_first(tmp_path, monkeypatch):
    engine = MappedEngine("8GB", folder=tmp_path)
    monkeypatch.setattr(system.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 70 << 20})())
    with pytest.raises(InputError, match=r"needs 16 MB of disk in .*slimg-work, which has 73\.4 MB free"):
        engine.random(40_000, 100, 0)
    assert not list((tmp_path / "slimg-work").glob("*.rows"))


def test_a_work_folder_of_another_graph_is_refused(tmp_path):
    first = MappedEngine("8GB", folder=tmp_path)
    compute_components(random_graph(), first)
    first._work.keep = True
    first.close()
    with pytest.raises(InputError, match="belongs to another graph or other settings"):
        compute_components(random_graph(seed=1), MappedEngine("8GB", folder=tmp_path))


def test_other_settings_are_refused_too(tmp_path):
    with pytest.raises(ZeroDivisionError), MappedEngine("8GB", folder=tmp_path) as engine:
        compute_components(random_graph(), engine, components=paper_components(rank=8))
        raise ZeroDivisionError
    with (
        pytest.raises(InputError, match="belongs to another graph or other settings"),
        MappedEngine("8GB", folder=tmp_path) as engine,
    ):
        compute_components(random_graph(), engine, components=paper_components(rank=8), random_state=1)


def test_a_work_folder_in_use_or_of_another_version_is_refused(tmp_path):
    engine = MappedEngine("8GB", folder=tmp_path)
    with pytest.raises(InputError, match="in use by another run"):
        MappedEngine("8GB", folder=tmp_path)
    engine._work.keep = True
    engine.close()
    journal = tmp_path / "slimg-work" / "journal.jsonl"
    journal.write_text('{"slimg": "0.0.0"}\n')
    with pytest.raises(InputError, match=r"begun by slimg 0\.0\.0"):
        MappedEngine("8GB", folder=tmp_path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        MappedEngine("8GB", folder=tmp_path / "file")


def test_an_interrupted_run_keeps_its_files_and_goes_on(tmp_path):
    graph = random_graph()
    with MappedEngine("8GB", folder=tmp_path / "whole") as engine:
        parts = compute_components(graph, engine)
        expected = {name: engine.to_array(block) for name, block in parts.blocks.items()}

    class Interrupted(MappedEngine):
        count = 0

        def gram(self, *row_matrices):
            Interrupted.count += 1
            if Interrupted.count == 3:
                raise KeyboardInterrupt
            return super().gram(*row_matrices)

    with pytest.raises(KeyboardInterrupt), Interrupted("8GB", folder=tmp_path / "work") as engine:
        compute_components(graph, engine)
    assert (tmp_path / "work" / "slimg-work" / "journal.jsonl").exists()
    with MappedEngine("8GB", folder=tmp_path / "work") as engine:
        parts = compute_components(graph, engine)
        for name, block in parts.blocks.items():
            np.testing.assert_array_equal(engine.to_array(block), expected[name])
    assert not (tmp_path / "work" / "slimg-work").exists()


def test_work_files_are_removed_with_their_row_matrices_and_with_the_engine():
    engine = MappedEngine("8GB")
    place = engine._work.path
    row_matrices = [engine.random(100, 5, seed) for seed in range(4)]
    assert len(list(place.iterdir())) == 4
    del row_matrices
    engine.random(100, 5, 9)
    assert len(list(place.iterdir())) == 1
    del engine
    assert not place.exists()


def test_sparse_features_and_small_graphs_have_the_same_bits_as_in_memory():
    n = 400
    u, v = np.random.default_rng(0).integers(0, n, (2, 1500))
    features = sp.random(n, 50, 0.1, format="csr", dtype=np.float32, random_state=0)
    graph = Graph(Adjacency.from_edges(u, v, n)[0], features)
    engine = MappedEngine("8GB")
    mine, expected = compute_components(graph, engine), compute_components(graph, MemoryEngine())
    for name, block in expected.blocks.items():
        np.testing.assert_array_equal(engine.to_array(mine.blocks[name]), block)


def test_an_engine_can_be_copied_and_pickled(tmp_path):
    engine = MappedEngine("8GB", threads=2)
    assert copy.deepcopy(engine).memory == "8GB"
    assert pickle.loads(pickle.dumps(engine)).threads == 2


def test_a_file_that_was_cut_off_is_named(tmp_path):
    engine = MappedEngine("8GB")
    row_matrix = engine.random(1000, 8, 0)
    os.truncate(row_matrix.path, 100)
    with pytest.raises(InputError, match="it was cut off"):
        engine.gram(row_matrix)
    assert isinstance(row_matrix.path, Path)
