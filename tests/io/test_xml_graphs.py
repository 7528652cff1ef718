"""GraphML and GEXF, against networkx, which writes them."""

import networkx as nx
import pytest

from slimg.errors import InputError
from slimg.io import Source, read


@pytest.fixture(params=[False, True], ids=["undirected", "directed"])
def network(request):
    graph = nx.DiGraph() if request.param else nx.Graph()
    graph.add_node("a<1>", team="red", age=3, score=0.5, old=True)
    graph.add_node("b", team="blue", age=4, score=1.5, old=False)
    graph.add_node("c & d", team="", age=5, score=2.5, old=True)
    graph.add_edge("a<1>", "b", weight=2.0)
    graph.add_edge("b", "c & d", weight=0.5)
    return graph


@pytest.mark.parametrize("kind", ["graphml", "gexf"])
def test_nodes_and_edges_come_back(tmp_path, network, kind):
    getattr(nx, f"write_{kind}")(network, tmp_path / f"g.{kind}")
    found = read(Source(tmp_path / f"g.{kind}"))
    assert found.frame["id"].tolist() == list(network.nodes)
    for name in ("age", "score", "old"):
        assert found.frame[name].tolist() == [data[name] for _, data in network.nodes(data=True)]
    assert [team or "" for team in found.frame["team"]] == ["red", "blue", ""]
    edges = list(zip(found.edges["source"], found.edges["target"], found.edges["weight"], strict=True))
    assert edges == [(u, v, data["weight"]) for u, v, data in network.edges(data=True)]
    assert found.directed == network.is_directed()


def test_defaults_of_graphml_are_filled_in(tmp_path):
    (tmp_path / "g.graphml").write_text(
        '<graphml><key id="k" for="node" attr.name="team" attr.type="string"><default>red</default></key>'
        '<graph edgedefault="undirected"><node id="a"/><node id="b"><data key="k">blue</data></node></graph></graphml>'
    )
    assert read(Source(tmp_path / "g.graphml")).frame["team"].tolist() == ["red", "blue"]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("g.graphml", "<graphml><graph>", "not well-formed XML"),
        ("g.graphml", "<gexf/>", "its outermost element is <gexf>, not <graphml>"),
        ("g.graphml", "<graphml/>", "there is no <graph> in it"),
        ("g.gexf", "<gexf><graph/></gexf>", "there are no nodes in it"),
        (
            "g.graphml",
            '<graphml><graph><node id="a"><data key="k"/></node></graph></graphml>',
            "key 'k', which is not declared",
        ),
    ],
)
def test_bad_files(tmp_path, name, text, told):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=told):
        read(Source(tmp_path / name))


def test_entities_do_not_grow_without_bound(tmp_path):
    levels = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 20}">' for k in range(1, 9))
    (tmp_path / "g.graphml").write_text(f'<!DOCTYPE g [<!ENTITY e0 "ha">{levels}]><graphml>&e8;</graphml>')
    with pytest.raises(InputError, match="not well-formed XML"):
        read(Source(tmp_path / "g.graphml"))
