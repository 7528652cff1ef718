"""A fitted model as a small piece of HTML for notebooks; everything that comes from a user's data is escaped."""

from __future__ import annotations

from typing import Any

from slimg.explain.measures import WORDS, format_score
from slimg.graph.columns import number_of
from slimg.learn.path import describe_members
from slimg.report.page import templates
from slimg.report.plots import MAIN

SHOWN = 12
"""Classes and notes that are named."""


def model_html(model: Any) -> str:
    """Describe a fitted model: the data it was fitted on, the weight of each component, and the notes.

    Parameters
    ----------
    model : SlimG
        A fitted or loaded model.

    Returns
    -------
    str
        One HTML element.
    """
    weights, classes = model.component_weights(), [str(label) for label in model.classes_.tolist()]
    sizes = (number_of(model.data_[f"{noun}s"], noun) for noun in ("node", "edge", "feature"))
    named = f"{', '.join(classes[:SHOWN])}{' …' if len(classes) > SHOWN else ''}"
    return templates().get_template("notebook.html").render(
        kind=type(model).__name__,
        data=model.data_,
        counts=", ".join(sizes),
        classes=f"{number_of(len(classes), 'class', 'classes')}: {named}",
        chosen=describe_members(model.members_),
        measure=WORDS[model.scoring_],
        score=format_score(model.scoring_, model.chosen_["val_score"], 1),
        weights=weights,
        total=sum(weights.values()) or 1.0,
        notes=getattr(model, "notes_", ())[:SHOWN],
        titles=model.scorer_.titles,
        colour=MAIN,
    )  # fmt: skip
