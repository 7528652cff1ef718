"""A path of pairs (λ₁, λ₂): which pairs, in what order, from which start, how each does, and which is the best.

Pairs go from strong to weak penalties and each starts at the solution of the nearest pair solved so far, or at its own
solution on other rows. A *joint* pair has one group of all components, λ₂ ‖W‖_F: its path is that of ridge regression, which
is what stopping early comes to, and it is the better one where every component predicts a little and none enough (Squirrel,
Chameleon).

Without an ℓ₁ part the problem does not change when a group is rotated, so only the span of its labelled rows matters: a
group with more columns than there are rows is replaced by its m coordinates in that span (`Rotation`), and the weights are
rotated back.

Beside them, components fitted separately, and their scores added:

    W_g, b_g  =  argmin  f(F_g W + 1bᵀ) + λ_g ‖W‖_F                     each component g alone, with a λ of its own
    score     =  Σ_g (F_g W_g + b_g) − (k − 1) log π                    of the k components kept; π: shares of the classes

This is naive Bayes over components: each estimates log p(y | F_g) up to a constant of the row, and the shares of the
classes, which all of them contain, count once. It is the better model where components need penalties of different size,
so that in a common fit one hides what others predict; being linear, it is explained as exactly as the rest of the path.
λ_g is a share of its own λ_max. Components are sorted by their validation loss, because probabilities are added, and the first
one, two, … of them are candidates beside the pairs.

The best candidate has the highest validation score (`learn.objective`, by default the accuracy); among equals the least
validation loss, then the fewest weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from slimg.engine.base import Array
from slimg.engine.blas import one_thread
from slimg.errors import InputError, choices
from slimg.learn.objective import Labelled, Problem, Rows, accuracy, log_loss
from slimg.learn.solver import Solution, solve

PAPER_L1 = (1e-3, 1e-4, 1e-5)
PAPER_GROUP = (1e-3, 1e-4, 1e-5, 1e-6)
PATH_L1 = (0.0, 1e-3)
PATH_SHARES = (0.4, 0.1, 0.02)
JOINT_SHARES = (0.2, 0.05)
"""λ₂ of the default path, as shares of λ_max."""
SHARE = 0.1
"""λ of each component, as a share of its own λ_max."""
SEPARATE = "fitted separately"
"""The series of candidates that differ in more than one penalty: points without a line."""


class Pair(NamedTuple):
    """Weights of the two penalties; ``joint`` makes one group of all components."""

    l1: float
    group: float
    joint: bool = False


def paper_pairs() -> list[Pair]:
    """The twelve pairs of the paper."""
    return _ordered(Pair(l1, group) for group in PAPER_GROUP for l1 in PAPER_L1)


def default_pairs(problem: Problem) -> list[Pair]:
    """For each λ₁, λ₂ from below λ_max down to a small share of it; then the joint pairs, without λ₁."""
    gradient = problem.gradient_at_zero()
    pairs = [
        Pair(l1, rounded(problem.penalty(l1, 0.0).lambda_max(gradient) * share)) for l1 in PATH_L1 for share in PATH_SHARES
    ]
    largest = _joint(problem).penalty(0.0, 0.0).lambda_max(gradient)
    pairs += [Pair(0.0, rounded(largest * share), True) for share in JOINT_SHARES]
    return _ordered(pair for pair in pairs if pair.group > 0)


def resolve_pairs(grid: str | Sequence[tuple[float, float]], problem: Problem) -> list[Pair]:
    """Pairs of a grid, from strong to weak: ``"path"``, ``"paper"`` or a list of (l1, group) or (l1, group, joint)."""
    if isinstance(grid, str):
        if grid not in ("path", "paper"):
            raise choices("grid", grid, ["path", "paper", "a list of (l1, group) pairs"])
        return paper_pairs() if grid == "paper" else default_pairs(problem)
    try:
        pairs = [Pair(float(pair[0]), float(pair[1]), bool(pair[2:] and pair[2])) for pair in grid if len(pair) in (2, 3)]
    except (TypeError, ValueError, IndexError) as error:
        raise InputError(f"grid must be 'path', 'paper' or a list of pairs (l1, group), not {grid!r}") from error
    if not pairs or any(not np.isfinite(pair).all() or min(pair[:2]) < 0 or max(pair[:2]) == 0 for pair in pairs):
        raise InputError(
            "grid needs at least one pair (l1, group) of finite, non-negative numbers that are not both zero"
            f" (without a penalty there may be no minimum: use grid='unpenalized'), not {grid!r}"
        )
    return _ordered(pairs)


def warm_start_groups(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Pairs that can start from one another's solutions: each group alone gives the same solutions as the whole path."""
    groups: dict[tuple[bool, bool], list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(_kind(pair), []).append(pair)
    return list(groups.values())


def solve_path(
    problem: Problem,
    pairs: Sequence[Pair],
    tol: float,
    max_iter: int,
    skip: Callable[[Pair], bool] = lambda pair: False,
    starts: Mapping[Pair, Solution] = MappingProxyType({}),
    exact_zeros: bool = True,
) -> Iterator[tuple[Pair, Solution]]:
    """Yield solutions in the order of the pairs, without those for which ``skip(pair)`` is true when it is their turn.

    A pair in ``starts`` begins there; any other at the solution of the nearest pair.
    """
    groups: dict[tuple[bool, bool], _WarmStarts] = {}
    for pair in pairs:
        if skip(pair):
            continue
        kind = _kind(pair)
        if kind not in groups:
            groups[kind] = _WarmStarts(_joint(problem) if pair.joint else problem, rotate=pair.l1 == 0)
        yield pair, groups[kind].solve(pair, starts.get(pair), tol, max_iter, exact_zeros)


def starts_for(problem: Problem, starts: Mapping[Pair, Solution]) -> Mapping[Pair, Solution]:
    """Solutions on the rows of another fold, if it pays to begin there: if rows outnumber columns.

    With fewer rows than columns each row is fitted closely, and rows that the other fold did not have are far off.
    """
    return starts if problem.rows.shape[0] > problem.rows.shape[1] else {}


def _kind(pair: Pair) -> tuple[bool, bool]:
    return pair.joint, pair.l1 == 0


class _WarmStarts:
    """Solutions of a warm-start group: pairs with the same groups of columns, in the same coordinates."""

    def __init__(self, problem: Problem, rotate: bool):
        rotation = Rotation(problem) if rotate else None
        self.rotation = rotation if rotation is not None and rotation.helps else None
        self.problem = problem if self.rotation is None else self.rotation.problem
        self.solved: dict[Pair, Solution] = {}

    def solve(self, pair: Pair, start: Solution | None, tol: float, max_iter: int, exact_zeros: bool) -> Solution:
        if start is None:
            start = _nearest(self.solved, pair)
        elif self.rotation is not None:
            start = self.rotation.into(start)
        self.solved[pair] = solve(self.problem, pair.l1, pair.group, start, tol, max_iter, exact_zeros)
        return self.solved[pair] if self.rotation is None else self.rotation.back(self.solved[pair])


class Rotation:
    """Each group F_g (m × p_g) with p_g > m as L_g Q_gᵀ, L_g m × m: W_g = Q_g W'_g has the same scores and norm."""

    size: Any
    members: list[Array]
    helps: bool
    problem: Problem

    def __init__(self, problem: Problem):
        m = problem.rows.shape[0]
        self.size = problem.rows.shape[1]
        self.members = [np.flatnonzero(problem.group_of == g) for g in range(problem.groups)]
        self.helps = bool(np.all(problem.group_of >= 0)) and any(len(mine) > m for mine in self.members)
        self.problem = problem
        if self.helps:
            self._rotate(problem, m)

    def _rotate(self, problem: Problem, m: int) -> None:
        self.bases: list[Array | None] = []
        parts = []
        with one_thread():
            for mine in self.members:
                block = problem.rows.matrix[:, mine]
                basis = np.linalg.qr(block.T)[0] if len(mine) > m else None
                self.bases.append(basis)
                parts.append(block if basis is None else block @ basis)
        group_of = np.repeat(np.arange(problem.groups), [part.shape[1] for part in parts])
        rows = Rows(np.ascontiguousarray(np.hstack(parts)), problem.rows.engine)
        self.problem = replace(problem, rows=rows, group_of=group_of)

    def into(self, solution: Solution) -> Solution:
        """A point of the original problem as one of the rotated problem, with the same scores."""
        pairs = zip(self.members, self.bases, strict=True)
        parts = [solution.weights[mine] if basis is None else basis.T @ solution.weights[mine] for mine, basis in pairs]
        return replace(solution, weights=np.ascontiguousarray(np.vstack(parts)))

    def back(self, solution: Solution) -> Solution:
        """A solution of the rotated problem as one of the original problem."""
        weights = np.zeros((self.size, solution.weights.shape[1]), solution.weights.dtype)
        for which, (mine, basis) in enumerate(zip(self.members, self.bases, strict=True)):
            part = solution.weights[self.problem.group_of == which]
            if part.any():
                weights[mine] = part if basis is None else basis @ part
        return replace(solution, weights=weights)


@dataclass
class Record:
    """How a candidate does on validation rows; with folds, means over the ``folds`` it was tried on (``dual_gap`` is the
    largest). ``folds`` is 0 if it was left after a sample of the rows to fit on. ``weight`` is what it counts for in the
    model; if it is not zero, ``dual_gap`` and what follows are those of its final fit.

    ``val_score`` is what candidates are compared by; None is the accuracy. ``separate`` has λ of each component fitted
    separately (`SeparateFits`), the others being zero; ``group`` is then the largest of them.
    """

    l1: float
    group: float
    joint: bool
    val_accuracy: float
    val_loss: float
    dual_gap: float
    zero_components: tuple[str, ...]
    nonzero: float
    converged: bool
    seconds: float
    separate: dict[str, float] | None = None
    val_score: float | None = None
    folds: int = 1
    weight: float = 0.0

    @property
    def score(self) -> float:
        return self.val_accuracy if self.val_score is None else self.val_score

    @property
    def pair(self) -> Pair:
        return Pair(self.l1, self.group, self.joint)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"val_score": self.score}


