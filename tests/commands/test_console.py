"""Progress is silent unless somebody watches; text from files cannot steer the terminal."""

import io
import sys

from slimg.commands.console import Progress, plain


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


def test_control_characters_are_shown_not_obeyed():
    assert plain("a\x1b[31mred\nnext\u202eback") == "a�[31mred�next�back"
    assert plain("Größe ✓") == "Größe ✓"
