"""What the checks found: for each model and case the accuracies over the splits, or why there are none.

    ✓   mean accuracy ≥ 80 % (``at_least``) where something helps
    ✓   mean accuracy ≤ chance + max(3 %, 3 standard errors) where nothing does: more means that test labels were seen

Both tables of the printed report have one row per case and one column per model.

What follows from a report: a verdict on each model, the paper's observations, and differences from its table.

Verdict, from which cases a model fails:

    fails random X (both A)         it uses the graph only through the features
    fails uniform A                 it cannot ignore noisy edges
    fails A of one kind only        it assumes that neighbours are alike (or unlike)
    no better with edges than without, and at chance on random X: it does not use the edges at all
    above chance where nothing helps: it has seen test labels

Observations of the paper, each tested on the report at hand:

    1  Summary             SlimG passes every case without a red cell, with the best average accuracy and rank
    2  No network effects  only a few models do well on uniform A, S²GC and GraphSAGE among them: fewer than half are
                           not red there, and those two are among them
    3  Useless features    no other model passes with random X
    4  Heterophily         G²CN, GraphSAGE and GPR-GNN pass under heterophily with semantic or with structural X

An observation whose models, cases or splits were not run is not tested.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from slimg.errors import check_names
from slimg.graph.columns import number_of
from slimg.io import write_text
from slimg.lab.sanity.case import CASES
from slimg.lab.shared import paper
from slimg.lab.shared.tables import Entry, Page, Table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

PASS = 0.80
"""Accuracy from which a case is passed, as in the paper's first figure."""
ABOVE_CHANCE = 0.03
PAPER_NODES, PAPER_SEEDS = 6000, 5
CLOSE = 0.05
"""Accuracies nearer than this count as the same, and as chance."""
NARROWLY = 0.1
"""No cause is given for a model that misses the threshold by less than this."""
OURS = "slimg"
USE_RAW_FEATURES = ("s2gc", "sage")
REACH_EVEN_HOPS = ("g2cn", "sage", "gprgnn")
USELESS_FEATURES = ("random-homophily", "random-heterophily")
HETEROPHILY = ("semantic-heterophily", "structural-heterophily")


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
        results = _Results(self, model)
        rules = (_leak,) if results.learns_nothing() else (_edges, _features, _kinds, _both, _leak)
        sentences = [results.opening(), *results.failures(), *chain.from_iterable(rule(results) for rule in rules)]
        if len(sentences) == 1 and self.passes(model):
            sentences.append("Nothing that was tried here misleads it.")
        return " ".join(sentences)

    def observations(self) -> tuple[Observation, ...]:
        """Test the paper's four observations.

        Returns
        -------
        tuple of Observation
            Each holds, does not hold, or was not tested.
        """
        tests = (
            ("summary", _summary, _missing(self, CASES, (OURS,), colours=True)),
            ("no network effects", _no_network_effects, _missing(self, ("semantic-uniform",), USE_RAW_FEATURES, colours=True)),
            ("useless features", _useless_features, _missing(self, USELESS_FEATURES)),
            ("heterophily graphs", _heterophily, _missing(self, HETEROPHILY, REACH_EVEN_HOPS)),
        )
        found = [(title, *((None, missing) if missing else test(self))) for title, test, missing in tests]
        return tuple(Observation(number, *each) for number, each in enumerate(found, 1))

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
        page.add(*map(self.verdict, self.models), *differences_from_paper(self))
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


