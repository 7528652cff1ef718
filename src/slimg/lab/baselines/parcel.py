"""A task for a child process as a folder of plain arrays, and the answer that comes back.

    graph: indptr, indices[, weights]; features (dense) or x_indptr, x_indices, x_values (CSR); codes: labels as numbers
    task:  train, val (row numbers), task.json (model, parameters)
    back:  answers (n numbers), answer.json

Labels travel as their places in ``graph.classes`` and only for the rows of train and val: the labels of all other nodes
are nowhere in the folder. Arrays are `.npy` without objects and are mapped, not read; nothing is pickled.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.graph import Adjacency, Graph, Split

HIDDEN = -1
TASK, ANSWER, ANSWERS = "task.json", "answer.json", "answers"


@dataclass(frozen=True, eq=False)
class Task:
    """What a child is to do: fit on the graph (labels: codes of train and val rows alone), predict every node."""

    model: str
    params: dict[str, Any]
    graph: Graph
    train: np.ndarray
    val: np.ndarray | None


def pack(folder: Path, model: str, params: dict[str, Any], graph: Graph, split: Split) -> None:
    """Write a task."""
    text = json.dumps({"model": model, "params": _plain(params)})
    adjacency = graph.adjacency
    features: Any = graph.features
    codes = np.full(graph.n, HIDDEN)
    for rows in (split.train, split.val):
        codes[rows] = graph.codes[rows]
    arrays: dict[str, Any] = {"indptr": adjacency.indptr, "indices": adjacency.indices, "weights": adjacency.weights}
    arrays["codes"] = codes
    if sp.issparse(features):
        arrays |= {"x_indptr": features.indptr, "x_indices": features.indices, "x_values": features.data}
        arrays["x_shape"] = np.array(features.shape)
    else:
        arrays["features"] = features
    for name, array in {**arrays, "train": split.train, "val": split.val}.items():
        if array is not None:
            np.save(folder / f"{name}.npy", array, allow_pickle=False)
    (folder / TASK).write_text(text)


def unpack(folder: Path) -> Task:
    """Read a task; its arrays are private to the process and are read as they are touched."""
    asked = json.loads((folder / TASK).read_text())
    adjacency = Adjacency(_load(folder, "indptr"), _load(folder, "indices"), _load(folder, "weights"))
    codes, val = _load(folder, "codes"), _load(folder, "val")
    graph = Graph(adjacency, _features(folder), codes, unlabelled=HIDDEN)
    return Task(asked["model"], asked["params"], graph, _load(folder, "train"), val if len(val) else None)


def reply(folder: Path, answer: dict[str, Any], answers: np.ndarray | None = None) -> None:
    """Write the answer; the text comes last, so that a process that dies on the way has not answered."""
    if answers is not None:
        np.save(folder / f"{ANSWERS}.npy", np.asarray(answers, np.int64), allow_pickle=False)
    (folder / ANSWER).write_text(json.dumps(answer))


def replied(folder: Path) -> tuple[dict[str, Any] | None, np.ndarray | None]:
    """The answer, if there is one, and the predicted numbers, if it has them."""
    if not (folder / ANSWER).exists():
        return None, None
    path = folder / f"{ANSWERS}.npy"
    answers = np.load(path, allow_pickle=False) if path.exists() else None
    return json.loads((folder / ANSWER).read_text()), answers


def _load(folder: Path, name: str) -> Any:
    path = folder / f"{name}.npy"
    if not path.exists():
        return None
    try:
        return np.load(path, mmap_mode="c", allow_pickle=False)
    except ValueError:  # an array without entries cannot be mapped
        return np.load(path, allow_pickle=False)


def _features(folder: Path) -> Any:
    dense = _load(folder, "features")
    if dense is not None or not (folder / "x_indptr.npy").exists():
        return dense
    parts = tuple(_load(folder, name) for name in ("x_values", "x_indices", "x_indptr"))
    return sp.csr_array(parts, shape=tuple(_load(folder, "x_shape")))


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters as JSON has them."""
    plain = {}
    for name, value in params.items():
        try:
            plain[name] = json.loads(json.dumps(value, default=_number))
        except TypeError:
            raise InputError(
                f"parameter {name} cannot be sent to a child process: numbers, texts, lists and mappings can, not {value!r}"
            ) from None
    return plain


def _number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError
