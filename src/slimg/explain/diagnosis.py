"""What a graph's edges and features say about its labels: the sanity checks applied to a user's own graph.

    relation   do neighbours share a class (homophily), prefer others (heterophily), or neither?          `agreement`
    features   do features predict the classes (semantic), restate the graph (structural), or neither?    `evidence`

Edges can predict classes without joining equal ones: then structure alone (U) predicts though adjusted homophily is small,
and that counts as heterophily, as it does in the literature (Chameleon, Squirrel). Sentences come first (`verdict`), the
numbers behind them are in the attributes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from slimg.components.compute import Components, compute_components
from slimg.engine.base import Array, Engine
from slimg.errors import InputError
from slimg.explain.agreement import Agreement, agreement
from slimg.explain.evidence import SURE, Evidence, gather
from slimg.explain.verdict import format_numbers, format_recommendations, format_verdict
from slimg.graph.graph import Graph

HOMOPHILY = 0.1
"""Adjusted homophily from which neighbours are said to share classes."""
RESTATED = 0.3
"""Share of the features' variance beyond chance that singular vectors hold when features restate the graph."""
ENOUGH_EDGES = 30
"""Edges between labelled nodes below which a missing effect is no evidence."""


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """Whether the edges and the features of a graph predict its labels; `diagnose` makes it.

    Its text, which ``print``, ``str`` and a notebook show, has the verdict, the recommendations and the numbers.

    Attributes
    ----------
    relation : str
        "homophily", "heterophily", "uniform" (neither) or "unknown" (too few edges between labelled nodes).
    features : str
        "semantic", "structural", "random" or "absent".
    verdict : tuple of str
        Sentences: what was found.
    advice : tuple of str
        Sentences: what to do next.
    agreement : Agreement or None
        The test on the edges between labelled nodes; None without such edges.
    evidence : Evidence
        Accuracies, learning curve and unusual nodes.
    nodes, edges, labelled : int
        Counts of the graph.
    classes : dict
        Label → number of labelled nodes.
    """

    relation: str
    features: str
    verdict: tuple[str, ...]
    advice: tuple[str, ...]
    agreement: Agreement | None
    evidence: Evidence
    nodes: int
    edges: int
    labelled: int
    classes: dict[Any, int]

    @property
    def scenario(self) -> str:
        """The case as the sanity checks name it.

        Returns
        -------
        str
            ``features-relation``, such as "semantic-homophily".
        """
        return f"{self.features}-{self.relation}"

    def text(self) -> str:
        """Format the verdict, the recommendations and the numbers.

        Returns
        -------
        str
            Several lines.
        """
        numbers = format_numbers(self.agreement, self.evidence)
        return "\n".join([*self.verdict, "", "What to do next:", *(f"- {line}" for line in self.advice), "", *numbers])

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values that JSON can hold.

        Returns
        -------
        dict
            The attributes by name and ``scenario``; keys of ``classes`` are strings.
        """
        return {"scenario": self.scenario, **asdict(self), "classes": {str(key): n for key, n in self.classes.items()}}

    def __repr__(self) -> str:
        return f"<Diagnosis {self.scenario}: {self.nodes:,} nodes, {self.edges:,} edges, {self.labelled:,} labels>"

    def __str__(self) -> str:
        return self.text()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """In a notebook: the text."""
        printer.text(self.text())


def diagnose(
    graph: Graph, *, propagated: Components | None = None, engine: Engine | None = None, random_state: int = 0
) -> Diagnosis:
    """Find out whether the edges and the features of a graph predict its labels, and what to do next.

    Parameters
    ----------
    graph : Graph
        At least two classes with two labelled nodes each.
    propagated : Components, optional
        Components of this graph (`SlimG.propagate`); computed if not given.
    engine : Engine, optional
        Where the components are computed; in memory by default.
    random_state : int, default 0
        Seed of permutations and samples.

    Returns
    -------
    Diagnosis
        How edges and features relate to the labels, with the evidence; printing it shows it in sentences.

    Raises
    ------
    InputError
        If ``graph`` is no `Graph` or has too few labels, or another argument has a wrong type.

    Examples
    --------
    >>> import numpy as np
    >>> from slimg import Graph, diagnose
    >>> labels = np.repeat(["a", "b"], 30)
    >>> edges = [(i, (i + step) % 30 + base) for base in (0, 30) for i in range(base, base + 30) for step in (1, 2)]
    >>> found = diagnose(Graph.from_edges(edges, nodes=range(60), label=labels))
    >>> found.relation, found.features
    ('homophily', 'absent')
    >>> found
    <Diagnosis absent-homophily: 60 nodes, 120 edges, 60 labels>
    """
    if not isinstance(graph, Graph):
        raise InputError(f"diagnose needs a slimg.Graph (see Graph.from_arrays, Graph.from_edges), not {type(graph)}")
    if propagated is not None and not isinstance(propagated, Components):
        raise InputError(f"propagated must be what SlimG().propagate(graph) returns, or None, not {type(propagated)}")
    if not isinstance(random_state, (int, np.integer)) or not 0 <= random_state < 2**32:
        raise InputError(f"random_state must be a whole number from 0 to 2³² − 1, not {random_state!r}")
    counts = check_labels(graph)
    parts = propagated or compute_components(graph, engine, random_state=random_state)
    edges, evidence = agreement(graph, random_state), gather(graph, parts, random_state)
    relation, features = relation_of(edges, evidence), features_of(evidence)
    classes = dict(zip(graph.classes.tolist(), counts.tolist(), strict=True))
    verdict = format_verdict(relation, features, edges, evidence)
    advice = format_recommendations(relation, features, evidence, classes)
    size = {"nodes": graph.n, "labelled": len(graph.labelled), "edges": graph.edges}
    return Diagnosis(relation, features, verdict, advice, edges, evidence, **size, classes=classes)


def check_labels(graph: Graph) -> Array:
    """Count the labelled nodes of each class (c); an InputError if they are too few for a diagnosis."""
    counts = np.bincount(graph.codes[graph.labelled], minlength=len(graph.classes))
    if np.count_nonzero(counts >= 2) < 2:
        raise InputError("a diagnosis needs at least two classes with two labelled nodes each: label more nodes")
    return counts


def relation_of(edges: Agreement | None, evidence: Evidence) -> str:
    """homophily, heterophily, uniform or unknown."""
    if edges is None:
        return "unknown"
    if edges.p_more <= SURE and edges.adjusted >= HOMOPHILY:
        return "homophily"
    if edges.p_less <= SURE:
        return "heterophily"
    if edges.edges < ENOUGH_EDGES:
        return "unknown"
    return "heterophily" if "U" in evidence.alone and evidence.alone["U"].is_informative else "uniform"


def features_of(evidence: Evidence) -> str:
    """semantic, structural, random or absent."""
    if "X" not in evidence.alone:
        return "absent"
    if evidence.restated is not None and evidence.restated >= RESTATED:
        return "structural"
    return "semantic" if evidence.alone["X"].is_informative else "random"
