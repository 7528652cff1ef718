"""The score of one node, taken apart.

    score_c  =  bias_c  +  Σ_g part_g,c  +  rounding_c                       for each class c, exactly
    part_g,c =  Σ_j feature_j,c            over the d features               (components made of features)
             =  Σ_s source_s,c  +  rest_c  over the nodes s it came from

A feature's share is (b_j − μ_j) β_jc / ‖s‖: how much more of it the node (or its neighbourhood) has than the average node,
times the weight β = CᵀW of the feature, over the length of the row. So an average node has the bias alone. ``rest`` is what
the sources' weights lack to one: Σ_s Opʰ_is − 1 times the average node; it is zero where the operator takes means.
``rounding`` is what the decompositions left over: about 1e-6 where they are exact, up to their tolerance where iterated.

Of a whole model (`Summary`): the weights of components, features and classes, and what the penalty removed.

    component   ‖W_g‖_F
    feature     β_g = C_gᵀ W_g  (d × c), less its mean over classes: what one unit of the feature adds to a class's score
                before the row's length is divided out
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from slimg.components.component import Product, Shares
from slimg.components.row_scaling import BINS, format_value, numbers_of
from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.graph.columns import number_of, show
from slimg.graph.graph import Graph
from slimg.inference.fold_in import Scorer, View
from slimg.learn.objective import softmax

MATTERS = 0.05
"""Share of the largest part below which a component is not described in detail."""


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

    Examples
    --------
    >>> from slimg.explain import Term
    >>> Term("age", 0.4)
    Term(name='age', contribution=0.4, stands_for=1)
    """

    name: Any
    contribution: float
    stands_for: int = 1


class Number(NamedTuple):
    """A number of a table among the features: x = mean + scale (u − ½).

    Attributes
    ----------
    name : str
        Of the column of the table.
    places : tuple of int and None
        The columns of u, of 1 − u, and of missing values if there is one.
    mean, scale : float
    """

    name: str
    places: tuple[int, int, int | None]
    mean: float
    scale: float

    def told(self, values: Array, of_several: bool = False) -> str:
        """Name it with the value of its features: ``age 34``, ``age missing``, ``no age`` of another type, ``mean age 34``.

        Returns
        -------
        str
        """
        high, low = (float(values[place]) for place in self.places[:2])
        if high + low <= 0:
            return f"{self.name} missing" if self.places[2] is not None and values[self.places[2]] > 0 else f"no {self.name}"
        share = high / (high + low)
        end = "" if 0 < share < 1 or of_several else " or more" if share else " or less"
        shown = format_value(self.mean + self.scale * (share - 0.5))
        return f"mean {self.name} {shown}" if of_several else f"{self.name} {shown}{end}"


