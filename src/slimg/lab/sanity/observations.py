"""The paper's four observations from its sanity checks, each tested on the numbers at hand.

    1  Summary             SlimG passes every case without a red cell, with the best average accuracy and rank
    2  No network effects  only a few models do well on uniform A, S²GC and GraphSAGE among them: fewer than half are
                           not red there, and those two are among them
    3  Useless features    no other model passes with random X
    4  Heterophily         G²CN, GraphSAGE and GPR-GNN pass under heterophily with semantic or with structural X

An observation whose models, cases or splits were not run is not judged.
"""

from __future__ import annotations

from dataclasses import dataclass

from slimg.graph.columns import number_of
from slimg.lab.sanity.report import SanityReport
from slimg.lab.sanity.scenarios import CASES

OURS = "slimg"
READ_RAW_FEATURES = ("s2gc", "sage")
REACH_EVEN_HOPS = ("g2cn", "sage", "gprgnn")


@dataclass(frozen=True)
class Observation:
    """One observation: does it hold (None: not judged), and on what evidence."""

    number: int
    title: str
    holds: bool | None
    evidence: str

    def __str__(self) -> str:
        state = {True: "holds", False: "does not hold", None: "not judged"}[self.holds]
        return f"Observation {self.number} ({self.title}): {state}. {self.evidence}"


def observations(report: SanityReport) -> tuple[Observation, ...]:
    """All four."""
    return (
        Observation(1, "summary", *_summary(report)),
        Observation(2, "no network effects", *_no_network_effects(report)),
        Observation(3, "useless features", *_useless_features(report)),
        Observation(4, "heterophily graphs", *_heterophily(report)),
    )


def _summary(report: SanityReport) -> tuple[bool | None, str]:
    lacking = _lacking(report, CASES, (OURS,), colours=True)
    if lacking:
        return None, lacking
    failed = [case for case in CASES if not report.passed(OURS, case)]
    red = [case for case in CASES if report.is_red(OURS, case)]
    averages = {model: report.average(model)[0] for model in report.models}
    ranks = {model: report.average_rank(model)[0] for model in report.models}
    first = not any(averages[model] > averages[OURS] or ranks[model] < ranks[OURS] for model in report.models)
    return not failed and not red and first, (
        f"SlimG passes {len(CASES) - len(failed)} of {len(CASES)}, has {number_of(len(red), 'red cell')}, average accuracy"
        f" {100 * averages[OURS]:.1f} % ({_place(averages, OURS, -1)}) and average rank {ranks[OURS]:.1f}"
        f" ({_place(ranks, OURS, 1)} of {len(ranks)} models)."
    )


def _no_network_effects(report: SanityReport) -> tuple[bool | None, str]:
    case = "semantic-uniform"
    there = [model for model in READ_RAW_FEATURES if model in report.models]
    lacking = _lacking(report, (case,), READ_RAW_FEATURES, colours=True)
    if lacking:
        return None, lacking
    well = [m for m in report.models if not report.cells[m, case].error and not report.is_red(m, case)]
    holds = set(there) <= set(well) and 2 * len(well) < len(report.models)
    return holds, f"On {case}, {len(well)} of {len(report.models)} models are not red: {', '.join(well) or 'none'}."


def _useless_features(report: SanityReport) -> tuple[bool | None, str]:
    cases = ("random-homophily", "random-heterophily")
    others = [model for model in report.models if model != OURS]
    lacking = _lacking(report, cases, ()) or (None if others else "It speaks of models other than SlimG.")
    if lacking:
        return None, lacking
    passing = [model for model in others if any(report.passed(model, case) for case in cases)]
    best = max(others, key=lambda model: max(_mean(report, model, case) for case in cases))
    figures = " and ".join(f"{100 * _mean(report, best, case):.1f} %" for case in cases)
    who = f"these pass: {', '.join(passing)}" if passing else f"none of {len(others)} passes; the best is {best}"
    return not passing, f"Of the models other than SlimG, {who} ({figures})."


def _heterophily(report: SanityReport) -> tuple[bool | None, str]:
    cases = ("semantic-heterophily", "structural-heterophily")
    there = [model for model in REACH_EVEN_HOPS if model in report.models]
    lacking = _lacking(report, cases, REACH_EVEN_HOPS)
    if lacking:
        return None, lacking
    said = [
        f"{model} {' and '.join(f'{100 * _mean(report, model, case):.1f} %' for case in cases)}" for model in there
    ]
    holds = all(any(report.passed(model, case) for case in cases) for model in there)
    return holds, f"With semantic and with structural features: {'; '.join(said)}."


def _lacking(
    report: SanityReport, cases: tuple[str, ...], any_of: tuple[str, ...], colours: bool = False
) -> str | None:
    """A sentence saying what must be run for an observation to be judged."""
    run = {case.name for case in report.cases}
    absent = [case for case in cases if case not in run]
    if absent:
        return f"It needs the case {', '.join(absent)}."
    if any_of and not set(any_of) & set(report.models):
        return f"It needs the model {' or '.join(any_of)}."
    if colours and (len(report.models) < 3 or report.seeds < 2):
        return "It needs at least three models and two splits, or no cell can be red."
    return None


def _mean(report: SanityReport, model: str, case: str) -> float:
    """Accuracy; 0 for a model that gave none."""
    cell = report.cells[model, case]
    return 0.0 if cell.error else cell.mean


def _place(values: dict[str, float], model: str, sign: int) -> str:
    place = 1 + sum(sign * other < sign * values[model] for other in values.values())
    return {1: "first", 2: "second", 3: "third"}.get(place, f"place {place}")
