"""A record as one page: HTML, style, script and data in a single file that opens without a network.

Every value is escaped where it enters: `html.escape` for text, and in the data `<`, `>`, `&` and the two line separators
that end a line in scripts. A content policy allows the page's own script alone, so nothing else could run anyway.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib import resources
from typing import Any

from slimg.report.sections import accuracy, diagnosis, inputs, model

_DARK = "@media (prefers-color-scheme: dark)"
_LIGHT_KINDS = ("#1d5fbf", "#b4490f", "#0b7a5a", "#8a3ab9", "#9a6700", "#0e7490", "#b3256b", "#4d5a12", "#6b7280")
_DARK_KINDS = ("#7fb0ff", "#f0a070", "#5fd0a8", "#cf9bf0", "#e0b44c", "#62cfe8", "#f59ac6", "#b9cc6a", "#9aa3af")


def render(record: dict[str, Any]) -> str:
    """The page of a record (`slimg.report.record`)."""
    style, script = _asset("page.css") + _colours(), _asset("page.js")
    title = record["read"].get("title") or "Nodes of a graph"
    parts = {
        "Summary": ("summary", _summary(record)),
        "What the graph tells": ("diagnosis", diagnosis(record)),
        "How good it is": ("accuracy", accuracy(record)),
        "What it used": ("model", model(record)),
        "Nodes": ("nodes", _browser(record)),
        "What was read and decided": ("inputs", inputs(record)),
    }
    shown = {name: part for name, part in parts.items() if part[1]}
    links = "".join(f'<li><a href="#{anchor}">{escape(name)}</a></li>' for name, (anchor, _) in shown.items())
    sections = "".join(
        f'<section id="{anchor}" aria-labelledby="{anchor}-h"><h2 id="{anchor}-h">{escape(name)}</h2>{body}</section>'
        for name, (anchor, body) in shown.items()
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)} – slimg</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><h1>{escape(title)}</h1>
<p class="muted">slimg {escape(record["version"])}, {escape(record["made"])}</p>
<nav aria-label="Sections"><ul>{links}</ul></nav></header>
<main id="main">{sections}</main>
<footer><p>Made by slimg: a linear model on views of a graph, whose every score is a sum.</p></footer>
<script type="application/json" id="data">{as_json(_data(record))}</script>
<script>{script}</script>
</body>
</html>
"""


def as_json(value: Any) -> str:
    """JSON that may stand inside a script element, whatever it holds."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _data(record: dict[str, Any]) -> dict[str, Any]:
    """What the script needs."""
    return {
        "classes": record["classes"],
        "nodes": record["nodes"],
        "explained": record["explained"],
        "folder": record["read"].get("folder", "slimg-out"),
    }


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return resources.files("slimg.report").joinpath(name).read_text(encoding="utf-8")


def _colours() -> str:
    """Variables for the colours of classes, in light and dark."""
    light, dark = (
        ":root{" + "".join(f"--k{k}:{colour};" for k, colour in enumerate(kinds)) + "}"
        for kinds in (_LIGHT_KINDS, _DARK_KINDS)
    )
    return f"{light}{_DARK}{{{dark}}}"


def _summary(record: dict[str, Any]) -> str:
    held, read = record["held_out"], record["read"]
    low, high = held["interval"]
    verdict = (record["diagnosis"] or {}).get("verdict") or ()
    facts = [
        (f"{held['accuracy']:.1%}", f"accuracy on labels not seen ({low:.1%} to {high:.1%})"),
        (f"{held['majority']:.1%}", "if all were the largest class"),
        (f"{read['nodes']:,}", "nodes"),
        (f"{read['edges']:,}", "edges"),
        (f"{read['labelled']:,}", f"labelled nodes of {len(record['classes'])} classes"),
    ]
    lead = "".join(f'<p class="lead">{escape(sentence)}</p>' for sentence in verdict[:2])
    return (
        lead
        + '<ul class="key">'
        + "".join(f"<li><strong>{escape(value)}</strong><span>{escape(what)}</span></li>" for value, what in facts)
        + "</ul>"
    )


def _browser(record: dict[str, Any]) -> str:
    nodes = record["nodes"]
    options = "".join(f'<option value="{k}">{escape(name)}</option>' for k, name in enumerate(record["classes"]))
    left = nodes["total"] - len(nodes["ids"])
    more = (
        f"<p>The page holds the first {len(nodes['ids']):,} nodes; the file of predictions has all {nodes['total']:,}.</p>"
    )
    return f"""<noscript><p>Searching nodes needs scripts; the file of predictions has every node.</p></noscript>
<div id="browser" hidden>
<p>Type a part of a name and press Enter, or go down to the table with the arrow keys.</p>{more if left else ""}
<form id="form" class="controls" role="search">
<div><label for="search">Search nodes</label><input type="search" id="search" autocomplete="off" spellcheck="false"></div>
<div><label for="class">Predicted as</label><select id="class"><option value="">any class</option>{options}</select></div>
<div><label for="state">Which</label><select id="state"><option value="">all nodes</option>
<option value="known">label known</option><option value="unknown">label not known</option>
<option value="differs">prediction differs from the label</option>
<option value="explained">explained in this page</option></select></div>
<div><label for="order">Order</label><select id="order"><option value="file">as in the file</option>
<option value="least">least certain first</option><option value="most">most certain first</option></select></div>
</form>
<div class="split"><div><p id="count" role="status" class="muted"></p>
<div class="scroll" tabindex="0" role="region" aria-label="Table of nodes"><table id="nodes-table" class="words">
<caption>Nodes with their predictions</caption>
<thead><tr><th scope="col">node</th><th scope="col" class="wide">label</th><th scope="col">prediction</th>
<th scope="col">probability</th></tr></thead><tbody id="rows"></tbody></table></div>
<p id="pager"><button type="button" id="previous">Previous</button> <button type="button" id="next">Next</button></p></div>
<div id="detail" role="region" aria-label="The chosen node" aria-live="polite"></div></div>
</div>"""
