"""The record of a fit: all that a page shows, as plain values that JSON can hold.

findings    three sentences, each with the numbers it rests on and the section of the page that shows them: the score beside
            other models and chance; what counts, and what has a weight of exactly zero; the first thing to be careful of
read        sizes, relations with the weight of each direction, notes, files, command
held_out    score of the fit's measure, accuracy, confusion, classes, calibration on held-out labels, the ranking of the rarer
            of two classes, and prediction sets (`report.scores`)
comparison  features alone, the network alone and boosted trees on the same labels (`report.scores`)
model       weights of components, of features per class, penalties that were tried and the chosen ones
diagnosis   verdict and the numbers behind it, or None
map         places of a sample of nodes in two dimensions: the first two principal components of what each component
            contributes to the score of each class
nodes       ids, names, codes of labels (−1: none) and predictions, probabilities in thousandths; as many rows as fit; and
            probabilities of each class (of two: the second) where there is room
explained   row → explanation and neighbours, for a bounded number of nodes
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from slimg import __version__
from slimg.components.structure import Degrees, NeighbourRanges
from slimg.errors import InputError
from slimg.explain.diagnosis import FEW, format_help
from slimg.explain.explanation import Explanation, Term, numbered
from slimg.explain.held_out import WORDS, Gain, HeldOut, format_chance, format_range, format_score
from slimg.graph.columns import DOUBT, list_names, number_of, show
from slimg.graph.graph import Graph
from slimg.graph.relations import INTO, OUT
from slimg.inference.predictions import Chances, abstention_curve, quantile
from slimg.linalg.operators import FEW_ROWS
from slimg.progress import SILENT, Progress
from slimg.report.scores import Model, _share, compare, held_out, summary

GUESSES = 3
"""Guesses that the first line after a fit names."""
NAMED, LISTED = 4, 4
"""Components that a finding names with their share; names in a list."""
NOTHING = "nothing, all weights are zero."
OFF = 0.1
"""Calibration error from which probabilities are said to be off."""
NODE_BYTES, CHANCE_BYTES = 4_500_000, 1_200_000
"""Room for the table of nodes, and for the probabilities of each class."""
EXPLAINED = 60
"""Nodes whose explanation is in the page, beside those that a user names."""
EXPLAINED_BYTES = 1 << 28
"""Memory for explanations that are made at a time, each with a number for every feature, class and component;
`FEW_ROWS` of them at least."""
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
        own = HeldOut(unseen, codes[rows], model.scoring_, seed=model.random_state)
        compared = compare(model, codes[model.trained_on_], own)
    with progress.stage("diagnosing"):
        found = diagnosis(model, graph, compared)
    with progress.stage("explaining"):
        chosen = nodes_worth_explaining(best, codes, (rows, unseen), explain)
        explained, view = dict[int, dict[str, Any]](), numbered(model._view(None))
        entries = len(model.coef_) * max(graph.d, 1) + graph.n  # of features, and of nodes if one component reaches all
        some = max(FEW_ROWS, EXPLAINED_BYTES // (8 * entries * len(model.classes_)))
        for at in (chosen[start : start + some] for start in range(0, len(chosen), some)):
            each = model._explain_rows(view, at)
            explained |= {row: _explained(graph, best[0], row, one) for row, one in zip(at, each, strict=True)}
    notes = dict.fromkeys((*(facts or {}).get("notes", ()), *graph.notes, *model.notes_))
    read = {**sizes, "labelled": len(graph.labelled), "weighted": graph.adjacency.weights is not None, **(facts or {})}
    found_all = {
        "version": __version__,
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "classes": [str(name) for name in model.classes_],
        "read": {**read, "relations": _relations(model, graph), "notes": list(notes)},
        "held_out": {**summary(own), "sets": _sets(model, chances)},
        "comparison": compared,
        "model": _model(model),
        "diagnosis": found,
        "map": _map(model, graph),
        "nodes": _nodes(graph, codes, best, chances, names),
        "explained": {str(row): explained[row] for row in sorted(explained)},
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
    areas = {name: told[name] for name in ("average_precision", "roc_auc", "first", "calibration_error")} if told else {}
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
        found = diagnose(graph, scoring=model.scoring_, propagated=model.components_, random_state=model.random_state)
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
    """Each direction of each relation: edges, its weight, and how often its labelled ends are of one class, also by chance.

    The weight is that of paths, of the structure along it and of its degrees; that of a path is shared by its steps. ``state``
    says whether a direction is used, zero or no component.
    """
    weights, steps = model.component_weights(), dict[str, float]()
    for name, fitted in model.components_.fitted.items():
        path = getattr(fitted.component, "path", None) or (getattr(fitted.component, "step", None),)
        parts = [(step, weights[name] / len(path)) for step in path if step]
        if isinstance(fitted.component, (Degrees, NeighbourRanges)):  # each row of weights is of one direction
            squares = np.square(model.coef_[name]).sum(axis=1)
            columns = fitted.component.column_steps(fitted.state)
            parts = list(zip(columns, weights[name] * squares / (squares.sum() or 1.0), strict=False))
        for step, weight in parts:
            steps[step] = steps.get(step, 0.0) + float(weight)
    total, told = sum(weights.values()) or 1.0, []
    for key, matrix in graph.directions().items():
        ends = np.stack([np.repeat(graph.codes, np.diff(matrix.indptr)), graph.codes[matrix.indices]])
        ends = ends[:, (ends >= 0).all(axis=0)]
        first, second = (np.bincount(each, minlength=len(graph.classes)).astype(float) for each in ends)
        told.append({
            "direction": key, "edges": int(matrix.nnz), "weight": steps.get(key, 0.0), "share": steps.get(key, 0.0) / total,
            "labelled_edges": ends.shape[1], "alike": _share(float((ends[0] == ends[1]).sum()), ends.shape[1]),
            "alike_by_chance": _share(float(first @ second), ends.shape[1] ** 2),
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


def _explained(graph: Graph, predicted: np.ndarray, row: int, each: Explanation) -> dict[str, Any]:
    """Contributions to the predicted class against the mean of all, and neighbours that are drawn, with edges among them."""

    def plain(terms: Sequence[Term]) -> list[list[Any]]:
        return [[str(graph.ids[name]) if isinstance(name, int) else name, round(value, 4), many] for name, value, many in terms]

    told, near = each.told(TERMS), each.neighbours(graph, row)
    parts = [{**part, **{name: plain(part[name]) for name in ("features", "nodes")}, "value": round(part["value"], 4)}
             for part in told["parts"]]  # fmt: skip
    place = {other: k for k, (other, *_) in enumerate(near[:NEIGHBOURS])}
    inside = {other: [int(third) for third in graph.adjacency.neighbours(other) if int(third) in place] for other in place}
    return {
        "id": str(graph.ids[row]),
        "score": round(told["score"], 4),
        "bias": round(told["bias"], 4),
        "probabilities": [round(float(value), 4) for value in each.probabilities],
        "parts": parts,
        "degree": len(near),
        "neighbours": [[str(graph.ids[other]), int(predicted[other]), keys] for other, keys, _ in near[:NEIGHBOURS]],
        "among": [[place[other], place[third]] for other in place for third in inside[other] if other < third],
    }


def findings(record: dict[str, Any]) -> list[dict[str, str]]:
    """Say what a fit found.

    Parameters
    ----------
    record : dict
        A record without its findings (`slimg.report.record.fit_record`).

    Returns
    -------
    list of dict
        ``about``, ``head`` and ``text`` of the sentence, and ``evidence``, the section of the page; one for each line of the
        module's text.
    """
    counts, careful = ("What counts:", _counts(record), "model"), ("Careful:", *_careful(record))
    told = {"score": _score(record), "counts": counts, "careful": careful}
    return [{"about": about, **dict(zip(("head", "text", "evidence"), each, strict=True))} for about, each in told.items()]


def lines_of(record: dict[str, Any], page: Any) -> list[str]:
    """The five lines after a fit: what was read and guessed, the findings, where the page is.

    Returns
    -------
    list of str
    """
    read, classes = record["read"], record["classes"]
    sizes = ", ".join(number_of(read[f"{noun}s"], noun) for noun in ("node", "edge", "feature"))
    named = relation_weights(record)
    relations = f" of {len(named)} relations" if len(named) > 1 else ""
    guessed = [note.removesuffix(".") for note in read["notes"] if "Guessed for" in note]
    if len(guessed) > GUESSES:
        guessed = [f"Columns were guessed in {number_of(len(guessed), 'case')}: the page lists them"]
    known = f"{read['labelled']:,} labelled, {number_of(len(classes), 'class', 'classes')}"
    told = [f"Read: {sizes.replace('edges', f'edges{relations}', 1)}; {known} ({show(classes)}){'. '.join(['', *guessed])}."]
    return [*told, *(f"{each['head']} {each['text']}" for each in record["findings"]), f"Page: {page} (open it in a browser)."]


def _score(record: dict[str, Any]) -> tuple[str, str, str]:
    held, models = record["held_out"], {each["name"]: each for each in record["comparison"]["models"]}
    scoring, trust = held["scoring"], (record["diagnosis"] or {}).get("trust")
    words = f"{WORDS[scoring][0].upper()}{WORDS[scoring][1:]} on held-out labels:"
    head, words = words, ""
    if trust == "yes" and "features alone" in models:
        gain = models["features alone"]["gain"]
        head, words = f"The graph {format_help(Gain(gain['value'], gain['error']), 's')}.", f"{head} "
    elif trust in ("no", "unclear"):
        clear = "Predictions are no better" if trust == "no" else "It is not clear that predictions are better"
        head, words = f"{clear} than chance.", f"{head} "
    reached = f"{format_score(scoring, held['score'], 1)} ({format_range(scoring, held['score_interval'])})"
    beside = [f"{name} {format_score(scoring, each['value'], 1)}" for name, each in models.items() if name != "SlimG"]
    told = "; ".join([reached, ", ".join([*beside, format_chance(scoring, held["baseline"], 1)])])
    first = ""
    if held["ranking"] and scoring in ("average_precision", "roc_auc"):
        k = held["ranking"]["positives"]
        name = record["classes"][held["ranking"]["code"]]
        hits = dict(map(tuple, held["ranking"]["first"]))[k]
        first = f" Of the first {k:,} by the probability of {name}, {hits:,} {'is' if hits == 1 else 'are'} {name}."
    return head, f"{words}{told}.{first}", "accuracy"


def _counts(record: dict[str, Any]) -> str:
    parts = record["model"]["overview"]["components"]
    used = sorted((part for part in parts if not part["removed"]), key=lambda part: -part["norm"])
    named = [f"{part['short_title']} {format_percent(part['share'], 0)}" for part in used[:NAMED]]
    rest = len(used) - len(named)
    told = f"{', '.join(named)}{f', {rest} more' if rest else ''} (shares of the weights)." if named else NOTHING
    zero = [part["short_title"] for part in parts if part["removed"] and not part["name"].startswith(part["short_title"])]
    relations = relation_weights(record)
    without = [name for name, weight in relations.items() if not weight]
    told += f" Exactly zero: {list_names(zero, LISTED)}." if zero else ""
    if without and len(relations) == 1:
        return f"{told} The direction of the edges has no weight."
    if len(without) == len(relations) > 1:
        return f"{told} No relation has a weight of its own: all edges count alike."
    return told + (f" Relations without a weight: {list_names(without, LISTED)}." if without else "")


def format_percent(share: float | None, digits: int = 1) -> str:
    """Return a share in percent, which is not 0% if there is one.

    Returns
    -------
    str

    Examples
    --------
    >>> format_percent(0.25), format_percent(0.001, 0), format_percent(0, 0), format_percent(None)
    ('25.0%', 'under 1%', '0%', '–')
    """
    return "–" if share is None else "under 1%" if digits == 0 and 0 < share < 0.005 else f"{share:.{digits}%}"


def titles(record: dict[str, Any]) -> Callable[[Any], str]:
    """A function that names a node: by its name and id, or its id alone.

    Returns
    -------
    callable
    """
    names = dict(zip(record["nodes"]["ids"], record["nodes"]["names"] or (), strict=False))
    return lambda node: f"{names[str(node)]} ({node})" if names.get(str(node)) else str(node)


def relation_weights(record: dict[str, Any]) -> dict[str, float]:
    """Relation → the weight of its directions; the relation of most edges first.

    Returns
    -------
    dict of str to float
    """
    found: dict[str, float] = {}
    for each in sorted(record["read"]["relations"], key=lambda each: -each["edges"]):
        name = each["direction"].removesuffix(OUT).removesuffix(INTO)
        found[name] = found.get(name, 0.0) + each["weight"]
    return found


def _careful(record: dict[str, Any]) -> tuple[str, str]:
    """The first of what there is to be careful of, and the section that shows it."""
    held, found = record["held_out"], record["diagnosis"]
    few = [name for name, each in zip(record["classes"], held["classes"], strict=True) if each["nodes"] < FEW]
    doubts = [note for note in record["read"]["notes"] if note.startswith(DOUBT)]
    if doubts:
        more = f" {number_of(len(doubts) - 1, 'more thing', 'more things')} to check: see the page." if len(doubts) > 1 else ""
        return f"{doubts[0]}{more}", "inputs"
    most = [each["gain"]["interval"][1] for each in record["comparison"]["models"] if "gain" in each]
    if found and (found["trust"] != "yes" or min(most, default=0) < 0):
        return found["advice"][0], "diagnosis"
    if len(few) == len(held["classes"]):
        return f"Every class has fewer than {FEW} labels: the score says little, and predictions are not certain.", "accuracy"
    if few:
        return f"Few labels of {show(few)} (fewer than {FEW}): their predictions are the least certain.", "accuracy"
    if held["calibration_error"] > OFF:
        off = f"{held['calibration_error']:.2f}"
        return f"Probabilities differ by {off} on average from how often they are right.", "accuracy"
    if found and found["evidence"]["suspicious"]:
        doubted = number_of(len(found["evidence"]["suspicious"]), "label looks", "labels look")
        return f"{doubted} wrong; check {titles(record)(found['evidence']['suspicious'][0]['node'])} first.", "diagnosis"
    return "The score holds for nodes like the labelled ones; others may differ.", "accuracy"
