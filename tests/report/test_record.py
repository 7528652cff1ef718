"""The record of a fit against the model and the graph."""

import json

import numpy as np
import pytest

from explain_graphs import planted
from slimg import Graph, SlimG
from slimg.components import Structure
from slimg.inference.predictions import Chances
from slimg.report import record as records
from slimg.report.record import codes_in_model, diagnosis, findings, fit_record, json_values, lines_of, nodes_worth_explaining


@pytest.fixture(scope="module")
def graph():
    return planted(n=120, labelled=0.6)


@pytest.fixture(scope="module")
def model(graph):
    return SlimG(grid=[(0.0, 0.01), (1e-3, 0.01)]).fit(graph)


@pytest.fixture(scope="module")
def collected(model, graph):
    return fit_record(model, graph, explain=[5], facts={"title": "Trees"})


def test_it_is_json_and_says_the_sizes(collected, graph):
    read = json.loads(json.dumps(collected, allow_nan=False))["read"]
    sizes = graph.n, graph.edges, graph.d, len(graph.labelled)
    assert (read["nodes"], read["edges"], read["features"], read["labelled"]) == sizes
    assert read["title"] == "Trees" and read["weighted"] is False


def test_nodes_are_those_of_the_graph(collected, graph, model):
    nodes, chances = collected["nodes"], model.predict_proba()
    assert nodes["ids"] == [str(value) for value in graph.ids] and nodes["total"] == graph.n
    assert [collected["classes"][code] for code in nodes["prediction"]] == model.predict().tolist()
    assert nodes["probability"] == np.round(1000 * chances.max(axis=1)).astype(int).tolist()
    labels = [None if code < 0 else collected["classes"][code] for code in nodes["label"]]
    assert labels == graph.labels.tolist()


def test_nodes_end_where_the_room_ends(graph, model, monkeypatch):
    monkeypatch.setattr(records, "NODE_BYTES", 500)
    chances = Chances(model._own_scores(), model.temperature_)
    nodes = records._nodes(graph, codes_in_model(model, graph), chances.best(), chances, None)
    assert nodes["total"] == 120 and 0 < len(nodes["ids"]) < 50
    assert len({len(nodes[name]) for name in ("ids", "label", "prediction", "probability")}) == 1


def test_an_explanation_adds_up_and_its_neighbours_are_true(collected, graph, model):
    told = collected["explained"]["5"]
    scores = model.decision_function()[5]
    assert told["score"] == pytest.approx(scores.max() - scores.mean(), abs=1e-3)
    assert told["bias"] + sum(part.get("value", 0) for part in told["parts"]) == pytest.approx(told["score"], abs=1e-3)
    near = {str(graph.ids[row]) for row in graph.adjacency.neighbours(5)}
    assert told["degree"] == len(near) and {name for name, *_ in told["neighbours"]} <= near
    places = [int(graph.positions([name])[0]) for name, *_ in told["neighbours"]]
    for first, second in told["among"]:
        assert places[second] in graph.adjacency.neighbours(places[first])


def test_codes_follow_the_classes_of_the_model(graph):
    """A class that training did not see has no place."""
    rows = graph.labelled
    train = rows[graph.codes[rows] != 1]
    model = SlimG(grid=[(0.0, 0.1)]).fit(graph, train=train)
    codes = codes_in_model(model, graph)
    assert set(codes[graph.codes == 1]) == {-1}
    assert (model.classes_[codes[train]] == graph.labels[train]).all()


def test_who_is_explained():
    rng = np.random.default_rng(0)
    chances = rng.dirichlet(np.ones(3), 200)
    codes = np.where(rng.random(200) < 0.3, rng.integers(0, 3, 200), -1)
    rows = np.flatnonzero(codes >= 0)
    unseen = rng.dirichlet(np.ones(3), len(rows))
    best = Chances(np.log(chances), 1.0).best(64)
    assert (best[0] == chances.argmax(axis=1)).all() and np.allclose(best[1], chances.max(axis=1))
    found = nodes_worth_explaining(best, codes, (rows, unseen), first=[150, 3])
    assert found[:2] == [150, 3] and len(found) == len(set(found)) == records.EXPLAINED + 2
    wrong = rows[unseen.argmax(axis=1) != codes[rows]]
    surest = wrong[np.argmax(unseen.max(axis=1)[unseen.argmax(axis=1) != codes[rows]])]
    assert found[2] == surest, "labels that are contradicted most surely come first"
    ordered = np.sort(chances, axis=1)
    assert int(np.argmin(ordered[:, -1] - ordered[:, -2])) in found


def test_it_says_what_the_model_says(collected, graph, model):
    best = max(each["val_accuracy"] for each in model.selection_)
    assert collected["model"]["chosen"]["val_accuracy"] == model.chosen_["val_accuracy"] == best
    right = model.held_out_scores_.argmax(axis=1) == graph.codes[model.trained_on_]
    assert collected["held_out"]["accuracy"] == pytest.approx(right.mean())
    assert collected["held_out"]["nodes"] == len(graph.labelled)
    assert collected["explained"]["5"]["probabilities"] == pytest.approx(model.predict_proba()[5], abs=1e-3)


def test_components_are_computed_once(graph, monkeypatch):
    """Fit, diagnosis and explanation share them."""
    import slimg.classifier
    import slimg.explain.diagnosis

    calls = []
    whole = slimg.classifier.compute_components

    def counted(*args, **kwargs):
        calls.append(args)
        return whole(*args, **kwargs)

    monkeypatch.setattr(slimg.classifier, "compute_components", counted)
    monkeypatch.setattr(slimg.explain.diagnosis, "compute_components", counted)
    fit_record(SlimG(grid=[(0.0, 0.01)]).fit(graph), graph)
    assert len(calls) == 1


