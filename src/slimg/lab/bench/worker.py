"""Run a batch of cells, which share a graph and features, in a process of its own: ``python -m slimg.lab.bench.worker``.

    stdin    one line: the identities of the cells; its end, later, means that the parent is gone
    stdout   one line per record

Other output of models goes to stderr. The labels of the test rows are nowhere in what a model is given.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import numpy as np

from slimg.graph import Graph, splits
from slimg.lab.baselines.process import end_with_parent, ran_out_of_memory, reason
from slimg.lab.bench import graphs
from slimg.lab.bench.environment import environment, peak_memory, reset_peak
from slimg.lab.bench.models import Ran, Run, kind, protocol
from slimg.lab.bench.store import Cell, Record
from slimg.lab.sanity.runner import accuracy

Emit = Callable[[Record], None]


def main() -> None:
    """Run the cells of standard input and write their records to standard output."""
    cells = [Cell.of(identity) for identity in json.loads(sys.stdin.readline())]
    end_with_parent()
    records = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what models print must not end up among the records

    def emit(record: Record) -> None:
        records.write(json.dumps(record, ensure_ascii=False, default=_plain) + "\n")
        records.flush()

    run_batch(cells, emit)


def run_batch(cells: list[Cell], emit: Emit) -> None:
    """Run cells of one graph and one family of models; a cell that fails is recorded, and the next is run."""
    try:
        graph = graphs.load(cells[0].data)
    except Exception as error:  # a file may be wrong in any way
        for cell in cells:
            emit(failure(cell, error))
        return
    for name in dict.fromkeys(cell.model["kind"] for cell in cells):
        _run_kind(name, graph, [cell for cell in cells if cell.model["kind"] == name], emit)


def failure(cell: Cell, error: BaseException | str) -> Record:
    """Make the record of a cell that gave no accuracy.

    Returns
    -------
    dict
    """
    if isinstance(error, str):
        return _record(cell, "failed", error=error)
    return _record(cell, "oom" if ran_out_of_memory(error) else "failed", error=reason(error))


def out_of_memory(cell: Cell, sentence: str) -> Record:
    """Make the record of a cell whose process was ended for lack of memory.

    Returns
    -------
    dict
    """
    return _record(cell, "oom", error=sentence)


def _run_kind(name: str, graph: Graph, cells: list[Cell], emit: Emit) -> None:
    normalize = graphs.normalization(cells[0].data)
    try:
        run = kind(name).begin(graph.with_labels(None), normalize, [cell.settings for cell in cells])
    except Exception as error:  # a model may fail in any way
        for cell in cells:
            emit(failure(cell, error))
        return
    for cell in cells:
        emit(_run_cell(cell, graph, run))


def _run_cell(cell: Cell, graph: Graph, run: Run) -> Record:
    begun = time.perf_counter()
    reset_peak()
    try:
        split = splits.stratified(graph, cell.split, cell.seed)
        seen = graph.mask_labels(np.concatenate([split.train, split.val]))
        result = run(cell.settings, seen, split, cell.seed)
        share = accuracy(result.answers, graph, split.test)
    except Exception as error:  # as above
        return failure(cell, error)
    return _record(cell, "ok", accuracy=share, wall=time.perf_counter() - begun, **_facts(result))


def _facts(result: Ran) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "seconds": {key: round(value, 4) for key, value in result.seconds.items()},
        "iterations": result.iterations,
        "chosen": result.chosen,
        "tried": result.grid,
        "peak_memory": peak_memory(),
    }
    return facts | ({"weights": result.weights} if result.weights is not None else {})


def _record(cell: Cell, status: str, **facts: Any) -> Record:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    found = {"protocol": protocol(cell.model), "status": status, **facts}
    return {"key": cell.key, **cell.identity(), **found, "at": now, **environment()}


def _plain(value: Any) -> Any:
    """Numbers of numpy as Python's."""
    return value.item() if hasattr(value, "item") else str(value)


if __name__ == "__main__":
    main()
