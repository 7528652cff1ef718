"""A grid as a table: in each cell ours, the paper's, and the difference of the means.

Columns of generated graphs are marked with * and have no number of the paper. Last column: average ranks, ours and the
paper's by the same rule over the same rows and columns.
"""

from __future__ import annotations

import math

from slimg.graph.columns import number_of
from slimg.lab.bench.grid import OOM, Grid, column_title, marked_title, row_title
from slimg.lab.bench.models import is_reduced, protocol
from slimg.lab.sanity.report import Cell as Figures
from slimg.lab.sanity.report import mean_and_sd
from slimg.lab.tables import Entry, Table


def accuracy_table(grid: Grid, title: str | None = None) -> Table:
    """Make the table of a grid.

    Returns
    -------
    Table
        Rows are models, columns graphs; rows without any cell are left out.
    """
    recipe = grid.recipe
    rows = [row for row in recipe.models if any(key[0] == row for key in grid.figures)]
    columns = [column for column in recipe.data if any(key[1] == column for key in grid.figures)]
    starred = tuple(column_title(column) + ("*" if column in recipe.synthetic else "") for column in columns)
    with_ranks = len(grid.ranked) > 1
    heading = ("", *starred, *(("avg. rank",) if with_ranks else ()))
    body = []
    for row in rows:
        line: list[Entry | str] = [marked_title(recipe, row), *(_entry(grid, row, column) for column in columns)]
        body.append([*line, _rank(grid, row)] if with_ranks else line)
    return Table(heading, body, recipe.label + (title or recipe.title))


def legend(grid: Grid) -> list[str]:
    """Say what the table shows and what was run.

    Returns
    -------
    list of str
        Sentences.
    """
    recipe = grid.recipe
    shares = " / ".join(f"{100 * share:g}" for share in recipe.split)
    one = recipe.seeds == 1
    over = "on one split" if one else f"mean ± standard deviation over {recipe.seeds} splits"
    sentences = [
        f"{recipe.label.replace(': ', '. ')}Test accuracy in percent, {over}"
        f" ({shares} % train / validation / test, stratified)"
        + (", below it the paper's and the difference of the means." if recipe.paper else ".")
        + " ① ② ③ best three; "
        + ("with one split no cell can be red." if one else "▼ more than 2σ of the third place below it.")
    ]
    sentences += protocols(grid)
    if recipe.about:
        sentences.append(recipe.about)
    if recipe.synthetic:
        sentences.append(
            "* Generated stand-ins for graphs whose files are not here: made up, smaller, and no measure of the graphs they"
            " are named after."
        )
    if len(grid.ranked) > 1 and grid.judged:
        names = ", ".join(column_title(column) for column in grid.judged)
        paper = "; below it the paper's, by the same rule from its own table" if grid.paper_rank(grid.ranked[0]) else ""
        sentences.append(f"Average rank (standard deviation) among {len(grid.ranked)} models over {names}{paper}.")
        sentences += [*_paired(grid), _standing(grid), *_instead(grid)]
    if recipe.missing:
        sentences.append(f"Not run, because their files are not here: {', '.join(map(column_title, recipe.missing))}.")
    return sentences + _failures(grid)


def _entry(grid: Grid, row: str, column: str) -> Entry:
    figures, theirs = grid.figures.get((row, column)), grid.paper(row, column)
    printed = () if theirs is None else (OOM,) if isinstance(theirs, str) else (f"{theirs[0]:.1f}±{theirs[1]:.1f}",)
    if figures is None:
        return Entry("–", *printed)
    if figures.error:
        return Entry(OOM if figures.error == OOM else "failed", *printed, style="red")
    style = "red" if grid.is_red(row, column) else grid.medal(row, column) or ""
    difference = () if theirs is None or isinstance(theirs, str) else (signed(100 * figures.mean - theirs[0]),)
    return Entry(_percent(figures, grid.recipe.seeds_of(row)), *printed, *difference, style=style)


