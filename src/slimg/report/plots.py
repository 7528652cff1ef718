"""Figures of a fitted model, with matplotlib, which is imported when the first one is asked for.

    model.plot.components()     ‖W_g‖_F of each component, those the penalty removed marked
    model.plot.path()           validation accuracy of every candidate, and the chosen one
    model.plot.features(label)  the features that speak most for a class
    model.plot.explanation(id)  what each component gave to the score of a node's class

Each draws on ``ax`` if one is given and returns the axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slimg.learn.selection import APART, series_of

INK, PALE, MARK = "#2b5c8a", "#b9c7d4", "#c2410c"


class Plots:
    """What ``model.plot`` is, of a fitted model."""

    def __init__(self, model: Any):
        self._model = model

    def components(self, ax: Any = None) -> Any:
        """Bars of ‖W_g‖_F."""
        weights = self._model.component_weights()
        ax = _axes(ax)
        ax.bar(list(weights), list(weights.values()), color=INK)
        for place, value in enumerate(weights.values()):
            if value == 0:
                ax.annotate("removed", (place, 0), ha="center", va="bottom", color=MARK)
        ax.set_ylabel("‖W‖")
        ax.set_title("What each component weighs")
        return ax

    def path(self, ax: Any = None) -> Any:
        """Validation accuracy over λ₂, a line for each λ₁ (dashed: one joint group), points for components learned apart."""
        model, ax = self._model, _axes(ax)
        records, best = model.selection_, model.chosen_
        for name, series in series_of(records).items():
            line = "" if name == APART else "-" if name.startswith("λ₁") else "--"
            ax.plot(*zip(*series, strict=True), marker="o", linestyle=line, label=name)
        ax.plot([best["group"]], [best["val_accuracy"]], marker="*", markersize=16, color=MARK, label="chosen")
        if all(record["group"] > 0 for record in records):
            ax.set_xscale("log")
        ax.set_xlabel("λ₂")
        ax.set_ylabel("validation accuracy")
        ax.legend()
        return ax

    def features(self, label: Any, component: str | None = None, k: int = 10, ax: Any = None) -> Any:
        """The k features that speak most for a class, in a component (by default the heaviest one made of features)."""
        summary = self._model.summary()
        name = component or max(summary.features, key=lambda each: summary.components[each])
        terms = summary.top_features(name, label, k)[::-1]
        ax = _axes(ax)
        ax.barh([_literal(term.name) for term in terms], [term.contribution for term in terms], color=INK)
        ax.set_title(_literal(f"What speaks for {label} ({name})"))
        return ax

    def explanation(self, node: Any, graph: Any = None, ax: Any = None) -> Any:
        """Contributions to the score of the node's class, against the mean of all classes."""
        explanation = self._model.explain(node, graph)
        parts = explanation.components(against="mean")
        parts.pop("rounding")
        ax = _axes(ax)
        values = np.array(list(parts.values()))
        ax.barh(list(parts), values, color=np.where(values >= 0, INK, MARK))
        ax.axvline(0, color=PALE)
        ax.invert_yaxis()
        ax.set_title(_literal(f"Why {node} is {explanation.prediction}"))
        return ax


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]


def _literal(text: Any) -> str:
    """Text that matplotlib must not read as mathematics."""
    return str(text).replace("$", r"\$")
