"""A diagnosis as text: the verdict, the recommendations, and the numbers behind both."""

from __future__ import annotations

from typing import Any

from slimg.explain.agreement import Agreement
from slimg.explain.evidence import GAIN, Accuracy, Evidence
from slimg.explain.leave_one_out import LearningCurve
from slimg.graph.columns import number_of, show

UNSETTLED = 0.02
"""What the graph adds to the features, as a share of the labels, from which it is not called nothing."""
RARE = 10
"""Labelled nodes of a class below which it is called rare."""
WEAK = 0.2
"""Adjusted homophily below which it is called weak."""


def format_verdict(relation: str, features: str, edges: Agreement | None, evidence: Evidence) -> tuple[str, ...]:
    """Sentences on edges, features, both together, and unusual nodes."""
    lines = [_of_edges(relation, edges, evidence), _of_features(features, evidence), _of_both(evidence)]
    if "hops" in evidence.gains:
        gain = evidence.gains["hops"]
        if gain.matters:
            lines.append(f"Nodes two steps away add {_points(gain.value)}.")
        else:
            lines.append("Nodes two steps away add nothing measurable on these labels.")
    lines += _of_nodes(evidence)
    return tuple(line for line in lines if line)


def format_recommendations(relation: str, features: str, evidence: Evidence, classes: dict[Any, int]) -> tuple[str, ...]:
    """Sentences on what to do next; ``classes`` has the number of labelled nodes of each class."""
    lines = []
    best = max([evidence.all, *evidence.alone.values()], key=lambda each: each.value)
    if best.value - evidence.majority < 0.02 and not any(each.is_informative for each in evidence.alone.values()):
        lines.append("Do not use predictions from this graph: find features or edges that predict the classes.")
    elif relation == "uniform" and evidence.alone.get("X") and evidence.alone["X"].is_informative:
        lines.append("A classifier on the features alone will do; better features would help more than more edges.")
    elif relation == "heterophily":
        lines.append("Use SlimG as it is; avoid methods that assume that neighbours are alike (label propagation, GCN).")
    else:
        lines.append("Use SlimG as it is.")
    rare = [label for label, n in classes.items() if n < RARE]
    if rare:
        lines.append(f"Label more nodes of {show(rare)}: fewer than {RARE} are labelled.")
    lines.append(_of_labels(evidence.curve))
    if evidence.suspicious:
        named = show(each.node for each in evidence.suspicious)
        lines.append(f"Look at {number_of(len(evidence.suspicious), 'label')} that the graph contradicts: {named}.")
    if features == "structural":
        lines.append("Look for features that add something to the edges: these repeat the graph.")
    return tuple(lines)


def format_numbers(edges: Agreement | None, evidence: Evidence) -> list[str]:
    """The numbers behind a diagnosis as lines of text."""
    lines = [f"Accuracy on {evidence.examined:,} labelled nodes, each held out (largest class: {evidence.majority:.1%}):"]
    rows = {
        evidence.titles[name]: f"{_accuracy(each)}   by chance {each.by_chance:.1%}, p = {each.p:.2g}"
        for name, each in evidence.alone.items()
    }
    if len(evidence.alone) > 1:
        rows["all together"] = _accuracy(evidence.all)
        rows |= {f"all without {evidence.titles[name]}": _accuracy(each) for name, each in evidence.without.items()}
    width = max(map(len, rows))
    lines += [f"  {name:<{width}} {value}" for name, value in rows.items()]
    if len(evidence.curve.points) > 1:
        points = (f"{point.labels:,}: {point.accuracy:.1%} ± {100 * point.error:.1f}" for point in evidence.curve.points)
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
    structure = evidence.alone.get("U")
    if edges is None or relation == "unknown":
        some = "no" if edges is None else f"only {edges.edges}"
        known = f"{some} edges join labelled nodes, so it is unknown whether neighbours are alike"
        if structure is None:
            return f"{known[0].upper()}{known[1:]}."
        does = "does" if structure.is_informative else "does not"
        return f"{known[0].upper()}{known[1:]}; the network alone {does} predict the classes ({structure.value:.0%})."
    share = f"{edges.share:.0%} of the edges join nodes of one class, {edges.by_chance:.0%} would by chance"
    if relation == "homophily":
        kind = "Weak homophily" if edges.adjusted < WEAK else "Homophily"
        return f"{kind}: neighbours tend to be of the same class ({share})."
    if relation == "uniform":
        return f"The edges do not predict the classes: neighbours are alike as often as by chance ({share})."
    if edges.p_less <= 0.01:
        return f"Heterophily: neighbours tend to be of different classes ({share})."
    return (
        f"Heterophily: neighbours are hardly more alike than by chance ({share}), but who is linked to whom predicts the"
        f" classes (the network alone: {_value(structure)})."
    )


def _of_features(features: str, evidence: Evidence) -> str:
    if features == "absent":
        return "The nodes have no features."
    own = evidence.alone["X"]
    if features == "structural":
        restate = f"The features restate the graph ({evidence.restated:.0%} of their variance lies in its structure)"
        predict = "so they predict the classes as far as the graph does"
        return f"{restate}, {predict if own.is_informative else 'and they do not predict the classes'}."
    if features == "semantic":
        return f"The features predict the classes: {own.value:.0%} right with them alone, {own.by_chance:.0%} by chance."
    predict = "hardly predict" if own.value - own.by_chance >= GAIN else "do not predict"
    return f"The features {predict} the classes: {own.value:.0%} right with them alone, {own.by_chance:.0%} by chance."


def _of_both(evidence: Evidence) -> str:
    graph, features = evidence.gains.get("graph"), evidence.gains.get("features")
    if graph is None or features is None:
        return ""
    if not any(each.is_informative for each in evidence.alone.values()):
        return "Neither the features nor the edges predict the classes."
    if graph.matters and features.matters:
        return (
            f"Both help: {_value(evidence.all)} together, {_points(graph.value)} more than features alone and"
            f" {_points(features.value)} more than the network alone."
        )
    if graph.matters:
        return f"The network alone suffices ({_value(evidence.alone['U'])}); features add nothing to it."
    if features.matters and graph.value >= UNSETTLED:
        together, own = _value(evidence.all), _value(evidence.alone["X"])
        return f"Features alone give {own}, with the graph {together}: these labels are too few to decide whether it helps."
    if features.matters:
        return f"Features alone suffice ({_value(evidence.alone['X'])}); what the graph adds is not measurable here."
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


def _of_nodes(evidence: Evidence) -> list[str]:
    lines = []
    if evidence.isolated:
        which = number_of(len(evidence.isolated), "node has", "nodes have")
        lines.append(f"{which} no edge ({show(evidence.isolated)}): only features can classify them.")
    if evidence.duplicates:
        copies = sum(len(group) - 1 for group in evidence.duplicates)
        which = number_of(copies, "node is a copy of another", "nodes are copies of others")
        lines.append(f"{which} (same neighbours, same features), for example {show(evidence.duplicates[0])}.")
    return lines


def _accuracy(each: Accuracy) -> str:
    return f"{each.value:6.1%} [{each.interval[0]:.1%}, {each.interval[1]:.1%}]"


def _value(each: Accuracy | None) -> str:
    return "" if each is None else f"{each.value:.0%}"


def _points(gain: float) -> str:
    return f"{100 * gain:.1f} points"
