"""What the checks found: for each model and case the accuracies over the splits, or why there are none.

    ✓   mean accuracy ≥ 80 % (``at_least``) where something helps
    ✓   mean accuracy ≤ chance + max(3 %, 3 standard errors) where nothing does: more means that test labels were seen
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from slimg.errors import choices
from slimg.lab.sanity import ranking

PASS = 0.80
"""Accuracy from which a case is passed, as in the paper's first figure."""
ABOVE_CHANCE = 0.03
PAPER_NODES, PAPER_SEEDS = 6000, 5


@dataclass(frozen=True)
class Cell:
    """One model in one case: test accuracy of each split, or the reason why it failed."""

    accuracies: tuple[float, ...] = ()
    error: str | None = None
    seconds: float = 0.0

    @property
    def mean(self) -> float:
        return float("nan") if self.error else float(np.mean(self.accuracies))

    @property
    def spread(self) -> float:
        """Standard deviation over the splits; NaN for a single one."""
        return float("nan") if self.error or len(self.accuracies) < 2 else float(np.std(self.accuracies))


@dataclass(frozen=True)
class CaseFacts:
    """What the report keeps of a case."""

    name: str
    helps: tuple[str, ...]
    chance: float
    judged: int
    settings: dict[str, Any]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class SanityReport:
    """Result of `slimg.lab.sanity.check`: ``cells[model, case]``, and what follows from them."""

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
        if model not in self.models:
            raise choices("model", model, self.models)
        if case not in self._facts:
            raise choices("sanity case", case, list(self._facts))
        return self.cells[model, case]

    def passed(self, model: str, case: str) -> bool:
        """Whether the model did what is expected in this case; see the module's text."""
        mean, facts = self.cell(model, case).mean, self._facts[case]
        if facts.helps:
            return mean >= self.at_least
        error = float(np.sqrt(facts.chance * (1 - facts.chance) / (facts.judged * self.seeds)))
        return mean <= facts.chance + max(ABOVE_CHANCE, 3 * error)

    def passes(self, model: str) -> bool:
        """Whether the model passed every case."""
        return all(self.passed(model, case.name) for case in self.cases)

    def medal(self, model: str, case: str) -> str | None:
        """"gold", "silver", "bronze" or None; none where nothing helps."""
        return self._judged[0].get((model, case))

    def is_red(self, model: str, case: str) -> bool:
        """Whether the model is more than 2σ of the third place below it."""
        return (model, case) in self._judged[1]

    def average(self, model: str) -> tuple[float, float]:
        """Mean and standard deviation of the accuracy over the informative cases; NaN if the model failed in one."""
        return ranking.over_cases(self._grid("mean")[self.models.index(model)])

    def average_rank(self, model: str) -> tuple[float, float]:
        """Mean and standard deviation of the rank over the informative cases; a failure counts as last."""
        return ranking.over_cases(ranking.ranks(self._grid("mean"))[self.models.index(model)])

    def verdict(self, model: str) -> str:
        """One paragraph in plain words: what the model cannot do."""
        from slimg.lab.sanity.verdict import verdict

        return verdict(self, model)

    def observations(self) -> tuple[Any, ...]:
        """The paper's four observations, each holding, not holding, or not judged."""
        from slimg.lab.sanity.observations import observations

        return observations(self)

    def to_text(self, width: int = 120) -> str:
        """Tables and paragraphs as plain text; `__rich_console__` draws the same in colour."""
        from slimg.lab.sanity.render import as_text

        return as_text(self, width)

    def to_markdown(self) -> str:
        from slimg.lab.sanity.render import as_markdown

        return as_markdown(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values (NaN becomes None), ready for JSON."""
        from slimg.lab.sanity.render import as_dict

        return as_dict(self)

    def to_json(self, path: str | Path | None = None) -> str:
        """JSON text, also written to ``path`` if one is given."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from slimg.lab.sanity.render import as_rich

        yield from as_rich(self)

    def __repr__(self) -> str:
        found = ", ".join(
            f"{model} {sum(self.passed(model, case.name) for case in self.cases)}/{len(self.cases)}"
            for model in self.models
        )
        return f"SanityReport(passed: {found})"

    @cached_property
    def _facts(self) -> dict[str, CaseFacts]:
        return {case.name: case for case in self.cases}

    def _grid(self, what: str) -> np.ndarray:
        """Models × informative cases."""
        rows = [[getattr(self.cells[model, case.name], what) for case in self.informative] for model in self.models]
        return np.array(rows, float).reshape(len(self.models), len(self.informative))

    @cached_property
    def _judged(self) -> tuple[dict[tuple[str, str], str], set[tuple[str, str]]]:
        """Medals and red cells."""
        means, spreads = self._grid("mean"), self._grid("spread")
        won, red = ranking.medals(means), ranking.red_cells(means, spreads)
        names = [case.name for case in self.informative]
        keys = [((i, j), (model, case)) for i, model in enumerate(self.models) for j, case in enumerate(names)]
        colours = {key: colour for (i, j), key in keys if (colour := won[i][j]) is not None}
        return colours, {key for (i, j), key in keys if red[i, j]}
