"""A model as one file: a zip of .npy arrays and a header in JSON, which `numpy.load` reads as it reads any .npz.

    NAME.npy …      arrays, stored as they are, without pickled objects
    header.json     {"format": "slimg-model", "version": 5, "sha256": {member: digest}, …}
    zip comment     sha256 of all bytes before the comment: no byte of the file can change unnoticed

Files are written next to their place and moved there when they are whole. Equal models give equal bytes. Sizes that a file
declares are compared with its length before memory is taken.

What a file may hold is one line for each key of the header and each array, checked before any of it is used. A rule is

    a type               a value of that type; ``float`` takes whole numbers too, ``int`` and ``float`` no booleans
    a function           returns what is expected instead, or None
    [rule]               a list of such values; (rule, …) one of several; None is itself
    {"key": rule, …}     exactly these keys; one that ends in "?" may be missing

Shapes are letters: n nodes, c classes, d features, k columns of a component. A file that breaks a rule is refused; `save`
checks the same rules, so that nothing is written which cannot be read. A new attribute of the model is a line in `FITTED`.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from slimg.components.component import Component
from slimg.components.features import FeatureComponent
from slimg.components.structure import NeighbourRanges, Structure
from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.system import atomic_write

FORMAT, VERSION = "slimg-model", 5
HEADER_FILE = "header.json"
DIGEST_SIZE = 64
"""Characters of a SHA-256, the length of the comment."""
ENCRYPTED = 1
"""Bit of a zip member's flags."""
CHUNK = 1 << 20
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time that zip members are given: the same for equal models."""
MOST_DEPTH = 20
"""Levels of lists and mappings in a header."""


def write_model(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Array]) -> Path:
    """Write the whole file or none of it.

    Returns
    -------
    Path
    """
    members = {name: _npy(array) for name, array in arrays.items()}
    digests = {name: _digest(content) for name, content in members.items()}
    full = {"format": FORMAT, "version": VERSION, **header, "sha256": digests}
    with atomic_write(path, binary=True) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(zipfile.ZipInfo(HEADER_FILE, EARLIEST), json.dumps(full, indent=1, ensure_ascii=False).encode())
            for name, content in members.items():
                info = zipfile.ZipInfo(f"{name}.npy", EARLIEST)
                info.file_size = sum(map(len, content))
                with archive.open(info, "w") as member:
                    for part in content:
                        member.write(part)
            archive.comment = b"0" * DIGEST_SIZE
        end = file.seek(0, os.SEEK_END) - DIGEST_SIZE
        total = _digest(_chunks(file, end))
        file.seek(end)
        file.write(total.encode())
    return Path(path)


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a file that is whole and of this version; else the reason why not."""
    source = Path(path)
    try:
        with open(source, "rb") as file:
            _check_bytes(file, source)
            with zipfile.ZipFile(file) as archive:
                _check_members(archive.infolist(), os.fstat(file.fileno()).st_size)
                header = json.loads(archive.read(HEADER_FILE), parse_constant=_no_constant)
                _check_header(header, source)
                if sorted(archive.namelist()) != sorted([HEADER_FILE, *(f"{name}.npy" for name in header["sha256"])]):
                    raise ValueError("its arrays are not those that the header names")
                return header, {name: _array(archive, name, header, source) for name in header["sha256"]}
    except OSError as error:
        raise InputError(f"the model file {source} cannot be read: {error.strerror or error}") from None
    except InputError:
        raise
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, RecursionError, NotImplementedError, struct.error) as error:
        raise InputError(f"{source} is not a whole slimg model file ({error}): save the model again") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} in the header")


def _check_members(members: list[zipfile.ZipInfo], length: int) -> None:
    """Members are stored as they are, and together no longer than the file."""
    if any(each.compress_type != zipfile.ZIP_STORED or each.file_size != each.compress_size for each in members):
        raise ValueError("a member is compressed")
    if any(each.flag_bits & ENCRYPTED for each in members):
        raise ValueError("a member is encrypted")
    if sum(each.file_size for each in members) > length:
        raise ValueError("its members are longer than the file")


