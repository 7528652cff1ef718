"""A fitted model as a small piece of HTML for notebooks; everything that comes from a user's data is escaped."""

from __future__ import annotations

from html import escape
from typing import Any

from slimg.explain.explainer import title_of
from slimg.graph.columns import number_of
from slimg.learn.path import describe

SHOWN = 12
"""Classes and notes that are named."""


def model_html(model: Any) -> str:
    """Of a fitted model: what was fitted on what, the weight of each component, and the notes."""
    data, weights = model.data_, model.component_weights()
    total = sum(weights.values()) or 1.0
    rows = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td>{escape(title_of(name))}</td>"
        f"<td>{'removed' if value == 0 else f'{value:.2f}'}</td><td>{_bar(value / total)}</td></tr>"
        for name, value in weights.items()
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in getattr(model, "notes_", ())[:SHOWN])
    return (
        f"<div class='slimg'><p><strong>{escape(type(model).__name__)}</strong>, fitted on {_counts(data)};"
        f" {_classes(model.classes_)}. {_choice(model)}</p>"
        "<table><thead><tr><th>component</th><th>what it is</th><th>‖W‖</th><th>share</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>{f'<ul>{notes}</ul>' if notes else ''}</div>"
    )


def _counts(data: dict[str, Any]) -> str:
    parts = [number_of(data[key], noun) for key, noun in (("nodes", "node"), ("edges", "edge"), ("features", "feature"))]
    return f"{', '.join(parts)}, {data['labelled']:,} of the nodes labelled"


def _classes(classes: Any) -> str:
    named = ", ".join(escape(str(label)) for label in classes.tolist()[:SHOWN])
    more = " …" if len(classes) > SHOWN else ""
    return f"{number_of(len(classes), 'class', 'classes')}: {named}{more}"


def _choice(model: Any) -> str:
    return f"Chosen: {describe(model.chosen_)}; validation accuracy {model.chosen_['val_accuracy']:.1%}."


def _bar(share: float) -> str:
    return (
        f"<div title='{share:.0%}' style='background:#2b5c8a;height:0.8em;width:{100 * share:.0f}px'></div>"
        if share
        else ""
    )
