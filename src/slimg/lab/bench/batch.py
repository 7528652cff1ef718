"""Run cells that share a graph and features, and give a record for each.

accuracy = share of right answers on the test rows, whose labels are nowhere in what the model is given
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import numpy as np

from slimg.graph import Graph, splits
from slimg.lab.baselines.process import ran_out_of_memory, reason
from slimg.lab.bench import graphs
from slimg.lab.bench.cell import Cell
from slimg.lab.bench.circumstances import circumstances, peak_memory, reset_peak
from slimg.lab.bench.models import Ran, Run, kind
from slimg.lab.bench.protocol import protocol
from slimg.lab.bench.store import Record
from slimg.lab.sanity.runner import accuracy

Emit = Callable[[Record], None]


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
    """The record of a cell that gave no accuracy."""
    if isinstance(error, str):
        return _record(cell, "failed", error=error)
    return _record(cell, "oom" if ran_out_of_memory(error) else "failed", error=reason(error))


def out_of_memory(cell: Cell, sentence: str) -> Record:
    """The record of a cell whose process was ended for want of memory."""
    return _record(cell, "oom", error=sentence)


def _run_kind(name: str, graph: Graph, cells: list[Cell], emit: Emit) -> None:
    normalize = graphs.normalisation(cells[0].data)
    try:
        run = kind(name).begin(graph.with_labels(None), normalize, [_settings(cell) for cell in cells])
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
        ran = run(_settings(cell), seen, split, cell.seed)
        right = accuracy(ran.answers, graph, split.test)
    except Exception as error:  # as above
        return failure(cell, error)
    return _record(cell, "ok", accuracy=right, wall=time.perf_counter() - begun, **_facts(ran))


def _facts(ran: Ran) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "seconds": {key: round(value, 4) for key, value in ran.seconds.items()},
        "iterations": ran.iterations,
        "chosen": ran.chosen,
        "tried": ran.grid,
        "peak_memory": peak_memory(),
    }
    return facts | ({"weights": ran.weights} if ran.weights is not None else {})


def _record(cell: Cell, status: str, **facts: Any) -> Record:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    told = {"protocol": protocol(cell.model), "status": status, **facts}
    return {"key": cell.key, **cell.identity(), **told, "at": now, **circumstances()}


def _settings(cell: Cell) -> dict[str, Any]:
    return {key: value for key, value in cell.model.items() if key != "kind"}