class _Results:
    """One model's column of the report."""

    def __init__(self, report: SanityReport, model: str):
        self.report, self.model = report, model
        self.run = {case.name: case for case in report.cases}
        self.broken = [name for name in self.run if report.cells[model, name].error]

    def mean(self, case: str) -> float | None:
        """Accuracy, or None where the case was not run or the model failed."""
        return None if case not in self.run or case in self.broken else self.report.cells[self.model, case].mean

    def fails(self, case: str) -> bool:
        return self.mean(case) is not None and not self.report.passed(self.model, case)

    def passes(self, case: str) -> bool:
        return self.mean(case) is not None and self.report.passed(self.model, case)

    def at_chance(self, case: str) -> bool:
        mean = self.mean(case)
        return mean is not None and mean < self.run[case].chance + CLOSE

    def percent(self, *cases: str, failed: float | None = None) -> str:
        means = (failed if self.mean(case) is None else self.mean(case) for case in cases)
        return " and ".join(f"{100 * mean:.1f} %" for mean in means if mean is not None)

    def uses_no_edges(self) -> bool:
        alone, joined = self.mean("semantic-uniform"), self.mean("semantic-homophily")
        if not any(map(self.at_chance, USELESS_FEATURES)) or alone is None or joined is None:
            return False
        return joined < alone + CLOSE and not self.at_chance("semantic-uniform")

    def learns_nothing(self) -> bool:
        """At chance wherever it predicted and something helps."""
        informative = [case.name for case in self.report.informative if case.name not in self.broken]
        return len(informative) > 1 and all(map(self.at_chance, informative))

    def opening(self) -> str:
        informative = [case.name for case in self.report.informative]
        if not informative:
            return f"{self.model} was run only where nothing helps."
        nothing = " It learns nothing: at chance in every one." if self.learns_nothing() else ""
        return f"{self.model} passes {sum(map(self.passes, informative))} of the {len(informative)} checks.{nothing}"

    def failures(self) -> Iterator[str]:
        errors = {name: str(self.report.cells[self.model, name].error) for name in self.broken}
        for reason in dict.fromkeys(errors.values()):
            names = [name for name in self.broken if errors[name] == reason]
            yield f"It gave no prediction on {'any case' if len(names) == len(self.run) else _listed(names)} ({reason})."


def _edges(results: _Results) -> Iterator[str]:
    """Useless features: only the edges help."""
    failed = [case for case in USELESS_FEATURES if results.fails(case)]
    numbers = results.percent(*failed)
    if failed and results.uses_no_edges():
        yield "It does not use the edges: it is no better where they help, and at chance where only they do."
    elif len(failed) == 2:
        at_all = ", or not at all" if all(map(results.at_chance, failed)) else ""
        yield f"It fails when the features are useless ({numbers}): it uses the graph only through them{at_all}."
    elif failed:
        kind = failed[0].split("-")[1]
        yield f"It fails when the features are useless and only the edges, under {kind}, help ({numbers})."


def _features(results: _Results) -> Iterator[str]:
    """Useless edges: only the features help."""
    case = "semantic-uniform"
    numbers = results.percent(case)
    if not results.fails(case):
        return
    if results.at_chance(case) and any(map(results.passes, USELESS_FEATURES)):
        yield f"It does not use the features: at chance ({numbers}) where only they help."
    elif (results.mean(case) or 0) > results.report.at_least - NARROWLY:
        yield f"It falls short where the edges are noise and only the features help ({numbers})."
    else:
        cannot = "it cannot ignore the neighbours and use a node's own features"
        yield f"It fails when the edges are noise ({numbers}): {cannot}."


def _kinds(results: _Results) -> Iterator[str]:
    """Homophily or heterophily alone."""
    if results.uses_no_edges():
        return
    for good, bad, belief in (("homophily", "heterophily", "alike"), ("heterophily", "homophily", "unlike")):
        kinds = [x for x in ("structural", "semantic") if results.passes(f"{x}-{good}") and results.fails(f"{x}-{bad}")]
        if kinds:
            numbers = results.percent(*(f"{x}-{bad}" for x in kinds))
            yield (
                f"It fails under {bad} with {' and '.join(kinds)} features ({numbers}), though not under {good}:"
                f" it assumes that neighbours are {belief}."
            )


def _both(results: _Results) -> Iterator[str]:
    """Features and edges both help, and still it fails, under homophily and heterophily."""
    meaning = {
        "structural": "features that describe a node's place in the graph, not its class, are too little for it",
        "semantic": "it fails even where features and edges agree",
    }
    for kind, words in meaning.items():
        cases = (f"{kind}-homophily", f"{kind}-heterophily")
        if all(map(results.fails, cases)):
            yield f"With {kind} features it fails under homophily and heterophily ({results.percent(*cases)}): {words}."


def _leak(results: _Results) -> Iterator[str]:
    high = [case.name for case in results.report.cases if not case.helps and results.fails(case.name)]
    if high:
        yield (
            f"It scores {results.percent(*high)} on {_listed(high)}, where nothing predicts the classes and"
            f" {100 * results.run[high[0]].chance:.0f} % is chance: it has seen test labels."
        )


