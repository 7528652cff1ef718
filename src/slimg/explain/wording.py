"""A diagnosis in sentences: the verdict, what to do next, and the numbers behind both."""

from __future__ import annotations

from typing import Any

from slimg.explain.agreement import Agreement
from slimg.explain.evidence import GAIN, Accuracy, Evidence
from slimg.explain.explainer import title_of
from slimg.explain.learning_curve import LearningCurve
from slimg.graph.columns import number_of, show

UNSETTLED = 0.02
"""What the graph adds to the features, as a share of the labels, from which it is not called nothing."""
RARE = 10
"""Labelled nodes of a class below which it is called rare."""
WEAK = 0.2
"""Adjusted homophily below which it is called weak."""

Counts = dict[str, int]


def judge(
    relation: str, features: str, edges: Agreement | None, evidence: Evidence, count: Counts
) -> tuple[str, ...]:
    """What is the case."""
    said = [_of_edges(relation, edges, evidence), _of_features(features, evidence), _of_both(evidence)]
    if "hops" in evidence.gains:
        gain = evidence.gains["hops"]
        if gain.matters:
            said.append(f"What nodes two steps away are like adds {_points(gain.value)}.")
        else:
            said.append("What nodes two steps away are like adds nothing that shows on these labels.")
    said += _of_nodes(evidence, count)
    return tuple(sentence for sentence in said if sentence)


def advise(
    relation: str, features: str, evidence: Evidence, count: Counts, classes: dict[Any, int]
) -> tuple[str, ...]:
    """What to do next."""
    said = []
    best = max([evidence.all, *evidence.alone.values()], key=lambda each: each.value)
    if best.value - evidence.majority < 0.02 and not any(each.tells for each in evidence.alone.values()):
        said.append("Do not use predictions from this graph: nothing in it tells the classes; find other features or edges.")
    elif relation == "uniform" and evidence.alone.get("X") and evidence.alone["X"].tells:
        said.append("A classifier on the features alone will do; better features would help more than more edges.")
    elif relation == "heterophily":
        said.append("Use SlimG as it is; avoid methods that assume that neighbours are alike (label propagation, GCN).")
    else:
        said.append("Use SlimG as it is.")
    rare = [label for label, n in classes.items() if n < RARE]
    if rare:
        said.append(f"Label more nodes of {show(rare)}: fewer than {RARE} are labelled.")
    said.append(_of_labels(evidence.curve))
    if evidence.suspicious:
        named = show(each.node for each in evidence.suspicious)
        said.append(f"Look at {number_of(len(evidence.suspicious), 'label')} that everything else contradicts: {named}.")
    if features == "structural":
        said.append("Look for features that say something the edges do not: these repeat the graph.")
    return tuple(said)


def numbers(edges: Agreement | None, evidence: Evidence, count: Counts) -> list[str]:
    """A small table in plain text."""
    lines = [f"Accuracy on {evidence.examined:,} labelled nodes, each held out (largest class: {evidence.majority:.1%}):"]
    rows = {
        title_of(name): f"{_accuracy(each)}   by chance {each.by_chance:.1%}, p = {each.p:.2g}"
        for name, each in evidence.alone.items()
    }
    if len(evidence.alone) > 1:
        rows["all together"] = _accuracy(evidence.all)
        rows |= {f"all without {title_of(name)}": _accuracy(each) for name, each in evidence.without.items()}
    width = max(map(len, rows))
    lines += [f"  {name:<{width}} {told}" for name, told in rows.items()]
    if len(evidence.curve.points) > 1:
        points = (f"{point.labels:,}: {point.accuracy:.1%} ± {100 * point.error:.1f}" for point in evidence.curve.points)
        lines.append(f"With fewer labels (± standard error): {', '.join(points)}.")
    if edges is not None:
        low, high = edges.interval
        lines.append(
            f"Edges between labelled nodes: {edges.edges:,}; of one class {edges.share:.1%} [{low:.1%}, {high:.1%}], by"
            f" chance {edges.by_chance:.1%}; adjusted homophily {edges.adjusted:.2f} [{edges.adjusted_interval[0]:.2f},"
            f" {edges.adjusted_interval[1]:.2f}] (p = {min(edges.p_more, edges.p_less):.2g}); a neighbour's class holds"
            f" {edges.information:.1%} of the information on a node's own (p = {edges.p_tells:.2g})."
        )
    if evidence.restated is not None:
        lines.append(f"Variance of the features that the graph's structure holds, beyond chance: {evidence.restated:.0%}.")
    return lines


