"""Rules of the graph functions of PyTorch Geometric, and of layers written by hand.

A layer without a rule whose forward calls `propagate` is followed through its own methods:

    m_ij = message(x_j, …)       H_i = Σ_j m_ij  or the mean       update(H)

so it needs no rule when its message is linear in what the sources send.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from slimg.lab.gnnexp.layers import loop_strength
from slimg.lab.gnnexp.rules import Site, rule
from slimg.lab.gnnexp.values import Degree, EdgeEnd, Edges, EdgeWeights, Messages, Opaque, Value, total

_PROVIDED = ("index", "ptr", "dim_size", "size", "size_i", "size_j", "edge_index", "edge_index_i", "edge_index_j")


@rule("propagate")
def propagate(site: Site, path: str, edge_index: Any, **inputs: Any) -> Value:
    """One round of message passing of the layer at ``path``, through its own message and update."""
    layer, edges = site.module.get_submodule(path), site.edges(edge_index)
    full_path = ".".join(part for part in (site.path, path) if part)
    site = replace(site, name=type(layer).__name__, module=layer)
    if _is_overridden(layer, "aggregate"):
        site.fail("has an aggregation of its own, which has no rule")
    names = inspect.signature(layer.message).parameters
    received = {name: _message_input(site, name, inputs) for name in names}
    sent = site.interpreter.run(layer, full_path, method="message", **received)
    value = aggregate(site, sent, edges, getattr(layer, "aggr", "add"))
    if not _is_overridden(layer, "update"):
        return value
    further = {name: inputs.get(name) for name in list(inspect.signature(layer.update).parameters)[1:]}
    return site.interpreter.run(layer, full_path, value, method="update", **further)


def aggregate(site: Site, sent: Any, edges: Edges, how: Any) -> Value:
    """Σ_j or the mean over j of the messages to each node."""
    if not isinstance(sent, Messages):
        site.fail("sends messages that are not linear in what the sources hold, which has no rule")
    if how in ("add", "sum"):
        return total((edges.weights() if w is None else w).operator @ value for w, value in sent.parts)
    if how != "mean":
        site.problem(f"the {how} aggregation is not linear: it is replaced by the mean")
    if any(weight is not None for weight, _ in sent.parts):
        site.problem("the mean of weighted messages divides by their number: replaced by a division by their weight")
    return total(edges.operator("row") @ value for _, value in sent.parts)


@rule("gcn_norm")
def gcn_norm(
    site: Site,
    edge_index: Edges,
    edge_weight: EdgeWeights | None = None,
    num_nodes: Any = None,
    improved: bool = False,
    add_self_loops: bool = True,
    *options: Any,
    **more: Any,
) -> tuple[Edges, EdgeWeights]:
    """(edges with loops, weights of D̃^-½ (A + I) D̃^-½)."""
    loops = loop_strength(add_self_loops, improved, edge_weight)
    weights = site.edges(edge_index).weights("sym", loops, edge_weight)
    return weights.edges, weights


@rule("add_self_loops", "add_remaining_self_loops")
def add_self_loops(
    site: Site, edge_index: Edges, edge_attr: Any = None, fill_value: Any = None, num_nodes: Any = None
) -> tuple[Edges, EdgeWeights | None]:
    """(edges with loops, their weights if there were any)."""
    strength = float(fill_value) if isinstance(fill_value, (int, float)) and edge_attr is not None else 1
    edges = site.edges(edge_index).with_loops(strength)
    return edges, None if edge_attr is None else edges.weights("none", strength, edge_attr)


@rule("remove_self_loops", "dropout_adj", "to_undirected", "sort_edge_index")
def edges_and_weights(site: Site, edge_index: Edges, edge_attr: Any = None, *options: Any, **more: Any) -> Any:
    """Graphs are undirected without loops: the edges and weights as they are."""
    alone = site.name in ("to_undirected", "sort_edge_index") and edge_attr is None
    return edge_index if alone else (edge_index, edge_attr)


@rule("dropout_edge", "dropout_node", "dropout_path")
def dropout_edge(site: Site, edge_index: Edges, *options: Any, **more: Any) -> tuple[Any, ...]:
    """(edges, mask, …): nothing is dropped outside of training."""
    return edge_index, Opaque("mask"), Opaque("mask")


@rule("degree")
def degree(site: Site, index: Any, *options: Any, **more: Any) -> Degree:
    """d̃ of each node: the number of edges at one end."""
    if not isinstance(index, EdgeEnd):
        site.fail("counts something other than the ends of edges, which has no rule")
    return Degree(index.edges)


@rule("scatter", "scatter_add")
def scatter(site: Site, source: Any, index: Any, dim: Any = 0, dim_size: Any = None, reduce: str = "sum") -> Any:
    """The weights of edges summed at each node are its degree; messages are aggregated at their targets."""
    if not isinstance(index, EdgeEnd):
        site.fail("scatters along something other than the edges of the graph, which has no rule")
    if isinstance(source, EdgeWeights) and not source.normalised:
        return Degree(source.edges)
    if index.end == "source":
        site.fail("aggregates at the sending end of each edge, which has no rule: exchange row and col")
    return aggregate(site, source, index.edges, reduce)


def _message_input(site: Site, name: str, inputs: dict[str, Any]) -> Any:
    """What `propagate` passes to an argument of message: x_j is x read at the source of each edge."""
    if name in inputs:
        return inputs[name]
    if name in _PROVIDED:
        return Opaque(name)
    if name.endswith("_i"):
        site.fail(f"sends messages that read the receiving node ({name}), which has no rule")
    pair = inputs.get(name[:-2])
    value = pair[0] if isinstance(pair, (tuple, list)) else pair
    if not name.endswith("_j") or not isinstance(value, Value):
        site.fail(f"sends messages with the argument {name}, which has no rule")
    return Messages(((None, value),))


def _is_overridden(layer: Any, method: str) -> bool:
    return getattr(type(layer), method).__module__ != "torch_geometric.nn.conv.message_passing"
