"""Estimates against real runs in processes of their own, and the choice that follows from them."""

import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from slimg import SlimG
from slimg.cli import main
from slimg.components import estimate
from slimg.components.compute import DEFAULT_COMPONENTS
from slimg.components.estimate import Sizes
from slimg.engine import rates
from slimg.engine.rates import Rates
from slimg.errors import InputError, TooLarge
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph

RATES = Rates(entry=5e-9, line=1.5e-9, single=1e-11, double=4e-11, stream=1e-10, disk=2e-9)
PRODUCTS = Sizes(2_449_029, 61_859_140, 100, 39, 122_000)


def small_graph(n=300):
    u, v = np.random.default_rng(0).integers(0, n, (2, 5 * n))
    return Graph(Adjacency.from_edges(u, v, n)[0], np.random.default_rng(1).random((n, 8)), np.arange(n) % 3)


def test_more_of_anything_never_takes_less(monkeypatch):
    monkeypatch.setattr(estimate, "resident", lambda: 200 << 20)  # what the process itself holds changes meanwhile
    base = estimate.estimate(PRODUCTS, rates=RATES).engines
    for name in ("nodes", "edges", "features", "classes", "labelled"):
        larger = Sizes(**{**vars(PRODUCTS), name: 2 * getattr(PRODUCTS, name)})
        for engine, need in estimate.estimate(larger, rates=RATES).engines.items():
            assert need.seconds >= base[engine].seconds and need.memory >= base[engine].memory, (name, engine)


def test_the_recommended_engine_follows_the_budget(monkeypatch):
    monkeypatch.setattr(estimate, "available_memory", lambda: 24 << 30)
    assert estimate.estimate(PRODUCTS, rates=RATES).recommended == "memory"
    assert estimate.estimate(PRODUCTS, memory=3 * 10**9, rates=RATES).recommended == "mapped"
    told = estimate.estimate(PRODUCTS, memory=10**8, rates=RATES)
    assert told.recommended == "dask" and "does not fit into 100 MB" in told.reason
    assert "recommended: dask" in str(told) and json.loads(json.dumps(told.as_dict()))["recommended"] == "dask"


def test_memory_of_a_real_run_is_within_half_as_much_again(tmp_path):
    program = textwrap.dedent("""
        from pathlib import Path
        import numpy as np
        from slimg.components.estimate import Sizes, estimate
        from slimg.engine.memory import MemoryEngine
        from slimg.engine.rates import Rates
        from slimg.graph.adjacency import Adjacency
        from slimg.graph.graph import Graph
        from slimg.components.compute import compute_components
        n = 50_000
        u, v = np.random.default_rng(0).integers(0, n, (2, 4 * n), dtype=np.int32)
        graph = Graph(Adjacency.from_edges(u, v, n)[0], np.random.default_rng(1).random((n, 96), np.float32))
        del u, v
        held = 4 * (graph.n * graph.d + graph.adjacency.nnz)  # counted twice otherwise
        rates = Rates(*6 * [1e-9])
        need = estimate(Sizes.of(graph), rates=rates).engines["memory"].memory - held
        compute_components(graph, MemoryEngine())
        status = Path("/proc/self/status").read_text().splitlines()  # getrusage would count the parent's peak as well
        print(need, 1024 * int(next(line for line in status if line.startswith("VmHWM")).split()[1]))
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    told, peak = map(int, done.stdout.split())
    assert 1 / 1.5 < told / peak < 1.5, (told, peak)


def test_a_fit_for_which_memory_does_not_suffice_is_refused(monkeypatch):
    graph = small_graph()
    monkeypatch.setattr(estimate, "available_memory", lambda: 20_000)
    monkeypatch.setattr("slimg.classifier.SMALL", graph.edges + 8 * 300)
    with pytest.raises(TooLarge, match=r"300 nodes with 8 features .* takes about .* 20 kB are available .* engine mapped"):
        SlimG().fit(graph)


def test_directions_of_a_wide_matrix_count():
    """240 nodes and 100,000 features took 0.77 GB beside the process and X, eight times X (240 directions, 28 bytes each)."""
    wide = Sizes(240, 1200, 100_000, 4, 60)
    found = estimate._beside_graph(wide, estimate._costs(wide, DEFAULT_COMPONENTS))
    assert 0.6e9 < found < 1e9


def test_the_command(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(rates, "measure", lambda folder=None: RATES)
    assert main(["estimate", "--nodes", "2.4M", "--edges", "62M", "--features", "100", "--memory", "3GB"]) == 0
    assert "recommended: mapped" in capsys.readouterr().out
    assert main(["estimate", "--nodes", "120k", "--edges", "1_000_000", "--json"]) == 0
    sizes = json.loads(capsys.readouterr().out)["sizes"]
    assert (sizes["nodes"], sizes["edges"], sizes["features"]) == (120_000, 1_000_000, 0)
    for wrong, message in (
        (["--nodes", "many", "--edges", "3"], "--nodes must be a number such as 120k"),
        (["--nodes", "5"], "needs --nodes and --edges"),
        ([str(tmp_path)], "is no folder of a graph"),
        (["--nodes", "5", "--edges", "3", "--memory", "x"], "memory must be a size"),
    ):
        assert main(["estimate", *wrong]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [{"nodes": 0}, {"edges": -1}, {"features": 1.5}, {"classes": "two"}])
def test_sizes_must_be_whole_numbers(wrong):
    with pytest.raises(InputError, match=f"estimate: {next(iter(wrong))} must be a whole number"):
        Sizes(**{"nodes": 10, "edges": 20, "features": 3, **wrong})
