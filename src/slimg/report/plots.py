"""Figures with matplotlib, in one style: those of a model (`Plots`), and charts of the page as SVG.

matplotlib is imported when the first figure is drawn. The colours are those of the page in light mode (``page.css``). In a
chart of the page each of them is replaced by its CSS variable, so that one drawing serves light, dark and print; text stays
text, so that it can be read aloud, searched and scaled.
"""

from __future__ import annotations

import io
import os
import re
import textwrap
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from slimg.explain.held_out import SHARES, WORDS
from slimg.learn.path import SEPARATE, series_of
from slimg.system import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slimg.graph.graph import Graph

INK, MUTED, LINE, MAIN, SECOND, THIRD = "#16191d", "#545b66", "#d5d9e0", "#1d5fbf", "#b4490f", "#0b7a5a"
VARIABLES = {INK: "--ink", MUTED: "--muted", LINE: "--line", MAIN: "--main", SECOND: "--second", THIRD: "--third"}
SERIES = ((MAIN, "o"), (SECOND, "s"), (THIRD, "^"), (MUTED, "D"), (INK, "v"))
"""Colour and marker of the first, second, … line."""
WIDTH = 4.7
"""Inches; the narrower a drawing, the larger its text when it fills a phone's width."""
STYLE: dict[str, Any] = {
    "font.family": "sans-serif", "font.size": 10, "text.color": INK,
    "axes.edgecolor": LINE, "axes.labelcolor": MUTED, "axes.spines.top": False, "axes.spines.right": False,
    "xtick.color": MUTED, "ytick.color": MUTED, "ytick.labelcolor": INK,
    "axes.grid": True, "axes.axisbelow": True, "grid.color": LINE, "grid.linewidth": 0.6,
}  # fmt: skip

LONGEST = 44
"""Characters of a line of a name beside an axis."""
Svg = str


@contextmanager
def figure_style(**settings: Any) -> Iterator[None]:
    """Draw in the style of slimg within this block; ``settings`` are further matplotlib settings, by name."""
    import matplotlib as mpl

    merged: Any = STYLE | settings  # the annotation of rc_context lists every setting
    with mpl.rc_context(merged):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure, not known to pyplot.

    Parameters
    ----------
    width, height : float
        Inches.

    Returns
    -------
    Figure
        Without axes.
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure in the format of the path's ending; the same figure gives the same bytes.

    Parameters
    ----------
    figure : Figure
        What to write.
    path : path-like
        The file, for example ``weights.svg``.

    Returns
    -------
    Path
        The file, which is written whole or not at all.
    """
    import matplotlib as mpl

    target = Path(path)
    kind = target.suffix.removeprefix(".")
    with mpl.rc_context({"svg.hashsalt": "slimg"}), atomic_write(target, binary=True) as file:
        figure.savefig(file, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    return target


class Plots:
    """Figures of a fitted model, reached as ``model.plot``.

    Each method draws on ``ax``, or on new pyplot axes if it is None, and returns the axes.

    Parameters
    ----------
    model : SlimG
        A fitted model.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from slimg import Graph, SlimG
    >>> graph = Graph.from_arrays(None, [[1.0, 0.0], [0.0, 1.0]] * 10, ["a", "b"] * 10)
    >>> SlimG(grid=[(0.0, 0.01)]).fit(graph).plot.components().get_xlabel()
    '‖W‖'
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def components(self, ax: Axes | None = None) -> Axes:
        """Plot ‖W_g‖_F of each component as a bar; those that the penalty removed are marked.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes new axes.

        Returns
        -------
        matplotlib Axes
            The axes that were drawn on.
        """
        return _draw_bars(_axes(ax), self._model.component_weights(), "‖W‖", "Weight of each component", zero="removed")

    def path(self, ax: Axes | None = None) -> Axes:
        """Plot the validation score of every candidate over λ₂: a line for each λ₁, points for separate components.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes new axes.

        Returns
        -------
        matplotlib Axes
            The axes that were drawn on.
        """
        ax = _axes(ax)
        _draw_path(ax, self._model.selection_, self._model.chosen_, self._model.scoring_)
        return ax

    def features(self, label: Any, component: str | None = None, k: int = 10, ax: Axes | None = None) -> Axes:
        """Plot the features with the largest weights for a class.

        Parameters
        ----------
        label : object
            A class of the model.
        component : str or None, default=None
            A component made of features; None takes the one with the largest weights.
        k : int, default=10
            Number of features.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes new axes.

        Returns
        -------
        matplotlib Axes
            The axes that were drawn on.
        """
        summary = self._model.summary()
        name = component or max(summary.features, key=lambda each: summary.components[each])
        terms = {_literal(term.name): term.contribution for term in summary.top_features(name, label, k)}
        return _draw_bars(_axes(ax), terms, "weight", _literal(f"Features that speak for {label} ({name})"))

    def explanation(self, node: Any, graph: Graph | None = None, ax: Axes | None = None) -> Axes:
        """Plot what each component contributes to the score of a node's class, relative to the mean of all classes.

        Parameters
        ----------
        node : object
            The id of the node.
        graph : Graph or None, default=None
            The graph of the node; None takes the fitted one.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes new axes.

        Returns
        -------
        matplotlib Axes
            The axes that were drawn on.
        """
        explanation = self._model.explain(node, graph)
        parts = explanation.components(against="mean")
        parts.pop("rounding")
        return _draw_bars(_axes(ax), parts, "contribution", _literal(f"Why {node} is {explanation.prediction}"))


