"""The parts of a page: what was read, what the graph tells, how good the model is, what it used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from slimg.learn.path import describe
from slimg.report import plots

MOST_CLASSES = 25
"""Classes up to which the confusion matrix is shown whole."""
TOP_FEATURES = 8


def inputs(record: dict[str, Any]) -> str:
    """Files, sizes, and every decision as the sentence it was told in."""
    read = record["read"]
    files = "".join(
        f"<tr><th scope='row'>{escape(what)}</th><td>{escape(str(name))}</td></tr>"
        for what, name in read.get("files", {}).items()
    )
    table = f'<table class="words paths">{_caption("Files")}<tbody>{files}</tbody></table>'
    command = f'<p>The command was:</p><code class="command">{escape(read["command"])}</code>' if read.get("command") else ""
    return f"{command}{_scroll(table, 'Files') if files else ''}{_list(read.get('notes', ()))}"


def diagnosis(record: dict[str, Any]) -> str:
    """Verdict and advice in sentences, then accuracies of components."""
    found = record["diagnosis"]
    if not found:
        return ""
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in found["verdict"])
    advice = f"<h3>What to do next</h3>{_list(found['advice'])}" if found["advice"] else ""
    evidence = found["evidence"]
    return f"{said}{advice}{_accuracies(evidence)}{_doubts(evidence)}"


def _accuracies(found: dict[str, Any]) -> str:
    rows = {"all components": found["all"], **{f"{called(name)} alone": each for name, each in found["alone"].items()}}
    rows |= {f"all but {called(name)}": each for name, each in found["without"].items()}
    points = {name: (each["value"], *each["interval"]) for name, each in rows.items()}
    lines = [
        (name, f"{each['value']:.1%}", f"{100 * low:.0f}–{high:.0%}", f"{each['by_chance']:.1%}")
        for (name, each), (_, low, high) in zip(rows.items(), points.values(), strict=True)
    ]
    chart = plots.interval_chart(points, "Accuracy of components alone and left out", "accuracy on labels held out")
    caption = f"Accuracy on {found['examined']:,} labels held out, by the components used"
    table = _table(("components", "accuracy", "95 %", "chance"), lines, caption)
    curve = ""
    if len(found["curve"]["points"]) > 1:
        steps = [
            (f"{point['labels']:,}", f"{point['accuracy']:.1%}", f"{100 * point['error']:.1f}")
            for point in found["curve"]["points"]
        ]
        curve = _table(("labels", "accuracy", "± points"), steps, "What fewer labels would have given, with standard errors")
    return f'<div class="pair"><div>{_figure(chart, caption)}{curve}</div>{table}</div>'


def _doubts(found: dict[str, Any]) -> str:
    doubts = found.get("suspicious") or ()
    if not doubts:
        return ""
    rows = [(str(d["node"]), str(d["label"]), str(d["looks_like"]), f"{d['confidence']:.2f}") for d in doubts[:10]]
    return _table(("node", "label", "looks like", "confidence"), rows, "Labels that everything else contradicts", words=True)


def accuracy(record: dict[str, Any]) -> str:
    """Accuracy with its interval, the table of classes, confusion, reliability."""
    held, classes = record["held_out"], record["classes"]
    low, high = held["interval"]
    text = (
        f"<p>Each of the {held['nodes']:,} labels was predicted by a model that had not seen it: {held['accuracy']:.1%} were"
        f" right (95 % interval {low:.1%} to {high:.1%}). The penalties were chosen on the same labels, which makes this a"
        " little too good.</p>"
    )
    rows = [
        (name, f"{each['nodes']:,}", *(_percent(each[key]) for key in ("precision", "recall", "f1")))
        for name, each in zip(classes, held["classes"], strict=True)
    ]
    by_class = _table(("class", "labels", "precision", "recall", "F1"), rows, "Each class, on labels not seen")
    chart = plots.reliability_chart(held["reliability"], "Reliability: how often a prediction of a given probability is correct")
    figure = _figure(
        chart,
        "Reliability: points on the dashed line mean that probabilities can be taken at their word."
        f" The mean distance is {held['calibration_error']:.3f}.",
    )
    return f'{text}<div class="pair">{by_class}{figure}</div>{_confusion(held["confusion"], classes)}'


def _confusion(counts: Sequence[Sequence[int]], classes: Sequence[str]) -> str:
    if len(classes) > MOST_CLASSES:
        pairs = sorted(
            ((n, classes[i], classes[j]) for i, row in enumerate(counts) for j, n in enumerate(row) if i != j and n),
            reverse=True,
        )
        rows = [(true, said, f"{n:,}") for n, true, said in pairs[:20]]
        return _table(("true class", "predicted as", "nodes"), rows, "The most frequent confusions", words=True)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in classes)
    body = ""
    for code, row in enumerate(counts):
        total = sum(row) or 1
        cells = "".join(
            f'<td class="shade{" hit" if code == place else ""}" style="--share:{n / total:.3f}">{n:,}</td>'
            for place, n in enumerate(row)
        )
        body += f'<tr><th scope="row">{escape(classes[code])}</th>{cells}</tr>'
    caption = "Confusion: rows are true classes, columns predictions, on labels not seen"
    return _scroll(
        f"<table>{_caption(caption)}<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>", caption
    )


def model(record: dict[str, Any]) -> str:
    """Weights of components, features of each class, and the path of penalties."""
    fitted = record["model"]
    overview, chosen = fitted["overview"], fitted["chosen"]
    weights = {called(part["name"]): part["norm"] for part in overview["components"]}
    words = [
        f"{part['title']} ({formula(part['name'])}): {'not used' if part['removed'] else format(part['share'], '.0%')}"
        for part in overview["components"]
    ]
    figure = _figure(plots.bar_chart(weights, "Weight of each component", "‖W‖, the norm of its weights"),
                     "Weight of each component. One that is not used is exactly zero.")  # fmt: skip
    path = _figure(
        plots.path_chart(fitted["selection"], chosen, "Validation accuracy along the path of penalties"),
        f"The path of penalties. Chosen: {describe(chosen, formula)}, with {chosen['val_accuracy']:.1%} on"
        f" labels held back; its optimum is certified to a gap of {fitted['gap']:.0e}.",
    )
    return f'{_list(words)}<div class="pair">{figure}{path}</div>{_top_features(overview)}'


def _top_features(overview: dict[str, Any]) -> str:
    titles = {part["name"]: part["title"] for part in overview["components"]}
    tables = ""
    for name, by_class in overview["features"].items():
        rows = [(label, _by_column(terms[:TOP_FEATURES]) or "–") for label, terms in by_class.items()]
        tables += _table(
            ("class", "features that speak most for it"), rows, f"By class, in {titles[name]} ({formula(name)})", words=True
        )
    return tables


def _by_column(terms: Sequence[tuple[str, float]]) -> str:
    """``words: library +6.3, runtime +4.0; maintainer: Debian GIS Project +2.4``: each column is named once."""
    columns: dict[str, list[str]] = {}
    for feature, weight in terms:
        column, colon, value = feature.partition(": ")
        columns.setdefault(column if colon else "", []).append(f"{value if colon else column} {weight:+.1f}")
    return "; ".join(f"{column}: {', '.join(told)}" if column else ", ".join(told) for column, told in columns.items())


def formula(name: str) -> str:
    """A component's name with raised exponents: ``A_row² X``."""
    return name.replace("^1 ", " ").translate(_RAISED).replace("^", "")


def called(name: str) -> str:
    """A component in two or three words."""
    kind = {"U": "network", "X": "own features"}.get(name)
    if kind is None:
        kind = "nodes further away" if name.startswith("A_row") else "neighbourhood"
    return f"{kind} ({formula(name)})"


_RAISED = str.maketrans("23456789", "²³⁴⁵⁶⁷⁸⁹")


def _table(head: Iterable[str], rows: Iterable[Sequence[str]], caption: str, words: bool = False) -> str:
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    style = ' class="words"' if words else ""
    return _scroll(
        f"<table{style}>{_caption(caption)}<thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>",
        caption,
    )


def _caption(text: str) -> str:
    """A span that can stay in view while a wide table scrolls."""
    return f"<caption><span>{escape(text)}</span></caption>"


def _scroll(table: str, name: str) -> str:
    """A wide table scrolls in its own box, which can be reached by keyboard."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name, quote=True)}">{table}</div>'


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def _list(sentences: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f'<ul class="plain">{items}</ul>' if items else ""


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
