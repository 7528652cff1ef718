"""Rates of this machine: what is derived from the measured seconds, and a real measurement of small sizes."""

import numpy as np
import pytest

from slimg.engine import rates
from slimg.engine.rates import Rates, measure


@pytest.fixture
def small_sizes(monkeypatch):
    for name, size in (("NODES", 2_000), ("ENTRIES", 20_000), ("FILE_BYTES", 1 << 16)):
        monkeypatch.setattr(rates, name, size)


def scripted(monkeypatch, *seconds):
    """Measurements that take so many seconds, in the order 16 columns, 64 columns, combine, gram, sum."""
    left = list(seconds)
    monkeypatch.setattr(rates, "_best", lambda run: left.pop(0))


def test_rates_give_back_the_measured_seconds(small_sizes, monkeypatch):
    scripted(monkeypatch, 0.5, 1.1, 0.3, 0.7, 0.2)
    found = measure()
    assert found.product(20_000, 16) == pytest.approx(0.5) and found.product(20_000, 64) == pytest.approx(1.1)
    assert found.single * 2_000 * 64**2 == pytest.approx(0.3) and found.double * 2_000 * 64**2 == pytest.approx(0.7)
    assert found.stream * 2_000 * 64 * 4 == pytest.approx(0.2)


def test_rates_stay_positive_when_the_wider_pass_happens_to_be_faster(small_sizes, monkeypatch):
    scripted(monkeypatch, 0.5, 0.4, 0.3, 0.7, 0.2)
    found = measure()
    assert found.line > 0 and found.entry > 0 and found.product(20_000, 16) == pytest.approx(0.5)


def test_a_real_measurement_is_of_the_sizes_given(small_sizes, monkeypatch, tmp_path):
    passes = []
    products = rates.MemoryEngine.products

    def watched(engine, matrix, row_matrix, scalings):
        passes.append((len(matrix.indptr) - 1, len(matrix.indices), row_matrix.shape[1]))
        return products(engine, matrix, row_matrix, scalings)

    monkeypatch.setattr(rates.MemoryEngine, "products", watched)
    found = measure(tmp_path)
    assert set(passes) == {(2_000, 20_000, 16), (2_000, 20_000, 64)}
    assert all(np.isfinite(value) and 0 < value < 1e-3 for value in vars(found).values())
    assert not list(tmp_path.iterdir()), "the file of the measurement is removed"


def test_a_pass_is_paid_by_entries_and_cache_lines():
    found = Rates(entry=2.0, line=1.0, single=0, double=0, stream=0, disk=0)
    assert found.product(10, 16) == 10 * (2 + 1) and found.product(10, 17) == 10 * (2 + 2)