def bar_chart(values: Mapping[str, float], title: str, label: str) -> Svg:
    """One horizontal bar per name, with its value beside it."""
    return _as_svg(lambda axes: _draw_bars(axes, values, label), title, 0.5 + 0.36 * len(values))


def interval_chart(values: Mapping[str, Mapping[str, Any]], title: str, label: str, scoring: str = "accuracy") -> Svg:
    """A score with its interval, ``{"value": v, "interval": (low, high)}``, for each name."""

    def draw(axes: Axes) -> None:
        places = np.arange(len(values))
        middle, low, high = np.array([(each["value"], *each["interval"]) for each in values.values()], float).T
        if scoring == "log_loss":
            middle, low, high = -middle, -high, -low
        axes.errorbar(middle, places, xerr=_distances(middle, low, high), fmt="o", color=MAIN, capsize=3)
        axes.set_yticks(places, _wrapped(values))
        axes.invert_yaxis()
        axes.margins(x=0.12)
        if scoring in SHARES:
            axes.xaxis.set_major_formatter(_percent)
        axes.set_xlabel(label, loc="right")

    return _as_svg(draw, title, 0.6 + 0.34 * len(values))


def reliability_chart(bins: Sequence[Mapping[str, float]], title: str) -> Svg:
    """Share of correct predictions against their probability; on the diagonal they agree."""

    def draw(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=MUTED, linestyle="--", linewidth=1)
        probability, correct, low, high = (
            np.array([entry[key] for entry in bins]) for key in ("probability", "correct", "low", "high")
        )
        axes.errorbar(probability, correct, yerr=_distances(correct, low, high), fmt="o-", color=MAIN, capsize=3)
        limits = (0, 1.02)
        axes.set(xlim=limits, ylim=limits, xlabel="probability", ylabel="share that is right")

    return _as_svg(draw, title, 3.1)


def path_chart(selection: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any], title: str, scoring: str = "accuracy") -> Svg:
    """Validation score of each candidate over λ₂."""
    return _as_svg(lambda axes: _draw_path(axes, selection, chosen, scoring), title, 3.6)


def precision_recall_chart(told: Mapping[str, Any], title: str) -> Svg:
    """Precision over recall of a ranking (`report.scores.ranking`); the dashed line is what chance gives."""

    def draw(axes: Axes) -> None:
        checked, found = np.array(told["checked"]), np.array(told["found"])
        axes.step(found / told["positives"], found / checked, where="pre", color=MAIN)
        axes.axhline(told["positives"] / told["nodes"], color=MUTED, linestyle="--", linewidth=1)
        limits = (0, 1.02)
        axes.set(xlim=limits, ylim=limits, xlabel="recall: share of the class that is found")
        axes.set_ylabel("precision: share that is of the class")

    return _as_svg(draw, title, 3.1)


