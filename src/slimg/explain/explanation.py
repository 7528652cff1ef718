"""The score of one node, taken apart.

    score_c  =  bias_c  +  Σ_g part_g,c  +  rounding_c                       for each class c, exactly
    part_g,c =  Σ_j feature_j,c            over the d features               (components made of features)
             =  Σ_s source_s,c  +  rest_c  over the nodes s it came from

A feature's share is (b_j − μ_j) β_jc / ‖s‖: how much more of it the node (or its neighbourhood) has than the average node,
times the weight β = CᵀW of the feature, over the length of the row. So an average node has the bias alone. ``rest`` is what
the sources' weights lack to one: Σ_s Opʰ_is − 1 times the average node; it is zero where the operator takes means.
``rounding`` is what the decompositions left over: about 1e-6 where they are exact, up to their tolerance where iterated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.graph.columns import number_of, show
from slimg.learn.objective import softmax


class Term(NamedTuple):
    """One summand of a score.

    Attributes
    ----------
    name : object
        The name of a feature or component, or the id of a node.
    contribution : float
        What it adds to the score.
    stands_for : int
        How many features or nodes it sums up; 1 unless it is "the others".
    """

    name: Any
    contribution: float
    stands_for: int = 1


@dataclass(frozen=True, eq=False)
class Part:
    """What one component contributes to the scores of the c classes.

    Attributes
    ----------
    name, title : str
        The component, by its short name and in words.
    removed : bool
        Whether the group penalty set its weights to zero; then everything below is empty.
    scores : array of shape (c,)
        The contribution to each class.
    length : float
        ‖s‖, the length that the row was divided by.
    source_ids, source_labels, source_weights, source_scores : arrays of shape (m,), list, (m,) and (m, c)
        The nodes it came from, their labels (None where unlabelled), the weight of the paths, and what each contributes.
    features : array of shape (d, c) or None
        The share of each feature; None for a component that is not made of features.
    values, averages : arrays of shape (d,) or None
        How much of each feature the node (or its neighbourhood) has, and the average node.
    feature_names : tuple of str or None
        Names of the component's own features; None for the features of the graph.
    reach : int
        Hops from which nodes contribute; 0 if only the node itself does.
    """

    name: str
    title: str
    removed: bool
    scores: Array
    length: float
    source_ids: Array
    source_labels: list[Any]
    source_weights: Array
    source_scores: Array
    features: Array | None = None
    values: Array | None = None
    averages: Array | None = None
    feature_names: tuple[str, ...] | None = None
    reach: int = 0

    @property
    def source_rest(self) -> Array:
        """What no source accounts for (c,)."""
        return self.scores - self.source_scores.sum(axis=0)


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why a node has the scores it has; see the module's text for what adds up to what.

    Contributions can be read for one class (``label``, by default the predicted one), or against another one
    (``against=`` a label), or against the mean of all classes (``against="mean"``). The last two do not depend on a
    constant that may be added to the scores of all classes without changing a probability. Printing an explanation shows
    it in sentences.

    Attributes
    ----------
    node : object
        The id of the node.
    classes : array of shape (c,)
        The labels, sorted.
    scores : array of shape (c,)
        The score of each class.
    bias : array of shape (c,)
        The intercept of the model.
    parts : tuple of Part
        One for each component.
    rounding : array of shape (c,)
        What bias and parts lack to the scores.
    feature_names : tuple of str or None
        Names of the features of the graph, if it has them.
    temperature : float
        What scores are divided by to give probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from slimg import Graph, SlimG
    >>> edges = [("a", "b"), ("b", "c"), ("a", "c"), ("d", "e"), ("e", "f"), ("d", "f")]
    >>> labels = {"a": "left", "b": "left", "d": "right", "e": "right"}
    >>> model = SlimG(grid=[(0, 1e-2)]).fit(Graph.from_edges(edges, label=labels))
    >>> explanation = model.explain("c")
    >>> explanation.prediction
    'left'
    >>> parts = explanation.components()
    >>> bool(np.isclose(sum(parts.values()), explanation.score()))
    True
    """

    node: Any
    classes: Array
    scores: Array
    bias: Array
    parts: tuple[Part, ...]
    rounding: Array
    feature_names: tuple[str, ...] | None
    temperature: float = 1.0

    def __repr__(self) -> str:
        return self.text()

    @property
    def prediction(self) -> Any:
        """The class with the largest score."""
        return self.classes.item(int(self.scores.argmax()))

    @property
    def runner_up(self) -> Any:
        """The class with the second largest score."""
        return self.classes.item(int(np.argsort(-self.scores, kind="stable")[1]))

    @property
    def probabilities(self) -> Array:
        """Probabilities of the classes, shape (c,): softmax(scores / temperature)."""
        return softmax(np.divide(self.scores[None], self.temperature, dtype=np.float64))[0]

    def part(self, component: str) -> Part:
        """Find the part of a component.

        Parameters
        ----------
        component : str
            Its short name, for example ``A_row^2 X``.

        Returns
        -------
        Part
            The part with that name.
        """
        for part in self.parts:
            if part.name == component:
                return part
        raise InputError(f"no component {component!r}: there are {show(part.name for part in self.parts)}")

    def components(self, label: Any = None, against: Any = None) -> dict[str, float]:
        """Sum up what each component contributes.

        Parameters
        ----------
        label : object, default=None
            A class; None is the predicted one.
        against : object, default=None
            Another class, or "mean" for the mean of all.

        Returns
        -------
        dict of str to float
            "bias", each component and "rounding"; they add up to `score`.
        """
        z = self._contrast(label, against)
        parts = {part.name: float(part.scores @ z) for part in self.parts}
        return {"bias": float(self.bias @ z), **parts, "rounding": float(self.rounding @ z)}

    def score(self, label: Any = None, against: Any = None) -> float:
        """Read the score of a class, or how far it is above another or the mean of all.

        Parameters
        ----------
        label : object, default=None
            A class; None is the predicted one.
        against : object, default=None
            Another class, or "mean" for the mean of all.

        Returns
        -------
        float
            The score; the parts of `components` add up to it.
        """
        return float(self.scores @ self._contrast(label, against))

    def top_features(self, component: str | None = None, k: int = 5, label: Any = None, against: Any = None) -> list[Term]:
        """Find the features that contribute most in magnitude.

        Parameters
        ----------
        component : str or None, default=None
            A component by its short name; None sums over all that are made of features of the graph.
        k : int, default=5
            How many features are named.
        label : object, default=None
            A class; None is the predicted one.
        against : object, default=None
            Another class, or "mean" for the mean of all.

        Returns
        -------
        list of Term
            The k features and the others as one term; they add up to the component.
        """
        parts = [self.part(component)] if component else [part for part in self.parts if part.feature_names is None]
        z = self._contrast(label, against)
        found = [part.features @ z for part in parts if part.features is not None]
        if not found:
            return []
        total = np.sum(found, axis=0)
        names = [self.feature_name(j, parts[0]) for j in _largest(total, k)]
        return top_terms(total, names, k, "other feature")

    def top_sources(self, component: str, k: int = 5, label: Any = None, against: Any = None) -> list[Term]:
        """Find the nodes that contribute most in magnitude.

        Parameters
        ----------
        component : str
            A component by its short name.
        k : int, default=5
            How many nodes are named.
        label : object, default=None
            A class; None is the predicted one.
        against : object, default=None
            Another class, or "mean" for the mean of all.

        Returns
        -------
        list of Term
            The k nodes, the others as one term, and the rest; they add up to the component.
        """
        part, z = self.part(component), self._contrast(label, against)
        values = part.source_scores @ z
        terms = top_terms(values, [plain(part.source_ids[i]) for i in _largest(values, k)], k, "other node")
        rest = float(part.source_rest @ z)
        return [*terms, Term("the average node", rest, 0)] if abs(rest) > 1e-9 else terms

    def feature_name(self, column: int, part: Part | None = None) -> str:
        """Name a feature of the graph, or of a part that has features of its own.

        Parameters
        ----------
        column : int
            The column of the feature.
        part : Part or None, default=None
            A part whose own names are used if it has any.

        Returns
        -------
        str
            The name, or ``feature 7`` where there is none.
        """
        names = part.feature_names if part is not None and part.feature_names else self.feature_names
        return names[column] if names else f"feature {column}"

    def text(self, k: int = 4) -> str:
        """Explain in sentences.

        Parameters
        ----------
        k : int, default=4
            How many features and nodes are named for each component.

        Returns
        -------
        str
            Lines of text.
        """
        from slimg.explain.explainer import format_explanation

        return format_explanation(self, k)

    def to_dict(self, k: int = 10) -> dict[str, Any]:
        """Convert to plain values for JSON.

        Parameters
        ----------
        k : int, default=10
            Of each component the k features and nodes that matter most to the prediction are listed, the others summed.

        Returns
        -------
        dict
            The prediction, scores, probabilities and parts.
        """
        from slimg.explain.explainer import explanation_dict

        return explanation_dict(self, k)

    def _contrast(self, label: Any, against: Any) -> Array:
        """The vector z (c) with which contributions to classes are weighed."""
        z = np.zeros(len(self.classes))
        z[self._place(self.prediction if label is None else label)] = 1
        if isinstance(against, str) and against == "mean" and "mean" not in self.classes.tolist():
            z -= 1 / len(z)
        elif against is not None:
            z[self._place(against)] -= 1
        return z

    def _place(self, label: Any) -> int:
        for place, known in enumerate(self.classes.tolist()):
            if known == label:
                return place
        raise InputError(f"no class {label!r}: the model knows {show(self.classes)}")


def top_terms(values: Array, names: list[Any], k: int, other: str) -> list[Term]:
    """Take the k values of largest magnitude as terms, and all others as one.

    Parameters
    ----------
    values : array of shape (m,)
        Contributions.
    names : list
        Names of the k largest.
    k : int
        How many are named.
    other : str
        What one of the others is called, for example "other node".

    Returns
    -------
    list of Term
        They add up to the sum of the values.
    """
    chosen = _largest(values, k)
    terms = [Term(name, float(values[i])) for name, i in zip(names, chosen, strict=True)]
    left = len(values) - len(chosen)
    if left:
        kept = np.ones(len(values), bool)
        kept[chosen] = False
        terms.append(Term(number_of(left, other), float(values[kept].sum()), left))
    return terms


def _largest(values: Array, k: int) -> Array:
    """Places of the k values of largest magnitude that are not zero, the first of equals first."""
    order = np.argsort(-np.abs(values), kind="stable")[:k]
    return order[values[order] != 0]


def plain(value: Any) -> Any:
    """A numpy scalar as Python's own."""
    return value.item() if isinstance(value, np.generic) else value