def validate(pair: Pair, solution: Solution, names: Sequence[str], group_of: Array, rows: Array, codes: Array) -> Record:
    """Score a solution on validation rows (matrix, codes); −1 is a class without training rows: always wrong."""
    return record_of(pair, solution, zero_groups(solution.weights, names, group_of), solution.scores(rows), codes)


def zero_groups(weights: Array, names: Sequence[str], group_of: Array) -> tuple[str, ...]:
    """Names of the groups of columns whose weights are all zero."""
    return tuple(name for which, name in enumerate(names) if not weights[group_of == which].any())


def record_of(pair: Pair, solution: Solution, zero: tuple[str, ...], scores: Array, codes: Array) -> Record:
    """The record of a solution that gives validation rows the scores."""
    loss, nonzero = log_loss(scores, codes), float(np.count_nonzero(solution.weights))
    return Record(*pair, accuracy(codes, scores), loss, solution.gap, zero, nonzero, solution.converged, solution.seconds)


def merge(records: Sequence[Record]) -> Record:
    """One record from those of the folds; a component counts as zero if it is zero in every fold."""
    first = records[0]
    zero = [name for name in first.zero_components if all(name in record.zero_components for record in records)]
    return replace(
        first,
        val_accuracy=float(np.mean([r.val_accuracy for r in records])),
        val_loss=float(np.mean([r.val_loss for r in records])),
        dual_gap=max(r.dual_gap for r in records),
        zero_components=tuple(zero),
        nonzero=float(np.mean([r.nonzero for r in records])),
        converged=all(r.converged for r in records),
        seconds=sum(r.seconds for r in records),
        folds=len(records),
    )


