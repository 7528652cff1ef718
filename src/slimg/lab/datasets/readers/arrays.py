"""Graphs in files of arrays: NumPy's npz (without unpickling anything) and Matlab files.

    amazon       Computers, Photo: a CSR adjacency (directed as stored), CSR features and labels
    wikipedia    Chameleon, Squirrel: 0/1 features, labels, edges and ten published splits
    facebook100  Penn94, Cornell5: ``A`` and ``local_info``, seven columns of codes (0 = not stated). The label is gender
                 (0 = unlabelled). Every other column becomes one 0/1 feature per value that occurs, "not stated"
                 included, as its publishers do.
    pokec        ``edge_index`` (2 × m), ``node_feat`` (n × 65) and ``label`` (gender; −1 = not stated)
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.graph import Graph
from slimg.lab.datasets.dataset import Dataset
from slimg.lab.datasets.readers import build_graph

CSR_ARRAYS = ("data", "indices", "indptr", "shape")
AMAZON_ARRAYS = (*(f"{part}_{array}" for part in ("adj", "attr") for array in CSR_ARRAYS), "labels")
FACEBOOK_COLUMNS = ("status", "gender", "major", "minor", "dormitory", "year", "high_school")
SPLIT_PARTS = ("train", "val", "test")


def read_amazon(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Return the graph of the file; the direction of the edges is dropped."""
    arrays = load_npz(files[dataset.files[0].name], AMAZON_ARRAYS)
    parts = {part: [arrays[f"{part}_{array}"] for array in CSR_ARRAYS] for part in ("adj", "attr")}
    adjacency, features = (sp.csr_array(tuple(each[:3]), shape=tuple(each[3])) for each in parts.values())
    return Graph.from_arrays(adjacency, features, arrays["labels"])


def read_wikipedia(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Return the graph of the file, with masks ``train_0`` … ``test_9``; the features are sparse (0.6 % ones)."""
    keys = ("node_features", "node_labels", "edges", *(f"{part}_masks" for part in SPLIT_PARTS))
    parts = load_npz(files[dataset.files[0].name], keys)
    source, target = parts["edges"].T
    masks = {f"{part}_{k}": mask.astype(bool) for part in SPLIT_PARTS for k, mask in enumerate(parts[f"{part}_masks"])}
    features = sp.csr_array(parts["node_features"].astype(np.float32))
    return build_graph(source, target, features, parts["node_labels"], directed=False, masks=masks)


def read_facebook100(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Return the graph of the file; classes are the codes of gender, 1 and 2."""
    path = files[dataset.files[0].name]
    parts = load_mat(path, ("A", "local_info"))
    info = parts["local_info"].astype(np.int64)
    if info.ndim != 2 or info.shape != (parts["A"].shape[0], len(FACEBOOK_COLUMNS)):
        raise InputError(f"{path}: local_info should be nodes × {len(FACEBOOK_COLUMNS)}, but its shape is {info.shape}")
    blocks, names = [], []
    for column, given in zip(FACEBOOK_COLUMNS, info.T, strict=True):
        if column != "gender":
            values, codes = np.unique(given, return_inverse=True)
            rows, ones = np.arange(len(info) + 1), np.ones(len(info), np.float32)
            blocks.append(sp.csr_array((ones, codes.ravel(), rows), shape=(len(info), len(values))))
            names += [f"{column}={value}" for value in values]
    gender, features = info[:, FACEBOOK_COLUMNS.index("gender")], sp.hstack(blocks, format="csr")
    return Graph.from_arrays(sp.csr_array(parts["A"]), features, gender, feature_names=names, unlabelled=0)


def read_pokec(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Return the graph of the file; its directed friendships are made undirected."""
    path = files[dataset.files[0].name]
    parts = load_mat(path, ("edge_index", "node_feat", "label"))
    edges, features, labels = parts["edge_index"], parts["node_feat"], parts["label"].ravel()
    if edges.ndim != 2 or edges.shape[0] != 2 or len(labels) != features.shape[0]:
        raise InputError(
            f"{path} does not fit together: edge_index {edges.shape}, node_feat {features.shape}, label {labels.shape}"
        )
    source, target = edges.astype(np.int64)
    return build_graph(source, target, features, labels.astype(np.int64), unlabelled=-1)


def load_npz(path: Path, keys: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the named arrays of an npz file; a missing one, or one of Python objects, is refused."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            _check_present(path, keys, archive.files)
            return {key: archive[key] for key in keys}
    except InputError:
        raise
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} cannot be read as npz ({error}): fetch it again") from None


def load_mat(path: Path, keys: Iterable[str]) -> dict[str, Any]:
    """Return the named arrays of a Matlab file; a missing one is refused."""
    from scipy.io import loadmat

    try:
        found = loadmat(path, variable_names=list(keys))
    except Exception as error:  # a damaged file fails in many ways inside scipy
        raise InputError(f"{path} cannot be read as a Matlab file ({error}): fetch it again") from None
    _check_present(path, keys, found)
    return {key: found[key] for key in keys}


def _check_present(path: Path, keys: Iterable[str], found: Iterable[str]) -> None:
    there = [key for key in found if not key.startswith("__")]
    absent = [key for key in keys if key not in there]
    if absent:
        raise InputError(f"{path} lacks the array {absent[0]!r} (it has {', '.join(there)}): is it of another dataset?")
