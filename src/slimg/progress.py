"""Progress of a long computation: stages, bars and the time that is left.

Code that computes reports to a `Progress`:

    with progress.stage("components", total=1400):     columns that will pass through A
        progress.advance(16)                           … 16 of them did, in any thread

Engines report the passes over A, which take most of the time; a pass of k columns is worth k, and its blocks advance it by
their share. Bars are shown only if ``verbose`` is true, on a terminal or in a notebook, and on standard error, so that they
do not mix with what a program prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from slimg.errors import InputError

PER_SECOND = 4
"""How often bars are drawn."""


class Progress(Protocol):
    """What a computation reports to."""

    def stage(self, name: str, total: float | None = None) -> AbstractContextManager[None]:
        """Return a context in which a stage runs; without a total its length is unknown."""

    def advance(self, amount: float) -> None:
        """Report that an amount of the innermost stage is done; may be called from any thread."""


class Silent:
    """Shows nothing."""

    def stage(self, name: str, total: float | None = None) -> AbstractContextManager[None]:
        return nullcontext()

    def advance(self, amount: float) -> None:
        pass


SILENT = Silent()


class Bars:
    """Shows a bar for each stage, with the time it took and the time that is left at the pace so far (rich)."""

    def __init__(self, console: Any = None):
        self._bars = rich_bars("TaskProgressColumn", "TimeElapsedColumn", console=console)
        self._open: list[Any] = []

    @contextmanager
    def stage(self, name: str, total: float | None = None) -> Iterator[None]:
        """Show a bar; bars of stages inside it are below."""
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
        """Fill the bar of a finished stage: totals are estimates."""
        done = max(self._bars.tasks[self._bars.task_ids.index(task)].completed, 1)
        self._bars.update(task, total=done, completed=done)


def rich_bars(*columns: str, console: Any = None, shown: bool | None = True) -> Any:
    """Return rich's bars on standard error: description, bar, these columns of rich by name, and the time that is left.

    With ``shown=None`` they are drawn on a terminal only.
    """
    from rich import progress as rich
    from rich.console import Console

    console = console or Console(stderr=True)
    hidden = not (console.is_terminal if shown is None else shown)
    parts = (getattr(rich, name)() for name in ("BarColumn", *columns, "TimeRemainingColumn"))
    return rich.Progress("{task.description}", *parts, console=console, refresh_per_second=PER_SECOND, disable=hidden)


def progress_for(verbose: bool | Progress | None) -> Progress:
    """Return what a computation reports to.

    Parameters
    ----------
    verbose : bool, Progress or None
        True shows bars on a terminal or in a notebook; False and None show nothing; a `Progress` is used as it is.

    Returns
    -------
    Progress

    Raises
    ------
    InputError
        If ``verbose`` is something else.
    """
    if verbose is None or isinstance(verbose, bool):
        return Bars() if verbose and _visible() else SILENT
    if not (callable(getattr(verbose, "stage", None)) and callable(getattr(verbose, "advance", None))):
        raise InputError(f"verbose must be True, False, or have the methods stage and advance, not {verbose!r}")
    return verbose


@contextmanager
def reporting(engine: Any, progress: Progress) -> Iterator[None]:
    """Let the passes of an engine report to ``progress`` within a ``with`` block."""
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
