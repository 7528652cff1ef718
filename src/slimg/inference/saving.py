"""A fitted `SlimG` as a header and arrays, and back.

Kept is what predicts: weights, the components whose weights are not all zero with their states, and of each node of the
fitted graph its digests and scores. Not kept are the rows of
P and the graph: a graph is given again to score what changed, or to explain.

A model as one file: a zip of .npy arrays and a header in JSON, which `numpy.load` reads as it reads any .npz.

    NAME.npy …      arrays, stored as they are, without pickled objects
    header.json     {"format": "slimg-model", "version": 2, "sha256": {member: digest}, …}
    zip comment     sha256 of all bytes before the comment: no byte of the file can change unnoticed

Files are written next to their place and moved there when they are whole. Equal models give equal bytes.

Predictions of all nodes as a folder of Parquet files, one for each run of rows.

    predictions/part-00000.parquet    id, prediction, probability, margin[, p(CLASS) for each class]

``prediction`` is the class of the largest probability, ``margin`` how far that is above the second largest. Files follow
the order of the nodes and each run is scored by itself, where its rows are: in the engine of files within the budget, on a
cluster by the worker that holds them. So scores of all nodes and classes are never in one place. The folder appears when
it is complete, and what was written before an error or an interruption is removed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from slimg import __version__
from slimg.components.component import Component, EnergyRank, FittedComponent
from slimg.engine.base import Array, Engine, RowMatrix
from slimg.errors import InputError
from slimg.graph.columns import as_column
from slimg.inference.fold_in import FittedNodes, Scorer, fingerprint
from slimg.learn.objective import softmax
from slimg.system import atomic_folder, atomic_write


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
        entry: dict[str, Any] = {"name": name, "weights": f"weights{k}"}
        entry |= {"title": scorer.titles[name], "short_title": scorer.short_titles[name]}
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
    titles, short = ({each["name"]: each[key] for each in header["components"]} for key in ("title", "short_title"))
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
        Scorer(components, titles, short, weights, arrays["intercept"], classes),
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


FORMAT, VERSION = "slimg-model", 2
HEADER = "header.json"
DIGEST_SIZE = 64
"""Characters of a SHA-256, the length of the comment."""
CHUNK = 1 << 20
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time that zip members are given: the same for equal models."""


