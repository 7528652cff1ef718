"""The numbers of the paper's tables (``paper.json``), by the names slimg uses.

``row_titles`` has the titles of rows, where they are not those of their propagators.
Accuracies are percent, mean and standard deviation over five splits, or "OOM" (out of memory).
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

OOM = "OOM"


@cache
def tables() -> dict[str, Any]:
    """Read the file.

    Returns
    -------
    dict
        Its content as it is.
    """
    return json.loads(files("slimg.lab").joinpath("paper.json").read_text(encoding="utf-8"))


def accuracy(experiment: str, row: str, column: str) -> tuple[float, float] | str | None:
    """Look up one cell of a table of accuracies.

    Returns
    -------
    (float, float), "OOM" or None
        Mean and standard deviation in percent; None where the paper has no such cell.
    """
    found = tables()["accuracy"].get(experiment, {}).get(row, {}).get(column)
    return found if found is None or found == OOM else (found[0], found[1])
