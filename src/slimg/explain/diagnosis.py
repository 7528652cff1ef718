"""What a graph's edges and features say about its labels: the sanity checks applied to a user's own graph.

    relation   do neighbours share a class (homophily), prefer others (heterophily), or neither?          `agreement`
    features   do features predict the classes (semantic), restate the graph (structural), or neither?    `evidence`

Edges can predict classes without joining equal ones: then the network alone predicts though adjusted homophily is small,
and that counts as heterophily, as it does in the literature (Chameleon, Squirrel). Sentences come first (`verdict`), the
numbers behind them are in the attributes. Components are judged by the measure of the fit (`scoring`), not always by the
accuracy, which says nothing where nearly all labels are of one class.

A diagnosis as text: the verdict, the recommendations, and the numbers behind both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from slimg.components.compute import Components, compute_components
from slimg.engine.base import Array, Engine
from slimg.errors import InputError, check_whole_number
from slimg.explain.evidence import ADDED, GAIN, SURE, Agreement, Evidence, Score, agreement, gather
from slimg.explain.held_out import (
    SHARES,
    WORDS,
    Gain,
    LearningCurve,
    format_chance,
    format_difference,
    format_gain,
    format_range,
    format_score,
)
from slimg.graph.checks import check_graph
from slimg.graph.columns import number_of, show
from slimg.graph.graph import Graph
from slimg.learn.objective import RARE as RARE_SHARE
from slimg.learn.objective import check_scoring, default_scoring

HOMOPHILY = 0.1
"""Adjusted homophily from which neighbours are said to share classes."""
RESTATED = 0.3
"""Share of the features' variance beyond chance that singular vectors hold when features restate the graph."""
ENOUGH_EDGES = 30
"""Edges between labelled nodes below which a missing effect is no evidence; of those with an end outside the largest class
where the score is not the accuracy."""


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
    trust : str
        Whether predictions are above chance: "yes", "no", or "unclear" if only a component or only all together are.
    verdict : tuple of str
        Sentences: what was found.
    advice : tuple of str
        Sentences: what to do next.
    agreement : Agreement or None
        The test on the edges between labelled nodes; None without such edges.
    evidence : Evidence
        Scores, learning curve and unusual nodes.
    nodes, edges, labelled : int
        Counts of the graph.
    classes : dict
        Label → number of labelled nodes.

    Examples
    --------
    >>> from slimg import Graph, diagnose
    >>> pairs = [(k, (k + step) % 40 if k < 20 else 20 + (k + step) % 20) for k in range(40) for step in (1, 2)]
    >>> diagnosis = diagnose(Graph.from_edges(pairs, labels={k: "ab"[k < 20] for k in range(0, 40, 2)}))
    >>> diagnosis.relation
    'homophily'
    """

    relation: str
    features: str
    trust: str
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

    def beside(self, models: Sequence[Mapping[str, Any]], baseline: float) -> Diagnosis:
        """Judge by what a fit measured on held-out labels, so that sentences and the fit's scores agree.

        Parameters
        ----------
        models : sequence of mapping
            ``models`` of `slimg.report.scores.compare`: the fit, features alone, the network alone, boosted trees.
        baseline : float
            Score of predicting the shares of the classes for every node.

        Returns
        -------
        Diagnosis
            With the same evidence and other sentences.
        """
        found = self.evidence
        scores = {each["name"]: Score(each["value"], tuple(each["interval"]), baseline) for each in models}
        gains = {each["name"]: Gain(each["gain"]["value"], each["gain"]["error"]) for each in models if "gain" in each}
        named = {f"{source} alone": what for source, what in ADDED.items()} | {"boosted trees": "trees"}
        whole = {source for source, names in found.sources.items() if len(names) == len(found.alone)}
        judged = replace(
            found,
            by_source={source: scores.get("SlimG" if source in whole else f"{source} alone", each)
                       for source, each in found.by_source.items()},
            all=scores["SlimG"],
            gains={what: gains[name] for name, what in named.items() if name in gains},
        )  # fmt: skip
        return _worded(self, judged)

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

    def _repr_html_(self) -> str:
        from slimg._html import as_html

        scores = {self.evidence.titles[name]: each.value for name, each in self.evidence.alone.items()}
        return as_html([repr(self), *self.verdict], scores, self.advice)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """In a notebook: the text."""
        printer.text(self.text())


def diagnose(
    graph: Graph,
    *,
    scoring: str | None = None,
    propagated: Components | None = None,
    engine: Engine | None = None,
    random_state: int = 0,
) -> Diagnosis:
    """Find out whether the edges and the features of a graph predict its labels, and what to do next.

    Parameters
    ----------
    graph : Graph
        At least two classes with two labelled nodes each.
    scoring : str, optional
        What components are judged by, as in `SlimG`: "accuracy", "balanced_accuracy", "f1_macro", "average_precision",
        "roc_auc" or "log_loss". None is the accuracy, and the average precision if one of two classes has under 10 % of the
        labels.
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
    check_graph(graph)
    if propagated is not None and not isinstance(propagated, Components):
        raise InputError(f"propagated must be what SlimG().propagate(graph) returns, or None, not {type(propagated)}")
    check_whole_number(random_state, "random_state", 0, 2**32 - 1)
    check_scoring(scoring)
    counts = check_labels(graph)
    scoring = scoring or default_scoring(np.unique(graph.codes[graph.labelled], return_inverse=True)[1])
    parts = propagated or compute_components(graph, engine, random_state=random_state)
    edges, evidence = agreement(graph, random_state), gather(graph, parts, random_state, scoring)
    classes = dict(zip(graph.classes.tolist(), counts.tolist(), strict=True))
    size = {"nodes": graph.n, "labelled": len(graph.labelled), "edges": graph.edges}
    return _worded(Diagnosis("", "", "", (), (), edges, evidence, **size, classes=classes), evidence)


