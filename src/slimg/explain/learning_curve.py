"""What fewer labels would have given, and whether more would help.

The m labelled rows are dealt into 2, 4 and 8 parts, class by class. Each row is predicted from its own part, without its own
label: with about m/2, m/4 and m/8 labels. So every point of the curve is judged on all m rows, and the rise between two
points is a mean of differences on the same rows, whose standard error is known:

    rise = mean_i (right_i with m labels − share of dealings in which i is right with m/2),     error = sd_i / √m

Labels never make a classifier worse in the mean, so what is told is the curve made monotone (pool adjacent violators,
points weighed by 1/error²).

The error leaves out that all rows share their training rows, so luck exceeds twice of it more often than it should:
in 10 % of draws in which the best there is was reached long before (120 draws of 200 or 400 labels). A curve that still
rises did so before, too. Asking that of the doubling before as well leaves 1 % of 200 fresh draws with 400 labels and 6 %
with 200; of draws in which labels help, four in five still say so, as many as without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from slimg.engine.base import Array, Engine
from slimg.explain.ridge import ALPHAS, Gain, Held, Ridge, gain

PARTS = (8, 4, 2)
DEALINGS = 6
LABELS_PER_CLASS = 5
"""A part must have so many rows for each class, on average."""
WORTH = 0.01
"""Accuracy that a doubling of the labels must give to be worth more of them."""


@dataclass(frozen=True)
class Point:
    """Accuracy with so many labels, its standard error, and what the monotone curve has there."""

    labels: int
    accuracy: float
    error: float
    smoothed: float


@dataclass(frozen=True)
class LearningCurve:
    """Points in ascending order of labels; ``doubling`` is the rise of the monotone curve from half of the labels to all."""

    points: tuple[Point, ...]
    doubling: Gain | None

    @property
    def before(self) -> float | None:
        """The rise of the monotone curve from a quarter of the labels to half of them, if it was measured."""
        return self.points[-2].smoothed - self.points[-3].smoothed if len(self.points) > 2 else None

    @property
    def outlook(self) -> str:
        """``"more"`` labels would help, would give ``"little"``, or that is ``"unclear"`` from these."""
        if self.doubling is None:
            return "unclear"
        rise, error = self.doubling.value, self.doubling.error
        sure = rise > 3 * error if self.before is None else rise > 2 * error and self.before >= WORTH
        if rise >= WORTH and sure:
            return "more"
        return "little" if rise + 2 * error < 2 * WORTH else "unclear"


def learning_curve(
    kernel: Array, everything: Held, c: int, rng: np.random.Generator, engine: Engine
) -> LearningCurve:
    """From a kernel (m × m) of the labelled rows and what it predicts with all of them; dealings are tasks of the engine."""
    codes, m = everything.codes, len(everything.codes)
    enough = [parts for parts in PARTS if m // parts >= LABELS_PER_CLASS * c]
    dealt = [_deal(codes, parts, rng) for parts in enough for _ in range(DEALINGS)]
    found = engine.concurrently(*(partial(_right, kernel, codes, c, part_of) for part_of in dealt))
    often = np.reshape(found, (len(enough), DEALINGS, m)).mean(axis=1)
    rights = {m // parts: each for parts, each in zip(enough, often, strict=True)}
    rights[m] = everything.right.astype(np.float64)
    values = np.array([right.mean() for right in rights.values()])
    errors = np.array([right.std() / np.sqrt(m) for right in rights.values()])
    smooth = monotone(values, 1 / np.maximum(errors, 1e-3) ** 2)
    points = [Point(*each) for each in zip(rights, values.tolist(), errors.tolist(), smooth.tolist(), strict=True)]
    if m // 2 not in rights:
        return LearningCurve(tuple(points), None)
    return LearningCurve(tuple(points), Gain(float(smooth[-1] - smooth[-2]), gain(rights[m], rights[m // 2]).error))


def monotone(values: Array, weights: Array) -> Array:
    """The nearest ascending values, in weighted squares."""
    blocks: list[list[float]] = []
    for value, weight in zip(values, weights, strict=True):
        blocks.append([float(value), float(weight), 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, v, n), (b, w, k) = blocks[-2:]
            blocks[-2:] = [[(a * v + b * w) / (v + w), v + w, n + k]]
    return np.concatenate([np.full(int(size), value) for value, _, size in blocks])


def _right(kernel: Array, codes: Array, c: int, part_of: Array) -> Array:
    """Which rows (m) are right when each is predicted from its part.

    The α counts that is best on all m rows, as it does with all labels: the choice favours neither.
    """
    right = np.zeros((len(ALPHAS), len(codes)))
    for part in range(part_of.max() + 1):
        rows = np.flatnonzero(part_of == part)
        right[:, rows] = [held.right for held in Ridge(kernel[np.ix_(rows, rows)]).each(codes[rows], c)]
    return right[right.sum(axis=1).argmax()]


def _deal(codes: Array, parts: int, rng: np.random.Generator) -> Array:
    """The part of each row; of every class, parts get as many rows or one more, and no part is always first."""
    order = np.lexsort((rng.random(len(codes)), codes))
    part_of = np.empty(len(codes), np.int64)
    part_of[order] = (np.arange(len(codes)) + rng.integers(parts)) % parts
    return part_of
