"""A small piece of HTML for notebooks, for any object that shows itself: lines, parts of a sum as bars, a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

COLOURS = ("#1d5fbf", "#b4490f")
"""Of parts that are positive, and negative."""


def as_html(lines: Sequence[str], parts: Mapping[str, float] | None = None, items: Sequence[str] = ()) -> str:
    """Write lines, the first of which is the title, parts with their signs as bars, and a list; all text is escaped.

    Returns
    -------
    str
        One HTML element.
    """
    digits = 0 if all(float(value).is_integer() for value in (parts or {}).values()) else 2
    most = max((abs(value) for value in (parts or {}).values()), default=0.0) or 1.0
    rows = "".join(
        f'<tr><th scope="row">{escape(str(name))}</th><td>{round(value, digits) + 0.0:.{digits}f}</td>'
        f'<td><div style="height:0.8em;background:{COLOURS[value < 0]};width:{120 * abs(value) / most:.0f}px"></div></td></tr>'
        for name, value in (parts or {}).items()
    )
    title, *others = map(escape, lines)
    told = f"<p><strong>{title}</strong></p>" + "".join(f"<p>{line}</p>" for line in others)
    table = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    listed = f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>" if items else ""
    return f'<div class="slimg">{told}{table}{listed}</div>'
