"""The paper's first table, and one propagator in full.

    table(format)    every registered propagator, one row each, as text, markdown, latex or json
    show(name)       one of them: formula, reference, properties and spectral response
    plot(name, path) its filter over the eigenvalues of its operator, as SVG or PNG

Formulas are printed by the code that computes them (`slimg.lab.gnnexp.writing`). The properties of a propagator are read
off its formula, and the sanity scenarios it should survive follow from its filter alone:

    self-loops     fixed: an operator with loops (Ã, or L, whose diagonal is 1); tuned: I next to an operator in a sum with a
                   hyperparameter; none: neither
    dynamic        the operators depend on X
    heterophily    even powers: a square of an operator without loops, written into the formula
                   separate weights: a block for each power
                   weak self-loops: operators without loops, or an I with a hyperparameter of its own
    combination    one block is a sum, several are a concatenation
    pain points    1 fails a sanity scenario                             2 every block depends on X
                   3 concatenates without reducing                       4 has hyperparameters

The type is the family of the propagator: linear, decoupled, coupled, attention, kernel, SlimG, or "own" for a user's.

The graphs of the sanity checks have four clusters and mean degree δ = 33. Up to random fluctuations A_sym then has

    a bulk of eigenvalues on a semicircle of radius ρ = 2/√δ        noise: features of single nodes
    three eigenvalues μ + 1/(δμ) outside of it                      the clusters
        homophily     μ = 0.6/2.2 three times                       (1 inside a cluster, 0.4 elsewhere)
        heterophily   μ = 0.6/2.2 once, −0.6/2.2 twice

and Ã_sym has (δλ + 1)/(δ + 1), L has 1 − λ. For a block with filter f, mean and variance taken over the bulk,

    own    = mean(f)² / var(f)             size of a node's own features over that of the others mixed in
    gain   = |f(cluster)| / √mean(f²)      size of the clusters over that of single nodes, relative to before

    semantic X, uniform A      own ≥ 20          only X helps: it must be preserved
    random X                   a block without X only A helps, and a filter of random X holds almost nothing of it
    structural X               gain ≥ 3/2        X predicts the clusters weakly: they must be raised
    semantic X                 gain ≥ 0.9        X predicts the classes: they must not be lowered

The gain is the best of all blocks, for the cluster (of either sign under heterophily) with the least gain. The three bounds
were set once, from the paper's figures for the linear models; attention has no filter, so only its random cases are known.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slimg.errors import InputError, check_names, require
from slimg.lab.gnnexp import writing
from slimg.lab.gnnexp.algebra import Polynomial, Word, rational
from slimg.lab.propagators import expressions as ex
from slimg.lab.propagators.evaluation import INTERVALS, coefficients, response
from slimg.lab.propagators.registry import Propagator, get, kind_of, names
from slimg.lab.sanity.case import CASES
from slimg.lab.shared.tables import Entry, Table
from slimg.report.plots import figure_style, new_figure, save_figure

EVEN, SEPARATE, WEAK = "even powers", "separate weights", "weak self-loops"
PAINS = ("lack of robustness", "vulnerability to noisy features", "efficiency and effectiveness", "many hyperparameters")
DEGREE = 6000 * 0.01 * (1 + 3 * 0.4) / 4
CLUSTER = 0.6 / 2.2 + 2.2 / 0.6 / DEGREE
OWN, RAISED, KEPT = 20.0, 1.5, 0.9
_ANGLES = np.pi * (np.arange(400) + 0.5) / 400
_BULK, _SHARE = 2 / np.sqrt(DEGREE) * np.cos(_ANGLES), np.sin(_ANGLES) ** 2 / np.sum(np.sin(_ANGLES) ** 2)


@dataclass(frozen=True)
class Properties:
    """One row of the table; ``pain_points`` are counted from 1, ``survives`` is None where the filter does not decide."""

    name: str
    title: str
    type: str
    formula: str
    latex: str
    reference: str
    self_loops: str
    dynamic: bool
    heterophily: tuple[str, ...]
    normalisation: tuple[str, ...]
    combination: str
    hyperparameters: tuple[str, ...]
    columns: str
    pain_points: tuple[int, ...]
    survives: dict[str, bool | None]


def properties(name: str, **hyperparameters: Any) -> Properties:
    """The properties of a registered propagator.

    Parameters
    ----------
    name : str
        Name of the propagator.
    **hyperparameters : Any
        Values of its hyperparameters; survival depends on them.

    Returns
    -------
    Properties
    """
    kind, propagator = kind_of(name), get(name, **hyperparameters)
    formula = writing.symbolic(kind).formula()
    blocks = writing.parts(formula)
    found = [part for block in blocks for part in writing.inside(block)]
    kinds, names = {type(part) for part in found}, _operators(found)
    dynamic, survives = bool(kinds & {ex.Attention, ex.Gated}), survival(propagator)
    concatenated = len(blocks) > 1 or isinstance(blocks[0], ex.Over)
    bare = {each for each in names if not (each.startswith("Ã") or each == "L")}
    self_loops = _true({"fixed": dynamic or bare != names, "tuned": any(_mixes(part) for part in found)})
    repeated = [writing.body(block) for block in blocks if isinstance(block, ex.Over)]
    heterophily = {
        EVEN: any(_is_even(part) and _operators(writing.inside(part)) <= bare for part in found),
        SEPARATE: any(isinstance(power, ex.Power) and isinstance(power.base, ex.Hop) for power in repeated),
        WEAK: bool(bare) or any(isinstance(term, ex.Identity) and tuned for term, tuned in map(_split, found)),
    }
    norms = {"sym" if each == "L" else each.partition("_")[2] or "none" for each in names}
    norms |= {"none"} if ex.Attention in kinds else set()
    free, combination = tuple(kind.hyperparameters()), "concatenation" if concatenated else "sum"
    pains = (False in survives.values(), ex.Structure not in kinds, concatenated and ex.Reduced not in kinds, bool(free))
    identified = (name, kind.title, kind.family, writing.text(formula), writing.latex(formula), kind.reference)
    operators = (" and ".join(self_loops) or "none", dynamic, _true(heterophily), tuple(sorted(norms)))
    pain_points = _true(dict(enumerate(pains, 1)))
    return Properties(*identified, *operators, combination, free, _columns(blocks), pain_points, survives)


def _true(facts: dict[Any, bool]) -> tuple[Any, ...]:
    return tuple(fact for fact, holds in facts.items() if holds)


def _columns(blocks: tuple[ex.Expression | ex.Over, ...]) -> str:
    """How many columns P has: a multiple of d, or of r for blocks that were reduced."""
    number = writing.as_scalar(sum(block.last - block.first + 1 if isinstance(block, ex.Over) else 1 for block in blocks)).text
    letter = "r" if any(isinstance(block, ex.Reduced | ex.Structure) for block in blocks) else "d"
    return letter if number == "1" else f"({number}) {letter}" if " " in number else f"{number} {letter}"


def _operators(found: list[ex.Expression]) -> set[str]:
    return {part.name for part in found if isinstance(part, ex.Hop)}


def _mixes(part: ex.Expression) -> bool:
    """A sum of I and an operator with a hyperparameter in it."""
    terms = [_split(term) for term in part.terms] if isinstance(part, ex.Sum) else []
    own = any(isinstance(term, ex.Identity) for term, _ in terms)
    return own and any(_operators(writing.inside(term)) for term, _ in terms) and any(tuned for _, tuned in terms)


def _split(term: ex.Expression) -> tuple[ex.Expression, bool]:
    """The term without its factors, and whether one of them is a hyperparameter."""
    tuned = False
    while isinstance(term, ex.Scaled):
        tuned, term = tuned or isinstance(term.number, writing.Scalar), term.base
    return term, tuned


def _is_even(part: ex.Expression) -> bool:
    return isinstance(part, ex.Power) and isinstance(part.exponent, int) and part.exponent % 2 == 0


# survival -----------------------------------------------------------------------------------------------------------


def survival(propagator: Propagator) -> dict[str, bool | None]:
    """Which sanity scenarios a propagator should survive.

    Returns
    -------
    dict of str to (bool or None)
        By scenario; None where the filter does not decide.
    """
    blocks = list(propagator.blocks().values())
    structure = any(isinstance(block, ex.Structure) for block in blocks)
    filters = [block for block in blocks if not isinstance(block, ex.Structure)]
    known = all(response(block, np.zeros(1)) is not None for block in filters)
    decided = {name: _by_filter(name, filters) if known else None for name in CASES if not name.startswith("random")}
    return {name: decided.get(name, structure) for name in CASES}


def own(block: ex.Expression) -> float:
    """mean(f)²/var(f) over the bulk; infinite for X itself."""
    values = _filter(block, _BULK)
    mean = float(_SHARE @ values)
    variance = float(_SHARE @ (values - mean) ** 2)
    return mean**2 / variance if variance > 1e-24 * mean**2 else np.inf


def gain(block: ex.Expression, sign: int) -> float:
    """|f(cluster)| relative to the bulk, for the eigenvalue of the clusters with this sign."""
    size = float(np.sqrt(_SHARE @ _filter(block, _BULK) ** 2))
    return float(np.abs(_filter(block, np.array([sign * CLUSTER]))[0])) / size


def _by_filter(name: str, blocks: list[ex.Expression]) -> bool:
    features, structure = name.split("-")
    if structure == "uniform":
        return max(map(own, blocks)) >= OWN
    signs = (1,) if structure == "homophily" else (1, -1)
    weakest = min(max(gain(block, sign) for block in blocks) for sign in signs)
    return weakest >= (RAISED if features == "structural" else KEPT)


def _filter(block: ex.Expression, eigenvalues: np.ndarray) -> np.ndarray:
    """f at eigenvalues of A_sym."""
    name = next(iter(ex.operators_of(block)), "A_sym")
    if name.startswith("Ã"):
        eigenvalues = (DEGREE * eigenvalues + 1) / (DEGREE + 1)
    elif name == "L":
        eigenvalues = 1 - eigenvalues
    values = response(block, eigenvalues)
    if values is None:
        raise InputError("only a function of one operator has a filter: attention and several operators have none")
    return values


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
    at_values, polynomials = writing.text(propagator.formula()), polynomial_blocks(propagator)
    short = polynomials is not None and max(each.leading.degree for each in polynomials) <= MOST_WORDS
    multiplied_out = writing.propagator_text(polynomials) if polynomials and short else None
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
        axes.set_title(f"{propagator.title}:  {writing.text(propagator.formula())}", fontsize="medium")
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
        shares, operators = coefficients(expression), ex.operators_of(expression)
        if shares is None or "L" in operators or not np.isfinite(shares).all():
            return None
        symbol = writing.operator_symbol(next(iter(operators), "A"))
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
        operator = next(iter(ex.operators_of(expression)), "A_sym")
        eigenvalues = np.linspace(*INTERVALS.get(operator, (-1.0, 1.0)), 401)
        with np.errstate(over="ignore", divide="ignore"):
            values = response(expression, eigenvalues)
        if values is not None:
            curves.append((label, operator, eigenvalues, values))
    return curves
