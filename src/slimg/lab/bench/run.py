"""Run the cells of recipes that are not in the store yet, in processes of their own.

Cells that share a graph and features form a batch, and a batch is one process: what a model does to memory or to global
state ends with it, its peak memory is its own, and running out of memory ends one batch and not the run. When a process
dies, the cell it was at is recorded and the rest of its batch is begun again.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from slimg.lab.baselines.process import POLL_SECONDS, MonitoredProcess
from slimg.lab.bench.graphs import column
from slimg.lab.bench.models import kind
from slimg.lab.bench.store import Cell, Record, Store, canonical
from slimg.lab.bench.worker import failure, out_of_memory
from slimg.sizes import cores

Report = Callable[[Cell, Record, "Progress"], None]


@dataclass
class Progress:
    """How far a run is."""

    total: int
    done: int = 0
    begun: float = field(default_factory=time.monotonic)

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far; None before the first cell."""
        return None if self.done == 0 else (time.monotonic() - self.begun) * (self.total - self.done) / self.done


def run(
    cells: Iterable[Cell],
    store: Store,
    *,
    jobs: int = 1,
    memory: int | None = None,
    minutes: float = float("inf"),
    retry: bool = False,
    report: Report | None = None,
) -> int:
    """Run the cells that are not recorded.

    Parameters
    ----------
    cells : iterable of Cell
        What to run.
    store : Store
        Where the records are.
    jobs : int, default=1
        Processes at a time; several share the cores.
    memory : int or None, default=None
        Bytes of a process that may be resident; a model that takes more gets an O.O.M. cell.
    minutes : float, default=inf
        No batch is begun after this long.
    retry : bool, default=False
        Whether cells that failed are run again.
    report : callable or None, default=None
        Called with cell, record and `Progress` after each cell.

    Returns
    -------
    int
        How many cells were run.
    """
    end, threads = time.monotonic() + 60 * minutes, max(1, cores() // jobs) if jobs > 1 else None
    with store.writing():
        waiting = _batches(_missing(cells, store, retry))
        progress = Progress(sum(map(len, waiting)))
        finished: _Finished = queue.Queue()
        workers: list[_Worker] = []
        try:
            while waiting or workers:
                while waiting and len(workers) < jobs and time.monotonic() < end:
                    workers.append(_Worker(waiting.pop(0), memory, threads, finished))
                if not workers:
                    break
                item = _next(finished, workers, memory)
                if item is None:
                    continue
                if isinstance(item, BaseException):
                    raise item
                if isinstance(item, _Worker):
                    workers.remove(item)
                    continue
                store.append(item[1])
                progress.done += 1
                if report:
                    report(*item, progress)
        finally:
            for worker in workers:
                worker.stop()
    return progress.done


@contextmanager
def progress_bar(what: str = "cells") -> Iterator[Report | None]:
    """Show progress on a terminal, with an estimate of the time left; nothing where there is no terminal.

    Yields
    ------
    callable or None
        What to call after each cell.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))
    with Bars(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task(what, total=None, left="")

        def report(cell: Cell, record: Record, progress: Progress) -> None:
            left = progress.seconds_left
            description = f"{column(cell.data)} {cell.model['kind']} {outcome(record)}"
            bars.update(task, total=progress.total, completed=progress.done, description=description,
                        left="" if left is None else f"{duration(left)} left")  # fmt: skip

        yield report


def outcome(record: Record) -> str:
    """Write the result of a cell in a word.

    Returns
    -------
    str
    """
    return f"{100 * record['accuracy']:.1f} %" if record["status"] == "ok" else record["status"]


def duration(seconds: float) -> str:
    """Write seconds as 1:05 or 2:00:10.

    Returns
    -------
    str
    """
    hours, rest = divmod(round(seconds), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def _next(finished: _Finished, workers: list[_Worker], memory: int | None) -> _Item | None:
    """What happened next; while nothing does, processes that hold too much memory are ended."""
    if memory is None:
        return finished.get()
    try:
        return finished.get(timeout=POLL_SECONDS)
    except queue.Empty:
        for worker in workers:
            worker.look()
        return None


def _missing(cells: Iterable[Cell], store: Store, retry: bool) -> list[Cell]:
    found = {}
    for cell in cells:
        record = store.get(cell.key)
        if record is None or (retry and record["status"] != "ok"):
            found[cell.key] = cell
    return list(found.values())


def _batches(cells: list[Cell]) -> list[list[Cell]]:
    """Cells that share graph, split and features, in the order in which they came."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        own = kind(cell.model["kind"])
        groups.setdefault(canonical([cell.data, cell.split, own.family, own.sharing(cell.settings)]), []).append(cell)
    return list(groups.values())


class _Worker:
    """One batch: a thread that reads the records of a child process and starts it again when it dies."""

    def __init__(self, cells: list[Cell], memory: int | None, threads: int | None, finished: _Finished):
        self.cells, self.memory, self.threads, self.finished = cells, memory, threads, finished
        self.child: MonitoredProcess | None = None
        self.stopped = False
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.stopped = True
        if self.child is not None:
            self.child.kill()
        self.thread.join()

    def look(self) -> None:
        """End the process if it holds more memory than it may."""
        if self.child is not None:
            self.child.check()

    def _work(self) -> None:
        left = list(self.cells)
        try:
            while left and not self.stopped:
                left = self._child(left)
        except BaseException as error:  # passed to the thread that runs everything
            self.finished.put(error)
        else:
            self.finished.put(self)

    def _child(self, cells: list[Cell]) -> list[Cell]:
        """Run cells in one process; those that are left when it ended early, without the one that ended it."""
        by_key = {cell.key: cell for cell in cells}
        command = [sys.executable, "-m", "slimg.lab.bench.worker"]
        child = self.child = MonitoredProcess(command, self.memory, self.threads)
        assert child.process.stdin is not None and child.process.stdout is not None
        with suppress(BrokenPipeError):  # it ended before it could read: its exit code says more
            child.process.stdin.write(json.dumps([cell.identity() for cell in cells]) + "\n")
            child.process.stdin.flush()
        with child.process.stdout as records:
            for line in records:
                record = json.loads(line)
                self.finished.put((by_key.pop(record["key"]), record))
        child.process.wait()
        child.end()
        left = list(by_key.values())
        if left and not self.stopped:
            culprit = left.pop(0)
            self.finished.put((culprit, _ended(culprit, child)))
        return left


def _ended(cell: Cell, child: MonitoredProcess) -> Record:
    """The record of the cell at which a process ended."""
    if lacked := child.out_of_memory():
        return out_of_memory(cell, lacked)
    return failure(cell, f"its process ended with code {child.process.returncode}")


_Item = tuple[Cell, Record] | BaseException | _Worker
_Finished = queue.Queue[_Item]
