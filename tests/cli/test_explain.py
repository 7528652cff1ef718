"""`slimg explain`: the parts add up, and edges taken away are computed, not guessed."""

import argparse
import json

import numpy as np

from slimg import SlimG
from slimg.cli.inputs import options_of
from slimg.io.features import FeaturePlan
from slimg.io.inputs import read_inputs


def test_parts_add_up_to_what_the_model_says(fitted, slimg):
    code, out, _ = slimg("explain", "0007", "--json")
    (told,) = json.loads(out)
    assert code == 0
    assert told["node"] == "0007"
    total = np.array(told["bias"]) + np.sum([part["scores"] for part in told["components"]], axis=0) + told["rounding"]
    assert np.allclose(total, told["scores"])
    assert np.allclose(SlimG.load("slimg-out/model.slimg").decision_function()[7], told["scores"], atol=1e-5)


def test_in_sentences(fitted, slimg):
    code, out, _ = slimg("explain", "0007", "0008")
    assert code == 0
    assert "'0007' is classified as 'green'" in out
    assert "'0008' is classified as" in out
    assert "bio: " in out


def test_the_folder_of_the_fit_names_its_model(fitted, slimg):
    assert slimg("explain", "0007", "--model", "slimg-out") == slimg("explain", "0007")
    code, _, err = slimg("explain", "0007", "--model", ".")
    assert code == 2 and "model.slimg does not exist" in err


def test_without_neighbours(fitted, slimg):
    follows = fitted.follows
    others = list(follows["whom"][follows["who"] == "0007"])[:2]
    code, out, _ = slimg("explain", "0007", "--without", *others, "--json")
    assert code == 0
    model = SlimG.load("slimg-out/model.slimg")
    reading = model.data_["reading"]
    inputs = read_inputs(options_of(argparse.Namespace(**reading["options"])), plan=FeaturePlan.from_dict(reading["plan"]))
    expected = model.counterfactual("0007", without_neighbours=others, graph=inputs.graph)
    assert json.loads(out)[0]["without"] == expected.text()


def test_bad_input(fitted, slimg):
    code, _, err = slimg("explain", "nobody")
    assert code == 2
    assert "'nobody'" in err and "'0000', '0001', '0002'" in err
