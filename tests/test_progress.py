"""Progress: what engines report, what is shown to whom, and that nothing is shown unless asked for."""

import io
import os
import pty
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from rich.console import Console

from forked import Forked
from slimg import SlimG
from slimg.engine import MemoryEngine, Scaling
from slimg.engine.mapped import MappedEngine
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph
from slimg.io.disk import build
from slimg.progress import SILENT, Bars, progress_for, reporting


class Recorded:
    """Stages in order, with their totals and what was done in each."""

    def __init__(self):
        self.stages, self._lock = [], threading.Lock()

    @contextmanager
    def stage(self, name, total=None):
        self.stages.append([name, total, 0.0])
        yield

    def advance(self, amount):
        with self._lock:
            self.stages[-1][2] += amount


def random_graph(n=2_000, edges=9_000, d=8, seed=0):
    u, v = np.random.default_rng(seed).integers(0, n, (2, edges))
    x = np.random.default_rng(1).standard_normal((n, d), dtype=np.float32)
    return Graph(Adjacency.from_edges(u, v, n)[0], x, np.arange(n) % 3)


@pytest.mark.parametrize(
    "make", [lambda _: MemoryEngine(2), lambda _: MappedEngine("8GB"), lambda f: MappedEngine("8GB", f)]
)
def test_a_pass_of_k_columns_is_worth_k(make, tmp_path):
    graph, engine, told = random_graph(n=60_000, edges=300_000), make(tmp_path), Recorded()
    with reporting(engine, told), told.stage("hops"):
        engine.products(graph.adjacency, engine.row_matrix(graph.features), [Scaling(), Scaling(loop=1.0)])
        assert told.stages[0][2] == pytest.approx(8)
        engine.products(graph.adjacency, engine.random(graph.n, 3, 0), [Scaling()])
    assert told.stages[0][2] == pytest.approx(11)
    assert engine.progress is SILENT


def test_a_pass_that_a_killed_run_finished_counts_too(tmp_path):
    graph, told = random_graph(), Recorded()
    for expected in (5, 10):
        with pytest.raises(ZeroDivisionError), MappedEngine("8GB", tmp_path) as engine, reporting(engine, told):
            with told.stage("hops") if expected == 5 else told.stage("again"):
                engine.products(graph.adjacency, engine.random(graph.n, 5, 0), [Scaling()])
            raise ZeroDivisionError
    assert [stage[2] for stage in told.stages] == [pytest.approx(5), pytest.approx(5)]


def test_a_cluster_reports_its_passes(tmp_path):
    from distributed import Client, LocalCluster

    from slimg.engine.dask import DaskEngine

    graph, told = random_graph(), Recorded()
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as local,
        Client(local) as client,
        DaskEngine(client, tmp_path, partitions=3) as engine,
        reporting(engine, told),
        told.stage("hops"),
    ):
        (out,) = engine.products(graph.adjacency, engine.row_matrix(graph.features), [Scaling()])
        engine.to_array(out)
        deadline = time.monotonic() + 10
        while told.stages[0][2] < 7.99 and time.monotonic() < deadline:
            time.sleep(0.01)  # callbacks come from a thread of their own
    assert told.stages[0][2] == pytest.approx(8)


def test_a_fit_reports_its_stages():
    told = Recorded()
    SlimG(grid=[(1e-3, 1e-3)], verbose=told).fit(random_graph(), train=np.arange(300), val=np.arange(300, 600))
    assert [stage[0] for stage in told.stages] == ["components", "learning"]
    assert told.stages[0][1] > 0 and told.stages[0][2] > 0


def test_building_a_graph_on_disk_reports_all_of_it(tmp_path):
    edges, told = np.random.default_rng(0).integers(0, 500, (3_000, 2)), Recorded()
    np.save(tmp_path / "edges.npy", edges)
    build(tmp_path / "graph", tmp_path / "edges.npy", nodes=500, verbose=told, memory="8MB")
    assert [stage[0] for stage in told.stages] == ["counting edges", "sorting edges", "merging edges"]
    for _, total, done in told.stages[1:]:
        assert done == total > 0


def test_bars_tell_stage_share_and_time_left():
    out = io.StringIO()
    bars = Bars(Console(file=out, force_terminal=True, width=100, color_system=None))
    with bars.stage("components", total=4):
        bars.advance(1)
        bars._bars.refresh()
        with bars.stage("inside"):
            pass
    text = out.getvalue()
    assert "components" in text and "25%" in text and "inside" in text
    assert "100%" in text.rsplit("components", 1)[1]


def test_bars_end_with_an_error_and_do_not_claim_to_be_full():
    out = io.StringIO()
    bars = Bars(Console(file=out, force_terminal=True, width=100, color_system=None))
    with pytest.raises(KeyboardInterrupt), bars.stage("components", total=4):
        bars.advance(1)
        raise KeyboardInterrupt
    assert "100%" not in out.getvalue() and not bars._bars.live.is_started


@pytest.mark.parametrize("asked", [False, None, True])
def test_nothing_is_shown_where_nobody_watches(asked, capsys):
    assert progress_for(asked) is SILENT
    with progress_for(asked).stage("quiet", 3):
        progress_for(asked).advance(1)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("asked", ["yes", 1, object()])
def test_what_cannot_be_reported_to_is_refused(asked):
    with pytest.raises(InputError, match="verbose must be True, False, or have the methods stage and advance"):
        SlimG(verbose=asked).fit(random_graph())


FIT = textwrap.dedent("""
    import numpy as np
    from slimg import Graph, SlimG
    from slimg.graph.adjacency import Adjacency
    u, v = np.random.default_rng(0).integers(0, 200, (2, 900))
    graph = Graph(Adjacency.from_edges(u, v, 200)[0], np.random.default_rng(1).random((200, 8)), np.arange(200) % 3)
    SlimG(grid=[(1e-3, 1e-3)], verbose={verbose}).fit(graph)
    print("done")
""")


@pytest.mark.parametrize("verbose", [True, False])
def test_on_a_terminal_bars_are_shown_to_those_who_ask(verbose, tmp_path):
    """On the error stream; standard output has what the program printed, and nothing else."""
    here, there = pty.openpty()
    (tmp_path / "fit.py").write_text(FIT.format(verbose=verbose))
    said = tmp_path / "said.txt"
    process = Forked(script=tmp_path / "fit.py", stderr=there, stdout=said, environment={"TERM": "xterm"})
    os.close(there)
    shown = b""
    while True:
        try:
            piece = os.read(here, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(here)
    assert process.wait(60) == 0 and said.read_text() == "done\n"
    assert (b"components" in shown and b"learning" in shown) == verbose
    assert verbose or shown == b""


def test_interrupting_leaves_no_half_written_file(tmp_path):
    """Ctrl-C while edges are sorted: neither the folder nor its draft is there."""
    np.save(tmp_path / "edges.npy", np.random.default_rng(0).integers(0, 1000, (2_000_000, 2)))
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # a shell's background jobs ignore it
    program = f"{heed}; from slimg.io.disk import build; print(flush=True); build('graph', 'edges.npy', nodes=1000)"
    process = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    while not (tmp_path / "graph.part").exists() and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in process.communicate()[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.npy"]
