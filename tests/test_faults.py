"""The short form of benchmarks/faults: one operation, a moment of each fault that needs no long run."""

import contextlib

import pytest

pytest.importorskip("resource")

from benchmarks.faults.suite import Suite


def test_results_are_whole_after_every_fault(tmp_path):
    suite = Suite(tmp_path, ["report"], 0)
    with contextlib.closing(suite.disk):
        suite.learn("report", runs=1)
        for fault in ("kill", "full disk", "truncated"):
            suite.disk.fill()
            suite.moment("report", fault)
        assert not suite.run("report", "terminate", 0) and suite.findings == []
