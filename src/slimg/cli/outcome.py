"""What is known after a fit, as a record: how good the model is, what the graph tells, why some nodes are what they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slimg.classifier import SlimG
from slimg.cli.console import Progress
from slimg.errors import InputError
from slimg.graph.graph import Graph
from slimg.io.inputs import Inputs
from slimg.report.held_out import held_out
from slimg.report.record import codes_in_model, collect, nodes_worth_explaining

TERMS = 6
"""Features and nodes that are named of each component of an explanation."""
FEATURES = 8


def outcome(model: SlimG, inputs: Inputs, facts: dict[str, Any], asked: Sequence[int], progress: Progress) -> dict[str, Any]:
    """The record of a fitted model; ``asked`` are rows of nodes to explain."""
    graph = inputs.graph
    unseen = held_out(model)
    with progress.stage("diagnosing"):
        verdict = diagnosis_of(graph, model)
    with progress.stage("explaining"):
        rows = nodes_worth_explaining(model.predict_proba(), codes_in_model(model, graph), unseen, asked)
        told = model.explain_all([graph.ids[row] for row in rows])
        explained = {row: explanation.to_dict(TERMS) for row, explanation in zip(rows, told, strict=True)}
    return collect(
        model,
        graph,
        held_out=unseen,
        overview=model.summary().to_dict(FEATURES),
        diagnosis=verdict,
        explained=explained,
        facts=facts,
    )


def diagnosis_of(graph: Graph, model: SlimG) -> dict[str, Any] | None:
    """The diagnosis as plain values, or None where there are too few labels for one."""
    from slimg.explain import diagnose

    try:
        return plain(diagnose(graph, propagated=model.components_, random_state=model.random_state).to_dict())
    except InputError:
        return None


def plain(value: Any) -> Any:
    """Values that JSON holds: numpy's become Python's, keys text, what is no number None."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    return value if value is None or isinstance(value, (str, int, bool)) else str(value)
