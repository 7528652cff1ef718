"""Models by name: one contract for all of them."""

import inspect
import json

import numpy as np
import pytest
from baseline_graphs import communities

from slimg import SlimG
from slimg.cli import main
from slimg.errors import InputError
from slimg.graph import splits
from slimg.lab import baselines
from slimg.lab.baselines.linear_gnn import LinearGNN
from slimg.lab.baselines.network import Network

GRAPH = communities(120)
TEXT = GRAPH.with_labels(np.array(["no", "yes"])[GRAPH.labels])
SPLIT = splits.stratified(GRAPH, (0.3, 0.3, 0.4))
CONTRACT = [name for name in baselines.names() if not name.startswith("linear-")]


@pytest.mark.parametrize("name", CONTRACT)
def test_the_surface_is_that_of_slimg(name):
    if name in baselines.NETWORKS:
        pytest.importorskip("torch_geometric")
    if name in ("pagerank", "diffusion", "nearest_neighbours"):
        pytest.importorskip("sknetwork")
    options = {"grid": "quick", "epochs": 3, "hidden": 8} if name in baselines.NETWORKS else {}
    model = baselines.get(name, **options, random_state=3)
    assert model.fit(TEXT, train=SPLIT.train, val=SPLIT.val) is model
    assert model.classes_.tolist() == ["no", "yes"]
    found, probabilities = model.predict(), model.predict_proba()
    assert found.shape == (GRAPH.n,) and set(found) <= {"no", "yes"}
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-4)
    assert (model.classes_[probabilities.argmax(axis=1)] == found).all()
    for record in model.selection_:
        assert {"val_accuracy", "val_loss", "seconds"} <= set(record) and 0 <= record["val_accuracy"] <= 1
    assert all(value >= 0 for value in model.seconds_.values()) and "learning" in model.seconds_
    assert next(iter(inspect.signature(model.fit).parameters)) == "graph"


def test_names_lead_to_the_right_estimators():
    assert isinstance(baselines.get("slimg"), SlimG)
    assert baselines.get("sgc").propagator == "sgc" and baselines.get("linear-gcn", K=3).hyperparameters == {"K": 3}
    assert isinstance(baselines.get("linear-gcn"), LinearGNN) and isinstance(baselines.get("gcn"), Network)
    assert {*baselines.LINEAR, *baselines.NETWORKS} <= set(baselines.names())


def test_quick_networks_have_the_reduced_grid():
    assert baselines.get("gcn-quick", epochs=7).get_params() == Network("gcn", grid="quick", epochs=7).get_params()
    assert set(baselines.names(quick=True)) == {*baselines.names(), *(f"{name}-quick" for name in baselines.NETWORKS)}
    with pytest.raises(InputError, match="lr-quick"):
        baselines.get("lr-quick")


def test_only_known_parameters_are_set():
    model = baselines.set_known_params(baselines.get("pagerank"), random_state=3, normalize_features=None)
    assert model.random_state == 3 and "normalize_features" not in model.get_params()


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("gnc", {}, "unknown model 'gnc': choose one of appnp, "),
        ("gcn", {"depth": 2}, "unknown parameter of gcn 'depth': choose one of K, cv, dropout, engine, "),
        ("sgc", {"depth": 2}, "unknown parameter of sgc 'depth': choose one of K, cv, engine, "),
        ("label_propagation", {"depth": 2}, "unknown parameter of label_propagation 'depth': choose one of alpha, "),
        ("slimg", {"depth": 2}, "unknown parameter of slimg 'depth': choose one of "),
    ],
)
def test_unknown_names_and_parameters_list_the_choices(name, params, said):
    with pytest.raises(InputError) as error:
        baselines.get(name, **params)
    assert str(error.value).startswith(said)


def test_slimg_sanity_runs_baselines(capsys, monkeypatch):
    pytest.importorskip("torch_geometric")
    monkeypatch.setitem(Network.__init__.__kwdefaults__, "epochs", 60)
    names = "label_propagation,gcn-quick"
    assert main(["sanity", "--models", names, "--cases", "semantic-homophily", "--n", "240", "--seeds", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert list(report["models"]) == names.split(",")
    assert all(each["cases"]["semantic-homophily"]["mean"] > 0.5 for each in report["models"].values())
