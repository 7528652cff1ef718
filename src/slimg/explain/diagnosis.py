"""What a graph has to say about its labels: the sanity checks turned around, onto a user's own graph.

    relation   do neighbours share a class (homophily), prefer others (heterophily), or neither?       `agreement`
    features   do features tell the classes (semantic), restate the graph (structural), or neither?    `evidence`

Edges can tell classes without joining equal ones: then structure alone (U) predicts though adjusted homophily is small, and
that counts as heterophily, as it does in the literature (Chameleon, Squirrel). Sentences come first (`wording`), the
numbers behind them are in the attributes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from slimg.components.components import Components, compute_components
from slimg.engine.base import Engine
from slimg.errors import InputError
from slimg.explain.agreement import Agreement, agreement
from slimg.explain.evidence import SURE, Evidence, gather
from slimg.explain.wording import advise, judge, numbers
from slimg.graph.graph import Graph

HOMOPHILY = 0.1
"""Adjusted homophily from which neighbours are said to share classes."""
RESTATED = 0.3
"""Share of the features' variance beyond chance that singular vectors hold when features restate the graph."""
ENOUGH_EDGES = 30
"""Edges between labelled nodes below which the lack of a sign is no sign."""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The verdict on a graph.

    Attributes
    ----------
    relation : "homophily", "heterophily", "uniform" (neither) or "unknown" (too few edges between labelled nodes)
    features : "semantic", "structural", "random" or "absent"
    verdict, advice : sentences: what is the case, and what to do next
    agreement : the test on the edges between labelled nodes (`slimg.explain.agreement.Agreement`), None without such edges
    evidence : accuracies, learning curve and odd nodes (`slimg.explain.evidence.Evidence`)
    nodes, edges, labelled : counts;  classes : label → labelled nodes
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
        """``features-relation``, as the sanity checks name their cases."""
        return f"{self.features}-{self.relation}"

    def text(self) -> str:
        """The verdict, what to do, and the numbers."""
        count = {"nodes": self.nodes, "labelled": self.labelled, "edges": self.edges}
        behind = numbers(self.agreement, self.evidence, count)
        return "\n".join([*self.verdict, "", "What to do next:", *(f"- {line}" for line in self.advice), "", *behind])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"scenario": self.scenario, **asdict(self), "classes": {str(key): n for key, n in self.classes.items()}}

    def __str__(self) -> str:
        return self.text()


def diagnose(
    graph: Graph, *, propagated: Components | None = None, engine: Engine | None = None, random_state: int = 0
) -> Diagnosis:
    """Say what a graph's edges and features tell about its labels, and what to do about it.

    Parameters
    ----------
    propagated : components of this graph (`SlimG.propagate`) if they are at hand; else they are computed on ``engine``
    random_state : seeds permutations and samples
    """
    if not isinstance(graph, Graph):
        raise InputError(f"diagnose needs a slimg.Graph (see Graph.from_arrays, Graph.from_edges), not {type(graph)}")
    counts = check_labels(graph)
    parts = propagated or compute_components(graph, engine, random_state=random_state)
    edges, evidence = agreement(graph, random_state), gather(graph, parts, random_state)
    relation, features = relation_of(edges, evidence), features_of(evidence)
    count = {"nodes": graph.n, "labelled": len(graph.labelled), "edges": graph.edges}
    classes = dict(zip(graph.classes.tolist(), counts.tolist(), strict=True))
    verdict = judge(relation, features, edges, evidence, count)
    advice = advise(relation, features, evidence, count, classes)
    return Diagnosis(relation, features, verdict, advice, edges, evidence, **count, classes=classes)


def check_labels(graph: Graph) -> np.ndarray:
    """Labelled nodes of each class, if there are enough for a diagnosis."""
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
    return "heterophily" if "U" in evidence.alone and evidence.alone["U"].tells else "uniform"


def features_of(evidence: Evidence) -> str:
    """semantic, structural, random or absent."""
    if "X" not in evidence.alone:
        return "absent"
    if evidence.restated is not None and evidence.restated >= RESTATED:
        return "structural"
    return "semantic" if evidence.alone["X"].tells else "random"
