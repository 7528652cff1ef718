"""What is particular to the engine on a cluster: lost workers, clusters that cannot be used, any number of partitions."""

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pickle import dumps

import numpy as np
import pytest

from forked import two_workers
from slimg import SlimG, __version__
from slimg.components import compute_components, paper_components
from slimg.engine import MemoryEngine, Scaling
from slimg.engine.base import FileArray
from slimg.engine.dask import NODE_BYTES, ClusterError, DaskEngine
from slimg.engine.dask_tasks import RESERVE, renumber
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def own_settings():
    """Settings of Dask that a test changes are its own."""
    with dask.config.set({"distributed.scheduler.allowed-failures": 1, "distributed.logging.distributed": "error"}):
        yield


def numbers(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k), dtype=np.float32)


def random_graph(n=3_000, edges=12_000, d=12, seed=0):
    u, v = np.random.default_rng(seed).integers(0, n, (2, edges))
    return Graph(Adjacency.from_edges(u, v, n)[0], numbers(n, d), np.arange(n) % 3)


def test_any_number_of_partitions_gives_the_same_products(cluster):
    graph = random_graph()
    row_matrix, scale = numbers(graph.n, 9), np.random.default_rng(1).random(graph.n, dtype=np.float32)
    scalings = [Scaling(scale, scale, 1.0), Scaling(None, scale)]
    expected = MemoryEngine(threads=1).products(graph.adjacency, row_matrix, scalings)
    for partitions in (1, 2, 7):
        with DaskEngine(cluster, partitions=partitions) as engine:
            outs = engine.products(graph.adjacency, engine.row_matrix(row_matrix), scalings)
            for out, truth in zip(outs, expected, strict=True):
                np.testing.assert_array_equal(engine.to_array(out), truth)


def test_a_partition_asks_for_the_rows_it_needs_and_no_others(tmp_path):
    adjacency, files = random_graph().adjacency, []
    for name in ("indptr", "indices"):
        array = getattr(adjacency, name)
        array.tofile(tmp_path / name)
        files.append(FileArray(tmp_path / name, array.dtype.str))
    part = renumber(*files, adjacency.n, 1000, 2200, (str(tmp_path / "part"), None))
    begin, end = adjacency.indptr[[1000, 2200]]
    entries = adjacency.indices[begin:end]
    outside = np.setdiff1d(entries, np.arange(1000, 2200))
    np.testing.assert_array_equal(part.outside[0 : part.halo], outside)
    columns = np.concatenate([np.arange(1000, 2200), outside])
    np.testing.assert_array_equal(columns[part.indices[begin:end]], entries)


def test_columns_that_are_gathered_a_few_at_a_time_give_the_same_products(cluster):
    graph = random_graph()
    row_matrix, scale = numbers(graph.n, 10), np.random.default_rng(1).random(graph.n, dtype=np.float32)
    scalings = [Scaling(scale, scale, 1.0), Scaling(None, scale)]
    expected = MemoryEngine(threads=1).products(graph.adjacency, row_matrix, scalings)
    with DaskEngine(cluster, partitions=5) as engine:
        engine._room = RESERVE + (NODE_BYTES + 3 * 4) * graph.n
        given = engine.map_rows(np.positive, engine.row_matrix(row_matrix))
        outs = engine.products(graph.adjacency, given, scalings)
        assert outs[0].parts[0].panel == 3
        for out, truth in zip(outs, expected, strict=True):
            np.testing.assert_array_equal(engine.to_array(out), truth)
        np.testing.assert_array_equal(engine.rows(outs[0], [2_999, 0, 0, 7]), expected[0][[2_999, 0, 0, 7]])


def test_more_partitions_are_no_more_tasks_than_they_are(cluster, monkeypatch):
    adjacency, tasks, submit = random_graph().adjacency, [], cluster.map
    monkeypatch.setattr(cluster, "map", lambda fn, *each, **options: tasks.append(len(each[0])) or submit(fn, *each, **options))
    for partitions, most in [(2, 2), (64, 4)]:
        with DaskEngine(cluster, partitions=partitions) as engine:
            (out,) = engine.products(adjacency, engine.row_matrix(numbers(3_000, 5)), [Scaling()])
            engine.gram(out)
        assert len(tasks) == 3 and max(tasks) <= most
        tasks.clear()


