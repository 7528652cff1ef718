"""What SlimG says about a graph: the weights of its four components where it is known which of them help.

share of component g = ‖W_g‖_F / Σ_h ‖W_h‖_F, mean over the seeds;  "zero" counts the seeds in which W_g is exactly zero
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from slimg.lab.bench.figures import component_weights
from slimg.lab.bench.grid import Grid
from slimg.lab.bench.page import Page, Picture, Table, entry
from slimg.lab.bench.titles import title_of_row

EXPECTED = {
    "semantic-uniform": ("no network effects", "X"),
    "random-homophily": ("useless features, homophily", "U"),
    "random-heterophily": ("useless features, heterophily", "U"),
}
"""Case → the scenario's name in the paper, and the component that should have the largest weight."""


def weights_page(grid: Grid, folder: Path | None) -> Page:
    """A table per model, and the figure."""
    recipe = grid.recipe
    page = Page(recipe.title).add(
        "Shares of the components in the learned weights, ‖W_g‖_F / Σ ‖W_h‖_F, mean over the seeds; in brackets the seeds in"
        " which the component is exactly zero. The paper's figure says: without network effects the weight is on X, with"
        " useless features on U."
    )
    for row in recipe.models:
        found = {column: _shares(grid, row, column) for column in recipe.data if (row, column) in grid.records}
        found = {column: each for column, each in found.items() if each}
        if not found:
            continue
        blocks = list(next(iter(found.values())))
        lines = [_line(grid, row, column, shares) for column, shares in found.items()]
        heading = ("", "accuracy", *blocks, "expected", "largest")
        page.add(Table(f"{recipe.label}Components of {title_of_row(recipe, row)}", heading, lines))
        if folder is not None:
            name = f"interpret-{row}{'-quick' if recipe.quick else ''}.svg"
            component_weights(
                folder / name,
                {_title(column): shares for column, shares in found.items()},
                recipe.label.removesuffix(": "),
            )
            page.add(Picture(name, f"Weights of the components of {title_of_row(recipe, row)}, shares of the sum"))
    return page


def _shares(grid: Grid, row: str, column: str) -> dict[str, float]:
    """Component → share; empty if no seed has weights."""
    weights = [each["weights"] for each in grid.records[row, column] if each.get("weights")]
    if not weights:
        return {}
    table = np.array([[each[block] for block in weights[0]] for each in weights])
    sums = table.sum(axis=1, keepdims=True)
    shares = np.divide(table, sums, out=np.zeros_like(table), where=sums > 0).mean(axis=0)
    return dict(zip(weights[0], shares.tolist(), strict=True))


def _line(grid: Grid, row: str, column: str, shares: dict[str, float]) -> list:
    records = [each for each in grid.records[row, column] if each.get("weights")]
    zeros = {block: sum(each["weights"][block] == 0 for each in records) for block in shares}
    cells = [f"{share:.2f}" + (f" ({zeros[block]} zero)" if zeros[block] else "") for block, share in shares.items()]
    largest = max(shares, key=lambda block: shares[block])
    expected = EXPECTED.get(column, ("", "–"))[1]
    accuracy = 100 * grid.figures[row, column].mean
    verdict = f"{largest} {'✓' if largest == expected else '✗'}"
    return [entry(_title(column)), entry(f"{accuracy:.1f}"), *map(entry, cells), entry(expected), entry(verdict)]


def _title(column: str) -> str:
    return EXPECTED.get(column, (column, ""))[0]
