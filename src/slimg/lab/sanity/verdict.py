"""What a model cannot do, in plain words, from which cases it fails.

    fails random X (both A)         it reads the graph only through the features
    fails uniform A                 it cannot leave noisy edges aside
    fails A of one kind only        it takes neighbours to be alike (or unlike)
    no better with edges than without, and at chance on random X: it does not use the edges at all
    above chance where nothing helps: it has seen what it must not see
"""

from __future__ import annotations

from slimg.lab.sanity.report import SanityReport

CLOSE = 0.05
"""Accuracies nearer than this count as the same, and as chance."""
NARROWLY = 0.1
"""Who misses the mark by less than this is not told a cause."""


def verdict(report: SanityReport, model: str) -> str:
    """One paragraph on one model."""
    view = _View(report, model)
    told = [view.opening()]
    told += view.failures()
    rules = (_leak,) if view.learns_nothing() else (_edges, _features, _kinds, _both, _leak)
    told += [sentence for rule in rules if (sentence := rule(view))]
    if len(told) == 1 and report.passes(model):
        told.append("Nothing that was tried here misleads it.")
    return " ".join(told)


class _View:
    """One model's column of the report."""

    def __init__(self, report: SanityReport, model: str):
        self.report, self.model = report, model
        self.run = {case.name: case for case in report.cases}
        self.broken = [name for name in self.run if report.cells[model, name].error]

    def mean(self, case: str) -> float | None:
        """Accuracy, or None where the case was not run or the model broke."""
        return None if case not in self.run or case in self.broken else self.report.cells[self.model, case].mean

    def fails(self, case: str) -> bool:
        return self.mean(case) is not None and not self.report.passed(self.model, case)

    def passes(self, case: str) -> bool:
        return self.mean(case) is not None and self.report.passed(self.model, case)

    def at_chance(self, case: str) -> bool:
        mean = self.mean(case)
        return mean is not None and mean < self.run[case].chance + CLOSE

    def percent(self, *cases: str) -> str:
        return " and ".join(f"{100 * mean:.1f} %" for case in cases if (mean := self.mean(case)) is not None)

    def uses_no_edges(self) -> bool:
        alone, joined = self.mean("semantic-uniform"), self.mean("semantic-homophily")
        blind = self.at_chance("random-homophily") or self.at_chance("random-heterophily")
        if not blind or alone is None or joined is None:
            return False
        return joined < alone + CLOSE and not self.at_chance("semantic-uniform")

    def learns_nothing(self) -> bool:
        """At chance wherever it answered and something helps."""
        held = [case.name for case in self.report.informative if case.name not in self.broken]
        return len(held) > 1 and all(self.at_chance(name) for name in held)

    def opening(self) -> str:
        held = [case.name for case in self.report.informative]
        passed = sum(self.passes(name) for name in held)
        if not held:
            return f"{self.model} was tried only where nothing helps."
        nothing = " It learns nothing: at chance in every one." if self.learns_nothing() else ""
        return f"{self.model} passes {passed} of the {len(held)} checks.{nothing}"

    def failures(self) -> list[str]:
        reasons: dict[str, list[str]] = {}
        for name in self.broken:
            reasons.setdefault(str(self.report.cells[self.model, name].error), []).append(name)
        everywhere = len(self.run)
        return [
            f"It gave no answer on {'any case' if len(names) == everywhere else _listed(names)} ({reason})."
            for reason, names in reasons.items()
        ]


def _edges(view: _View) -> str | None:
    """Useless features: only the edges help."""
    failed = [case for case in ("random-homophily", "random-heterophily") if view.fails(case)]
    if not failed:
        return None
    if view.uses_no_edges():
        return "It does not use the edges: it is no better where they help, and at chance where only they do."
    if len(failed) == 2:
        at_all = ", or not at all" if all(view.at_chance(case) for case in failed) else ""
        figures = view.percent(*failed)
        return f"It fails when the features are useless ({figures}): it reads the graph only through them{at_all}."
    kind = failed[0].split("-")[1]
    return f"It fails when the features are useless and only the edges, under {kind}, help ({view.percent(*failed)})."


def _features(view: _View) -> str | None:
    """Useless edges: only the features help."""
    case = "semantic-uniform"
    if not view.fails(case):
        return None
    if view.at_chance(case) and (view.passes("random-homophily") or view.passes("random-heterophily")):
        return f"It does not use the features: at chance ({view.percent(case)}) where only they help."
    if (view.mean(case) or 0) > view.report.at_least - NARROWLY:
        return f"It falls short where the edges are noise and only the features help ({view.percent(case)})."
    return (
        f"It fails when the edges are noise ({view.percent(case)}): it cannot leave the neighbours aside and"
        " read a node's own features."
    )


def _kinds(view: _View) -> str | None:
    """Homophily or heterophily alone."""
    if view.uses_no_edges():
        return None
    told = []
    for good, bad, belief in (("homophily", "heterophily", "alike"), ("heterophily", "homophily", "unlike")):
        kinds = [x for x in ("structural", "semantic") if view.passes(f"{x}-{good}") and view.fails(f"{x}-{bad}")]
        if kinds:
            figures = view.percent(*(f"{x}-{bad}" for x in kinds))
            told.append(
                f"It fails under {bad} with {' and '.join(kinds)} features ({figures}), though not under {good}:"
                f" it takes neighbours to be {belief}."
            )
    return " ".join(told) or None


def _both(view: _View) -> str | None:
    """Features and edges both help, under homophily and heterophily alike, and still it fails."""
    meaning = {
        "structural": "features that tell a node's place in the graph rather than its class are too little for it",
        "semantic": "it fails even where features and edges agree",
    }
    told = []
    for kind, words in meaning.items():
        cases = (f"{kind}-homophily", f"{kind}-heterophily")
        if all(view.fails(case) for case in cases):
            figures = view.percent(*cases)
            told.append(f"With {kind} features it fails under homophily and heterophily ({figures}): {words}.")
    return " ".join(told) or None


def _leak(view: _View) -> str | None:
    high = [case.name for case in view.report.cases if not case.helps and view.fails(case.name)]
    if not high:
        return None
    return (
        f"It scores {view.percent(*high)} on {_listed(high)}, where nothing tells the classes and"
        f" {100 * view.run[high[0]].chance:.0f} % is chance: it has seen labels that it must not see."
    )


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
