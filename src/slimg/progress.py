"""How far a long computation is: stages, bars and the time that is left, for those who ask for them.

Who computes reports to a `Progress`; who is asked to show it decides what that is:

    with progress.stage("components", total=1400):     columns that will pass through A
        progress.advance(16)                           … 16 of them did, in any thread

Engines report the passes over A, which take most of the time; a pass of k columns is worth k, and its blocks advance it by
their share. Nothing is shown unless asked for, and then only on a terminal or in a notebook: on standard error, so that
what a program prints stays clean.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from slimg.errors import InputError

PER_SECOND = 4
"""How often bars are drawn anew."""


class Progress(Protocol):
    """What a computation reports to."""

    def stage(self, name: str, total: float | None = None) -> AbstractContextManager[None]:
        """A stage from its beginning to its end; without a total its length is unknown."""

    def advance(self, amount: float) -> None:
        """So much of the innermost stage was done; may be called from any thread."""


class Silent:
    """Shows nothing."""

    def stage(self, name: str, total: float | None = None) -> AbstractContextManager[None]:
        return nullcontext()

    def advance(self, amount: float) -> None:
        pass


SILENT = Silent()


class Bars:
    """A bar for each stage, with the time it took and the time that is left at the pace so far (rich)."""

    def __init__(self, console: Any = None):
        from rich import progress as rich
        from rich.console import Console

        columns = (
            rich.TextColumn("{task.description}"),
            rich.BarColumn(),
            rich.TaskProgressColumn(),
            rich.TimeElapsedColumn(),
            rich.TimeRemainingColumn(),
        )
        self._bars = rich.Progress(*columns, console=console or Console(stderr=True), refresh_per_second=PER_SECOND)
        self._open: list[Any] = []

    @contextmanager
    def stage(self, name: str, total: float | None = None) -> Iterator[None]:
        """A bar; those of stages inside of it stand below."""
        task = self._bars.add_task(name, total=total)
        if not self._open:
            self._bars.start()
        self._open.append(task)
        try:
            yield
            self._fill(task)
        finally:
            self._open.remove(task)
            self._bars.stop_task(task)
            if not self._open:
                self._bars.stop()

    def advance(self, amount: float) -> None:
        for task in self._open[-1:]:
            self._bars.advance(task, amount)

    def _fill(self, task: Any) -> None:
        """A finished stage is a full bar: totals are foreseen, not known."""
        done = max(self._bars.tasks[self._bars.task_ids.index(task)].completed, 1)
        self._bars.update(task, total=done, completed=done)


def progress_for(asked: Any) -> Progress:
    """What was asked for: False or None shows nothing, True shows bars where somebody can see them, or a `Progress`."""
    if asked is None or isinstance(asked, bool):
        return Bars() if asked and _visible() else SILENT
    if not (callable(getattr(asked, "stage", None)) and callable(getattr(asked, "advance", None))):
        raise InputError(f"verbose must be True, False, or have the methods stage and advance, not {asked!r}")
    return asked


@contextmanager
def reporting(engine: Any, progress: Progress) -> Iterator[None]:
    """While this lasts, passes of the engine report here."""
    before = getattr(engine, "progress", SILENT)
    engine.progress = progress
    try:
        yield
    finally:
        engine.progress = before


def _visible() -> bool:
    from rich.console import Console

    console = Console(stderr=True)
    return console.is_terminal or console.is_jupyter
