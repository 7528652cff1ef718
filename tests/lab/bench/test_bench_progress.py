"""Progress: the time left, and silence where there is no terminal."""

import io
import sys
import time

import pytest

from slimg.lab.bench.cell import Cell
from slimg.lab.bench.progress import duration, outcome, shown
from slimg.lab.bench.run import Progress

CELL = Cell({"name": "cora"}, (0.1, 0.1, 0.8), {"kind": "lr"}, 0)


def test_the_time_left_follows_the_pace():
    progress = Progress(10, begun=time.monotonic() - 6)
    assert progress.seconds_left is None
    progress.done = 3
    assert progress.seconds_left == pytest.approx(14, abs=0.5)


@pytest.mark.parametrize("seconds, text", [(5, "0:05"), (65.4, "1:05"), (7210, "2:00:10")])
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_outcomes():
    assert outcome({"status": "ok", "accuracy": 0.815}) == "81.5 %" and outcome({"status": "oom"}) == "oom"


def test_nothing_is_shown_where_there_is_no_terminal(capsys):
    with shown() as told:
        assert told is None
    assert capsys.readouterr() == ("", "")


def test_a_terminal_sees_cells_counts_and_the_time_left(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with shown() as told:
        told(CELL, {"status": "ok", "accuracy": 0.5}, Progress(4, done=2, begun=time.monotonic() - 60))
    assert "cora lr 50.0 %" in terminal.getvalue() and "2/4" in terminal.getvalue() and "1:00 left" in terminal.getvalue()
