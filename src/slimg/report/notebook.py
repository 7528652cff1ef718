"""Small pieces of HTML for notebooks: a graph, a fitted model, an explanation, a diagnosis, and a page inside a notebook.

Everything that comes from a user's data is escaped.
"""

from __future__ import annotations

from html import escape
from typing import Any

from slimg._html import as_html
from slimg.explain.held_out import WORDS, format_score
from slimg.graph.columns import number_of
from slimg.learn.path import SEPARATE, describe

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
    sizes = ", ".join(number_of(model.data_[f"{noun}s"], noun) for noun in ("node", "edge", "feature"))
    named = f"{', '.join(classes[:SHOWN])}{' …' if len(classes) > SHOWN else ''}"
    score = f"{WORDS[model.scoring_]} {format_score(model.scoring_, model.chosen_['val_score'], 1)}"
    chosen = f"components {SEPARATE} and added" if model.chosen_["separate"] else describe(model.chosen_)
    chosen += f", the mean of {len(model.members_)} such candidates" if len(model.members_) > 1 else ""
    lines = [
        f"{type(model).__name__}, fitted on {sizes}, {model.data_['labelled']:,} of the nodes labelled",
        f"{number_of(len(classes), 'class', 'classes')}: {named}. Chosen: {chosen}; validation {score}.",
        "Weight of each component, ‖W‖:",
    ]
    titled = {f"{name}, {model.scorer_.titles[name]}": value for name, value in weights.items() if value}
    removed = [f"{name} was removed by the penalty." for name, value in weights.items() if not value]
    return as_html(lines, titled, [*removed, *getattr(model, "notes_", ())[:SHOWN]])


class Page(str):
    """A page as text, which a notebook shows."""

    def _repr_html_(self) -> str:
        look = 'style="width: 100%; border: 0" height="800" title="slimg"'
        return f'<iframe srcdoc="{escape(self)}" {look} sandbox="allow-scripts"></iframe>'

    def __repr__(self) -> str:
        return f"<Page of {len(self):,} characters: model.report(path) writes it to a file>"


class Text(str):
    """Text that is shown as it is, line by line."""

    def __repr__(self) -> str:
        return str(self)


def help_text(model: Any) -> Text:
    """List what a model can be asked now.

    Returns
    -------
    Text
        One line for each call.
    """
    calls = {"model.fit(graph)": "learn from the labelled nodes of a graph"}
    if hasattr(model, "coef_"):
        graph = getattr(model, "graph_", None) or (model.fitted_graph_.graph if model.keeps_graph_ else None)
        calls = {
            "model.predict()": "the class of every node",
            "model.predict_proba()": "the probability of each class",
            "model.predict_set(0.9)": "classes among which the true one is for 90 % of the nodes",
            "model.summary()": "what counts: components, features and classes",
            "model.plot.components()": "the same as a figure; also .path(), .features(label), .explanation(node)",
        }
        if model.calibration_ is None:
            del calls["model.predict_set(0.9)"]
        if graph is not None:
            node = repr(graph.ids[0].item() if hasattr(graph.ids[0], "item") else graph.ids[0])
            calls[f"model.explain({node})"] = "why a node has its class, as a sum"
            calls[f"model.find_counterfactual({node})"] = "edges without which it would have another class"
        if "graph_" in vars(model):
            calls["slimg.diagnose(model.graph_)"] = "whether edges and features predict the labels"
            if model.held_out_scores_ is not None:
                calls["model.report('report.html')"] = "all of it as a page; without a path, inside a notebook"
        calls |= {"model.fold_in(grown)": "scores of new nodes without fitting again", "model.save('model.slimg')": "one file"}
    width = max(map(len, calls))
    return Text("\n".join(f"{call:<{width}}   {what}" for call, what in calls.items()))
