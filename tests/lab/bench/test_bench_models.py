"""The name of a protocol follows from the settings: nothing reduced can be called the paper's."""

import json
from importlib.resources import files

import pytest

from slimg.components import default_components
from slimg.graph import splits
from slimg.lab.baselines import LINEAR
from slimg.lab.baselines.network import PAPER
from slimg.lab.bench.models import is_reduced, kind, protocol
from slimg.lab.bench.recipe import load_graph


@pytest.mark.parametrize("name", [*PAPER, *LINEAR])
def test_without_settings_a_model_of_the_paper_has_its_protocol(name):
    assert protocol({"kind": name}) == "paper" and not is_reduced({"kind": name})


@pytest.mark.parametrize("name", list(PAPER))
@pytest.mark.parametrize("given", [{"epochs": 999}, {"patience": 3}, {"grid": "quick"}, {"grid": [{}]}, {"wd": 0.0}])
def test_whatever_a_network_is_spared_makes_it_reduced(name, given):
    kind(name).check(given)
    assert is_reduced({"kind": name, **given})


def test_a_reduced_protocol_says_what_is_left():
    one = {"kind": "gcn", "grid": [{"lr": 0.05}], "epochs": 100, "patience": 30}
    assert protocol(one) == "reduced: 1 of 6 settings, 100 epochs at most, patience 30"
    assert protocol({"kind": "gcnii", "grid": "quick"}).startswith("reduced: 4 of 72 settings, 1000 epochs")
    assert protocol({"kind": "dgc", "K": 2}) == "reduced: K 2"


def test_pairs_of_slimg_and_models_that_the_paper_has_not():
    assert protocol({"kind": "slimg", "grid": "paper", "timed": True}) == "paper"
    assert protocol({"kind": "slimg", "sparsity": False}) == "paper"
    assert protocol({"kind": "slimg"}) == "default path"
    assert protocol({"kind": "slimg", "grid": [[0.1, 0.2]]}) == "1 pairs of its own"
    assert protocol({"kind": "label_propagation"}) == "own" == protocol({"kind": "mine.py:Mine"})


def test_shipped_recipes_reduce_nothing_unless_quick():
    for each in files("slimg.lab.bench").joinpath("recipes").iterdir():
        if each.name.endswith(".json"):
            assert not any(is_reduced(model) for model in json.loads(each.read_text())["models"].values()), each.name


def test_the_earlier_name_of_the_weight_decay_is_read():
    linear = kind("sgc")
    linear.check({"wd": 1e-5})
    assert linear.sharing({"wd": 1e-5, "K": 2}) == {"K": 2} == linear.sharing({"weight_decay": 1e-5, "K": 2})


def test_the_default_list_of_a_cell_follows_the_labels_of_its_split():
    graph = load_graph({"synthetic": "blocks", "nodes": 300, "edges": 1500, "features": 70, "classes": 2})
    run, found = kind("slimg").begin(graph.with_labels(None), None, [{"components": "default"}]), []
    for share in (0.2, 0.5):
        split = splits.stratified(graph, (share, 0.1, 0.9 - share), 0)
        found.append(run({"components": "default", "average": 1}, graph, split, 0).weights)
        assert set(found[-1]) == {each.name for each in default_components(len(split.train), graph.n, graph.d)}
    assert "A_row^1 X" in set(found[1]) - set(found[0])
