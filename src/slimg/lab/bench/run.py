"""Run the cells of recipes that are not in the store yet, in processes of their own.

Cells that share a graph and features form a batch, and a batch is one process: what a model does to memory or to global
state ends with it, its peak memory is its own, and running out of memory ends one batch and not the run. When a process
dies, the cell it was at is recorded and the rest of its batch is begun again.

The process is ``python -m slimg.lab.bench.run``:

    stdin    one line: the identities of the cells; its end, later, means that the parent is gone
    stdout   one line per record

Other output of models goes to stderr. The labels of the test rows are nowhere in what a model is given.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from typing import Any

import numpy as np

from slimg.classifier import SlimG
from slimg.graph import Graph, splits
from slimg.lab.bench.models import Run, kind, protocol
from slimg.lab.bench.recipe import column_of, load_graph, normalization
from slimg.lab.bench.store import Cell, Record, Store, canonical, environment, peak_memory, reset_peak
from slimg.lab.sanity.runner import accuracy
from slimg.lab.shared.process import POLL_SECONDS, MonitoredProcess, end_with_parent, ran_out_of_memory, reason
from slimg.progress import rich_bars
from slimg.system import cores

Report = Callable[[Cell, Record, int], None]
"""Called after each cell, with how many cells there are."""


def run(
    cells: Iterable[Cell], store: Store, *, jobs: int = 1, memory: int | None = None, minutes: float = float("inf"),
    retry: str | None = None, report: Report | None = None,
) -> int:  # fmt: skip
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
    retry : {"failed", "all"} or None, default=None
        Which recorded cells are run again.
    report : callable or None, default=None
        Called after each cell with the cell, its record and the number of cells.

    Returns
    -------
    int
        How many cells were run.
    """
    end, threads = time.monotonic() + 60 * minutes, max(1, cores() // jobs) if jobs > 1 else None
    with store.writing():
        batches = [_Batch(each, memory, threads) for each in _batches(_missing(cells, store, retry))]
        total, done, lock = sum(len(batch.cells) for batch in batches), 0, threading.Lock()

        def work(batch: _Batch) -> None:
            nonlocal done
            for cell, record in batch.records() if time.monotonic() < end else ():
                with lock:
                    store.append(record)
                    done += 1
                    if report:
                        report(cell, record, total)

        with ThreadPoolExecutor(jobs) as pool:
            try:
                finished, _ = wait([pool.submit(work, batch) for batch in batches], return_when=FIRST_EXCEPTION)
            finally:
                for batch in batches:
                    batch.stop()
        for future in finished:
            future.result()
    return done


@contextmanager
def progress_bar(what: str = "cells") -> Iterator[Report]:
    """Show progress on a terminal, with an estimate of the time left; nothing where there is no terminal.

    Yields
    ------
    callable
        What to call after each cell.
    """
    with rich_bars("MofNCompleteColumn", shown=None) as bars:
        task = bars.add_task(what, total=None)

        def report(cell: Cell, record: Record, total: int) -> None:
            found = f"{100 * record['accuracy']:.1f} %" if record["status"] == "ok" else record["status"]
            description = f"{column_of(cell.data)} {cell.model['kind']} {found}"
            bars.update(task, total=total, advance=1, description=description)

        yield report


def _missing(cells: Iterable[Cell], store: Store, retry: str | None) -> list[Cell]:
    done = {key for key, record in store.records.items() if retry is None or (retry == "failed" and record["status"] == "ok")}
    return list({cell.key: cell for cell in cells if cell.key not in done}.values())


def _batches(cells: list[Cell]) -> list[list[Cell]]:
    """Cells that share graph, split and features, in the order in which they came."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        own = kind(cell.model["kind"])
        groups.setdefault(canonical([cell.data, cell.split, own.family, own.sharing(cell.settings)]), []).append(cell)
    return list(groups.values())


class _Batch:
    """Cells for one process, which is started again for the rest of them when it dies."""

    def __init__(self, cells: list[Cell], memory: int | None, threads: int | None):
        self.cells, self.memory, self.threads = cells, memory, threads
        self.child: MonitoredProcess | None = None
        self.stopped = False

    def stop(self) -> None:
        """End the process and start no other."""
        self.stopped = True
        if (child := self.child) is not None:
            child.kill()

    def records(self) -> Iterator[tuple[Cell, Record]]:
        """Each cell with its record, as soon as it is there."""
        left = {cell.key: cell for cell in self.cells}
        while left and not self.stopped:
            child = self.child = MonitoredProcess([sys.executable, "-m", "slimg.lab.bench.run"], self.memory, self.threads)
            try:
                for record in _records_of(child, list(left.values())):
                    yield left.pop(record["key"]), record
            finally:
                child.end()
                self.child = None
            if left and not self.stopped:
                lacked, culprit = child.out_of_memory(), left.pop(next(iter(left)))
                ended = f"its process ended with code {child.process.returncode}"
                yield culprit, failure(culprit, lacked or ended, out_of_memory=bool(lacked))


def _records_of(child: MonitoredProcess, cells: list[Cell]) -> Iterator[Record]:
    """Give cells to a process and read records until it ends; it is ended if it holds more memory than it may."""
    assert child.process.stdin is not None and child.process.stdout is not None
    if child.memory is not None:
        threading.Thread(target=_watch, args=(child,), daemon=True).start()
    with suppress(BrokenPipeError):  # it ended before it could read: its exit code says more
        child.process.stdin.write(json.dumps([cell.identity() for cell in cells]) + "\n")
        child.process.stdin.flush()
    with child.process.stdout as lines:
        yield from map(json.loads, lines)
    child.process.wait()


def _watch(child: MonitoredProcess) -> None:
    while child.check():
        time.sleep(POLL_SECONDS)


def run_batch(cells: list[Cell]) -> Iterator[Record]:
    """Run cells of one graph and one family of models; a cell that fails is recorded, and the next is run.

    Yields
    ------
    dict
        The record of each cell.
    """
    try:
        graph = load_graph(cells[0].data)
    except Exception as error:  # a file may be wrong in any way
        yield from (failure(cell, error) for cell in cells)
        return
    normalize = normalization(cells[0].data)
    for name in dict.fromkeys(cell.model["kind"] for cell in cells):
        own = [cell for cell in cells if cell.model["kind"] == name]
        begun = time.process_time()
        try:
            run = kind(name).begin(graph.with_labels(None), normalize, [cell.settings for cell in own])
        except Exception as error:  # a model may fail in any way
            yield from (failure(cell, error) for cell in own)
        else:
            shared = time.process_time() - begun
            yield from (_run_cell(cell, graph, run, shared) for cell in own)


def failure(cell: Cell, error: BaseException | str, out_of_memory: bool = False) -> Record:
    """Make the record of a cell that gave no accuracy.

    Parameters
    ----------
    cell : Cell
    error : exception or str
        The reason; of an exception it is known whether memory was lacking.
    out_of_memory : bool, default=False
        Whether its process was ended for lack of memory.

    Returns
    -------
    dict
    """
    if isinstance(error, BaseException):
        out_of_memory, error = ran_out_of_memory(error), reason(error)
    return _record(cell, "oom" if out_of_memory else "failed", error=error)


def _run_cell(cell: Cell, graph: Graph, run: Run, shared: float) -> Record:
    """Run a cell; ``shared`` are the processor seconds of what it shares with others."""
    begun, worked = time.perf_counter(), time.process_time()
    reset_peak()
    try:
        split = splits.stratified(graph, cell.split, cell.seed)
        seen = graph.mask_labels(np.concatenate([split.train, split.val]))
        result = run(cell.settings, seen, split, cell.seed)
        share = accuracy(result.predicted, graph, split.test)
    except Exception as error:  # as above
        return failure(cell, error)
    facts: dict[str, Any] = {} if result.weights is None else {"weights": result.weights}
    return _record(
        cell, "ok", accuracy=share, wall=time.perf_counter() - begun, processor=shared + time.process_time() - worked,
        seconds={key: round(value, 4) for key, value in result.seconds.items()}, iterations=result.iterations,
        chosen=result.chosen, tried=result.grid, peak_memory=peak_memory(), **facts,
    )  # fmt: skip


def _record(cell: Cell, status: str, **facts: Any) -> Record:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    found = {"protocol": protocol(cell.model), "status": status, **facts}
    return {"key": cell.key, **cell.identity(), **found, "at": now, **environment()}


def _plain(value: Any) -> Any:
    """Numbers of numpy as Python's."""
    return value.item() if hasattr(value, "item") else str(value)


def _warm_up() -> None:
    """Fit SlimG to a small graph, so that the first cell of a process does not bear the loading of compiled kernels."""
    graph = load_graph({"case": "semantic-homophily", "n": 400})
    split = splits.stratified(graph, (0.2, 0.2, 0.6), 0)
    SlimG().fit(graph, train=split.train, val=split.val).predict()


def main() -> None:
    """Run the cells of standard input and write their records to standard output."""
    cells = [Cell.of(identity) for identity in json.loads(sys.stdin.readline())]
    end_with_parent()
    records = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what models print must not end up among the records
    _warm_up()
    for record in run_batch(cells):
        print(json.dumps(record, ensure_ascii=False, default=_plain), file=records, flush=True)


if __name__ == "__main__":
    main()