@dataclass(frozen=True, eq=False)
class Part(Shares):
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
    source_ids, source_labels, source_weights, by_source : arrays of shape (m,), list, (m,) and (m, c)
        The nodes it came from, their labels (None where unlabelled), the weight of the paths, and what each contributes, which
        `source_scores` has as an array.
    by_feature : array of shape (d, c), Product or None
        The share of each feature, which `features` has as an array; None for a component that is not made of features.
    values, averages : arrays of shape (d,) or None
        How much of each feature the node (or its neighbourhood) has, and the average node.
    feature_names : tuple of str or None
        Names of the component's own features; None for the features of the graph.
    reach : int
        Hops from which nodes contribute; 0 if only the node itself does.
    ranges : bool
        Whether the features are ranges of numbers, `BINS` for each.

    Examples
    --------
    >>> from slimg import Graph, SlimG
    >>> edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("d", "f")]
    >>> labels = {"a": "left", "c": "left", "d": "right", "f": "right"}
    >>> model = SlimG(grid=[(0, 1e-2)]).fit(Graph.from_edges(edges, labels=labels))
    >>> part = model.explain("b").part("U_sym")
    >>> part.title, part.removed
    ('its community in the network', False)
    """

    name: str
    title: str
    removed: bool
    scores: Array
    length: float
    source_ids: Array
    source_labels: list[Any]
    source_weights: Array
    by_source: Array | Product
    by_feature: Array | Product | None = None
    values: Array | None = None
    averages: Array | None = None
    feature_names: tuple[str, ...] | None = None
    reach: int = 0
    ranges: bool = False

    @property
    def source_rest(self) -> Array:
        """What no source accounts for (c,)."""
        return self.scores - self.source_scores.sum(axis=0)

    @property
    def absent(self) -> str:
        """Says that it has no sources, such as nodes at the end of a path; empty if it has."""
        found = len(self.source_ids) or self.removed or not self.reach
        return "" if found else "there are none" if self.by_feature is not None else "none"


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
    numbers : dict of int to Number
        Features that belong to a number of a table, by the column of the first.

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
    numbers: Mapping[int, Number] = field(default_factory=dict)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from slimg._html import as_html

        parts = self.components(against="mean")
        del parts["rounding"]
        first, second, *others = self.text().splitlines()
        return as_html([first, second], parts, others)

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
            A component by its short name; None sums over all, features of the same name together.
        k : int, default=5
            How many features are named.
        label : object, default=None
            A class; None is the predicted one.
        against : object, default=None
            Another class, or "mean" for the mean of all.

        Returns
        -------
        list of Term
            The k features and the others as one term; they add up to the component. A number of a table is one feature,
            with the value of the node, or the mean value where it is of several nodes.
        """
        parts = [part for part in ([self.part(component)] if component else self.parts) if part.by_feature is not None]
        if not parts:
            return []
        z, sums = self._contrast(label, against), dict[Any, Array]()
        for part in parts:
            sums[part.feature_names] = sums.get(part.feature_names, 0.0) + part.by_feature @ z
        owners = list({part.feature_names: part for part in parts}.values())
        firsts, totals = [], []
        for part, values in zip(owners, sums.values(), strict=True):
            groups = self._groups(part, len(values), component is not None)
            firsts.append(np.flatnonzero(np.bincount(groups)))
            totals.append(np.bincount(groups, values)[firsts[-1]])
        starts, total = np.cumsum([0, *map(len, firsts)]), np.concatenate(totals)
        names = []
        for i in largest(total, k):
            which = int(np.searchsorted(starts, i, "right")) - 1
            names.append(self._feature_named(owners[which], int(firsts[which][i - starts[which]]), component is not None))
        return top_terms(total, names, k, "other feature")

    def _groups(self, part: Part, d: int, alone: bool) -> Array:
        """The first column (d) of the features that are told as one with each."""
        first = np.arange(d)
        if part.ranges and alone and not part.reach:
            return first - first % BINS
        if part.feature_names is None:
            for column, number in self.numbers.items():
                first[[place for place in number.places if place is not None]] = column
        return first

    def _feature_named(self, part: Part, column: int, alone: bool) -> str:
        """``age 34``, ``age missing``, ``age 21 to 30``; of several nodes ``mean age 34``."""
        if part.ranges and alone and not part.reach and part.values is not None:
            return self.feature_name(column + int(part.values[column : column + BINS].argmax()), part)
        number = self.numbers.get(column) if part.feature_names is None else None
        if number is None or not alone or part.values is None:
            return self.feature_name(column, part) if number is None else number.name
        return number.told(part.values, part.reach > 0)

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
        values = part.by_source @ z
        terms = top_terms(values, [plain(part.source_ids[i]) for i in largest(values, k)], k, "other node")
        rest = float(part.scores @ z - values.sum())
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
        probability = dict(zip(self.classes.tolist(), self.probabilities, strict=True))
        first, second, parts = self.prediction, self.runner_up, self.components(against="mean")
        lines = [
            f"{_name(self.node)} is classified as {_name(first)} (probability {probability[first]:.2f};"
            f" next is {_name(second)} with {probability[second]:.2f}).",
            f"Its score is {self.score(against='mean'):+.2f} against the mean of all classes, of which the bias is"
            f" {parts['bias']:+.2f}.",
        ]
        used = [part for part in self.parts if not part.removed]
        least = MATTERS * max((abs(parts[part.name]) for part in used), default=0.0)
        for part in sorted(used, key=lambda part: -abs(parts[part.name])):
            lines.append(self._sentence(part, parts[part.name], k if abs(parts[part.name]) >= least else 0))
        removed = [part.title for part in self.parts if part.removed]
        if removed:
            lines.append(f"Not used, their weights are exactly zero: {'; '.join(removed)}.")
        return "\n".join(lines)

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
        arrays = {key: getattr(self, key).tolist() for key in ("classes", "probabilities", "scores", "bias", "rounding")}
        parts = [self._part_dict(part, k) for part in self.parts]
        return {"node": plain(self.node), "prediction": self.prediction, **arrays, "components": parts}

    def told(self, k: int, label: Any = None) -> dict[str, Any]:
        """Sum up the score of a class against the mean of all, as the page shows it.

        Parameters
        ----------
        k : int
            Features and nodes that are named of each component.
        label : object, default=None
            A class; None is the predicted one.

        Returns
        -------
        dict
            ``score`` and what adds up to it: ``bias``, ``rounding`` and the values of ``parts``, each with the terms of its
            ``features`` and of the ``nodes`` it came from.
        """
        sums, against = self.components(label, "mean"), {"k": k, "label": label, "against": "mean"}
        parts = []
        for part in self.parts:
            shown = {key: getattr(part, key) for key in ("name", "title", "removed", "absent")} | {"value": sums[part.name]}
            nodes = self.top_sources(part.name, **against) if part.reach and not part.absent else []
            parts.append({**shown, "features": self.top_features(part.name, **against), "nodes": nodes})
        return {"score": self.score(label, "mean"), "bias": sums["bias"], "rounding": sums["rounding"], "parts": parts}

    def neighbours(self, graph: Graph, row: int, label: Any = None) -> list[tuple[int, list[str], float]]:
        """List the neighbours of the node, where ids are rows (`numbered`).

        Parameters
        ----------
        graph : Graph
            The graph of the node.
        row : int
            The node.
        label : object, default=None
            A class; None is the predicted one.

        Returns
        -------
        list of (int, list of str, float)
            Row, relations with direction, and what all components together have from it; the largest first.
        """
        near, z = graph.adjacency.neighbours(row), self._contrast(label, "mean")
        total = np.zeros(len(near))
        for part in self.parts:
            _, mine, there = np.intersect1d(near, part.source_ids, return_indices=True)
            total[mine] += (part.by_source @ z)[there]
        keys = {key: set(matrix.neighbours(row).tolist()) for key, matrix in graph.directions().items()}
        order = np.argsort(-np.abs(total), kind="stable")
        return [(int(near[k]), [key for key, ends in keys.items() if near[k] in ends], float(total[k])) for k in order]

    def _sentence(self, part: Part, value: float, k: int) -> str:
        """``Its own features (+2.10): index +1.10, query +0.80, 12 other features +0.20.``"""
        clauses = [part.absent] if part.absent else []
        if k and part.by_feature is not None:
            clauses.append(_terms(self.top_features(part.name, k, against="mean")))
        if k and part.reach and len(part.source_ids):
            sources = _terms(self.top_sources(part.name, k, against="mean"), self.node)
            clauses.append(f"from {number_of(len(part.source_ids), 'node')}: {sources}")
        said = f"{part.title[0].upper()}{part.title[1:]} ({round(value, 2) + 0.0:+.2f})"
        return f"{said}: {'; '.join(clauses)}." if clauses else f"{said}."

    def _part_dict(self, part: Part, k: int) -> dict[str, Any]:
        z = above_mean(len(self.classes), int(self.scores.argmax()))
        record: dict[str, Any] = {key: getattr(part, key) for key in ("name", "title", "removed", "absent")}
        record |= {"length": float(part.length), "scores": part.scores.tolist()}
        if part.features is not None and part.values is not None and part.averages is not None:
            chosen = np.argsort(-np.abs(part.features @ z), kind="stable")[:k]
            names = [self.feature_name(int(j), part) for j in chosen]
            own = {"name": names, "value": part.values[chosen].tolist(), "average": part.averages[chosen].tolist()}
            record["features"] = _records(own, part.features[chosen])
            record["other_features"] = _others(part.features, chosen)
        chosen = np.argsort(-np.abs(part.source_scores @ z), kind="stable")[:k]
        labels = [plain(part.source_labels[i]) for i in chosen]
        own = {"id": part.source_ids[chosen].tolist(), "label": labels, "weight": part.source_weights[chosen].tolist()}
        record["sources"] = _records(own, part.source_scores[chosen])
        record["other_sources"] = _others(part.source_scores, chosen)
        record["source_rest"] = part.source_rest.tolist()
        return record

    def _contrast(self, label: Any, against: Any) -> Array:
        """The vector z (c) with which contributions to classes are weighed."""
        place, c = class_place(self.classes, self.prediction if label is None else label), len(self.classes)
        if isinstance(against, str) and against == "mean" and "mean" not in self.classes.tolist():
            return above_mean(c, place)
        z = np.eye(c)[place]
        if against is not None:
            z[class_place(self.classes, against)] -= 1
        return z


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """The weights of a model; printing it shows them in sentences.

    Attributes
    ----------
    classes : array of shape (c,)
        The labels, sorted.
    components : dict of str to float
        Name → ‖W_g‖_F.
    titles, short_titles : dict of str to str
        Name → the component in words.
    removed : tuple of str
        Names of components whose weights are exactly zero.
    bias : array of shape (c,)
        Sums to zero.
    features : dict of str to array of shape (d, c)
        Name → the weight of each feature for each class, each row summing to zero.
    feature_names : dict of str to tuple of str or None
        Name → names of those features; None where they have none.

    Examples
    --------
    >>> from slimg import Graph, SlimG
    >>> edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("d", "f")]
    >>> labels = {"a": "left", "c": "left", "d": "right", "f": "right"}
    >>> model = SlimG(grid=[(0, 1e-2)]).fit(Graph.from_edges(edges, labels=labels))
    >>> summary = model.summary()
    >>> list(summary.components), summary.removed
    (['U', 'U_sym'], ('U',))
    """

    classes: Array
    components: dict[str, float]
    titles: dict[str, str]
    short_titles: dict[str, str]
    removed: tuple[str, ...]
    bias: Array
    features: dict[str, Array]
    feature_names: dict[str, tuple[str, ...] | None]

    def __repr__(self) -> str:
        return self.text()

    @classmethod
    def of(cls, scorer: Scorer, feature_names: tuple[str, ...] | None) -> Summary:
        """Summarise a fitted model.

        Parameters
        ----------
        scorer : Scorer
            The fitted model.
        feature_names : tuple of str or None
            Names of the features of the graph.

        Returns
        -------
        Summary
            Its weights.
        """
        norms = {name: float(np.linalg.norm(weights)) for name, weights in scorer.weights.items()}
        removed = tuple(name for name in scorer.weights if name not in scorer.used)
        features = {name: beta - beta.mean(axis=1, keepdims=True) for name, beta in scorer.loadings().items()}
        names = {name: scorer.feature_names(name) or feature_names for name in features}
        bias = scorer.intercept.astype(np.float64)
        return cls(scorer.classes, norms, scorer.titles, scorer.short_titles, removed, bias, features, names)

    def share(self, component: str) -> float:
        """Give the norm of a component as a share of the sum over components.

        Parameters
        ----------
        component : str
            Its short name.

        Returns
        -------
        float
            Between 0 and 1.
        """
        return self.components[component] / (sum(self.components.values()) or 1.0)

    def top_features(self, component: str, label: Any, k: int = 10) -> list[Term]:
        """Find the features that speak most for a class.

        Parameters
        ----------
        component : str
            Its short name.
        label : object
            The class.
        k : int, default=10
            How many features.

        Returns
        -------
        list of Term
            Most first.
        """
        if component not in self.features:
            raise InputError(f"no weights of features for {component!r}: there are those of {show(self.features)}")
        column = np.maximum(self.features[component][:, class_place(self.classes, label)], 0)
        own = self.feature_names[component]
        return [Term(own[j] if own else f"feature {j}", float(column[j])) for j in largest(column, k).tolist()]

    def text(self, k: int = 5) -> str:
        """Summarise in sentences.

        Parameters
        ----------
        k : int, default=5
            How many features are named for each class.

        Returns
        -------
        str
            Lines of text.
        """
        order = sorted(self.components, key=lambda name: -self.components[name])
        lines = [f"{name}, {self.titles[name]}: {self.share(name):.0%}." for name in order if name not in self.removed]
        lines += [f"{name}, {self.titles[name]}: removed by the penalty." for name in self.removed]
        if self.features:
            main = max(self.features, key=lambda name: self.components[name])
            for label in self.classes.tolist():
                words = ", ".join(str(term.name) for term in self.top_features(main, label, k))
                lines.append(f"Features that speak most for {label}, in {self.titles[main]}: {words}.")
        return "\n".join(lines)

    def to_dict(self, k: int = 20) -> dict[str, Any]:
        """Convert to plain values for JSON.

        Parameters
        ----------
        k : int, default=20
            How many features are listed for each component and class.

        Returns
        -------
        dict
            Classes, components, bias and features.
        """
        known = self.classes.tolist()
        components = [
            {"name": name, "title": self.titles[name], "short_title": self.short_titles[name], "norm": norm,
             "share": self.share(name), "removed": norm == 0}
            for name, norm in self.components.items()
        ]  # fmt: skip
        features = {
            name: {str(label): [list(term[:2]) for term in self.top_features(name, label, k)] for label in known}
            for name in self.features
        }
        return {"classes": known, "components": components, "bias": self.bias.tolist(), "features": features}


