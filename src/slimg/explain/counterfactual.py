"""What a node would be without some edges.

The propagation is done again on the graph without them, with PCA, singular vectors and weights as they were fitted; the
node's row of U is that of its remaining edges, A_new V. Nothing is estimated: the scores are those of that graph.

`search` removes edges of the node one after the other, each time the one that lowers the margin most among the few with
the largest contributions (`Component.neighbour_scores`), and then
tries to put back each of them: what is left changes the class, and no edge of it can be spared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slimg.components.component import Target
from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.explain.explanation import above_mean
from slimg.explain.what_if import with_edge
from slimg.graph.columns import number_of
from slimg.graph.graph import Graph
from slimg.inference.fold_in import Scorer, View
from slimg.learn.objective import softmax

Pair = tuple[int, int]
"""Rows of the two ends of an edge."""
TRIED = 12
"""Edges that are tried in each round of the search."""


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """The scores of a node before and after edges were removed.

    Attributes
    ----------
    node : object
        The id of the node.
    removed : tuple of pairs
        The edges, by the ids of their ends.
    classes : array of shape (c,)
        The labels, sorted.
    before : array of shape (c,)
        Scores with the edges.
    after : array of shape (c,)
        Scores without them.
    temperature : float
        What scores are divided by to give probabilities.

    Examples
    --------
    >>> from slimg import Graph, SlimG
    >>> edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("d", "f")]
    >>> labels = {"a": "left", "c": "left", "d": "right", "f": "right"}
    >>> model = SlimG(grid=[(0, 1e-2)]).fit(Graph.from_edges(edges, labels=labels))
    >>> without = model.counterfactual("d", without_neighbours=["e"])
    >>> without.removed
    (('d', 'e'),)
    """

    node: Any
    removed: tuple[tuple[Any, Any], ...]
    classes: Array
    before: Array
    after: Array
    temperature: float = 1.0

    def __repr__(self) -> str:
        return self.text()

    @property
    def was(self) -> Any:
        """The class with the largest score before."""
        return self.classes.item(int(self.before.argmax()))

    @property
    def becomes(self) -> Any:
        """The class with the largest score after."""
        return self.classes.item(int(self.after.argmax()))

    @property
    def changes(self) -> bool:
        """Whether the predicted class is another one."""
        return int(self.before.argmax()) != int(self.after.argmax())

    def text(self) -> str:
        """Describe the change in one sentence.

        Returns
        -------
        str
            The edges, the class and its probability.
        """
        which = "; ".join(f"{u} – {v}" for u, v in self.removed)
        first = f"Without {number_of(len(self.removed), 'edge')} ({which}) {self.node} would"
        before, after = (softmax(scores[None] / self.temperature)[0].max() for scores in (self.before, self.after))
        if self.changes:
            return f"{first} be {self.becomes} (probability {after:.2f}) instead of {self.was}."
        return f"{first} still be {self.was} (probability {after:.2f} instead of {before:.2f})."

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values for JSON.

        Returns
        -------
        dict
            The attributes, and ``changes``.
        """
        arrays = {key: getattr(self, key).tolist() for key in ("classes", "before", "after")}
        return {"node": self.node, "removed": [list(pair) for pair in self.removed], **arrays, "changes": self.changes}


def without(scorer: Scorer, view: View, row: int, pairs: Iterable[Pair]) -> Counterfactual:
    """Score a node as if some edges were not there.

    Parameters
    ----------
    scorer : Scorer
        The fitted model.
    view : View
        The graph and its scores.
    row : int
        Row of the node.
    pairs : iterable of pairs of int
        Rows of the ends of the edges.

    Returns
    -------
    Counterfactual
        Scores before and after.
    """
    pairs, name, before = list(pairs), view.graph.ids.item, view.scores[row].astype(np.float64)
    removed = tuple((name(u), name(v)) for u, v in pairs)
    return Counterfactual(name(row), removed, scorer.classes, before, _scores(scorer, view, row, pairs))


