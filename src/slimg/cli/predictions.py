"""Predictions as a table: that of the nodes, and beside it what the model says of each.

prediction    the class of the largest probability
probability   that probability
margin        how far it is above the second largest
p(CLASS)      the probability of each class
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from slimg.io.inputs import Inputs, Options
from slimg.io.source import Source

FORMATS = {".csv": ".csv", ".tsv": ".tsv", ".tab": ".tsv", ".jsonl": ".jsonl", ".ndjson": ".jsonl", ".json": ".jsonl",
           ".parquet": ".parquet", ".pq": ".parquet"}  # fmt: skip
DIGITS = 4


def prediction_table(table: pd.DataFrame, classes: np.ndarray, chances: np.ndarray) -> tuple[pd.DataFrame, str]:
    """The table with predictions (n × c probabilities), and the prefix that new columns got so that none is hidden."""
    ordered = np.sort(chances, axis=1)
    added = {
        "prediction": classes[chances.argmax(axis=1)],
        "probability": ordered[:, -1].astype(float).round(DIGITS),
        "margin": (ordered[:, -1] - ordered[:, -2]).astype(float).round(DIGITS),
        **{f"p({name})": chances[:, k].astype(float).round(DIGITS) for k, name in enumerate(classes)},
    }
    prefix = "slimg_" if set(added) & set(table.columns) else ""
    new = pd.DataFrame({prefix + name: column for name, column in added.items()}, index=table.index)
    return pd.concat([table, new], axis=1), prefix


def predictions_path(folder: Path, options: Options) -> Path:
    """``predictions`` with the ending of the node table, or .csv if its format is not one of tables."""
    return folder / f"predictions{FORMATS.get(_of(options).suffix, '.csv')}"


def separator_of(inputs: Inputs) -> str:
    """The node table's own separator, if it has one that may be written."""
    return inputs.separator if inputs.separator in (",", ";", "|", "\t") else ","


def _of(options: Options) -> Source:
    source = options.nodes or options.edges
    assert source is not None
    return source
