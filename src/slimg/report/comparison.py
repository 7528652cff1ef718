"""SlimG beside models of the features alone and of the network alone and beside boosted trees, on the same held-out labels.

    features alone    the rows that need no edges, g(X), with the same learner and folds, three penalties
    network alone     the same of the rows that need no features, U
    SlimG             its held-out probabilities
    boosted trees     scikit-learn's HistGradientBoostingClassifier on the same folds of the components' first columns

Each label is predicted by models that were fitted without it. Intervals (95 %) and the standard errors of differences draw the
same rows again for all models (`explain.measures`). The work is bounded by sizes alone, so that a seed gives the same result
on every machine: at most `COLUMNS` columns, `TREES` trees in all, and `ROWS` rows to fit on.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.explain.evidence import wilson
from slimg.explain.leave_one_out import Gain
from slimg.explain.measures import WORDS, draws, format_difference, format_score, interval, measure
from slimg.inference.predictions import calibrate
from slimg.learn.labelled import Labelled, class_weights, stratified_folds
from slimg.learn.objective import ROUNDING, softmax
from slimg.learn.path import rounded
from slimg.learn.search import SearchConfig, search

COLUMNS = 60
"""Columns that trees are grown on, the first ones of each component."""
TREES, FEWEST = 1_000, 10
"""Trees in all folds and classes together; trees for each fold and class below which none are grown."""
ROWS = 50_000
"""Labelled rows above which nothing is compared."""
PENALTIES = (0.3, 0.1, 0.03)
"""Penalties of the features alone, as shares of the one at which all weights are zero."""


def compare(model: Any, codes: Array) -> dict[str, Any]:
    """Compare a fitted model with others on its held-out labels.

    Parameters
    ----------
    model : SlimG
        Fitted here, without validation rows.
    codes : ndarray of shape (m,)
        Classes of the rows that it learned from (``trained_on_``).

    Returns
    -------
    dict
        ``models``: name, value and interval of each, and of each but SlimG the ``gain`` of SlimG over it, with its standard
        error and interval; ``baseline``: the score of the shares of the classes; ``sentence``: what the linear model costs or
        gains; ``notes``.
    """
    held, scoring = np.isfinite(model.held_out_scores_).all(axis=1), model.scoring_
    chances = {"SlimG": softmax(np.divide(model.held_out_scores_, model.temperature_, dtype=np.float64))}
    notes: list[str] = []
    if len(codes) > ROWS:
        notes.append(f"Other models were not fitted: with {len(codes):,} labels it would take too long.")
    else:
        rows = model.components_.labelled_rows(model.trained_on_)
        kinds = {name: each.component for name, each in model.components_.fitted.items()}
        for name, needs in {"network alone": "needs_features", "features alone": "needs_edges"}.items():
            used = [part for part, each in kinds.items() if not getattr(each, needs)]
            if 0 < len(used) < len(kinds):
                chances = {name: _alone(model, rows, codes, used), **chances}
        grown = _trees(model, rows, codes, notes)
        chances |= {} if grown is None else {"boosted trees": grown}
    truth = codes[held]
    drawn = _drawn(scoring, truth, {name: each[held] for name, each in chances.items()}, model.random_state)
    values = {name: float(measure(scoring, truth, each[held])) for name, each in chances.items()}
    gains = {name: Gain(values["SlimG"] - values[name], float(np.nanstd(drawn["SlimG"] - drawn[name]))) for name in chances}
    models: list[dict[str, Any]] = [
        {"name": name, "value": values[name], "interval": _interval(scoring, truth, each[held], drawn[name])}
        for name, each in chances.items()
    ]
    for each in models:
        if each["name"] != "SlimG":
            each["gain"] = {**asdict(gains[each["name"]]), "interval": list(gains[each["name"]].interval)}
    shares = np.bincount(truth, minlength=len(model.classes_)) / len(truth)
    baseline = float(measure(scoring, truth, np.broadcast_to(shares, (len(truth), len(shares)))))
    told = {"sentence": _sentence(scoring, values, gains), "notes": notes}
    return {"labels": int(held.sum()), "baseline": baseline, "models": models, **told}


def _alone(model: Any, rows: Array, codes: Array, used: list[str]) -> Array:
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


def _trees(model: Any, rows: Array, codes: Array, notes: list[str]) -> Array | None:
    """Held-out probabilities of boosted trees, NaN for rows that no fold holds out."""
    c, groups = len(model.classes_), model.components_.groups
    folds = stratified_folds(codes, model.cv, model.random_state)
    grown = min(TREES // (len(folds) * (c if c > 2 else 1)), 60)
    if grown < FEWEST:
        notes.append(f"Boosted trees were not grown: {c} classes would take too many.")
        return None
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    each = max(COLUMNS // len(groups), 4)
    columns = np.concatenate([np.arange(part.start, min(part.stop, part.start + each)) for part in groups.values()])
    if len(columns) < rows.shape[1]:
        notes.append(f"Trees are grown on the first {each} columns of each component, {grown} for each fold and class.")
    matrix, weights = np.ascontiguousarray(rows[:, columns]), None  # any weights make scikit-learn's bins slow
    if model.class_weight is not None:
        weights = class_weights(model.class_weight, model.classes_, codes)
    chances = np.full((len(codes), c), np.nan)
    for fit, check in folds:
        trees = HistGradientBoostingClassifier(
            max_iter=grown, learning_rate=0.2, max_leaf_nodes=8, min_samples_leaf=5, early_stopping=False,
            random_state=model.random_state,
        )  # fmt: skip
        given = None if weights is None else weights[fit]
        with threadpool_limits(1, "openmp"):  # on few rows several threads mostly wait for each other
            chances[check] = trees.fit(matrix[fit], codes[fit], sample_weight=given).predict_proba(matrix[check])
    return chances


def _drawn(scoring: str, codes: Array, chances: dict[str, Array], seed: int) -> dict[str, Array]:
    """Scores of each model on the same rows drawn again."""
    parts: dict[str, list[Array]] = {name: [] for name in chances}
    for weights in draws(codes, np.random.default_rng(seed)):
        for name, each in chances.items():
            parts[name].append(measure(scoring, codes, each, weights))
    return {name: np.concatenate(each) for name, each in parts.items()}


def _interval(scoring: str, codes: Array, chances: Array, drawn: Array) -> list[float]:
    if scoring == "accuracy":
        return list(wilson(int((chances.argmax(axis=1) == codes).sum()), len(codes)))
    return list(interval(drawn))


def _sentence(scoring: str, values: dict[str, float], gains: dict[str, Gain]) -> str:
    """What the linear model costs or gains against trees."""
    if "boosted trees" not in values:
        return ""
    gain, shown = gains["boosted trees"], format_score(scoring, values["boosted trees"], 1)
    told = f"Boosted trees on the same components reach {shown} ({WORDS[scoring]} on the same held-out labels)"
    does = "gains" if gain.interval[0] > 0 else "costs" if gain.interval[1] < 0 else "makes no measurable difference"
    return f"{told}: that the model is linear {does} ({format_difference(scoring, gain.value, gain.interval)})."