def search(scorer: Scorer, view: View, row: int, at_most: int = 5, target: int | None = None) -> Counterfactual | None:
    """Search for few edges whose removal changes the class of a node.

    Parameters
    ----------
    scorer : Scorer
        The fitted model.
    view : View
        The graph and its scores.
    row : int
        Row of the node.
    at_most : int, default=5
        The most edges to remove.
    target : int or None, default=None
        Number of the class that it should become; None for any other.

    Returns
    -------
    Counterfactual or None
        None if no such edges were found.
    """
    own = int(view.scores[row].argmax())

    def margin(pairs: Sequence[Pair]) -> float:
        """How far the class is above the best other; with a target, how far the best other is above the target."""
        scores, chosen = _scores(scorer, view, row, pairs), own if target is None else target
        above = float(scores[chosen] - np.delete(scores, chosen).max())
        return above if target is None else -above

    removed: list[Pair] = []
    while len(removed) < at_most:
        tried = [(margin([*removed, pair]), pair) for pair in _promising(scorer, view, row, removed, own)]
        if not tried:
            return None
        least, pair = min(tried)
        removed.append(pair)
        if least < 0:
            break
    else:
        return None
    for pair in list(removed):  # those that need not be removed
        fewer = [other for other in removed if other != pair]
        if fewer and margin(fewer) < 0:
            removed = fewer
    return without(scorer, view, row, removed)


def edges_of(graph: Graph, row: int, without_edges: Sequence[Any], without_neighbours: Sequence[Any]) -> list[Pair]:
    """Find the rows of edges that are given by ids.

    Parameters
    ----------
    graph : Graph
        The graph of the edges.
    row : int
        Row of the node.
    without_edges : sequence of pairs
        Edges (u, v) anywhere.
    without_neighbours : sequence
        Neighbours of the node.

    Returns
    -------
    list of pairs of int
        Rows of the ends.

    Raises
    ------
    InputError
        If none is given, or a node does not exist.
    """
    flat = [end for edge in without_edges for end in _ends(edge)]
    rows = graph.positions(flat, "without_edges").reshape(-1, 2) if flat else np.empty((0, 2), np.int64)
    pairs = [(int(u), int(v)) for u, v in rows]
    if len(without_neighbours):
        pairs += [(row, int(v)) for v in graph.positions(list(without_neighbours), "without_neighbours")]
    if not pairs:
        raise InputError("name at least one edge (without_edges) or neighbour (without_neighbours) to leave out")
    return pairs


def _scores(scorer: Scorer, view: View, row: int, pairs: Sequence[Pair]) -> Array:
    return scorer.scores(Target(_cut(view.graph, pairs), np.array([row]), view.known))[0]


def _cut(graph: Graph, pairs: Sequence[Pair]) -> Graph:
    """The graph without edges."""
    for u, v in {frozenset(pair): pair for pair in pairs}.values():
        graph = with_edge(graph, u, v, 0.0)
    return graph


def _promising(scorer: Scorer, view: View, row: int, removed: Sequence[Pair], own: int) -> list[Pair]:
    """Edges of the node that are left and carry most to its class, summed over components."""
    target = Target(_cut(view.graph, removed), np.array([row]), view.known)
    neighbours = target.graph.adjacency.neighbours(row)
    total = np.zeros(len(neighbours))
    for name in scorer.used:
        fitted, weights = scorer.components[name], scorer.wide[name]
        found, scores = fitted.component.neighbour_scores(fitted.state, weights @ above_mean(weights.shape[1], own), target)
        if len(found):
            _, length = fitted.rows(target)
            _, mine, there = np.intersect1d(neighbours, found, return_indices=True)
            total[mine] += scores[there] / max(length[0], 1e-12)
    return [(row, int(neighbours[k])) for k in np.argsort(-total, kind="stable")[:TRIED]]


def _ends(edge: Any) -> tuple[Any, Any]:
    try:
        u, v = edge
    except (TypeError, ValueError):
        raise InputError(f"without_edges needs pairs of ids (u, v), not {edge!r}") from None
    return u, v
