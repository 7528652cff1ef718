"""Progress of a run on a terminal, with an estimate of the time left; nothing where there is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from slimg.lab.bench.cell import Cell
from slimg.lab.bench.graphs import column
from slimg.lab.bench.run import Progress, Told
from slimg.lab.bench.store import Record


@contextmanager
def shown(what: str = "cells") -> Iterator[Told | None]:
    """Yields what to call after each cell."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))
    with Bars(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task(what, total=None, left="")

        def told(cell: Cell, record: Record, progress: Progress) -> None:
            left = progress.seconds_left
            said = f"{column(cell.data)} {cell.model['kind']} {outcome(record)}"
            bars.update(task, total=progress.total, completed=progress.done, description=said,
                        left="" if left is None else f"{duration(left)} left")  # fmt: skip

        yield told


def outcome(record: Record) -> str:
    """A cell's result in a word."""
    return f"{100 * record['accuracy']:.1f} %" if record["status"] == "ok" else record["status"]


def duration(seconds: float) -> str:
    """1:05 or 2:00:10."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