def _npy(array: Array) -> tuple[bytes, memoryview]:
    """The header and the bytes of an .npy file; the array itself is not copied."""
    array, header = np.asarray(array, order="C"), io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    return header.getvalue(), array.reshape(-1).view(np.uint8).data


def _check_bytes(file: Any, source: Path) -> None:
    end = file.seek(0, os.SEEK_END) - DIGEST_SIZE
    if end <= 0:
        raise InputError(f"{source} is not a slimg model file: it has only {end + DIGEST_SIZE} bytes")
    file.seek(0)
    if file.read(2) != b"PK":
        raise InputError(f"{source} is not a slimg model file: it is no zip archive")
    file.seek(end)
    stated = file.read(DIGEST_SIZE)
    if _digest(_chunks(file, end)).encode() != stated:
        raise InputError(
            f"{source} is damaged or was cut short: its contents do not match the checksum at its end; copy or save it again"
        )
    file.seek(0)


def _check_header(header: Any, source: Path) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"{source} is not a slimg model file: its header does not say {FORMAT!r}")
    version, written_by = header.get("version"), str(header.get("slimg"))[:20]
    if version != VERSION or type(version) is not int:
        raise InputError(
            f"{source} has version {str(version)[:20]} of the model format (written by slimg {written_by}); this slimg reads"
            f" version {VERSION}: fit the model again, or install the slimg that wrote it"
        )
    check_rule(header.get("sha256"), text_keys(digest), f"{source}: sha256 of the header")


def _array(archive: zipfile.ZipFile, name: str, header: dict[str, Any], source: Path) -> Array:
    """One array; its declared size is compared with its bytes before memory is taken."""
    content = archive.read(f"{name}.npy")
    if _digest([content]) != header["sha256"][name]:
        raise InputError(f"{source} is damaged: the array {name!r} does not match its checksum; save the model again")
    stream = io.BytesIO(content)
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError("another version of .npy")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    except Exception as error:  # its header is read as Python, which can fail in many ways
        raise ValueError(f"array {name!r}: {str(error).splitlines()[:1]}") from None
    begin, size = stream.tell(), math.prod(shape) * dtype.itemsize
    plain = not fortran and dtype.kind in "biuf" and dtype.isnative and min(shape, default=0) >= 0
    if not plain or size != len(content) - begin:
        raise ValueError(f"array {name!r} of type {dtype} and shape {shape} is not its {len(content) - begin} bytes")
    return np.frombuffer(bytearray(content), dtype, math.prod(shape), begin).reshape(shape)


def _chunks(file: Any, end: int) -> Iterator[bytes]:
    """The bytes before ``end``."""
    file.seek(0)
    return (file.read(min(CHUNK, end - start)) for start in range(0, end, CHUNK))


