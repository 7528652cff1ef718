"""Cora, CiteSeer, PubMed: the eight files of Planetoid, seven of them pickles of Python 2.

    allx, ally : features (CSR) and one-hot labels of nodes 0 … |allx| − 1; the first |y| are the public training nodes
    tx, ty     : of the test nodes, row k belonging to node test.index[k]
    graph      : {node: [neighbours]}

A pickle can run any code it names, so these are read by an unpickler that knows six names and refuses every other.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.graph import Graph
from slimg.graph.columns import number_of
from slimg.lab.datasets.dataset import Dataset
from slimg.lab.datasets.readers import build_graph

PUBLIC_VALIDATION = 500


def read_planetoid(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Return the graph with the public split as masks; nodes in no feature file get zero features and label 0."""
    parts = {kind: files[f"ind.{dataset.name}.{kind}"] for kind in ("y", "tx", "allx", "ty", "ally", "graph")}
    y, ty, ally = (_array(parts[kind]) for kind in ("y", "ty", "ally"))
    allx, tx = (_csr(parts[kind]) for kind in ("allx", "tx"))
    neighbours = _neighbours(parts["graph"])
    test = np.array(files[f"ind.{dataset.name}.test.index"].read_text().split(), np.int64)
    n = len(neighbours)
    if allx.shape[0] != len(ally) or tx.shape[0] != len(ty) or len(ty) != len(test) or test.max(initial=-1) >= n:
        raise InputError(f"{parts['graph'].parent} mixes files of different datasets: their numbers of nodes differ")
    place = np.full(n, allx.shape[0] + tx.shape[0])  # one row of zeros after both parts
    place[: allx.shape[0]] = np.arange(allx.shape[0])
    place[test] = allx.shape[0] + np.arange(len(test))
    features = sp.vstack([allx, tx, sp.csr_array((1, allx.shape[1]), dtype=np.float32)], format="csr")[place]
    labels = np.concatenate([ally.argmax(1), ty.argmax(1), [0]])[place]
    source = np.repeat(np.fromiter(neighbours, np.int64, n), [len(v) for v in neighbours.values()])
    target = np.fromiter(chain.from_iterable(neighbours.values()), np.int64, len(source))
    absent = int(np.count_nonzero(place == allx.shape[0] + tx.shape[0]))
    said = number_of(absent, "node is", "nodes are")
    notes = (f"{said} in no feature file: zero features and label 0.",) if absent else ()
    return build_graph(source, target, features, labels, masks=_masks(n, len(y), test), notes=notes)


class PlanetoidUnpickler(pickle.Unpickler):
    """Admits numpy arrays, CSR matrices (as bare parts), defaultdict and list; refuses all else by name."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the object a pickle names, if Planetoid's files need it."""
        known: dict[tuple[str, str], Any] = {
            ("numpy", "dtype"): np.dtype,
            ("numpy", "ndarray"): np.ndarray,
            ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],  # numpy 2 moved it
            ("scipy.sparse.csr", "csr_matrix"): _CsrParts,
            ("collections", "defaultdict"): defaultdict,
            ("__builtin__", "list"): list,
        }
        if (module, name) not in known:
            raise InputError(f"it asks for {module}.{name}, which no Planetoid file needs, and so was not loaded")
        return known[module, name]


class _CsrParts:
    """Receives the attributes of a pickled csr_matrix without running any of scipy's code."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    _shape: tuple[int, int]


def _unpickle(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            return PlanetoidUnpickler(file, encoding="latin1").load()
    except InputError as error:
        raise InputError(f"{path} was refused: {error}") from None
    except Exception as error:  # a damaged pickle can fail in any way
        raise InputError(f"{path} is not a Planetoid file ({type(error).__name__}: {error}): fetch it again") from None


def _array(path: Path) -> np.ndarray:
    found = _unpickle(path)
    if not isinstance(found, np.ndarray) or found.ndim != 2 or found.dtype.kind not in "iuf":
        raise InputError(f"{path} should hold one-hot labels, but holds {type(found).__name__}")
    return found


def _csr(path: Path) -> sp.csr_array:
    found = _unpickle(path)
    if not isinstance(found, _CsrParts):
        raise InputError(f"{path} should hold a CSR matrix, but holds {type(found).__name__}")
    try:
        matrix = sp.csr_array((found.data.astype(np.float32), found.indices, found.indptr), shape=found._shape)
        matrix.check_format(full_check=True)
    except (AttributeError, ValueError, TypeError) as error:
        raise InputError(f"{path} holds a CSR matrix that does not fit together ({error})") from None
    return matrix


def _neighbours(path: Path) -> dict[int, list[int]]:
    found = _unpickle(path)
    if not isinstance(found, dict) or set(found) != set(range(len(found))):
        raise InputError(f"{path} should map nodes 0, 1, 2, … to their neighbours")
    return found


def _masks(n: int, train: int, test: np.ndarray) -> dict[str, np.ndarray]:
    rows = np.arange(n)
    validation = (rows >= train) & (rows < train + PUBLIC_VALIDATION)
    return {"train": rows < train, "val": validation, "test": np.isin(rows, test)}