def _worded(found: Diagnosis, evidence: Evidence) -> Diagnosis:
    """A diagnosis with its sentences."""
    relation, features = relation_of(found.agreement, evidence), features_of(evidence)
    verdict = format_verdict(relation, features, found.agreement, evidence)
    advice = format_recommendations(relation, features, evidence, found.classes, found.labelled < found.nodes)
    return replace(found, relation=relation, features=features, trust=evidence.trust, verdict=verdict, advice=advice)


def check_labels(graph: Graph) -> Array:
    """Count the labelled nodes of each class (c); an InputError if they are too few for a diagnosis.

    Returns
    -------
    array of shape (c,)
        Labelled nodes of each class.
    """
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
    if (edges.edges if evidence.scoring == "accuracy" else edges.minority) < ENOUGH_EDGES:
        return "unknown"
    network = evidence.by_source.get("network")
    return "heterophily" if network and network.is_informative else "uniform"


def features_of(evidence: Evidence) -> str:
    """semantic, structural, random or absent."""
    if "features" not in evidence.by_source:
        return "absent"
    if evidence.restated is not None and evidence.restated >= RESTATED:
        return "structural"
    return "semantic" if evidence.by_source["features"].is_informative else "random"


FEW = 10
"""Labelled nodes of a class below which they are called few."""
CLOSE = 0.1
"""Difference of two shares below which one is called about the other."""
WEAK = 0.2
"""Adjusted homophily below which it is called weak."""


def format_verdict(relation: str, features: str, edges: Agreement | None, evidence: Evidence) -> tuple[str, ...]:
    """Sentences on edges, features, both together, and unusual nodes."""
    lines = [_of_edges(relation, edges, evidence), _of_features(features, evidence), *_of_gains(relation, evidence)]
    lines += _of_nodes(evidence)
    return tuple(line for line in lines if line)


