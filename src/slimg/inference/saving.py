"""A fitted `SlimG` as a header and arrays, and back.

Kept is what predicts: weights, PCA means and components and the singular vectors of those components that were not
removed, the preparation of features, and of each node of the fitted graph its digests and scores. Not kept are the rows of
P and the graph: a graph is given again to score what changed, or to explain.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slimg.components.features import Preparation
from slimg.components.projector import Projector, Walk
from slimg.engine.base import Array
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.explain.explainer import Scorer
from slimg.graph.columns import as_column
from slimg.graph.digest import fingerprint
from slimg.inference.fold_in import FittedNodes
from slimg.inference.model_file import read_model, write_model
from slimg.learn.path import Record
from slimg.linalg.pca import PCA
from slimg.linalg.svd import Spectrum
from slimg.version import __version__


@dataclass(frozen=True, eq=False)
class Saved:
    """What a file holds.

    Attributes
    ----------
    params : parameters of the estimator
    fitted : its attributes that are numbers, text or lists of them, by name
    data : what is known of the fitted graph: nodes, edges, features, labelled nodes and fingerprint
    feature_names : names of the columns of X, if they had any
    """

    params: dict[str, Any]
    fitted: dict[str, Any]
    data: dict[str, Any]
    feature_names: tuple[str, ...] | None
    scorer: Scorer
    fitted_nodes: FittedNodes


def save(path: str | os.PathLike[str], model: Saved) -> Path:
    """Write a model's file."""
    arrays: dict[str, Array] = {
        "intercept": model.scorer.intercept,
        "scores": model.fitted_nodes.scores,
        "id_digests": model.fitted_nodes.ids,
        "node_digests": model.fitted_nodes.nodes,
    }
    components = []
    for k, (name, weights) in enumerate(model.scorer.weights.items()):
        arrays[f"weights{k}"] = weights
        kind = "removed"
        if weights.any():
            kind, found = _state_arrays(model.scorer.projector, name)
            arrays |= {f"{key}{k}": array for key, array in found.items()}
        components.append({"name": name, "kind": kind, "weights": f"weights{k}"})
    preparation = model.scorer.projector.preparation
    header = {
        "slimg": __version__,
        "params": {name: encode(value, f"parameter {name}") for name, value in model.params.items()},
        "classes": [encode(value, "class") for value in model.scorer.classes.tolist()],
        "classes_dtype": model.scorer.classes.dtype.str if model.scorer.classes.dtype.kind in "biuf" else "O",
        "components": components,
        "preparation": {"normalize": preparation.normalize, "shifted": preparation.shifted},
        "feature_names": model.feature_names,
        "metrics": {name: encode(value, name) for name, value in model.fitted.items()},
        "data": {**model.data, "fingerprint": fingerprint(model.fitted_nodes.nodes)},
    }
    return write_model(path, header, arrays)


def load(path: str | os.PathLike[str]) -> Saved:
    """Read a model's file; one that is damaged or of another version is refused with the reason."""
    header, arrays = read_model(path)
    names = [each["name"] for each in header["components"]]
    states = {each["name"]: _state(each["kind"], k, arrays) for k, each in enumerate(header["components"])}
    states = {name: state for name, state in states.items() if state is not _REMOVED}
    projector = Projector(
        states,  # type: ignore[arg-type]  # those of removed components are gone
        {name: Walk.of(name) for name in names},
        Preparation(**header["preparation"]),
        MemoryEngine(),
    )
    weights = {each["name"]: arrays[each["weights"]] for each in header["components"]}
    classes = as_column([decode(value) for value in header["classes"]], "classes")
    if header["classes_dtype"] != "O":
        classes = classes.astype(header["classes_dtype"])
    feature_names = header["feature_names"]
    return Saved(
        {name: decode(value) for name, value in header["params"].items()},
        _fitted({name: decode(value) for name, value in header["metrics"].items()}),
        header["data"],
        None if feature_names is None else tuple(feature_names),
        Scorer(projector, weights, arrays["intercept"], classes),
        FittedNodes(arrays["id_digests"], arrays["node_digests"], arrays["scores"]),
    )


def encode(value: Any, what: str) -> Any:
    """A value as JSON has it; tuples, sets, mappings and numbers that are none are marked, so that they come back."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return [encode(each, what) for each in value]
    if isinstance(value, dict):
        return {"pairs": [encode(pair, what) for pair in value.items()]}
    if isinstance(value, (set, frozenset)):
        return {"set": [encode(each, what) for each in sorted(value)]}
    if isinstance(value, tuple):
        return {"tuple": [encode(each, what) for each in value]}
    raise InputError(f"{what} cannot be saved: {value!r} is neither a number nor text, nor a tuple of those")


def decode(value: Any) -> Any:
    """The value that `encode` was given."""
    if isinstance(value, list):
        return [decode(each) for each in value]
    if isinstance(value, dict):
        ((kind, content),) = value.items()
        return _DECODERS[kind](decode(content))
    return value


_DECODERS: dict[str, Callable[[Any], Any]] = {"tuple": tuple, "set": set, "pairs": dict, "float": float}
_REMOVED = object()


def _fitted(values: dict[str, Any]) -> dict[str, Any]:
    """Fitted attributes with today's keys in the records of the candidates."""
    chosen, selection = Record.renamed(values["chosen_"]), [Record.renamed(record) for record in values["selection_"]]
    return {**values, "chosen_": chosen, "selection_": selection}


def _state_arrays(projector: Projector, name: str) -> tuple[str, dict[str, Array]]:
    state = projector.states[name]
    if isinstance(state, Spectrum):
        vectors = projector.engine.to_array(state.vectors)
        return "spectrum", {"vectors": vectors, "eigenvalues": np.asarray(state.eigenvalues)}
    if isinstance(state, PCA):
        kept = {"mean": state.mean, "components": state.components, "singular_values": state.singular_values}
        return "pca", {key: np.asarray(array) for key, array in kept.items()}
    return "identity", {}


def _state(kind: str, k: int, arrays: dict[str, Array]) -> Any:
    if kind == "spectrum":
        return Spectrum(arrays[f"vectors{k}"], arrays[f"eigenvalues{k}"])
    if kind == "pca":
        return PCA(arrays[f"mean{k}"], arrays[f"components{k}"], arrays[f"singular_values{k}"])
    return None if kind == "identity" else _REMOVED