def explain_rows(
    scorer: Scorer, view: View, rows: Sequence[int] | Array, reading: Mapping[str, Any] | None = None
) -> Iterator[Explanation]:
    """Explain nodes of a graph, one after the other, so that what one is made of need not be held for all.

    Parameters
    ----------
    scorer : Scorer
        The fitted model.
    view : View
        The graph, with the scores that the parts have to add up to.
    rows : array of shape (m,)
        Row numbers of the nodes.
    reading : mapping or None, default=None
        How the table of nodes was read (`Graph.reading`), by which a number is told with its value.

    Yields
    ------
    Explanation
        One for each row.
    """
    rows = np.asarray(rows)
    columns = [_parts(scorer, view, name, rows) for name in scorer.weights]
    bias, names = scorer.intercept.astype(np.float64), view.graph.feature_names
    numbers = _numbers(reading, names)
    for row in rows:
        parts = tuple(next(column) for column in columns)
        scores = view.scores[row].astype(np.float64)
        rounding = scores - bias - np.sum([part.scores for part in parts], axis=0)
        node = view.graph.ids.item(int(row))
        yield Explanation(node, scorer.classes, scores, bias, parts, rounding, names, numbers=numbers)


def numbered(view: View) -> View:
    """The same view of nodes whose ids are their rows, so that sources of an explanation are rows."""
    return replace(view, graph=Graph._trusted(**{**view.graph.__getstate__(), "ids": np.arange(view.graph.n)}))