@dataclass(frozen=True)
class Observation:
    """One observation: whether it holds (None: not tested), and the evidence."""

    number: int
    title: str
    holds: bool | None
    evidence: str

    def __str__(self) -> str:
        state = {True: "holds", False: "does not hold", None: "not tested"}[self.holds]
        return f"Observation {self.number} ({self.title}): {state}. {self.evidence}"


def differences_from_paper(report: SanityReport) -> list[str]:
    """Describe each cell whose ✓ or ✗ is not that of the paper's table; none for another protocol.

    Returns
    -------
    list of str
        One sentence per cell.
    """
    found: list[str] = []
    pairs = [(model, case.name) for model in report.models for case in report.informative]
    for model, case in [] if report.reduced else pairs:
        cell, printed = report.cells[model, case], paper.accuracy("sanity", model, case)
        if not isinstance(printed, tuple) or cell.error:
            continue
        if report.passed(model, case) != (printed[0] >= 100 * report.at_least):
            theirs = f"{printed[0]:.1f} ± {printed[1]:.1f} %"
            found.append(f"Unlike the paper: {model} on {case} has {100 * cell.mean:.1f} % here, {theirs} there.")
    return found


def _summary(report: SanityReport) -> tuple[bool | None, str]:
    passed = sum(report.passed(OURS, case) for case in CASES)
    red = sum(report.is_red(OURS, case) for case in CASES)
    averages = {model: report.average(model)[0] for model in report.models}
    ranks = {model: report.average_rank(model)[0] for model in report.models}
    first = not any(averages[model] > averages[OURS] or ranks[model] < ranks[OURS] for model in report.models)
    return passed == len(CASES) and not red and first, (
        f"SlimG passes {passed} of {len(CASES)}, has {number_of(red, 'red cell')}, average accuracy"
        f" {100 * averages[OURS]:.1f} % ({_place(averages, OURS, -1)}) and average rank {ranks[OURS]:.1f}"
        f" ({_place(ranks, OURS, 1)} of {len(ranks)} models)."
    )


def _no_network_effects(report: SanityReport) -> tuple[bool | None, str]:
    case = "semantic-uniform"
    well = [m for m in report.models if not report.cells[m, case].error and not report.is_red(m, case)]
    holds = set(USE_RAW_FEATURES) & set(report.models) <= set(well) and 2 * len(well) < len(report.models)
    return holds, f"On {case}, {len(well)} of {len(report.models)} models are not red: {', '.join(well) or 'none'}."


def _useless_features(report: SanityReport) -> tuple[bool | None, str]:
    others = [model for model in report.models if model != OURS]
    if not others:
        return None, "It is about models other than SlimG."
    passing = [model for model in others if any(report.passed(model, case) for case in USELESS_FEATURES)]
    best = max(others, key=lambda model: max(_Results(report, model).mean(case) or 0.0 for case in USELESS_FEATURES))
    who = f"these pass: {', '.join(passing)}" if passing else f"none of {len(others)} passes; the best is {best}"
    numbers = _Results(report, best).percent(*USELESS_FEATURES, failed=0)
    return not passing, f"Of the models other than SlimG, {who} ({numbers})."


def _heterophily(report: SanityReport) -> tuple[bool | None, str]:
    present = [model for model in REACH_EVEN_HOPS if model in report.models]
    numbers = "; ".join(f"{model} {_Results(report, model).percent(*HETEROPHILY, failed=0)}" for model in present)
    holds = all(any(report.passed(model, case) for case in HETEROPHILY) for model in present)
    return holds, f"With semantic and with structural features: {numbers}."


def _missing(report: SanityReport, cases: tuple[str, ...], any_of: tuple[str, ...] = (), colours: bool = False) -> str:
    """A sentence that says what must be run for an observation to be tested."""
    run = {case.name for case in report.cases}
    absent = [case for case in cases if case not in run]
    if absent:
        return f"It needs the case {', '.join(absent)}."
    if any_of and not set(any_of) & set(report.models):
        return f"It needs the model {' or '.join(any_of)}."
    if colours and (len(report.models) < 3 or report.seeds < 2):
        return "It needs at least three models and two splits, or no cell can be red."
    return ""


def _place(values: dict[str, float], model: str, sign: int) -> str:
    place = 1 + sum(sign * other < sign * values[model] for other in values.values())
    return {1: "first", 2: "second", 3: "third"}.get(place, f"place {place}")


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