def _of_edges(relation: str, edges: Agreement | None, evidence: Evidence) -> str:
    structure = evidence.alone.get("U")
    if edges is None or relation == "unknown":
        some = "no" if edges is None else f"only {edges.edges}"
        known = f"{some} edges join labelled nodes, so whether neighbours are alike cannot be said"
        if structure is None:
            return f"{known[0].upper()}{known[1:]}."
        told = "does" if structure.tells else "does not"
        return f"{known[0].upper()}{known[1:]}; the network alone {told} tell the classes ({structure.value:.0%})."
    share = f"{edges.share:.0%} of the edges join nodes of one class, {edges.by_chance:.0%} would by chance"
    if relation == "homophily":
        kind = "Weak homophily" if edges.adjusted < WEAK else "Homophily"
        return f"{kind}: neighbours tend to be of the same class ({share})."
    if relation == "uniform":
        return f"The edges say nothing about the classes: neighbours are alike as often as by chance ({share})."
    if edges.p_less <= 0.01:
        return f"Heterophily: neighbours tend to be of different classes ({share})."
    return (
        f"Heterophily: neighbours are hardly more alike than by chance ({share}), and yet who is linked to whom tells the"
        f" classes (the network alone: {_value(structure)})."
    )


def _of_features(features: str, evidence: Evidence) -> str:
    if features == "absent":
        return "The nodes have no features."
    own = evidence.alone["X"]
    if features == "structural":
        told = "so they tell the classes as far as the graph does" if own.tells else "and they do not tell the classes"
        return f"The features restate the graph ({evidence.restated:.0%} of their variance lies in its structure), {told}."
    if features == "semantic":
        return f"The features tell the classes: {own.value:.0%} right with them alone, {own.by_chance:.0%} by chance."
    told = "hardly tell" if own.value - own.by_chance >= GAIN else "do not tell"
    return f"The features {told} the classes: {own.value:.0%} right with them alone, {own.by_chance:.0%} by chance."


def _of_both(evidence: Evidence) -> str:
    graph, features = evidence.gains.get("graph"), evidence.gains.get("features")
    if graph is None or features is None:
        return ""
    if not any(each.tells for each in evidence.alone.values()):
        return "Neither features nor edges tell the classes."
    if graph.matters and features.matters:
        return (
            f"Both help: {_value(evidence.all)} together, {_points(graph.value)} more than features alone and"
            f" {_points(features.value)} more than the network alone."
        )
    if graph.matters:
        return f"The network alone suffices ({_value(evidence.alone['U'])}); features add nothing to it."
    if features.matters and graph.value >= UNSETTLED:
        together, own = _value(evidence.all), _value(evidence.alone["X"])
        return f"Features alone give {own}, with the graph it is {together}: these labels do not settle whether it helps."
    if features.matters:
        return f"Features alone suffice ({_value(evidence.alone['X'])}); what the graph adds does not show on these labels."
    return f"Features alone ({_value(evidence.alone['X'])}) do as well as the network alone ({_value(evidence.alone['U'])})."


def _of_labels(curve: LearningCurve) -> str:
    if curve.doubling is None:
        return "Whether more labels would help is not clear from so few."
    error = f"(standard error {100 * curve.doubling.error:.1f})"
    rise = f"the last doubling of the labels gave {_points(curve.doubling.value)} {error}"
    if curve.outlook == "more":
        before = "" if curve.before is None else f", the one before {_points(curve.before)}"
        return f"Label more nodes: {rise}{before}."
    if curve.outlook == "little":
        return f"More labels of the same kind would change little: {rise}."
    return f"Whether more labels would help is not clear from these labels: {rise}."


def _of_nodes(evidence: Evidence, count: Counts) -> list[str]:
    said = []
    if evidence.isolated:
        which = number_of(len(evidence.isolated), "node has", "nodes have")
        said.append(f"{which} no edge ({show(evidence.isolated)}): only features can tell what they are.")
    if evidence.duplicates:
        copies = sum(len(group) - 1 for group in evidence.duplicates)
        which = number_of(copies, "node is a copy of another", "nodes are copies of others")
        said.append(f"{which} (same neighbours, same features), for example {show(evidence.duplicates[0])}.")
    return said


def _accuracy(each: Accuracy) -> str:
    return f"{each.value:6.1%} [{each.interval[0]:.1%}, {each.interval[1]:.1%}]"


def _value(each: Accuracy | None) -> str:
    return "" if each is None else f"{each.value:.0%}"


def _points(gain: float) -> str:
    return f"{100 * gain:.1f} points"