def _numbers(reading: Mapping[str, Any] | None, names: tuple[str, ...] | None) -> dict[int, Number]:
    """Numbers of a table by their first column among the features."""
    found, told = numbers_of(reading), dict[int, Number]()
    if found is None or names is None:
        return told
    for name, (high, low, missing), mean, scale in zip(*found, strict=True):
        places = int(high), int(low), int(missing) if missing >= 0 else None
        told[int(high)] = Number(name, places, float(mean), float(scale))
    return told


def _parts(scorer: Scorer, view: View, name: str, rows: Array) -> Iterator[Part]:
    """The parts of one component, by row."""
    title, graph = scorer.titles[name], view.graph
    if name not in scorer.used:
        c, nothing = len(scorer.classes), np.zeros(0)
        yield from [Part(name, title, True, np.zeros(c), 0.0, nothing, [], nothing, np.zeros((0, c)))] * len(rows)
        return
    fitted = scorer.components[name]
    names, known = scorer.feature_names(name), np.full(len(graph.classes) + 1, None, object)
    known[:-1] = list(graph.classes)
    for each in fitted.component.attribute(fitted.state, scorer.wide[name], view.target(rows)):
        labels = known[graph.codes[each.sources]].tolist()
        yield Part(
            name, title, False, each.scores, each.length, graph.ids[each.sources], labels, each.source_weights,
            each.by_source, each.by_feature, each.values, each.averages, names, fitted.component.reach,
            getattr(fitted.component, "normalize", None) == "bins",
        )  # fmt: skip


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
    chosen = largest(values, k)
    terms = [Term(name, float(values[i])) for name, i in zip(names, chosen, strict=True)]
    left = np.delete(values, chosen)
    return [*terms, Term(number_of(len(left), other), float(left.sum()), len(left))] if len(left) else terms