def best(records: Sequence[Record]) -> int:
    """The position of the best record.

    Returns
    -------
    int
        Its place in the records.
    """
    return ranked(records)[0]


def ranked(records: Sequence[Record]) -> list[int]:
    """Positions of the records, the best first; those tried on fewer folds, because they were out of reach, last."""

    def order(place: int) -> tuple[float, ...]:
        record = records[place]
        score = -round(record.score, 12) if np.isfinite(record.score) else np.inf
        return -record.folds, score, record.val_loss, record.nonzero

    return sorted(range(len(records)), key=order)


def describe(record: Mapping[str, Any], written: Callable[[str], str] = str) -> str:
    """Format a candidate, given its record as a dict; ``written`` formats the name of a component.

    Returns
    -------
    str
        The penalties in words.
    """
    if record["separate"]:
        parts = ", ".join(f"{written(name)} (λ = {penalty:.3g})" for name, penalty in record["separate"].items())
        return f"{parts}, fitted separately and added" if len(record["separate"]) > 1 else f"{parts} alone"
    return f"λ₁ = {record['l1']:g}, λ₂ = {record['group']:.3g}{', one joint group' if record['joint'] else ''}"


def series_of(records: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    """(λ₂, validation accuracy) of records as dicts, by the name of their line in a figure.

    Returns
    -------
    dict of str to list of pairs
        Name of the line → its points.
    """
    series: dict[str, list[tuple[float, float]]] = {}
    for record in sorted(records, key=lambda each: (bool(each["separate"]), each["joint"], each["l1"], each["group"])):
        name = SEPARATE if record["separate"] else "one joint group" if record["joint"] else f"λ₁ = {record['l1']:g}"
        series.setdefault(name, []).append((record["group"], record["val_accuracy"]))
    return series


class Check(NamedTuple):
    """Validation rows (matrix, codes); for a fold, the positions of the rows to fit on, and of those held out."""

    matrix: Array
    codes: Array
    fit: Array | None = None
    rows: Array | None = None


@dataclass(frozen=True)
class Candidate:
    """A record, and the scores of the validation rows by the position of their check."""

    record: Record
    scores: Mapping[int, Array]


class SeparateFits:
    """Components fitted alone on the rows of each check, to the gap ``loose``; candidates are the sums of some of them.

    ``penalties`` has λ of each component, the sum of all being the only candidate; None takes `SHARE` of its own λ_max.
    """

    def __init__(
        self,
        labelled: Labelled,
        checks: Sequence[Check],
        tol: float,
        loose: float,
        max_iter: int,
        penalties: Mapping[str, float] | None = None,
    ):
        self.labelled, self.checks, self._tol, self._loose, self._max_iter = labelled, checks, tol, loose, max_iter
        self._given, self.penalties = bool(penalties), dict(penalties or _default_penalties(labelled))
        self._parts: dict[str, dict[int, _Part]] = {name: {} for name in self.penalties}
        self._starts: dict[str, dict[Pair, Solution]] = {name: {} for name in self.penalties}

    def tasks(self, place: int) -> list[Callable[[], Solution]]:
        """One for each component."""
        fit, loose = self.checks[place].fit, self._loose
        return [partial(self._fit, name, self._starts[name], fit, loose, False) for name in self.penalties]

    def add(self, place: int, results: Sequence[Solution]) -> None:
        """Keep what candidates need of the solutions: scores of the validation rows, and where to start next."""
        check = self.checks[place]
        for (name, penalty), solution in zip(self.penalties.items(), results, strict=True):
            self._starts[name] = {Pair(0.0, penalty, True): solution}
            scores = solution.scores(np.ascontiguousarray(check.matrix[:, self.labelled.columns(name)]))
            self._parts[name][place] = _Part(scores, record_of(Pair(0.0, penalty), solution, (), scores, check.codes))

    def forget(self, place: int) -> None:
        """Drop the results of a check."""
        for parts in self._parts.values():
            parts.pop(place, None)

    def candidates(self) -> list[Candidate]:
        """The first one, two, … components in the order of their validation loss."""
        if self._given:
            return [self._candidate(list(self.penalties))] if self.penalties else []
        order = sorted(self.penalties, key=self._loss)
        return [self._candidate(order[: k + 1]) for k in range(len(order))]

    def keep(self, candidates: Sequence[Candidate]) -> None:
        """Go on only with components of these candidates."""
        kept = {name for candidate in candidates for name in candidate.record.separate or ()}
        self.penalties = {name: penalty for name, penalty in self.penalties.items() if name in kept}

    def solve(self, candidate: Candidate) -> Solution:
        """The sum of a candidate's components, fitted on all rows to the gap ``tol``."""
        penalties = candidate.record.separate or {}
        return solve_separately(self.labelled, penalties, self._tol, self._max_iter, self._starts)

    def _fit(self, name: str, starts: Mapping[Pair, Solution], fit: Array | None, tol: float, exact_zeros: bool) -> Solution:
        problem, pair = self.labelled.only(name).problem(fit), Pair(0.0, self.penalties[name], True)
        starts = starts_for(problem, starts)
        ((_, solution),) = solve_path(problem, [pair], tol, self._max_iter, starts=starts, exact_zeros=exact_zeros)
        return solution

    def _loss(self, name: str) -> float:
        """Validation loss of a component alone, over the checks."""
        return float(np.mean([part.record.val_loss for part in self._parts[name].values()]))

    def _candidate(self, taken: Sequence[str]) -> Candidate:
        records, scores, separate = [], {}, {name: self.penalties[name] for name in taken}
        zero, parts = tuple(name for name in self.labelled.widths if name not in taken), [self._parts[name] for name in taken]
        for place in parts[0]:
            check, several = self.checks[place], [part[place].record for part in parts]
            shares = self.labelled.log_shares(check.fit)
            scores[place] = np.sum([part[place].scores for part in parts], axis=0)
            scores[place] -= ((len(parts) - 1) * (shares - shares.mean())).astype(np.float32)
            records.append(
                replace(
                    several[0],
                    group=max(separate.values()),
                    val_accuracy=accuracy(check.codes, scores[place]),
                    val_loss=log_loss(scores[place], check.codes),
                    dual_gap=max(record.dual_gap for record in several),
                    zero_components=zero,
                    nonzero=sum(record.nonzero for record in several),
                    converged=all(record.converged for record in several),
                    seconds=sum(record.seconds for record in several),
                )
            )
        return Candidate(replace(merge(records), separate=separate), scores)


def solve_separately(
    labelled: Labelled,
    penalties: Mapping[str, float],
    tol: float,
    max_iter: int,
    starts: Mapping[str, Mapping[Pair, Solution]] = MappingProxyType({}),
) -> Solution:
    """The sum of components fitted separately on all rows."""
    fits = SeparateFits(labelled, [], tol, tol, max_iter, penalties)
    tasks = [partial(fits._fit, name, starts.get(name, {}), None, tol, True) for name in penalties]
    results = labelled.each(tasks)
    return _added(labelled, None, dict(zip(penalties, results, strict=True)))


def check_penalties_by_component(penalties: Mapping[Any, Any], names: Sequence[str]) -> dict[str, float]:
    """Check a mapping {component: λ} of a grid; returns it in the order of the components."""
    if not penalties:
        raise InputError("a mapping in grid must name at least one component, such as {'X': 0.01}; this one is empty")
    for name, penalty in penalties.items():
        if name not in names:
            raise choices("component in grid", name, list(names))
        if not isinstance(penalty, (int, float, np.number)) or not np.isfinite(penalty) or penalty <= 0:
            raise InputError(f"the penalty of {name} in grid must be a finite, positive number, not {penalty!r}")
    return {name: float(penalties[name]) for name in names if name in penalties}


def largest_penalty(labelled: Labelled, name: str) -> float:
    """λ_max of a component alone: from there on its weights are zero."""
    problem = labelled.only(name).problem()
    return problem.penalty(0.0, 0.0).lambda_max(problem.gradient_at_zero())


def _joint(problem: Problem) -> Problem:
    return replace(problem, group_of=np.zeros_like(problem.group_of), groups=1)


def rounded(value: float) -> float:
    """Three digits: a pair that was chosen can be written down and given again."""
    return float(f"{value:.3g}")


def _ordered(pairs: Iterable[Pair]) -> list[Pair]:
    return sorted(set(pairs), key=lambda pair: (pair.joint, -pair.group, -pair.l1))


def _nearest(solved: dict[Pair, Solution], pair: Pair) -> Solution | None:
    def distance(other: Pair) -> float:
        l1, group = (abs(np.log10((a + 1e-7) / (b + 1e-7))) for a, b in zip(other[:2], pair[:2], strict=True))
        return l1 + 0.6 * group

    return solved[min(solved, key=distance)] if solved else None


class _Part(NamedTuple):
    """What is kept of a component fitted alone: scores of the validation rows of a check, and its record."""

    scores: Array
    record: Record


def _default_penalties(labelled: Labelled) -> dict[str, float]:
    tried = {name: rounded(SHARE * largest_penalty(labelled, name)) for name in labelled.widths}
    return {name: penalty for name, penalty in tried.items() if penalty > 0}


def _added(labelled: Labelled, fit: Array | None, parts: Mapping[str, Solution]) -> Solution:
    """One solution over all columns; its gap is the largest of the parts."""
    weights = np.zeros((labelled.matrix.shape[1], labelled.classes), labelled.matrix.dtype)
    intercept = -(len(parts) - 1) * labelled.log_shares(fit)
    for name, part in parts.items():
        weights[labelled.columns(name)] = part.weights
        intercept += part.intercept
    several = parts.values()
    return Solution(
        weights,
        intercept - intercept.mean(),
        objective=float(sum(part.objective for part in several)),
        gap=max(part.gap for part in several),
        converged=all(part.converged for part in several),
        iterations=sum(part.iterations for part in several),
        products=sum(part.products for part in several),
        seconds=sum(part.seconds for part in several),
    )
