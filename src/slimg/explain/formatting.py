"""An explanation as sentences and as plain values for JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.explain.explanation import Explanation, Part, Term, plain
from slimg.graph.columns import number_of

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
