"""A fitted `SlimG` as a header and arrays, and back.

Kept is what predicts: weights, the components whose weights are not all zero with their states, and of each node of the
fitted graph its digests and scores, and the graph without labels unless that was not wanted. Not kept are the rows of P.
What header and arrays may hold is a table (`slimg.inference.model_file`), checked before anything is used; docs/model-file.md
describes it.

Arrays of the graph:

    graph_ids                                        int64, or uint8: UTF-8 of a JSON list
    graph_indptrK, graph_indicesK, graph_weightsK    matrix K in CSR; of a symmetric one the entries above the diagonal
    graph_features, or graph_features_indptr, …_indices, …_weights      X, dense or CSR
    tailK_rows, tailK_scale, tailK_basis             of the K-th long component

Matrix 0 is A, others are those of relations. The header has {"symmetric": [of each matrix], "relations": [{"name",
"directed", "matrix"}], "tails": [names of components]}. Labels and masks are not kept. A graph whose digests are not those
of the file's nodes is refused, so that ids, edges, relations and features are those of the fit.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from inspect import isabstract
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from slimg import __version__
from slimg.components.component import Component, EnergyRank, FittedComponent
from slimg.components.features import FeatureComponent
from slimg.components.row_scaling import BINS
from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency, as_adjacency
from slimg.graph.columns import as_column
from slimg.graph.graph import Graph
from slimg.graph.relations import Relation, share_equal
from slimg.inference import model_file
from slimg.inference.fold_in import (
    LEADING,
    FittedGraph,
    FittedNodes,
    Scorer,
    Tail,
    fingerprint,
    id_digests,
    long_components,
    node_digests,
)
from slimg.inference.predictions import Calibration, is_temperature
from slimg.io.features import FeaturePlan

Take = Callable[[str, tuple[str, str], dict[str, int]], Array]
"""Name, rule and sizes of an array of the file → the array, checked."""


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
    calibration: Calibration | None = None
    graph: FittedGraph | None = None


CHECKED_NODES = 1 << 16
"""Nodes up to which a graph is made again from its arrays, and compared, before it is written."""


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
    if model.calibration is not None:
        arrays |= {"held_out_scores": model.calibration.scores, "held_out_codes": model.calibration.codes}
    kept, more = None, dict[str, Array]()
    if model.graph is not None:
        kept, more = graph_arrays(model.graph, encode)
    components = []
    written: dict[int, str] = {}  # arrays that components share, such as the reduction of X, are written once
    for k, (name, weights) in enumerate(scorer.weights.items()):
        arrays[f"weights{k}"] = weights
        entry: dict[str, Any] = {"name": name, "weights": f"weights{k}"}
        entry |= {"title": scorer.titles[name], "short_title": scorer.short_titles[name]}
        if name in scorer.used:
            fitted = scorer.components[name]
            state = fitted.component.to_arrays(fitted.state)
            places = {key: written.setdefault(id(array), f"{key}{k}") for key, array in state.items()}
            arrays |= {places[key]: array for key, array in state.items()}
            entry |= {"component": encode(fitted.component, name), "state": places}
        components.append(entry)
    header = {
        "slimg": __version__,
        "params": {name: encode(value, f"parameter {name}") for name, value in model.params.items()},
        "classes": [encode(value, "class") for value in scorer.classes.tolist()],
        "classes_dtype": _dtype(scorer.classes),
        "components": components,
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "graph": kept,
        "calibration": model.calibration and {"temperature": model.calibration.temperature},
        "metrics": {name: encode(value, name) for name, value in model.fitted.items()},
        "data": {**model.data, "fingerprint": fingerprint(model.fitted_nodes.nodes)},
    }
    whole = model.graph is None or model.graph.graph.n <= CHECKED_NODES  # a large graph is checked when it is read
    fixed = {"format": model_file.FORMAT, "version": model_file.VERSION, "sha256": {}}
    checked = {**fixed, **header, "graph": kept if whole else None}
    _saved(checked, arrays | more if whole else arrays, list(model.params))
    return model_file.write_model(path, header, arrays | more)


def load(path: str | os.PathLike[str], params: Iterable[str]) -> Saved:
    """Read a model's file; one that is damaged, of another version or not as the schema has it is refused with the reason.

    Parameters
    ----------
    path : path-like
    params : iterable of str
        Names of the parameters of the estimator.

    Returns
    -------
    Saved
    """
    header, arrays = model_file.read_model(path)
    try:
        return _saved(header, arrays, params)
    except InputError as error:
        raise InputError(f"{path} is not a model that slimg wrote: {error}; fit and save it again") from None


def _saved(header: dict[str, Any], arrays: dict[str, Array], params: Iterable[str]) -> Saved:
    """The model of a header and arrays that follow the schema."""
    model_file.check_rule(header, model_file.HEADER, "the header")
    data, entries = header["data"], header["components"]
    values, fitted = ({name: decode(value) for name, value in header[key].items()} for key in ("params", "metrics"))
    rules = {name: model_file.PARAMS.get(name, model_file.anything) for name in params}
    model_file.check_rule(values, rules, "params of the header")
    model_file.check_rule(fitted, model_file.FITTED, "metrics of the header")
    classes = _classes(header)
    sizes = {"n": data["nodes"], "c": len(classes), "d": data["features"]}
    names = header["feature_names"]
    if names is not None and len(names) != sizes["d"]:
        raise InputError(f"the header names {len(names)} features of {sizes['d']}")
    rest = dict(arrays)
    kept = {name: _taken(rest, name, rule, sizes) for name, rule in model_file.ARRAYS.items()}
    if fingerprint(kept["node_digests"]) != data["fingerprint"]:
        raise InputError("the fingerprint of the graph is not that of its nodes")
    calibration = _calibration(header["calibration"], rest, len(classes))
    known = None if values["components"] is None else {each.name: each for each in values["components"]}
    weights, components, shared = {}, {}, dict[str, Array]()
    for entry in entries:
        name = entry["name"]
        columns = rest[entry["weights"]].shape[:1] if entry["weights"] in rest else (0,)
        own = sizes | {"k": columns[0] if columns else 0}
        weights[name] = _taken(rest, entry["weights"], ("f", "kc"), own)
        if "component" in entry or weights[name].any():
            components[name] = _fitted(entry, rest, shared, own, known)
    titles, short = ({each["name"]: each[key] for each in entries} for key in ("title", "short_title"))
    scorer = Scorer(components, titles, short, weights, kept["intercept"], classes)
    nodes = FittedNodes(kept["id_digests"], kept["node_digests"], kept["scores"])
    names, graph = None if names is None else tuple(names), None
    if header["graph"] is not None:
        graph = _call(kept_graph, header["graph"], rest, partial(_taken, rest), nodes, scorer, sizes["d"], names, decode)
    zeros = tuple(name for name, each in weights.items() if not each.any())
    if len(weights) != len(entries) or rest or fitted["zero_components_"] != zeros:
        raise InputError("components, weights and arrays do not belong together")
    _check_plan((data.get("reading") or {}).get("plan"), names, components)
    return Saved(values, fitted, data, names, scorer, nodes, calibration, graph)


def _check_plan(
    stored: dict[str, Any] | None, names: tuple[str, ...] | None, components: dict[str, FittedComponent]
) -> None:
    """The plan of the columns makes the features; ranges are of the numbers that it has, in its order."""
    plan = FeaturePlan(()) if stored is None else _call(FeaturePlan.from_dict, stored)
    numbers = [list(places) for _, places, *_ in plan.numbers]
    prepared = [getattr(fitted.state, "preparation", None) for fitted in components.values()]
    wrong = any(each is not None and each.places is not None and each.places.tolist() != numbers for each in prepared)
    if wrong or (stored is not None and plan.names != (names or ())):
        raise InputError("the features, or the numbers among them, are not those of the plan of the columns")


def _calibration(stored: dict[str, float] | None, rest: dict[str, Array], classes: int) -> Calibration | None:
    if stored is None:
        return None
    sizes = {"h": rest["held_out_codes"].size if "held_out_codes" in rest else 0, "c": classes}
    scores, codes = (_taken(rest, name, rule, sizes) for name, rule in model_file.CALIBRATION.items())
    if not len(codes) or codes.min() < 0 or codes.max() >= classes:
        raise InputError("the arrays of the calibration are not scores and classes")
    found = Calibration(**stored, scores=scores, codes=codes)
    if not is_temperature(found):
        raise InputError("the temperature is not that of the held-out scores")
    return found


def _taken(rest: dict[str, Array], name: str, rule: tuple[str, str] | None, sizes: dict[str, int]) -> Array:
    """The array of this name, checked, and removed from those that are left."""
    if name not in rest:
        raise InputError(f"there is no array {name!r}, or it is named twice")
    model_file.check_array(name, rest[name], rule, sizes)
    return rest.pop(name)


def _classes(header: dict[str, Any]) -> Array:
    """The classes, whose values and types must be those of the header."""
    values, kind = [decode(value) for value in header["classes"]], header["classes_dtype"]
    if not values or len(_call(set, values)) != len(values):
        raise InputError("the header has no classes, or one of them twice")
    classes = as_column(values, "classes")
    classes = classes if kind == "O" or _dtype(classes) == "O" else _call(classes.astype, kind)
    if kind != _dtype(classes) or [(type(each), each) for each in classes.tolist()] != [(type(each), each) for each in values]:
        raise InputError(f"classes of the header are not values of type {kind!r}")
    return classes


def _dtype(classes: Array) -> str:
    return classes.dtype.str if classes.dtype.kind in "biuf" else "O"


def _fitted(
    entry: dict[str, Any], rest: dict[str, Array], shared: dict[str, Array], sizes: dict[str, int],
    known: dict[str, Component] | None,
) -> FittedComponent:  # fmt: skip
    """The component of an entry with its state."""
    name = entry["name"]
    if "component" not in entry or "state" not in entry:
        raise InputError(f"component {name!r} has weights and no state")
    component = decode(entry["component"])
    if not isinstance(component, Component) or component.name != name or (known and component != known.get(name)):
        raise InputError(f"component {name!r} is not the one that params have under this name")
    if (component.title, component.short_title) != (entry["title"], entry["short_title"]):
        raise InputError(f"component {name!r} has other titles than its kind")
    rules = model_file.state_rules(component)
    unknown = [key for key in entry["state"] if rules is not None and key not in rules]
    if unknown:
        raise InputError(f"component {name!r} has no array {unknown[0]!r}")
    arrays = {**shared, **rest}
    basis, names, places = (arrays.get(entry["state"].get(key, "")) for key in ("basis", "names", "places"))
    if places is not None and not (places.ndim == 2 and places.size and -1 <= places.min() <= places.max() < sizes["d"]):
        raise InputError(f"component {name!r} has ranges of numbers that are no features")
    numbers = sizes["d"] if places is None else len(places)
    d = component.prepared_width(numbers) if isinstance(component, FeatureComponent) else sizes["d"]
    sizes = sizes | {"e": numbers, "d": d, "j": BINS - 1, "t": 3, "w": 2, "z": 0 if names is None else names.size}
    sizes = sizes | {"l": sizes["d"] if basis is None or basis.ndim != 2 else basis.shape[1]}
    state = {}
    for key, place in entry["state"].items():
        rule = None if rules is None else rules[key]
        if place not in shared:
            shared[place] = _taken(rest, place, rule, sizes)
        model_file.check_array(place, shared[place], rule, sizes)
        state[key] = shared[place]
    fitted = FittedComponent(component, _call(component.from_arrays, state))
    if rules is not None and set(component.to_arrays(fitted.state)) != set(state):
        raise InputError(f"component {name!r} has arrays that its options do not need")
    return fitted


def _call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """A function of values from a file, whatever it raises turned into an InputError."""
    try:
        return function(*arguments, **options)
    except InputError:
        raise
    except Exception as error:  # of a class that need not be slimg's own
        what = getattr(function, "__qualname__", str(function))
        raise InputError(f"{what} refuses its values ({type(error).__name__}: {error})") from None


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


def decode(value: Any, depth: int = model_file.MOST_DEPTH) -> Any:
    """The value that `encode` was given."""
    if depth == 0:
        raise InputError(f"the header has a value of more than {model_file.MOST_DEPTH} levels")
    if isinstance(value, list):
        return [decode(each, depth - 1) for each in value]
    if not isinstance(value, dict):
        return value
    kind = next(iter(value), None)
    rule, make = _DECODERS.get(kind, (None, None)) if len(value) == 1 else (None, None)
    if make is None:
        raise InputError(f"the header has a value of unknown kind {str(kind)[:40]!r}")
    content = decode(value[kind], depth - 1)
    model_file.check_rule(content, rule, f"a value of kind {kind!r}")
    return _call(make, content)


def _component(described: dict[str, Any]) -> Component:
    """A component from its kind, which must be a known class, and its options."""
    model_file.check_rule(described, {"kind": str, "options": model_file.text_keys(model_file.anything)}, "a component")
    kind = described["kind"]
    if kind not in Component.kinds or isabstract(Component.kinds[kind]):
        known = ", ".join(Component.kinds)
        raise InputError(f"the model has a component of kind {kind!r}, but only {known} are known: import its class first")
    made = _call(Component.kinds[kind], **described["options"])
    model_file.check_rule(described["options"], dict.fromkeys(made.options(), model_file.anything), f"options of {kind}")
    return made


_DECODERS: dict[Any, tuple[Any, Callable[[Any], Any]]] = {
    "tuple": ([model_file.anything], tuple),
    "set": ([model_file.anything], set),
    "pairs": ([lambda value: None if isinstance(value, tuple) and len(value) == 2 else "a pair"], dict),
    "float": (lambda value: None if value in ("nan", "inf", "-inf") else "nan, inf or -inf", float),
    "energy_rank": ([float], lambda pair: EnergyRank(*pair)),
    "component": (model_file.text_keys(model_file.anything), _component),
}
"""Kind of a marked value → what it holds, and what is made of it."""


def graph_arrays(kept: FittedGraph, encode: Callable[[Any, str], Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Make the header and the arrays of a fitted graph.

    Parameters
    ----------
    kept : FittedGraph
        The graph and the tails of long components.
    encode : callable
        Encodes an id as JSON has it.

    Returns
    -------
    header : dict
    arrays : dict of str to array
    """
    graph, arrays = kept.graph, dict[str, Array]()
    whole = graph.ids.dtype.kind in "iu"
    values = [value if type(value) is str else encode(value, "an id") for value in ([] if whole else graph.ids.tolist())]
    text = json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass")
    arrays["graph_ids"] = graph.ids.astype(np.int64) if whole else np.frombuffer(text, np.uint8)
    places: dict[int, int] = {}
    symmetric: list[bool] = []

    def place(matrix: Adjacency, mirrored: bool) -> int:
        if id(matrix) not in places:
            places[id(matrix)] = k = len(symmetric)
            symmetric.append(mirrored)
            half = _upper(matrix) if mirrored else matrix
            arrays.update({f"graph_indptr{k}": half.indptr, f"graph_indices{k}": half.indices})
            if half.weights is not None:
                arrays[f"graph_weights{k}"] = half.weights
        return places[id(matrix)]

    place(graph.adjacency, True)
    relations = [{"name": each.name, "directed": each.directed, "matrix": place(each.out, not each.directed)}
                 for each in graph.relations]  # fmt: skip
    features: Any = graph.features
    if sp.issparse(features):
        arrays["graph_features_indptr"] = features.indptr.astype(np.int64)
        arrays["graph_features_indices"] = features.indices.astype(np.int32)
        arrays["graph_features_weights"] = features.data
    elif features is not None:
        arrays["graph_features"] = features
    for k, tail in enumerate(kept.tails.values()):
        arrays |= {f"tail{k}_{name}": getattr(tail, name) for name in Tail._fields}
    return {"symmetric": symmetric, "relations": relations, "tails": list(kept.tails)}, arrays


