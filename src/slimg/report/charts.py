"""Charts as SVG that takes its colours from the page.

matplotlib draws with colours that occur nowhere else; each is then replaced by a CSS variable, so that one drawing serves
light, dark and print. Text stays text, so that it can be read aloud, searched and scaled.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

import numpy as np

from slimg.learn.selection import APART, series_of

INK, MUTED, GRID, MAIN, SECOND, THIRD = "#010203", "#040506", "#070809", "#0a0b0c", "#0d0e0f", "#101112"
VARIABLES = {INK: "--ink", MUTED: "--muted", GRID: "--line", MAIN: "--main", SECOND: "--second", THIRD: "--third"}
SERIES = (MAIN, SECOND, THIRD, MUTED, INK)
MARKERS = ("o", "s", "^", "D", "v")
WIDTH = 4.7
"""Inches; the narrower a drawing, the larger its text when it fills a phone's width."""

Svg = str


def bars(values: dict[str, float], title: str, label: str, form: str = "{:.2f}") -> Svg:
    """One horizontal bar per name, its value written beside it."""
    with _drawing(title, 0.5 + 0.36 * len(values)) as (axes, done):
        names, lengths = list(values), np.array(list(values.values()))
        axes.barh(names, lengths, color=MAIN, height=0.62)
        for place, length in enumerate(lengths):
            axes.text(length, place, f"\u2009{form.format(length)}", va="center", color=INK)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.18 * max(lengths.max(initial=0), 1e-9))
        axes.set_xlabel(label)
        axes.grid(False, axis="y")
    return done[0]


def intervals(values: dict[str, tuple[float, float, float]], title: str, label: str) -> Svg:
    """A point with its interval for each name."""
    with _drawing(title, 0.6 + 0.34 * len(values)) as (axes, done):
        places = np.arange(len(values))
        middle, low, high = (np.array([value[k] for value in values.values()]) for k in range(3))
        below, above = np.maximum(middle - low, 0), np.maximum(high - middle, 0)  # rounding may turn a zero negative
        axes.errorbar(middle, places, xerr=[below, above], fmt="o", color=MAIN, capsize=3)
        axes.set_yticks(places, list(values))
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.xaxis.set_major_formatter(_percent)
        axes.set_xlabel(label)
    return done[0]


def reliability(bins: list[dict[str, float]], title: str) -> Svg:
    """Share of correct predictions against their probability; on the diagonal they agree."""
    with _drawing(title, 3.1) as (axes, done):
        axes.plot([0, 1], [0, 1], color=MUTED, linestyle="--", linewidth=1)
        said, right = ([entry[key] for entry in bins] for key in ("probability", "correct"))
        below = [max(entry["correct"] - entry["low"], 0) for entry in bins]
        above = [max(entry["high"] - entry["correct"], 0) for entry in bins]
        axes.errorbar(said, right, yerr=[below, above], fmt="o-", color=MAIN, capsize=3)
        axes.set_xlim(0, 1.02)
        axes.set_ylim(0, 1.02)
        axes.set_xlabel("probability of the prediction")
        axes.set_ylabel("share that is correct")
    return done[0]


def path(selection: list[dict[str, Any]], chosen: dict[str, Any], title: str) -> Svg:
    """Validation accuracy of each candidate; the chosen one is ringed."""
    with _drawing(title, 3.1) as (axes, done):
        for place, (name, mine) in enumerate(series_of(selection).items()):
            colour, marker = SERIES[place % len(SERIES)], MARKERS[place % len(MARKERS)]
            line = {"marker": marker, "color": colour, "linewidth": 0 if name == APART else 1.5, "markersize": 5}
            axes.plot(*zip(*mine, strict=True), label=name, **line)
        axes.plot(chosen["group"], chosen["val_accuracy"], "o", markersize=14, markerfacecolor="none",
                  markeredgecolor=INK, label="chosen")  # fmt: skip
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(lambda value, _: "")
        axes.set_xlabel("λ₂, penalty on whole components")
        axes.margins(y=0.1)
        axes.yaxis.set_major_formatter(_percent)
        axes.set_ylabel("validation accuracy")
        axes.legend(frameon=False, fontsize=9, labelcolor=INK)
    return done[0]


def _percent(share: float, _: int) -> str:
    """A tick of an axis of shares, with decimals where it needs them."""
    return f"{100 * share:.4g}\u2009%"


@contextmanager
def _drawing(title: str, height: float) -> Iterator[tuple[Any, list[Svg]]]:
    """A figure in the house style; its SVG is put into the list when the drawing is done."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": title,
        "font.family": "sans-serif",
        "font.size": 10,
        "axes.edgecolor": GRID,
        "axes.labelcolor": MUTED,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "ytick.labelcolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "text.parse_math": False,
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        done: list[Svg] = []
        yield figure.add_subplot(), done
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    done.append(_inlined(buffer.getvalue(), title))


def _inlined(svg: str, title: str) -> Svg:
    """The <svg> element alone, scaled to its box, coloured by the page, with a name for screen readers."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'(<svg[^>]*?) (?:width|height)="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) (?:width|height)="[^"]*"', r"\1", svg, count=1)
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    svg = re.sub(r"font:\s*([\d.]+)px[^;\"]*", r"font-size: \1px; font-family: inherit", svg)
    ids = f"c{abs(hash_text(title)):x}"
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{ids}-\1"', svg)
    svg = re.sub(r'(xlink:href="|href="|url\()#', rf"\1#{ids}-", svg)
    return re.sub(r"<svg", f'<svg role="img" aria-label="{escape(title, quote=True)}"', svg, count=1)


def hash_text(text: str) -> int:
    """The same number for the same text in every process."""
    import zlib

    return zlib.crc32(text.encode())
