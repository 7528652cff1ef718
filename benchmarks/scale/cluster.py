"""The engine on a cluster: partitions and tasks, memory limits, workers that die, and a simulation for graphs of any size.

    python benchmarks/scale/cluster.py partitions            # 100,000 nodes in 4, 16 and 64 partitions: seconds and tasks
    python benchmarks/scale/cluster.py limit                 # 10 M edges, workers with less memory than the graph takes
    python benchmarks/scale/cluster.py limit --kill 20       # the same, one worker killed after 20 s
    python benchmarks/scale/cluster.py small --memory 250MB  # how soon a limit that is too small ends with a sentence
    python benchmarks/scale/cluster.py simulate --nodes 111059956 --edges 1615685872 --features 128 --threads 16 --halo 0.81

Graphs are made by `generate.py` in ``--folder``. Scheduler and two workers (one thread each) are processes of their own, as
``dask scheduler`` and ``dask worker`` start them, so the peak of this process is that of a client. Records are kept in
benchmarks/results/cluster.json.

`simulate` counts the operations that the components ask of an engine on a small graph (`Counted`): tasks and bytes of a graph of
any size follow. It compares the count for a graph of 100,000 nodes with what the scheduler counts and the workers write.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import generate
import records
from scipy import sparse

from slimg import SlimG
from slimg.components.compute import DEFAULT_COMPONENTS, compute_components, paper_components
from slimg.engine.base import PART_ROWS
from slimg.engine.dask import FEWEST_PARTS, TASKS, DaskEngine
from slimg.engine.memory import MemoryEngine
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph
from slimg.io.disk import open_graph
from slimg.linalg import krylov
from slimg.system import as_bytes

GRAPHS = {
    "small": generate.Recipe(100_000, 1_000_000, 64, 10),
    "large": generate.Recipe(1_000_000, 10_000_000, 128, 10),
}


def graph_of(name: str, folder: Path) -> Any:
    """A generated graph on disk, made on first use."""
    place = folder / name
    if not place.exists():
        subprocess.run([sys.executable, __file__, "generate", "--folder", str(folder), "--graph", name], check=True)
    return open_graph(place)


@contextmanager
def cluster(memory: str, folder: Path, workers: int = 2) -> Iterator[tuple[Any, list[int]]]:
    """A client of a scheduler and workers in processes of their own, and the ids of the workers' processes."""
    from distributed import Client

    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        file = f"{scratch}/scheduler.json"
        dask, quiet = [sys.executable, "-m", "dask"], {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        options = ["--nworkers", str(workers), "--nthreads", "1", "--memory-limit", memory, "--no-dashboard"]
        commands = [
            [*dask, "scheduler", "--port", "0", "--scheduler-file", file, "--no-dashboard", "--host", "127.0.0.1"],
            [*dask, "worker", "--scheduler-file", file, *options, "--local-directory", scratch],
        ]
        processes = [subprocess.Popen(each, **quiet) for each in commands]  # type: ignore[call-overload]
        try:
            with Client(scheduler_file=file) as client:
                client.wait_for_workers(workers, timeout=60)
                yield client, list(client.run(os.getpid).values())
        finally:
            for each in reversed(processes):
                each.terminate()
                each.wait()


def partitions(options: argparse.Namespace) -> dict[str, Any]:
    """Seconds and tasks of the default components in 4, 16 and 64 partitions."""
    graph, record = graph_of("small", options.folder), {"load average before": os.getloadavg()[0]}
    with cluster("4GB", options.folder) as (client, _):
        client.run_on_scheduler(_count_tasks)
        for count in (4, *options.counts):
            with DaskEngine(client, options.folder, partitions=count) as engine:
                before, cpu, begun = client.run_on_scheduler(_tasks), _cpu(client), time.perf_counter()
                parts = compute_components(graph, engine, components=DEFAULT_COMPONENTS)
                seconds, cpu = time.perf_counter() - begun, _cpu(client) - cpu
                tasks = client.run_on_scheduler(_tasks) - before
                found = {"seconds": round(seconds, 2), "cpu seconds of all processes": round(cpu, 2), "tasks": tasks}
                record[f"{count} partitions"] = found  # the first is the warm-up
                del parts
            print(count, record[f"{count} partitions"], flush=True)
    return {"graph": str(graph), **record}


def _cpu(client: Any) -> float:
    """Seconds of all processes together: on a busy machine they say more than the clock."""
    return time.process_time() + client.run_on_scheduler(time.process_time) + sum(client.run(time.process_time).values())


def _count_tasks(dask_scheduler: Any) -> None:
    from distributed.diagnostics.plugin import SchedulerPlugin

    class Counter(SchedulerPlugin):
        count = 0

        def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
            self.count += start == "processing" and finish == "memory"

    dask_scheduler.counter = Counter()
    dask_scheduler.add_plugin(dask_scheduler.counter)


def _tasks(dask_scheduler: Any) -> int:
    return dask_scheduler.counter.count


def limit(options: argparse.Namespace) -> dict[str, Any]:
    """A fit and its predictions on workers with less memory than the graph takes, beside the same in memory."""
    graph, listed = graph_of("large", options.folder), paper_components(rank=options.rank)
    n, entries = graph.n, int(graph.adjacency.indptr[-1])
    rng, size = np.random.default_rng(0), 8 * n + 4 * entries + 4 * n * graph.d
    chosen = rng.permutation(n)[:12_000]
    rows = {"train": chosen[:6_000], "val": chosen[6_000:]}
    record: dict[str, Any] = {"graph": str(graph), "graph bytes": size, "rank": options.rank}
    record["limit of each worker"] = as_bytes(options.memory)
    record["load average before"] = os.getloadavg()[0]
    with cluster(options.memory, options.folder) as (client, processes), DaskEngine(client, options.folder) as engine:
        peaks: dict[int, int] = {}
        threading.Thread(target=_watch, args=(client, peaks), daemon=True).start()
        if options.kill:
            threading.Timer(options.kill, os.kill, (processes[0], signal.SIGKILL)).start()
        begun, cpu = time.perf_counter(), _cpu(client)
        model = SlimG(components=listed, engine=engine, grid=[(1e-4, 1e-3)]).fit(graph, **rows)
        record["seconds of the fit"] = round(time.perf_counter() - begun, 1)
        if not options.kill:
            record["cpu seconds of the fit"] = round(_cpu(client) - cpu, 1)
        place = options.folder / f"predictions-{os.getpid()}"
        model.write_predictions(place)
        record["seconds"] = round(time.perf_counter() - begun, 1)
        record["stages"] = {name: round(value, 1) for name, value in model.seconds_.items()}
        record["peak of the client"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        record["peaks of the workers"] = sorted(peaks.values())
        record["worker killed"] = bool(options.kill) and processes[0] not in client.run(os.getpid).values()
        del model
    from pyarrow import parquet

    mine = parquet.read_table(place, columns=["id", "prediction"]).to_pandas().sort_values("id")["prediction"].to_numpy()
    begun, cpu = time.perf_counter(), time.process_time()
    other = SlimG(components=listed, grid=[(1e-4, 1e-3)]).fit(graph, **rows)
    record["seconds of the fit in memory"] = round(time.perf_counter() - begun, 1)
    record["cpu seconds of the fit in memory"] = round(time.process_time() - cpu, 1)
    shutil.rmtree(place)
    record["same predictions"] = float(np.mean(other.predict() == mine))
    record["accuracy"] = float(np.mean(mine == graph.labels))
    return record


def _watch(client: Any, peaks: dict[Any, int]) -> None:
    """The most that each worker holds, by process."""
    from slimg.system import resident

    while client.status == "running":
        for process in list(peaks) or [0]:
            peaks[process] = max(peaks.get(process, 0), resident(process) if process else 0)
        peaks.pop(0, None)
        try:
            for process in client.run(os.getpid).values():
                peaks.setdefault(process, 0)
        except Exception:  # the cluster is being closed, or a worker has just died
            pass
        time.sleep(0.5)


def small(options: argparse.Namespace) -> dict[str, Any]:
    """The sentence of a limit that is too small, and the seconds until it comes."""
    graph, told = graph_of("large", options.folder), "no error"
    with cluster(options.memory, options.folder) as (client, _):
        begun = time.perf_counter()
        try:
            with DaskEngine(client, options.folder) as engine:
                compute_components(graph, engine, components=DEFAULT_COMPONENTS)
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
        return {"limit": options.memory, "seconds": round(time.perf_counter() - begun, 1), "told": told}


class Counted(MemoryEngine):
    """The engine in memory, with a list of what the engine on a cluster would be asked: (columns read, written, scalings)."""

    def __init__(self) -> None:
        super().__init__(threads=1)
        self.rows: list[tuple[int, int]] = []
        self.passes: list[tuple[int, int]] = []

    def random(self, n: int, k: int, random_state: int) -> Any:
        self.rows.append((0, k))
        return super().random(n, k, random_state)

    def products(self, matrix: Any, row_matrix: Any, scalings: Any) -> list[Any]:
        self.passes.append((row_matrix.shape[1], len(scalings)))
        return super().products(matrix, row_matrix, scalings)

    def sketch(self, matrix: Any, k: int, random_state: int) -> Any:
        self.rows.append((1, k))
        self.passes.append((k, 1))
        return super().sketch(matrix, k, random_state)

    def combine(self, row_matrix: Any, small: Any) -> Any:
        if sparse.issparse(row_matrix):  # a dense one is counted by map_rows
            self.rows.append((row_matrix.shape[1], small.shape[1]))
        return super().combine(row_matrix, small)

    def gram(self, a: Any, b: Any = None) -> Any:
        self.rows.append((a.shape[1] + (0 if b is None else b.shape[1]), 0))
        return super().gram(a, b)

    def sum_rows(self, fn: Any, *row_matrices: Any) -> Any:
        self.rows.append((sum(each.shape[1] for each in row_matrices), 0))
        return super().sum_rows(fn, *row_matrices)

    def map_rows(self, fn: Any, *row_matrices: Any, overwrite_input: bool = False) -> Any:
        out = super().map_rows(fn, *row_matrices, overwrite_input=overwrite_input)
        self.rows.append((sum(each.shape[1] for each in row_matrices), out.shape[1]))
        return out


def task_graph(nodes: int, edges: int, features: int, threads: int, halo: float, partitions: int | None = None) -> dict[str, Any]:
    """Tasks of the default components, and bytes that they read and write, for a graph of any size.

    The operations are those of a graph of 3,000 nodes with as many features, decomposed as a large one is: their number and
    columns depend on the features and ranks alone. ``halo`` is the share of all rows that one run of partitions asks of the
    others (`sizing.py` measures it).
    """
    count = partitions or max(FEWEST_PARTS, -(-nodes // PART_ROWS))
    row_tasks, runs = min(count, TASKS * threads), min(count, threads)
    engine = Counted()
    with _sketched():
        graph = _stand_in(features)
        compute_components(graph, engine, components=DEFAULT_COMPONENTS)
    gathered = nodes * (1 + runs * halo)  # own rows of all runs, and the halo of each
    read = sum(4 * nodes * columns for columns, _ in engine.rows)
    read += sum(4 * gathered * columns + 8 * edges for columns, _ in engine.passes)
    written = sum(4 * nodes * columns for _, columns in engine.rows) + sum(4 * nodes * k * s for k, s in engine.passes)
    tasks = row_tasks * len(engine.rows) + runs * (len(engine.passes) + 1)  # and one to renumber
    return {
        "nodes": nodes, "edges": edges, "features": features, "threads": threads, "halo": halo, "partitions": count,
        "operations": len(engine.rows) + len(engine.passes) + 1, "tasks": tasks,
        "read GB": read / 1e9, "written GB": written / 1e9,
    }  # fmt: skip


@contextmanager
def _sketched() -> Iterator[None]:
    """U is decomposed as that of a large graph."""
    before, krylov.SKETCHED_BEYOND = krylov.SKETCHED_BEYOND, 0
    try:
        yield
    finally:
        krylov.SKETCHED_BEYOND = before


def _stand_in(features: int, n: int = 3_000) -> Graph:
    rng = np.random.default_rng(0)
    u, v = rng.integers(0, n, (2, 10 * n))
    return Graph(Adjacency.from_edges(u, v, n)[0], rng.standard_normal((n, features), dtype=np.float32), np.arange(n) % 3)


def simulate(options: argparse.Namespace) -> dict[str, Any]:
    """The task graph of a size, and of a small graph beside what the scheduler counted and the workers wrote."""
    sizes = options.nodes, options.edges, options.features
    pairs = zip(options.threads, options.halo, strict=True)
    record: dict[str, Any] = {"of this size": [task_graph(*sizes, threads, halo) for threads, halo in pairs]}
    graph = graph_of("small", options.folder)
    told = task_graph(graph.n, graph.edges, graph.d, 2, 0.7, 16)
    with cluster("4GB", options.folder) as (client, _), DaskEngine(client, options.folder, partitions=16) as engine, _sketched():
        client.run_on_scheduler(_count_tasks)
        before = sum(client.run(_written).values())
        compute_components(graph, engine, components=DEFAULT_COMPONENTS)
        written = sum(client.run(_written).values()) - before
        record["checked"] = {"told": told, "tasks": client.run_on_scheduler(_tasks), "written GB": written / 1e9}
    return record


def _written() -> int:
    return int(Path("/proc/self/io").read_text().split("wchar: ")[1].split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["generate", "partitions", "limit", "small", "simulate"])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "slimg-cluster")
    parser.add_argument("--graph", default="large", choices=sorted(GRAPHS))
    parser.add_argument("--counts", type=int, nargs="+", default=[4, 16, 64], help="numbers of partitions")
    parser.add_argument("--memory", default="500MB", help="memory limit of each worker")
    parser.add_argument("--rank", type=int, default=32, help="columns of each component, for limit")
    parser.add_argument("--kill", type=float, default=0, help="seconds after which a worker is killed")
    parser.add_argument("--nodes", type=int, default=111_059_956, help="for simulate: the size of ogbn-papers100M")
    parser.add_argument("--edges", type=int, default=1_615_685_872)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--threads", type=int, nargs="+", default=[4, 8, 16, 32, 64], help="threads of the simulated cluster")
    parser.add_argument("--halo", type=float, nargs="+", default=[0.75, 0.85, 0.81, 0.65, 0.45], help="halo with so many threads")
    parser.add_argument("--no-write", dest="write", action="store_false")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.what == "generate":
        generate.generate(GRAPHS[options.graph], options.folder / options.graph)
        return
    record = globals()[options.what](options)
    print(json.dumps(record, indent=1))
    if options.write:
        name = {"small": f"small, {options.memory}", "limit": "limit, one worker killed" if options.kill else "limit"}
        records.write("cluster", {**records.read("cluster"), name.get(options.what, options.what): record})


if __name__ == "__main__":
    main()
