"""A record as one page: HTML, style, script and data in a single file that opens without a network.

The page is made of jinja2 templates (``templates/``), which escape every value. The data of the script is JSON in which
``<``, ``>``, ``&`` and the two line separators of scripts are escaped. A content security policy allows the page's own
script alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from slimg.errors import InputError
from slimg.explain.held_out import SHARES, WORDS, format_difference, format_range, format_score
from slimg.learn.path import describe
from slimg.report.record import format_percent, relation_weights, titles
from slimg.report.scores import format_first

if TYPE_CHECKING:
    from jinja2 import Environment

SECTIONS = {
    "summary": "Summary",
    "diagnosis": "Does the graph help?",
    "accuracy": "Accuracy",
    "model": "What counts",
    "map": "Map of the nodes",
    "nodes": "Nodes",
    "inputs": "Files and how they were read",
}
"""Template and heading of each section."""
MOST_CLASSES = 25
"""Classes up to which the confusion matrix is shown whole."""
MOST_CONFUSIONS = 20
TOP_FEATURES = 8
COLOURS = 8
"""Classes with a colour of their own; the others share one."""
WRITTEN = ("predictions", "model", "record")
"""Files of a fit that the page links to."""


def render(record: dict[str, Any], title: str | None = None, folder: str = "") -> str:
    """Make the page of a record.

    Parameters
    ----------
    record : dict
        What is known of a fit (`slimg.report.record.fit_record`).
    title : str or None, default=None
        Title of the page; None takes that of the record.
    folder : str, default=""
        Where the files of the fit are, seen from the page; they are beside it by default.

    Returns
    -------
    str
        A complete HTML document.

    Raises
    ------
    InputError
        If the record lacks something that the page shows.

    Examples
    --------
    >>> from slimg import Graph, SlimG
    >>> edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("d", "f")]
    >>> labels = {"a": "left", "c": "left", "d": "right", "f": "right"}
    >>> model = SlimG(grid=[(0, 1e-2)]).fit(Graph.from_edges(edges, labels=labels))
    >>> from slimg.report import fit_record, render
    >>> render(fit_record(model, model.graph_))[:15]
    '<!DOCTYPE html>'
    """
    return _rendered("page.html", record, title, folder)


def markdown(record: dict[str, Any], title: str | None = None) -> str:
    """Make a text of a record, with the sentences and numbers of the page.

    Parameters
    ----------
    record : dict
        What is known of a fit (`slimg.report.record.fit_record`).
    title : str or None, default=None
        Title of the text; None takes that of the record.

    Returns
    -------
    str
        Markdown.

    Raises
    ------
    InputError
        If the record lacks something that the text shows.
    """
    return _rendered("report.md", record, title)


def _rendered(template: str, record: dict[str, Any], title: str | None, folder: str = "") -> str:
    from jinja2 import UndefinedError

    try:
        return templates().get_template(template).render(_context(record, title, folder))
    except (UndefinedError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"this is not a record of this version of slimg ({error!r}): fit again") from error


def _context(record: dict[str, Any], title: str | None, folder: str) -> dict[str, Any]:
    from slimg.report import plots

    script, fitted, diagnosis = _asset("page.js"), record["model"], record["diagnosis"]
    parts, shown = fitted["overview"]["components"], {key: record[key] for key in ("classes", "nodes", "explained", "map")}
    shown |= {"colours": colours(record), "ranking": record["held_out"]["ranking"], "sets": record["held_out"]["sets"]}
    labels = {part["name"]: label_of(part) for part in parts}
    held, told = record["held_out"], record["held_out"]["ranking"]
    scoring, relations = held["scoring"], sorted(record["read"]["relations"], key=lambda each: -each["weight"])
    words = WORDS[scoring]
    headings = {**SECTIONS, "accuracy": words[0].upper() + words[1:]}
    return {
        "record": record,
        "scoring": scoring,
        "measure": words,
        "score": lambda value: "–" if value is None else format_score(scoring, value, 1),
        "range": lambda ends: format_range(scoring, ends),
        "ahead": lambda gain: format_difference(scoring, gain["value"], gain["interval"]).replace(", 95% interval ", " (") + ")",
        "named": relation_weights(record),
        "titled": titles(record),
        "links": {name: quote(f"{folder}{file}") for name, file in record["read"].get("files", {}).items() if name in WRITTEN},
        "dots": dots(record),
        "relations": {each["direction"]: 100 * each["share"] for each in relations if each["weight"]},
        "points": scoring in SHARES,
        "of_class": (of_class := bool(told) and scoring != "accuracy"),
        "off": (told if of_class else held)["calibration_error"],
        "first": format_first(told, record["classes"][told["code"]]) if told else "",
        "title": title or record["read"].get("title") or "Nodes of a graph",
        "sections": {name: heading for name, heading in headings.items() if diagnosis or name != "diagnosis"},
        "style": _asset("page.css"),
        "script": script,
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "data": as_json({**shown, "folder": record["read"].get("folder", "slimg-out")}),
        "plots": plots,
        "zip": zip,
        "accuracies": accuracies(diagnosis["evidence"], labels) if diagnosis else {},
        "confusions": confusions(held["confusion"], record["classes"]),
        "labels": labels,
        "weights": {labels[part["name"]]: part["norm"] for part in sorted(parts, key=lambda part: -part["norm"]) if part["norm"]},
        "compared": {each["name"]: each for each in record["comparison"]["models"]},
        "chosen": describe(fitted["chosen"], formula),
        "averaged": [member for member in fitted["members"] if member != fitted["chosen"]],
    }


@cache
def templates() -> Environment:
    """The templates of the page and of notebooks.

    Returns
    -------
    jinja2.Environment
        With autoescape, but in Markdown and plain sentences, and the filters by which numbers and names are written.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("slimg.report"), autoescape=lambda name: str(name).endswith(".html"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {
        "percent": format_percent,
        "count": lambda number: f"{number:,}",
        "decimals": lambda number, digits: f"{number:.{digits}f}",
        "least": lambda share: f"{share:.2g}" if share < 0.995 else f"{math.floor(1e4 * share) / 1e4:.4f}",
        "signed": lambda number: f"{round(number, 2) + 0.0:+.2f}".replace("-", "−"),
        "formula": formula,
        "by_column": by_column,
        "plain": lambda text: re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(str(text).split())),
    }
    return made


