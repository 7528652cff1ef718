"""Which engine a name stands for, and that a disk without room is refused before anything is computed."""

import re

import numpy as np
import pytest

from slimg import SlimG, system
from slimg.components import paper_components
from slimg.components.estimate import choose_engine
from slimg.engine import MemoryEngine, rates
from slimg.engine.mapped import MappedEngine
from slimg.engine.rates import Rates
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph

RATES = Rates(entry=5e-9, line=1.5e-9, single=1e-11, double=4e-11, stream=1e-10, disk=2e-9)


def small_graph(n=300):
    u, v = np.random.default_rng(0).integers(0, n, (2, 5 * n))
    return Graph(Adjacency.from_edges(u, v, n)[0], np.random.default_rng(1).random((n, 8)), np.arange(n) % 3)


def test_engines_by_name(monkeypatch):
    graph = small_graph()
    assert isinstance(choose_engine("memory", graph), MemoryEngine)
    mapped = choose_engine("mapped", graph, "700MB")
    assert isinstance(mapped, MappedEngine) and mapped.budget == 700 * 10**6
    own = MemoryEngine(threads=1)
    assert choose_engine(own, graph) is own
    monkeypatch.setattr(rates, "measure", lambda folder=None: RATES)
    assert isinstance(choose_engine("auto", graph), MemoryEngine)
    with pytest.raises(InputError, match="memory must be a size"):
        SlimG(engine="auto", memory="lots").fit(graph)


@pytest.mark.parametrize("engine", ["gpu", "reordered", 42, None, MemoryEngine, ["memory"]])
def test_what_is_no_engine_is_refused_with_the_choices(engine):
    for refused in (lambda: choose_engine(engine, small_graph()), lambda: SlimG(engine=engine).fit(small_graph())):
        with pytest.raises(InputError, match=f"engine {re.escape(repr(engine))}.*auto, dask, mapped, memory"):
            refused()


def test_a_disk_without_room_for_the_whole_fit_is_refused_before_it_begins(tmp_path, monkeypatch):
    graph, told = small_graph(n=100_000), r"fitting this graph needs [\d.]+ MB of disk in .*slimg-work, which has 90 MB free"
    monkeypatch.setattr(system.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 90 * 10**6})())
    monkeypatch.setattr(MappedEngine, "map_rows", None)  # nothing is computed
    with pytest.raises(InputError, match=told):
        SlimG(engine=MappedEngine("8GB", tmp_path), components=paper_components(rank=4)).fit(graph)


def test_files_of_a_killed_run_count_as_room(tmp_path, monkeypatch):
    with pytest.raises(ZeroDivisionError), MappedEngine("8GB", tmp_path) as engine:
        kept = engine.random(10_000, 100, 0)
        raise ZeroDivisionError
    del kept
    monkeypatch.setattr(system.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 70 * 10**6})())
    engine = MappedEngine("8GB", tmp_path)
    engine.require_room(5 * 10**6)
    with pytest.raises(InputError, match="needs 3 MB of disk"):
        engine.require_room(7 * 10**6)


@pytest.mark.parametrize("engine", ["mapped", "auto"])
def test_slimg_on_other_engines_predicts_the_same(engine, monkeypatch):
    monkeypatch.setattr(rates, "measure", lambda folder=None: RATES)
    graph = small_graph()
    expected = SlimG(grid=[(1e-4, 1e-3)]).fit(graph).predict_proba()
    model = SlimG(engine=engine, memory="8GB", grid=[(1e-4, 1e-3)]).fit(graph)
    np.testing.assert_array_equal(model.predict_proba(), expected)
    assert "recommended" in str(model.estimate(graph))
