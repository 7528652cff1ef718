"""Hyperparameters are parameters: read, set and cloned with the estimator's own."""

import pytest
from sklearn.base import clone

from slimg.lab.baselines.linear_gnn import LinearGNN
from slimg.lab.baselines.network import Network


@pytest.mark.parametrize("make", [lambda: LinearGNN("gcnii", K=4, alpha=0.2), lambda: Network("gcnii", K=4, alpha=0.2)])
def test_read_set_and_cloned(make):
    model = make()
    assert (model.get_params()["K"], model.get_params()["alpha"], model.get_params()["cv"]) == (4, 0.2, 5)
    assert model.set_params(K=8, cv=3) is model
    assert model.hyperparameters == {"K": 8, "alpha": 0.2} and model.cv == 3
    again = clone(model)
    assert again is not model and again.get_params() == model.get_params()
