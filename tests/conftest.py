"""Where the real graphs are, and how to load one; which tests are slow; what was skipped for want of data."""

import functools
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("slimg", deadline=None)  # a busy machine is no failure
settings.load_profile("slimg")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background jobs ignore it, and so would all child processes
    signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
SLOW = (
    *("examples", "lab", "engine/test_dask.py", "engine/test_mapped.py"),
    *("engine/test_propagators_on_engines.py", "engine/test_compiled.py", "cli/test_fit_formats.py", "report/test_page.py"),
    *("report/test_open_page.py", "test_guides.py", "test_reproducible.py", "test_types.py"),
    *("test_without_posix.py", "test_without_torch.py"),
)
"""Folders and files whose tests are marked ``slow``, as are all tests on real graphs; ``make check`` leaves them out."""
LONGEST = (
    *("engine/test_dask.py", "lab/bench/test_bench_command.py", "test_guides.py", "lab/baselines/test_baselines_registry.py"),
    *("cli/test_fit_engines.py", "engine/test_propagators_on_engines.py", "lab/bench/test_bench_run.py", "cli/test_results.py"),
    *("explain/test_rare.py", "test_reproducible.py", "test_types.py", "explain/test_diagnosis.py", "io/test_database_schema.py"),
    *("report/test_page.py", "io/test_guards.py", "cli/test_fit.py", "learn/test_solver.py", "engine/test_engines.py"),
    *("inference/test_predictions.py", "cli/test_last_resorts.py", "test_house.py", "cli/test_fit_formats.py"),
    *("engine/test_compiled.py", "engine/test_leaks.py", "examples/test_readme.py", "examples/test_debian_run.py"),
    *("report/test_open_page.py", "engine/test_mapped.py", "test_faults.py", "lab/bench/test_bench_environment.py"),
    *("explain/test_explainer.py", "explain/test_leave_one_out.py", "test_without_posix.py", "test_without_torch.py"),
    *("components/test_compute.py", "engine/test_kernels.py", "test_classifier.py", "lab/gnnexp/test_functions.py"),
    *("lab/gnnexp/test_layers.py", "lab/datasets/test_planetoid.py", "cli/test_fit_relations.py", "learn/test_path.py"),
)
"""Files that take longest, as measured: they begin first, so that all workers end together (``--no-loadscope-reorder``)."""
NO_DATA = "no folder "
"""Beginning of the reason for which a test on a real graph is skipped: ``no folder cora in …``."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.relative_to(TESTS).as_posix(), len(order)))
    for item in items:
        path = item.path.relative_to(TESTS).as_posix()
        if path.startswith(SLOW) or "load_real" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly which tests did not run for want of the real graphs."""
    skipped = [each for each in terminalreporter.stats.get("skipped", []) if NO_DATA in str(each.longrepr)]
    if skipped:
        terminalreporter.section("REAL GRAPHS ARE MISSING", sep="!", red=True)
        terminalreporter.line(f"{len(skipped):,} tests on real graphs were skipped, because the graphs are not there.")
        terminalreporter.line("Run `slimg datasets get cora citeseer …`, or set SLIMG_DATA to a folder that holds them.")


@pytest.fixture(scope="session")
def cluster():
    """A client of two workers in processes of their own."""
    distributed = pytest.importorskip("distributed")
    from forked import two_workers

    with two_workers() as local, distributed.Client(local) as client:
        yield client


@pytest.fixture
def quick_page(monkeypatch):
    """No charts, few trees and a machine of known rates, each tested elsewhere: they take half of a small fit."""
    from forked import without_charts
    from slimg.engine.rates import Rates

    without_charts(monkeypatch.setattr)
    monkeypatch.setattr("slimg.engine.rates.measure", lambda folder=None: Rates(5e-9, 1.5e-9, 1e-11, 4e-11, 1e-10, 2e-9))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real graphs: $SLIMG_DATA, else shared/data beside the project."""
    return Path(os.environ.get("SLIMG_DATA") or ROOT.parent / "shared" / "data").resolve()


@pytest.fixture(scope="session")
def load_real(data_dir):
    """``load_real(name)``: a real graph, loaded once; skips the test if the data folder does not hold it."""

    @functools.cache
    def load(name: str):
        from slimg.lab import datasets

        folder = datasets.info(name).folder
        if not (data_dir / folder).is_dir():
            pytest.skip(f"{NO_DATA}{folder} in {data_dir}")
        return datasets.load(name, root=data_dir)

    return load
