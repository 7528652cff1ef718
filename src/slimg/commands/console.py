"""What a command says while it works: on the error stream, and only to a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Progress:
    """Stages under a timer; silent when nobody watches."""

    def __init__(self, quiet: bool = False):
        self.seconds: dict[str, float] = {}
        self.shown = not quiet and sys.stderr.isatty()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        begun = time.perf_counter()
        if self.shown:
            from rich.console import Console

            with Console(stderr=True).status(name):
                yield
        else:
            yield
        self.seconds[name] = time.perf_counter() - begun


def say(*sentences: str) -> None:
    """Sentences for a person, one per line."""
    print("\n".join(sentences), file=sys.stdout, flush=True)


def plain(text: object) -> str:
    """Text from a user's file without characters that would steer the terminal."""
    return "".join(character if character.isprintable() else "�" for character in str(text))
