"""A fitted `SlimG` as a header and arrays, and back.

Kept is what predicts: weights, the components whose weights are not all zero with their states, and of each node of the
fitted graph its digests and scores. Not kept are the rows of
P and the graph: a graph is given again to score what changed, or to explain.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slimg.components.component import Component, EnergyRank, FittedComponent
from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.graph.columns import as_column
from slimg.graph.digest import fingerprint
from slimg.inference.fold_in import FittedNodes
from slimg.inference.model_file import read_model, write_model
from slimg.inference.scoring import Scorer
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
    """Write a model's file.

    Returns
    -------
    Path
    """
    scorer = model.scorer
    arrays: dict[str, Array] = {
        "intercept": scorer.intercept,
        "scores": model.fitted_nodes.scores,
        "id_digests": model.fitted_nodes.ids,
        "node_digests": model.fitted_nodes.nodes,
    }
    components = []
    for k, (name, weights) in enumerate(scorer.weights.items()):
        arrays[f"weights{k}"] = weights
        entry: dict[str, Any] = {"name": name, "title": scorer.titles[name], "weights": f"weights{k}"}
        if name in scorer.used:
            fitted = scorer.components[name]
            state = fitted.component.to_arrays(fitted.state)
            arrays |= {f"{key}{k}": array for key, array in state.items()}
            entry |= {"component": encode(fitted.component, name), "state": {key: f"{key}{k}" for key in state}}
        components.append(entry)
    header = {
        "slimg": __version__,
        "params": {name: encode(value, f"parameter {name}") for name, value in model.params.items()},
        "classes": [encode(value, "class") for value in scorer.classes.tolist()],
        "classes_dtype": scorer.classes.dtype.str if scorer.classes.dtype.kind in "biuf" else "O",
        "components": components,
        "feature_names": model.feature_names,
        "metrics": {name: encode(value, name) for name, value in model.fitted.items()},
        "data": {**model.data, "fingerprint": fingerprint(model.fitted_nodes.nodes)},
    }
    return write_model(path, header, arrays)


def load(path: str | os.PathLike[str]) -> Saved:
    """Read a model's file; one that is damaged or of another version is refused with the reason.

    Returns
    -------
    Saved
    """
    header, arrays = read_model(path)
    components = {each["name"]: _fitted(each, arrays) for each in header["components"] if "state" in each}
    titles = {each["name"]: each["title"] for each in header["components"]}
    weights = {each["name"]: arrays[each["weights"]] for each in header["components"]}
    classes = as_column([decode(value) for value in header["classes"]], "classes")
    if header["classes_dtype"] != "O":
        classes = classes.astype(header["classes_dtype"])
    feature_names = header["feature_names"]
    return Saved(
        {name: decode(value) for name, value in header["params"].items()},
        {name: decode(value) for name, value in header["metrics"].items()},
        header["data"],
        None if feature_names is None else tuple(feature_names),
        Scorer(components, titles, weights, arrays["intercept"], classes),
        FittedNodes(arrays["id_digests"], arrays["node_digests"], arrays["scores"]),
    )


def _fitted(entry: dict[str, Any], arrays: dict[str, Array]) -> FittedComponent:
    component = decode(entry["component"])
    return FittedComponent(component, component.from_arrays({key: arrays[name] for key, name in entry["state"].items()}))


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
    if isinstance(value, EnergyRank):
        return {"energy_rank": [value.energy, value.max_rank]}
    if isinstance(value, Component):
        return {"component": encode({"kind": type(value).__name__, "options": value.options()}, what)}
    raise InputError(f"{what} cannot be saved: {value!r} is neither a number nor text, nor a tuple of those")


def decode(value: Any) -> Any:
    """The value that `encode` was given."""
    if isinstance(value, list):
        return [decode(each) for each in value]
    if isinstance(value, dict):
        ((kind, content),) = value.items()
        return _DECODERS[kind](decode(content))
    return value


def _component(described: dict[str, Any]) -> Component:
    """A component from its kind, which must be a known class, and its options."""
    kind = described["kind"]
    if kind not in Component.kinds:
        known = ", ".join(Component.kinds)
        raise InputError(f"the model has a component of kind {kind!r}, but only {known} are known: import its class first")
    return Component.kinds[kind](**described["options"])


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "tuple": tuple,
    "set": set,
    "pairs": dict,
    "float": float,
    "energy_rank": lambda pair: EnergyRank(*pair),
    "component": _component,
}