def _rank(grid: Grid, row: str) -> Entry:
    if row not in grid.ranked or not grid.judged:
        return Entry("–")
    theirs = grid.paper_rank(row)
    return Entry(mean_and_sd(*grid.average_rank(row)), *((mean_and_sd(*theirs),) if theirs else ()), style="bold")


def protocols(grid: Grid) -> list[str]:
    """Describe reduced protocols, and rows with fewer splits than the others.

    Returns
    -------
    list of str
        A sentence per protocol.
    """
    recipe = grid.recipe
    said: dict[str, list[str]] = {}
    for row in recipe.models:
        if is_reduced(recipe.models[row]) and any(key[0] == row for key in grid.figures):
            fewer = f", {number_of(recipe.fewer_seeds[row], 'split')}" if row in recipe.fewer_seeds else ""
            said.setdefault(protocol(recipe.models[row]) + fewer, []).append(row_title(recipe, row))
    return [f"† {', '.join(rows)}: protocol {name}." for name, rows in said.items()]


def _paired(grid: Grid) -> list[str]:
    """On how many splits rows are compared, where not all have the same."""
    fewer = {column: grid.common[column] for column in grid.judged if 0 < grid.common.get(column, 0) < grid.recipe.seeds}
    if not fewer:
        return []
    alike = len(fewer) == len(grid.judged) and len(set(fewer.values())) == 1
    each = ", ".join(f"{column_title(column)} {count}" for column, count in fewer.items())
    count = number_of(min(fewer.values()), "split") if alike else each
    return [f"Places, ranks and red cells compare the models on the splits that all of them have ({count})."]


def _standing(grid: Grid) -> str:
    """Who is first, and who has no red cell, in the columns that are judged."""
    title = {row: row_title(grid.recipe, row) for row in grid.ranked}
    order = sorted(grid.ranked, key=lambda row: grid.average_rank(row)[0])
    best = ", then ".join(f"{title[row]} ({grid.average_rank(row)[0]:.1f})" for row in order[:3])
    if grid.recipe.seeds == 1:
        return f"Best average ranks: {best}."
    clean = [title[row] for row in grid.ranked if not any(grid.is_red(row, column) for column in grid.judged)]
    return f"Best average ranks: {best}. Without a red cell: {', '.join(clean) or 'none'}."


def _instead(grid: Grid) -> list[str]:
    """Where the default path would stand, had it been ranked in the place of the paper's twelve pairs."""
    if "slimg-path" not in grid.recipe.unranked or "slimg" not in grid.ranked:
        return []
    mean, spread = grid.rank_instead("slimg-path", "slimg")
    if math.isnan(mean):
        return []
    return [
        "SlimG is ranked with the paper's twelve pairs of penalties. Its default path in their place would have an average"
        f" rank of {mean_and_sd(mean, spread)}; its pairs were chosen by test accuracy on Cora, Chameleon,"
        " PubMed and Squirrel, its shares for components fitted separately with the test accuracies of all in view."
    ]


def _failures(grid: Grid) -> list[str]:
    """One sentence per reason."""
    reasons: dict[str, list[str]] = {}
    for (row, column), records in grid.records.items():
        for record in records:
            if record["status"] != "ok":
                place = f"{row_title(grid.recipe, row)} on {column_title(column)}"
                reasons.setdefault(f"{record['status']}: {record.get('error', '')}", []).append(place)
    return [f"{_some(list(dict.fromkeys(places)))}: {reason}." for reason, places in reasons.items()]


def _some(places: list[str], shown: int = 6) -> str:
    more = f" and {len(places) - shown} more" if len(places) > shown else ""
    return ", ".join(places[:shown]) + more


def _percent(figures: Figures, expected: int) -> str:
    count = len(figures.accuracies)
    return str(figures) + (f" ({count} of {expected})" if count < expected else "")


def signed(difference: float) -> str:
    """Write a number with its sign, − and not a hyphen.

    Returns
    -------
    str
    """
    return f"{difference:+.1f}".replace("-", "−")
