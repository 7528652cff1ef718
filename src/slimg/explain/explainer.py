"""Explanations of nodes of one graph: what each component attributes, with names.

    scores_i = b + Σ_g p_g,i W_g        p_g,i W_g = Σ features = Σ sources + rest      (`Component.attribute`)

The weights of a whole model: components, features and classes, and what the penalty removed.

    component   ‖W_g‖_F
    feature     β_g = C_gᵀ W_g  (d × c), less its mean over classes: what one unit of the feature adds to a class's score
                before the row's length is divided out

An explanation as sentences and as plain values for JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.explain.explanation import Explanation, Part, Term, plain, top_terms
from slimg.graph.columns import number_of, show
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
        known = self.classes.tolist()
        if label not in known:
            raise InputError(f"no class {label!r}: the model knows {show(known)}")
        column = np.maximum(self.features[component][:, known.index(label)], 0)
        places = np.argsort(-column, kind="stable")[:k]
        own = self.feature_names[component]
        names = [own[j] if own else f"feature {j}" for j in places.tolist() if column[j] > 0]
        return top_terms(column, names, k, "other feature")[: len(names)]

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
        return {
            "classes": known,
            "components": [
                {
                    "name": name,
                    "title": self.titles[name],
                    "short_title": self.short_titles[name],
                    "norm": norm,
                    "share": self.share(name),
                    "removed": norm == 0,
                }
                for name, norm in self.components.items()
            ],
            "bias": self.bias.tolist(),
            "features": {
                name: {str(label): [list(term[:2]) for term in self.top_features(name, label, k)] for label in known}
                for name in self.features
            },
        }


MATTERS = 0.05
"""Share of the largest part below which a component is not described in detail."""


def format_explanation(explanation: Explanation, k: int = 4) -> str:
    """Sentences; every number is for the predicted class against the mean of all classes."""
    probability = dict(zip(explanation.classes.tolist(), explanation.probabilities, strict=True))
    first, second = explanation.prediction, explanation.runner_up
    parts = explanation.components(against="mean")
    lines = [
        f"{_name(explanation.node)} is classified as {_name(first)} (probability {probability[plain(first)]:.2f};"
        f" next is {_name(second)} with {probability[plain(second)]:.2f}).",
        f"Its score is {explanation.score(against='mean'):+.2f} against the mean of all classes, of which the bias is"
        f" {parts['bias']:+.2f}.",
    ]
    used = [part for part in explanation.parts if not part.removed]
    least = MATTERS * max((abs(parts[part.name]) for part in used), default=0.0)
    for part in sorted(used, key=lambda part: -abs(parts[part.name])):
        lines.append(_component(explanation, part, parts[part.name], k if abs(parts[part.name]) >= least else 0))
    removed = [part.title for part in explanation.parts if part.removed]
    if removed:
        lines.append(f"Not used, because the penalty removed it: {'; '.join(removed)}.")
    return "\n".join(lines)


def explanation_dict(explanation: Explanation, k: int = 10) -> dict[str, Any]:
    """Plain numbers, text and lists; lists over classes are in the order of ``classes``."""
    return {
        "node": plain(explanation.node),
        "prediction": plain(explanation.prediction),
        "classes": explanation.classes.tolist(),
        "probabilities": explanation.probabilities.tolist(),
        "scores": explanation.scores.tolist(),
        "bias": explanation.bias.tolist(),
        "rounding": explanation.rounding.tolist(),
        "components": [_part_dict(explanation, part, k) for part in explanation.parts],
    }


def _component(explanation: Explanation, part: Part, value: float, k: int) -> str:
    """``Its own features (+2.10): index +1.10, query +0.80, 12 other features +0.20.``"""
    title = part.title[0].upper() + part.title[1:]
    said = f"{title} ({value:+.2f})"
    if k == 0:
        return f"{said}."
    clauses = []
    if part.features is not None:
        clauses.append(_terms(explanation.top_features(part.name, k, against="mean")))
    if part.reach and len(part.source_ids):
        sources = explanation.top_sources(part.name, k, against="mean")
        clauses.append(f"from {number_of(len(part.source_ids), 'node')}: {_terms(sources, explanation.node)}")
    return f"{said}: {'; '.join(clauses)}." if clauses else f"{said}."


def _terms(terms: Iterable[Term], itself: Any = None) -> str:
    def shown(term: Term) -> str:
        if itself is not None and term.stands_for == 1 and term.name == itself:
            return "itself"
        return str(term.name)

    return ", ".join(f"{shown(term)} {term.contribution:+.2f}" for term in terms)


def _part_dict(explanation: Explanation, part: Part, k: int) -> dict[str, Any]:
    place = int(explanation.scores.argmax())
    z = np.full(len(explanation.classes), -1 / len(explanation.classes))
    z[place] += 1
    record: dict[str, Any] = {
        "name": part.name,
        "title": part.title,
        "removed": part.removed,
        "length": float(part.length),
        "scores": part.scores.tolist(),
    }
    if part.features is not None and part.values is not None and part.averages is not None:
        chosen = _chosen(part.features @ z, k)
        record["features"] = [
            {
                "name": explanation.feature_name(int(j), part),
                "value": float(part.values[j]),
                "average": float(part.averages[j]),
                "scores": part.features[j].tolist(),
            }
            for j in chosen
        ]
        record["other_features"] = _others(part.features, chosen)
    chosen = _chosen(part.source_scores @ z, k)
    record["sources"] = [
        {
            "id": plain(part.source_ids[i]),
            "label": plain(part.source_labels[i]),
            "weight": float(part.source_weights[i]),
            "scores": part.source_scores[i].tolist(),
        }
        for i in chosen
    ]
    record["other_sources"] = _others(part.source_scores, chosen)
    record["source_rest"] = part.source_rest.tolist()
    return record


def _chosen(values: Array, k: int) -> Array:
    return np.argsort(-np.abs(values), kind="stable")[:k]


def _others(scores: Array, chosen: Array) -> dict[str, Any]:
    kept = np.ones(len(scores), bool)
    kept[chosen] = False
    return {"count": int(kept.sum()), "scores": scores[kept].sum(axis=0).tolist()}


def _name(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)
