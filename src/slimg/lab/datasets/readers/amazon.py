"""Amazon Computers and Photo: one npz with a CSR adjacency (directed as stored), CSR features and labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from slimg.graph import Graph
from slimg.lab.datasets.dataset import Dataset
from slimg.lab.datasets.npz import load_npz

KEYS = tuple(f"{part}_{array}" for part in ("adj", "attr") for array in ("data", "indices", "indptr", "shape"))


def read(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Graph of the file; the direction of the edges is dropped."""
    arrays = load_npz(files[dataset.files[0].name], (*KEYS, "labels"))
    return Graph.from_arrays(_csr(arrays, "adj"), _csr(arrays, "attr"), arrays["labels"])


def _csr(arrays: Mapping[str, np.ndarray], part: str) -> sp.csr_array:
    data, indices, indptr, shape = (arrays[f"{part}_{array}"] for array in ("data", "indices", "indptr", "shape"))
    return sp.csr_array((data, indices, indptr), shape=tuple(shape))
