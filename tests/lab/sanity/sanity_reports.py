"""Reports from given numbers, and small models, for the tests of this folder."""

import numpy as np

from slimg.lab.sanity.case import CASES, EMPTY, helps
from slimg.lab.sanity.report import CaseFacts, Cell, SanityReport
from slimg.lab.shared import paper

FIGURES = {model: tuple(map(tuple, row.values())) for model, row in paper.tables()["accuracy"]["sanity"].items()}
"""The paper's table, in the order of `CASES`."""


def facts(name, n=6000):
    return CaseFacts(name, helps(name), 0.25, n // 5, {"n": n}, ())


def cell(mean, spread=0.0):
    """Two splits with that mean and standard deviation, in percent."""
    return Cell(((mean - spread) / 100, (mean + spread) / 100), None, 1.0)


def report(numbers, seeds=2, cases=None):
    """{model: {case: percent, (percent, spread) or Cell}} as a report; ``cases`` gives their order."""
    cases = cases or [case for case in CASES + EMPTY if case in next(iter(numbers.values()))]
    cells = {}
    for model, row in numbers.items():
        for case in cases:
            value = row[case]
            cells[model, case] = value if isinstance(value, Cell) else cell(*np.atleast_1d(value))
    return SanityReport(tuple(numbers), tuple(facts(case) for case in cases), seeds, cells)


def paper_report(models=tuple(FIGURES)):
    """The paper's table, as if its two numbers came from two splits."""
    return report({model: dict(zip(CASES, FIGURES[model], strict=True)) for model in models})


class Majority:
    """The least that fits and predicts."""

    def fit(self, graph):
        self.answer = graph.classes[np.bincount(graph.codes[graph.labelled]).argmax()]
        self.n = graph.n

    def predict(self):
        return np.full(self.n, self.answer)
