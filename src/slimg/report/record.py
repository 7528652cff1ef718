"""The record of a fit: all that a page shows, as plain values that JSON can hold.

read        what was read and decided: sizes, sentences, files, command
held_out    accuracy, confusion, classes, calibration on labels the models had not seen (`slimg.report.measures`)
model       weights of components, of features per class, path of penalties and what was chosen
diagnosis   verdict sentences and the numbers behind them, or None
nodes       ids, codes of labels (−1: none) and predictions, probabilities in thousandths; as many rows as fit
explained   row → explanation and neighbours, for a bounded number of nodes
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from slimg.classifier import SlimG
from slimg.graph.graph import Graph
from slimg.report.measures import summary
from slimg.version import __version__

NODE_BYTES = 4_500_000
"""Room for the table of nodes."""
EXPLAINED = 60
"""Nodes whose explanation is in the page, beside those that are asked for."""
NEIGHBOURS = 14
"""Neighbours of a node that are drawn."""
_CANDIDATE = ("l1", "group", "joint", "separate", "val_accuracy")


def collect(
    model: SlimG,
    graph: Graph,
    *,
    held_out: tuple[np.ndarray, np.ndarray],
    overview: dict[str, Any],
    diagnosis: dict[str, Any] | None = None,
    explained: dict[int, dict[str, Any]] | None = None,
    facts: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Everything a page shows of a fitted model.

    Parameters
    ----------
    held_out : labelled rows and probabilities from models without their labels (`slimg.report.held_out`)
    overview : the model's summary as a dictionary
    explained : row → explanation as a dictionary
    facts : what was read: ``title``, ``notes``, ``files``, ``command``
    """
    chances = model.predict_proba()
    rows, unseen = held_out
    return {
        "version": __version__,
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "classes": [str(name) for name in model.classes_],
        "read": {**_sizes(graph), **(facts or {})},
        "held_out": summary(codes_in_model(model, graph)[rows], unseen),
        "model": _model(model, overview),
        "diagnosis": diagnosis,
        "nodes": _nodes(graph, model, chances),
        "explained": {str(row): _explained(graph, chances, row, told) for row, told in sorted((explained or {}).items())},
    }


def codes_in_model(model: SlimG, graph: Graph) -> np.ndarray:
    """For each node the place of its label in the model's classes, −1 without one."""
    place = {value: code for code, value in enumerate(model.classes_.tolist())}
    of_class = np.array([place.get(value, -1) for value in graph.classes.tolist()] + [-1])
    return of_class[graph.codes]


def nodes_worth_explaining(
    chances: np.ndarray, codes: np.ndarray, held_out: tuple[np.ndarray, np.ndarray], asked: Sequence[int] = ()
) -> list[int]:
    """Rows: those asked for, labels that are contradicted, the least certain nodes and the most certain of each class."""
    rows, unseen = held_out
    ordered = np.sort(chances, axis=1)
    margin = ordered[:, -1] - ordered[:, -2]
    found = unseen.argmax(axis=1)
    wrong = found != codes[rows]
    contradicted = rows[wrong][np.argsort(-unseen.max(axis=1)[wrong], kind="stable")]
    certain: list[int] = []
    for code in range(chances.shape[1]):
        mine = np.flatnonzero(chances.argmax(axis=1) == code)
        certain.extend(mine[np.argsort(-margin[mine], kind="stable")[:2]])
    doubtful = np.argsort(margin, kind="stable")
    third = EXPLAINED // 3
    return _first((asked, contradicted[:third], certain[:third], doubtful[:EXPLAINED]), EXPLAINED + len(asked))


def _first(lists: Iterable[Iterable[int]], most: int) -> list[int]:
    return list(dict.fromkeys(int(row) for rows in lists for row in rows))[:most]


def _sizes(graph: Graph) -> dict[str, Any]:
    return {
        "nodes": graph.n,
        "edges": graph.edges,
        "features": graph.d,
        "labelled": len(graph.labelled),
        "weighted": graph.adjacency.weights is not None,
    }


def _model(model: SlimG, overview: dict[str, Any]) -> dict[str, Any]:
    return {
        "overview": overview,
        "rank": int(model.rank_),
        "selection": [{key: record[key] for key in _CANDIDATE} for record in model.selection_],
        "chosen": {key: model.chosen_[key] for key in _CANDIDATE},
        "gap": float(model.dual_gap_),
        "fold_in_agreement": model.fold_in_agreement_,
        "seconds": {name: float(value) for name, value in model.seconds_.items()},
    }


def _nodes(graph: Graph, model: SlimG, chances: np.ndarray) -> dict[str, Any]:
    """Columns of the table of nodes, cut where the room ends."""
    ids = [str(value) for value in graph.ids]
    sizes = np.cumsum([len(name.encode()) + 14 for name in ids])
    kept = int(np.searchsorted(sizes, NODE_BYTES))
    codes = codes_in_model(model, graph)
    return {
        "total": graph.n,
        "ids": ids[:kept],
        "label": codes[:kept].tolist(),
        "prediction": chances.argmax(axis=1)[:kept].tolist(),
        "probability": np.round(1000 * chances.max(axis=1)[:kept]).astype(int).tolist(),
    }


def _explained(graph: Graph, chances: np.ndarray, row: int, told: dict[str, Any]) -> dict[str, Any]:
    """Contributions to the predicted class against the mean of all classes, and the neighbours that are drawn."""
    place = int(np.argmax(told["scores"]))

    def contrast(scores: Sequence[float]) -> float:
        return round(float(scores[place] - np.mean(scores)), 4)

    parts = []
    for part in told["components"]:
        entry: dict[str, Any] = {"name": part["name"], "title": part["title"], "removed": part["removed"]}
        if not part["removed"]:
            entry["value"] = contrast(part["scores"])
            if "features" in part:
                entry["features"] = [[term["name"], contrast(term["scores"])] for term in part["features"]]
                entry["other_features"] = [part["other_features"]["count"], contrast(part["other_features"]["scores"])]
            entry["sources"] = [[str(term["id"]), contrast(term["scores"])] for term in part["sources"]]
            entry["other_sources"] = [part["other_sources"]["count"], contrast(part["other_sources"]["scores"])]
        parts.append(entry)
    return {
        "id": str(graph.ids[row]),
        "score": contrast(told["scores"]),
        "bias": contrast(told["bias"]),
        "probabilities": [round(float(value), 4) for value in told["probabilities"]],
        "parts": parts,
        **_neighbourhood(graph, chances, row, parts),
        **({"without": told["without"]} if "without" in told else {}),
    }


def _neighbourhood(graph: Graph, chances: np.ndarray, row: int, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Neighbours, those first that contribute most; and the edges among them, as places in the list."""
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
    codes = chances.argmax(axis=1)
    return {
        "degree": len(near),
        "neighbours": [[str(graph.ids[other]), int(codes[other])] for other in order],
        "among": among,
    }
