"""Relations and their directions, against dense matrices; and WordNet, whose relations are known."""

import os
import pickle
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg import Graph
from slimg.errors import InputError
from slimg.graph import Adjacency, Relation
from slimg.graph.relations import is_same
from slimg.inference.fold_in import node_digests

FOLLOWS = pd.DataFrame({"source": ["a", "b", "c"], "target": ["b", "c", "b"]})
PAYS = pd.DataFrame({"payer": ["a", "a", "c"], "payee": ["c", "c", "d"], "amount": [2.0, 3.0, 0.5]})
BOTH = {"follows": FOLLOWS, "pays": PAYS}


def dense(adjacency):
    return adjacency.to_scipy().toarray()


triples = st.lists(st.tuples(*[st.integers(0, 6)] * 2, st.sampled_from("pqr"), st.integers(1, 3)), min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(triples, st.sets(st.sampled_from("pqr")), st.booleans(), st.sampled_from(["sum", "max"]))
def test_matrices_are_those_of_the_list(rows, directed, weighted, rule):
    """D_r entry by entry, its transpose, and A = max(S, Sᵀ) with S the sum (or maximum) over relations."""
    merge = np.add if rule == "sum" else np.maximum
    frame = pd.DataFrame(rows, columns=["source", "target", "kind", "w"])
    names = sorted(set(frame["kind"]))
    graph = Graph.from_edges(frame, range(7), relation="kind", weight="w" if weighted else None, duplicates=rule,
                             directed=sorted(directed & set(names)))  # fmt: skip
    assert [relation.name for relation in graph.relations] == names
    total = np.zeros((7, 7))
    for relation in graph.relations:
        D = np.zeros((7, 7))
        for u, v, kind, w in rows:
            if kind == relation.name and u != v:
                D[u, v] = merge(D[u, v], w) if weighted else 1
        D = D if relation.name in directed else np.maximum(D, D.T)
        assert np.array_equal(dense(relation.out), D) and np.array_equal(dense(relation.into), D.T)
        assert relation.edges == (np.count_nonzero(D) if relation.directed else np.count_nonzero(D) // 2)
        total = merge(total, D)
    total = np.maximum(total, total.T) if weighted else (total + total.T > 0).astype(float)
    assert np.array_equal(dense(graph.adjacency), total)
    matrices = [dense(matrix).tobytes() for matrix in graph.directions().values()]
    assert len(set(matrices)) == len(matrices), "each matrix once"
    every = {m.tobytes() for r in graph.relations for m in (dense(r.out), dense(r.into).copy())}
    assert set(matrices) == every


def test_one_undirected_table_is_the_graph_it_was():
    plain = Graph.from_edges(FOLLOWS)
    assert plain.relations == () and plain.directions() == {} and plain.node_types is None
    named = Graph.from_edges({"follows": FOLLOWS})
    assert named.adjacency is named.relation("follows").out and is_same(named.adjacency, plain.adjacency)
    kept = Graph.from_edges(FOLLOWS, directed=True)
    assert is_same(kept.adjacency, plain.adjacency) and kept.relation("edges").out.nnz == 3
    assert list(kept.directions()) == ["edges →", "edges ←"]
    assert any("directed=True" in note for note in plain.notes) and not any("undirected" in note for note in kept.notes)


def test_several_tables_have_columns_and_weights_of_their_own():
    graph = Graph.from_edges(BOTH, weight="amount", directed=["pays"])
    assert repr(graph) == "Graph(4 nodes, 4 edges (weighted), 2 relations (1 directed))"
    follows, pays = graph.relations
    assert (follows.directed, follows.out.weights, follows.edges) == (False, None, 2)
    assert (pays.directed, pays.out.weights.tolist(), pays.edges) == (True, [5.0, 0.5], 2)
    assert dense(graph.adjacency)[0].tolist() == [0, 1, 5, 0], "a relation without weights counts 1"
    assert graph.direction("pays ←") is graph.direction("pays", "in") is pays.into
    assert graph.direction("follows") is follows.out
    lists = Graph.from_edges({"p": [(0, 1)], "q": np.array([[1, 2]])}, directed=True)
    assert lists.relation("q").out.neighbours(1).tolist() == [2]
    columns = Graph.from_edges({"source": [(0, 1)], "target": [(0, 2)]})
    assert columns.relations == () and columns.ids.tolist() == [(0, 1), (0, 2)], "a table of columns, whose ids are pairs"
    assert Graph.from_edges(FOLLOWS[:0].assign(kind=[]), relation="kind", features=np.eye(3)).n == 3
    numbered = Graph.from_edges(FOLLOWS.assign(kind=pd.array([2, 10, 2], dtype="Int64")), relation="kind")
    assert [relation.name for relation in numbered.relations] == ["2", "10"]
    pairs = Graph.from_edges([((0, 1), (0, 2))], {"id": [(0, 1), (0, 2)]})
    assert pairs.node_types is None and pairs.edges == 1, "a table of one column, whose ids are pairs"
    mixed = Graph.from_edges({"follows": FOLLOWS, "other": PAYS.assign(kind=["x", "y", "x"])}, relation="kind")
    assert [relation.name for relation in mixed.relations] == ["follows", "x", "y"]


def test_a_relation_that_repeats_another_is_stored_once():
    up = [(0, 1), (1, 2), (3, 2)]
    down = [(v, u) for u, v in up]
    tables = {"up": up, "down": down, "again": up, "both": [*up, *down], "one": [(0, 3)]}
    graph = Graph.from_edges(tables, directed=True)
    assert [relation.same_as for relation in graph.relations] == [None, "up ←", "up →", None, None]
    assert list(graph.directions()) == ["up →", "up ←", "both →", "one →", "one ←"]
    assert graph.relation("down").out is graph.relation("up").into
    assert dense(graph.direction("down", "out")).tolist() == dense(graph.direction("up ←")).tolist()
    notes = " ".join(graph.notes)
    assert "'down' is 'up ←'" in notes and "'again' is 'up →'" in notes and "'both'" in notes
    assert any("one edge" in note and "'one'" in note for note in graph.notes)
    weighted = Graph.from_edges({"p": [(0, 1, 2.0)], "q": [(1, 0, 3.0)]}, directed=True)
    assert weighted.relation("q").same_as is None and len(weighted.directions()) == 4, "other weights, another relation"


def test_parts_of_a_graph_keep_relations_and_types():
    users, items = pd.DataFrame({"id": ["a", "b"], "age": [3, 4], "y": ["p", None]}), pd.DataFrame({"id": ["c", "d"]})
    graph = Graph.from_edges(BOTH, {"users": users, "items": items}, label="y", weight="amount", directed=True)
    assert graph.node_types.tolist() == ["users", "users", "items", "items"] and graph.codes.tolist() == [0, -1, -1, -1]
    assert graph.feature_names == ("type=users", "type=items", "users.age")
    assert graph.features.toarray().tolist() == [[1, 0, 3], [1, 0, 4], [0, 1, 0], [0, 1, 0]]
    assert any("'items'" in note and "without features" in note for note in graph.notes)
    part = graph.subgraph([0, 2, 3])
    for relation in graph.relations:
        assert np.array_equal(dense(part.relation(relation.name).out), dense(relation.out)[np.ix_([0, 2, 3], [0, 2, 3])])
        assert np.array_equal(dense(part.relation(relation.name).into), dense(part.relation(relation.name).out).T)
    assert part.node_types.tolist() == ["users", "items", "items"]
    for same in (graph.with_notes("x"), graph.mask_labels([0]), graph.with_labels(None), pickle.loads(pickle.dumps(graph))):
        assert [r.name for r in same.relations] == ["follows", "pays"] and same.node_types is not None
        assert list(same.directions()) == list(graph.directions())


def test_digests_see_relation_and_direction():
    graph = Graph.from_edges(BOTH, weight="amount", directed=True)
    again = Graph.from_edges(dict(reversed(BOTH.items())), weight="amount", directed=True)
    assert np.array_equal(node_digests(graph), node_digests(again)), "the order of relations does not matter"
    turned = Graph.from_edges({**BOTH, "follows": FOLLOWS.assign(source=["b", "b", "c"], target=["a", "c", "b"])},
                              weight="amount", directed=True)  # fmt: skip
    assert is_same(turned.adjacency, graph.adjacency)
    assert (node_digests(turned) != node_digests(graph)).tolist() == [True, True, False, False], "a → b became b → a"
    renamed = Graph.from_edges({"likes": FOLLOWS, "pays": PAYS}, weight="amount", directed=True)
    assert (node_digests(renamed) != node_digests(graph)).tolist() == [True, True, True, False]


def test_networkx_multigraphs_come_back():
    graph = Graph.from_edges(BOTH, weight="amount", directed=True)
    made = graph.to_networkx()
    assert isinstance(made, nx.MultiDiGraph) and made.number_of_edges() == 5
    assert made.edges["a", "c", "pays"]["weight"] == 5.0 and not made.has_edge("c", "a")
    for relation in ("key", "kind"):
        for _, _, key, data in made.edges(keys=True, data=True):
            data["kind"] = key
        back = Graph.from_networkx(made, relation=relation, directed=True)
        for one, two in zip(graph.relations, back.relations, strict=True):
            assert one.name == two.name and is_same(one.out, two.out)
        assert is_same(back.adjacency, graph.adjacency)
    joined = Graph.from_networkx(made, weight=None)
    assert joined.relations == () and any("directed=True" in note for note in joined.notes)
    with pytest.raises(InputError, match="undirected"):
        Graph.from_networkx(nx.path_graph(3), directed=True)
    with pytest.raises(InputError, match="4 edges lack the attribute 'sort'"):
        Graph.from_networkx(nx.path_graph(5), relation="sort")


MANY = pd.DataFrame({"source": range(201), "target": range(1, 202), "when": range(201)})
USERS = pd.DataFrame({"id": ["a", "b"], "age": [1, 2]})


@pytest.mark.parametrize(
    ("edges", "options", "words"),
    [
        (MANY, {"relation": "when"}, "'when' has 201 different values.*200"),
        (FOLLOWS, {"relation": "kind"}, "no column 'kind' for relation: the columns are source, target"),
        (BOTH, {"relation": "kind"}, "'kind' for relation: 'follows' has source, target; 'pays' has payer, payee, amount"),
        (BOTH, {"weight": "w"}, "'w' for weight"),
        (FOLLOWS.assign(kind=["x", None, "x"]), {"relation": "kind"}, "'kind'.*missing.*row 1"),
        ({"x": FOLLOWS, "y": PAYS.assign(kind="x")}, {"relation": "kind"}, "relation 'x' is there more than once"),
        (BOTH, {"directed": ["folows"]}, "no relation 'folows' for directed: did you mean 'follows'"),
        (BOTH, {"directed": "zzz"}, "no relation 'zzz' for directed: the relations are follows, pays"),
        (FOLLOWS, {"directed": ["follows"]}, "the relations are edges"),
        (BOTH, {"directed": 3}, "not 3"),
        ({"f": FOLLOWS, "p": PAYS.assign(amount=-1.0)}, {"weight": "amount"}, "relation 'p'.*weight -1"),
        (BOTH, {"nodes": ["a", "b", "c"]}, r"1 id of the edges is not among the nodes \(edges of 'pays'\): 'd'"),
        (BOTH, {"nodes": {"users": USERS, "items": USERS}}, "'users' and 'items' share 2 ids: 'a', 'b'"),
        (BOTH, {"nodes": {"users": USERS}, "label": "team"}, "no table of nodes has the column 'team' for label: users"),
        (BOTH, {"nodes": {"u": USERS.assign(y=1), "v": USERS.assign(y=1)}, "label": "y"}, "several tables.*'y' for label"),
        ({"f": FOLLOWS[["source"]]}, {}, "edges 'f'.*two columns"),
        ({" ": FOLLOWS}, {}, "empty name"),
    ],
)
def test_bad_relations_are_one_sentence(edges, options, words):
    with pytest.raises(InputError, match=words):
        Graph.from_edges(edges, **options)


def test_bad_parts_of_a_graph():
    graph = Graph.from_edges(BOTH, directed=True)
    with pytest.raises(InputError, match="no relation 'pay': did you mean 'pays'"):
        graph.relation("pay")
    with pytest.raises(InputError, match="'pays →' or 'pays ←'"):
        graph.direction("pays")
    small, _ = Adjacency.from_edges([0], [1], 2)
    edge = Relation("e", small, small, False)
    for relations, words in (([edge], "2 nodes, but the graph has 4"), ([3], "not int")):
        with pytest.raises(InputError, match=words):
            Graph(graph.adjacency, relations=relations)
    with pytest.raises(InputError, match="different names"):
        Graph(small, relations=[edge, edge])
    with pytest.raises(InputError, match="2 nodes"):
        Graph(small, node_types=["u"])


@pytest.mark.skipif("SLIMG_DATA" not in os.environ, reason="needs WordNet in SLIMG_DATA")
def test_wordnet():
    folder = Path(os.environ["SLIMG_DATA"]) / "wordnet"
    edges = pd.read_csv(folder / "edges.csv.gz", na_filter=False)
    ids = pd.read_csv(folder / "nodes.csv.gz", usecols=["synset"], na_filter=False)["synset"].to_numpy(object)
    graph = Graph.from_edges(edges, ids, relation="relation", directed=True)
    assert graph.n == 117_659 and len(graph.relations) == 26
    assert is_same(graph.adjacency, Graph.from_edges(edges[["source", "target"]], ids).adjacency)
    assert graph.relation("hypernym").edges == 89_089
    pairs = {("hypernym", "hyponym"), ("instance_hypernym", "instance_hyponym"), ("member_holonym", "member_meronym"),
             ("part_holonym", "part_meronym"), ("substance_holonym", "substance_meronym"), ("region", "region_member"),
             ("topic", "topic_member"), ("usage", "usage_member")}  # fmt: skip
    assert {(r.same_as[:-2], r.name) for r in graph.relations if r.same_as} == pairs
    assert all(graph.relation(two).out is graph.relation(one).into for one, two in pairs - {("hypernym", "hyponym")})
    assert any("'hyponym' is 'hypernym ←' but for 2 edges" in note for note in graph.notes), "v02423762 has another parent"
    symmetric = {r.name for r in graph.relations if r.symmetric}
    assert {"antonym", "derivation", "similar_to"} <= symmetric and "hypernym" not in symmetric
    left = 26 - len(pairs)
    assert len(graph.directions()) == 2 * left - len(symmetric)
    child, parent = graph.positions(["n00001930", "n00001740"])
    assert parent in graph.direction("hypernym →").neighbours(child)
    assert child in graph.direction("hypernym ←").neighbours(parent)