def _upper(matrix: Adjacency) -> Adjacency:
    rows = np.repeat(np.arange(matrix.n, dtype=matrix.indices.dtype), np.diff(matrix.indptr))
    keep = matrix.indices > rows
    indptr = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])[matrix.indptr]
    return Adjacency(indptr, matrix.indices[keep], None if matrix.weights is None else matrix.weights[keep])


def kept_graph(
    header: dict[str, Any], rest: dict[str, Array], take: Take, nodes: FittedNodes, scorer: Scorer, d: int,
    feature_names: tuple[str, ...] | None, decode: Callable[[Any], Any],
) -> FittedGraph:  # fmt: skip
    """Make the graph of a header and arrays.

    Parameters
    ----------
    header : dict
        As `graph_arrays` made it.
    rest : dict of str to array
        Arrays of the file that are not used yet.
    take : callable
        Checks an array and removes it from ``rest``.
    nodes : FittedNodes
        Digests that the graph must have.
    scorer : Scorer
        The components.
    d : int
        Number of features.
    feature_names : tuple of str or None
        Their names.
    decode : callable
        Decodes an id.

    Returns
    -------
    FittedGraph
    """
    n, symmetric = len(nodes.ids), header["symmetric"]

    def csr(name: str, width: int) -> sp.csr_array:
        """A matrix of n rows; scipy checks that its pointers ascend and that its columns exist."""
        indptr = take(name.format("indptr"), ("i8", "p"), {"p": n + 1})
        weights, sizes = name.format("weights"), {"e": int(indptr[-1])}
        indices = take(name.format("indices"), ("i4", "e"), sizes)
        values = take(weights, ("f4", "e"), sizes) if weights in rest else np.ones(len(indices), bool)
        matrix = sp.csr_array((values, indices, indptr), shape=(n, width))
        matrix.check_format(full_check=True)
        matrix.sum_duplicates()
        return matrix

    ids = _ids(rest, take, n, decode)
    if not symmetric or not symmetric[0] or (id_digests(ids) != nodes.ids).any():
        raise InputError("the graph of the file has other nodes than its digests")
    halves = [csr(f"graph_{{}}{k}", n) for k in range(len(symmetric))]
    if any(half.diagonal().any() for half in halves):
        raise InputError("the graph of the file has loops")
    matrices = [as_adjacency(sp.csr_array(half + half.T.tocsr()) if mirrored else half)
                for half, mirrored in zip(halves, symmetric, strict=True)]  # fmt: skip
    relations = []
    for each in header["relations"]:
        if each["matrix"] >= len(matrices) or symmetric[each["matrix"]] is each["directed"]:
            raise InputError(f"relation {each['name']!r} has no matrix of its kind")
        out = matrices[each["matrix"]]
        into = as_adjacency(halves[each["matrix"]].T.tocsr()) if each["directed"] else out
        relations.append(Relation(each["name"], out, into, each["directed"]))
    features: Any = None
    if "graph_features_indptr" in rest:
        features = csr("graph_features_{}", d)
    elif d:
        features = take("graph_features", ("f4", "nd"), {"n": n, "d": d})
    graph = Graph(matrices[0], features, ids=ids, feature_names=feature_names, relations=share_equal(relations))
    if (node_digests(graph) != nodes.nodes).any():
        raise InputError("the graph of the file is not the one its digests were made of")
    return FittedGraph(graph, _tails(header["tails"], take, scorer, n))


