"""Figures of the paper, drawn with matplotlib into .svg or .png.

Each function takes plain numbers and a path, writes the file whole, and gives the path back. No figure shares state with
another: none is made through pyplot.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slimg.lab.sanity.case import STRUCTURES, block_densities, draw_clusters, draw_edges, scaled
from slimg.report.plots import INK, MAIN, SECOND, THIRD, new_figure, save_figure

OURS, OTHERS, CURVES = SECOND, MAIN, (MAIN, SECOND, THIRD)
FORMULAS = {"U": "$U$", "X": "$g(X)$", "A_row^2 X": r"$g(A_{row}^2X)$", "A_sym^2 X": r"$g(\tilde{A}_{sym}^2X)$"}
DRAWN_NODES = 400
"""Nodes of the adjacency plots: dots of a larger graph would overlap."""


@dataclass(frozen=True)
class Measured:
    """Accuracy and time of a model; all None for one that failed."""

    title: str
    accuracy: float | None
    seconds: float | None
    iterations: float | None


def accuracy_against_time(
    path: Path, models: list[Measured], title: str, seconds: str = "features and training with the chosen values"
) -> Path:
    """Accuracy over seconds (logarithmic), each model with the iterations it needed; those without a result are named."""
    figure = new_figure(6.4, 4.2)
    axes = figure.subplots()
    measured = [(each, each.seconds, 100 * each.accuracy) for each in models if each.accuracy is not None and each.seconds]
    for each, x, y in measured:
        own = each.title.startswith("SlimG")
        axes.scatter(x, y, s=70 if own else 36, color=OURS if own else OTHERS, marker="*" if own else "o", zorder=3)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.margins(x=0.25, y=0.12)
    texts = [each.title + ("" if each.iterations is None else f" ({each.iterations:.0f} it.)") for each, _, _ in measured]
    axes.autoscale_view()
    to_unit_square = axes.transScale + axes.transLimits
    points = to_unit_square.transform([(x, y) for _, x, y in measured]) if measured else np.empty((0, 2))
    for text, (x, y, ends) in zip(texts, _place_labels(points, texts), strict=True):
        axes.text(x, y, text, transform=axes.transAxes, fontsize=8, ha="right" if ends else "left", va="center", color=INK)
    axes.set(xlabel=f"seconds: {seconds}", ylabel="accuracy, %")
    failed = [each.title for each in models if each.accuracy is None]
    axes.set_title(title + (f"\nno result: {', '.join(failed)}" if failed else ""), fontsize=10)
    axes.grid(alpha=0.25)
    return save_figure(figure, path)


def component_weights(path: Path, scenarios: dict[str, dict[str, float]], title: str = "") -> Path:
    """One panel per scenario: a bar per component, with its share of the weights."""
    figure = new_figure(2.9 * len(scenarios) + 0.6, 3.0)
    panels = np.atleast_1d(figure.subplots(1, len(scenarios), sharey=True))
    for axes, (scenario, shares) in zip(panels, scenarios.items(), strict=True):
        largest = max(shares, key=lambda block: shares[block])
        names = [FORMULAS.get(block, block) for block in shares]
        bars = axes.bar(names, list(shares.values()), color=[OURS if block == largest else OTHERS for block in shares])
        axes.bar_label(bars, [f"{share:.2f}" for share in shares.values()], fontsize=8, padding=2)
        axes.set_title(scenario, fontsize=9)
        axes.set_ylim(0, 1.08)
        axes.tick_params(axis="x", labelsize=8)
    panels[0].set_ylabel("share of the weights")
    return _save(figure, path, title)


def polynomials(path: Path, points: int = 100, random_state: int = 0) -> Path:
    """ "Less is more": x ~ U(−1, 1), y ~ U(0, 1), and least-squares polynomials of degree 0, 1 and 2; the truth is ½."""
    rng = np.random.default_rng(random_state)
    x, y = rng.uniform(-1, 1, points), rng.uniform(0, 1, points)
    at = np.linspace(-1, 1, 201)
    figure = new_figure(5.0, 3.4)
    axes = figure.subplots()
    axes.scatter(x, y, s=12, color="#999999", zorder=1)
    axes.plot(at, np.full_like(at, 0.5), color="#6a3d9a", linewidth=3, alpha=0.5, label="truth: ½")
    for degree, colour in enumerate(CURVES):
        fitted = np.polyval(np.polyfit(x, y, degree), at)
        error = float(np.sqrt(np.mean((fitted - 0.5) ** 2)))
        axes.plot(at, fitted, color=colour, linewidth=1.6, label=f"degree {degree}: {error:.3f} from the truth")
    axes.set(xlabel="x", ylabel="y")
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 1.22), ncols=2, frameon=False)
    return save_figure(figure, path)


def structures(path: Path, nodes: int = DRAWN_NODES, classes: int = 4) -> Path:
    """Adjacency matrices of homophily, heterophily and uniform graphs, nodes in the order of their clusters."""
    n = min(nodes, DRAWN_NODES)
    figure = new_figure(8.4, 3.1)
    for axes, structure in zip(figure.subplots(1, 3), STRUCTURES, strict=True):
        rng = np.random.default_rng(0)
        clusters = np.sort(draw_clusters(n, classes, 1.0, rng))
        blocks = block_densities(structure, np.bincount(clusters), scaled(n)["density"])
        u, v = draw_edges(clusters, blocks, rng).T
        axes.scatter(np.concatenate([u, v]), np.concatenate([v, u]), s=0.6, color=OTHERS, linewidths=0, rasterized=True)
        for end in np.cumsum(np.bincount(clusters))[:-1]:
            axes.axhline(end, color=INK, linewidth=0.4)
            axes.axvline(end, color=INK, linewidth=0.4)
        axes.set(xlim=(0, n), ylim=(n, 0), aspect="equal", xticks=[], yticks=[])
        axes.set_title(f"{structure} A", fontsize=10)
    return save_figure(figure, path)


def growth(path: Path, series: dict[str, tuple[np.ndarray, np.ndarray]], title: str = "") -> Path:
    """Seconds over sizes, one panel per kind, with the line through the origin and the largest."""
    figure = new_figure(3.6 * len(series) + 0.4, 3.2)
    for axes, (kind, (sizes, seconds)) in zip(np.atleast_1d(figure.subplots(1, len(series))), series.items(), strict=True):
        axes.plot(sizes, seconds, marker="o", color=OURS, label="SlimG")
        axes.plot([0, sizes[-1]], [0, seconds[-1]], color=INK, linewidth=0.8, linestyle=":", label="in proportion")
        axes.set(xlim=(0, None), ylim=(0, None), xlabel=f"number of {kind}", ylabel="seconds")
        axes.ticklabel_format(axis="x", scilimits=(-5, 5))
        axes.legend(fontsize=8, frameon=False)
    return _save(figure, path, title)


def _place_labels(points: np.ndarray, texts: list[str]) -> list[tuple[float, float, bool]]:
    """Places of labels such that none covers another or a point: (x, y, whether it ends there instead of beginning).

    Points are in the unit square (k × 2); the first free place beside a point is taken, then those above and below it.
    """
    taken = [(x - 0.012, y - 0.02, x + 0.012, y + 0.02) for x, y in points]
    places = []
    for (x, y), text in zip(points, texts, strict=True):
        width = 0.0135 * len(text)
        options = [(x + side * 0.015, y + step * 0.038, side < 0) for step in (0, 1, -1, 2, -2, 3, -3) for side in (1, -1)]
        boxes = [(at - width, h - 0.018, at, h + 0.018) if ends else (at, h - 0.018, at + width, h + 0.018)
                 for at, h, ends in options]  # fmt: skip
        free = (k for k, box in enumerate(boxes)
                if box[0] > -0.02 and box[2] < 1.02 and not any(_overlap(box, other) for other in taken))  # fmt: skip
        chosen = next(free, 0)
        taken.append(boxes[chosen])
        places.append(options[chosen])
    return places


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _save(figure: Any, path: Path, title: str) -> Path:
    if title:
        figure.suptitle(title, fontsize=9)
    return save_figure(figure, path)