def _wrapped(names: Iterable[str]) -> list[str]:
    """Names in two lines that leave room for the chart, as those of paths would not."""
    return [textwrap.fill(name, LONGEST, max_lines=2, placeholder=" …") for name in names]


def _draw_bars(axes: Axes, values: Mapping[str, float], label: str, title: str = "", zero: str = "0.0") -> Axes:
    """A horizontal bar for each name, the first on top, with its value beside it, or ``zero`` where there is none."""
    lengths = np.array(list(values.values()), float)
    colours = np.where(lengths >= 0, MAIN, SECOND)
    axes.barh(np.arange(len(lengths)), lengths, tick_label=_wrapped(values), color=colours, height=0.62)
    for place, length in enumerate(lengths):
        shown = f"\u2009{length:.1f}\u2009" if length else f"\u2009{zero}"
        axes.text(length, place, shown, va="center", ha="right" if length < 0 else "left", color=INK)
    low, high = min(lengths.min(initial=0), 0), max(lengths.max(initial=0), 1e-9)
    axes.set(xlim=(1.18 * low, 1.18 * high), title=title)
    axes.set_xlabel(label, loc="right")
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    return axes


def _draw_path(axes: Axes, selection: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any], scoring: str = "accuracy") -> None:
    """A line for each λ₁ and for the joint group, points for separate components; the chosen candidate is ringed."""
    if scoring != "accuracy":
        sign = -1 if scoring == "log_loss" else 1
        *selection, chosen = [{**each, "val_accuracy": sign * each["val_score"]} for each in (*selection, chosen)]
    for place, (name, points) in enumerate(series_of(selection).items()):
        colour, marker = SERIES[place % len(SERIES)]
        width = 0 if name == SEPARATE else 1.5
        axes.plot(*zip(*points, strict=True), label=name, marker=marker, color=colour, linewidth=width, markersize=5)
    axes.plot(chosen["group"], chosen["val_accuracy"], "o", markersize=14, markerfacecolor="none",
              markeredgecolor=INK, label="chosen")  # fmt: skip
    if all(candidate["group"] > 0 for candidate in selection):
        axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(lambda value, _: "")
    axes.set(xlabel="λ₂, penalty on whole components", ylabel=f"validation {WORDS[scoring]}")
    axes.margins(y=0.1)
    if scoring in SHARES:
        axes.yaxis.set_major_formatter(_percent)
        axes.set_ylim(top=min(axes.get_ylim()[1], 1.01))
    below = (0.45, -0.2)  # not over the lines
    axes.legend(frameon=False, fontsize=9, labelcolor=INK, ncols=3, loc="upper center", bbox_to_anchor=below)


def _distances(middle: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.maximum([middle - low, high - middle], 0)  # rounding may turn a zero negative


def _percent(share: float, _: float) -> str:
    """A tick of an axis of shares, with decimals where it needs them."""
    return f"{100 * share:.4g}\u2009%"


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    with figure_style():
        return pyplot.subplots(layout="constrained")[1]


def _literal(text: Any) -> str:
    """Text that matplotlib must not read as mathematics."""
    return str(text).replace("$", r"\$")


def _as_svg(draw: Callable[[Axes], Any], title: str, height: float) -> Svg:
    """What ``draw`` puts on its axes, as an <svg> element that is scaled to its box and named for screen readers."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    file = io.StringIO()
    with figure_style(**{"svg.fonttype": "none", "svg.hashsalt": title, "text.parse_math": False}):
        figure = new_figure(WIDTH, height)
        FigureCanvasSVG(figure)
        draw(figure.add_subplot())
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = file.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.S)
    head, body = svg.split(">", 1)
    svg = re.sub(r' (?:width|height)="[^"]*"', "", head) + ">" + body
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    svg = re.sub(r"font:\s*([\d.]+)px[^;\"]*", r"font-size: \1px; font-family: inherit", svg)
    prefix = f"c{zlib.crc32(title.encode()):x}"  # ids of one chart must not be those of another in the page
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r'(xlink:href="|href="|url\()#', rf"\1#{prefix}-", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1)
