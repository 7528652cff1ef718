"""Progress is silent unless somebody watches; text from files cannot steer the terminal."""

import io
import os
import pty
import sys

from forked import Forked
from slimg.cli import Progress, echo, printable


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_silent_unless_somebody_watches(monkeypatch):
    for watched, quiet in ((False, False), (True, True)):
        stream = Terminal() if watched else io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        progress = Progress(quiet=quiet)
        with progress.stage("reading"):
            pass
        assert stream.getvalue() == ""
        assert progress.seconds["reading"] >= 0
    assert Progress(quiet=False).shown


def test_control_characters_are_shown_not_obeyed(capsys):
    assert printable("a\x1b[31mred\nnext\u202eback") == "a�[31mred�next�back"
    assert printable("Größe ✓") == "Größe ✓"
    echo("one\x1b", "two")
    assert capsys.readouterr().out == "one�\ntwo\n"


def test_a_person_sees_the_stages_on_a_terminal(folder):
    """As in a terminal window: a pseudo-terminal is the command's error stream, standard output a file."""
    shown = in_terminal("fit", "--edges", "follows.csv", "--nodes", "users.csv", "--label", "team", "--id", "user")
    for stage in ("slimg fit", "reading", "components", "learning", "diagnosing", "explaining", "writing"):
        assert stage in shown
    last = shown.rsplit("slimg fit", 1)[1]
    assert last.count("100%") >= 6, "finished bars are full"


def test_scripts_see_no_bars(folder):
    words = ("diagnose", "--edges", "follows.csv", "--nodes", "users.csv", "--label", "team", "--id", "user")
    assert "components" in in_terminal(*words)
    assert in_terminal(*words, "--json") == ""


def in_terminal(*words):
    """What a command writes to a terminal that is its error stream."""
    ours, theirs = pty.openpty()
    process = Forked(*words, stdout="said.txt", stderr=theirs, environment={"TERM": "xterm"})
    os.close(theirs)
    shown = b""
    try:
        while received := os.read(ours, 1 << 16):
            shown += received
    except OSError:  # Linux ends a terminal whose last writer has gone with an error
        pass
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return shown.decode()
