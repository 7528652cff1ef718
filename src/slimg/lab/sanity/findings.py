"""What follows from a report: a verdict on each model, the paper's observations, and differences from its table.

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

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import slimg.lab.shared.paper as paper
from slimg.graph.columns import number_of
from slimg.lab.sanity.case import CASES

if TYPE_CHECKING:
    from slimg.lab.sanity.report import SanityReport

CLOSE = 0.05
"""Accuracies nearer than this count as the same, and as chance."""
NARROWLY = 0.1
"""No cause is given for a model that misses the threshold by less than this."""
OURS = "slimg"
USE_RAW_FEATURES = ("s2gc", "sage")
REACH_EVEN_HOPS = ("g2cn", "sage", "gprgnn")
USELESS_FEATURES = ("random-homophily", "random-heterophily")
HETEROPHILY = ("semantic-heterophily", "structural-heterophily")


def verdict(report: SanityReport, model: str) -> str:
    """Say in one paragraph what a model cannot do.

    Returns
    -------
    str
    """
    results = _Results(report, model)
    rules = (_leak,) if results.learns_nothing() else (_edges, _features, _kinds, _both, _leak)
    sentences = [results.opening(), *results.failures(), *chain.from_iterable(rule(results) for rule in rules)]
    if len(sentences) == 1 and report.passes(model):
        sentences.append("Nothing that was tried here misleads it.")
    return " ".join(sentences)


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


def observations(report: SanityReport) -> tuple[Observation, ...]:
    """Test the four observations of the paper.

    Returns
    -------
    tuple of Observation
    """
    tests = (
        ("summary", _summary, _missing(report, CASES, (OURS,), colours=True)),
        ("no network effects", _no_network_effects, _missing(report, ("semantic-uniform",), USE_RAW_FEATURES, colours=True)),
        ("useless features", _useless_features, _missing(report, USELESS_FEATURES)),
        ("heterophily graphs", _heterophily, _missing(report, HETEROPHILY, REACH_EVEN_HOPS)),
    )
    found = [(title, *((None, missing) if missing else test(report))) for title, test, missing in tests]
    return tuple(Observation(number, *each) for number, each in enumerate(found, 1))


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
