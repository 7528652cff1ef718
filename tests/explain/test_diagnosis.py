"""The verdict: the nine cases at a small size, real graphs as the literature knows them, and bad input."""

import json
import re

import numpy as np
import pytest

import slimg
from explain_graphs import planted
from slimg import Graph
from slimg.components import EnergyRank, compute_components, paper_components
from slimg.errors import InputError
from slimg.graph.splits import stratified
from slimg.lab.sanity.case import CASES, EMPTY, make, parts, scaled

CAPPED = paper_components(rank=EnergyRank(max_rank=200))


@pytest.mark.parametrize("name", [*CASES, *EMPTY])
def test_the_nine_cases_are_named(name):
    """A sixth of the paper's size and half of the labels; the full size is benchmarks/diagnose.py."""
    graph = make(*parts(name), **scaled(1200), seed=1).graph
    split = stratified(graph, (0.25, 0.25, 0.5), 0)
    found = slimg.diagnose(graph.mask_labels(np.concatenate([split.train, split.val])))
    assert found.scenario == name
    text = found.text()
    if name in EMPTY:
        assert "Neither the features nor the edges predict the classes" in text and "Do not use predictions" in text
    if name == "semantic-uniform":
        assert re.search("The graph (makes no measurable difference|adds nothing): ", text)
        assert "A classifier on the features alone will do" in text
    if name.endswith("heterophily"):
        assert "neighbours tend to be of different classes" in text


def test_cora_chameleon_and_actor(load_real):
    expected = {
        "cora": ("semantic-homophily", "The graph helps"),
        "chameleon": ("semantic-heterophily", "who is linked to whom predicts"),
        "actor": ("semantic-uniform", "The graph makes"),
    }
    for name, (scenario, words) in expected.items():
        graph = load_real(name)
        rows = np.random.default_rng(0).permutation(graph.n)[:600]
        visible = graph.mask_labels(rows)
        found = slimg.diagnose(visible, propagated=compute_components(visible, components=CAPPED))
        assert found.scenario == scenario and words in found.text(), name


def test_few_labels_are_no_proof():
    graph = planted(labelled=0.08)
    found = slimg.diagnose(graph)
    assert found.relation in ("unknown", "homophily") and found.labelled == len(graph.labelled)
    if found.relation == "unknown":
        assert "unknown" in found.text()


def test_without_features_or_edges():
    graph = planted()
    structure = slimg.diagnose(Graph.from_arrays(graph.adjacency, labels=graph.labels))
    assert structure.features == "absent" and structure.relation == "homophily" and "no features" in structure.text()
    features = slimg.diagnose(Graph.from_arrays(None, graph.features, graph.labels))
    assert features.relation == "unknown" and features.features == "semantic" and set(features.evidence.alone) == {"X"}


def test_components_at_hand_are_used_and_the_seed_decides():
    graph = planted()
    parts_at_hand = slimg.SlimG().propagate(graph)
    one = slimg.diagnose(graph, propagated=parts_at_hand, random_state=3)
    assert one.to_dict() == slimg.diagnose(graph, random_state=3).to_dict()


def test_json_and_text_hold_the_verdict():
    found = slimg.diagnose(planted())
    record = json.loads(json.dumps(found.to_dict()))
    assert record["scenario"] == found.scenario and record["verdict"] == list(found.verdict)
    assert record["evidence"]["alone"]["X"]["value"] == found.evidence.alone["X"].value
    text = str(found)
    assert text == found.text() and all(sentence in text for sentence in (*found.verdict, *found.advice))
    assert repr(found) == f"<Diagnosis {found.scenario}: 150 nodes, {found.edges:,} edges, {found.labelled:,} labels>"
    assert f"{found.agreement.share:.1%}" in text and "held out" in text


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: slimg.diagnose(np.eye(3)), "a slimg.Graph is needed"),
        (lambda: slimg.diagnose(planted(), propagated=42), "propagated.*int"),
        (lambda: slimg.diagnose(planted(), random_state="x"), "random_state.*'x'"),
        (lambda: slimg.diagnose(Graph.from_edges([(0, 1), (1, 2)])), "two classes with two labelled nodes"),
        (lambda: slimg.diagnose(Graph.from_edges([(0, 1), (1, 2)], label=list("aab"))), "two classes with two labelled"),
    ],
)
def test_bad_input_gets_one_sentence(attempt, words):
    with pytest.raises(InputError, match=words):
        attempt()