def test_files_that_are_no_longer_needed_are_used_again(cluster):
    with DaskEngine(cluster, partitions=3) as engine:
        row_matrix = engine.row_matrix(numbers(900, 6))
        for k in (6, 6, 2, 4, 6):
            out = engine.map_rows(partial(np.take, indices=np.arange(k), axis=1), row_matrix)
            np.testing.assert_array_equal(engine.to_array(out), numbers(900, 6)[:, :k])
        assert len(list(engine._place.glob("*.rows*"))) == 6
        engine.release_unused()
        assert len(list(engine._place.glob("*.rows*"))) == 3


def test_what_a_killed_run_left_is_removed_by_the_next(cluster, tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left, used = (tmp_path / f"slimg-dask-{socket.gethostname()}-{each}-abc" for each in (gone.pid, os.getppid()))
    elsewhere = tmp_path / f"slimg-dask-another.host-{gone.pid}-abc"
    for each in (left, used, elsewhere):
        each.mkdir()
        (each / "7-2.rows").touch()
    with DaskEngine(cluster, folder=tmp_path) as engine:
        assert not left.exists() and used.exists() and elsewhere.exists() and engine._place.parent == tmp_path
    assert sorted(tmp_path.iterdir()) == sorted([used, elsewhere])


def test_a_job_travels_once_and_not_with_every_task(cluster, monkeypatch):
    small, sent, submit = numbers(6, 6), [], cluster.map
    monkeypatch.setattr(cluster, "map", lambda *each, **options: sent.append(len(dumps(each))) or submit(*each, **options))
    with DaskEngine(cluster, partitions=16) as engine:
        engine.combine(engine.row_matrix(numbers(600, 6)), np.repeat(small, 5_000, axis=1))
        assert sent[0] < 2_000 and not list(engine._place.glob("*.job"))[1:]


def test_slimg_fits_on_a_client_and_predicts_as_in_memory(cluster):
    graph = random_graph(n=1500, edges=9000)
    settings = {"components": paper_components(rank=8)[1:], "grid": [(1e-4, 1e-3)]}  # U on a cluster: test_engines.py
    mine = SlimG(engine=cluster, **settings).fit(graph, train=np.arange(300), val=np.arange(300, 600))
    other = SlimG(**settings).fit(graph, train=np.arange(300), val=np.arange(300, 600))
    assert np.mean(mine.predict() == other.predict()) >= 0.99
    mine.components_.engine.close()


def test_a_worker_that_dies_in_the_middle_changes_nothing(monkeypatch):
    """It dies while it has the work of one third of the operations, and with what it computed before."""
    graph = random_graph(n=2_500, edges=10_000, d=6)
    results, calls = [], []
    with two_workers() as local, distributed.Client(local) as client:
        victim, submit = next(iter(client.run(os.getpid).values())), client.map

        def killing(*arguments, **options):
            futures = submit(*arguments, **options)
            calls.append(len(results))
            if results and calls.count(1) == calls.count(0) // 3:
                os.kill(victim, signal.SIGKILL)
            return futures

        monkeypatch.setattr(client, "map", killing)
        for _ in range(2):
            with DaskEngine(client, partitions=2) as engine:
                parts = compute_components(graph, engine, components=paper_components(rank=4)[1:])
                results.append({name: engine.to_array(block) for name, block in parts.blocks.items()})
                del parts
        assert victim not in client.run(os.getpid).values()
    for name, block in results[0].items():
        np.testing.assert_array_equal(results[1][name], block)


def _die(block):
    os.kill(os.getpid(), signal.SIGKILL)
    return block


def test_workers_that_always_die_are_reported():
    with two_workers() as local, distributed.Client(local) as client, DaskEngine(client, partitions=2) as engine:
        row_matrix = engine.row_matrix(numbers(100, 3))
        with pytest.raises(ClusterError, match="died 2 times"):
            engine.map_rows(_die, row_matrix)


def test_a_worker_that_cannot_import_slimg_is_named_with_the_reason():
    with two_workers() as local, distributed.Client(local) as client:
        known = [name for name in sys.modules if name.split(".")[0] == "slimg"]
        client.run(exec, f"import sys; sys.modules.update(dict.fromkeys({known!r}))")
        with pytest.raises(InputError, match=rf"worker tcp://.* slimg {__version__} .*ModuleNotFoundError.* install"):
            DaskEngine(client)


def test_a_memory_limit_that_is_too_small_for_slimg_or_for_the_graph_is_refused(cluster, monkeypatch):
    with DaskEngine(cluster) as engine:
        engine._room = RESERVE
        with pytest.raises(InputError, match=r"3,000 nodes needs .* MB .* which has 50\.3 MB .*: give .* more"):
            engine.products(random_graph().adjacency, engine.row_matrix(numbers(3_000, 2)), [Scaling()])
    limits = {name: {**each, "memory_limit": 10**8} for name, each in cluster.scheduler_info()["workers"].items()}
    monkeypatch.setattr(DaskEngine, "_workers", lambda _: limits)
    with pytest.raises(InputError, match=r"tcp://.* limit of 100 MB and holds .* MB before any work: give it at least"):
        DaskEngine(cluster)


def test_workers_that_stay_paused_are_reported(monkeypatch):
    monkeypatch.setattr("slimg.engine.dask.PATIENCE", 1)
    monkeypatch.setattr("slimg.engine.dask.POLL", 0.2)
    settings = dask.config.set({"distributed.worker.memory.pause": False})
    with settings, two_workers() as local, distributed.Client(local) as client, DaskEngine(client, partitions=2) as engine:
        row_matrix = engine.row_matrix(numbers(100, 3))
        client.run(_pause)
        with pytest.raises(ClusterError, match=r"none of 2 workers .* 2 are paused near their memory limit"):
            engine.gram(row_matrix)


def _pause(dask_worker):
    dask_worker.status = distributed.Status.paused


def _wait(block):
    time.sleep(2)
    return block


def test_a_scheduler_that_is_gone_is_reported():
    impatient = dask.config.set({"distributed.comm.timeouts.connect": "2s"})  # the workers wait for the scheduler, too
    with (
        impatient, two_workers() as local, distributed.Client(local, timeout=1) as client,
        DaskEngine(client, partitions=2) as engine,
    ):  # fmt: skip
        row_matrix = engine.row_matrix(numbers(100, 3))
        threading.Timer(0.5, local.sync, (local.scheduler.close,)).start()
        with pytest.raises(ClusterError, match=r"scheduler at tcp://.* was lost"):
            engine.map_rows(_wait, row_matrix)


def _fill_disk(block):
    raise OSError(28, "No space left on device")


def test_a_failure_on_a_worker_is_told_with_its_reason(cluster):
    with DaskEngine(cluster, partitions=2) as engine, pytest.raises(ClusterError, match="No space left on device"):
        engine.map_rows(_fill_disk, engine.row_matrix(numbers(100, 3)))


def test_a_cluster_without_workers_is_refused(monkeypatch):
    monkeypatch.setattr("slimg.engine.dask.PATIENCE", 0.2)
    local = distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0")
    told = pytest.raises(InputError, match="no workers")
    with local, distributed.Client(local) as client, told:
        DaskEngine(client)


def test_a_folder_that_workers_do_not_see_is_named(cluster, tmp_path):
    with DaskEngine(cluster, partitions=2) as engine:
        np.save(tmp_path / "gone.npy", numbers(50, 3))
        mapped = np.load(tmp_path / "gone.npy", mmap_mode="r")
        (tmp_path / "gone.npy").unlink()
        with pytest.raises(InputError, match=r"gone\.npy .* all workers share"):
            engine.gram(engine.row_matrix(mapped))


def test_a_file_that_is_cut_off_leaves_no_trace_in_the_log_of_a_worker(tmp_path, caplog):
    np.save(tmp_path / "rows.npy", numbers(50, 3))
    logger = logging.getLogger("distributed.worker")
    logger.addHandler(caplog.handler)
    local = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0")
    try:
        with local, distributed.Client(local) as client, DaskEngine(client, partitions=2) as engine:
            row_matrix = engine.row_matrix(np.load(tmp_path / "rows.npy", mmap_mode="r"))
            os.truncate(tmp_path / "rows.npy", 200)
            with pytest.raises(InputError, match=r"rows\.npy .* was cut off"):
                engine.gram(row_matrix)
    finally:
        logger.removeHandler(caplog.handler)
    assert "Traceback" not in caplog.text and "Failed" not in caplog.text


@pytest.mark.parametrize("partitions", [0, -1, 1.5, "many"])
def test_partitions_must_be_a_positive_number(partitions):
    with pytest.raises(InputError, match=f"partitions .* {partitions!r}"):
        DaskEngine(object(), partitions=partitions)
