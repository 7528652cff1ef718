"""The record of a fit: all that a page shows, as plain values that JSON can hold.

findings    three sentences (`report.findings`)
read        sizes, relations with the weight of each direction, notes, files, command
held_out    score of the fit's measure, accuracy, confusion, classes, calibration on held-out labels (`summary`), and the
            ranking of the rarer of two classes (`report.ranking`), and prediction sets
comparison  features alone and boosted trees on the same labels (`report.comparison`)
model       weights of components, of features per class, penalties that were tried and the chosen ones
diagnosis   verdict and the numbers behind it, or None
map         places of a sample of nodes in two dimensions: the first two principal components of what each component
            contributes to the score of each class
nodes       ids, names, codes of labels (−1: none) and predictions, probabilities in thousandths; as many rows as fit; and
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
from slimg.inference.predictions import Chances, abstention_curve, quantile
from slimg.learn.objective import softmax
from slimg.progress import SILENT, Progress
from slimg.report.comparison import compare
from slimg.report.findings import findings
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
    if told := ranking(truth, chances, seed):
        own, off = reliability(chances[:, told["code"]], truth == told["code"])
        told |= {"reliability": own, "calibration_error": off}
    if scoring != "accuracy":
        drawn = (measure(scoring, truth, chances, each) for each in draws(truth, np.random.default_rng(seed)))
        score_interval = list(interval(np.concatenate(list(drawn))))
    return {
        "nodes": len(truth),
        "scoring": scoring,
        "score": float(measure(scoring, truth, chances)),
        "score_interval": score_interval,
        "baseline": float(measure(scoring, truth, np.broadcast_to(shares, chances.shape))),
        "ranking": told,
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
EXPLAINED_BYTES = 1 << 28
"""Memory for explanations that are made at a time, each with a number for every feature, class and component."""
NEIGHBOURS = 14
"""Neighbours of a node that are drawn."""
TERMS = 6
"""Features and nodes that are named of each component of an explanation."""
FEATURES = 8
"""Features that are named of each class."""
MAPPED = 2_000
"""Nodes on the map."""
NAME_LENGTH = 60
"""Characters of a name."""
COVERAGE = 0.9
"""Share of nodes whose prediction set holds the true class."""
STEP = 1 << 16
"""Nodes whose probabilities are computed at a time."""
_CANDIDATE = ("l1", "group", "joint", "separate", "val_accuracy", "val_score")


def fit_record(
    model: Model,
    graph: Graph,
    *,
    facts: dict[str, Any] | None = None,
    names: Sequence[Any] | None = None,
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
    names : sequence of n values, default=None
        What people know the nodes by, such as titles, shown beside ids.
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
        found = diagnosis(model, graph, compared)
    with progress.stage("explaining"):
        chosen = nodes_worth_explaining(best, codes, (rows, unseen), explain)
        parts, view = dict[int, dict[str, Any]](), model._view(None)
        some = max(1, EXPLAINED_BYTES // (8 * max(graph.d, 1) * len(model.classes_) * len(model.coef_)))
        for at in (chosen[start : start + some] for start in range(0, len(chosen), some)):
            parts |= {row: each.to_dict(TERMS) for row, each in zip(at, model._explain_rows(view, at), strict=True)}
    notes = dict.fromkeys((*(facts or {}).get("notes", ()), *graph.notes, *model.notes_))
    read = {**sizes, "labelled": len(graph.labelled), "weighted": graph.adjacency.weights is not None, **(facts or {})}
    found_all = {
        "version": __version__,
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "classes": [str(name) for name in model.classes_],
        "read": {**read, "relations": _relations(model, graph), "notes": list(notes)},
        "held_out": {**summary(codes[rows], unseen, model.scoring_, model.random_state), "sets": _sets(model, chances)},
        "comparison": compared,
        "model": _model(model),
        "diagnosis": found,
        "map": _map(model, graph),
        "nodes": _nodes(graph, codes, best, chances, names),
        "explained": {str(row): _explained(graph, best[0], row, parts[row]) for row in sorted(parts)},
    }
    return {"findings": findings(found_all), **found_all}


def results(record: dict[str, Any]) -> dict[str, Any]:
    """The record without lists of nodes, for scripts.

    Returns
    -------
    dict
        What ``slimg fit --json`` and ``slimg report --json`` print.
    """
    read, held, told = record["read"], record["held_out"], record["held_out"]["ranking"]
    areas = {name: told[name] for name in ("average_precision", "roc_auc", "first")} if told else {}
    known = "nodes", "edges", "features", "labelled", "relations", "notes", "files", "folder"
    measured = "accuracy", "interval", "majority", "scoring", "score", "score_interval", "baseline", "calibration_error", "sets"
    return {
        "findings": record["findings"],
        **{name: read[name] for name in known if name in read},
        "classes": record["classes"],
        **{name: held[name] for name in measured},
        "per_class": dict(zip(record["classes"], held["classes"], strict=True)),
        "comparison": record["comparison"],
        "ranking": {"class": record["classes"][told["code"]], **areas} if told else None,
        "fold_in_agreement": record["model"]["fold_in_agreement"],
        "weights": {part["name"]: part["norm"] for part in record["model"]["overview"]["components"]},
        **{name: (record["diagnosis"] or {}).get(name, []) for name in ("verdict", "advice")},
        **({"seconds": record["seconds"]} if "seconds" in record else {}),
    }


def diagnosis(model: Model, graph: Graph, compared: dict[str, Any]) -> dict[str, Any] | None:
    """Diagnose the graph of a model, with the model's components; sentences judge by what ``compared`` measured.

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
        return json_values(found.beside(compared["models"], compared["baseline"]).to_dict())
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