def format_recommendations(
    relation: str, features: str, evidence: Evidence, classes: dict[Any, int], can_label: bool = True
) -> tuple[str, ...]:
    """Sentences on what to do next; ``classes`` has the labelled nodes of each class, ``can_label``: some have no label."""
    lines, graph, trees = [], evidence.gains.get("graph"), evidence.gains.get("trees")
    better = trees is not None and trees.interval[1] < 0
    if better and evidence.trust != "yes":
        lines.append("Do not rely on these predictions: boosted trees (see the comparison) do better here.")
    elif evidence.trust == "no":
        lines.append("Do not use predictions from this graph: find features or edges that predict the classes.")
    elif evidence.trust == "unclear":
        lines.append("Do not rely on predictions yet.")
    elif (own := evidence.by_source.get("features")) and own.is_informative and _is_needless(relation, graph):
        lines.append("A classifier on the features alone will do; better features would help more than more edges.")
    elif better:
        lines.append("Boosted trees (see the comparison) do better here: use them if reasons do not matter.")
    elif relation == "heterophily":
        lines.append("Use SlimG as it is; avoid methods that assume that neighbours are alike (label propagation, GCN).")
    else:
        lines.append("Use SlimG as it is.")
    few = [label for label, n in classes.items() if n < FEW]
    if few:
        more = f"Label more nodes of {show(few)}" if can_label else f"More nodes of {show(few)} would help"
        lines.append(f"{more}: fewer than {FEW} are labelled.")
    if evidence.trust != "no":
        lines.append(_of_labels(evidence.curve, evidence.scoring, "the other classes" if few else "the same kind", can_label))
    if evidence.suspicious and evidence.trust == "yes":
        named = show(each.node for each in evidence.suspicious)
        lines.append(f"Look at {number_of(len(evidence.suspicious), 'label')} that features and edges contradict ({named}).")
    if features == "structural" and not ((gain := evidence.gains.get("features")) and gain.matters):
        lines.append("Look for features that add something to the edges: these repeat the graph.")
    return tuple(lines)


def format_numbers(edges: Agreement | None, evidence: Evidence) -> list[str]:
    """The numbers behind a diagnosis as lines of text."""
    scoring, words = evidence.scoring, WORDS[evidence.scoring]
    title = f"{words[0].upper()}{words[1:]} on {evidence.examined:,} labelled nodes, each held out"
    lower = ", lower is better" if scoring == "log_loss" else ""
    lines = [f"{title} (largest class: {evidence.majority:.1%}{lower}):"]
    rows = {}
    for name, each in evidence.alone.items():
        by_chance = f"by chance {format_score(scoring, each.by_chance, 1)}, p = {each.p:.2g}"
        rows[evidence.titles[name]] = f"{_score(scoring, each)}   {by_chance}"
    for source, names in evidence.sources.items():
        if 1 < len(names) < len(evidence.alone):
            rows[f"the {source} alone ({', '.join(names)})"] = _score(scoring, evidence.by_source[source])
    if len(evidence.alone) > 1:
        rows["all together"] = _score(scoring, evidence.all)
        rows |= {f"all without {evidence.titles[name]}": _score(scoring, each) for name, each in evidence.without.items()}
    width = max(map(len, rows))
    lines += [f"  {name:<{width}} {value}" for name, value in rows.items()]
    if len(evidence.curve.points) > 1:
        points = (
            f"{each.labels:,}: {format_score(scoring, each.score, 1)} ± {_error(scoring, each.error)}"
            for each in evidence.curve.points
        )
        lines.append(f"With fewer labels (± standard error): {', '.join(points)}.")
    if edges is not None:
        low, high = edges.interval
        lines.append(
            f"Edges between labelled nodes: {edges.edges:,}; of one class {edges.share:.1%} [{low:.1%}, {high:.1%}], by"
            f" chance {edges.by_chance:.1%}; adjusted homophily {edges.adjusted:.2f} [{edges.adjusted_interval[0]:.2f},"
            f" {edges.adjusted_interval[1]:.2f}] (p = {min(edges.p_more, edges.p_less):.2g}); a neighbour's class holds"
            f" {edges.information:.1%} of the information on a node's own (p = {edges.p_information:.2g})."
        )
    if evidence.restated is not None:
        lines.append(f"Variance of the features that the graph's structure holds, beyond chance: {evidence.restated:.0%}.")
    return lines


