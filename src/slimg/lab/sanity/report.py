"""What the checks found: for each model and case the accuracies over the splits, or why there are none.

    ✓   mean accuracy ≥ 80 % (``at_least``) where something helps
    ✓   mean accuracy ≤ chance + max(3 %, 3 standard errors) where nothing does: more means that test labels were seen

Both tables of the printed report have one row per case and one column per model.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from slimg.errors import check_names
from slimg.io import write_text
from slimg.lab.sanity import findings
from slimg.lab.shared import paper
from slimg.lab.shared.tables import Entry, Page, Table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

PASS = 0.80
"""Accuracy from which a case is passed, as in the paper's first figure."""
ABOVE_CHANCE = 0.03
PAPER_NODES, PAPER_SEEDS = 6000, 5


@dataclass(frozen=True)
class Cell:
    """One model in one case: test accuracy of each split, or the reason why it failed.

    Attributes
    ----------
    accuracies : tuple of float
        One per split.
    error : str or None
        Why there are none.
    seconds : float
        Time of all splits.

    Examples
    --------
    >>> str(Cell((0.8, 0.9)))
    '85.0±5.0'
    """

    accuracies: tuple[float, ...] = ()
    error: str | None = None
    seconds: float = 0.0

    @property
    def mean(self) -> float:
        """Mean accuracy; NaN for a failure."""
        return float("nan") if self.error else float(np.mean(self.accuracies))

    @property
    def spread(self) -> float:
        """Standard deviation over the splits; NaN for a single one."""
        return float("nan") if self.error or len(self.accuracies) < 2 else float(np.std(self.accuracies))

    def __str__(self) -> str:
        return f"{100 * self.mean:.1f}" + ("" if math.isnan(self.spread) else f"±{100 * self.spread:.1f}")