def _relations(model: Model, graph: Graph) -> list[dict[str, Any]]:
    """Each direction of each relation: edges, its weight, and how often its labelled ends are of one class.

    The weight of a path is shared by its steps; ``state`` says whether a direction is used, zero or no component.
    """
    weights, steps = model.component_weights(), dict[str, float]()
    for name, fitted in model.components_.fitted.items():
        path = getattr(fitted.component, "path", ())
        for step in path:
            steps[step] = steps.get(step, 0.0) + weights[name] / len(path)
    total, told = sum(weights.values()) or 1.0, []
    for key, matrix in graph.directions().items():
        ends = np.repeat(graph.codes, np.diff(matrix.indptr)), graph.codes[matrix.indices]
        both = (ends[0] >= 0) & (ends[1] >= 0)
        told.append({
            "direction": key, "edges": int(matrix.nnz), "weight": steps.get(key, 0.0), "share": steps.get(key, 0.0) / total,
            "labelled_edges": int(both.sum()), "alike": _share(float((ends[0] == ends[1])[both].sum()), float(both.sum())),
            "state": "screened out" if key not in steps else "used" if steps[key] else "exactly zero",
        })  # fmt: skip
    return told


def _sets(model: Model, chances: Chances) -> dict[str, Any] | None:
    """How many nodes have a prediction set of 0, 1, 2, … classes, and the accuracy of the most certain ones.

    The coverage holds within each class where the score is not the accuracy; ``least`` is the probability of each class from
    which it is in a set.
    """
    known = model.calibration_
    if known is None:
        return None
    by_class = model.scoring_ != "accuracy"
    n, c = chances.scores.shape
    held, sizes = known.accepted(known.chances, COVERAGE, by_class), np.zeros(c + 1, np.int64)
    for start in range(0, n, STEP):
        found = known.accepted(chances[start : start + STEP], COVERAGE, by_class)
        sizes += np.bincount(found.sum(axis=1), minlength=c + 1)
    among = [known.conformity[(known.codes == code) | (not by_class)] for code in range(c)]
    return {
        "coverage": COVERAGE,
        "by_class": by_class,
        "least": [max(0.0, 1 - quantile(each, COVERAGE)) for each in among],
        "sizes": np.trim_zeros(sizes, "b").tolist(),
        "held": float(held[np.arange(len(known.codes)), known.codes].mean()),
        "certain": abstention_curve(known.chances, known.codes),
    }


def _map(model: Model, graph: Graph) -> dict[str, Any]:
    """Rows, and their places from 0 to 1000 in either direction."""
    rng = np.random.default_rng(model.random_state)
    rows = np.arange(graph.n) if graph.n <= MAPPED else np.sort(rng.choice(graph.n, MAPPED, replace=False))
    parts, blocks = model.components_, []
    for name, weights in model.coef_.items():
        if np.any(weights):
            block = parts.engine.rows(parts.blocks[name], rows).astype(np.float64)
            blocks.append(block @ (weights - weights.mean(axis=1, keepdims=True)))
    matrix = np.concatenate(blocks or [np.zeros((len(rows), 2))], axis=1)
    vectors = np.linalg.eigh(np.cov(matrix, rowvar=False, ddof=0).reshape(2 * (matrix.shape[1],)))[1][:, :-3:-1]
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])  # the same way up each time
    places = (matrix - matrix.mean(axis=0)) @ vectors
    low, span = places.min(axis=0), np.maximum(np.ptp(places, axis=0), 1e-12)
    x, y = np.round(1000 * (places - low) / span).astype(int).T
    return {"total": graph.n, "rows": rows.tolist(), "x": x.tolist(), "y": (1000 - y).tolist()}


def _nodes(
    graph: Graph, codes: np.ndarray, best: tuple[np.ndarray, ...], chances: Chances, names: Sequence[Any] | None
) -> dict[str, Any]:
    """Columns of the table of nodes, cut where the room ends."""
    most = NODE_BYTES // 15 + 1
    ids = [str(value) for value in graph.ids[:most].tolist()]
    shown = None if names is None else [str(name)[:NAME_LENGTH] for name in names[:most]]
    sizes = np.cumsum([len(f"{name}{'' if shown is None else shown[row]}".encode()) + 14 for row, name in enumerate(ids)])
    kept = int(np.searchsorted(sizes, NODE_BYTES))
    return {
        "total": graph.n,
        "ids": ids[:kept],
        "names": None if shown is None else shown[:kept],
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
    joined = [(key, set(matrix.neighbours(row).tolist())) for key, matrix in graph.directions().items()]
    neighbours = [[str(graph.ids[other]), int(predicted[other]), [key for key, ends in joined if other in ends]]
                  for other in order]  # fmt: skip
    return {"degree": len(near), "neighbours": neighbours, "among": among}
