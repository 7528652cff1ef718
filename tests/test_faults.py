"""The short form of benchmarks/faults: one operation, a moment of each fault that needs no long run."""

import contextlib
import itertools

import pytest

pytest.importorskip("resource")

from benchmarks.faults import suite as faults
from forked import Forked


class Suite(faults.Suite):
    """The operations in forked processes."""

    numbers = itertools.count()

    def process(self, words, limits, environment):
        told = self.temporary.parent / f"told-{next(self.numbers)}.txt"
        pairs = [(kind, (size, size)) for kind, size in limits.items()]
        return Process(*words, script=faults.__file__, stderr=told, limits=pairs, environment=environment)


class Process(Forked):
    def __init__(self, *words, stderr, **options):
        super().__init__(*words, stderr=stderr, **options)
        self.told = stderr

    def communicate(self, timeout):
        self.wait(timeout)
        return None, self.told.read_bytes()


def test_results_are_whole_after_every_fault(tmp_path):
    suite = Suite(tmp_path, ["report"], 0)
    with contextlib.closing(suite.disk):
        suite.learn("report", runs=1)
        for fault in ("kill", "full disk", "truncated"):
            suite.disk.fill()
            suite.moment("report", fault)
        assert not suite.run("report", "terminate", 0) and suite.findings == []
