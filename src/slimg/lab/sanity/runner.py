"""Run models on the nine scenarios.

One graph per case (seed 0); the seeds change the split. A model is given edges, features and the labels of its train
and validation rows, in arrays of its own: test labels are nowhere in what it is given, and what it does to its graph is
seen by no other. A model that fails fails in its own cell.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from slimg.engine import Engine
from slimg.errors import InputError
from slimg.graph import Adjacency, Graph
from slimg.lab.sanity.case import SanityCase, make, scaled
from slimg.lab.sanity.contender import Contender, as_contenders
from slimg.lab.sanity.judge import accuracy
from slimg.lab.sanity.report import PASS, CaseFacts, Cell, SanityReport
from slimg.lab.sanity.scenarios import parts, select

Progress = Callable[[str, str, Cell], None]


def check(
    model: Any,
    cases: Any = "all",
    *,
    n: int = 6000,
    seeds: int = 5,
    at_least: float = PASS,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> SanityReport:
    """Run a model, or several, on sanity cases.

    Parameters
    ----------
    model : object with ``fit`` and ``predict``, a function or class that makes one, a contender (`from_sklearn`,
        `from_torch`), a name of `slimg.lab.sanity.models`; or a list of these, or a mapping from names to them
    cases : "all" (nine), "informative" (seven), "empty" (two), names, or `SanityCase` objects
    n : nodes of the cases that are drawn here; features and density go with it, so that they stay as hard (`scaled`)
    seeds : number of splits
    at_least : mean accuracy from which a case is passed
    progress : called with model, case and cell after each cell
    """
    contenders = as_contenders(model)
    if not isinstance(seeds, int) or seeds < 1:
        raise InputError(f"seeds is a number of splits of at least 1, not {seeds!r}")
    if not 0 < at_least <= 1:
        raise InputError(f"at_least is an accuracy above 0 and at most 1, not {at_least!r}")
    wanted, cells, facts = _wanted(cases), {}, []
    for label, case in _drawn(wanted, n, engine):
        facts.append(_facts(label, case))
        for contender in contenders:
            cell = run_cell(contender, case, seeds)
            cells[contender.name, label] = cell
            if progress:
                progress(contender.name, label, cell)
    return SanityReport(tuple(each.name for each in contenders), tuple(facts), seeds, cells, at_least)


def run_cell(contender: Contender, case: SanityCase, seeds: int) -> Cell:
    """One model in one case: accuracies over the splits, up to the first failure."""
    begun = time.perf_counter()
    bare = _own_copy(case.graph)
    found: list[float] = []
    try:
        answer = contender.begin(bare)
        for seed in range(seeds):
            split = case.split(seed)
            seen = case.graph.mask_labels(np.concatenate([split.train, split.val]))
            given = bare.with_labels(seen.labels)
            found.append(accuracy(answer(given, split.train.copy(), split.val.copy(), seed), case.graph, split.test))
        return Cell(tuple(found), None, time.perf_counter() - begun)
    except Exception as error:  # a model may fail in any way: its cell says how and the run goes on
        return Cell((), _reason(error, len(found)), time.perf_counter() - begun)


def _own_copy(graph: Graph) -> Graph:
    """Edges and features in new arrays, without labels."""
    adjacency = Adjacency(graph.adjacency.indptr.copy(), graph.adjacency.indices.copy())
    return Graph(adjacency, np.array(graph.features))


def _reason(error: Exception, split: int) -> str:
    first = str(error).strip().split("\n")[0]
    kind = "" if isinstance(error, InputError) else type(error).__name__
    said = ": ".join(part for part in (kind, first) if part)
    return said if split == 0 else f"{said} (split {split})"


def _wanted(cases: Any) -> list[str | SanityCase]:
    """Names and cases in the order asked for."""
    if isinstance(cases, SanityCase):
        cases = [cases]
    if isinstance(cases, Iterable) and not isinstance(cases, str):
        cases = list(cases)
        if any(isinstance(each, SanityCase) for each in cases):
            return [each if isinstance(each, SanityCase) else select(each)[0] for each in cases]
    return list(select(cases))


def _drawn(wanted: list[str | SanityCase], n: int, engine: Engine | None) -> Iterator[tuple[str, SanityCase]]:
    """Each case under a distinct label, drawn when its turn comes and freed after it."""
    seen: dict[str, int] = {}
    for each in wanted:
        case = make(*parts(each), **scaled(n), engine=engine) if isinstance(each, str) else each
        seen[case.name] = seen.get(case.name, 0) + 1
        yield case.name if seen[case.name] == 1 else f"{case.name} ({seen[case.name]})", case


def _facts(label: str, case: SanityCase) -> CaseFacts:
    return CaseFacts(label, case.helps, case.chance, len(case.split(0).test), case.settings, case.notes)