def test_too_few_labels_have_no_diagnosis(graph, model, collected):
    codes = graph.codes[graph.labelled]
    few = np.concatenate([graph.labelled[codes == 0][:6], graph.labelled[codes == 1][:1]])
    compared = collected["comparison"]
    assert diagnosis(model, graph, compared) is not None and diagnosis(model, graph.mask_labels(few), compared) is None


def test_json_values():
    given = {1: np.float64(0.5), "a": (np.arange(2), float("nan"), None, True), "b": object}
    assert json_values(given) == {"1": 0.5, "a": [[0, 1], None, None, True], "b": str(object)}


def test_weights_of_relations_are_those_of_the_paths(typed):
    graph, model, collected = typed
    told = {each["direction"]: each for each in collected["read"]["relations"]}
    assert list(told) == list(graph.directions())
    weights = model.component_weights()
    listed = {name: each.component for name, each in model.components_.fitted.items()}
    paths = {name: getattr(each, "path", getattr(each, "steps", None)) for name, each in listed.items()}
    paths = {name: path for name, path in paths.items() if isinstance(path, tuple)}
    assert sum(each["weight"] for each in told.values()) == pytest.approx(sum(weights[name] for name in paths))
    for key, each in told.items():
        assert each["state"] == ("screened out" if not any(key in path for path in paths.values()) else
                                 "used" if each["weight"] else "exactly zero")  # fmt: skip
        rows, columns = graph.direction(key).to_scipy().nonzero()
        both = (graph.codes[rows] >= 0) & (graph.codes[columns] >= 0)
        assert each["edges"] == len(rows) and each["labelled_edges"] == both.sum()
        first, second = graph.codes[rows][both], graph.codes[columns][both]
        assert each["alike"] == pytest.approx((first == second).mean())
        assert each["alike_by_chance"] == pytest.approx((first[:, None] == second[None]).mean())


def test_the_structure_along_a_relation_counts_as_its_weight():
    rng = np.random.default_rng(0)
    codes, source = np.repeat([0, 1], 40), np.repeat(np.arange(80), 4)
    target = rng.integers(0, 20, 320) + np.where(codes[source] == 0, 0, 20)  # whom a node points to tells its class
    edges = np.column_stack([source, target])[source != target]
    graph = Graph.from_edges({"likes": edges.tolist()}, nodes=range(80), label=np.array(["a", "b"])[codes], directed=True)
    both = [Structure(step=step, rank=8) for step in ("likes →", "likes ←")]
    model = SlimG(components=both, grid=[(0.0, 1e-3)]).fit(graph)
    record = fit_record(model, graph)
    told = {each["direction"]: each for each in record["read"]["relations"]}
    weights = model.component_weights()
    assert weights["likes → U"] > 0
    assert {key: each["weight"] for key, each in told.items()} == {key: weights[f"{key} U"] for key in told}
    assert "likes →" in record["findings"][1]["text"] and "no weight" not in record["findings"][1]["text"]
    zero = SlimG(components=[Structure(), Structure(step="likes →")], grid=[(0.0, 10.0)]).fit(graph)
    assert "direction" in fit_record(zero, graph)["findings"][1]["text"]


def test_a_check_comes_first_and_relations_without_weight_count_together(collected, typed):
    notes = ["Check the labels: 'NA' (3).", "Guessed for the nodes.", "Check column 'x': a code."]
    careful = findings({**collected, "read": {**collected["read"], "notes": notes}})[2]
    assert careful["text"] == "Check the labels: 'NA' (3). 1 more thing to check: see the page."
    assert careful["evidence"] == "inputs"
    record = typed[2]
    bare = [{**each, "weight": 0.0} for each in record["read"]["relations"]]
    told = findings({**record, "read": {**record["read"], "relations": bare}})[1]["text"]
    assert "No relation has a weight of its own" in told and "Relations without" not in told
    parts = [{**each, "share": 0.001, "norm": 1.0, "removed": False} for each in record["model"]["overview"]["components"]]
    model = {**record["model"], "overview": {**record["model"]["overview"], "components": parts}}
    assert "under 1%" in findings({**record, "model": model})[1]["text"]


def test_the_first_line_names_guesses_or_their_number(collected):
    for number in (0, 2, 5):
        notes = [f"{k}.csv: Guessed for the nodes: id = 'key{k}'." for k in range(number)]
        line = lines_of({**collected, "read": {**collected["read"], "notes": notes}}, "page")[0]
        assert [f"key{k}" in line for k in range(number)] == [number < 5] * number
        assert ("5 cases" in line) == (number == 5)


def test_neighbours_have_their_relations_and_names(typed):
    graph, _, collected = typed
    assert collected["nodes"]["names"][8] == "Person 8 "
    for row, told in list(collected["explained"].items())[:5]:
        for name, _, keys in told["neighbours"]:
            other = int(graph.positions([type(graph.ids.tolist()[0])(name)])[0])
            assert keys == [key for key in graph.directions() if other in graph.direction(key).neighbours(int(row))] != []


def test_the_map_has_every_node_of_a_small_graph(typed, monkeypatch):
    graph, model, collected = typed
    places = collected["map"]
    assert places["rows"] == list(range(graph.n)) and {min(places["x"]), max(places["x"])} == {0, 1000}
    monkeypatch.setattr(records, "MAPPED", 50)
    assert len(records._map(model, graph)["rows"]) == 50


def test_sets_are_those_of_the_model(typed):
    _, model, collected = typed
    sets = collected["held_out"]["sets"]
    found = model.predict_set(sets["coverage"])
    assert sets["sizes"] == np.bincount(found.sum(axis=1)).tolist()
    assert np.array_equal(model.predict_proba() >= np.array(sets["least"]) - 1e-12, found)