def _of_edges(relation: str, edges: Agreement | None, evidence: Evidence) -> str:
    structure = evidence.by_source.get("network")
    if edges is None or relation == "unknown":
        some = "No edges join labelled nodes" if edges is None else f"Only {edges.edges} edges join labelled nodes"
        if edges is not None and evidence.scoring != "accuracy":
            some = f"Only {edges.minority} edges join labelled nodes with an end outside the largest class"
        known = f"{some}, so it is unknown whether neighbours are alike"
        if structure is None:
            return f"{known}."
        does = "does" if structure.is_informative else "does not"
        reached = f"{_value(evidence, structure)}, {format_score(evidence.scoring, structure.by_chance)} by chance"
        return f"{known}; the network alone {does} predict the classes ({reached})."
    share = f"{edges.share:.0%} of the edges join nodes of one class, {edges.by_chance:.0%} would by chance"
    if _is_rare(edges, evidence):
        share = (
            f"{edges.rarest_share:.0%} of the neighbours of {edges.rarest!s} nodes are {edges.rarest!s},"
            f" {edges.rarest_by_chance:.0%} would be by chance"
        )
    if relation == "homophily":
        kind = "Weak homophily" if edges.adjusted < WEAK else "Homophily"
        return f"{kind}: neighbours tend to be of the same class ({share})."
    near = abs(edges.share - edges.by_chance) < CLOSE
    alike = "of the same class about as often as by chance" if near else "neither clearly alike nor clearly different"
    if relation == "uniform" and (graph := evidence.gains.get("graph")) and graph.matters and evidence.trust == "yes":
        return f"Neighbours are {alike} ({share}), but their features can tell a class."
    if relation == "uniform":
        return f"The edges do not predict the classes: neighbours are {alike} ({share})."
    if edges.p_less <= SURE:
        return f"Heterophily: neighbours tend to be of different classes ({share})."
    return (
        f"Heterophily: neighbours are {alike} ({share}), but who is linked to whom predicts the classes (the"
        f" network alone: {_value(evidence, structure)})."
    )


def _of_features(features: str, evidence: Evidence) -> str:
    if features == "absent":
        return "The nodes have no features, or all the same."
    own = evidence.by_source["features"]
    some = own.is_above or own.value - own.by_chance >= GAIN
    words = "predict" if own.is_informative else "hardly predict" if some else "do not predict"
    who = "The features alone"
    if features == "structural":
        who = f"The features restate the graph ({evidence.restated:.0%} of their variance lies in its structure); alone they"
    right = " right" if evidence.scoring == "accuracy" else ""
    by_chance = format_score(evidence.scoring, own.by_chance)
    return f"{who} {words} the classes: {_value(evidence, own)}{right}, {by_chance} by chance."


def _of_gains(relation: str, evidence: Evidence) -> list[str]:
    """What the graph adds to the features and they to it; where predictions are not above chance, that alone."""
    if evidence.trust == "yes":
        return [_of_gain(evidence, what) for what in ("graph", "features") if what in evidence.gains]
    ends = format_range(evidence.scoring, evidence.all.interval)
    by_chance = format_chance(evidence.scoring, evidence.all.by_chance)
    reached = f"{_value(evidence, evidence.all)} (95% interval {ends}), {by_chance}"
    if evidence.trust == "unclear":
        return [f"Together, edges and features give {reached}: too little to rely on." if evidence.predicts else
                f"Together, edges and features give {reached}; no component alone passes a permutation test."]  # fmt: skip
    if (trees := evidence.gains.get("trees")) and trees.interval[1] < 0:
        behind = format_difference(evidence.scoring, trees.value, trees.interval)
        return [f"A linear model is no better than chance here: {reached}; boosted trees do better ({behind})."]
    if relation in ("homophily", "heterophily"):
        return [f"Still, predictions are no better than chance on these labels: {reached}."]
    return [f"Neither the features nor the edges predict the classes: {reached}."]


