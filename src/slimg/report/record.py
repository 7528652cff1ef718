"""The record of a fit: all that a page shows, as plain values that JSON can hold.

read        sizes, notes, files, command
held_out    score of the fit's measure, accuracy, confusion, classes, calibration on held-out labels (`summary`), and the
            ranking of the rarer of two classes (`report.ranking`)
comparison  features alone and boosted trees on the same labels (`report.comparison`)
model       weights of components, of features per class, penalties that were tried and the chosen ones
diagnosis   verdict and the numbers behind it, or None
nodes       ids, codes of labels (−1: none) and predictions, probabilities in thousandths; as many rows as fit; and
            probabilities of each class (of two: the second) where there is room
explained   row → explanation and neighbours, for a bounded number of nodes

How good predictions are: held-out probabilities, accuracy with its interval, confusion, classes, calibration.

interval      Wilson's, at 95 %
precision_c   correct c / predicted c        recall_c   correct c / true c        F1 = 2PR/(P + R)
calibration   nodes in ten bins of their probability: mean probability beside the share that is correct;
              the error is Σ_bins (size/n) |share − mean|
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from slimg import __version__
from slimg.errors import InputError
from slimg.explain.evidence import wilson
from slimg.explain.measures import draws, interval, measure
from slimg.graph.graph import Graph
from slimg.inference.predictions import Chances
from slimg.learn.objective import softmax
from slimg.progress import SILENT, Progress
from slimg.report.comparison import compare
from slimg.report.ranking import ranking

BINS = 10
Model = Any
"""A fitted `SlimG`, whose methods import this package: it is not imported here."""


def held_out(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the training nodes from models fitted without their labels.

    They come from the folds in which the penalties were chosen. As the penalties are the best of a few on these same
    labels, measures of these probabilities are slightly optimistic.

    Returns
    -------
    rows : ndarray of shape (m,)
        Rows of the training nodes that a fold held out.
    probabilities : ndarray of shape (m, c)

    Raises
    ------
    InputError
        If the model was fitted with validation rows, so that there were no folds.
    """
    if model.held_out_scores_ is None:
        raise InputError("the model was fitted with validation rows, so no fold held out its labels: fit without val")
    seen = np.isfinite(model.held_out_scores_).all(axis=1)  # the only labelled node of a class is never held out
    return model.trained_on_[seen], softmax(np.divide(model.held_out_scores_[seen], model.temperature_, dtype=np.float64))


def confusion(truth: np.ndarray, found: np.ndarray, classes: int) -> np.ndarray:
    """Counts of true and predicted classes.

    Returns
    -------
    ndarray of shape (c, c)
        Row: the true class. Column: the predicted class.
    """
    return np.bincount(truth * classes + found, minlength=classes * classes).reshape(classes, classes)


def per_class(counts: np.ndarray) -> list[dict[str, float | None]]:
    """Precision, recall and F1 of each class, and the number of its nodes.

    Returns
    -------
    list of dict
        None where a share is of nothing.
    """
    right, true, predicted = counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)
    return [
        {"precision": _share(r, p), "recall": _share(r, t), "f1": _share(2 * r, t + p), "nodes": int(t)}
        for r, t, p in zip(right, true, predicted, strict=True)
    ]


def reliability(chances: np.ndarray, right: np.ndarray) -> tuple[list[dict[str, float]], float]:
    """Bins of the probability of the predicted class.

    Returns
    -------
    bins : list of dict
        Those that hold nodes: mean probability, share of correct predictions with its interval, number of nodes.
    error : float
        The calibration error.
    """
    which = np.minimum((chances * BINS).astype(int), BINS - 1)
    bins, error = [], 0.0
    for number in range(BINS):
        mine = which == number
        size = int(mine.sum())
        if size:
            mean, share = float(chances[mine].mean()), float(right[mine].mean())
            low, high = wilson(int(right[mine].sum()), size)
            bins.append({"probability": mean, "correct": share, "low": low, "high": high, "nodes": size})
            error += size / len(chances) * abs(mean - share)
    return bins, error


def summary(truth: np.ndarray, chances: np.ndarray, scoring: str = "accuracy", seed: int = 0) -> dict[str, Any]:
    """All measures, from true codes (m,) and probabilities (m, c); ``score`` is that of ``scoring``, more is better.

    Returns
    -------
    dict
    """
    found = chances.argmax(axis=1)
    right = found == truth
    counts = confusion(truth, found, chances.shape[1])
    bins, error = reliability(chances.max(axis=1), right)
    shares = np.bincount(truth, minlength=chances.shape[1]) / len(truth)
    share_interval = list(wilson(int(right.sum()), len(truth)))
    score_interval = share_interval
    if scoring != "accuracy":
        drawn = (measure(scoring, truth, chances, each) for each in draws(truth, np.random.default_rng(seed)))
        score_interval = list(interval(np.concatenate(list(drawn))))
    return {
        "nodes": len(truth),
        "scoring": scoring,
        "score": float(measure(scoring, truth, chances)),
        "score_interval": score_interval,
        "baseline": float(measure(scoring, truth, np.broadcast_to(shares, chances.shape))),
        "ranking": ranking(truth, chances, seed),
        "accuracy": float(right.mean()),
        "interval": share_interval,
        "majority": float(shares.max()),
        "confusion": counts.tolist(),
        "classes": per_class(counts),
        "reliability": bins,
        "calibration_error": error,
    }


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


