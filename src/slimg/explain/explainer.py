"""Explanations of nodes of one graph: what each component attributes, with names.

    scores_i = b + Σ_g p_g,i W_g        p_g,i W_g = Σ features = Σ sources + rest      (`Component.attribute`)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slimg.engine.base import Array
from slimg.explain.explanation import Explanation, Part
from slimg.inference.scoring import Scorer, View


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
