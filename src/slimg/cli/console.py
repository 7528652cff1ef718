"""What a command prints: lines for a person, and progress bars on the error stream of a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from slimg.progress import progress_for


class Progress:
    """Stages of a command, timed and shown as bars; a model can report to it (`slimg.progress.Progress`)."""

    shown: bool

    def __init__(self, quiet: bool = False):
        self.seconds: dict[str, float] = {}
        self.shown = not quiet and sys.stderr.isatty()
        self._bars = progress_for(self.shown)

    @contextmanager
    def whole(self, command: str, stages: int) -> Iterator[None]:
        """The whole command: a bar above those of its stages, each of which advances it by one."""
        with self._bars.stage(f"slimg {command}", stages):
            yield

    @contextmanager
    def stage(self, name: str, total: float | None = None) -> Iterator[None]:
        begun = time.perf_counter()
        with self._bars.stage(name, total):
            yield
        self.seconds[name] = time.perf_counter() - begun
        self._bars.advance(1)

    def advance(self, amount: float) -> None:
        self._bars.advance(amount)


def echo(*lines: str) -> None:
    """Print lines for a person; characters from a file that would steer the terminal are replaced."""
    print("\n".join(printable(line) for line in lines), flush=True)


def printable(text: object) -> str:
    """Text without control characters.

    Returns
    -------
    str
        With � for each character that cannot be printed.
    """
    return "".join(character if character.isprintable() else "�" for character in str(text))
