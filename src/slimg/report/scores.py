"""How good a model is on held-out labels: classes, calibration, the ranking of a rare class, and other models beside it.

precision_c   correct c / predicted c        recall_c   correct c / true c        F1 = 2PR/(P + R)
calibration   nodes in ten bins of their probability: mean probability beside the share that is correct;
              the error is Σ_bins (size/n) |share − mean|
ranking       after the first k rows, by falling probability: precision = found / k, recall = found / all of the class

Other models are fitted on the same folds, so that each label is predicted by models that were fitted without it:

    features alone    the components that need no edges (`Components.sources`), same learner and folds, three penalties
    network alone     the same of the components that need no features
    SlimG             its held-out probabilities
    boosted trees     scikit-learn's HistGradientBoostingClassifier on the same folds: of up to 64 features on X, means over
                      neighbours (by direction), degrees and the first columns of what needs no features; of more
                      on the first columns of each component and degrees

Intervals and errors are those of `explain.held_out.HeldOut`: differences draw the same rows again for all models. The work is
bounded by sizes alone, so that a seed gives the same result on every machine: about `COLUMNS` means, `TREES` trees in all that
read `WORK` entries, and `ROWS` rows to fit on.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from slimg.components.structure import DegreeRanges, NeighbourRanges, table_numbers, values_of
from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.explain.held_out import WORDS, Gain, HeldOut, format_difference, format_score, wilson
from slimg.inference.predictions import calibrate
from slimg.learn.objective import ROUNDING, Labelled, class_weights, softmax, stratified_folds
from slimg.learn.path import rounded
from slimg.learn.search import SearchConfig, search

BINS = 10
POINTS = 300
"""Thresholds that a page has at most."""
FIRST = (10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000)
Model = Any
"""A fitted `SlimG`, whose methods import this package: it is not imported here."""
FEW, COLUMNS, PLACES = 64, 128, 16
"""Features up to which trees are grown on them, means that they are grown on, about, and columns of what the network says."""
TREES, MOST, FEWEST, WORK = 1_000, 100, 10, 1 << 30
"""Trees in all folds and classes together, and for each at most; below which none are grown; entries that all of them read."""
ROWS = 50_000
"""Labelled rows above which nothing is compared."""
PENALTIES = (0.3, 0.1, 0.03)
"""Penalties of the features alone, as shares of the one at which all weights are zero."""


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


def summary(own: HeldOut) -> dict[str, Any]:
    """All measures of held-out probabilities; ``score`` is that of their ``scoring``, more is better.

    Returns
    -------
    dict
    """
    right, told = own.right, ranking(own)
    counts = confusion(own.codes, own.chances.argmax(axis=1), own.chances.shape[1])
    bins, error = reliability(own.chances.max(axis=1), right)
    if told:
        mine, off = reliability(own.chances[:, told["code"]], own.codes == told["code"])
        told |= {"reliability": mine, "calibration_error": off}
    return {
        "nodes": len(own.codes),
        "scoring": own.scoring,
        "score": own.score,
        "score_interval": list(own.interval),
        "baseline": own.baseline,
        "ranking": told,
        "accuracy": float(right.mean()),
        "interval": list(wilson(int(right.sum()), len(right))),
        "majority": float(own.shares.max()),
        "confusion": counts.tolist(),
        "classes": per_class(counts),
        "reliability": bins,
        "calibration_error": error,
    }


def ranking(own: HeldOut) -> dict[str, Any] | None:
    """Rank rows by the probability of the rarer of two classes.

    Parameters
    ----------
    own : HeldOut
        Probabilities.

    Returns
    -------
    dict or None
        ``code`` of the class, ``positives`` and ``nodes``, ``average_precision`` and ``roc_auc`` with intervals, thresholds
        with the nodes at or above them (``checked``) and those of the class among these (``found``), and ``first``, pairs
        (k, found); None unless there are two classes and rows of both.

    Examples
    --------
    >>> codes, p = np.array([0, 0, 0, 1]), np.array([0.1, 0.6, 0.2, 0.5])
    >>> told = ranking(HeldOut(np.column_stack([1 - p, p]), codes))
    >>> told["checked"], told["found"], told["average_precision"]["value"]
    ([1, 2, 3, 4], [0, 1, 1, 1], 0.5)
    """
    codes, chances = own.codes, own.chances
    counts = np.bincount(codes, minlength=2)
    if chances.shape[1] != 2 or not counts.min():
        return None
    code = int(counts.argmin())
    order = np.argsort(-chances[:, code], kind="stable")
    values = chances[order, code]
    found = np.cumsum(codes[order] == code)
    ends = np.append(np.flatnonzero(np.diff(values)), len(values) - 1)
    if len(ends) > POINTS:  # more of them where few rows are checked
        wanted = np.geomspace(1, len(ends), POINTS).astype(int) - 1
        ends = ends[np.union1d(wanted, [len(ends) - 1])]
    by_area = {name: replace(own, scoring=name) for name in ("average_precision", "roc_auc")}
    first = sorted({k for k in (*FIRST, int(counts[code])) if k <= len(codes)})
    return {
        "code": code,
        "positives": int(counts[code]),
        "nodes": len(codes),
        **{name: {"value": each.score, "interval": list(each.interval)} for name, each in by_area.items()},
        "threshold": [float(value) for value in values[ends]],
        "checked": (ends + 1).tolist(),
        "found": found[ends].tolist(),
        "first": [[k, int(found[k - 1])] for k in first],
    }


def format_first(told: dict[str, Any], name: str) -> str:
    """A sentence: what checking as many nodes as there are of the class would find."""
    k = told["positives"]
    hits = dict(map(tuple, told["first"]))[k]
    return (
        f"If you check the first {k:,} of {told['nodes']:,} held-out nodes by the probability of {name}, you find"
        f" about {hits:,} of {k:,}."
    )


def compare(model: Model, codes: Array, own: HeldOut) -> dict[str, Any]:
    """Compare a fitted model with others on its held-out labels.

    Parameters
    ----------
    model : SlimG
        Fitted here, without validation rows.
    codes : ndarray of shape (m,)
        Classes of the rows that it learned from (``trained_on_``).
    own : HeldOut
        Its predictions of those that a fold held out.

    Returns
    -------
    dict
        ``models``: name, value and interval of each, and of each but SlimG the ``gain`` of SlimG over it, with its standard
        error and interval; ``baseline``: the score of the shares of the classes; ``sentence``: what the linear model costs or
        gains; ``notes``.
    """
    judged, notes, models, grown_on = dict[str, HeldOut](), list[str](), list[dict[str, Any]](), ""
    held = np.isfinite(model.held_out_scores_).all(axis=1)
    if len(codes) > ROWS:
        notes.append(f"Other models were not fitted: with {len(codes):,} labels it would take too long.")
        judged["SlimG"] = own
    else:
        rows = model.components_.labelled_rows(model.trained_on_)
        for source, used in model.components_.sources.items():
            if len(used) < len(model.components_.names):
                judged[f"{source} alone"] = replace(own, chances=_alone(model, rows, codes, used)[held])
        judged["SlimG"] = own
        grown, grown_on = _trees(model, rows, codes, notes)
        judged |= {} if grown is None else {"boosted trees": replace(own, chances=grown[held])}
    gains = {name: own.gain(each) for name, each in judged.items() if each is not own}
    for name, each in judged.items():
        models.append({"name": name, "value": each.score, "interval": list(each.interval)})
        if name in gains:
            models[-1]["gain"] = {**asdict(gains[name]), "interval": list(gains[name].interval)}
    told = {"sentence": _sentence(judged, gains, grown_on), "notes": notes}
    return {"labels": len(own.codes), "baseline": own.baseline, "models": models, **told}


def _alone(model: Model, rows: Array, codes: Array, used: tuple[str, ...]) -> Array:
    """Held-out probabilities of a linear model on some components."""
    groups = {name: model.components_.groups[name] for name in used}
    block = np.concatenate([rows[:, part] for part in groups.values()], axis=1)
    weights, widths = class_weights(model.class_weight, model.classes_, codes), model.components_.widths
    labelled = Labelled(block, codes, len(model.classes_), weights, {name: widths[name] for name in used},
                        model.components_.engine)  # fmt: skip
    problem = labelled.problem()
    most = problem.penalty(0.0, 0.0).lambda_max(problem.gradient_at_zero())
    if most <= ROUNDING:
        return np.tile(np.bincount(codes, weights, len(model.classes_)) / weights.sum(), (len(codes), 1))
    grid = [(0.0, rounded(share * most)) for share in PENALTIES]
    config = SearchConfig(grid, model.cv, random_state=model.random_state, average=1, tol=1e-3, scoring=model.scoring_)
    scores = np.asarray(search(config, labelled, None).held_out_scores)
    calibration = calibrate(scores, codes)
    return softmax(np.divide(scores, calibration.temperature if calibration else 1.0, dtype=np.float64))


def _trees(model: Model, rows: Array, codes: Array, notes: list[str]) -> tuple[Array | None, str]:
    """Held-out probabilities of boosted trees, NaN for rows that no fold holds out, and what they are grown on."""
    c, folds = len(model.classes_), stratified_folds(codes, model.cv, model.random_state)
    (matrix, told), fits = _table(model, rows), len(folds) * (c if c > 2 else 1)
    grown = min(TREES // fits, WORK // (matrix.size * fits), MOST)
    if grown < FEWEST:
        notes.append(f"Boosted trees were not grown: {c} classes would take too many.")
        return None, told
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    weights = None if model.class_weight is None else class_weights(model.class_weight, model.classes_, codes)
    chances = np.full((len(codes), c), np.nan)
    trees = HistGradientBoostingClassifier(
        max_iter=grown, learning_rate=min(0.2, 10 / grown), max_leaf_nodes=8, early_stopping=False,
        min_samples_leaf=int(np.clip(len(codes) // 50, 5, 20)), random_state=model.random_state,
    )  # fmt: skip
    for fit, check in folds:
        given = None if weights is None else weights[fit]  # any make scikit-learn's bins slow
        with threadpool_limits(1, "openmp"):  # on few rows several threads mostly wait for each other
            chances[check] = trees.fit(matrix[fit], codes[fit], sample_weight=given).predict_proba(matrix[check])
    return chances, told


def _table(model: Model, rows: Array) -> tuple[Array, str]:
    """What one would grow trees on, and that in words."""
    graph, nodes, parts, numbers = model.graph_, model.trained_on_, model.components_, table_numbers(model.graph_)
    few, places = 0 < graph.d <= FEW, None if numbers is None else numbers.places
    around = (NeighbourRanges if few else DegreeRanges)(tuple(graph.directions())[: COLUMNS // max(graph.d, 1)])
    columns = [around.numbers(graph, nodes, places), *([values_of(graph, nodes, places)] if few else [])]
    used = parts.sources.get("network", ()) if few else parts.names
    columns += [rows[:, parts.groups[name]][:, : PLACES if few else max(COLUMNS // 2 // len(used), 4)] for name in used]
    told = "the features, their means over neighbours and degrees" if few else "columns of the components and degrees"
    return np.nan_to_num(np.hstack(columns), nan=-1e9, posinf=-1e9).astype(np.float32), told  # columns of NaN are refused


def _sentence(judged: dict[str, HeldOut], gains: dict[str, Gain], grown_on: str) -> str:
    """Whether the linear model is ahead of trees."""
    if "boosted trees" not in judged:
        return ""
    trees, gain = judged["boosted trees"], gains["boosted trees"]
    shown = format_score(trees.scoring, trees.score, 1)
    told = f"Boosted trees on {grown_on} reach {shown} ({WORDS[trees.scoring]} on the same held-out labels)"
    is_ahead = "is ahead" if gain.interval[0] > 0 else "is behind" if gain.interval[1] < 0 else "is neither ahead nor behind"
    return f"{told}; the linear model {is_ahead} ({format_difference(trees.scoring, gain.value, gain.interval)})."


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None
