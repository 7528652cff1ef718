"""The paper's tables: their numbers (``paper.json``), by the names slimg uses, and the rules of places and colours.

``row_titles`` has the titles of rows, where they are not those of their propagators.
Accuracies are percent, mean and standard deviation over five splits, or "OOM" (out of memory).

For accuracies μ_ij ± σ_ij of model i in case j, NaN where a model gave none (it counts as last):

    rank   1 + how many models are better: ties share the better place
    medal  gold, silver, bronze = ranks 1, 2, 3
    red    μ_ij < μ_tj − 2σ_tj, t the model in third place;  needs three models and a known σ (two runs)
    mean and standard deviation over the cases (with n − 1, as the paper's table has it)
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

OOM = "OOM"
MEDALS = ("gold", "silver", "bronze")


@cache
def tables() -> dict[str, Any]:
    """Read the file.

    Returns
    -------
    dict
        Its content as it is.
    """
    return json.loads(files("slimg.lab.shared").joinpath("paper.json").read_text(encoding="utf-8"))


def accuracy(experiment: str, row: str, column: str) -> tuple[float, float] | str | None:
    """Look up one cell of a table of accuracies.

    Returns
    -------
    (float, float), "OOM" or None
        Mean and standard deviation in percent; None where the paper has no such cell.
    """
    found = tables()["accuracy"].get(experiment, {}).get(row, {}).get(column)
    return found if found is None or found == OOM else (found[0], found[1])


def ranks(means: np.ndarray) -> np.ndarray:
    """Places 1 … k within each column (models × cases, integers)."""
    scores = np.where(np.isnan(means), -np.inf, means)
    return 1 + (scores[None, :, :] > scores[:, None, :]).sum(axis=1)


def red_cells(means: np.ndarray, spreads: np.ndarray) -> np.ndarray:
    """Whether each cell is more than 2σ of the third place below it (models × cases, boolean)."""
    if len(means) < 3:
        return np.zeros(means.shape, bool)
    scores = np.where(np.isnan(means), -np.inf, means)
    third = np.argsort(-scores, axis=0, kind="stable")[2]
    cases = np.arange(means.shape[1])
    limit = scores[third, cases] - 2 * np.where(np.isfinite(spreads[third, cases]), spreads[third, cases], np.inf)
    return scores < limit


def colours(means: np.ndarray, spreads: np.ndarray) -> list[tuple[str | None, bool]]:
    """Medal of each cell, row by row, and whether it is red; a failed or a lone model wins nothing."""
    places = np.where(np.isnan(means) | (len(means) == 1), len(MEDALS), ranks(means) - 1)
    medals = [MEDALS[place] if place < len(MEDALS) else None for place in places.flat]
    return list(zip(medals, red_cells(means, spreads).ravel().tolist(), strict=True))


def over_cases(values: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation (n − 1) of one model's values; NaN when any is missing."""
    mean = float(np.mean(values)) if len(values) else float("nan")
    return mean, float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
