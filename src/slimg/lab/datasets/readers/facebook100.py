"""Facebook100 (Penn94, Cornell5): a Matlab file with ``A`` and ``local_info``.

``local_info`` has seven columns of codes: status, gender, major, minor, dormitory, year, high school; 0 = not stated.
The label is gender (0 = unlabelled). Every other column becomes one 0/1 feature per value that occurs, "not stated"
among them, as its publishers do.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.graph import Graph
from slimg.lab.datasets.dataset import Dataset
from slimg.lab.datasets.matlab import load_mat

COLUMNS = ("status", "gender", "major", "minor", "dormitory", "year", "high_school")
GENDER = COLUMNS.index("gender")


def read(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Graph of the file; classes are the codes of gender, 1 and 2."""
    path = files[dataset.files[0].name]
    parts = load_mat(path, ("A", "local_info"))
    info = parts["local_info"].astype(np.int64)
    if info.ndim != 2 or info.shape != (parts["A"].shape[0], len(COLUMNS)):
        raise InputError(f"{path}: local_info should be nodes × {len(COLUMNS)}, but its shape is {info.shape}")
    blocks, names = [], []
    for k, column in enumerate(COLUMNS):
        if k != GENDER:
            values, codes = np.unique(info[:, k], return_inverse=True)
            rows = np.arange(len(info) + 1)
            ones = np.ones(len(info), np.float32)
            blocks.append(sp.csr_array((ones, codes.ravel(), rows), shape=(len(info), len(values))))
            names += [f"{column}={value}" for value in values]
    return Graph.from_arrays(
        sp.csr_array(parts["A"]),
        sp.hstack(blocks, format="csr"),
        info[:, GENDER],
        feature_names=names,
        unlabelled=0,
    )
