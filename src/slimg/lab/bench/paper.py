"""The figures of the paper's tables, by the names slimg uses (`paper.json`; the sanity checks' are in `slimg.lab.sanity.paper`).

Accuracies are percent, mean and standard deviation over five splits, or "OOM".
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from slimg.lab.sanity import paper as sanity_paper

OOM = "OOM"


@cache
def tables() -> dict[str, Any]:
    """The file as it is."""
    return json.loads(files("slimg.lab.bench").joinpath("paper.json").read_text(encoding="utf-8"))


def figure(experiment: str, row: str, column: str) -> tuple[float, float] | str | None:
    """Mean and standard deviation in percent, "OOM", or None where the paper has no such cell."""
    if experiment == "sanity":
        return sanity_paper.figure(row, column)
    found = tables()["accuracy"].get(experiment, {}).get(row, {}).get(column)
    return found if found is None or found == OOM else (found[0], found[1])


def printed_rank(experiment: str, row: str) -> tuple[float, float] | None:
    """Average rank and its standard deviation as the paper prints them."""
    found = tables()["average_rank"].get(experiment, {}).get(row)
    return None if found is None else (found[0], found[1])


def scalability(kind: str) -> dict[str, float]:
    """Seconds on ogbn-Products for each number of "features" or "edges"."""
    return tables()["scalability_seconds"][kind]
