"""The paper's first table, and one propagator in full.

    table(format)    every registered propagator, one row each, as text, markdown, latex or json
    show(name)       one of them: formula, reference, properties and spectral response
    plot(name, path) its filter over the eigenvalues of its operator, as SVG or PNG

Formulas are printed by the code that computes them (`slimg.lab.gnnexp.writing`); everything else is read off the formulas
(`slimg.lab.gnnexp.properties`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from slimg.errors import InputError, check_names, require
from slimg.lab.gnnexp.algebra import Polynomial, Word, rational
from slimg.lab.gnnexp.properties import PAINS, Properties, properties
from slimg.lab.gnnexp.writing import operator_symbol, propagator_text, text
from slimg.lab.propagators.expressions import operators_of
from slimg.lab.propagators.registry import Propagator, get, names
from slimg.lab.propagators.spectrum import INTERVALS, coefficients, response
from slimg.lab.sanity.case import CASES
from slimg.lab.shared.tables import Entry, Table
from slimg.report.plots import figure_style, new_figure, save_figure

FORMATS = ("text", "markdown", "latex", "json")
MARKS: dict[bool | None, str] = {True: "✓", False: "✗", None: "?"}
MOST_WORDS = 24
"""Degree up to which a polynomial is also shown multiplied out."""
POINTS = (1.0, 0.5, 0.0, -0.5, -1.0)


def table(format: str = "text", models: Sequence[str] | None = None) -> str:
    """Every registered propagator in one table.

    Parameters
    ----------
    format : {"text", "markdown", "latex", "json"}, default="text"
        How the table is written.
    models : sequence of str, optional
        Names of propagators; all of them by default.

    Returns
    -------
    str
        The table; text and markdown have a legend below.
    """
    check_names("format", [format], FORMATS)
    rows = [properties(name) for name in (names() if models is None else models)]
    if format == "json":
        return json.dumps([asdict(row) for row in rows], indent=1, ensure_ascii=False)
    header: list[str | Entry] = list(_cells(rows[0])) if rows else []
    header = [Entry(head, latex=r"$\mathcal{P}(\mathbf{A}, \mathbf{X})$") if head == "P(A, X)" else head for head in header]
    drawn = Table(header, [list(_cells(row).values()) for row in rows], align="l" * len(header), n_labels=0)
    if format == "latex":
        return drawn.latex()
    legend = [
        "U: singular vectors of A; g: principal components; L = D^-½ (D − A) D^-½; r: rank of U; d: columns of X.",
        "pains: " + ", ".join(f"{number} {point}" for number, point in enumerate(PAINS, 1)) + ".",
        "survives, by its filter at the default values (? unknown): " + ", ".join(CASES) + ".",
    ]
    return "\n".join([drawn.markdown() if format == "markdown" else drawn.text(ruled=False), "", *legend])


def show(name: str, **hyperparameters: Any) -> str:
    """One propagator in full.

    Parameters
    ----------
    name : str
        Name of the propagator.
    **hyperparameters : Any
        Values of its hyperparameters; survival and spectral response depend on them.

    Returns
    -------
    str
        Several lines of text.
    """
    row, propagator = properties(name, **hyperparameters), get(name, **hyperparameters)
    values = ", ".join(f"{each} = {getattr(propagator, each)}" for each in row.hyperparameters)
    at_values, polynomials = text(propagator.formula()), polynomial_blocks(propagator)
    short = polynomials is not None and max(each.leading.degree for each in polynomials) <= MOST_WORDS
    multiplied_out = propagator_text(polynomials) if polynomials and short else None
    facts = {
        "reference": row.reference or "–",
        "type": row.type + (", dynamic" if row.dynamic else ", static"),
        "hyperparameters": values or "none",
        "at these values": at_values if values else None,
        "multiplied out": multiplied_out if multiplied_out != at_values else None,
        "self-loops": row.self_loops,
        "normalisation": ", ".join(row.normalisation) or "–",
        "blocks": f"{row.combination}, {row.columns} columns",
        "against heterophily": ", ".join(row.heterophily) or "nothing",
        "pain points": ", ".join(f"{number} {PAINS[number - 1]}" for number in row.pain_points) or "none",
        "should survive": ", ".join(f"{MARKS[ok]} {case}" for case, ok in row.survives.items()),
    }
    lines = [f"{row.title} ({row.name})", "", f"    P(A, X) = {row.formula}", f"    {row.latex}", ""]
    lines += [f"{key:<20} {value}" for key, value in facts.items() if value is not None]
    return "\n".join([*lines, "", *_response_lines(propagator)])


def plot(name: str, path: str | Path, **hyperparameters: Any) -> Path:
    """Plot the filter of each block over the eigenvalues of its operator.

    Parameters
    ----------
    name : str
        Name of the propagator.
    path : str or Path
        File to write, with the suffix .svg or .png.
    **hyperparameters : Any
        Values of its hyperparameters.

    Returns
    -------
    Path
        The file.
    """
    path = Path(path)
    if path.suffix.lower() not in (".svg", ".png"):
        raise InputError(f"a plot is saved as .svg or .png, not as {path.name!r}")
    propagator = get(name, **hyperparameters)
    curves = _curves(propagator)
    if not curves:
        raise InputError(f"{name} has no spectral response: its operators depend on X")
    require("matplotlib", "report", "a plot of the spectral response")
    with figure_style():
        figure = new_figure(6, 3.6)
        axes = figure.add_subplot()
        for label, _, eigenvalues, values in curves:
            axes.plot(eigenvalues, values, label=label)
        axes.axhline(0, color="0.7", linewidth=0.8)
        operators = ", ".join(dict.fromkeys(operator for _, operator, *_ in curves))
        axes.set(xlabel=f"eigenvalue λ of {operators}", ylabel="response f(λ)")
        axes.set_title(f"{propagator.title}:  {text(propagator.formula())}", fontsize="medium")
        if 1 < len(curves) <= 12:
            figure.legend(loc="outside right center", fontsize="small", frameon=False)
        return save_figure(figure, path)


def polynomial_blocks(propagator: Propagator) -> tuple[Polynomial, ...] | None:
    """The blocks as polynomials in operators, as `slimg.lab.gnnexp.linearize` gives them.

    Returns
    -------
    tuple of Polynomial or None
        None if one of the blocks is no polynomial.
    """
    blocks = []
    for expression in propagator.blocks().values():
        shares, operators = coefficients(expression), operators_of(expression)
        if shares is None or "L" in operators or not np.isfinite(shares).all():
            return None
        symbol = operator_symbol(next(iter(operators), "A"))
        words = [Word(((symbol, power),) if power else ()) for power in range(len(shares))]
        blocks.append(Polynomial({word: rational(float(share)) for word, share in zip(words, shares, strict=True)}))
    return tuple(blocks)


def _cells(row: Properties) -> dict[str, str | Entry]:
    """The cells of one row by the head of their column."""
    return {
        "model": row.title,
        "type": row.type,
        "P(A, X)": Entry(row.formula, latex=f"${row.latex}$"),
        "self-loops": row.self_loops,
        "operators": "dynamic" if row.dynamic else "static",
        "normalised": ", ".join(row.normalisation) or "–",
        "combined": row.combination,
        "against heterophily": ", ".join(row.heterophily) or "–",
        "hyperparameters": str(len(row.hyperparameters)),
        "columns": Entry(row.columns, latex=f"${row.columns}$"),
        "pains": " ".join(map(str, row.pain_points)) or "–",
        "survives": "".join(MARKS[ok] for ok in row.survives.values()),
    }


def _response_lines(propagator: Propagator) -> list[str]:
    curves = _curves(propagator)
    if not curves:
        return ["spectral response    none: its operators depend on X"]
    lines = ["spectral response    " + "".join(f"λ = {point:<8g}" for point in POINTS)]
    for label, operator, eigenvalues, values in curves:
        at = [1 - point for point in POINTS] if operator == "L" else list(POINTS)
        shown = "".join(f"{np.interp(place, eigenvalues, values):<12.4g}" for place in at)
        lines.append(f"  {label:<18} {shown}{'(λ = 1 − eigenvalue of L)' if operator == 'L' else f'({operator})'}")
    return lines


def _curves(propagator: Propagator) -> list[tuple[str, str, np.ndarray, np.ndarray]]:
    """Label, operator, eigenvalues and response of each block that has one."""
    curves = []
    for label, expression in propagator.blocks().items():
        operator = next(iter(operators_of(expression)), "A_sym")
        eigenvalues = np.linspace(*INTERVALS.get(operator, (-1.0, 1.0)), 401)
        with np.errstate(over="ignore", divide="ignore"):
            values = response(expression, eigenvalues)
        if values is not None:
            curves.append((label, operator, eigenvalues, values))
    return curves