NODE_BYTES, CHANCE_BYTES = 4_500_000, 1_200_000
"""Room for the table of nodes, and for the probabilities of each class."""
EXPLAINED = 60
"""Nodes whose explanation is in the page, beside those that a user names."""
NEIGHBOURS = 14
"""Neighbours of a node that are drawn."""
TERMS = 6
"""Features and nodes that are named of each component of an explanation."""
FEATURES = 8
"""Features that are named of each class."""
_CANDIDATE = ("l1", "group", "joint", "separate", "val_accuracy", "val_score")


def fit_record(
    model: Model,
    graph: Graph,
    *,
    facts: dict[str, Any] | None = None,
    explain: Sequence[int] = (),
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Collect what a page shows of a fitted model.

    Parameters
    ----------
    model : SlimG
        Fitted on ``graph`` without validation rows.
    graph : Graph
        The fitted graph.
    facts : dict or None, default=None
        What was read: ``title``, ``folder``, ``notes``, ``files``, ``command``.
    explain : sequence of int, default=()
        Rows of nodes to explain beside those that are chosen.
    progress : Progress, default=SILENT
        Stages "comparing", "diagnosing" and "explaining" are reported to it.

    Returns
    -------
    dict
        Values that JSON can hold.

    Examples
    --------
    >>> from slimg import Graph, SlimG
    >>> graph = Graph.from_arrays(None, [[1.0, 0.0], [0.0, 1.0]] * 10, ["a", "b"] * 10)
    >>> fit_record(SlimG(grid=[(0.0, 0.01)]).fit(graph), graph)["held_out"]["accuracy"]
    1.0
    """
    rows, unseen = held_out(model)
    sizes = {"nodes": graph.n, "edges": graph.edges, "features": graph.d}
    chances, codes = Chances(model._own_scores(), model.temperature_), codes_in_model(model, graph)
    best = chances.best()
    with progress.stage("comparing"):
        compared = compare(model, codes[model.trained_on_])
    with progress.stage("diagnosing"):
        found = diagnosis(model, graph)
    with progress.stage("explaining"):
        chosen = nodes_worth_explaining(best, codes, (rows, unseen), explain)
        explanations = model._explain_rows(model._view(None), chosen)
        parts = {row: each.to_dict(TERMS) for row, each in zip(chosen, explanations, strict=True)}
    return {
        "version": __version__,
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "classes": [str(name) for name in model.classes_],
        "read": {**sizes, "labelled": len(graph.labelled), "weighted": graph.adjacency.weights is not None, **(facts or {})},
        "held_out": summary(codes[rows], unseen, model.scoring_, model.random_state),
        "comparison": compared,
        "model": _model(model),
        "diagnosis": found,
        "nodes": _nodes(graph, codes, best, chances),
        "explained": {str(row): _explained(graph, best[0], row, parts[row]) for row in sorted(parts)},
    }


def diagnosis(model: Model, graph: Graph) -> dict[str, Any] | None:
    """Diagnose the graph of a model, with the model's components.

    Returns
    -------
    dict or None
        None where there are too few labels for a diagnosis.
    """
    from slimg.explain import diagnose

    try:
        found = diagnose(
            graph, scoring=model.scoring_, propagated=model.components_, random_state=model.random_state
        )
        return json_values(found.to_dict())
    except InputError:
        return None


def json_values(value: Any) -> Any:
    """Convert to values that JSON holds: numpy's become Python's, keys become text, NaN and infinity None.

    Returns
    -------
    dict, list, str, int, float, bool or None

    Examples
    --------
    >>> json_values({1: (np.float64(0.5), float("nan"))})
    {'1': [0.5, None]}
    """
    if isinstance(value, dict):
        return {str(key): json_values(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_values(each) for each in value]
    if hasattr(value, "tolist"):
        return json_values(value.tolist())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, (str, int)) else str(value)


def codes_in_model(model: Model, graph: Graph) -> np.ndarray:
    """Place of each node's label in the model's classes.

    Returns
    -------
    ndarray of int, shape (n,)
        −1 for nodes without a label, or of a class that the model does not know.
    """
    place = {value: code for code, value in enumerate(model.classes_.tolist())}
    of_class = np.array([place.get(value, -1) for value in graph.classes.tolist()] + [-1])
    return of_class[graph.codes]


def nodes_worth_explaining(
    best: tuple[np.ndarray, np.ndarray, np.ndarray], codes: np.ndarray, unseen: tuple[np.ndarray, np.ndarray],
    first: Sequence[int] = (),
) -> list[int]:
    """Choose the nodes that a page explains.

    Parameters
    ----------
    best : arrays of shape (n,)
        Predicted class, its probability, and margin (`Chances.best`).
    codes : ndarray of shape (n,)
        Codes of labels, −1 without one.
    unseen : (rows, probabilities)
        Labelled rows and their held-out probabilities.
    first : sequence of int, default=()
        Rows that come first.

    Returns
    -------
    list of int
        ``first``, contradicted labels, the most certain nodes of each class, the least certain nodes.
    """
    rows, predicted = unseen
    found, _, margin = best
    wrong = predicted.argmax(axis=1) != codes[rows]
    contradicted = rows[wrong][np.argsort(-predicted.max(axis=1)[wrong], kind="stable")]
    certain: list[int] = []
    for code in range(predicted.shape[1]):
        mine = np.flatnonzero(found == code)
        certain.extend(mine[np.argsort(-margin[mine], kind="stable")[:2]])
    doubtful = np.argsort(margin, kind="stable")
    third = EXPLAINED // 3
    listed = (*first, *contradicted[:third], *certain[:third], *doubtful[:EXPLAINED])
    return list(dict.fromkeys(int(row) for row in listed))[: EXPLAINED + len(first)]


def _model(model: Model) -> dict[str, Any]:
    return {
        "overview": model.summary().to_dict(FEATURES),
        "rank": int(model.rank_),
        "selection": [{key: record[key] for key in _CANDIDATE} for record in model.selection_],
        "chosen": {key: model.chosen_[key] for key in _CANDIDATE},
        "members": [{key: record[key] for key in _CANDIDATE} for record in model.members_],
        "scoring": model.scoring_,
        "gap": float(model.dual_gap_),
        "fold_in_agreement": model.fold_in_agreement_,
        "seconds": {name: float(value) for name, value in model.seconds_.items()},
    }


def _nodes(graph: Graph, codes: np.ndarray, best: tuple[np.ndarray, ...], chances: Chances) -> dict[str, Any]:
    """Columns of the table of nodes, cut where the room ends."""
    ids = [str(value) for value in graph.ids[: NODE_BYTES // 15 + 1].tolist()]
    sizes = np.cumsum([len(name.encode()) + 14 for name in ids])
    kept = int(np.searchsorted(sizes, NODE_BYTES))
    return {
        "total": graph.n,
        "ids": ids[:kept],
        "label": codes[:kept].tolist(),
        "prediction": best[0][:kept].tolist(),
        "probability": np.round(1000 * best[1][:kept].astype(np.float64)).astype(int).tolist(),
        "chances": _chances(chances, kept),
    }


def _chances(chances: Chances, kept: int) -> list[list[float]] | None:
    """Probabilities of each class, of two classes those of the second, to four digits; None where there is no room."""
    c = chances.scores.shape[1]
    if 10 * kept * (1 if c == 2 else c) > CHANCE_BYTES:
        return None
    columns = chances[:kept].T
    return [[float(f"{p:.4g}") for p in column] for column in (columns[1:] if c == 2 else columns)]


def _explained(graph: Graph, predicted: np.ndarray, row: int, explanation: dict[str, Any]) -> dict[str, Any]:
    """Contributions to the predicted class relative to the mean of all classes, and the neighbours that are drawn."""
    place = int(np.argmax(explanation["scores"]))

    def contrast(scores: Sequence[float]) -> float:
        return round(float(scores[place] - np.mean(scores)), 4)

    parts = []
    for part in explanation["components"]:
        entry: dict[str, Any] = {key: part[key] for key in ("name", "title", "removed")}
        if not part["removed"]:
            entry["value"] = contrast(part["scores"])
            for kind, name in (("features", "name"), ("sources", "id")):
                if kind in part:
                    others = part[f"other_{kind}"]
                    entry[kind] = [[str(term[name]), contrast(term["scores"])] for term in part[kind]]
                    entry[f"other_{kind}"] = [others["count"], contrast(others["scores"])]
        parts.append(entry)
    return {
        "id": str(graph.ids[row]),
        "score": contrast(explanation["scores"]),
        "bias": contrast(explanation["bias"]),
        "probabilities": [round(float(value), 4) for value in explanation["probabilities"]],
        "parts": parts,
        **_neighbourhood(graph, predicted, row, parts),
    }


def _neighbourhood(graph: Graph, predicted: np.ndarray, row: int, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Neighbours, those with the largest contributions first, and the edges among them, as places in the list."""
    weight: dict[str, float] = {}
    for part in parts:
        for name, value in part.get("sources", ()):
            weight[name] = weight.get(name, 0.0) + abs(value)
    near = graph.adjacency.neighbours(row)
    order = sorted(near.tolist(), key=lambda other: (-weight.get(str(graph.ids[other]), 0.0), other))[:NEIGHBOURS]
    place = {other: number for number, other in enumerate(order)}
    among = [
        [place[other], place[int(third)]]
        for other in order
        for third in graph.adjacency.neighbours(other)
        if int(third) in place and other < third
    ]
    neighbours = [[str(graph.ids[other]), int(predicted[other])] for other in order]
    return {"degree": len(near), "neighbours": neighbours, "among": among}