def write_model(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Array]) -> Path:
    """Write the whole file or none of it.

    Returns
    -------
    Path
    """
    members = {name: _npy(array) for name, array in arrays.items()}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    full = {"format": FORMAT, "version": VERSION, **header, "sha256": digests}
    with atomic_write(path, binary=True) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(zipfile.ZipInfo(HEADER, EARLIEST), json.dumps(full, indent=1, ensure_ascii=False).encode())
            for name, content in members.items():
                archive.writestr(zipfile.ZipInfo(f"{name}.npy", EARLIEST), content)
            archive.comment = b"0" * DIGEST_SIZE
        end = file.seek(0, os.SEEK_END) - DIGEST_SIZE
        digest = _digest(file, end)
        file.seek(end)
        file.write(digest.encode())
    return Path(path)


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a file that is whole and of this version; else the reason why not."""
    source = Path(path)
    try:
        with open(source, "rb") as file:
            _check_bytes(file, source)
            with zipfile.ZipFile(file) as archive:
                header = json.loads(archive.read(HEADER))
                _check_header(header, source)
                return header, {name: _array(archive, name, header, source) for name in header["sha256"]}
    except OSError as error:
        raise InputError(f"the model file {source} cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{source} is not a whole slimg model file ({error}): save the model again") from None


def _npy(array: Array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(array, order="C"), allow_pickle=False)
    return buffer.getvalue()


def _check_bytes(file: Any, source: Path) -> None:
    end = file.seek(0, os.SEEK_END) - DIGEST_SIZE
    if end <= 0:
        raise InputError(f"{source} is not a slimg model file: it has only {end + DIGEST_SIZE} bytes")
    file.seek(0)
    if file.read(2) != b"PK":
        raise InputError(f"{source} is not a slimg model file: it is no zip archive")
    file.seek(end)
    stated = file.read(DIGEST_SIZE)
    if _digest(file, end).encode() != stated:
        raise InputError(
            f"{source} is damaged or was cut short: its contents do not match the checksum at its end; copy or save it again"
        )
    file.seek(0)


def _check_header(header: dict[str, Any], source: Path) -> None:
    if header.get("format") != FORMAT:
        raise InputError(f"{source} is not a slimg model file: its header says {header.get('format')!r}")
    if header.get("version") != VERSION:
        raise InputError(
            f"{source} has version {header.get('version')} of the model format (written by slimg {header.get('slimg')});"
            f" this slimg reads version {VERSION}: install that slimg or save the model again"
        )


def _array(archive: zipfile.ZipFile, name: str, header: dict[str, Any], source: Path) -> Array:
    content = archive.read(f"{name}.npy")
    if hashlib.sha256(content).hexdigest() != header["sha256"][name]:
        raise InputError(f"{source} is damaged: the array {name!r} does not match its checksum; save the model again")
    return np.load(io.BytesIO(content), allow_pickle=False)


def _digest(file: Any, end: int) -> str:
    """SHA-256 of the bytes before ``end``."""
    file.seek(0)
    found = hashlib.sha256()
    for start in range(0, end, CHUNK):
        found.update(file.read(min(CHUNK, end - start)))
    return found.hexdigest()


def write_predictions(
    folder: str | os.PathLike[str],
    engine: Engine,
    scores: RowMatrix,
    intercept: Array,
    classes: Array,
    ids: Array,
    probabilities: bool = False,
) -> Path:
    """Write the folder from scores without the intercept (n × c); ``probabilities`` adds a column for each class.

    Returns
    -------
    Path
        The folder.
    """
    place = Path(folder)
    with atomic_folder(place) as part:
        fixed = str(part.absolute()), np.asarray(intercept, np.float32), _one_type(classes), probabilities
        for name in engine.for_each_row_chunk(partial(_write_part, *fixed), [scores], [_one_type(ids)]):
            if not (part / name).exists():
                raise InputError(f"a worker wrote {part / name} where it is not seen here: choose a folder that all share")
    return place


def prediction_columns(classes: Array, chances: Array, probabilities: bool = True) -> dict[str, Array]:
    """Columns of a table of predictions, in the precision of the probabilities.

    Parameters
    ----------
    classes : ndarray of shape (c,)
    chances : ndarray of shape (n, c)
        Probabilities.
    probabilities : bool, default=True
        Whether to add a column for each class.

    Returns
    -------
    dict of str to ndarray of shape (n,)
        ``prediction`` is the class of the largest probability, ``probability`` that probability, ``margin`` its distance
        to the second largest, and ``p(CLASS)`` the probability of each class.

    Examples
    --------
    >>> columns = prediction_columns(np.array(["a", "b"]), np.array([[0.25, 0.75]]))
    >>> {name: column.tolist() for name, column in columns.items()}
    {'prediction': ['b'], 'probability': [0.75], 'margin': [0.5], 'p(a)': [0.25], 'p(b)': [0.75]}
    """
    ordered = np.sort(chances, axis=1)
    second = ordered[:, -2] if ordered.shape[1] > 1 else np.zeros(len(ordered), ordered.dtype)
    columns = {
        "prediction": classes[chances.argmax(axis=1)],
        "probability": ordered[:, -1],
        "margin": ordered[:, -1] - second,
    }
    return columns | ({f"p({name})": chances[:, k] for k, name in enumerate(classes)} if probabilities else {})


def largest(engine: Engine, scores: RowMatrix, intercept: Array) -> Array:
    """The column of each row's largest score, as int64; scores stay where they are.

    Returns
    -------
    array of shape (n,), int64
        Numbers of classes.
    """

    def column(block: Array) -> Array:
        return (block + intercept).argmax(axis=1)[:, None].astype(np.float32)  # exact up to 2²⁴ classes

    return engine.to_array(engine.map_rows(column, scores))[:, 0].astype(np.int64)


def _one_type(values: Array) -> Array:
    """Values of several types as text: a column of a file has one type."""
    if values.dtype == object and len({type(value) for value in values}) > 1:
        return np.array([str(value) for value in values], object)
    return values


def _write_part(
    folder: str, intercept: Array, classes: Array, probabilities: bool, which: int, scores: Array, ids: Array
) -> str:
    """The name of the file, after it is complete: a task that a cluster repeats writes the same file again."""
    import pyarrow as pa
    from pyarrow import parquet

    name = f"part-{which:05}.parquet"
    draft = Path(folder) / f"{name}.{os.getpid()}"
    columns = prediction_columns(classes, softmax(scores + intercept), probabilities)
    try:
        parquet.write_table(pa.table({"id": ids, **columns}), draft)
        draft.replace(Path(folder) / name)
    finally:
        draft.unlink(missing_ok=True)
    return name