def largest(values: Array, k: int) -> Array:
    """Places of the k values of largest magnitude that are not zero, the first of equals first."""
    sizes = np.abs(values)
    least = np.partition(sizes, -k)[-k] if 0 < k < len(sizes) else 0.0
    among = np.flatnonzero((sizes >= least) & (sizes > 0))
    return among[np.argsort(-sizes[among], kind="stable")[:k]]


def above_mean(c: int, place: int) -> Array:
    """The vector (c) by which scores are weighed to compare one class with the mean of all."""
    z = np.full(c, -1 / c)
    z[place] += 1
    return z


def class_place(classes: Array, label: Any) -> int:
    """Place of a class; an InputError lists those that there are."""
    known = classes.tolist()
    if label not in known:
        raise InputError(f"no class {label!r}: the model knows {show(known)}")
    return known.index(label)


def plain(value: Any) -> Any:
    """A numpy scalar as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def _name(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)


def _terms(terms: Iterable[Term], itself: Any = None) -> str:
    def shown(term: Term) -> str:
        return "itself" if itself is not None and term.stands_for == 1 and term.name == itself else str(term.name)

    return ", ".join(f"{shown(term)} {term.contribution:+.2f}" for term in terms)


def _records(columns: dict[str, list[Any]], scores: Array) -> list[dict[str, Any]]:
    """One dict per place of the columns, with its scores (c)."""
    named = {**columns, "scores": scores.tolist()}
    return [dict(zip(named, row, strict=True)) for row in zip(*named.values(), strict=True)]


def _others(scores: Array, chosen: Array) -> dict[str, Any]:
    left = np.delete(scores, chosen, axis=0)
    return {"count": len(left), "scores": left.sum(axis=0).tolist()}