@dataclass(frozen=True)
class CaseFacts:
    """What the report keeps of a case; ``judged`` is the number of test nodes."""

    name: str
    helps: tuple[str, ...]
    chance: float
    judged: int
    settings: dict[str, Any]
    notes: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class SanityReport:
    """Result of `slimg.lab.sanity.check`.

    Attributes
    ----------
    models : tuple of str
        Names of the models.
    cases : tuple of CaseFacts
        Facts of the cases.
    seeds : int
        Number of splits.
    cells : dict
        ``cells[model, case]`` is a `Cell`.
    at_least : float
        Mean accuracy from which a case is passed.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from slimg.lab.sanity import check, from_sklearn
    >>> report = check([from_sklearn(LogisticRegression())], ["semantic-uniform"], n=400, seeds=1)
    >>> report.models, report.seeds
    (('LogisticRegression',), 1)
    """

    models: tuple[str, ...]
    cases: tuple[CaseFacts, ...]
    seeds: int
    cells: dict[tuple[str, str], Cell]
    at_least: float = PASS

    @property
    def informative(self) -> tuple[CaseFacts, ...]:
        """The cases in which something helps: averages, ranks and medals are over these."""
        return tuple(case for case in self.cases if case.helps)

    @property
    def reduced(self) -> bool:
        """Whether graphs are smaller or splits fewer than the paper's."""
        return self.seeds < PAPER_SEEDS or any(case.settings["n"] < PAPER_NODES for case in self.cases)

    def cell(self, model: str, case: str) -> Cell:
        """Look up one cell.

        Parameters
        ----------
        model : str
            One of ``models``.
        case : str
            Name of one of ``cases``.

        Returns
        -------
        Cell
            What the model reached in the case.
        """
        check_names("model", [model], self.models)
        check_names("sanity case", [case], self._facts)
        return self.cells[model, case]

    def passed(self, model: str, case: str) -> bool:
        """Whether the model passed this case, by the rule of the module's docstring.

        Parameters
        ----------
        model, case : str
            As in `cell`.

        Returns
        -------
        bool
            False for a failure.
        """
        mean, facts = self.cell(model, case).mean, self._facts[case]
        if facts.helps:
            return mean >= self.at_least
        error = float(np.sqrt(facts.chance * (1 - facts.chance) / (facts.judged * self.seeds)))
        return mean <= facts.chance + max(ABOVE_CHANCE, 3 * error)

    def passes(self, model: str) -> bool:
        """Whether the model passed every case.

        Parameters
        ----------
        model : str
            One of ``models``.

        Returns
        -------
        bool
            True if it did.
        """
        return all(self.passed(model, case.name) for case in self.cases)

    def medal(self, model: str, case: str) -> str | None:
        """Medal of the model in a case; there is none where nothing helps.

        Parameters
        ----------
        model, case : str
            As in `cell`.

        Returns
        -------
        {"gold", "silver", "bronze", None}
            By `slimg.lab.shared.paper`.
        """
        return self._ranked.get((model, case), (None, False))[0]

    def is_red(self, model: str, case: str) -> bool:
        """Whether the model is more than 2σ of the third place below it.

        Parameters
        ----------
        model, case : str
            As in `cell`.

        Returns
        -------
        bool
            By `slimg.lab.shared.paper`.
        """
        return self._ranked.get((model, case), (None, False))[1]

    def average(self, model: str) -> tuple[float, float]:
        """Average accuracy over the informative cases.

        Parameters
        ----------
        model : str
            One of ``models``.

        Returns
        -------
        mean, standard deviation : float
            NaN if the model failed in one.
        """
        return paper.over_cases(self._grid("mean")[self.models.index(model)])

    def average_rank(self, model: str) -> tuple[float, float]:
        """Average rank over the informative cases.

        Parameters
        ----------
        model : str
            One of ``models``.

        Returns
        -------
        mean, standard deviation : float
            A failure counts as last.
        """
        return paper.over_cases(paper.ranks(self._grid("mean"))[self.models.index(model)])

    def verdict(self, model: str) -> str:
        """Say in one paragraph what the model cannot do.

        Parameters
        ----------
        model : str
            One of ``models``.

        Returns
        -------
        str
            Sentences.
        """
        return findings.verdict(self, model)

    def observations(self) -> tuple[findings.Observation, ...]:
        """Test the paper's four observations.

        Returns
        -------
        tuple of Observation
            Each holds, does not hold, or was not tested.
        """
        return findings.observations(self)

    def to_text(self, width: int = 120) -> str:
        """Write tables and paragraphs as plain text; rich draws the same in colour.

        Parameters
        ----------
        width : int, default=120
            Columns; wider tables are printed in several parts.

        Returns
        -------
        str
            Lines.
        """
        return self._page().text(width)

    def to_markdown(self) -> str:
        """Write tables and paragraphs in Markdown.

        Returns
        -------
        str
            Lines.
        """
        return self._page().markdown()

    def to_dict(self) -> dict[str, Any]:
        """Collect everything as plain values, ready for JSON.

        Returns
        -------
        dict
            NaN becomes None.
        """
        facts = ("name", "helps", "chance", "settings", "notes")
        return {
            "seeds": self.seeds,
            "reduced": self.reduced,
            "at_least": self.at_least,
            "cases": [{key: getattr(case, key) for key in facts} for case in self.cases],
            "models": {model: self._model_dict(model) for model in self.models},
            "observations": [dataclasses.asdict(each) for each in self.observations()],
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Write everything as JSON.

        Parameters
        ----------
        path : path-like or None, default=None
            File to write it to; None for none.

        Returns
        -------
        str
            The JSON.
        """
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False)
        if path is not None:
            write_text(text + "\n", Path(path))
        return text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield from self._page().renderables(options.max_width)

    def __repr__(self) -> str:
        counts = {model: sum(self.passed(model, case.name) for case in self.cases) for model in self.models}
        found = ", ".join(f"{model} {count}/{len(self.cases)}" for model, count in counts.items())
        return f"SanityReport(passed: {found})"

    @cached_property
    def _facts(self) -> dict[str, CaseFacts]:
        return {case.name: case for case in self.cases}

    def _grid(self, what: str) -> np.ndarray:
        """Models × informative cases."""
        rows = [[getattr(self.cells[model, case.name], what) for case in self.informative] for model in self.models]
        return np.array(rows, float).reshape(len(self.models), len(self.informative))

    @cached_property
    def _ranked(self) -> dict[tuple[str, str], tuple[str | None, bool]]:
        """Medal of each informative cell, and whether it is red."""
        keys = product(self.models, (case.name for case in self.informative))
        return dict(zip(keys, paper.colours(self._grid("mean"), self._grid("spread")), strict=True))

    def _page(self) -> Page:
        """Tables of ✓/✗ and of accuracies, legend, verdicts, differences from the paper and its observations."""
        several = len(self.models) > 1
        title = f"Sanity checks: ✓ from {self.at_least:.0%} where something helps, at chance where nothing does"
        page = Page("").add(self._table(title, self._rows(self.mark)), self._accuracies(several))
        if several:
            red = "; ▼ more than 2σ of the third place below it" if len(self.models) > 2 and self.seeds > 1 else ""
            page.add(f"① ② ③ best three{red}.")
        page.add(*map(self.verdict, self.models), *findings.differences_from_paper(self))
        return page.add(*map(str, self.observations() if several else ()))

    def _accuracies(self, with_ranks: bool) -> Table:
        rows = self._rows(self._accuracy)
        last = [("average", "", *(mean_and_sd(*self.average(model), 100) for model in self.models))]
        last += [("average rank", "", *(mean_and_sd(*self.average_rank(model)) for model in self.models))] * with_ranks
        rows += [[Entry(each, style="bold") for each in row] for row in last if self.informative]
        splits = "one split" if self.seeds == 1 else f"{self.seeds} splits"
        sizes = " and ".join(f"{n:,}" for n in sorted({case.settings["n"] for case in self.cases}))
        reduced = "; a reduced protocol" if self.reduced else ""
        return self._table(f"Accuracy in percent, mean ± standard deviation ({splits}, {sizes} nodes{reduced})", rows)

    def _table(self, title: str, rows: list[list[Entry | str]]) -> Table:
        return Table(("case", "helps", *self.models), rows, title, "ll" + "c" * len(self.models), n_labels=2)

    def _rows(self, entry: Callable[[str, str], Entry]) -> list[list[Entry | str]]:
        useful = {case.name: "both" if len(case.helps) == 2 else "".join(case.helps) or "none" for case in self.cases}
        return [[name, helps, *(entry(model, name) for model in self.models)] for name, helps in useful.items()]

    def mark(self, model: str, case: str) -> Entry:
        """Cell of the ✓/✗ matrix.

        Parameters
        ----------
        model, case : str
            As in `cell`.

        Returns
        -------
        Entry
            "✓", "✗" or "failed".
        """
        passed = self.passed(model, case)
        wrong = "failed" if self.cells[model, case].error else "✗"
        return Entry("✓" if passed else wrong, style="good" if passed else "bad")

    def _accuracy(self, model: str, case: str) -> Entry:
        if self.cells[model, case].error:
            return self.mark(model, case)
        style = "red" if self.is_red(model, case) else self.medal(model, case) or ""
        return Entry(str(self.cells[model, case]), style=style)

    def _model_dict(self, model: str) -> dict[str, Any]:
        average, rank = _mean_sd(*self.average(model)), _mean_sd(*self.average_rank(model))
        cells = {case.name: self._cell_dict(model, case.name) for case in self.cases}
        judged = {"passes": self.passes(model), "verdict": self.verdict(model)}
        return {"cases": cells, "average": average, "average_rank": rank, **judged}

    def _cell_dict(self, model: str, case: str) -> dict[str, Any]:
        cell = self.cells[model, case]
        judged = {"passed": self.passed(model, case), "medal": self.medal(model, case), "red": self.is_red(model, case)}
        found = {"accuracies": list(cell.accuracies), **_mean_sd(cell.mean, cell.spread), **judged}
        return {**found, "error": cell.error, "seconds": round(cell.seconds, 3)}


def mean_and_sd(mean: float, spread: float, factor: float = 1.0) -> str:
    """Write a mean with its standard deviation in brackets, if that is known.

    Returns
    -------
    str
        "–" for NaN.
    """
    if math.isnan(mean):
        return "–"
    return f"{factor * mean:.1f}" + ("" if math.isnan(spread) else f" ({factor * spread:.1f})")


def _mean_sd(mean: float, spread: float) -> dict[str, float | None]:
    return {key: None if math.isnan(value) else value for key, value in (("mean", mean), ("sd", spread))}
