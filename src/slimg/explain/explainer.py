"""Explanations of nodes of one graph: what each component attributes, with names.

    scores_i = b + Σ_g p_g,i W_g        p_g,i W_g = Σ features = Σ sources + rest      (`Component.attribute`)

The weights of a whole model: components, features and classes, and what the penalty removed.

    component   ‖W_g‖_F
    feature     β_g = C_gᵀ W_g  (d × c), less its mean over classes: what one unit of the feature adds to a class's score
                before the row's length is divided out
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.explain.explanation import Explanation, Part, Term, class_place, largest
from slimg.graph.columns import show
from slimg.inference.fold_in import Scorer, View


def explain_rows(scorer: Scorer, view: View, rows: Sequence[int] | Array) -> list[Explanation]:
    """Explain nodes of a graph.

    Parameters
    ----------
    scorer : Scorer
        The fitted model.
    view : View
        The graph, with the scores that the parts have to add up to.
    rows : array of shape (m,)
        Row numbers of the nodes.

    Returns
    -------
    list of Explanation
        One for each row.
    """
    rows = np.asarray(rows)
    columns = [_parts(scorer, view, name, rows) for name in scorer.weights]
    bias, names = scorer.intercept.astype(np.float64), view.graph.feature_names
    found = []
    for k, row in enumerate(rows):
        parts = tuple(column[k] for column in columns)
        scores = view.scores[row].astype(np.float64)
        rounding = scores - bias - np.sum([part.scores for part in parts], axis=0)
        found.append(Explanation(view.graph.ids.item(int(row)), scorer.classes, scores, bias, parts, rounding, names))
    return found


def _parts(scorer: Scorer, view: View, name: str, rows: Array) -> list[Part]:
    """The parts of one component."""
    title, graph = scorer.titles[name], view.graph
    if name not in scorer.used:
        c, nothing = len(scorer.classes), np.zeros(0)
        return [Part(name, title, True, np.zeros(c), 0.0, nothing, [], nothing, np.zeros((0, c)))] * len(rows)
    fitted = scorer.components[name]
    weights = scorer.weights[name].astype(np.float64)
    names = scorer.feature_names(name)
    found = []
    for each in fitted.component.attribute(fitted.state, weights, view.target(rows)):
        labels = [graph.classes[code] if code >= 0 else None for code in graph.codes[each.sources]]
        part = Part(
            name, title, False, each.scores, each.length, graph.ids[each.sources], labels, each.source_weights,
            each.source_scores, each.features, each.values, each.averages, names, fitted.component.reach,
        )  # fmt: skip
        found.append(part)
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """The weights of a model; printing it shows them in sentences.

    Attributes
    ----------
    classes : array of shape (c,)
        The labels, sorted.
    components : dict of str to float
        Name → ‖W_g‖_F.
    titles, short_titles : dict of str to str
        Name → the component in words.
    removed : tuple of str
        Names of components whose weights are exactly zero.
    bias : array of shape (c,)
        Sums to zero.
    features : dict of str to array of shape (d, c)
        Name → the weight of each feature for each class, each row summing to zero.
    feature_names : dict of str to tuple of str or None
        Name → names of those features; None where they have none.

    Examples
    --------
    >>> from slimg import Graph, SlimG
    >>> edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("d", "f")]
    >>> labels = {"a": "left", "c": "left", "d": "right", "f": "right"}
    >>> model = SlimG(grid=[(0, 1e-2)]).fit(Graph.from_edges(edges, labels=labels))
    >>> summary = model.summary()
    >>> list(summary.components), summary.removed
    (['U'], ())
    """

    classes: Array
    components: dict[str, float]
    titles: dict[str, str]
    short_titles: dict[str, str]
    removed: tuple[str, ...]
    bias: Array
    features: dict[str, Array]
    feature_names: dict[str, tuple[str, ...] | None]

    def __repr__(self) -> str:
        return self.text()

    @classmethod
    def of(cls, scorer: Scorer, feature_names: tuple[str, ...] | None) -> Summary:
        """Summarise a fitted model.

        Parameters
        ----------
        scorer : Scorer
            The fitted model.
        feature_names : tuple of str or None
            Names of the features of the graph.

        Returns
        -------
        Summary
            Its weights.
        """
        norms = {name: float(np.linalg.norm(weights)) for name, weights in scorer.weights.items()}
        removed = tuple(name for name in scorer.weights if name not in scorer.used)
        features = {name: beta - beta.mean(axis=1, keepdims=True) for name, beta in scorer.loadings.items()}
        names = {name: scorer.feature_names(name) or feature_names for name in features}
        bias = scorer.intercept.astype(np.float64)
        return cls(scorer.classes, norms, scorer.titles, scorer.short_titles, removed, bias, features, names)

    def share(self, component: str) -> float:
        """Give the norm of a component as a share of the sum over components.

        Parameters
        ----------
        component : str
            Its short name.

        Returns
        -------
        float
            Between 0 and 1.
        """
        return self.components[component] / (sum(self.components.values()) or 1.0)

    def top_features(self, component: str, label: Any, k: int = 10) -> list[Term]:
        """Find the features that speak most for a class.

        Parameters
        ----------
        component : str
            Its short name.
        label : object
            The class.
        k : int, default=10
            How many features.

        Returns
        -------
        list of Term
            Most first.
        """
        if component not in self.features:
            raise InputError(f"no weights of features for {component!r}: there are those of {show(self.features)}")
        column = np.maximum(self.features[component][:, class_place(self.classes, label)], 0)
        own = self.feature_names[component]
        return [Term(own[j] if own else f"feature {j}", float(column[j])) for j in largest(column, k).tolist()]

    def text(self, k: int = 5) -> str:
        """Summarise in sentences.

        Parameters
        ----------
        k : int, default=5
            How many features are named for each class.

        Returns
        -------
        str
            Lines of text.
        """
        order = sorted(self.components, key=lambda name: -self.components[name])
        lines = [f"{name}, {self.titles[name]}: {self.share(name):.0%}." for name in order if name not in self.removed]
        lines += [f"{name}, {self.titles[name]}: removed by the penalty." for name in self.removed]
        if self.features:
            main = max(self.features, key=lambda name: self.components[name])
            for label in self.classes.tolist():
                words = ", ".join(str(term.name) for term in self.top_features(main, label, k))
                lines.append(f"Features that speak most for {label}, in {self.titles[main]}: {words}.")
        return "\n".join(lines)

    def to_dict(self, k: int = 20) -> dict[str, Any]:
        """Convert to plain values for JSON.

        Parameters
        ----------
        k : int, default=20
            How many features are listed for each component and class.

        Returns
        -------
        dict
            Classes, components, bias and features.
        """
        known = self.classes.tolist()
        components = [
            {"name": name, "title": self.titles[name], "short_title": self.short_titles[name], "norm": norm,
             "share": self.share(name), "removed": norm == 0}
            for name, norm in self.components.items()
        ]  # fmt: skip
        features = {
            name: {str(label): [list(term[:2]) for term in self.top_features(name, label, k)] for label in known}
            for name in self.features
        }
        return {"classes": known, "components": components, "bias": self.bias.tolist(), "features": features}