def _ids(rest: dict[str, Array], take: Take, n: int, decode: Callable[[Any], Any]) -> Array:
    given = rest.get("graph_ids")
    if given is not None and given.dtype == np.int64:
        return take("graph_ids", ("i8", "n"), {"n": n})
    text = take("graph_ids", ("u1", "t"), {"t": 0 if given is None else given.size}).tobytes()
    try:
        values = json.loads(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"the ids of the graph are not JSON ({str(error)[:60]})") from None
    if not isinstance(values, list) or len(values) != n:
        raise InputError(f"the graph has other ids than those of its {n:,} nodes")
    return as_column([value if type(value) is str else decode(value) for value in values], "ids")


def _tails(names: list[str], take: Take, scorer: Scorer, n: int) -> dict[str, Tail]:
    if names != long_components(scorer):
        raise InputError("the tails of the file are not those of its components")
    found = {}
    for k, name in enumerate(names):
        r, c = scorer.weights[name].shape
        sizes = {"n": n, "r": r, "q": min(r, min(r, LEADING) + c)}
        rules = {"rows": ("f2", "nq"), "scale": ("f4", "q"), "basis": ("f4", "rq")}
        found[name] = Tail(**{key: take(f"tail{k}_{key}", rule, sizes) for key, rule in rules.items()})
    return found
