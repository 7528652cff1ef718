"""What a command says while it works: bars on the error stream, and only to a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from slimg.progress import progress_for


class Progress:
    """Stages of a command, timed, and shown as bars; a `slimg.progress.Progress`, so that a model can report to it."""

    def __init__(self, quiet: bool = False):
        self.seconds: dict[str, float] = {}
        self.shown = not quiet and sys.stderr.isatty()
        self._bars = progress_for(self.shown)

    @contextmanager
    def whole(self, command: str, stages: int) -> Iterator[None]:
        """The command from its beginning to its end: a bar above those of its stages, each of which advances it by one."""
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


def say(*sentences: str) -> None:
    """Sentences for a person, one per line."""
    print("\n".join(sentences), file=sys.stdout, flush=True)


def plain(text: object) -> str:
    """Text from a user's file without characters that would steer the terminal."""
    return "".join(character if character.isprintable() else "�" for character in str(text))