def _digest(parts: Iterable[bytes | memoryview]) -> str:
    """SHA-256 of all parts."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()


def count(value: Any) -> str | None:
    """Rule: a whole number that is not negative."""
    return None if type(value) is int and 0 <= value < 2**63 else "a whole number of at least 0"


def digest(value: Any) -> str | None:
    """Rule: a SHA-256 in hexadecimal digits."""
    return None if isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) else "64 hexadecimal digits"


def share(value: Any) -> str | None:
    """Rule: a number from 0 to 1."""
    return None if type(value) in (int, float) and 0 <= value <= 1 else "a number from 0 to 1"


def positive(value: Any) -> str | None:
    """Rule: a finite number above 0."""
    return None if type(value) in (int, float) and 0 < value <= float(np.finfo(np.float64).max) else "a number above 0"


def anything(value: Any) -> None:
    """Rule: what `decode` can give, which nothing acts upon."""


def text_keys(rule: Any) -> Callable[[Any], str | None]:
    """Rule: a mapping of names to values that follow a rule."""

    def check(value: Any) -> str | None:
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            return "a mapping of names"
        return next((f"{key}: {why}" for key, each in value.items() if (why := mismatch(each, rule))), None)

    return check


def tuple_of(rule: Any) -> Callable[[Any], str | None]:
    """Rule: a tuple of values that follow a rule."""
    return lambda value: mismatch(list(value), [rule]) if isinstance(value, tuple) else "a tuple"


RECORD = {
    "l1": float, "group": float, "joint": bool, "separate": (text_keys(float), None), "val_accuracy": float,
    "val_loss": float, "dual_gap": float, "zero_components": tuple_of(str), "nonzero": float, "converged": bool,
    "seconds": float, "val_score": (float, None), "folds": count, "weight": float,
}  # fmt: skip
FITTED = {
    "rank_": count,
    "chosen_": RECORD,
    "members_": [RECORD],
    "scoring_": str,
    "dual_gap_": float,
    "converged_": bool,
    "zero_components_": tuple_of(str),
    "selection_": [RECORD],
    "notes_": tuple_of(str),
    "seconds_": text_keys(float),
    "fold_in_agreement_": (share, None),
}
"""Attributes of the model that its file keeps as they are."""
PARAMS = {
    "components": (tuple_of(Component), [Component], None),
    "grid": anything,
    "cv": count,
    "average": count,
    "scoring": (str, None),
    "early_stopping": (count, None),
    "class_weight": anything,
    "tol": float,
    "max_iter": count,
    "engine": lambda value: None if value == "memory" else "'memory': a file does not choose the engine",
    "memory": (str, int, None),
    "random_state": count,
    "verbose": lambda value: None if value is False else "false",
}
"""Parameters of the estimator; those of a subclass that are not listed take any value."""
def ends(value: Any) -> str | None:
    """Rule: names of the columns of source, target and weight."""
    fits = isinstance(value, (list, tuple)) and len(value) == 3 and all(name is None or isinstance(name, str) for name in value)
    return None if fits else "three names"


READING = {
    "options?": text_keys((str, bool, None, [(str, bool, None, [str])])),
    "plan": (text_keys(anything), None),
    "id": (str, None),
    "label": (str, None),
    "columns?": ({"edges?": text_keys(ends), "nodes?": text_keys((str, None)), "relation?": (str, None)}, None),
}
HEADER = {
    "format": str,
    "version": int,
    "slimg": str,
    "params": text_keys(anything),
    "classes": [anything],
    "classes_dtype": str,
    "components": [
        {"name": str, "title": str, "short_title": str, "weights": str, "component?": anything, "state?": text_keys(str)}
    ],
    "feature_names": ([str], None),
    "metrics": text_keys(anything),
    "data": {
        "nodes": count, "edges": count, "features": count, "labelled": count, "fingerprint": digest, "reading?": READING,
    },
    "graph": ({"symmetric": [bool], "relations": [{"name": str, "directed": bool, "matrix": count}], "tails": [str]}, None),
    "calibration": ({"temperature": positive}, None),
    "sha256": text_keys(digest),
}  # fmt: skip
ARRAYS = {"intercept": ("f", "c"), "scores": ("f", "nc"), "id_digests": ("u8", "n"), "node_digests": ("u8", "n")}
"""Name → type and shape of the arrays of every model; weights of a component: ("f", "kc"). f is float32 or float64."""
CALIBRATION = {"held_out_scores": ("f4", "hc"), "held_out_codes": ("i8", "h")}
"""Of h rows that were held out."""
STATES: dict[Any, dict[str, tuple[str, str]]] = {
    Structure: {"vectors": ("f", "nk"), "eigenvalues": ("f", "k")},
    NeighbourRanges: {"starts": ("f4", "k"), "of": ("i8", "k"), "names": ("u1", "z"), "places": ("i8", "et")},
    FeatureComponent: {
        "shifted": ("b1", ""), "floor": ("f", ""), "scaling": ("f", "w"), "column_mean": ("f", "d"), "column_scale": ("f", "d"),
        "edges": ("f4", "ej"), "names": ("u1", "z"), "places": ("i8", "et"), "column_weights": ("f", "d"),
        "basis": ("f", "dl"), "mean": ("f", "d"), "components": ("f", "kl"), "singular_values": ("f", "k"),
    },
}  # fmt: skip
"""State arrays of each kind of component; those of other kinds take any finite numbers."""
MOST = {"weights": 1e18, "intercept": 1e18, "eigenvalues": 1e30, "basis": 1e12}
MOST |= dict.fromkeys(("column_scale", "edges", "starts"), np.inf)
"""Largest entries: infinity stands for a constant column, or a range that is not there; scores must not overflow."""


def mismatch(value: Any, rule: Any, depth: int = MOST_DEPTH) -> str | None:
    """Say what a rule expects where a value does not follow it.

    Parameters
    ----------
    value : object
        A value of the header.
    rule : object
        As the module describes it.
    depth : int
        Levels that may follow.

    Returns
    -------
    str or None
        Where, and what is expected; None if the value follows the rule.

    Examples
    --------
    >>> mismatch({"a": [1, "x"]}, {"a": [int]})
    'a: 1: int'
    >>> mismatch({"a": [1], "b": 2}, {"a": [int]})
    'no key b'
    """
    if depth == 0:
        return "fewer levels"
    if isinstance(rule, dict):
        return _mismatch_of_keys(value, rule, depth)
    if isinstance(rule, list):
        if not isinstance(value, list):
            return "a list"
        return next((f"{k}: {why}" for k, each in enumerate(value) if (why := mismatch(each, rule[0], depth - 1))), None)
    if isinstance(rule, tuple):
        reasons = [mismatch(value, each, depth) for each in rule]
        return None if None in reasons else " or ".join(str(reason) for reason in reasons)
    if rule is None:
        return None if value is None else "null"
    if isinstance(rule, type):
        fits = isinstance(value, (int, float) if rule is float else rule) and (rule is bool or not isinstance(value, bool))
        return None if fits else rule.__name__
    return rule(value)


def _mismatch_of_keys(value: Any, rule: dict[str, Any], depth: int) -> str | None:
    if not isinstance(value, dict):
        return "a mapping"
    rules = {key.removesuffix("?"): each for key, each in rule.items()}
    unknown = [key for key in value if key not in rules]
    missing = [key for key in rule if not key.endswith("?") and key not in value]
    if unknown:
        return f"no key {unknown[0]}"
    if missing:
        return f"a key {missing[0]}"
    return next((f"{key}: {why}" for key, each in value.items() if (why := mismatch(each, rules[key], depth - 1))), None)


def check_rule(value: Any, rule: Any, what: str) -> None:
    """Refuse a value that does not follow a rule; ``what`` begins the sentence."""
    why = mismatch(value, rule)
    if why:
        raise InputError(f"{what} does not fit: expected {why}")


def check_array(name: str, array: Array, rule: tuple[str, str] | None, sizes: Mapping[str, int]) -> None:
    """Refuse an array of another type or shape, or with entries that are no numbers."""
    kind, letters = rule or ("", "")
    shape = tuple(sizes[letter] for letter in letters)
    given = array.dtype.str[1:]
    if rule and (not given.startswith(kind) or array.shape != shape):
        raise InputError(f"the array {name!r} is {given} {array.shape}: expected {kind} {shape}")
    if array.dtype.kind not in "biuf":
        raise InputError(f"the array {name!r} has type {array.dtype}: expected numbers")
    most = np.float64(MOST.get(re.sub(r"^tail\d+_|\d+$", "", name), np.finfo(np.float64).max))
    if array.dtype.kind == "f" and not (-most <= array.min(initial=0) and array.max(initial=0) <= most):  # also NaN
        raise InputError(f"the array {name!r} has entries that are not finite numbers, or beyond {most:g}")


def state_rules(component: Component) -> dict[str, tuple[str, str]] | None:
    """Types and shapes of the state arrays of a component, or None for a kind that is not slimg's own."""
    if not type(component).__module__.startswith("slimg."):
        return None
    return next((rules for kind, rules in STATES.items() if isinstance(component, kind)), None)