def _of_gain(evidence: Evidence, what: str) -> str:
    """``The graph helps: 97% with it, 62% with features alone (+35.7 points, 95% interval +24.1 to +47.2).``"""
    name, s, it, less, other = (
        ("The graph", "s", "it", "features", "features alone")
        if what == "graph"
        else ("Features", "", "them", "network", "the network alone")
    )
    gain = evidence.gains[what]
    added = format_difference(evidence.scoring, gain.value, gain.interval)
    with_it, without = _value(evidence, evidence.all), format_score(evidence.scoring, evidence.by_source[less].value)
    return f"{name} {format_help(gain, s)}: {with_it} with {it}, {without} with {other} ({added})."


def _is_needless(relation: str, graph: Gain | None) -> bool:
    """Whether the graph adds nothing to the features."""
    return (relation == "uniform" and not (graph and graph.matters)) or (graph is not None and graph.interval[1] < 0)


def format_help(gain: Gain, s: str = "") -> str:
    """``help``, ``help little``, ``make no measurable difference`` or, below zero, ``add nothing``; with an s for one thing."""
    if gain.interval[0] > 0:
        return f"help{s}" if gain.matters else f"help{s} little"
    return f"add{s} nothing" if gain.interval[1] < 0 else f"make{s} no measurable difference"


def _of_labels(curve: LearningCurve, scoring: str, kind: str, can_label: bool) -> str:
    if curve.doubling is None:
        return "Whether more labels would help is not clear from so few."
    error = f"(standard error {_error(scoring, curve.doubling.error)})"
    rise = f"the last doubling of the labels gave {format_gain(scoring, curve.doubling.value)} {error}"
    if curve.outlook == "more":
        before = "" if curve.before is None else f", the one before {format_gain(scoring, curve.before)}"
        return f"{'Label more nodes' if can_label else 'More labelled nodes would help'}: {rise}{before}."
    if curve.outlook == "little":
        return f"More labels of {kind} would change little: {rise}."
    return f"Whether more labels would help is not clear from these labels: {rise}."


def _of_nodes(evidence: Evidence) -> list[str]:
    lines = []
    if evidence.isolated:
        which = number_of(len(evidence.isolated), "node has", "nodes have")
        them, apart = ("it", "it from others") if len(evidence.isolated) == 1 else ("them", "them apart")
        so = f"only features can classify {them}" if "features" in evidence.by_source else f"nothing tells {apart}"
        lines.append(f"{which} no edge ({show(evidence.isolated)}): {so}.")
    if evidence.duplicates:
        copies = sum(len(group) - 1 for group in evidence.duplicates)
        which = number_of(copies, "node is a copy of another", "nodes are copies of others")
        lines.append(f"{which}, with the same neighbours and features (for example {show(evidence.duplicates[0])}).")
    return lines


def _is_rare(edges: Agreement, evidence: Evidence) -> bool:
    """Whether nearly all labels are of one of two classes, so that the neighbours of the other say more than all edges."""
    return 1 - RARE_SHARE < evidence.majority < 1 and edges.rarest_share is not None and edges.rarest_by_chance is not None


def _score(scoring: str, each: Score) -> str:
    value, low, high = (format_score(scoring, one, 1) for one in (each.value, *each.interval))
    return f"{value:>6} [{low}, {high}]" if scoring != "log_loss" else f"{value:>6} [{high}, {low}]"


def _error(scoring: str, error: float) -> str:
    return f"{100 * error:.1f}" if scoring in SHARES else f"{error:.3f}"


def _value(evidence: Evidence, each: Score | None) -> str:
    """A score as a sentence has it: ``83%``, ``average precision 0.83``."""
    if each is None:
        return ""
    value = format_score(evidence.scoring, each.value)
    return value if evidence.scoring == "accuracy" else f"{WORDS[evidence.scoring]} {value}"
