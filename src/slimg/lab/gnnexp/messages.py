"""What the graph functions of PyTorch Geometric, and layers written by hand, do to abstract values.

A layer without a rule whose forward calls `propagate` is followed through its own methods:

    m_ij = message(x_j, …)       H_i = Σ_j m_ij  or the mean       update(H)

so it needs no rule when its message is linear in what the sources send.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from slimg.lab.gnnexp.edges import Degree, EdgeEnd, Edges, EdgeWeights, Messages, loop_strength
from slimg.lab.gnnexp.functions import function
from slimg.lab.gnnexp.rules import Site
from slimg.lab.gnnexp.terms import Value, total
from slimg.lab.gnnexp.values import Opaque

_PROVIDED = ("index", "ptr", "dim_size", "size", "size_i", "size_j", "edge_index", "edge_index_i", "edge_index_j")


@function("propagate")
def propagate(site: Site, path: str, edge_index: Any, **inputs: Any) -> Value:
    """One round of message passing of the layer at ``path``, through its own message and update."""
    layer = site.module.get_submodule(path)
    full_path = ".".join(part for part in (site.path, path) if part)
    edges = _as_edges(site, edge_index)
    site = replace(site, name=type(layer).__name__, module=layer)
    if _is_overridden(layer, "aggregate"):
        site.fail("has an aggregation of its own, which has no rule")
    names = inspect.signature(layer.message).parameters
    received = {name: _message_input(site, name, inputs) for name in names}
    sent = site.run(layer, full_path, method="message", **received)
    value = aggregate(site, sent, edges, getattr(layer, "aggr", "add"))
    if not _is_overridden(layer, "update"):
        return value
    further = list(inspect.signature(layer.update).parameters)[1:]
    return site.run(layer, full_path, value, method="update", **{name: inputs.get(name) for name in further})


def aggregate(site: Site, sent: Any, edges: Edges, how: Any) -> Value:
    """Σ_j or the mean over j of the messages to each node."""
    if not isinstance(sent, Messages):
        site.fail("sends messages that are not linear in what the sources hold, which has no rule")
    if how not in ("add", "sum", "mean"):
        site.problem(f"the {how} aggregation is not linear: the mean stands for it")
        how = "mean"
    if how != "mean":
        return total((edges.weights() if w is None else w).operator @ value for w, value in sent.parts)
    if any(weight is not None for weight, _ in sent.parts):
        site.problem("the mean of weighted messages divides by their number: division by their weight stands for it")
    return total(edges.operator("row") @ value for _, value in sent.parts)


@function("gcn_norm")
def gcn_norm(
    site: Site,
    edge_index: Edges,
    edge_weight: EdgeWeights | None = None,
    num_nodes: Any = None,
    improved: bool = False,
    add_self_loops: bool = True,
    flow: str = "source_to_target",
    dtype: Any = None,
) -> tuple[Edges, EdgeWeights]:
    """(edges with loops, weights of D̃^-½ (A + I) D̃^-½)."""
    loops = loop_strength(add_self_loops, improved, edge_weight)
    weights = _as_edges(site, edge_index).weights("sym", loops, edge_weight)
    return weights.edges, weights


@function("add_self_loops", "add_remaining_self_loops")
def add_self_loops(
    site: Site, edge_index: Edges, edge_attr: Any = None, fill_value: Any = None, num_nodes: Any = None
) -> tuple[Edges, EdgeWeights | None]:
    """(edges with loops, their weights if there were any)."""
    strength = float(fill_value) if isinstance(fill_value, (int, float)) and edge_attr is not None else 1
    edges = _as_edges(site, edge_index).with_loops(strength)
    return edges, None if edge_attr is None else edges.weights("none", strength, edge_attr)


@function("remove_self_loops", "dropout_adj", "to_undirected", "sort_edge_index")
def edges_and_weights(site: Site, edge_index: Edges, edge_attr: Any = None, *options: Any, **more: Any) -> Any:
    """Graphs are undirected without loops: the edges and weights as they are."""
    if site.name in ("to_undirected", "sort_edge_index") and edge_attr is None:
        return edge_index
    return edge_index, edge_attr


@function("dropout_edge", "dropout_node", "dropout_path")
def dropout_edge(site: Site, edge_index: Edges, *options: Any, **more: Any) -> tuple[Any, ...]:
    """(edges, mask, …): nothing is dropped outside of training."""
    return edge_index, Opaque("mask"), Opaque("mask")


@function("degree")
def degree(site: Site, index: Any, *options: Any, **more: Any) -> Degree:
    """d̃ of each node: the number of edges at one end."""
    if not isinstance(index, EdgeEnd):
        site.fail("counts something other than the ends of edges, which has no rule")
    return Degree(index.edges)


@function("scatter", "scatter_add")
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
    """What `propagate` hands to an argument of message: x_j is x read at the source of each edge."""
    if name in inputs:
        return inputs[name]
    if name in _PROVIDED:
        return Opaque(name)
    pair = inputs.get(name[:-2])
    if name.endswith("_i"):
        site.fail(f"sends messages that read the receiving node ({name}), which has no rule")
    value = pair[0] if isinstance(pair, (tuple, list)) else pair
    if not name.endswith("_j") or not isinstance(value, Value):
        site.fail(f"sends messages with the argument {name}, which has no rule")
    return Messages(((None, value),))


def _is_overridden(layer: Any, method: str) -> bool:
    return getattr(type(layer), method).__module__ != "torch_geometric.nn.conv.message_passing"


def _as_edges(site: Site, edge_index: Any) -> Edges:
    if not isinstance(edge_index, Edges):
        site.fail("is not given the edges of the graph: name its argument with inputs={...}")
    return edge_index