def as_json(value: Any) -> str:
    """JSON that may stand inside a script element, whatever it holds.

    Returns
    -------
    str
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def accuracies(evidence: dict[str, Any], labels: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Scores on held-out labels by the components used: all, each alone, all but each.

    Returns
    -------
    dict of str to dict
        Value, interval and chance level, by what was used.
    """
    alone = {f"{labels[name]} alone": each for name, each in evidence["alone"].items()}
    without = {f"all but {labels[name]}": each for name, each in evidence["without"].items()}
    return {"all components, as fitted": evidence["all"], **alone, **without}


def confusions(counts: Sequence[Sequence[int]], classes: Sequence[str]) -> list[tuple[int, str, str]] | None:
    """The most frequent confusions (nodes, true class, predicted class); None if the whole matrix can be shown.

    Returns
    -------
    list of tuple, or None
    """
    if len(classes) <= MOST_CLASSES:
        return None
    pairs = [(n, classes[i], classes[j]) for i, row in enumerate(counts) for j, n in enumerate(row) if i != j and n]
    return sorted(pairs, reverse=True)[:MOST_CONFUSIONS]


def by_column(terms: Sequence[tuple[str, float]]) -> str:
    """Features with their weights, each column named once: ``words: library +6.3, runtime +4.0; maintainer: GIS +2.4``.

    Returns
    -------
    str
    """
    columns: dict[str, list[str]] = {}
    for feature, weight in terms[:TOP_FEATURES]:
        column, colon, value = feature.partition(": ")
        columns.setdefault(column if colon else "", []).append(f"{value if colon else column} {weight:+.1f}")
    return "; ".join(f"{column}: {', '.join(parts)}" if column else ", ".join(parts) for column, parts in columns.items())


def formula(name: str) -> str:
    """A component's name with raised exponents: ``A_row² X``.

    Returns
    -------
    str
    """
    raised = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    return re.sub(r"\^(\d+)", lambda exponent: exponent[1].translate(raised), name.replace("^1 ", " "))


def label_of(part: dict[str, Any]) -> str:
    """A component in two or three words, with its name unless they are the name.

    Returns
    -------
    str
    """
    own = part["name"].startswith(part["short_title"])
    return part["short_title"] if own else f"{part['short_title']} ({formula(part['name'])})"


def colours(record: dict[str, Any]) -> list[int]:
    """The colour of each class: of many classes, those that are predicted most have one of their own.

    Returns
    -------
    list of int
        `COLOURS` for the others.
    """
    counts, c = Counter(record["nodes"]["prediction"]), len(record["classes"])
    own = sorted(sorted(range(c), key=lambda code: -counts[code])[:COLOURS])
    return [own.index(code) if code in own else COLOURS for code in range(c)]


def dots(record: dict[str, Any]) -> list[tuple[int, str, str, str]]:
    """The map as SVG paths of points: colour, name of the class, those with a label, those without.

    Returns
    -------
    list of (int, str, str, str)
    """
    nodes, places, kept = record["nodes"], record["map"], len(record["nodes"]["ids"])
    drawn, colour = dict[int, list[list[str]]](), colours(record)
    for row, x, y in zip(places["rows"], places["x"], places["y"], strict=True):
        if row < kept:
            both = drawn.setdefault(colour[nodes["prediction"][row]], [[], []])
            both[nodes["label"][row] < 0].append(f"M{x} {y}h0")
    names = {**dict(zip(colour, record["classes"], strict=True)), COLOURS: "other classes"}
    return [(each, names[each], "".join(drawn[each][0]), "".join(drawn[each][1])) for each in sorted(drawn)]


def _asset(name: str) -> str:
    return resources.files("slimg.report").joinpath(name).read_text(encoding="utf-8")
