"""A fitted model as an ONNX graph: rows of the components (m × Σ widths, float32) → probabilities (m × c).

    probabilities = softmax((rows · W + b) / temperature), the division being in W and b

Rows are those of `slimg.SlimGFeatures` or ``model.components_.labelled_rows``: computing them needs the graph and is not
part of the ONNX file. Classes and widths are in its metadata, as JSON.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from slimg import __version__
from slimg.errors import require
from slimg.inference.fold_in import Scorer
from slimg.system import atomic_write

OPSET, IR_VERSION = 13, 8
"""Versions that onnxruntime has read since 2021."""


def write_onnx(path: str | os.PathLike[str], scorer: Scorer, temperature: float = 1.0) -> Path:
    """Write the file, whole or not at all.

    Parameters
    ----------
    path : path-like
        The file.
    scorer : Scorer
        Weights, intercept and classes.
    temperature : float, default=1.0
        What scores are divided by.

    Returns
    -------
    Path
        The file.
    """
    onnx = require("onnx", "onnx", "to_onnx")
    helper, numbers = onnx.helper, onnx.TensorProto.FLOAT
    weights = (np.concatenate(list(scorer.weights.values())).astype(np.float64) / temperature).astype(np.float32)
    held = {"W": weights, "b": (scorer.intercept.astype(np.float64) / temperature).astype(np.float32)}
    nodes = [
        helper.make_node("Gemm", ["rows", "W", "b"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["probabilities"], axis=1),
    ]
    shapes = {"rows": ["m", len(weights)], "probabilities": ["m", weights.shape[1]]}
    ends = {name: helper.make_tensor_value_info(name, numbers, shape) for name, shape in shapes.items()}
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in held.items()]
    graph = helper.make_graph(nodes, "slimg", [ends["rows"]], [ends["probabilities"]], tensors)
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(
        graph, producer_name="slimg", producer_version=__version__, opset_imports=opsets, ir_version=IR_VERSION
    )
    widths = {name: len(each) for name, each in scorer.weights.items()}
    described = {"classes": [str(each) for each in scorer.classes], "widths": widths}
    helper.set_model_props(model, {name: json.dumps(value, ensure_ascii=False) for name, value in described.items()})
    onnx.checker.check_model(model)
    with atomic_write(path, binary=True) as file:
        file.write(model.SerializeToString())
    return Path(path)
